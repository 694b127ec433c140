#!/usr/bin/env python3
"""batchjob_stats_db imports from a simulated sacct: it is killed repeatedly during the
import of a history, which is then imported again; every job must be in the store
once, as reported.  TAP."""
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import prom_lib  # noqa: E402
import statsdb_sacct  # noqa: E402
from tap import check, plan, skip  # noqa: E402

O = os.environ.get("O", "build")
PROGRAM = os.path.abspath(os.path.join(HERE, "../..", O, "batchjob_stats_db"))
DAYS, COUNT = 4, 2500


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.store = os.path.join(folder, "stats.db")
        self.now = int(time.time())
        shutil.copy(os.path.join(HERE, "statsdb_sacct.py"), os.path.join(folder, "sacct"))
        os.chmod(os.path.join(folder, "sacct"), 0o755)
        with open(os.path.join(folder, "fake.yml"), "w") as f:
            f.write("name: fake\nsacct:\n  command: %s/sacct\n  history: %dd\n  slice: 6h\n"
                    "  pause: 0s\n" % (folder, DAYS + 1))
        with open(os.path.join(folder, "site.yml"), "w") as f:
            f.write("store:\n  path: %s\n  batch-lines: 100\nmetrics:\n  file: %s/page.prom\n"
                    "cluster:\n  file: %s/fake.yml\n" % (self.store, folder, folder))
        self.configure_sacct()

    def configure_sacct(self, **more):
        self.env = dict(seed=7, now=self.now, count=COUNT, days=DAYS, **more)
        with open(os.path.join(self.folder, "sacct.env"), "w") as f:
            json.dump(self.env, f)

    def args(self, *command):
        return [PROGRAM] + list(command) + ["--config.file=%s/site.yml" % self.folder]

    def run(self, *command):
        return subprocess.run(self.args(*command), capture_output=True, timeout=300)

    def rows(self, sql):
        db = sqlite3.connect("file:%s?mode=ro" % self.store, uri=True)
        db.text_factory = bytes
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()


def num(text):
    return int(text) if text.isdigit() else None


def seconds(text):
    h, m, s = text.split(":")
    return int(h) * 3600 + int(m) * 60 + int(s)


def reported_jobs(site):
    """Return the jobs and steps that the simulated cluster reports, as rows of the store."""
    want, steps = {}, {}
    for _, _, lines in statsdb_sacct.jobs(7, site.now, COUNT, DAYS):
        j = lines[0]
        key = (int(j["JobIDRaw"]), int(j["Submit"]))
        want[key] = (j["User"].encode(), int(j["UID"]), j["Account"].encode(),
                     j["JobName"].encode() or None, j["State"].encode(), num(j["Start"]),
                     num(j["End"]), int(j["ElapsedRaw"]), int(j["AllocCPUS"]),
                     seconds(j["TotalCPU"]) * 1000000 if num(j["End"]) else None,
                     None if "None" in j["NodeList"] else j["NodeList"].encode(),
                     j["WorkDir"].encode())
        for s in lines[1:]:
            steps[key + (s["JobIDRaw"].split(".")[1].encode(),)] = (
                s["State"].encode(), int(s["MaxRSS"][:-1]) * 1024)
    return want, steps


def stored_jobs(site):
    jobs = {tuple(r[:2]): tuple(r[2:]) for r in site.rows(
        "SELECT jobid, submit_sec, user, uid, account, name, state_raw, start_sec, end_sec,"
        " elapsed_seconds, cpus, cpu_usec, nodelist, work_dir FROM job_v")}
    steps = {tuple(r[:3]): tuple(r[3:]) for r in site.rows(
        "SELECT jobid, submit_sec, step_id, s.state_raw, s.memory_task_peak_bytes"
        " FROM step_v s JOIN job_v j ON j.id = s.job")}
    return jobs, steps


def compare(site, what):
    want, want_steps = reported_jobs(site)
    jobs, steps = stored_jobs(site)
    wrong = [(k, want.get(k), jobs.get(k)) for k in set(want) | set(jobs)
             if want.get(k) != jobs.get(k)]
    check(not wrong, "%s: %d jobs are as reported" % (what, len(want)), len(wrong),
          *wrong[:3])
    check(steps == want_steps, "%s: %d steps are as reported" % (what, len(want_steps)),
          len(steps))
    check(site.run("check").returncode == 0, "%s: the store is consistent" % what)


def same_sums(site, what):
    """The daily sums are those of the jobs, none of which was suspended."""
    have = {(r[0], r[1]): (r[2], r[3]) for r in site.rows(
        "SELECT printf('%04d-%02d-%02d', month / 12, month % 12 + 1, day), u.name,"
        " sum(cpu_sec), sum(jobs_ended) FROM rollup_day JOIN assoc a ON a.id = assoc"
        " JOIN user u ON u.id = a.user GROUP BY 1, 2")}
    want = {}
    for user, start, end, took, cpus in site.rows(
            "SELECT user, start_sec, end_sec, elapsed_seconds, cpus FROM job_v"
            " WHERE start_sec IS NOT NULL"):
        last = start + took
        at = start
        while at < last:
            to = min(last, at - at % 86400 + 86400)
            key = (time.strftime("%Y-%m-%d", time.gmtime(at)).encode(), user)
            old = want.get(key, (0, 0))
            want[key] = (old[0] + (to - at) * cpus, old[1])
            at = to
        if end is not None:
            key = (time.strftime("%Y-%m-%d", time.gmtime(end)).encode(), user)
            old = want.get(key, (0, 0))
            want[key] = (old[0], old[1] + 1)
    have = {k: v for k, v in have.items() if v != (0, 0)}
    check(have == want, "%s: the daily sums are those of the jobs" % what,
          sorted(set(have.items()) ^ set(want.items()))[:4])


def killed(site):
    """Kill the import after random times, which grow until it ends on any machine."""
    rnd = random.Random(3)
    kills, runs, ended = 0, 0, False
    site.configure_sacct(fail=4, slow=0.01)
    while not ended and runs < 400:
        runs += 1
        p = subprocess.Popen(site.args("--once"), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        try:
            ended = p.wait(timeout=0.05 + rnd.random() * 0.1 * 1.05 ** runs) == 0
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGKILL)
            p.wait()
            kills += 1
    site.configure_sacct()
    check(ended and kills > 5, "the import ends after %d kills in %d runs" % (kills, runs))


def stopped(site):
    site.configure_sacct(slow=600)
    call_log = os.path.join(site.folder, "sacct.called")
    os.unlink(call_log)
    fresh = "--store.path=" + os.path.join(site.folder, "fresh.db")
    p = subprocess.Popen(site.args(fresh), stderr=subprocess.PIPE)
    end = time.monotonic() + 300
    while not os.path.exists(call_log) and time.monotonic() < end:
        time.sleep(0.05)
    p.terminate()
    err = p.communicate(timeout=300)[1]  # sacct would need 600 s
    check(p.returncode == 0 and os.path.exists(call_log), "SIGTERM ends an import while sacct runs",
          p.returncode, err)
    site.configure_sacct()


def over_http(site):
    """Metrics are served while an import waits for a slow sacct."""
    site.configure_sacct(slow=600)
    fresh = "--store.path=" + os.path.join(site.folder, "empty.db")
    p = subprocess.Popen(site.args("run", fresh, "--web.listen-address=127.0.0.1:0"),
                         stderr=subprocess.PIPE)
    where = None
    for line in p.stderr:
        found = re.search(rb"listening on ([0-9.:]+)", line)
        if found:
            where = "http://%s/" % found.group(1).decode()
            break
    text = status = None
    for _ in range(600):
        try:
            with urllib.request.urlopen(where + "metrics", timeout=300) as response:
                text = response.read().decode()
            break
        except urllib.error.HTTPError as e: # no page yet
            status = e.code
            time.sleep(0.1)
    check(text and 'batchjob_stats_requests_total{cluster="fake"} 0' in text,
          "metrics are served while sacct runs", status, text)
    try:
        urllib.request.urlopen(where + "else", timeout=300)
        status = 200
    except urllib.error.HTTPError as e:
        status = e.code
    check(status == 404, "other paths are not found", status)
    second = subprocess.run(site.args("run", "--web.listen-address=127.0.0.1:x"),
                            capture_output=True, timeout=300)
    check(second.returncode == 1 and b"web.listen-address" in second.stderr,
          "the error names the invalid address", second.stderr)
    second = subprocess.run(site.args("--dry-run", fresh, "--web.listen-address=" + where[7:-1]),
                            capture_output=True, timeout=300)
    check(second.returncode == 1 and b"beside a running service, use check-config --online"
          in second.stderr and b"another process is writing it" in second.stderr,
          "--dry-run beside a service says what to use", second.stderr)
    p.terminate()
    p.communicate(timeout=300)
    check(p.returncode == 0, "SIGTERM ends the daemon with status 0", p.returncode)
    site.configure_sacct()


class FullDisk:
    """The daemon with its store on a small file system of its own, below which only its
    processes see it."""

    def __init__(self, site, kib):
        self.folder = os.path.join(site.folder, "disk")
        self.path = os.path.join(self.folder, "stats.db")
        os.makedirs(self.folder, exist_ok=True)
        self.log = open(os.path.join(site.folder, "disk.log"), "wb+")
        words = site.args("--store.path=" + self.path)
        # An empty file leaves no room for a table until it is removed.
        self.p = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=%dk tmpfs %s &&"
             " head -c %d /dev/zero >%s/fill && exec \"$@\"" % (
                 kib, self.folder, (kib - 16) << 10, self.folder), "sh"] + words,
            stderr=self.log)

    def within(self, *command):
        return subprocess.run(["nsenter", "--mount", "--target", str(self.p.pid), *command],
                              capture_output=True, text=True)

    def lines(self):
        with open(self.log.name, errors="replace") as f:
            return [line for line in f if "level=error" in line or "level=warn" in line]

    def wait(self, true):
        end = time.monotonic() + 300
        while not true() and self.p.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        return true()

    def said(self):
        return [line for line in self.lines() if self.path in line and ("full" in line or "No space" in line)]


def full_disk(site):
    """A full disk under the store does not end the daemon."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"]).returncode != 0:
        return skip("the daemon on a full disk", "no mount name space")
    site.configure_sacct()
    d = FullDisk(site, 1200)
    check(d.wait(d.said), "a disk that is full at the start is named with the path of the store",
          d.p.poll(), *d.lines()[:5])
    said = len(d.said())
    d.within("rm", d.folder + "/fill")
    check(d.wait(lambda: len(d.said()) > said), "when it is full in an import, too", d.p.poll(),
          *d.lines()[:5])
    check(d.p.poll() is None, "the daemon runs on", d.p.poll(), *d.lines()[:5])
    d.within("mount", "-o", "remount,size=64m", d.folder)
    copy = os.path.join(site.folder, "from_disk.db")

    def count():
        if os.path.exists(copy):
            os.unlink(copy)
        d.within(PROGRAM, "backup", copy, "--store.path=" + d.path)
        if not os.path.exists(copy):
            return 0
        db = sqlite3.connect(copy)
        try:
            return db.execute("SELECT count(*) FROM job").fetchone()[0]
        finally:
            db.close()

    check(d.wait(lambda: count() == COUNT), "when there is room, it imports the rest: %d jobs" % COUNT,
          count(), d.p.poll(), *d.lines()[-3:])
    d.p.terminate()
    check(d.p.wait(300) == 0, "SIGTERM ends it with status 0", d.p.returncode)
    db = sqlite3.connect(copy)
    check(db.execute("PRAGMA integrity_check").fetchone() == ("ok",), "its store is consistent")
    db.close()


def copied(site):
    to = os.path.join(site.folder, "copy.db")
    check(site.run("backup", to).returncode == 0, "a backup is made")
    check(site.run("backup", to).returncode != 0, "a backup does not overwrite a file")
    p = subprocess.run([PROGRAM, "check", "--store.path=" + to], capture_output=True)
    check(p.returncode == 0, "the backup is consistent", p.stderr)
    check(sqlite3.connect(to).execute("SELECT count(*) FROM job").fetchone()
          == site.rows("SELECT count(*) FROM job")[0], "the backup has all jobs")


def exported(site):
    p = site.run("export", "--format=jsonl")
    lines = [json.loads(line) for line in p.stdout.decode().splitlines()]
    ended = site.rows("SELECT count(*) FROM job_v WHERE end_sec IS NOT NULL")[0][0]
    check(len(lines) == ended and len({frozenset(line) for line in lines}) == 1,
          "JSON lines have all %d jobs that ended, and every key" % ended, p.stderr)
    p = site.run("export", "--since=2100-01-01")
    check(p.returncode == 0 and p.stdout.count(b"\n") == 1, "--since limits the export", p.stdout[:300])


def page(site):
    name = os.path.join(site.folder, "page.prom")
    with open(name) as f:
        lines = dict(line.rsplit(" ", 1) for line in f if line[0] != "#")
    lag = site.now - int(lines['batchjob_stats_covered_to_timestamp_seconds{cluster="fake"}'])
    check(lag <= 0 and int(lines['batchjob_stats_requests_total{cluster="fake"}']) > 0,
          "metrics show how far the import is", lines)
    if shutil.which("promtool"):
        with open(name) as f:
            p = subprocess.run(["promtool", "check", "metrics"], stdin=f, capture_output=True)
        check(p.returncode == 0, "promtool finds nothing on the metrics", p.stdout, p.stderr)


QSTAT = """{"timestamp":1,"Jobs":{"123.pbs":{"Job_Name":"run","Job_Owner":"anna@login",
"resources_used":{"cput":"03:59:00","mem":"1048576kb","walltime":"01:00:00"},"job_state":"%s",
"queue":"workq","ctime":"Fri Nov 20 10:20:00 2026","stime":"Fri Nov 20 10:21:40 2026",
"mtime":"Fri Nov 20 11:21:40 2026","exec_host":"n1/0*4+n2/0*4",
"Resource_List":{"mem":"8gb","ncpus":8,"walltime":"10:00:00"}%s}}}"""
BJOBS = """{"COMMAND":"bjobs","JOBS":1,"RECORDS":[{"JOBID":"77","STAT":"DONE","USER":"bob",
"QUEUE":"normal","JOB_NAME":"x","EXEC_HOST":"2*h1:h2","SLOTS":"3",
"SUBMIT_TIME":"Nov 20 10:20:00 2026","START_TIME":"Nov 20 10:21:40 2026",
"FINISH_TIME":"Nov 20 11:21:40 2026","CPU_USED":"144.5 second(s)","RUN_TIME":"3600 second(s)"}]}"""


def snapshots(site):
    """Jobs of PBS and LSF are imported from the lists of qstat and bjobs."""
    where = site.folder
    for name, text in (("qstat", ""), ("bjobs", "")):
        with open(os.path.join(where, name), "w") as f:
            f.write("#!/bin/sh\necho \"$0 $*\" >>%s/asked\ncat %s/%s.json\n"
                    % (where, where, name))
        os.chmod(os.path.join(where, name), 0o755)
        with open(os.path.join(where, name + ".yml"), "w") as f:
            f.write("name: %s\n%s:\n  command: %s/%s\n" % (name, name, where, name))
    db = os.path.join(where, "other.db")
    command = [PROGRAM, "--once", "--store.path=" + db, "--cluster.file=%s/qstat.yml" % where,
               "--cluster.file=%s/bjobs.yml" % where]

    def import_lists(state, more, want):
        for name, text in (("qstat", QSTAT % (state, more)), ("bjobs", BJOBS)):
            with open(os.path.join(where, name + ".json"), "w") as f:
                f.write(text)
        p = subprocess.run(command, capture_output=True, timeout=300)
        rows = sqlite3.connect(db).execute(
            "SELECT cluster, batch_system, jobid, user, state, cpus, nodes, cpu_usec,"
            " end_sec - start_sec FROM job_v ORDER BY 1").fetchall()
        check(p.returncode == 0 and rows == want, "jobs of PBS and LSF are imported, that of PBS with state %s" % state,
              rows, p.stderr)

    lsf = ("bjobs", "lsf", 77, "bob", "completed", 3, 2, 144500000, 3600)
    import_lists("R", "", [lsf, ("qstat", "pbs", "123.pbs", "anna", "running", 8, 2, 14340000000, None)])
    ended = [lsf, ("qstat", "pbs", "123.pbs", "anna", "completed", 8, 2, 14340000000, 3600)]
    import_lists("F", ',"Exit_status":0', ended)
    import_lists("R", "", ended)
    hosts = sqlite3.connect(db).execute("SELECT name FROM host ORDER BY 1").fetchall()
    check(hosts == [("h1",), ("h2",), ("n1",), ("n2",)], "host lists of PBS and LSF are expanded",
          hosts)
    with open(os.path.join(where, "qstat.json"), "w") as f:
        f.write("qstat: cannot connect")
    p = subprocess.run(command, capture_output=True, timeout=300)
    check(p.returncode == 1 and b"qstat" in p.stderr, "output that is not JSON is an error", p.stderr)
    with open(os.path.join(where, "asked")) as f:
        call_log = f.read()
    check("-x -t -f -F json" in call_log and "-u all -a -o jobid" in call_log,
          "qstat and bjobs are called with the right options",
          call_log[:300])


def dry(site):
    page = os.path.join(site.folder, "page.prom")
    before = site.rows("SELECT * FROM covered"), os.stat(page).st_mtime_ns
    with socket.create_server(("127.0.0.1", 0)) as used:
        p = site.run("--dry-run", "--web.listen-address=127.0.0.1:%d" % used.getsockname()[1])
    check(p.returncode == 0
          and (site.rows("SELECT * FROM covered"), os.stat(page).st_mtime_ns) == before,
          "--dry-run writes nothing", p.stderr)
    none = os.path.join(site.folder, "none.db")
    sacct, seen = os.path.join(site.folder, "sacct"), os.path.join(site.folder, "seen")
    os.rename(sacct, sacct + ".py")
    with open(sacct, "w") as f:
        f.write("#!/bin/sh\nls -l /proc/$PPID/fd >%s\nexec %s.py \"$@\"\n" % (seen, sacct))
    os.chmod(sacct, 0o755)
    p = site.run("--dry-run", "--store.path=" + none)
    os.rename(sacct + ".py", sacct)
    check(p.returncode == 0 and b" jobs new" in p.stderr and b"does not exist yet" in p.stderr
          and not os.path.exists(none) and not os.path.exists(none + ".lock"),
          "--dry-run creates no store", p.stderr)
    with open(seen) as f:
        held = [line.split(" -> ")[1].strip() for line in f if " -> /" in line]
    check([h for h in held if not h.startswith("/dev/") and not h.endswith(" (deleted)")] == [],
          "--dry-run has no file open elsewhere", held)
    old = os.path.join(site.folder, "old.db")
    shutil.copy(site.store, old)
    db = sqlite3.connect(old)
    db.execute("PRAGMA user_version = 0")
    db.close()
    p = site.run("--dry-run", "--store.path=" + old)
    check(p.returncode == 1 and b"has version 0" in p.stderr and b"run batchjob_stats_db once" in p.stderr,
          "--dry-run does not change a store of an older version", p.stderr)
    copy = os.path.join(site.folder, "old.copy")
    p = site.run("backup", copy, "--store.path=" + old)
    db = sqlite3.connect(copy)
    check(p.returncode == 0 and db.execute("PRAGMA user_version").fetchone()[0] == 0,
          "a store of an older version can be copied", p.stderr)
    db.close()
    for option, why in (("--since=2999-01-01", b"since: '2999-01-01' is in the future"),
                        ("--since=soon", b"since: 'soon' is not a time, such as"),
                        ("--until=soon", b"until: 'soon' is not a time, such as")):
        p = site.run("check-config", option)
        check(p.returncode == 1 and why in p.stderr, "check-config reports %s" % option, p.stderr)
    for command in ("check-config", "run"):
        p = subprocess.run([PROGRAM, command, "--store.path=" + old], capture_output=True)
        check(p.returncode == 1 and b"cluster.file: no cluster is configured" in p.stderr,
              "%s without a cluster is an error" % command, p.stderr)
    p = subprocess.run([PROGRAM, "--config.file=/no/such"], capture_output=True)
    check(p.stderr == b"batchjob_stats_db: config.file: /no/such: No such file or directory\n",
          "a missing configuration file is an error", p.stderr)


def configured(site):
    p = site.run("check-config")
    check(p.returncode == 0 and b"1 cluster: fine" in p.stdout, "check-config accepts the files",
          p.stdout, p.stderr)
    wrong = os.path.join(site.folder, "wrong.yml")
    for text, why in (("name: x\nsacct:\n  intervall: 5m\n", b"wrong.yml:3:"),
                      ("name: x\nsacct:\n  interval: soon\n", b"wrong.yml:3:"),
                      ("sacct:\n  interval: 5m\n", b"name: required"),
                      ("name: [\n", b"wrong.yml:1:7:")):
        with open(wrong, "w") as f:
            f.write(text)
        p = site.run("check-config", "--cluster.file=" + wrong)
        check(p.returncode == 1 and why in p.stderr, "the error names the file and line: %s" % why.decode(),
              p.stderr)
    missing(site, wrong)
    online(site)


def missing(site, wrong):
    """check-config checks every command, file and directory."""
    secret, empty = (os.path.join(site.folder, n) for n in ("secret", "empty"))
    for path in secret, empty:
        with open(path, "w") as f:
            f.write("x")
        os.chmod(path, 0o644)
    with open(wrong, "w") as f:
        f.write("name: x\nsacct: {command: no-sacct, slurm-conf: /none/slurm.conf}\n"
                "qstat: {command: %s}\nbjobs: {command: /none/bjobs}\n"
                "pbs: {accounting: /none/acct}\nlsf: {acct: /none/lsb.acct}\n"
                "records: {dir: [/none/spool]}\n"
                "prometheus: {url: 'http://127.0.0.1:1', token-file: %s, ca-file: /none/ca}\n"
                % (empty, secret))
    p = site.run("check-config", "--cluster.file=" + wrong, "--metrics.file=/none/x.prom",
                 "--store.path=/none/stats.db")
    lines = p.stderr.decode().splitlines()
    for what in ("store.path: /none", "metrics.file: /none", "sacct.command: no-sacct not found",
                 "sacct.slurm-conf: /none/slurm.conf", "qstat.command: %s cannot be exec" % empty,
                 "bjobs.command: /none/bjobs not found", "pbs.accounting: /none/acct",
                 "lsf.acct: /none/lsb.acct", "records.dir: /none/spool",
                 "prometheus.token-file: " + secret, "prometheus.ca-file: /none/ca"):
        check(p.returncode == 1 and sum(what in line for line in lines) == 1,
              "check-config checks " + what.split(":")[0], p.stderr)
    check(len(lines) == 11, "the output has one line for each problem", *lines)
    with open(wrong, "w") as f:
        f.write("name: x\nsacct: {command: /bin/true}\nrecords: {dir: [/none/spool]}\n")
    p = site.run("check-config", "--cluster.file=" + wrong)
    check(p.returncode == 0 and b"warning: x: records.dir: /none/spool does not exist yet" in p.stderr,
          "a missing directory of records is a warning", p.stderr)
    os.chmod(site.folder, 0o755)
    p = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
                       + site.args("check-config"), capture_output=True)
    check(p.returncode == 1 and b"store.path: " in p.stderr and b"Permission denied" in p.stderr,
          "check-config reports a directory that the user cannot write", p.stderr)


def online(site):
    p = site.run("check-config", "--online")
    check(p.returncode == 0 and b"fine" in p.stdout, "check-config --online queries sacct",
          p.stderr)
    seen = re.search(rb"fake: accounting shows (\d+) jobs of (\d+) users", p.stdout)
    check(seen and int(seen.group(1)) >= int(seen.group(2)) > 1, "it says how many jobs and users accounting shows", p.stdout)
    online_mistakes(site)
    broken = os.path.join(site.folder, "broken")
    with open(broken, "w") as f:
        f.write("#!/bin/sh\n[ \"$1\" != --helpformat ] && exit 0\n"
                "echo sacct: no configuration source >&2\nexit 1\n")
    os.chmod(broken, 0o755)
    with open(os.path.join(site.folder, "broken.yml"), "w") as f:
        f.write("name: x\nsacct: {command: %s}\n" % broken)
    option = "--cluster.file=" + os.path.join(site.folder, "broken.yml")
    for path, message in ((None, "SLURM_CONF is not set (option sacct.slurm-conf)"),
                       ("/etc/x.conf", "SLURM_CONF is /etc/x.conf (option sacct.slurm-conf)")):
        env = {k: v for k, v in os.environ.items() if k != "SLURM_CONF"}
        p = subprocess.run(site.args("check-config", "--online", option), capture_output=True,
                           env=dict(env, **({"SLURM_CONF": path} if path else {})))
        check(p.returncode == 1 and b"no configuration source" in p.stderr
              and message.encode() in p.stderr, "a failing sacct: " + message, p.stderr)


def greeting(server, lines):
    """A simulated mail server that answers one client, and keeps what it said."""
    client = server.accept()[0]
    client.sendall(b"220 here ESMTP\r\n")
    for line in client.makefile("rb"):
        lines.append(line)
        client.sendall(b"221 bye\r\n" if line.startswith(b"QUIT") else b"250 fine\r\n")
    client.close()


def online_mistakes(site):
    """Each first mistake of the documents gives a message that names it."""
    def text(name, *lines):
        path = os.path.join(site.folder, name)
        with open(path, "w") as f:
            f.write("".join(line + "\n" for line in lines))
        os.chmod(path, 0o755)
        return path

    def online_with(name, *lines, more=()):
        path = text("mistake.yml", "name: " + name, *lines)
        return site.run("check-config", "--online", "--cluster.file=" + path, *more)

    sacct = "sacct: {command: %s/sacct}" % site.folder
    nobody = text("nobody", "#!/bin/sh", '[ "$1" != --helpformat ] || exec %s/sacct --helpformat' % site.folder)
    p = online_with("fake", "sacct: {command: %s}" % nobody)
    check(p.returncode == 0 and b"shows no jobs of the last 10 minutes" in p.stderr and b"PrivateData" in p.stderr,
          "PrivateData: no job is seen", p.stdout, p.stderr)
    p = online_with("Fake", sacct)
    check(p.returncode == 1 and b"name: the scheduler's name of the cluster is 'fake'" in p.stderr,
          "the name of the cluster in other letters", p.stdout, p.stderr)
    server = prom_lib.simulated()
    prom = "http://127.0.0.1:%d" % server.server_port
    p = online_with("fake", sacct, "prometheus: {url: '%s', match: [cluster=alpha]}" % prom)
    check(p.returncode == 0 and b"fake: Prometheus has 12 series" in p.stdout, "Prometheus has the cluster's series",
          p.stdout, p.stderr)
    p = online_with("fake", sacct, "prometheus: {url: '%s', match: [cluster=Alpha]}" % prom)
    check(p.returncode == 1 and b"prometheus.match: no series of batchjob_exporter has cluster=\"Alpha\"" in p.stderr and
          b"label cluster has 'alpha'" in p.stderr, "Alpha for alpha", p.stdout, p.stderr)
    server.shutdown()
    server.server_close()
    p = online_with("fake", sacct, "prometheus: {url: '%s'}" % prom)
    check(p.returncode == 1 and b"%d/" % server.server_port in p.stderr and b"connect" in p.stderr.lower(),
          "a wrong port of Prometheus", p.stdout, p.stderr)
    p = online_with("fake", sacct, "prometheus: {url: 'http://PROMETHEUS:9090'}")
    check(p.returncode == 1 and b"the host in capitals is a placeholder" in p.stderr, "a placeholder in a URL",
          p.stdout, p.stderr)
    newer = copy_of(site, "newer.db")
    db = sqlite3.connect(newer)
    db.execute("PRAGMA user_version = 99")
    db.close()
    p = online_with("fake", sacct, more=("--store.path=" + newer,))
    check(p.returncode == 1 and b"newer.db: the store has version 99, this program reads" in p.stderr, "a store of a newer version",
          p.stdout, p.stderr)
    p = online_with("fake", sacct, more=("--store.path=postgresql://x@127.0.0.1:%d/x" % server.server_port,))
    check(p.returncode == 1 and (b"refused" in p.stderr or b"libpq" in p.stderr), "PostgreSQL is down", p.stdout, p.stderr)
    mail = socket.create_server(("127.0.0.1", 0))
    mail.settimeout(300)
    said = []
    thread = threading.Thread(target=greeting, args=(mail, said))
    thread.start()
    options = ["--mail.send=smtp", "--mail.from=a@b.example", "--mail.reply-to=a@b.example", "--mail.address={user}@b.example",
               "--no-mail.smtp-tls",
               "--mail.smtp-url=smtp://127.0.0.1:%d" % mail.getsockname()[1]]
    p = online_with("fake", sacct, more=options)
    thread.join()
    mail.close()
    check(p.returncode == 0 and said[0].startswith(b"EHLO") and not any(x.startswith(b"MAIL") for x in said),
          "the mail server is greeted, and gets no mail", p.stderr, said)
    p = online_with("fake", sacct, more=options)
    check(p.returncode == 1 and b"mail.smtp-url: smtp://127.0.0.1" in p.stderr, "no mail server", p.stderr)


def copy_of(site, name):
    to = os.path.join(site.folder, name)
    site.run("backup", to)
    return to


def damaged(site):
    """A store with a damaged index is reported and not written."""
    to = copy_of(site, "damaged.db")
    db = sqlite3.connect(to)
    size = db.execute("PRAGMA page_size").fetchone()[0]
    root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'job_user'").fetchone()[0]
    db.close()
    with open(to, "r+b") as f:
        f.seek(root * size - 200) # the cells of the page
        f.write(b"\xaa" * 200)
    p = subprocess.run([PROGRAM, "check", "--store.path=" + to], capture_output=True)
    check(p.returncode == 1 and b"damaged.db" in p.stderr, "check reports a damaged store", p.stderr)
    p = site.run("run", "--once", "--store.check", "--store.path=" + to)
    check(p.returncode == 1 and b"damaged.db" in p.stderr, "with --store.check a damaged store is not written",
          p.stderr)


def clock_ahead(site):
    """If the clock was two hours ahead at the last import and is set back, jobs since
    then are imported."""
    to = copy_of(site, "ahead.db")
    db = sqlite3.connect(to)
    since = site.now - 1800
    deleted = db.execute("SELECT count(*) FROM job WHERE submit >= ?", (since,)).fetchone()[0]
    db.execute("DELETE FROM step WHERE job IN (SELECT id FROM job WHERE submit >= ?)", (since,))
    db.execute("DELETE FROM job WHERE submit >= ?", (since,))
    db.execute("UPDATE covered SET to_sec = to_sec + 7200")
    db.commit()
    db.close()
    p = site.run("run", "--once", "--store.path=" + to)
    db = sqlite3.connect(to)
    imported = db.execute("SELECT count(*) FROM job WHERE submit >= ?", (since,)).fetchone()[0]
    check(p.returncode == 0 and deleted > 0 and imported == deleted,
          "a clock that was set back by two hours loses none of %d jobs" % deleted, imported, p.stderr)


def main():
    if not os.access(PROGRAM, os.X_OK):
        print("1..0 # SKIP %s was not built: SQLite is not installed" % PROGRAM)
        return 0
    folder = tempfile.mkdtemp(prefix="bj-statsdb-")
    try:
        site = Site(folder)
        killed(site)
        compare(site, "after kills")
        same_sums(site, "after kills")
        before = stored_jobs(site)
        for covered in (False, True):
            if covered:
                db = sqlite3.connect(site.store)
                db.execute("DELETE FROM covered")
                db.commit()
                db.close()
            p = site.run("--once")
            check(p.returncode == 0 and stored_jobs(site) == before,
                  "importing %s again changes nothing" % ("all jobs" if covered else "new jobs"),
                  p.stderr[-400:])
        same_sums(site, "after repeated imports")
        page(site)
        snapshots(site)
        copied(site)
        damaged(site)
        clock_ahead(site)
        configured(site)
        exported(site)
        full_disk(site)
        dry(site)
        stopped(site)
        over_http(site)
    finally:
        shutil.rmtree(folder)
    return plan()


sys.exit(main())
