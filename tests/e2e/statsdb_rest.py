#!/usr/bin/env python3
"""Compare the jobs imported from slurmrestd with those imported from sacct.  TAP.

    statsdb_rest.py STORE-BY-SACCT STORE-BY-SLURMRESTD

slurmrestd of Slurm 22.05 reports the last run of a job only, and no exit codes of
jobs that failed.  That of 26.05 reports all but uids."""
import sqlite3
import subprocess
import sys

COLUMNS = ["display_id", "cluster", "user", "account", "partition", "qos", "name", "state",
           "start_sec", "end_sec", "time_limit_seconds", "nodes", "nodelist", "array_job_id",
           "array_task", "het_job_id", "het_offset", "gpus"]
MORE = ["sluid", "state_raw", "exit_code", "exit_signal", "elapsed_seconds", "cpus", "restarts", "licenses",
        "failed_node", "stdout_path", "stderr_path", "cancelled_by", "work_dir", "cpu_sec"]
if b"OriginalSLUID" in subprocess.run(["sacct", "--helpformat"], stdout=subprocess.PIPE, check=True).stdout:
    COLUMNS += MORE
CHANGING = {"start_sec", "end_sec", "state", "nodes", "nodelist", "state_raw", "elapsed_seconds", "cpus",
            "exit_code", "exit_signal"}  # these may differ if a run had not ended


def runs(path):
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    db.text_factory = lambda b: b.decode("utf-8", "replace")
    rows = db.execute("SELECT jobid, submit_sec, (SELECT count(*) FROM step_v WHERE job = v.id),"
                      " %s FROM job_v AS v" % ", ".join(COLUMNS))
    return {(r[0], r[1]): dict(zip(["steps"] + COLUMNS, r[2:])) for r in rows}


def main():
    sacct, rest = runs(sys.argv[1]), runs(sys.argv[2])
    last = {}
    for raw, submit in sacct:
        last[raw] = max(last.get(raw, 0), submit)
    bad, ended = [], 0
    for key, a in sorted(sacct.items()):
        b = rest.get(key)
        if b is None:
            if last[key[0]] == key[1]:
                bad.append("%s is missing" % (key,))
            continue
        over = a["end_sec"] is not None
        ended += over
        for c in COLUMNS + ["steps"]:
            if c == "nodes" and a["nodelist"] is None:
                continue  # sacct reports what was requested
            # A job that never started has 0 since Slurm 23.11, before that the requested CPUs.
            if c == "cpus" and a[c] == 0 and a["start_sec"] is None:
                continue
            if a[c] != b[c] and (over or c not in CHANGING | {"steps"}):
                bad.append("%s: %s is %r, from slurmrestd %r" % (key, c, a[c], b[c]))
    for c in ("licenses", "failed_node", "cancelled_by", "stdout_path", "stderr_path", "restarts"):
        if c in COLUMNS and not any(b[c] for b in rest.values()):
            bad.append("no run has %s" % c)
    bad += ["only slurmrestd reports %s" % (k,) for k in sorted(set(rest) - set(sacct))]
    print("%sok - slurmrestd reports the same for %d runs" % ("not " if bad or not ended else "",
                                                            len(rest)))
    for line in bad[:30]:
        print("# " + line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
