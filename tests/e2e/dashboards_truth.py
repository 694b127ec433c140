#!/usr/bin/env python3
"""The dashboards of examples/grafana/prometheus with a real Prometheus whose samples were made
for this test: a job of 20 minutes on two nodes within a range of 6 hours, and a node where
all is well and nothing runs.  TAP."""
import json
import os
import re
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from prom_lib import Prometheus  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

BOARDS = os.path.join(HERE, "../../examples/grafana/prometheus")
HOUR, STEP = 3600, 15
FROM = 1_750_000_000 // HOUR * HOUR
TO = FROM + 6 * HOUR
START, END = FROM + 2 * HOUR + 7, FROM + 2 * HOUR + 7 + 1200  # of the job
MIDDLE = START + 593
RATE = 60  # $__rate_interval
JOB = {"jobid": "4711", "user": "anna", "account": "physics"}
# What the job does on each node: CPUs, CPU seconds and joules per second, bytes read per second.
NODES = {"n1": (4, 1.0, 90.0, 1000.0), "n2": (4, 0.25, 30.0, 3000.0)}
GIB = 1 << 30


def job_samples(instance, t):
    """(name, labels, value) of the job on a node, t seconds after its start."""
    cpus, cpu, watts, read = NODES[instance]
    one = dict(JOB, instance=instance)
    yield "batchjob_job_info", dict(one, name="x"), 1
    yield "batchjob_job_start_time_seconds", one, START
    yield "batchjob_job_cpus", one, cpus
    yield "batchjob_job_cpu_seconds_total", one, cpu * t
    yield "batchjob_job_memory_rss_bytes", one, GIB
    yield "batchjob_job_memory_shmem_bytes", one, GIB // 2
    yield "batchjob_job_memory_used_bytes", one, 2 * GIB
    yield "batchjob_job_memory_limit_bytes", one, (4 if instance == "n1" else 3) * GIB
    yield "batchjob_job_memory_limit_hits_total", one, 0
    yield "batchjob_job_oom_kills_total", one, 0
    yield "batchjob_job_io_read_bytes_total", one, read * t
    yield "batchjob_job_io_write_bytes_total", one, 2 * read * t
    yield "batchjob_job_processes", one, 3
    yield "batchjob_job_threads", one, 5
    yield "batchjob_job_cpu_throttled_seconds_total", one, 0.1 * t
    yield "batchjob_job_pressure_cpu_some_seconds_total", one, 0.2 * t
    yield "batchjob_job_exe_cpu_seconds_total", dict(one, exe="/usr/bin/x"), cpu * t
    for core in range(cpus):
        yield "batchjob_job_core_cpu_seconds_total", dict(one, core=str(core)), cpu / cpus * t
    for component, part in ("cpu", 0.75), ("gpu", 0.25):
        yield ("batchjob_job_energy_joules_total", dict(one, component=component),
               part * watts * t)
    gpu = dict(one, gpu="GPU-" + instance, index="0")
    yield "batchjob_job_gpu_busy_ratio", gpu, 0.25 if instance == "n1" else 0.75
    yield "batchjob_job_gpu_memory_used_bytes", gpu, GIB
    yield "batchjob_job_gpu_share_ratio", gpu, 1


def node_samples(t):
    """A node without jobs, whose two GPUs have MIG instances or none; all is well."""
    node = {"instance": "idle"}
    yield "batchjob_build_info", node, 1
    yield "batchjob_node_cpus", node, 8
    yield "batchjob_node_power_watts", node, 100
    yield "batchjob_node_energy_joules_total", dict(node, component="node"), 100 * t
    yield "batchjob_meter_success", dict(node, meter="rapl"), 1
    yield "batchjob_collector_success", dict(node, collector="cpu"), 1
    for gpu, index in ("GPU-a", "0"), ("GPU-b", "1"), ("MIG-1", "1"), ("MIG-2", "1"):
        yield "batchjob_gpu_info", dict(node, gpu=gpu, index=index, model="m"), 1
        if index == "1" and gpu != "GPU-b":
            yield "batchjob_gpu_instance_info", dict(node, gpu=gpu, index=index, device="GPU-b"), 1
    yield "batchjob_cluster_source_success", {"source": "queue"}, 1
    yield "batchjob_cluster_nodes", {"state": "idle", "flags": ""}, 3
    yield "batchjob_emission_factor_grams_per_kwh", dict(node, provider="rte", kind="average_direct",
                                                         country="FR"), 50


def block():
    """All samples in the format of OpenMetrics."""
    series = {}
    for at in range(FROM, TO, STEP):
        for name, labels, value in node_samples(at - FROM):
            series.setdefault((name, tuple(sorted(labels.items()))), []).append((at, value))
        if START <= at <= END:
            for instance in NODES:
                for name, labels, value in job_samples(instance, at - START):
                    series.setdefault((name, tuple(sorted(labels.items()))), []).append((at, value))
    out, last = [], None
    for (name, labels), points in sorted(series.items()):
        if name != last:
            out.append("# TYPE %s unknown" % name)
            last = name
        text = ",".join('%s="%s"' % l for l in labels)
        out += ["%s{%s} %r %d" % (name, text, float(v), at) for at, v in points]
    return "\n".join(out) + "\n# EOF\n"


class Made(Prometheus):
    options = Prometheus.options + ("--storage.tsdb.retention.time=100y",)

    def prepare(self):
        with open(self.folder + "/samples", "w") as f:
            f.write(block())
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics",
                        self.folder + "/samples", self.folder + "/data"],
                       check=True, stdout=subprocess.DEVNULL)


def board(name):
    with open(os.path.join(BOARDS, name)) as f:
        return json.load(f)["panels"]


def expression(target):
    values = {"node": ".*", "user": ".*", "cluster": ".*", "jobid": JOB["jobid"],
              "__rate_interval": "%ds" % RATE, "__range": "6h"}
    return re.sub(r"\$(\w+)", lambda m: values[m.group(1)], target["expr"])


def points(prom, target):
    """{legend: [(time, value)]} over the whole range, as Grafana queries a panel."""
    path = "/api/v1/query_range?" + urllib.parse.urlencode(
        {"query": expression(target), "start": FROM, "end": TO - STEP, "step": STEP})
    result = json.loads(prom.get(path))["data"]["result"]
    return {re.sub(r"{{(\w+)}}", lambda m: r["metric"].get(m.group(1), ""),
                   target.get("legendFormat", "")):
            [(int(at), float(v)) for at, v in r["values"]] for r in result}


def stat(prom, panel):
    """The last value of a panel, rounded; None: "no data"."""
    got = [v[-1][1] for v in points(prom, panel["targets"][0]).values()]
    return round(got[0], 3) if got else None


def middle(prom, panel):
    """{legend: value} in the middle of the job."""
    at = MIDDLE // STEP * STEP
    return {name: round(dict(v).get(at, -1), 3) for target in panel["targets"]
            for name, v in points(prom, target).items()}


# The truth about the job, from the numbers above.
LAST = END // STEP * STEP - START  # seconds from its start to its last sample
STATS = {
    "Nodes": 2,
    "CPU use": round(1.25 / 8, 3),
    "Share of the memory limit": 0.5,  # 1.5 of 3 GiB
    "GPU busy": 0.5,
    "Energy": 120.0 * LAST,
}
MIDDLES = {
    "CPUs used by node": {"n1": 1.0, "n2": 0.25, "CPUs usable": 4},
    "Memory held by node": {"n1": 1.5 * GIB, "n2": 1.5 * GIB, "limit": 3 * GIB},
    "Memory charged by node": {"n1": 2 * GIB, "n2": 2 * GIB, "limit": 3 * GIB},
    "Busiest and least busy CPU": {"busiest": 0.25, "least busy": 0.062},
    "GPU busy": {"n1 GPU 0": 0.25, "n2 GPU 0": 0.75},
    "GPU memory": {"n1 GPU 0": GIB, "n2 GPU 0": GIB},
    "Read and written by node": {"n1 read": 1000, "n2 read": 3000, "n1 written": 2000,
                                 "n2 written": 6000},
    "Processes and threads": {"processes": 6, "threads": 10},
    "Power by component": {"cpu": 90.0, "gpu": 30.0},
    "Time without a CPU": {"throttled by the CPU quota": 0.2, "waiting for a CPU": 0.4},
    "Memory limit": {"limit reached": 0, "processes killed": 0},
    "CPU time by executable": {"/usr/bin/x": 1.25},
}
# Panels where all is well, or nothing runs, at the end of the range: 0 is known, not "no data".
WELL = {
    "cluster.json": {"Jobs running": 0, "Jobs pending": 0, "Nodes not in service": 0},
    "energy.json": {"Meters failing": 0, "Attributed to jobs": 0, "Emission factor": 50,
                    "Power of the nodes": 100,
                    "Emissions": 0.005},  # 0.1 kW of 50 g/kWh
    "gpus.json": {"GPUs": 2, "Held by jobs": 0, "Held but idle": 0},
    "my-jobs.json": {"Jobs running": 0, "CPUs held": 0},
    "node.json": {"Jobs": 0, "CPU in use by jobs": 0, "Collectors failing": 0, "Power": 100},
}
UNITS = {"joule": "joules_total", "watt": r"watts|rate\(.*joules_total|joules"}


def main():
    prom = Made()
    if prom.failure:
        skip("dashboards show the truth", prom.failure)
        return plan()
    stats, middles = dict(STATS), dict(MIDDLES)
    for panel in board("job.json"):
        title, kind = panel["title"], panel["type"]
        if title == "User":
            same(list(points(prom, panel["targets"][0])), ["anna"], "job.json: User")
        elif kind == "stat":
            same(stat(prom, panel), stats.pop(title, "?"), "job.json: %s" % title)
        else:
            same(middle(prom, panel), middles.pop(title, "?"), "job.json: %s, over time" % title)
    check(not stats and not middles, "job.json has all panels", stats, middles)
    for name, want in WELL.items():
        panels = {p["title"]: p for p in board(name) if p["type"] == "stat"}
        for title, value in want.items():
            same(stat(prom, panels[title]), value, "%s: %s, when all is well" % (name, title))
    wrong = []
    for name in os.listdir(BOARDS):
        for panel in board(name):
            unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit")
            text = " ".join(expression(t) for t in panel["targets"])
            if unit == "joule" and "rate(" in text or "nergy" in panel["title"] and unit == "watt" \
                    or "grams_per_kwh" in text and "g" not in str(unit).replace("none", ""):
                wrong.append("%s: %s: %s" % (name, panel["title"], unit))
    check(sorted(wrong) == ["energy.json: Where the energy goes: watt"], "units fit the values", *wrong)
    prom.stop()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
