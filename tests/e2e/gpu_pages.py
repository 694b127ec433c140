#!/usr/bin/python3
"""Check the GPU samples of pages in other exporters' formats (dialects).

  gpu_pages.py DIALECT PAGE DIR   compare all samples of GPUs on the page

The expected samples are computed from the simulated node of gpu.py and the definitions
of the other exporters (docs/dialects.md lists differences); other samples are errors."""
import os
import sys
from fractions import Fraction

from gpu import (DEVICE, DEVICE_USE, GB, GPM, MIG, MULTIPROCESSORS, SHARED, SOURCE,
                 EXTRA, TRUTH, load, uuid_of)
from prom import parse

UID = {"2001": 1000, "2002": 1000, "2003": 1001, "2004": 1002, "2005": 1003}
HOST = os.uname().nodename
# nvml.h, nvmlClocksEventReason*: bit 0 first.
REASONS = ("idle", "application", "swpowercap", "hwslowdown", "syncboost",
           "swthermalslowdown", "hwthermalslowdown", "hwpowerbrakeslowdown",
           "limited")
CLOCKS = {"graphics": "graphics_clock", "sm": "sm_clock",
          "mem": "memory_clock", "video": "video_clock"}
ECC = {("corrected", "volatile"): "ecc_00",
       ("uncorrected", "volatile"): "ecc_10",
       ("corrected", "aggregate"): "ecc_01",
       ("uncorrected", "aggregate"): "ecc_11"}
PROFILE = {"graphics_util_percent": 1, "sm_util_percent": 2,
           "sm_occupancy_percent": 3, "integer_util": 4,
           "any_tensor_util_percent": 5, "dram_bw_util_percent": 10,
           "fp64_util_percent": 11, "fp32_util_percent": 12,
           "fp16_util_percent": 13}
RATES = {"pcie_tx_per_sec": 20, "pcie_rx_per_sec": 21,
         "nvlink_total_rx_per_sec": 60, "nvlink_total_tx_per_sec": 61}
MIB = 1 << 20
WHOLE = [str(gpu) for gpu in DEVICE_USE]
DIVIDED = ["6", "7"]


class Page:
    def __init__(self):
        self.samples = {}

    def put(self, name, value, labels, **more):
        if value is not None:
            key = name, tuple(sorted({**labels, **more}.items()))
            assert key not in self.samples, key
            self.samples[key] = Fraction(value)


def card_of(gpu):
    return MIG[gpu][1] if gpu in MIG else int(gpu)


def extra(card, key):
    return EXTRA.get(card, {}).get(key)


def model_of(gpu):
    return f"Made-{gpu}" if gpu in MIG else "Made"


def holder(gpu):
    """The job that has the largest part of the GPU, else "0"."""
    jobs = [(TRUTH[card_of(gpu)][job, g], job) for job, g in SOURCE if g == gpu]
    return max(jobs)[1] if jobs else "0"


def memory(gpu):
    if gpu in MIG:
        return 40 * GB, MIG[gpu][2] * GB
    return 80 * GB, DEVICE_USE[int(gpu)][1] * GB


def active(gpu):
    """Percent of active multiprocessors, None where profiling does not report it."""
    if gpu in MIG:
        return MIG[gpu][4]
    return GPM[2] if extra(int(gpu), "gpm") else None


# --- nvidia_gpu_prometheus_exporter ------------------------------------------

def card_labels(card):
    return {"ordinal": str(card), "minor_number": str(7 - card),
            "uuid": DEVICE % card, "name": "Made"}


def nvidia_gpu(node, page):
    def put(name, value, labels, **more):
        page.put(f"nvidia_gpu_{name}", value, labels, **more)

    put("num_devices", 8, {})
    for card in range(8):
        for (error, counter), key in ECC.items():
            put("ecc_errors", extra(card, key), card_labels(card), error=error,
                counter=counter)
    for gpu in WHOLE + DIVIDED + list(MIG):
        card, job = card_of(gpu), holder(gpu)
        job = "" if job == "0" else job
        labels = {**card_labels(card), "uuid": uuid_of(gpu),
                  "name": model_of(gpu), "jobid": job,
                  "userid": str(UID.get(job, "")),
                  "GPU_I_ID": str(MIG[gpu][2]) if gpu in MIG else ""}
        total, used = (None, None) if gpu in DIVIDED else memory(gpu)
        put("memory_total_bytes", total, labels)
        put("memory_used_bytes", used, labels)
        if gpu in WHOLE:
            put("duty_cycle", DEVICE_USE[card][0], labels)
            put("power_usage_milliwatts", DEVICE_USE[card][2] * 1000, labels)
        put("temperature_celsius", extra(card, "temperature"), labels)
        put("fanspeed_percent", extra(card, "fan"), labels)
        for type_, key in CLOCKS.items():
            put("clock", extra(card, key), labels, type=type_)
        mask = extra(card, "throttle")
        words = [w for bit, w in enumerate(REASONS) if mask and mask >> bit & 1]
        put("clock_event_reason", mask, labels, reason=",".join(words) or "none")
        if job:
            put("jobId", int(job), labels)
            put("jobUid", UID[job], labels)
        if gpu in MIG and active(gpu) is not None:
            put("sm_util_percent", Fraction(active(gpu)) / 100, labels)
        if gpu not in MIG and extra(card, "gpm"):
            for name, number in PROFILE.items():
                put(name, Fraction(GPM[number]) / 100, labels)
            for name, number in RATES.items():
                put(name, GPM[number] * MIB, labels)


# --- other dialects ----------------------------------------------------------

def nvidia_smi(_, page):
    for card in range(8):
        labels = {"gpu": str(card), "instance": HOST.split(".")[0]}
        page.put("temperature_gpu", extra(card, "temperature"), labels)
        if card not in DEVICE_USE:
            continue
        total, used = memory(str(card))
        reserved = extra(card, "memory_reserved") or 0
        page.put("utilization_gpu", DEVICE_USE[card][0], labels)
        page.put("utilization_memory", 1, labels)
        page.put("memory_total", Fraction(total, MIB), labels)
        page.put("memory_used", Fraction(used, MIB), labels)
        page.put("memory_free", Fraction(total - used - reserved, MIB), labels)


def ceems(_, page):
    for job, gpu in SOURCE:
        card = card_of(gpu)
        labels = {"manager": "slurm", "hostname": HOST, "uuid": job,
                  "index": str(card), "hindex": f"{HOST}/gpu-{card}",
                  "gpuuuid": uuid_of(gpu),
                  "gpuiid": str(MIG[gpu][2]) if gpu in MIG else ""}
        share = TRUTH[4][job, gpu] if gpu == "4" else 1
        page.put("ceems_compute_unit_gpu_index_flag", share, labels)
        count = MULTIPROCESSORS if gpu in MIG else None
        if extra(card, "cores") and gpu not in MIG:
            count = extra(card, "cores") // 128  # with compute capability 9.0
        page.put("ceems_compute_unit_gpu_sm_count", count, labels)


def slurm_job_exporter(_, page):
    def put(name, value, labels, **more):
        page.put(f"slurm_job_{name}", value, labels, **more)

    for job, gpu in SOURCE:
        card, whole = card_of(gpu), gpu not in MIG
        labels = {"slurmjobid": job, "gpu": gpu if whole else uuid_of(gpu),
                  "gpu_type": model_of(gpu)}
        total, used = memory(gpu)
        part = TRUTH[4][job, gpu] if gpu == "4" else 1
        put("memory_total_gpu", total, labels)
        put("memory_usage_gpu", SHARED[job][1] * GB if gpu == "4" else used,
            labels)
        busy = DEVICE_USE[card][0] if whole else None
        put("utilization_gpu", busy if active(gpu) is None else active(gpu),
            labels)
        profiled = whole and extra(card, "gpm")
        if whole:
            put("power_gpu", DEVICE_USE[card][2] * 1000 * part, labels)
            put("utilization_gpu_memory", GPM[10] if profiled else 1, labels)
        if not profiled:
            continue
        for name, number in (("sm_occupancy", 3), ("tensor", 5), ("fp64", 11),
                             ("fp32", 12), ("fp16", 13)):
            put(f"{name}_gpu", GPM[number], labels)
        for name, tx, rx in (("pcie", 20, 21), ("nvlink", 61, 60)):
            put(f"{name}_gpu", GPM[tx] * MIB, labels, direction="TX")
            put(f"{name}_gpu", GPM[rx] * MIB, labels, direction="RX")


# By dialect: function for the expected samples, names of samples of GPUs, and labels that
# are not compared.
PEERS = {
    "nvidia_gpu_prometheus_exporter": (nvidia_gpu, lambda name: True, ()),
    "nvidia_smi_exporter": (nvidia_smi, lambda name: True, ()),
    "ceems": (ceems, lambda name: "_gpu_" in name, ("cgrouphostname",)),
    "slurm-job-exporter": (slurm_job_exporter, lambda name: "_gpu" in name,
                           ("user", "account", "slurm_node")),
}


def main(dialect, path, where):
    expected, is_gpu, ignored = PEERS[dialect]
    want, got = Page(), Page()
    expected(load(where), want)
    for name, labels, value in parse(path):
        if is_gpu(name):
            got.put(name, value, {k: v for k, v in labels.items()
                                  if k not in ignored})
    bad = [f"{k}: {got.samples.get(k)}, want {v}"
           for k, v in want.samples.items() if got.samples.get(k) != v]
    bad += [f"{k}: unexpected" for k in got.samples if k not in want.samples]
    print("\n".join(bad) or f"{len(want.samples)} samples of "
          f"{len({k[0] for k in want.samples})} families")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
