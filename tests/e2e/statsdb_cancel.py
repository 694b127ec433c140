#!/usr/bin/env python3
"""Rules that warn and then cancel ("escalate"), on jobs of a real Slurm: exporters
measure the jobs, a real Prometheus scrapes the exporters, batchjob_stats_db imports
from sacct, sends mails with a script as sendmail, and runs scancel.  TAP.

    statsdb_cancel.py USER FOLDER

The caller has started Slurm (tests/sandbox/slurm) with the partitions test and
watched.  A job must idle for a minute, so this takes about two minutes."""
import email
import email.policy
import json
import os
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prom_lib  # noqa: E402
from ports import free_port  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
O = os.path.join(TOP, os.environ.get("O", "build"))
USER, FOLDER = sys.argv[1:]
NODE = os.environ["SLURM_SANDBOX_PREFIX"] + "0%d"

# Job: partition, node, command.  Jobs of two partitions do not share a CPU.
JOBS = {
    "idle": ("watched", NODE % 1, "exec sleep 900"),
    "busy": ("watched", NODE % 1, "exec %s -t 900 -i 70" % os.path.join(FOLDER, "work")),
    # Its owner is warned once; then the job is no longer measured.
    "stale": ("watched", NODE % 1, "exec sleep 900"),
    "elsewhere": ("test", NODE % 2, "exec sleep 900"),
}
RULES = """rules:
- name: running_no_progress
  running: 1m
  partition: watched
  escalate: [warn after 0s, warn after 15s, cancel after 30s]
"""


class Exporter:
    """An exporter for the job "stale" (action keep) or for the others (action drop).
    Prometheus drops the other samples."""

    def __init__(self, name, action):
        self.name, self.action, self.port = name, action, free_port()
        with open(os.path.join(FOLDER, name + ".log"), "w") as log:
            self.p = subprocess.Popen(
                [O + "/batchjob_exporter", "--web.listen-address=127.0.0.1:%d" % self.port,
                 "--energy.state-file=", "--collector.process"], stdout=log, stderr=log)

    def stop(self):
        self.p.kill()
        self.p.wait()


class Prometheus(prom_lib.Prometheus):
    def __init__(self, exporters, stale):
        self.exporters, self.stale = exporters, stale
        super().__init__()

    def prepare(self):
        with open(self.folder + "/conf.yml", "w") as f:
            json.dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [
                {"job_name": e.name, "static_configs": [
                    {"targets": ["127.0.0.1:%d" % e.port], "labels": {"cluster": "sandbox"}}],
                 "metric_relabel_configs": [{"source_labels": ["jobid"], "regex": str(self.stale),
                                             "action": e.action}]} for e in self.exporters]}, f)


def write(name, text, mode=0o644):
    path = os.path.join(FOLDER, name)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def configure(url):
    os.mkdir(os.path.join(FOLDER, "sent"))
    write("cancel.yml", json.dumps({
        "name": "sandbox",
        "sacct": {"slurm-conf": os.environ["SLURM_CONF"], "history": "1d", "pause": "0s"},
        "prometheus": {"url": url, "scrape-interval": "1s", "grace": "0s"}}))
    write("rules.yml", RULES)
    write("sendmail", "#!/bin/sh\ncat >%s/sent/$$.eml\n" % FOLDER, 0o755)
    write("site.yml", json.dumps({
        "store": {"path": FOLDER + "/cancel.db"}, "cluster": {"file": FOLDER + "/cancel.yml"},
        "findings": {"file": FOLDER + "/rules.yml"},
        "running": {"dry-run": False, "interval": "30s", "max-age": "30s",
                    "cancel-allow": ["partition:watched"],
                    "cancel-command": ["scancel", "{jobid}"]},
        "mail": {"send": "sendmail", "sendmail": FOLDER + "/sendmail", "from": "batch@example.org",
                 "reply-to": "help@example.org", "address": "{user}@example.org"}}))


def submit(partition, node, command):
    return int(subprocess.run(
        [TOP + "/tests/sandbox/slurm", "as", USER, "sbatch", "--parsable", "-o", "/dev/null",
         "-p", partition, "-w", node, "-n", "1", "--mem=20", "--wrap", command],
        stdout=subprocess.PIPE, check=True, text=True).stdout)


def state(jobid):
    return subprocess.run(["squeue", "-h", "-j", str(jobid), "-o", "%T"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout.strip()


def rows(sql, *values):
    db = sqlite3.connect(FOLDER + "/cancel.db", timeout=300)
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()


def actions(jobid):
    return rows("SELECT a.action, a.state FROM running_action AS a JOIN job AS j ON j.id = a.job"
                " WHERE j.jobid = ? ORDER BY a.id", jobid)


def evaluate():
    p = subprocess.run([O + "/batchjob_stats_db", "--once", "--config.file=%s/site.yml" % FOLDER],
                       capture_output=True, text=True, timeout=300)
    if p.returncode:
        print("# " + p.stderr[-1000:])


def reaches(server, jobid, want, what):
    """Evaluate the running jobs until the last action of the job is `want`."""
    def done():
        evaluate()
        return actions(jobid)[-1:] == [want]
    if not check(prom_lib.wait_for(done, 240), what, actions(jobid)):
        for s in server.query('{jobid="%d"}' % jobid) or []:
            print("# %s %s" % (s["metric"], s["value"]))
        sys.exit(plan() or 1)


def mails(jobid):
    found = []
    for name in sorted(os.listdir(FOLDER + "/sent")):
        with open(os.path.join(FOLDER, "sent", name), "rb") as f:
            m = email.message_from_binary_file(f, policy=email.policy.default)
        if str(jobid) in m["Subject"]:
            found.append(m)
    return found


def report(jobid):
    return " ".join(subprocess.run(
        [O + "/batchjob_acct", "report", "--store.path=%s/cancel.db" % FOLDER, str(jobid)],
        capture_output=True, text=True, check=True).stdout.split())


def escalation(server, job, exporters):
    idle, stale = job["idle"], job["stale"]
    reaches(server, idle, ("warn", "done"), "the owner of an idle job is warned")
    reaches(server, stale, ("warn", "done"), "the owner of another job is warned, whose samples then end")
    exporters[1].stop()
    same([m["To"] for m in mails(idle)], [USER + "@example.org"], "the warning is a mail to the owner")
    text = " ".join(mails(idle)[0].get_body(("plain",)).get_content().split())
    check("almost no CPU time and no I/O for 1 min" in text and "another warning in 1 min" in text,
          "the warning has the reason, and the time of the next one", text)
    check(report(idle).count("The owner was warned (running_no_progress).") == 1,
          "the report has the warning", report(idle))

    def twice():
        evaluate()
        return len(actions(idle)) == 2
    check(prom_lib.wait_for(twice, 120), "there is a second warning")
    same(state(idle), "RUNNING", "the job still runs")
    reaches(server, idle, ("cancel", "done"), "the job is cancelled")
    same(actions(idle), [("warn", "done")] * 2 + [("cancel", "done")], "the job was cancelled after two warnings")
    same(len(mails(idle)), 2, "both warnings were mails")
    ended = prom_lib.wait_for(lambda: state(idle) in ("", "CANCELLED"), 60)
    check(ended, "Slurm has ended the job")


def others(job):
    for what in ("busy", "elsewhere", "stale"):
        same(state(job[what]), "RUNNING", "the job %s still runs" % what)
    for what in ("busy", "elsewhere"):
        same((actions(job[what]), mails(job[what])), ([], []),
             "the job %s has neither warning nor mail" % what)
    same((actions(job["stale"]), len(mails(job["stale"]))), ([("warn", "done")], 1),
         "without new samples there is no second warning")

    def imported():
        evaluate()
        return rows("SELECT state FROM job_v WHERE jobid = ?", job["idle"]) == [("cancelled",)]
    check(prom_lib.wait_for(imported, 60), "the store has the job as cancelled")
    text = report(job["idle"])
    check(text.count("The owner was warned (running_no_progress).") == 2 and
          "The job was cancelled by a rule of the site (running_no_progress)." in text,
          "its report says that a rule of the site cancelled it", text)


def main():
    job = {name: submit(*spec) for name, spec in JOBS.items()}
    exporters = [Exporter("most", "drop"), Exporter("stale", "keep")]
    server = Prometheus(exporters, job["stale"])
    try:
        if server.failure:
            skip("warnings and cancelling of real jobs", server.failure)
            return plan()
        configure(server.url)
        check(prom_lib.wait_for(lambda: {state(j) for j in job.values()} == {"RUNNING"}, 90),
              "the jobs run")
        escalation(server, job, exporters)
        others(job)
        subprocess.run(["scancel"] + [str(j) for j in job.values()])
    finally:
        server.stop()
        for e in exporters:
            e.stop()
    return plan()


sys.exit(main())
