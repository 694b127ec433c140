#!/usr/bin/env python3
"""batchjob_acct and the API show the same values in every column, and find the
same jobs by every form of a job id.  TAP."""
import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import O, TOP, check, run, same, user  # noqa: E402

ACCT = os.path.abspath(os.path.join(TOP, O, "batchjob_acct"))
TEXT = "=1+\"x\";\u00e4\u2028\n\x1b\\,<b>"
ODD = (  # description, SQL that makes a job unusual
    ("pbs:71.srv", "jobid = '71.srv', display_id = '71.srv', cluster = 2"),
    ("pbs:72[3].srv", "jobid = '72[3].srv', display_id = '72[3].srv', cluster = 2"),
    ("text", "name = (SELECT id FROM jobname WHERE text = :text), work_dir = :text"),
    ("no limit", "time_limit = 9223372036854775807"),
    ("a limit", "time_limit = 100000"),
    ("nothing known", "cpu_usec = NULL, cpus = NULL, elapsed = NULL, memory_task_peak_bytes ="
     " NULL, memory_scheduler_peak_bytes = NULL"),
    ("over 100 %", "cpu_usec = 1000000 * (cpus * elapsed + 1), memory_scheduler_peak_bytes = 3000,"
     " memory_allocated_bytes = 2000"),
    ("meters of the scheduler", "energy_scheduler_joules = 12345"),
    ("no meters", "energy_scheduler_joules = 0"),
    ("an array", "array_job_id = 4000, array_task = 1, display_id = '4000_1'"),
    ("its second task", "array_job_id = 4000, array_task = 2, display_id = '4000_2'"),
    ("a leader", "jobid = 8000, display_id = '8000+0'"),
    ("a component after a gap", "jobid = 8003, display_id = '8000+1'"),
)


def set_up(site):
    """Make a dozen jobs of the simulated cluster unusual."""
    db = sqlite3.connect(site.store)
    db.execute("INSERT INTO cluster(id, name, system) VALUES(2, 'torque', 'pbs')")
    db.execute("INSERT INTO jobname(text) VALUES(?)", (TEXT,))
    db.execute("INSERT INTO price VALUES(1, 'EUR', 10000, 500000, 2000, 250000, 0)")
    ids = [i for i, in db.execute(
        "SELECT id FROM job WHERE \"end\" IS NOT NULL AND array_job_id IS NULL AND typeof(jobid) ="
        " 'integer' GROUP BY jobid HAVING count(*) = 1 ORDER BY jobid LIMIT ?", (len(ODD) + 1,))]
    for (_, values), job in zip(ODD, ids):
        db.execute("UPDATE job SET %s WHERE id = %d" % (values, job), {"text": TEXT})
    db.executemany("INSERT INTO job_more(job, het_job_id, het_offset, comment, submit_line)"
                   " VALUES(?, 8000, ?, 'a \"comment\"', 'sbatch --wrap=\"a, b\"') ON CONFLICT(job) DO UPDATE SET"
                   " het_job_id = excluded.het_job_id, het_offset = excluded.het_offset, comment = excluded.comment,"
                   " submit_line = excluded.submit_line",
                   [(ids[11], 0), (ids[12], 1)])
    measured, = db.execute("SELECT jobid FROM job WHERE id = ?", (ids[13],)).fetchone()
    db.commit()
    db.close()
    site.age_imports()
    key = site.add_measurements(measured)
    site.start("--access.trust-loopback", "--access.admins=boss", "--query.max-rows=100000")
    site.names = list(site.fetch("/api/v1/jobs/" + urllib.parse.quote(key), user("boss")).data[0])
    check(len(site.names) > 80, "one job has all columns", site.names)


def acct(site, *options):
    p = subprocess.run([ACCT, "--store.path=" + site.store, "--since=1969-01-01"] + list(options),
                       capture_output=True)
    if p.returncode != 0:
        check(False, "batchjob_acct runs", p.stderr)
    return p.stdout.decode()


def by_key(rows):
    return {r["key"]: r for r in rows}


def differences(from_acct, from_api, names):
    return ["%s %s: batchjob_acct %r, API %r" % (key, n, from_acct[key].get(n), from_api[key].get(n))
            for key in sorted(set(from_acct) & set(from_api)) for n in names
            if from_acct[key].get(n) != from_api[key].get(n)]


def columns(site):
    fields = ",".join(site.names)
    path = "/api/v1/jobs?from=1970-01-02&limit=100000&fields=" + fields
    from_acct = by_key(json.loads(acct(site, "--format=" + fields, "--output=json")))
    from_api = by_key(site.fetch(path, user("boss")).data)
    same(sorted(from_acct), sorted(from_api), "the same jobs")
    bad = differences(from_acct, from_api, site.names)
    check(len(from_acct) > 20 and not bad, "JSON: the same values", *bad[:5])
    from_acct = by_key(csv.DictReader(io.StringIO(acct(site, "--format=" + fields, "--output=csv"))))
    from_api = by_key(csv.DictReader(io.StringIO(site.fetch(
        path, user("boss"), ("Accept", "text/csv")).body.decode())))
    bad = differences(from_acct, from_api, site.names)
    check(len(from_acct) > 20 and not bad, "CSV: the same texts", *bad[:5])
    empty = [n for n in site.names if not any(r[n] for r in from_acct.values())]
    same(sorted(set(empty) - NEVER), [], "every other column has a value")


# Columns without a value in the simulated jobs.
NEVER = {"gpu_conflicts", "memory_remote_percent", "suspended_measured_seconds", "gpu_fault", "batch_system", "sluid", "gid", "group", "project", "wckey", "reason", "cancelled_by", "failed_node",
         "restarts", "priority", "suspended_seconds", "tasks", "gpus", "gpu_model", "reservation", "constraints",
         "admin_comment", "memory_mean_bytes", "io_read_bytes", "io_write_bytes", "measured_nodes",
         "coverage_percent", "energy_measured_joules", "energy_measured_nodes",
         "emissions_marginal_grams", "read_bytes", "write_bytes", "qos", "eligible",
         "eligible_ms", "tres_requested", "cpus_requested", "script_options", "now_cpus_busy", "now_memory_bytes",
         "now_gpu_busy_percent", "idle_since"}


def names(site):
    """batchjob_acct and the API find the same jobs by each form of an id."""
    rows = by_key(json.loads(acct(site, "--format=key,jobid", "--output=json")))
    some = next(k for k in rows if k.startswith("fake:"))
    for name, count in (("71", 1), ("71.srv", 1), ("72", 1), ("72[3].srv", 1), ("4000", 2),
                        ("4000_2", 1), ("4000_[1-2]", 2), ("4000_[2,7-9]", 1), ("8000", 2),
                        ("8000+1", 1), ("8003", 1), ("8003.batch", 1), ("8000_1", 0),
                        (some, 1), ("7", 0), ("nonsense", 0)):
        from_acct = [r["key"] for r in json.loads(acct(site, "--job=" + name, "--format=key",
                                                       "--output=json"))]
        from_api = [r["key"] for r in site.fetch(
            "/api/v1/jobs?fields=key&job=" + urllib.parse.quote(name), user("boss")).data]
        same((sorted(from_acct), len(from_acct)), (sorted(from_api), count), "jobs named " + name)


sys.exit(run(set_up, columns, names, count=60, days=20))
