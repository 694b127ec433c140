#!/usr/bin/python3
"""10,000 simulated nodes send the records of a day to batchjob_stats_db at the same
time: each record is in the store once, and memory is bounded.  TAP; some minutes.

  records_storm.py [NODES]"""
import os
import resource
import shutil
import sqlite3
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../bench")]
NODES = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
sys.argv[1:] = [os.environ.get("O", "build")]
import receiver  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402


def main():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most < NODES + 100:
        skip("records of all nodes are in the store once", "fewer than %d open files are permitted" % (NODES + 100))
        return plan()
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    folder = tempfile.mkdtemp(prefix="bj-e2e.")
    receiver.certificates(folder)
    r = receiver.Receiver(folder)
    try:
        sec, handshakes, repeated, held, cpu = r.load(NODES, 1, 50, 3)
        n = NODES * 50
        db = sqlite3.connect(r.store)
        rows = db.execute("SELECT count(*), sum(cpu_usec) FROM node_record").fetchone()
        db.close()
        # The record with number i has 3998211 + i microseconds.
        same(rows, (n, 3998211 * n + n * (n + 1) // 2),
             "%d records of %d nodes are in the store once after %.0f s" % (n, NODES, sec))
        check(r.memory() <= 48, "at most 48 MiB are resident (%.0f)" % r.memory())
        check(held <= 256, "at most 256 connections are held (%d)" % held)
        print("# %d handshakes, %d repeated requests, %.1f s of CPU time" % (handshakes, repeated, cpu))
    finally:
        r.end()
        shutil.rmtree(folder)
    return plan()


if __name__ == "__main__":
    sys.exit(main())
