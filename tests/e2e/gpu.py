#!/usr/bin/python3
"""Simulate a node with eight GPUs and five jobs, and check pages and final records.

  gpu.py init DIR PID PID PID PID   write the script of a simulated driver (tests/gpu/
        fake_nvml.c) to DIR/script, with the processes of the jobs 2001, 2003,
        2004 and 2005.
  gpu.py step DIR [WORD...]   change the script, all at once:
        energy        each device uses some energy, except without=N,N
        zero=N        the counter of device N starts again at 0
        lost=N        device N has fallen off the bus; back=N: it is back
        hang=MSEC     the call that counts devices takes that long, or until hang=0
        xid=N:NUMBER  an Xid error of device N
        driver=TEXT   another driver version: open handles fail, counters start at 0
  gpu.py check exporter|collectd PAGE DIR [counters] [conflicts=no]
        compare owners, values and energy of the page with the expected ones;
        counters: counters only; conflicts=no: without counts of conflicts
  gpu.py records DIR SPOOL      compare the final records of all jobs
  gpu.py check-decreases exporter|collectd BEFORE AFTER
        print counters that are lower in page AFTER

The expected values are computed here with fractions, without the programs under
test.  Job 2001 has GPUs 0 and 1 and works on them; 2002 has GPU 2 and does
nothing; 2003 claims GPU 0 in its environment but runs on 3; 2004 and 2005 share
GPU 4, three parts to one; no job has GPU 5.  GPU 6 has two MIG instances, one of
them used by 2004; GPU 7 has two, one of which a prolog's file assigns to 2005."""
import json
import os
import sys
from decimal import Decimal
from fractions import Fraction
from glob import glob

from hosts_agree import translate
from prom import parse

DEVICE = "GPU-%d0000000-1111-2222-3333-444444444444"
MIG = {"6a": ("MIG-6a000000-1111-2222-3333-444444444444", 6, 1, 3, 40),
       "6b": ("MIG-6b000000-1111-2222-3333-444444444444", 6, 2, 3, 20),
       "7a": ("MIG-7a000000-1111-2222-3333-444444444444", 7, 11, 2, None),
       "7b": ("MIG-7b000000-1111-2222-3333-444444444444", 7, 12, 3, None)}
MULTIPROCESSORS = 42
GB = 1 << 30

# The part of a device's energy by (job, GPU).  That of GPU 6 is split by the use of its
# instances (40 to 20 %), that of GPU 7 by their slices of 7.
TRUTH = {0: {("2001", "0"): 1}, 1: {("2001", "1"): 1}, 2: {("2002", "2"): 1},
         3: {("2003", "3"): 1},
         4: {("2004", "4"): Fraction(3, 4), ("2005", "4"): Fraction(1, 4)},
         5: {}, 6: {("2004", "6a"): Fraction(2, 3)},
         7: {("2005", "7a"): Fraction(2, 7)}}
SOURCE = {("2001", "0"): "process", ("2001", "1"): "process",
          ("2002", "2"): "environ", ("2003", "3"): "process",
          ("2004", "4"): "process", ("2005", "4"): "process",
          ("2004", "6a"): "process", ("2005", "7a"): "prolog"}
# Percent, GB of the device, watts.
DEVICE_USE = {0: (80, 60, 300), 1: (40, 30, 200), 2: (0, 1, 60), 3: (90, 70, 400),
              4: (55, 20, 320), 5: (0, 0, 50)}
# Other values of devices in the units of NVML, also of GPU 6, which has MIG instances.
# The driver reports no more.
EXTRA = {0: {"fan": 35, "temperature": 61, "graphics_clock": 1980,
             "sm_clock": 1965, "memory_clock": 2619, "video_clock": 1545,
             "ecc_00": 5, "ecc_10": 1, "ecc_01": 105, "ecc_11": 11,
             "throttle": 0x44, "cores": 16896, "capability": 90, "events": 8,
             "memory_reserved": GB, "gpm": 1},
         3: {"temperature": 70, "ecc_00": 0, "throttle": 1, "events": 0},
         6: {"fan": 50, "temperature": 55, "sm_clock": 1410, "ecc_10": 2,
             "throttle": 8, "events": 8}}
# GPM metrics of device 0 by number: percent, from 20 on MiB per second.
GPM = {1: 90, 2: 62.5, 3: 31.25, 4: 12.5, 5: 25, 10: 40, 11: 1, 12: 20, 13: 3,
       20: 16, 21: 32, 60: 64, 61: 128}
SHARED = {"2004": (30, 12), "2005": (10, 4)}  # percent, GB of GPU 4


def uuid_of(gpu):
    return MIG[gpu][0] if gpu in MIG else DEVICE % int(gpu)


def name_of(gpu):
    return f"{uuid_of(gpu)}:{MIG[gpu][1] if gpu in MIG else gpu}"


# --- the driver --------------------------------------------------------------

def lines_of(node):
    a, false_claim, b, c = node["pids"]
    yield f"match\ndriver {node['driver']}"
    for gpu in range(8):
        yield f"gpu {gpu} uuid {DEVICE % gpu}\ngpu {gpu} name Made"
        yield f"gpu {gpu} minor {7 - gpu}"
        yield f"gpu {gpu} pci 00000000:{gpu + 1:02X}:00.0"
        yield f"gpu {gpu} energy {node['counter'][gpu]}"
        if gpu in DEVICE_USE:
            busy, memory, watts = DEVICE_USE[gpu]
            yield f"gpu {gpu} busy {busy}\ngpu {gpu} memory_busy 1"
            yield f"gpu {gpu} power {watts}000"
            yield f"gpu {gpu} memory_total {80 * GB}"
            yield f"gpu {gpu} memory_used {memory * GB}"
        else:
            yield f"gpu {gpu} mig_mode 1"
        for key, value in EXTRA.get(gpu, {}).items():
            yield f"gpu {gpu} {key} {value}"
    for number, value in GPM.items():
        yield f"gpm 0 -1 {number} {value} 0"
    for name, (uuid, gpu, gi, slices, active) in MIG.items():
        at = f"mig {gpu} {'ab'.index(name[1])}"
        yield f"{at} uuid {uuid}\n{at} name Made-{name}\n{at} gi {gi}\n{at} ci 0"
        yield f"{at} slices {slices}\n{at} sms {MULTIPROCESSORS}"
        yield f"{at} memory_total {40 * GB}\n{at} memory_used {gi * GB}"
        if active is not None:
            yield f"gpu {gpu} gpm 1\ngpm {gpu} {gi} 2 {active} 0"
    yield f"proc 0 compute {a} {50 * GB} -1 -1\nproc 1 compute {a} 4096 -1 -1"
    yield f"proc 3 compute {false_claim} {69 * GB} -1 -1"
    for job, pid in (("2004", b), ("2005", c)):
        yield f"proc 4 mps {pid} {SHARED[job][1] * GB} -1 -1"
        yield f"use 4 {pid} now {SHARED[job][0]}"
    yield f"proc 6 compute {b} 4096 1 0"
    for gpu, number in node["xids"]:
        yield f"xid {gpu} {number}"
    for gpu in node["lost"]:
        yield f"fail {gpu} any 15"
    yield f"hang nvmlDeviceGetCount_v2 {node['hang']}"


def save(where, node):
    for name, text in (("script", "\n".join(lines_of(node)) + "\n"),
                       ("node.json", json.dumps(node))):
        with open(f"{where}/{name}.new", "w", encoding="ascii") as f:
            f.write(text)
        os.rename(f"{where}/{name}.new", f"{where}/{name}")


def load(where):
    with open(f"{where}/node.json", encoding="ascii") as f:
        return json.load(f)


def init(where, *pids):
    save(where, {"pids": [int(p) for p in pids], "driver": "550.54.15",
                 "counter": [10**6 * (n + 1) for n in range(8)],
                 "used": [0] * 8, "lost": [], "hang": 0, "xids": []})


def use_energy(node, without):
    """Add energy to each GPU; all parts of TRUTH divide the millijoules without a rest."""
    for gpu in range(8):
        if gpu not in without:
            mj = 84000 * (gpu + 1)
            node["counter"][gpu] += mj
            node["used"][gpu] += mj


def step(where, *words):
    node = load(where)
    without = []
    for word in words:
        what, _, text = word.partition("=")
        if what == "without":
            without = [int(n) for n in text.split(",")]
        elif what == "zero":
            node["counter"][int(text)] = 0
        elif what == "lost":
            node["lost"].append(int(text))
        elif what == "back":
            node["lost"].remove(int(text))
        elif what == "hang":
            node["hang"] = int(text)
        elif what == "xid":
            node["xids"].append([int(n) for n in text.split(":")])
        elif what == "driver":
            node["driver"], node["counter"] = text, [0] * 8
    if "energy" in words:
        use_energy(node, without)
    save(where, node)


# --- expected values ---------------------------------------------------------

def truth(node):
    """Microjoules by (job, GPU), those of no job, and all."""
    given, whole = {}, 1000 * sum(node["used"])
    for gpu, parts in TRUTH.items():
        for key, part in parts.items():
            given[key] = given.get(key, 0) + part * node["used"][gpu] * 1000
    return given, whole - sum(given.values()), whole


def wanted_counters(node):
    given, nobody, whole = truth(node)
    want = {}
    for (job, gpu), uj in given.items():
        want["job_gpu_energy_uj_total", job, name_of(gpu)] = uj
        key = "job_energy_uj_total", job, "gpu"
        want[key] = want.get(key, 0) + uj
    want["node_energy_uj_total", "gpu", None] = whole
    want["node_energy_unallocated_uj_total", "gpu", None] = nobody
    want["node_energy_system_uj_total", "gpu", None] = 0
    return want


def wanted_levels():
    want = {}

    def put(job, gpu, name, value):
        want[f"job_gpu_{name}", job, name_of(gpu)] = value

    for (job, gpu), source in SOURCE.items():
        want["job_gpu_info", job, f"{uuid_of(gpu)}:{source}"] = 1
        shared = gpu == "4"
        part = TRUTH[4][job, gpu] if shared else 1
        put(job, gpu, "share_ppm", part * 10**6)
        put(job, gpu, "estimated", int(shared or gpu in MIG))
        put(job, gpu, "processes",
            0 if source in ("environ", "prolog") else 1)
        if gpu in MIG:
            put(job, gpu, "memory_used_bytes", MIG[gpu][2] * GB)
            continue
        busy, memory, watts = DEVICE_USE[int(gpu)]
        if shared:
            busy, memory = SHARED[job]
        put(job, gpu, "busy_ppm", busy * 10**4)
        put(job, gpu, "memory_used_bytes", memory * GB)
        put(job, gpu, "power_uw", watts * 10**6 * part)
    for gpu in range(8):
        want["gpu_success", DEVICE % gpu, str(gpu)] = 1
    want["gpu_source_success", "nvml", None] = 1
    want["gpu_source_devices", "nvml", None] = 8
    return want


class AnyName:
    def __contains__(self, name):
        return True


def page_of(host, path):
    """{(name, instance, type instance): value} of a page, with collectd's names."""
    if host == "exporter":
        page = translate(path, AnyName())
    else:
        page = {(n, l.get("batchjob"), l.get("type")): v
                for n, l, v in parse(path) if "batchjob" in n}
    out = {}
    for (name, instance, type_), value in page.items():
        name = name.removeprefix("collectd_batchjob_")
        if name.startswith("job_"):
            instance = instance.split("@")[0]
        out[name, instance, type_] = Decimal(value)
    return out


def times(page):
    """Errors of the times held and idle: only GPU 2 and instance 7a are idle."""
    bad = []
    for (job, gpu), _ in SOURCE.items():
        held, idle = (page.get((f"job_gpu_{n}_usec_total", job, name_of(gpu)))
                      for n in ("held", "idle"))
        if held is None or idle is None:
            bad.append(f"{job} {gpu}: no time")
            continue
        is_idle = gpu in ("2", "7a")
        if held <= 0 or (not 0 < idle <= held if is_idle else idle != 0):
            bad.append(f"{job} {gpu}: held {held}, idle {idle}")
    return bad


def check(host, path, where, *words):
    node, page = load(where), page_of(host, path)
    want = wanted_counters(node)
    if "counters" not in words:
        want.update(wanted_levels())
        if "conflicts=no" not in words:
            for kind, n in (("denied", 1), ("stray", 1), ("double", 0)):
                want["gpu_conflicts_total", kind, None] = n
    bad = [f"{k}: {page.get(k)}, want {v}" for k, v in want.items()
           if page.get(k) is None or Fraction(page[k]) != v]
    bad += times(page)
    if "counters" not in words:
        bad += [f"{k}: unexpected" for k in page
                if k[0] == "job_gpu_info" and k not in want]
    print("\n".join(bad) or f"{len(want)} values, {sum(node['used'])} mJ")
    return 1 if bad else 0


def records(where, spool):
    given, nobody, whole = truth(load(where))
    got, bad, total = {}, [], 0
    for path in glob(f"{spool}/*.json"):
        with open(path, encoding="utf-8") as f:
            r = json.load(f)
        total += r["energy_uj"]["hybrid"]["gpu"]
        for uuid, g in r.get("gpus", {}).items():
            key = r["jobid"], uuid
            if key in got:
                bad.append(f"twice: {key}")
            got[key] = g
    for (job, gpu), uj in given.items():
        g = got.pop((job, uuid_of(gpu)), {})
        shared = gpu == "4" or gpu in MIG
        if g.get("energy_uj") != uj or g.get("source") != SOURCE[job, gpu] \
                or g.get("estimated") != shared or not g.get("held_usec"):
            bad.append(f"{job} {gpu}: {g}, want {uj} uJ")
        if gpu in ("0", "1", "2", "3"):
            busy, memory, _ = DEVICE_USE[int(gpu)]
            if g.get("busy_ppm") != busy * 10**4 or \
                    g.get("memory_peak_bytes") != memory * GB:
                bad.append(f"{job} {gpu}: {g}, want {busy} %, {memory} GB")
    bad += [f"unexpected: {k}" for k in got]
    if total + nobody != whole:
        bad.append(f"records {total}, no job {nobody}, all {whole}")
    print("\n".join(bad) or f"{len(given)} GPUs of jobs, {total} uJ")
    return 1 if bad else 0


def check_decreases(host, before, after):
    old, new = page_of(host, before), page_of(host, after)
    names = ("job_gpu_", "node_energy_", "job_energy_", "gpu_energy_")
    keys = [k for k in old if k in new and k[0].endswith("_total") and
            k[0].startswith(names) and "resets" not in k[0]]
    bad = [f"{k}: {old[k]}, then {new[k]}" for k in keys if new[k] < old[k]]
    print("\n".join(bad) or f"{len(keys)} counters")
    return 1 if bad or not keys else 0


if __name__ == "__main__":
    calls = {"init": init, "step": step, "check": check, "records": records,
             "check-decreases": check_decreases}
    sys.exit(calls[sys.argv[1]](*sys.argv[2:]))
