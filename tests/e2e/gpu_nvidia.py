#!/usr/bin/python3
"""Compare the exporter's pages with the driver of a real NVIDIA GPU.

  gpu_nvidia.py uuid            print the UUID of the first GPU
  gpu_nvidia.py device PAGE     compare constants and slow values with nvidia-smi
  gpu_nvidia.py process PAGE PID JOB   compare the memory of a job with one process
  gpu_nvidia.py counter         print the energy counter of the first GPU in millijoules
  gpu_nvidia.py energy SECONDS PAGE COUNTER COUNTER PAGE COUNTER COUNTER
        compare the energy between two pages with the driver's counter, which was read
        before and after each page; a page may be SECONDS old
  gpu_nvidia.py sum PAGE        check that jobs and "unallocated" add up to the node's energy
  gpu_nvidia.py record DIR JOB KIND    check the final record of a job
  gpu_nvidia.py dialects DIR JOB UID   compare pages in other exporters' formats (DIR/NAME)
        with nvidia-smi, while a single job computes on the GPU

Expected values come from nvidia-smi; the energy counter, which it does not
print, comes from the library."""
import csv
import ctypes
import json
import subprocess
import sys
from decimal import Decimal
from glob import glob

from prom import parse

MIB = 1 << 20


def smi(what, fields):
    """Rows of nvidia-smi, as {field: text}."""
    text = subprocess.run(
        ["nvidia-smi", f"--query-{what}={','.join(fields)}",
         "--format=csv,noheader,nounits"],
        check=True, capture_output=True, text=True).stdout
    return [dict(zip(fields, (word.strip() for word in row)))
            for row in csv.reader(text.splitlines())]


def uuid():
    return smi("gpu", ["uuid"])[0]["uuid"]


def counter():
    lib = ctypes.CDLL("libnvidia-ml.so.1")
    gpu, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong()
    for code in (lib.nvmlInit_v2(),
                 lib.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(gpu)),
                 lib.nvmlDeviceGetTotalEnergyConsumption(
                     gpu, ctypes.byref(millijoules))):
        if code:
            sys.exit(f"NVML: error {code}")
    lib.nvmlShutdown()
    return millijoules.value


def samples(path, name, **labels):
    return [(l, Decimal(v)) for n, l, v in parse(path)
            if n == name and all(l.get(k) == w for k, w in labels.items())]


def one(path, name, **labels):
    found = samples(path, name, **labels)
    return found[0][1] if len(found) == 1 else None


# Metric, field of nvidia-smi, factor, tolerance.
VALUES = [
    ("memory_total_bytes", "memory.total", MIB, 0),
    ("memory_reserved_bytes", "memory.reserved", MIB, MIB),
    ("memory_used_bytes", "memory.used", MIB, MIB),
    ("memory_free_bytes", "memory.free", MIB, MIB),
    ("power_limit_watts", "enforced.power.limit", 1, 0),
    ("temperature_celsius", "temperature.gpu", 1, 5),
    ("memory_temperature_celsius", "temperature.memory", 1, 5),
    ("memory_clock_hertz", "clocks.mem", 10**6, 0),
    ("ecc_corrected_total", "ecc.errors.corrected.volatile.total", 1, 0),
    ("ecc_uncorrected_total", "ecc.errors.uncorrected.volatile.total", 1, 0),
    ("ecc_corrected_lifetime_total", "ecc.errors.corrected.aggregate.total", 1, 0),
    ("ecc_uncorrected_lifetime_total", "ecc.errors.uncorrected.aggregate.total", 1, 0),
    ("remapped_rows_corrected", "remapped_rows.correctable", 1, 0),
    ("remapped_rows_uncorrected", "remapped_rows.uncorrectable", 1, 0),
    ("remapping_failed", "remapped_rows.failure", 1, 0),
    ("fan_speed_ratio", "fan.speed", Decimal("0.01"), 0),
]
FLAGS = {"Yes": "1", "No": "0"}
REASONS = {"idle": "gpu_idle", "clock_setting": "applications_clocks_setting",
           "power_cap": "sw_power_cap", "hw_slowdown": "hw_slowdown",
           "sync_boost": "sync_boost", "sw_thermal": "sw_thermal_slowdown",
           "hw_thermal": "hw_thermal_slowdown",
           "hw_power_brake": "hw_power_brake_slowdown"}


def device(page):
    reasons = {k: f"clocks_event_reasons.{v}" for k, v in REASONS.items()}
    fields = ["uuid", "name", "pci.bus_id", "index"] + \
        [f for _, f, _, _ in VALUES] + list(reasons.values())
    gpu = smi("gpu", fields)[0]
    bad = []
    info = samples(page, "batchjob_gpu_info", gpu=gpu["uuid"])
    if [(l["index"], l["model"]) for l, _ in info] != [(gpu["index"], gpu["name"])]:
        bad.append(f"batchjob_gpu_info: {info}, want {gpu}")
    pci = gpu["pci.bus_id"].lower()[4:]
    if not samples(page, "batchjob_gpu_address_info", gpu=gpu["uuid"], pci=pci):
        bad.append(f"batchjob_gpu_address_info: want {pci}")
    for name, field, factor, apart in VALUES:
        got = one(page, f"batchjob_gpu_{name}", gpu=gpu["uuid"])
        text = FLAGS.get(gpu[field], gpu[field])
        if text.startswith("[") or text == "N/A":  # not supported
            want = None
        else:
            want = Decimal(text) * factor
        print(f"{name}: {got}, nvidia-smi: {want}")
        if (got is None) != (want is None) or \
                got is not None and abs(got - want) > apart:
            bad.append(f"batchjob_gpu_{name}: {got}, want {want}")
    for reason, field in reasons.items():
        got = one(page, "batchjob_gpu_throttle_active", gpu=gpu["uuid"],
                  reason=reason)
        if got != (gpu[field] == "Active"):
            bad.append(f"batchjob_gpu_throttle_active {reason}: {got}, want {gpu[field]}")
    return bad


def process(page, pid, job):
    rows = smi("compute-apps", ["pid", "used_memory", "gpu_uuid"])
    mine = [r for r in rows if r["pid"] == pid]
    if len(mine) != 1:
        return [f"nvidia-smi shows {rows}, not process {pid} once"]
    want = int(mine[0]["used_memory"]) * MIB
    got = one(page, "batchjob_job_gpu_memory_used_bytes", jobid=job)
    # A single job gets all memory in use on its GPU, including the driver's own.
    return [] if got is not None and 0 <= got - want < 64 * MIB else \
        [f"memory of job {job}: {got}, want {want}"]


def energy(age, page1, *rest):
    before1, after1, page2, before2, after2 = rest
    first, last = (one(p, "batchjob_gpu_energy_joules_total", gpu=uuid())
                   for p in (page1, page2))
    # Power still falls for a while after the GPU has become idle.
    slack = 2 * int(age) * one(page2, "batchjob_gpu_power_watts", gpu=uuid())
    most = (int(after2) - int(before1)) / Decimal(1000) + slack
    least = (int(before2) - int(after1)) / Decimal(1000) - slack
    print(f"{last - first} J, the counter: {least + slack} to {most - slack} J")
    return [] if least <= last - first <= most else \
        [f"{last - first} J, want {least} to {most}"]


def total(page):
    node = one(page, "batchjob_node_energy_joules_total", component="gpu")
    jobs = sum(v for _, v in samples(page, "batchjob_job_energy_joules_total",
                                     component="gpu"))
    nobody = one(page, "batchjob_node_energy_unallocated_joules_total",
                 component="gpu")
    print(f"jobs {jobs} + unallocated {nobody}, node {node}")
    return [] if node and jobs + nobody == node else \
        [f"jobs {jobs} + unallocated {nobody} are not {node}"]


def record(where, job, kind):
    found = []
    for path in glob(f"{where}/*.json"):
        with open(path, encoding="utf-8") as f:
            r = json.load(f)
        if r["jobid"] == job:
            found.append(r)
    if len(found) != 1:
        return [f"{len(found)} records of job {job}"]
    gpu = found[0].get("gpus", {}).get(uuid(), {})
    print(json.dumps(gpu))
    used = gpu.get("busy_ppm", -1) > 0
    if not gpu.get("energy_uj") or gpu.get("memory_peak_bytes", 0) < 64 * MIB or \
            gpu.get("source") != "process" or used != (kind != "idle"):
        return [f"record of job {job}: {found[0].get('gpus')}"]
    return []


# Page, metric, labels, field of nvidia-smi, factor, tolerance.
DIALECTS = [
    ("nvidia_gpu_prometheus_exporter", "nvidia_gpu_" + name, labels, *rest)
    for name, labels, *rest in (
        ("memory_used_bytes", {}, "memory.used", MIB, MIB),
        ("memory_total_bytes", {}, "memory.total", MIB, 0),
        ("duty_cycle", {}, "utilization.gpu", 1, 5),
        ("power_usage_milliwatts", {}, "power.draw.instant", 1000, 40000),
        ("temperature_celsius", {}, "temperature.gpu", 1, 5),
        ("clock", {"type": "graphics"}, "clocks.gr", 1, 200),
        ("clock", {"type": "sm"}, "clocks.sm", 1, 200),
        ("clock", {"type": "mem"}, "clocks.mem", 1, 0),
        ("clock", {"type": "video"}, "clocks.video", 1, 200))
] + [
    ("nvidia_smi_exporter", name, {"gpu": "0"}, *rest)
    for name, *rest in (
        ("utilization_gpu", "utilization.gpu", 1, 5),
        ("utilization_memory", "utilization.memory", 1, 5),
        ("temperature_gpu", "temperature.gpu", 1, 5),
        ("memory_total", "memory.total", 1, 0),
        ("memory_free", "memory.free", 1, 1),
        ("memory_used", "memory.used", 1, 1))
] + [
    ("slurm-job-exporter", "slurm_job_" + name, {"gpu": "0"}, *rest)
    for name, *rest in (
        ("memory_total_gpu", "memory.total", MIB, 0),
        ("memory_usage_gpu", "memory.used", MIB, MIB),
        ("power_gpu", "power.draw.instant", 1000, 40000),
        ("utilization_gpu", "utilization.gpu", 1, 5))
]


def dialects(where, job, uid):
    gpu = smi("gpu", sorted({row[3] for row in DIALECTS}))[0]
    bad = []
    for page, name, labels, field, factor, apart in DIALECTS:
        if page != "nvidia_smi_exporter":
            labels = labels | {"slurm-job-exporter": {"slurmjobid": job}}.get(
                page, {"jobid": job, "userid": uid, "uuid": uuid()})
        got, want = one(f"{where}/{page}", name, **labels), Decimal(gpu[field]) * factor
        print(f"{name}: {got}, nvidia-smi: {want}")
        if got is None or abs(got - want) > apart:
            bad.append(f"{page}: {name} {labels}: {got}, want {want}")
    return bad


def main(what, *words):
    calls = {"uuid": uuid, "counter": counter, "device": device, "sum": total,
             "process": process, "energy": energy, "record": record, "dialects": dialects}
    result = calls[what](*words)
    if isinstance(result, list):
        print("\n".join(result))
        return bool(result)
    print(result)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
