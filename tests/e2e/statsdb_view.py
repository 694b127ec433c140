#!/usr/bin/env python3
"""Compare the jobs imported from sacct with those from the views of Slurm's database:
columns that both report must be equal.  Arguments: the two stores.  TAP lines for
statsdb_slurm.sh."""
import sqlite3
import sys

# Columns that the views lack, that sacct rounds to milliseconds, and that change while a
# job runs.  sacct truncates the mean of a step's tasks (cpu_task_usec) to seconds.
ONLY_SACCT = {"group", "flags", "reason", "memory_task_peak_node", "array_tasks", "batch_host", "reservation"}
MILLI = {"cpu_usec", "cpu_user_usec", "cpu_system_usec"}
RUNNING = {"elapsed_seconds", "suspended_seconds", "cpu_efficiency"}


def read(name):
    db = sqlite3.connect("file:%s?mode=ro" % name, uri=True)
    db.text_factory = bytes
    db.row_factory = sqlite3.Row
    jobs, ids, steps = {}, {}, {}
    for r in db.execute("SELECT * FROM job_v"):
        key = (r["jobid"], r["submit_sec"])
        ids[r["id"]] = key
        jobs[key] = {k: r[k] for k in r.keys() if k != "id"}
    for r in db.execute("SELECT * FROM step_v"):
        steps[ids[r["job"]] + (r["step_id"],)] = {k: r[k] for k in r.keys()
                                                  if k not in ("id", "job")}
    return jobs, steps


def compare(what, from_sacct, from_views, ended):
    bad = ["%s: %s" % (key, "not in the views") for key in from_sacct if key not in from_views]
    for key in set(from_sacct) & set(from_views):
        for column, a in from_sacct[key].items():
            b = from_views[key][column]
            if column in ONLY_SACCT or (column in RUNNING and not ended(key)):
                continue
            # A job that never started has 0 since Slurm 23.11, before that the requested CPUs.
            if column == "cpus" and a == 0 and from_sacct[key]["start_sec"] is None:
                continue
            # sacct prints 0:0 where the database has none.
            if column in ("derived_exit_code", "derived_exit_signal") and a == 0 and b is None:
                continue
            if column in MILLI and a is not None and b is not None and abs(a - b) <= 5000:
                continue
            # Less than a millisecond is 00:00.000 for sacct, which may also mean "not measured".
            if column in MILLI and a is None and b is not None and b < 1000:
                continue
            if column == "cpu_task_usec" and b is not None and b // 1000000 * 1000000 == a:
                continue
            if a != b:
                bad.append("%s: %s is %r, from the view %r" % (key, column, a, b))
    print("%sok - %d %s are the same from the views" % ("not " if bad else "", len(from_sacct), what))
    for line in bad[:20]:
        print("# " + line)


def main():
    (jobs, steps), (more, more_steps) = read(sys.argv[1]), read(sys.argv[2])
    ended = {key for key, j in jobs.items() if j["end_sec"] is not None}
    compare("jobs", jobs, more, lambda key: key in ended)
    compare("steps", steps, more_steps, lambda key: key[:2] in ended)
    extra = {k: j["state"] for k, j in more.items() if k not in jobs}
    print("%sok - the views also report jobs that were never eligible (%d)"
          % ("" if set(extra.values()) <= {b"pending", b"cancelled"} else "not ", len(extra)))


main()
