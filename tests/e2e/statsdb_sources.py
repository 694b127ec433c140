#!/usr/bin/env python3
"""batchjob_stats_db with sources other than sacct: accounting files of PBS and LSF
that grow and rotate while the daemon is killed at random moments; a simulated
slurmrestd that requires a token; a source that fails while others work.  TAP."""
import http.server
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from tap import check, plan

HERE = os.path.dirname(os.path.abspath(__file__))
O = os.path.join(HERE, "../..", os.environ.get("O", "build"))
DAEMON = os.path.abspath(os.path.join(O, "batchjob_stats_db"))
ACCT = os.path.abspath(os.path.join(O, "batchjob_acct"))
FIXTURE = os.path.join(HERE, "../fixtures/sched/slurmdb-v0.0.38.json")
TOKEN = "eyJhbGciOiJIUzI1NiJ9.made.up"


class Rest(http.server.BaseHTTPRequestHandler):
    paths = []
    cut = False  # send half of the body

    def do_GET(self):
        Rest.paths.append(self.path)
        body, status = b"{}", 200
        if (self.headers.get("X-SLURM-USER-TOKEN"), self.headers.get("X-SLURM-USER-NAME")) != \
                (TOKEN, "anna"):
            status = 401
        elif self.path == "/openapi/v3":
            body = (b'{"paths":{"/slurm/v0.0.40/jobs":{},"\\/slurmdb\\/v0.0.38\\/jobs":{},'
                    b'"/slurmdb/v0.0.37/jobs":{},"/slurmdb/v0.0.38/job/{job_id}":{}}}')
        elif self.path.startswith("/slurmdb/v0.0.38/jobs?start_time=uts"):
            with open(FIXTURE, "rb") as f:
                body = f.read()
            body = body[:len(body) // 2] if Rest.cut else body
        else:
            status = 404
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.store = os.path.join(folder, "stats.db")
        self.files = []
        self.extra = ""

    def cluster(self, name, text):
        path = os.path.join(self.folder, name + ".yml")
        with open(path, "w") as f:
            f.write("name: %s\n%s" % (name, text))
        self.files.append(path)

    def args(self, *command):
        with open(os.path.join(self.folder, "site.yml"), "w") as f:
            f.write("store:\n  path: %s\n  batch-lines: 100\ncluster:\n  file: [%s]\n"
                    % (self.store, ", ".join(self.files)))
        return [DAEMON] + list(command) + ["--config.file=%s/site.yml" % self.folder]

    def run(self, *command):
        return subprocess.run(self.args(*command), capture_output=True, timeout=300)

    def rows(self, sql):
        db = sqlite3.connect("file:%s?mode=ro" % self.store, uri=True)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()


def pbs_lines(rng, count, first):
    """Return the accounting lines of jobs in order of time, and the runs that must be stored."""
    events, want = [], {}
    for i in range(count):
        raw = "%d%s.pbs" % (first + i, "[%d]" % (i % 4) if i % 6 == 0 else "")
        t = 1763600000 + rng.randrange(80000)
        name = rng.choice(["run", "a;E;1.pbs;", "x=y", "it's", 'say "hi"', "\xe4\xff"])
        attributes = "user=u%d queue=workq jobname=\"%s\" ctime=%d" % (i % 5, name, t)
        events.append((t, "Q", raw, attributes))
        if i % 11 == 0:
            events.append((t + 9, "D", raw, "requestor=u@h"))
            want[raw] = [("cancelled", None)]
            continue
        want[raw] = []
        start = t
        for run in range(1, 1 + rng.choice([1, 1, 1, 2, 3])):
            if want[raw]:
                want[raw][-1] = ("requeued", want[raw][-1][1])
                events[-1] = (events[-1][0], "R") + events[-1][2:]
            start += 100
            run_text = "%s start=%d exec_host=n%d/0*4" % (attributes, start, i % 9)
            events.append((start, "S", raw, run_text))
            code = rng.choice([0, 0, 1, 271])
            events.append((start + 50, "E", raw, "%s end=%d Exit_status=%d run_count=%d "
                           "resources_used.cput=00:00:%02d resources_used.walltime=00:00:50"
                           % (run_text, start + 50, code, run, i % 60)))
            want[raw].append(("completed" if code == 0 else "failed", start))
    events.sort(key=lambda e: e[0])
    lines = []
    for t, kind, raw, text in events:
        stamp = time.strftime("%m/%d/%Y %H:%M:%S", time.gmtime(t))
        lines.append((t, "%s;%s;%s;%s\n" % (stamp, kind, raw, text)))
    return lines, want


def write_piece(folder, t, text):
    name = time.strftime("%Y%m%d", time.gmtime(t))
    with open(os.path.join(folder, name), "ab") as f:
        f.write(text)


def pbs_killed(site, rng):
    """Accounting lines are written while the daemon reads them and is killed repeatedly."""
    folder = os.path.join(site.folder, "accounting")
    os.mkdir(folder)
    site.cluster("pbs", "pbs:\n  accounting: %s\n  interval: 1s\n" % folder)
    lines, want = pbs_lines(rng, 3000, 5000)
    env = dict(os.environ, TZ="UTC")
    text = [(t, line.encode("utf-8" if rng.random() < 0.5 else "latin-1")) for t, line in lines]
    kills, at = 0, 0
    while at < len(text):
        daemon = subprocess.Popen(site.args(), env=env, stderr=subprocess.DEVNULL)
        end = time.time() + rng.random() * 0.4
        while time.time() < end and at < len(text):
            for t, line in text[at:at + 97]:
                cut = rng.randrange(len(line)) if rng.random() < 0.01 else 0
                write_piece(folder, t, line[:cut])
                write_piece(folder, t, line[cut:])
            at += 97
            time.sleep(0.02)
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        kills += 1
    done = site.run("--once")
    check(done.returncode == 0, "the files are read to their end", done.stderr)
    have = {}
    for raw, state, start in site.rows(
            "SELECT jobid, state, start_sec FROM job_v ORDER BY jobid, submit_sec"):
        have.setdefault(raw, []).append((state, start))
    wrong = ["%s: wanted %s, stored %s" % (k, want.get(k), have.get(k))
             for k in sorted(set(want) | set(have)) if want.get(k) != have.get(k)]
    check(not wrong, "every run is stored once, after %d kills (%d jobs, %d runs)"
          % (kills, len(want), sum(map(len, want.values()))), *wrong[:9])
    again = site.run("--once")
    check(b"jobs" not in again.stderr, "no line is read twice", again.stderr)
    db = sqlite3.connect(site.store)
    dump = db.execute("SELECT * FROM job ORDER BY id").fetchall()
    db.execute("DELETE FROM covered")
    db.commit()
    db.close()
    again = site.run("--once")
    now = site.rows("SELECT * FROM job ORDER BY id")
    check(again.returncode == 0 and now == dump, "reading all files again changes nothing", again,
          len(dump), len(now), [p for p in zip(dump, now) if p[0] != p[1]][:3])
    check(site.run("check").returncode == 0, "the store is consistent")


def lsf_line(rng, i):
    """Return a line of lsb.acct, and the job that must be stored."""
    name = rng.choice(["run", 'a ""b"" 64 c', "x" * 300, "#no remark", "JOB_FINISH"])
    hosts = rng.randrange(1, 4)
    status, code = rng.choice([(64, 0), (32, 256)])
    index = rng.choice([0, 0, 3])
    text = ('"JOB_FINISH" "10.1" %d %d 1001 33816579 4 %d 0 0 %d "u%d" "normal" "span[hosts=1]" '
            '"" "" "login1" "w" "" "out" "" "1795170000.%d" 2 "a" "b" %d %s %d 60.0 "%s" "true" '
            '1.5 0.5 0 0 -1 0 0 7 0 0 0 0 -1 0 0 0 1 2 -1 "" "default" %d 4 "" "" %d 1024 2048\n'
            % (1795170100 + i, i, 1795170000, 1795170050, i % 5, i, hosts, '"h" ' * hosts,
               status, name, code, index))
    raw = "%d[%d]" % (i, index) if index else i
    return text, (raw, "completed" if status == 64 else "failed",
                  name.replace('""', '"'), hosts)


def lsf_killed(site, rng):
    """The same with lsb.acct, which is sometimes rotated."""
    base = os.path.join(site.folder, "lsb.acct")
    site.cluster("lsf", "lsf:\n  acct: %s\n  interval: 1s\n" % base)
    want, at, kills, files = [], 1, 0, 0
    open(base, "w").close()
    while at < 3000:
        daemon = subprocess.Popen(site.args(), stderr=subprocess.DEVNULL)
        end = time.time() + rng.random() * 0.4
        while time.time() < end:
            with open(base, "a") as f:
                for at in range(at, at + rng.randrange(1, 99)):
                    text, job = lsf_line(rng, at)
                    want.append(job)
                    f.write(text[:9])
                    f.flush()
                    f.write(text[9:])
                at += 1
            if rng.random() < 0.2:
                for k in range(files, -1, -1):
                    os.rename("%s.%d" % (base, k) if k else base, "%s.%d" % (base, k + 1))
                files += 1
                with open(base, "w") as f:
                    f.write("# made again\n")
            time.sleep(0.02)
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        kills += 1
    done = site.run("--once")
    check(done.returncode == 0, "lsb.acct is read to its end", done.stderr)
    have = site.rows("SELECT jobid, state, name, cpus FROM job_v WHERE cluster = 'lsf'")
    key = str
    wrong = ["%s: stored %s" % (w, h) for w, h in zip(sorted(want, key=key), sorted(have, key=key))
             if (w[0], w[1], w[2], w[3]) != h]
    check(len(want) == len(have) and not wrong,
          "every job of LSF is stored once, after %d kills and %d new files" % (kills, files),
          len(want), len(have), *wrong[:5])
    time.sleep(1.1)
    again = site.run("--once")
    check(b"jobs" not in again.stderr, "no line of LSF is read twice", again.stderr)


def acct_output(site):
    out = subprocess.run([ACCT, "--store.path=" + site.store, "--since=2025-11-01", "--output=json",
                          "--user=u1", "--format=JobID,State,User,Elapsed,TotalCPU,CPUEff"],
                         capture_output=True)
    jobs = json.loads(out.stdout)
    n = site.rows("SELECT count(*) FROM job_v WHERE user = 'u1'")[0][0]
    check(len(jobs) == n > 0 and all(j["user"] == "u1" for j in jobs),
          "batchjob_acct shows the jobs of a user", out.stderr)
    check(all(j["cpu_efficiency_percent"] is None for j in jobs if j["cpu_used_seconds"] is None),
          "unknown values stay unknown")
    out = subprocess.run([ACCT, "--store.path", site.store, "5002", "--utc"],
                         capture_output=True, env=dict(os.environ, LINES="9", COLUMNS="20"))
    lines = out.stdout.decode().splitlines()
    check(lines[0].startswith("JobID") and lines[1].startswith("5002.pbs") and "\033" not in
          out.stdout.decode(), "batchjob_acct shows a job by its number, without colours", out.stdout)


def slurmrestd(site):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Rest)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    token = os.path.join(site.folder, "token")
    site.cluster("gone", "lsf:\n  acct: %s/nowhere/lsb.acct\n" % site.folder)
    with open(token, "w") as f:
        f.write("stale\n")
    os.chmod(token, 0o600)
    site.cluster("rest", "slurmrestd:\n  url: http://127.0.0.1:%d\n  token-file: %s\n  user: anna\n"
                 "sacct:\n  history: 1h\n  pause: 0s\n" % (server.server_port, token))
    out = site.run("--once")
    check(out.returncode == 1 and b"rest: GET http://127.0.0.1" in out.stderr and
          b"status 401" in out.stderr, "a refused token is an error", out.stderr)
    with open(token, "w") as f:
        f.write("SLURM_JWT=%s\n" % TOKEN)
    site.run("--once")
    with open(FIXTURE) as f:
        reported = len({(j["job_id"], j["time"]["submission"]) for j in json.load(f)["jobs"]})
    stored = site.rows("SELECT count(*) FROM job_v WHERE cluster NOT IN ('pbs', 'lsf')")[0][0]
    check(reported == stored > 0, "the token file is read again, and slurmrestd's jobs are stored",
          (reported, stored), Rest.paths)
    check(not any("v0.0.37" in a or "v0.0.40" in a for a in Rest.paths),
          "the newest plugin of slurmrestd is queried", Rest.paths)
    check(TOKEN.encode() not in out.stderr + out.stdout, "no output contains a token")
    time.sleep(1.1)
    requests = len(Rest.paths)
    out = site.run("--once")
    check(out.returncode == 1 and b"gone: " in out.stderr and b"nowhere" in out.stderr and
          len(Rest.paths) > requests, "a failing source is reported, the others continue", out.stderr)
    state = "SELECT (SELECT group_concat(from_sec || '-' || to_sec) FROM covered WHERE source ="\
        " 'slurmrestd'), (SELECT count(*) FROM job), (SELECT count(*) FROM step)"
    before = site.rows(state)
    Rest.cut = True
    time.sleep(1.1)
    out = site.run("--once")
    Rest.cut = False
    check(out.returncode == 1 and site.rows(state) == before,
          "a reply that is cut short changes nothing", out.stderr)
    os.chmod(token, 0o666)
    time.sleep(1.1)
    out = site.run("--once")
    check(out.returncode == 1 and b"slurmrestd.token-file" in out.stderr,
          "a token file that all users can change is not trusted", out.stderr)
    server.shutdown()


def main():
    folder = tempfile.mkdtemp(prefix="bj-sources-")
    try:
        rng = random.Random(7)
        site = Site(folder)
        pbs_killed(site, rng)
        acct_output(site)
        lsf_killed(site, rng)
        slurmrestd(site)
    finally:
        shutil.rmtree(folder)
    return plan()


if __name__ == "__main__":
    sys.exit(main())
