#!/usr/bin/env python3
"""Measure a walk of 500 jobs by 20 columns: batchjob_snmp beside a sub-agent that returns constants
(snmp_floor.c), each behind its own snmpd.  No pass runs meanwhile.  They take turns; the least of the rounds counts.

  snmp.py [ROUNDS]"""
import os
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import snmp_lib  # noqa: E402
from snmp_lib import BASE, Daemon, Process, Tree, until  # noqa: E402

JOBS, COLUMNS = 500, 20
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5


def cpu_ns(process):
    """CPU time of all threads."""
    total = 0
    for tid in os.listdir("/proc/%d/task" % process.pid):
        with open("/proc/%d/task/%s/schedstat" % (process.pid, tid)) as f:
            total += int(f.read().split()[0])
    return total


def walk(master, columns):
    """Walk columns one after the other; returns the number of values."""
    values = 0
    for column in columns:
        done = master.run("snmpbulkwalk", snmp_lib.dotted(column), options=("-Onq", "-Cr50"))
        values += done.stdout.count("\n")
    return values


def measure(master, agent, columns):
    """(ms of the sub-agent, ms of snmpd, seconds) of a walk."""
    before, of_master, start = cpu_ns(agent), cpu_ns(master), time.monotonic()
    values = walk(master, columns)
    if values != JOBS * COLUMNS:
        sys.exit("the walk has %d values, not %d" % (values, JOBS * COLUMNS))
    return (cpu_ns(agent) - before) / 1e6, (cpu_ns(master) - of_master) / 1e6, time.monotonic() - start


def main():
    missing = snmp_lib.missing()
    if missing:
        print("bench-snmp: not installed: %s; left out" % missing)
        return
    folder = tempfile.mkdtemp(prefix="bj-bench.")
    started = []
    try:
        print("\n## A walk of %d jobs by %d columns through snmpd" % (JOBS, COLUMNS))
        root = BASE[:-1] + (9999, 1)
        master = Daemon(folder + "/floor").start()
        floor = Process([snmp_lib.O + "/bench/snmp_floor", master.socket, snmp_lib.dotted(root)[1:], str(JOBS),
                         str(COLUMNS)], folder + "/floor.log").start()
        started += [floor, master]
        of_floor = [root + (c + 1,) for c in range(COLUMNS)]
        until(lambda: walk(master, of_floor[:1]) == JOBS)
        tree = Tree(folder)
        for n in range(JOBS):
            tree.add("%06d" % n, n)
        second = Daemon(folder + "/agent").start()
        agent = Process([snmp_lib.O + "/batchjob_snmp", *tree.options(), "--sample.interval=1h", "--no-collector.energy",
                         "--agentx.socket=" + second.socket], folder + "/agent.log").start()
        started += [agent, second]
        mib = snmp_lib.read_mib(snmp_lib.MIB, BASE)
        entry = mib["bjJobEntry"].oid
        table = [o.oid for o in mib.values() if o.oid[:-1] == entry and o.syntax in (
            "Counter64", "CounterBasedGauge64", "Gauge32")]
        until(lambda: walk(second, [mib["bjJobId"].oid]) == JOBS)
        full = [c for c in table if walk(second, [c]) == JOBS][:COLUMNS]
        pairs = (("floor", floor, master, of_floor), ("batchjob_snmp", agent, second, full))
        best = {}
        for _ in range(ROUNDS):
            for name, who, behind, columns in pairs:
                row = measure(behind, who, columns)
                best[name] = min(row, best.get(name, row))
        for name, who, _, _ in pairs:
            own, of_snmpd, wall = best[name]
            print("%-14s %7.1f ms of CPU (%.1f us a value), snmpd %.0f ms, %.2f s, RSS %d KiB" % (
                name, own, own * 1e3 / JOBS / COLUMNS, of_snmpd, wall, who.rss()))
    finally:
        for process in started:
            process.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
