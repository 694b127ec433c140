#!/usr/bin/env python3
"""batchjob_stats_db import: a database in the format of batchjob_monitoring, with
duplicates, local times and hostile rows; and summaries of jobstats in its format.
TAP."""
import base64
import calendar
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from tap import check, plan  # noqa: E402

O = os.environ.get("O", "build")
PROGRAM = os.path.abspath(os.path.join(HERE, "../..", O, "batchjob_stats_db"))
TEXTS = ("Jobid Jobuuid Partition Account Grp Gid Usr Uid Submit Start End Elapsed Exitcode"
         " State Nnodes Nodelist NodelistExp").split()


def utc(text):
    return calendar.timegm(tuple(int(text[a:b]) for a, b in (
        (0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))))


def row(job, submit, start, end, elapsed, state="COMPLETED", user="anna", exit="0:0",
        nodes="n[1-2]"):
    return (job, "uuid", "long", "physics", "users", "100", user, "1000", submit, start, end,
            elapsed, exit, state, "2", nodes, "n1|n2")


# Paris: one hour ahead of UTC in winter, two in summer; on 29 October 2023 the
# hour from two to three occurred twice.
ROWS = [
    row("100", "2023-07-01T10:00:00", "2023-07-01T10:01:00", "2023-07-01T11:01:00", "01:00:00"),
    row("100", "2023-07-01T10:00:00", "2023-07-01T10:01:00", "2023-07-01T11:01:00", "01:00:00"),
    row("101", "2023-12-01T10:00:00", "2023-12-01T10:01:00", "2023-12-03T10:01:01",
        "2-00:00:01", "TIMEOUT"),
    row("102_7", "2023-07-02T10:00:00", "2023-07-02T10:01:00", "2023-07-02T10:01:30", "00:00:30",
        "FAILED", exit="3:0"),
    # The elapsed time shows that 02:30 was in summer time (103) or in winter time (104).
    row("103", "2023-10-29T02:10:00", "2023-10-29T02:30:00", "2023-10-29T03:00:00", "01:30:00"),
    row("104", "2023-10-29T02:10:00", "2023-10-29T02:30:00", "2023-10-29T03:00:00", "00:30:00"),
    row("105", "2023-07-03T10:00:00", "Unknown", "2023-07-03T10:05:00", "00:00:00",
        "CANCELLED by 1000", nodes="None assigned"),
    row("106\n1|x", "2023-07-03T10:00:00", "2023-07-03T10:00:00", "2023-07-03T10:05:00",
        "00:05:00"),
    row("no id", "2023-07-03T10:00:00", "2023-07-03T10:00:00", "2023-07-03T10:05:00", "00:05:00"),
    row("107", "yesterday", "2023-07-03T10:00:00", "2023-07-03T10:05:00", "00:05:00",
        user="o'neill|;--"),
]
WANT = [
    # jobid, array job and task, submit, start, end, elapsed, state, user, nodes, code
    (100, None, None, utc("2023-07-01T08:00:00"), utc("2023-07-01T08:01:00"),
     utc("2023-07-01T09:01:00"), 3600, "completed", "anna", 2, 0),
    (101, None, None, utc("2023-12-01T09:00:00"), utc("2023-12-01T09:01:00"),
     utc("2023-12-03T09:01:01"), 172801, "timeout", "anna", 2, 0),
    ("102_7", 102, 7, utc("2023-07-02T08:00:00"), utc("2023-07-02T08:01:00"),
     utc("2023-07-02T08:01:30"), 30, "failed", "anna", 2, 3),
    (103, None, None, utc("2023-10-29T00:10:00"), utc("2023-10-29T00:30:00"),
     utc("2023-10-29T02:00:00"), 5400, "completed", "anna", 2, 0),
    (104, None, None, utc("2023-10-29T01:10:00"), utc("2023-10-29T01:30:00"),
     utc("2023-10-29T02:00:00"), 1800, "completed", "anna", 2, 0),
    (105, None, None, utc("2023-07-03T08:00:00"), None, utc("2023-07-03T08:05:00"), 0,
     "cancelled", "anna", 2, 0),
    (107, None, None, None, utc("2023-07-03T08:00:00"), utc("2023-07-03T08:05:00"), 300,
     "completed", "o'neill|;--", 2, 0),
]


def make(name, rows, table="jobs"):
    db = sqlite3.connect(name)
    db.execute("CREATE TABLE %s(\"id\" integer NOT NULL PRIMARY KEY AUTOINCREMENT, %s)"
               % (table, ", ".join('"%s" TEXT' % t for t in TEXTS)))
    db.executemany("INSERT INTO %s(%s) VALUES(%s)" % (
        table, ", ".join('"%s"' % t for t in TEXTS), ", ".join("?" * len(TEXTS))), rows)
    db.commit()
    db.close()


def original(folder, run, read):
    name = os.path.join(folder, "jobstats.db")
    make(name, ROWS)
    with open(name, "rb") as f:
        before = f.read()
    p = run("import", "original", name, "--import.cluster=alpha")
    check(p.returncode == 0 and b"10 rows: 7 imported" in p.stdout and b"2 skipped" in p.stdout,
          "the original's table is imported", p.stdout, p.stderr)
    got = read("SELECT jobid, array_job_id, array_task, submit_sec, start_sec, end_sec,"
               " elapsed_seconds, state, user, nodes, exit_code FROM job_v ORDER BY id")
    check(got == WANT, "imported times are in UTC", got)
    check(read("SELECT DISTINCT cluster, batch_system, partition, account, \"group\", uid, gid"
               " FROM job_v") == [("alpha", "slurm", "long", "physics", "users", 1000, 100)],
          "imported jobs have all values")
    check(read("SELECT sum(jobs_ended), sum(elapsed_sec), sum(node_sec) FROM rollup_day")
          == [(7, sum(w[6] for w in WANT), 2 * sum(w[6] for w in WANT))], "imported jobs are in the daily sums")
    with open(name, "rb") as f:
        check(f.read() == before, "the imported file does not change")
    everything = read("SELECT * FROM job"), read("SELECT * FROM rollup_day")
    p = run("import", "original", name, "--import.cluster=alpha")
    check(p.returncode == 0 and b" 0 imported, 8 known" in p.stdout, "a second import finds all jobs known",
          p.stdout, p.stderr)
    check((read("SELECT * FROM job"), read("SELECT * FROM rollup_day")) == everything,
          "a second import changes nothing")


def better_source(folder, run, read):
    """An import does not overwrite a job of a better source, which has another id for an
    array task."""
    db = sqlite3.connect(os.path.join(folder, "stats.db"))
    db.execute("UPDATE job SET jobid = 555, cpus = 12 WHERE jobid = '102_7'")
    db.commit()
    db.close()
    name = os.path.join(folder, "second.db")
    late = "2023-07-09T10:00:00"
    make(name, [ROWS[3], row("102_7", late, late, "2023-07-09T10:00:10", "00:00:10")])
    p = run("import", "original", name, "--import.cluster=alpha")
    check(p.returncode == 0 and read(
        "SELECT jobid, cpus FROM job WHERE array_task = 7 ORDER BY submit")
        == [(555, 12), ("102_7", None)], "a task that is stored with its own job id is not changed",
        p.stdout, p.stderr)


def refused(folder, run):
    other = os.path.join(folder, "other.db")
    make(other, [], table="units")
    for args, why in (((other,), b"jobs"), (("/nowhere/x.db",), b"/nowhere/x.db"),
                      ((os.path.join(HERE, "lib.sh"),), b"lib.sh"), ((), b"a file name is required")):
        p = run("import", "original", *args, "--import.cluster=alpha")
        check(p.returncode == 1 and why in p.stderr, "refused: %s" % why.decode(), p.stderr)
    p = run("import", "original", other)
    check(p.returncode == 1 and b"import.cluster" in p.stderr, "refused: without a cluster",
          p.stderr)
    p = run("import", "everything")
    check(p.returncode == 1 and b"original" in p.stderr, "refused: an unknown format", p.stderr)


def summary(doc):
    text = json.dumps(doc, separators=(",", ":")).encode()
    return "JS1:" + base64.b64encode(gzip.compress(text)).decode()


def jobstats(folder, run, read):
    node = {"total_memory": 1 << 34, "used_memory": 1 << 30, "total_time": 1234.5, "cpus": 4}
    gpus = dict(node, gpu_total_memory={"0": 80, "1": 80}, gpu_used_memory={"0": 10, "1": 20},
                gpu_utilization={"0": 50, "1": 100.0})
    comments = [summary({"nodes": {"n1": node, "n2": node}, "total_time": 3600, "gpus": 0}),
                summary({"nodes": {"n1": gpus}, "total_time": 3600, "gpus": 2}),
                "JS1:Short", "JS1:None", "by hand", "JS1:H4sIdamaged",
                summary({"nodes": {"n1": node}, "total_time": 60, "gpus": 0})]
    ids = [r[0] for r in read("SELECT id FROM job ORDER BY id LIMIT 7")]
    db = sqlite3.connect(os.path.join(folder, "stats.db"))
    db.executemany("INSERT INTO job_more(job, admin_comment) VALUES(?, ?) ON CONFLICT(job) DO UPDATE"
                   " SET admin_comment = excluded.admin_comment",
                   list(zip(ids, comments)))
    db.execute("INSERT INTO job_prom(job, queried_sec, outcome, cpu_usec) VALUES(?, 5, 0, 42)",
               (ids[6],))
    db.execute("DELETE FROM derive_todo")
    db.commit()
    db.close()
    p = run("import", "jobstats")
    check(p.returncode == 0 and b"6 rows: 2 imported, 1 known, 1 skipped" in p.stdout,
          "jobstats' summaries are imported", p.stdout, p.stderr)
    got = read("SELECT job, outcome, nodes_seen, cpu_usec, memory_held_peak_bytes, gpus_seen,"
               " gpu_busy_ppm, gpu_memory_peak_bytes FROM job_prom ORDER BY job")
    check(got == [(ids[0], 0, 2, 2469000000, 2 << 30, None, None, None),
                  (ids[1], 0, 1, 1234500000, 1 << 30, 2, 750000, 30),
                  (ids[6], 0, None, 42, None, None, None, None)],
          "values of nodes are added up; values from Prometheus stay", got)
    check(read("SELECT job FROM derive_todo") == [(ids[0],), (ids[1],)],
          "efficiencies of imported jobs will be derived")
    p = run("import", "jobstats")
    check(b"6 rows: 0 imported, 3 known" in p.stdout, "a second import of summaries finds nothing new", p.stdout)


def main():
    if not os.access(PROGRAM, os.X_OK):
        print("1..0 # SKIP %s was not built: SQLite is not installed" % PROGRAM)
        return 0
    if not os.path.exists("/usr/share/zoneinfo/Europe/Paris"):
        print("1..0 # SKIP tzdata is not installed")
        return 0
    folder = tempfile.mkdtemp(prefix="bj-import-")

    def run(*args):
        return subprocess.run([PROGRAM, *args, "--store.path=%s/stats.db" % folder],
                              capture_output=True, timeout=300,
                              env=dict(os.environ, TZ="Europe/Paris"))

    def read(sql):
        db = sqlite3.connect("file:%s/stats.db?mode=ro" % folder, uri=True)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    try:
        original(folder, run, read)
        better_source(folder, run, read)
        refused(folder, run)
        jobstats(folder, run, read)
        p = run("check")
        check(p.returncode == 0, "the store is consistent", p.stderr)
    finally:
        shutil.rmtree(folder)
    return plan()


sys.exit(main())
