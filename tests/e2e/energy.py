#!/usr/bin/python3
"""Simulate RAPL counters of a node, and check that the energy of its metrics adds up.

  energy.py node DIR           create DIR/sys, a sysfs with RAPL of two packages whose
        counters are close to wrapping; count from the time when DIR/go appears until
        DIR/stop does, then write the energy of each component to DIR/truth.
        DIR/watts is the power of the node.
  energy.py check-sum PAGE [SPOOL]   compare, for each component, the energy attributed to
        jobs, system and unallocated with the energy that the node's meter counted, to
        the microjoule.  With SPOOL, ended jobs are read from their final records.
  energy.py check-decreases BEFORE AFTER   print energy counters that are lower in page AFTER
  energy.py redfish PORT FILE  serve a chassis whose power and energy are the two numbers in
        FILE, in watts and joules

The power is a hundred times that of a real node: counters wrap every 30 s, but not
twice while the exporter or collectd restarts on a slow machine."""
import http.server
import json
import os
import random
import sys
import time
from decimal import Decimal
from glob import glob

from prom import parse

RANGE = 262143328850
ZONES = {"intel-rapl:0": ("package-0", 9500, "cpu"),
         "intel-rapl:0/intel-rapl:0:0": ("dram", 1100, "dram"),
         "intel-rapl:1": ("package-1", 8000, "cpu"),
         "intel-rapl:1/intel-rapl:1:0": ("dram", 900, "dram")}
OTHER_WATTS = 6000


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def lay_out(sysfs):
    base = f"{sysfs}/devices/virtual/powercap/intel-rapl"
    for path, (name, _, _) in ZONES.items():
        zone = f"{base}/{path}"
        write(f"{zone}/name", name + "\n")
        write(f"{zone}/enabled", "1\n")
        write(f"{zone}/max_energy_range_uj", f"{RANGE}\n")
        write(f"{zone}/energy_uj", "%012d\n" % (RANGE - 10**9))
        write(f"{zone}/constraint_0_name", "long_term\n")
        write(f"{zone}/constraint_0_power_limit_uw", "15000000000\n")
        write(f"{zone}/constraint_0_max_power_uw", "15000000000\n")
    os.makedirs(f"{sysfs}/class/powercap")
    for path in ["", *ZONES]:
        name = os.path.basename(path) or "intel-rapl"
        os.symlink(os.path.normpath(f"{base}/{path}"),
                   f"{sysfs}/class/powercap/{name}")
    os.makedirs(f"{sysfs}/devices/system")
    os.symlink("/sys/devices/system/cpu", f"{sysfs}/devices/system/cpu")
    return base


def count(base, path, raw):
    # In one write, as the kernel does: a reader sees the old or the new value.
    fd = os.open(f"{base}/{path}/energy_uj", os.O_WRONLY)
    os.pwrite(fd, b"%012d\n" % (raw % (RANGE + 1)), 0)
    os.close(fd)


def node(where):
    base = lay_out(f"{where}/sys")
    used = dict.fromkeys(ZONES, 0)
    write(f"{where}/watts", f"{OTHER_WATTS}\n")
    while not os.path.exists(f"{where}/go"):
        time.sleep(0.05)
    last = time.monotonic()
    while not os.path.exists(f"{where}/stop"):
        watts = OTHER_WATTS
        now = time.monotonic()
        for path, (_, mean, _) in ZONES.items():
            power = mean * random.uniform(0.6, 1.4)
            used[path] += int(power * 1e6 * (now - last))
            count(base, path, RANGE - 10**9 + used[path])
            watts += power
        last = now
        write(f"{where}/watts.new", f"{watts:.0f}\n")
        os.rename(f"{where}/watts.new", f"{where}/watts")
        time.sleep(0.05)
    write(f"{where}/truth", "".join(
        f"{kind} {sum(used[p] for p in ZONES if ZONES[p][2] == kind)}\n"
        for kind in ("cpu", "dram")))


def energies(page):
    """(name, job, component, microjoules) of a page of the exporter or of collectd."""
    for name, labels, value in parse(page):
        if name.startswith("collectd_batchjob_"):
            name = name[len("collectd_"):].replace("_uj_total",
                                                   "_joules_total")
            job = None
            if "_job_" in name:
                job = labels["batchjob"].split("@")[0]
            part = labels.get("type") if job else labels.get("batchjob")
            yield name, job, part, Decimal(value)
        elif name.endswith("_joules_total"):
            yield (name, labels.get("jobid"), labels.get("component"),
                   Decimal(value) * 10**6)


def attributed(page, spool=None):
    """Microjoules by component of jobs, of system and unallocated, and of the node's meter; and
    the number of final records."""
    jobs, rest, metered = {}, {}, {}
    ended = {}
    for path in glob(f"{spool}/*.json") if spool else []:
        with open(path, encoding="utf-8") as f:
            record = json.loads(f.read())
        ended[record["jobid"]] = record["energy_uj"]["hybrid"]
    for name, job, part, uj in energies(page):
        if name == "batchjob_job_energy_joules_total":
            if job not in ended:
                jobs[part] = jobs.get(part, 0) + uj
        elif name in ("batchjob_node_energy_system_joules_total",
                      "batchjob_node_energy_unallocated_joules_total"):
            rest[part] = rest.get(part, 0) + uj
        elif name == "batchjob_node_energy_joules_total":
            metered[part] = uj
    for energy in ended.values():
        for part, uj in energy.items():
            jobs[part] = jobs.get(part, 0) + uj
    return jobs, rest, metered, len(ended)


def check_sum(page, spool=None):
    jobs, rest, metered, ended = attributed(page, spool)
    bad = not metered
    for part, uj in sorted(metered.items()):
        total = jobs.get(part, 0) + rest.get(part, 0)
        print(f"{part}: jobs {jobs.get(part, 0):.0f}, system and unallocated "
              f"{rest.get(part, 0):.0f}, metered {uj:.0f} uJ; {ended} records")
        bad |= total != uj or jobs.get(part, 0) <= 0
    return 1 if bad else 0


def check_decreases(before, after):
    def counters(page):
        return {(n, *sorted(l.items())): Decimal(v) for n, l, v in parse(page)
                if n.endswith("_joules_total")}
    old, new = counters(before), counters(after)
    bad = [f"{k}: {old[k]}, then {new[k]}" for k in old
           if k in new and new[k] < old[k]]
    print("\n".join(bad) or f"{len(old.keys() & new.keys())} counters")
    return 1 if bad or not old.keys() & new.keys() else 0


def redfish(port, path):
    chassis = "/redfish/v1/Chassis"
    documents = {
        chassis: {"Members": [{"@odata.id": chassis + "/1"}]},
        chassis + "/1": {"EnvironmentMetrics": {"@odata.id": chassis + "/1/Environment"}}}

    class Bmc(http.server.BaseHTTPRequestHandler):
        def answer(self, status, document):
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            with open(path, encoding="ascii") as f:
                watts, joules = f.read().split()
            at = {**documents, chassis + "/1/Environment": {
                "PowerWatts": {"Reading": int(watts)}, "EnergyJoules": {"Reading": int(joules)}}}
            document = at.get(self.path.rstrip("/"))
            self.answer(404 if document is None else 200, document or {})

        def do_POST(self):
            self.answer(404, {})

        def log_message(self, *args):
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Bmc).serve_forever()


if __name__ == "__main__":
    command, args = sys.argv[1], sys.argv[2:]
    sys.exit({"node": node, "check-sum": check_sum, "check-decreases": check_decreases,
              "redfish": redfish}[command](*args))
