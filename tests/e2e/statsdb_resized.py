#!/usr/bin/env python3
"""The jobs "shrinks" and "frees", which Slurm resized while they ran, in a store.  TAP.

    statsdb_resized.py SOURCE STORE [STORE-BY-SACCT]

Since Slurm 26.05 each change ends a record of the run and begins another one with the
same OriginalSLUID: the store must have one run.  What it must have is worked out from
the records that sacct prints and from what the jobs requested.  Before, the records are
runs of their own; only the change of nodes makes one.  With a second store, both must
have the same."""
import os
import sqlite3
import subprocess
import sys

SOURCE = sys.argv[1]
REQUESTED = {  # what a job had at first: cpus, nodes, MiB; and after the change
    "shrinks": ((2, 2, 120), (1, 1, 60)),
    "frees": ((1, 1, 80), (1, 1, 40)),
}
FIELDS = ["JobIDRaw", "JobName", "State", "Submit", "Start", "End", "ElapsedRaw", "AllocCPUS",
          "NNodes", "CPUTimeRAW", "TotalCPU"]


def sacct(*fields):
    env = dict(os.environ, SLURM_TIME_FORMAT="%s", TZ="UTC")
    out = subprocess.run(["sacct", "-aDnP", "--name=shrinks,frees", "-S", "now-1days", "-E", "now",
                          "-o", ",".join(fields)],
                         env=env, stdout=subprocess.PIPE, check=True).stdout.decode("utf-8", "replace")
    return [dict(zip(fields, line.split("|"))) for line in out.splitlines()]


def seconds(text):  # [[D-]H:]M:S[.F]
    days, _, rest = text.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = 60 * total + float(part)
    return total + 86400 * int(days or 0)


def tap(what, bad):
    print("%sok - %s: %s" % ("not " if bad else "", SOURCE, what))
    for line in bad:
        print("# " + line)


def open_store(name):
    db = sqlite3.connect("file:%s?mode=ro" % name, uri=True)
    db.text_factory = lambda b: b.decode("utf-8", "replace")
    db.row_factory = sqlite3.Row
    return db


def runs_of(db, name):
    return [dict(r) for r in db.execute("SELECT * FROM job_v WHERE name = ? ORDER BY start_sec, id", (name,))]


def sizes_of(db, job):
    return [tuple(r) for r in db.execute(
        "SELECT sluid, start_sec, end_sec, elapsed_seconds, cpus, nodes, memory_allocated_bytes >> 20"
        " FROM job_size_v WHERE job = ? ORDER BY number", (job,))]


def check_chain(db, name, records, steps):
    """One run of all records."""
    runs = runs_of(db, name)
    if len(runs) != 1:
        return ["%d runs" % len(runs)]
    run, bad = runs[0], []
    first, last = records[0], records[-1]
    before, after = REQUESTED[name]
    spans = [int(r["ElapsedRaw"]) for r in records]
    had = [before] + [after] * (len(records) - 1)
    cpu = sum(seconds(s["TotalCPU"]) for s in steps)
    want = {
        "sluid": first["SLUID"],
        "state": "completed", "state_raw": "COMPLETED",
        "submit_sec": int(first["Submit"]), "start_sec": int(first["Start"]), "end_sec": int(last["End"]),
        "elapsed_seconds": sum(spans),
        "cpus": before[0], "nodes": before[1],
        "cpu_sec": sum(n * h[0] for n, h in zip(spans, had)),
        "node_sec": sum(n * h[1] for n, h in zip(spans, had)),
        "memory_mib_sec": sum(n * h[2] for n, h in zip(spans, had)),
    }
    for column, value in want.items():
        if run[column] != value:
            bad.append("%s is %r, not %r" % (column, run[column], value))
    if run["memory_allocated_bytes"] != before[2] << 20:
        bad.append("%r bytes allocated" % run["memory_allocated_bytes"])
    if cpu < 0.1 or run["cpu_usec"] is None or abs(run["cpu_usec"] / 1e6 - cpu) > 0.01:
        bad.append("CPU time %r, of the steps %r s" % (run["cpu_usec"], cpu))
    sizes = [(r["SLUID"], int(r["Start"]), int(r["End"]), int(r["ElapsedRaw"])) + h for r, h in zip(records, had)]
    if sizes_of(db, run["id"]) != sizes:
        bad.append("sizes %r, not %r" % (sizes_of(db, run["id"]), sizes))
    n = db.execute("SELECT count(*) FROM step WHERE job = ?", (run["id"],)).fetchone()[0]
    if n != len(steps):
        bad.append("%d steps of %d" % (n, len(steps)))
    return bad


def check_records(db, name, records):
    """Each record is a run."""
    runs, bad = runs_of(db, name), []
    have = [(r["start_sec"], r["end_sec"], r["cpus"], r["nodes"], r["state_raw"]) for r in runs]
    want = [(int(r["Start"]), int(r["End"]), int(r["AllocCPUS"]), int(r["NNodes"]), r["State"]) for r in records]
    if have != want:
        bad.append("%r, not %r" % (have, want))
    return bad


SAME = {"group", "flags", "reason", "memory_task_peak_node", "array_tasks", "batch_host", "restarts",
        "reservation", "licenses", "id"}


def compare(mine, other, name):
    """All columns that both sources have."""
    bad = []
    a, b = runs_of(mine, name), runs_of(other, name)
    for x, y in zip(a, b):
        for c in x:
            if c in SAME or x[c] is None or y[c] is None:
                continue
            if c.endswith("cpu_usec") or c in ("cpu_user_usec", "cpu_system_usec", "cpu_task_usec"):
                continue  # compared with the steps above; sources round to different places
            if x[c] != y[c]:
                bad.append("%s is %r, from sacct %r" % (c, x[c], y[c]))
        if sizes_of(mine, x["id"]) != sizes_of(other, y["id"]):
            bad.append("sizes differ")
    return bad


def main():
    chains = b"OriginalSLUID" in subprocess.run(["sacct", "--helpformat"], stdout=subprocess.PIPE, check=True).stdout
    rows = sacct(*(FIELDS + (["SLUID", "OriginalSLUID"] if chains else [])))
    db = open_store(sys.argv[2])
    for name in REQUESTED:
        records = [r for r in rows if r["JobName"] == name and "." not in r["JobIDRaw"]]
        records.sort(key=lambda r: (int(r["Start"]), r["State"] != "RESIZING"))
        ids = {r["JobIDRaw"] for r in records}
        steps = [r for r in rows if r["JobIDRaw"].partition(".")[0] in ids and "." in r["JobIDRaw"]]
        if chains:
            tap("%s: one run of %d records" % (name, len(records)),
                check_chain(db, name, records, steps) if len(records) == 2 else ["%d records" % len(records)])
        else:
            tap("%s: %d runs, as it has %d records" % (name, len(records), len(records)),
                check_records(db, name, records))
        if len(sys.argv) > 3 and chains:
            tap("%s: the same as from sacct" % name, compare(db, open_store(sys.argv[3]), name))


main()
