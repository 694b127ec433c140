#!/usr/bin/python3
"""Final records that an exporter or collectd has written are sent to batchjob_stats_db,
which runs: each is accepted, and in the store with its job, times, CPU time, energy and
GPUs.  TAP; some seconds.

  records_stored.py WHAT SPOOL...    directories with *.json; they are not changed"""
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from glob import glob

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from records import Site  # noqa: E402
from tap import check, plan, same  # noqa: E402


def of_record(r):
    energy = r.get("energy_uj", {})
    return (str(r.get("jobid")), r["host"], r.get("slurm_node", ""), r.get("start", 0), r.get("end"),
            r.get("cpu_usec"), r.get("memory_charged_peak_bytes"), r.get("oom_kills"),
            sum(sum(parts.values()) for parts in energy.values()),
            len(r.get("gpus", {})))


STORED = """SELECT CAST(r.jobid AS TEXT), h.name, r.slurm_node, r.start, r."end", r.cpu_usec,
    r.memory_charged_peak_bytes, r.oom_kills,
    coalesce((SELECT sum(e.microjoules) FROM node_energy AS e WHERE e.record = r.id), 0),
    (SELECT count(*) FROM node_gpu AS g WHERE g.record = r.id)
    FROM node_record AS r JOIN host AS h ON h.id = r.host"""


def main():
    what, spools = sys.argv[1], sys.argv[2:]
    folder = tempfile.mkdtemp(prefix="bj-e2e.")
    site = Site(folder)
    want = []
    try:
        for n, spool in enumerate(spools):
            for path in glob(spool + "/*.json"):
                shutil.copyfile(path, "%s/%d.%s" % (site.spool, n, os.path.basename(path)))
                with open(path, encoding="utf-8") as f:
                    want.append(of_record(json.load(f)))
        site.serve()
        # It must find no jobs of its own.
        os.mkdir(folder + "/cgroup")
        site.send("--path.cgroupfs=%s/cgroup" % folder)
        good = site.sent() and site.until(site.row)
        db = sqlite3.connect("file:%s/stats.db?mode=ro" % folder, uri=True, timeout=300)
        got = db.execute(STORED).fetchall()
        db.close()
        check(want and good and not site.files(".bad"), "%s: %d records are accepted" % (what, len(want)),
              site.files(".bad"), site.log("server")[-600:])
        # collectd and the exporter write records of the same jobs: the last one counts.
        same(sorted(set(got) - set(want), key=str), [], what + ": the store has their values")
        same(len(got), len({w[:4] for w in want}), what + ": each is in the store once")
    finally:
        site.stop()
        shutil.rmtree(folder)
    return plan()


if __name__ == "__main__":
    sys.exit(main())
