#!/usr/bin/env python3
"""Findings on running jobs: rules with "running" and "escalate", evaluated by
batchjob_stats_db with a real Prometheus.  promtool imports simulated samples of the
last two hours; scripts stand in for sacct, scancel and sendmail.  To let time pass,
the tests change the times in the store.  TAP."""
import email
import email.policy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import measured  # noqa: E402
import prom_lib  # noqa: E402
import store_lib  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
O = os.path.join(TOP, os.environ.get("O", "build"))
NOW = int(time.time())
STEP, PAST, GIB = 30, 7200, 1 << 30

# A job: nodes, cpus, gpus and age as in accounting; busy: CPUs used on each node; io:
# bytes per second; memory: fraction of the limit; use: utilisation of each GPU.
JOBS = {
    # description: job id, rule that matches, values
    "good": (100, None, dict(cpus=4, busy=[3.9], io=1000)),
    "one of two GPUs idle": (101, "running_gpus_unused", dict(cpus=4, gpus=2, busy=[1], use=[.8, 0])),
    "serial": (102, "running_serial", dict(cpus=4, busy=[.99])),
    "hangs": (103, "running_no_progress", dict(cpus=4, busy=[0])),
    "one of two nodes idle": (104, "running_nodes_unused",
                              dict(cpus=8, busy=[4, 0], io=10000)),
    "near its memory limit": (105, "running_memory_limit", dict(cpus=1, busy=[1], memory=.97)),
    "few CPUs busy": (106, "running_cpu_very_low", dict(cpus=8, busy=[.2], io=1000)),
    "reads files only": (107, "running_cpu_very_low", dict(cpus=1, busy=[0.0005], io=50000)),
    "one of five nodes slow": (108, "running_nodes_uneven",
                               dict(cpus=20, busy=[3.9, 3.9, 1.2, 3.8, 3.9], io=1000)),
    "memory rises to the limit": (109, "running_leak", dict(cpus=1, busy=[1], memory=.1, rise=.3)),
    "memory rises, but not that far": (122, None, dict(cpus=1, busy=[1], memory=.1, rise=.12)),
    "one of two GPUs hardly used": (123, "running_gpus_uneven", dict(cpus=4, gpus=2, busy=[1], use=[.8, .1])),
    # Younger than the minutes of the present use: a rate of its own time, and not idle before it began.
    "busy since two minutes": (124, None, dict(busy=[1], io=1000, age=120)),
    "scraped every minute, not as configured": (126, None, dict(busy=[1], io=1000, step=60)),
    "idle since two minutes": (125, None, dict(busy=[0], age=120)),
    # Wrong, old, missing or contradictory data: no finding.
    "idle GPU, but a gap in the samples": (110, None, dict(gpus=1, busy=[1], use=[0],
                                                           gap=(3000, 2000))),
    "idle GPU, but old samples": (111, None, dict(gpus=1, busy=[1], use=[0], until=900)),
    "idle GPU, but accounting has two": (112, None, dict(gpus=2, busy=[1], use=[0])),
    "one node without samples": (113, None, dict(cpus=8, busy=[0, None])),
    "three nodes where accounting has two": (114, None, dict(cpus=8, nodes=2, busy=[0, 0, 0])),
    "started a moment ago": (115, None, dict(cpus=4, busy=[0], age=1500)),
    "interactive": (116, None, dict(cpus=4, busy=[0], interactive=True)),
    "GPU used between the samples": (117, None, dict(gpus=1, busy=[1], use=[0], between=.5)),
    "GPU busy, none in accounting": (118, None, dict(cpus=1, busy=[0], use=[.9], gpus=0)),
    "was suspended": (119, None, dict(cpus=4, busy=[0], suspended=600)),
    "waits": (120, None, dict(cpus=4, busy=[0], state="PENDING")),
    "has ended": (121, None, dict(cpus=4, busy=[0], state="COMPLETED")),
    "idle GPU in a partition that cancels": (130, "running_gpus_unused",
                                             dict(gpus=1, busy=[1], use=[0], partition="gpu")),
    "the same, not listed in cancel-allow": (131, "running_gpus_unused",
                              dict(gpus=1, busy=[1], use=[0], partition="gpu", user="boss")),
}

SACCT = measured.SACCT.replace("TotalCPU", "TotalCPU Suspended TimelimitRaw")


def sample(name, labels, value, at):
    return (name, ",".join('%s="%s"' % kv for kv in sorted(labels.items())), value, at)


def series(jobid, j, start):
    """Yield the exporter's samples of a job, every 30 s."""
    for n, busy in enumerate(j["busy"]):
        if busy is None:
            continue
        node = {"jobid": str(jobid), "instance": "n%d:9415" % n, "slurm_node": "n%d" % n,
                "cluster": "alpha", "user": j["user"]}
        for at in range(max(start, NOW - PAST), NOW - j["until"], j["step"]):
            ago, ran = NOW - at, at - start
            if j["gap"] and j["gap"][1] < ago < j["gap"][0]:
                continue
            yield sample("batchjob_job_cpu_seconds_total", node, ran * busy, at)
            for way in ("read", "write"):
                yield sample("batchjob_job_io_%s_bytes_total" % way, node, ran * j["io"] / 2, at)
            yield sample("batchjob_job_memory_rss_bytes", node,
                         (j["memory"] + j["rise"] * ran / 3600) * 8 * GIB, at)
            yield sample("batchjob_job_cpus", node, j["cpus"] / j["nodes"], at)
            yield sample("batchjob_job_memory_shmem_bytes", node, 0, at)
            yield sample("batchjob_job_memory_limit_bytes", node, 8 * GIB, at)
            yield sample("batchjob_job_memory_held_peak_bytes", node, j["memory"] * 8 * GIB, at)
            for g, use in enumerate(j["use"] if n == 0 else []):
                gpu = {**node, "gpu": "GPU-%d-%d" % (jobid, g), "index": str(g)}
                yield sample("batchjob_job_gpu_busy_ratio", gpu, use, at)
                yield sample("batchjob_job_gpu_held_seconds_total", gpu, ran, at)
                yield sample("batchjob_job_gpu_idle_seconds_total", gpu,
                             ran * (1 - max(use, j["between"])), at)


def accounting(jobid, j, start):
    end = str(NOW - 60) if j["state"] == "COMPLETED" else "Unknown"
    tres = "cpu=%d,mem=8G,node=%d" % (j["cpus"], j["nodes"])
    row = {"JobIDRaw": str(jobid), "JobID": str(jobid), "Cluster": "alpha", "User": j["user"],
           "Account": "phys", "Partition": j["partition"], "State": j["state"],
           "Submit": str(start - 10), "Start": "Unknown" if j["state"] == "PENDING" else str(start),
           "End": end, "ElapsedRaw": str(NOW - start), "AllocCPUS": str(j["cpus"]),
           "NNodes": str(j["nodes"]), "Suspended": "00:10:00" if j["suspended"] else "00:00:00",
           "TimelimitRaw": "240", "AllocTRES": tres + (",gres/gpu=%d" % j["gpus"] if j["gpus"] else "")}
    yield row
    if j["interactive"]:
        yield {**row, "JobIDRaw": "%d.interactive" % jobid, "JobID": "%d.interactive" % jobid,
               "Partition": "", "User": ""}


def with_defaults(spec):
    j = dict(cpus=1, gpus=0, step=STEP, io=0, memory=.1, rise=0, use=[], age=6000, gap=None, until=0, between=0,
             interactive=False, suspended=0, state="RUNNING", partition="long", user="anna")
    j.update(spec)
    j.setdefault("nodes", len(j["busy"]))
    return j


class Server(prom_lib.Prometheus):
    """A Prometheus that scrapes nothing and starts with the given samples."""

    def __init__(self, lines):
        self.lines = lines
        super().__init__()

    def prepare(self):
        with open(self.folder + "/past", "w") as f:
            name = None
            for metric, labels, value, at in sorted(self.lines, key=lambda v: (v[0], v[1], v[3])):
                if metric != name:
                    name = metric
                    total = name.endswith("_total")
                    f.write("# TYPE %s %s\n" % (name[:-6] if total else name,
                                                "counter" if total else "gauge"))
                f.write("%s{%s} %r %d\n" % (metric, labels, value, at))
            f.write("# EOF\n")
        p = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics",
                            self.folder + "/past", self.folder + "/data"],
                           capture_output=True, text=True)
        check(p.returncode == 0, "promtool imports the samples", p.stderr)


class Site:
    def __init__(self, folder, url):
        self.folder, self.url, self.database = folder, url, store_lib.store(folder + "/stats.db")
        self.store, self.rows = self.database.url, self.database.rows
        jobs = []
        for jobid, _, spec in JOBS.values():
            j = with_defaults(spec)
            jobs += accounting(jobid, j, NOW - j["age"])
        self.write("sacct", SACCT % (jobs,), 0o755)
        self.write("cancel", "#!/bin/sh\nprintf '%%s\\n' \"$*\" >>%s/cancelled\n" % folder, 0o755)
        self.write("sendmail", "#!/bin/sh\ncat >%s/mail.$$\n" % folder, 0o755)
        self.write("findings.yml", "rules: []\n")
        self.write("alpha.yml", "name: alpha\nsacct:\n  command: %s/sacct\n  pause: 0s\n  history: 1d\n"
                   "prometheus:\n  url: %s\n  scrape-interval: 30s\n  match: [cluster=alpha]\n"
                   "  grace: 5m\n" % (folder, url))
        self.options()

    def write(self, name, text, mode=0o644):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)
        os.chmod(os.path.join(self.folder, name), mode)

    def options(self, **more):
        options = {"dry-run": True, "cancel-command": [self.folder + "/cancel", "--quiet", "{jobid}"],
                   "cancel-allow": ["user:anna"], **more}
        self.write("site.yml", json.dumps({
            "store": {"path": self.store}, "cluster": {"file": self.folder + "/alpha.yml"},
            "findings": {"file": self.folder + "/findings.yml"},
            "metrics": {"file": self.folder + "/page.prom"},
            "running": options,
            "mail": {"send": "sendmail", "sendmail": self.folder + "/sendmail",
                     "from": "batch@example.org", "reply-to": "help@example.org",
                     "address": "{user}@example.org", "quiet-hours": "00:00-23:59"}}))

    def run(self, *words):
        return subprocess.run([O + "/batchjob_stats_db", *words, "--config.file=%s/site.yml"
                               % self.folder], capture_output=True, text=True, timeout=300)

    def once(self, code=0):
        p = self.run("--once")
        return same(p.returncode, code, "an evaluation has the expected exit status") or print("# " + p.stderr[-1500:])

    def found(self):
        return self.rows("SELECT CAST(j.jobid AS INTEGER) AS jobid, r.name FROM job_finding AS f JOIN job AS j ON j.id ="
                         " f.job JOIN finding_rule AS r ON r.id = f.rule WHERE j.\"end\" IS NULL"
                         " ORDER BY 1, 2")

    def actions(self, jobid):
        return self.rows("SELECT a.action, a.state FROM running_action AS a JOIN job AS j ON j.id ="
                         " a.job WHERE CAST(j.jobid AS INTEGER) = ? ORDER BY a.id", jobid)

    def later(self, seconds):
        """Change the times in the store as if so many seconds had passed with regular evaluations."""
        self.rows("UPDATE running_finding SET since = since - ?", seconds)
        self.rows("UPDATE running_action SET at = at - ?1, since = since - ?1", seconds)

    def file(self, name):
        try:
            with open(os.path.join(self.folder, name)) as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def mails(self):
        found = []
        for name in os.listdir(self.folder):
            if name.startswith("mail."):
                with open(os.path.join(self.folder, name), "rb") as f:
                    found.append(email.message_from_binary_file(f, policy=email.policy.default))
        return found

    def report(self, jobid, *words):
        return subprocess.run([O + "/batchjob_acct", "report", "--store.path=" + self.store,
                               *words, str(jobid)], capture_output=True, text=True,
                              check=True).stdout


ESCALATE = """rules:
- name: running_gpus_unused
  partition: gpu
  escalate: [warn after 0m, warn after 45m, cancel after 1h]
"""


def rules(site):
    site.once()
    found = dict(site.found())
    for what, (jobid, rule, _) in JOBS.items():
        same(found.get(jobid), rule, "%s: %s" % (what, rule or "no finding"))
    same(len(site.found()), len(found), "no job has more than one finding")
    page = site.file("page.prom")
    running = sum(1 for _, _, spec in JOBS.values() if with_defaults(spec)["state"] == "RUNNING")
    check('batchjob_stats_running_jobs{cluster="alpha"} %d\n' % running in page,
          "the metrics have the number of running jobs", page[-1500:])
    check('batchjob_stats_running_finding_since_timestamp_seconds{cluster="alpha",jobid="103",'
          'user="anna",account="phys",partition="long",rule="running_no_progress",'
          'severity="warning"} ' in page, "the metrics have the finding", page[-1500:])
    data = json.loads(site.report(101, "--output=json"))[0]
    # The last samples are some seconds old.
    same(re.sub(r"(0\.[6-9]\d*|1|1\.0\d) of its 4", "1 of its 4", data["verdict"]["wrong"]), "The job is running. The job has not used 1 of its GPUs for 1 h (n0: GPU 1)."
         " In the last minutes 1 of its 4 CPUs were busy. It holds 819 MiB of 8 GiB of memory."
         " In the last minutes its GPUs were busy 40 % of the time.",
         "the verdict of the report is the finding")
    same(data["verdict"]["level"], "warning", "the level of the verdict is the severity of the finding")
    check("has not used 1 of its GPUs for 1 h (n0: GPU 1)" in " ".join(site.report(101).split()),
          "the report as text has the finding", site.report(101))
    same([(g["index"], g["busy_percent"], g["idle_since"] is not None) for g in data["gpus"]],
         [("0", 80, False), ("1", 0, True)], "the report has the present use of each GPU")
    n = data["nodes"][0]
    check(0.6 < n["cpus_busy"] < 1.01 and n["at"] - NOW >= 0 and n["idle_since"] is None,
          "the report has the present use of the node", n)
    check("idle since" in site.report(101), "the text names since when a GPU is idle", site.report(101))
    since = site.rows("SELECT since FROM running_finding")
    idle = site.rows("SELECT job, node, gpu, idle_since FROM job_part WHERE idle_since IS NOT NULL ORDER BY 1, 2, 3")
    site.once()
    same(site.rows("SELECT job, node, gpu, idle_since FROM job_part WHERE idle_since IS NOT NULL ORDER BY 1, 2, 3"),
         idle, "idle GPUs and nodes stay idle since the first evaluation")
    check(len(idle) > 3, "nodes and GPUs are idle", idle)
    same(site.rows("SELECT since FROM running_finding"), since,
         "the next evaluation keeps the start time of each finding")


def lists(site):
    """Lists have what running jobs use now, of jobs whose nodes and GPUs are all known; a job is idle
    if nothing of it is in use, not if that is unknown."""
    fields = "jobid,now_cpus_busy,now_memory_bytes,now_gpu_busy_percent,idle_since"
    p = subprocess.run([os.path.join(TOP, O, "batchjob_acct"), "--store.path=" + site.store, "--format=" + fields,
                        "--output=json", "--limit=100"], capture_output=True, text=True, check=True)
    rows = {int(r["jobid"]): r for r in json.loads(p.stdout)}
    have, want = {}, {}
    for jobid, _, spec in JOBS.values():
        j = with_defaults(spec)
        row = rows[jobid]
        # Jobs with contradictory data have no use at all; those with old samples or gaps are tested by findings.
        if jobid in (110, 111, 112, 114, 116, 118) or j["state"] != "RUNNING" or j["between"]:
            continue
        known = None not in j["busy"]
        cpus, gpu = row["now_cpus_busy"], row["now_gpu_busy_percent"]
        used = sum(b or 0 for b in j["busy"])
        # Rates of samples that are some seconds old.
        have[jobid] = (cpus is not None and abs(cpus - used) < .1 + used / 4, row["now_memory_bytes"] is not None,
                       gpu and round(gpu), row["idle_since"] is not None)
        want[jobid] = (known, known, round(100 * sum(j["use"]) / len(j["use"])) if
                       j["use"] and sum(j["use"]) else 0 if j["use"] else None,
                       known and max(j["busy"] + j["use"]) < .01 and j["age"] > 300)
    same(have, want, "lists have what running jobs use now")
    check(have[103][3] and not have[113][0] and not have[113][3], "a job is idle, another one is not known", want)
    for jobid in (120, 121):
        same([v for k, v in rows[jobid].items() if k != "jobid"], [None] * 4, "job %d does not run" % jobid)
    text = " ".join(site.report(101).split())
    since = re.search(r"idle since ([0-9-]+ [0-9:]+)", text).group(1)
    if shutil.which("pdftotext"):
        path = os.path.join(site.folder, "101.pdf")
        with open(path, "wb") as f:
            subprocess.run([O + "/batchjob_acct", "report", "--store.path=" + site.store, "--format=pdf", "101"],
                           stdout=f, check=True)
        pdf = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True).stdout
        check("n0: GPU 1 idle since " + since in " ".join(pdf.split()), "the PDF names the idle GPU and since when", pdf)
    else:
        skip("the PDF names the idle GPU", "not installed: poppler-utils")


def dry_run(site):
    site.write("findings.yml", ESCALATE)
    site.once()
    same(site.actions(130), [("warn", "dry run")], "dry run: a warning is recorded")
    same(site.actions(101), [], "dry run: no action in another partition")
    site.later(45 * 60)
    site.once()
    site.later(15 * 60)
    site.once()
    site.once()
    same(site.actions(130), [("warn", "dry run")] * 2 + [("cancel", "dry run")],
         "dry run: two warnings and a cancellation are recorded")
    same((site.mails(), site.file("cancelled")), ([], ""), "dry run: no mail is sent and no job is cancelled")
    text = " ".join(site.report(130).split())
    check("Dry run: the job would have been cancelled (running_gpus_unused)." in text,
          "the report shows that the job would have been cancelled", text)
    site.rows("DELETE FROM running_action")
    site.rows("DELETE FROM running_finding")


def for_real(site):
    site.options(**{"dry-run": False})
    site.once()
    mails = [m for m in site.mails() if m["To"] == "anna@example.org"]
    same(len(mails), 1, "the owner gets one warning, even in quiet hours")
    text = mails[0].get_body(("plain",)).get_content()
    check("has not used 1 of its GPUs for 1 h" in " ".join(text.split()) and
          "another warning in 45 min" in text,
          "the warning has the finding and the time of the next one", text)
    same(mails[0]["List-Unsubscribe"], None, "the warning has no link to unsubscribe")
    same(site.actions(130), [("warn", "done")], "the warning is recorded as sent")
    site.later(15 * 60)
    site.once()
    same(len(site.mails()), 2, "no second warning before its time (one for each job)")
    site.later(30 * 60)
    site.once()
    same(site.actions(130), [("warn", "done")] * 2, "the second warning is sent at its time")
    check(any("will be cancelled in 15 min" in m.get_body(("plain",)).get_content()
              for m in site.mails()), "the second warning says when the job will be cancelled")
    site.rows("UPDATE running_action SET at = at + 600")
    site.later(15 * 60)
    site.once()
    same(site.file("cancelled"), "", "no job is cancelled too soon after its last warning")
    site.later(10 * 60)
    site.once()
    site.once()
    same(site.file("cancelled"), "--quiet 130\n", "then the job is cancelled, once")
    same(site.actions(131)[-1], ("cancel", "failed"), "a job that is not listed in cancel-allow is not cancelled")
    check("not listed in running.cancel-allow" in " ".join(site.report(131).split()),
          "the report of that job gives the reason", site.report(131))


def labels(site):
    p = site.run("--once")
    check("prometheus.match selects" not in p.stderr, "no warning when series have the labels", p.stderr)
    text = site.file("alpha.yml")
    site.write("alpha.yml", text.replace("[cluster=alpha]", "[site=alpha]"))
    p = site.run("--once")
    check(p.returncode == 0 and "prometheus.match selects series with {site=\\\"alpha\\\",}" in p.stderr,
          "a warning when no series has the labels", p.stderr)
    site.write("alpha.yml", text)
    site.once()


def interruptions(site):
    """Pauses of evaluation, failed mails and old accounting interrupt an escalation."""
    site.rows("DELETE FROM running_action")
    site.once()
    same(site.actions(130), [("warn", "done")], "a warning is sent")
    site.later(50 * 60)
    site.rows("UPDATE running_finding SET seen = seen - 7200")
    site.once()
    since, = site.rows("SELECT since FROM running_finding AS f JOIN job AS j ON j.id = f.job WHERE"
                       " CAST(j.jobid AS INTEGER) = 130")[0]
    check(since >= NOW, "after a pause of the evaluations the finding begins again")
    site.rows("DELETE FROM running_action")
    site.write("sendmail", "#!/bin/sh\nexit 69\n", 0o755)
    site.later(7200)
    site.once()
    site.later(7200)
    site.once()
    same(site.actions(130)[1:], [], "after a warning that could not be sent there is no other action")
    before = site.rows("SELECT * FROM running_action")
    text = site.file("alpha.yml")
    site.write("alpha.yml", text.replace(site.folder + "/sacct", '""'))
    site.rows("UPDATE covered SET to_sec = to_sec - 3600")
    p = site.run("--once")
    check(p.returncode != 0 and "longer than running.max-age" in p.stderr,
          "old accounting: no evaluation", p.stderr)
    same(site.rows("SELECT * FROM running_action"), before, "old accounting: no action")
    site.write("alpha.yml", text)


def refusals(site):
    for what, rule, options, want in (
            ("cancel without partition", "escalate: [warn after 0m, cancel after 1h]", {},
             "a rule that cancels needs partition or qos"),
            ("cancel without warning", "partition: gpu\n  escalate: cancel after 1h", {},
             "escalate must warn before it cancels"),
            ("falling times", "escalate: [warn after 2m, warn after 1m]", {},
             "the times in escalate must increase"),
            ("an unknown action", "escalate: [mail them]", {}, "'warn after TIME' or 'cancel after TIME'"),
            ("an invalid time", "running: soon", {}, "a time from 1m to 7d is expected"),
            ("cancel without cancel-command", "partition: gpu\n  escalate: [warn after 0m, cancel after 1h]",
             {"cancel-command": []}, "running.cancel-command: required by rule"),
            ("an invalid item of cancel-allow", "enabled: true", {"cancel-allow": ["anna"]}, "'anna' is not user:NAME")):
        site.write("findings.yml", "rules:\n- name: running_gpus_unused\n  %s\n" % rule)
        site.options(**options)
        p = site.run("check-config")
        check(p.returncode != 0 and want in p.stderr, "%s is refused" % what, p.stderr)


def without_prometheus(site, server):
    site.write("findings.yml", "rules: []\n")
    site.options()
    server.stop()
    p = site.run("--once")
    check(p.returncode != 0 and "running jobs" in p.stderr, "without Prometheus an evaluation fails", p.stderr)
    check(len(site.found()) > 0, "findings stay for running.max-age")


def main():
    for program in ("prometheus", "promtool"):
        if not shutil.which(program):
            skip("findings on running jobs", program + " is not installed")
            return plan()
    lines = [line for jobid, _, spec in JOBS.values()
             for line in series(jobid, with_defaults(spec), NOW - with_defaults(spec)["age"])]
    # Job id 103 on another cluster, where the job is busy.
    lines += [(m, l.replace("alpha", "beta"), v + at - NOW + 2 * PAST if m.endswith("total") else v, at)
              for m, l, v, at in lines if 'jobid="103"' in l]
    server = Server(lines)
    database = None
    with tempfile.TemporaryDirectory(prefix="bj-running-") as folder:
        try:
            if server.failure:
                check(False, "Prometheus starts", server.failure)
                return plan()
            site = Site(folder, server.url)
            database = site.database
            rules(site)
            lists(site)
            dry_run(site)
            for_real(site)
            labels(site)
            interruptions(site)
            refusals(site)
            without_prometheus(site, server)
        finally:
            server.stop()
            if database:
                database.close()
    return plan()


sys.exit(main())
