#!/usr/bin/env python3
"""The same jobs by sacct and by the views of Slurm's database: all that both report
is the same.  Arguments: the stores.  TAP lines for statsdb_slurm.sh."""
import sqlite3
import sys

# What the views do not show, and what sacct rounds to milliseconds; the mean of a step's
# tasks it cuts to seconds.
ONLY_SACCT = {"group", "flags", "reason", "memory_task_peak_node", "array_tasks", "batch_host",
              "restarts", "reservation", "licenses"}
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


def compare(what, told, seen, ended):
    bad = ["%s: %s" % (key, "not seen") for key in told if key not in seen]
    for key in set(told) & set(seen):
        for column, a in told[key].items():
            b = seen[key][column]
            if column in ONLY_SACCT or (column in RUNNING and not ended(key)):
                continue
            # Of a job that never started: none since Slurm 23.11, before that those requested.
            if column == "cpus" and a == 0 and told[key]["start_sec"] is None:
                continue
            if column in MILLI and a is not None and b is not None and abs(a - b) <= 5000:
                continue
            if column == "cpu_task_usec" and b is not None and b // 1000000 * 1000000 == a:
                continue
            if a != b:
                bad.append("%s: %s is %r, by the view %r" % (key, column, a, b))
    print("%sok - %d %s are the same by the views" % ("not " if bad else "", len(told), what))
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
