#!/usr/bin/env python3
"""Compare a store with the output of a real sacct, job by job and step by step.  TAP.

    statsdb_slurm.py STORE

sacct prints columns without free text for all jobs, and the job name separately for
each job."""
import os
import sqlite3
import subprocess
import sys

COLUMNS = ["JobIDRaw", "Submit", "JobID", "User", "UID", "Group", "Account", "Partition", "QOS",
           "State", "ExitCode", "Eligible", "Start", "End", "ElapsedRaw", "TimelimitRaw",
           "AllocCPUS", "NNodes", "NodeList", "AllocTRES", "ReqTRES", "Cluster"]
SQL = """SELECT jobid, submit_sec, display_id, user, uid, "group", account, partition, qos,
    state_raw, exit_code || ':' || exit_signal, eligible_sec, start_sec, end_sec, elapsed_seconds,
    time_limit_seconds / 60, cpus, nodes, nodelist, tres_allocated, tres_requested, cluster
    FROM job_v"""
RUNNING = 2  # enum bj_job_state
EMPTY = ("", "Unknown", "None", "None assigned", "UNLIMITED", "Partition_Limit")


def sacct(columns, *more):
    env = dict(os.environ, SLURM_TIME_FORMAT="%s", TZ="UTC")
    out = subprocess.run(["sacct", "-aDnP", "-S", "now-1days", "-E", "now", "-o",
                          ",".join(columns)] + list(more), env=env, stdout=subprocess.PIPE,
                         check=True).stdout.decode("utf-8", "surrogateescape")
    return [line.split("|") for line in out.splitlines()]


def known(text):
    return None if text in EMPTY else text


def main():
    db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
    db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
    bad, states = [], set()
    want = {}
    for row in sacct(COLUMNS, "-X"):
        want[row[0], row[1]] = dict(zip(COLUMNS, map(known, row)))
    # Records of one run that was resized: statsdb_resized.py compares what it had.
    columns = subprocess.run(["sacct", "--helpformat"], stdout=subprocess.PIPE, check=True).stdout
    chains = sacct(["JobIDRaw", "Submit", "SLUID", "OriginalSLUID"], "-X") if b"OriginalSLUID" in columns else []
    originals = {row[2]: (row[0], row[1]) for row in chains}
    resized = {originals[row[3]] for row in chains if row[2] != row[3]}
    for key in [(row[0], row[1]) for row in chains if row[2] != row[3]]:
        del want[key]
    have = {}
    for row in db.execute(SQL):
        row = [None if v is None else str(v) for v in row]
        have[row[0], row[1]] = dict(zip(COLUMNS, row))
    for key in sorted(set(want) | set(have)):
        a, b = want.get(key), have.get(key)
        if a is None or b is None:
            bad.append("%s: reported %s, stored %s" % (key, a, b))
            continue
        states.add((a["State"] or "").split()[0])
        if key in resized:
            continue
        for c in COLUMNS:
            if c == "ElapsedRaw" and a["End"] is None:
                continue
            if c == "TimelimitRaw" and b[c] is None or a[c] is None and c in ("NNodes", "AllocCPUS"):
                continue
            if a[c] != b[c] and not (c == "NodeList" and a[c] is None):
                bad.append("%s: %s is '%s', stored '%s'" % (key, c, a[c], b[c]))
    print("%sok - %d runs are stored as sacct reports them (%s)"
          % ("not " if bad else "", len(want), " ".join(sorted(states))))
    for line in bad[:20]:
        print("# " + line)

    wrong = []
    names = set()
    for raw, name in db.execute("SELECT DISTINCT jobid, name FROM job_v"):
        env = dict(os.environ)
        out = subprocess.run(["sacct", "-nPX", "-j", str(raw), "-o", "JobName"], env=env,
                             stdout=subprocess.PIPE).stdout.decode("utf-8", "surrogateescape")
        names.add(name)
        # sacct also prints all tasks of an array and all parts of a heterogeneous job.
        one = (name or "") + "\n"
        if out != one * max(1, len(out) // len(one)):
            wrong.append("%s: reported %r, stored %r" % (raw, out, name))
    print("%sok - %d names are as sacct reports them" % ("not " if wrong else "", len(names)))
    for line in wrong[:10]:
        print("# " + line)

    steps = {}
    for row in sacct(["JobIDRaw", "State", "Start", "End", "MaxRSS", "ExitCode"], "--noconvert"):
        if "." in row[0] and row[3] not in EMPTY:
            raw, step = row[0].split(".", 1)
            steps[raw, step, row[2]] = (row[1], row[3], row[5])
    stored_steps = {(str(r[0]), str(r[1]), str(r[2])): (r[3], str(r[4]), r[5] or "") for r in db.execute(
        """SELECT j.jobid, s.step_id, s.start_sec, s.state_raw, s.end_sec,
           s.exit_code || ':' || s.exit_signal FROM step_v s JOIN job_v j ON j.id = s.job
           WHERE s.end_sec IS NOT NULL""")}
    print("%sok - %d steps that ended are stored as sacct reports them"
          % ("not " if stored_steps != steps else "", len(steps)))
    for key in sorted(set(steps.items()) ^ set(stored_steps.items()), key=str)[:10]:
        print("# %s" % (key,))

    # sacct prints a CPU time of 0 for jobs and steps that run.
    for what, table in (("jobs", "job"), ("steps", "step")):
        n, timed = db.execute('SELECT count(*), count(cpu_usec) FROM %s WHERE start IS NOT NULL AND "end" IS NULL'
                              " AND state = %d" % (table, RUNNING)).fetchone()
        print("%sok - the CPU time of %s that run is not known" % ("" if n > 0 and timed == 0 else "not ", what))
        print("# %d, with CPU time %d" % (n, timed))


main()
