#!/usr/bin/python3
"""Compare the exporter's metrics of a cluster with counts of other commands:
squeue -r (one line per array task), scontrol show node, and sinfo's sums.

  cluster_check.py URL     prints "ok - ..." and "not ok - ..." """
import collections
import os
import re
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prom

Counter = collections.Counter


def run(*argv):
    env = dict(os.environ, SLURM_TIME_FORMAT="%s")
    return subprocess.run(argv, env=env, check=True, text=True, timeout=300,
                          stdout=subprocess.PIPE).stdout


def mib(text):
    m = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", text)
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "": 1 << 20}
    return int(float(m.group(1)) * unit[m.group(2)])


def queue():
    """Jobs, CPUs, GPUs and memory by state, partition, user, account and QOS."""
    sums = collections.defaultdict(Counter)
    lines = run("squeue", "-a", "-r", "-h", "-t", "all", "-O",
                "State:|,Partition:|,UserName:|,Account:|,QOS:|,NumCPUs:|,"
                "tres-alloc:|,Reason:")
    for line in lines.splitlines():
        state, part, user, account, qos, cpus, tres, reason = line.split("|", 7)
        tres = dict(t.split("=") for t in tres.split(","))
        gpus = int(tres.get("gres/gpu", 0))
        for key in [("jobs", state), ("partition", part, state),
                    ("user", user, state), ("account", account, state),
                    ("qos", qos, state)]:
            sums[key]["n"] += 1
            sums[key]["cpus"] += int(cpus)
            sums[key]["memory"] += mib(tres["mem"])
            sums[key]["gpus"] += gpus
        if state == "PENDING":
            sums["reason", reason.split(",")[0].strip()]["n"] += 1
        typed = 0
        for name, n in tres.items():
            if name.startswith("gres/gpu:"):
                sums["type", state, name.split(":")[1]]["n"] += int(n)
                typed += int(n)
        if gpus > typed:
            sums["type", state, ""]["n"] += gpus - typed
    return dict(sums)


def gpus(text):
    return Counter({m.group(1): int(m.group(2))
                    for m in re.finditer(r"gpu:([^:,]+):(\d+)", text)})


def nodes():
    sums = collections.defaultdict(Counter)
    for line in run("scontrol", "-d", "-o", "show", "node").splitlines():
        get = dict(re.findall(r"(\w+)=(\S*)", line.split(" Reason=")[0]))
        name = get["State"].lower()
        flags = set(name.split("+")[1:])
        base = name.split("+")[0]
        if base.endswith("*"):
            base = base[:-1]
            flags.add("not_responding")
        flags = "+".join(sorted(flags))
        cpus, alloc = int(get["CPUTot"]), int(get["CPUAlloc"])
        total, used = gpus(get["Gres"]), gpus(get["GresUsed"])
        where = [("nodes", base, flags)]
        where += [("flag", f) for f in flags.split("+") if f]
        where += [("partition", p, base, flags)
                  for p in get["Partitions"].split(",")]
        for key in where:
            sums[key]["nodes"] += 1
            sums[key]["cpus"] += cpus
            sums[key]["cpus_allocated"] += alloc
            sums[key]["memory_bytes"] += int(get["RealMemory"]) << 20
            sums[key]["memory_allocated_bytes"] += int(get["AllocMem"]) << 20
        for t in total:
            sums["gpus", base, flags, t]["gpus"] += total[t]
            sums["gpus", base, flags, t]["gpus_allocated"] += used[t]
    return dict(sums)


def page(url):
    with urllib.request.urlopen(url + "/metrics", timeout=300) as r:
        text = r.read()
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"),
                        f"bj-cluster-page.{os.getpid()}")
    with open(path, "wb") as f:
        f.write(text)
    try:
        return list(prom.parse(path))
    finally:
        os.unlink(path)


def exported(samples, name, *labels):
    """{label values: value} of a metric, which must exist."""
    if not any(n == name for n, _, _ in samples):
        return {"nothing": name}
    return {tuple(l[k] for k in labels): float(v)
            for n, l, v in samples if n == name}


failures = 0


def compare(what, got, want):
    global failures
    got = {k: v for k, v in got.items() if v}
    want = {k: v for k, v in want.items() if v}
    if got == want:
        print(f"ok - {what}: {len(want)} figures")
        return
    failures += 1
    print(f"not ok - {what}")
    for k in sorted(set(got) | set(want), key=str):
        if got.get(k) != want.get(k):
            print(f"  {k}: exported {got.get(k)}, counted {want.get(k)}")


def settled(url):
    """A page, and the counts that were equal just before and after it."""
    for _ in range(10):
        before = queue(), nodes()
        time.sleep(5)  # two intervals
        samples = page(url)
        if (queue(), nodes()) == before:
            return samples, *before
    sys.exit("the queue does not stop changing")


def check_jobs(samples, q):
    fields = [("", "n"), ("_cpus", "cpus"), ("_memory_bytes", "memory")]
    for what, metric, labels in [
            ("jobs", "batchjob_cluster_jobs", ["state"]),
            ("partition", "batchjob_partition_jobs", ["partition", "state"]),
            ("user", "batchjob_cluster_user_jobs", ["user", "state"]),
            ("account", "batchjob_cluster_account_jobs", ["account", "state"]),
            ("qos", "batchjob_cluster_qos_jobs", ["qos", "state"])]:
        for suffix, field in fields:
            compare(f"{metric}{suffix}", exported(samples, metric + suffix, *labels),
                    {k[1:]: v[field] for k, v in q.items() if k[0] == what})
    for what in "user", "account", "qos":
        compare(f"GPUs of jobs by {what}",
                exported(samples, f"batchjob_cluster_{what}_jobs_gpus", what,
                         "state"),
                {k[1:]: v["gpus"] for k, v in q.items() if k[0] == what})
    compare("GPUs of jobs by type",
            exported(samples, "batchjob_cluster_jobs_gpus", "state", "type"),
            {k[1:]: v["n"] for k, v in q.items() if k[0] == "type"})
    reasons = {k[1:]: v["n"] for k, v in q.items() if k[0] == "reason"}
    compare("reasons of pending jobs",
            exported(samples, "batchjob_cluster_pending", "reason"), reasons)


def check_nodes(samples, n):
    fields = ["nodes", "cpus", "cpus_allocated", "memory_bytes",
              "memory_allocated_bytes"]
    for what, table, labels in [
            ("nodes", "cluster", ["state", "flags"]),
            ("flag", "cluster_flag", ["flag"]),
            ("partition", "partition", ["partition", "state", "flags"])]:
        for field in fields:
            compare(f"batchjob_{table}_{field}",
                    exported(samples, f"batchjob_{table}_{field}", *labels),
                    {k[1:]: v[field] for k, v in n.items() if k[0] == what})
    for metric in "gpus", "gpus_allocated":
        compare(f"batchjob_cluster_{metric}",
                exported(samples, f"batchjob_cluster_{metric}", "state", "flags",
                         "type"),
                {k[1:]: v[metric] for k, v in n.items() if k[0] == "gpus"})


def check_states_and_types(samples):
    """The raw state of each node is that of sinfo; types of GPUs are counted."""
    words = {tuple(line.split()): 1 for line in run(
        "sinfo", "-h", "-N", "-p", "test", "-O", "NodeList,StateComplete:60").splitlines()}
    compare("raw states of nodes",
            exported(samples, "batchjob_cluster_node_state_info", "node", "state_raw"), words)
    types, where = Counter(), Counter()
    for line in run("scontrol", "-o", "show", "node").splitlines():
        have = gpus(re.search(r" Gres=(\S*)", line).group(1))
        types.update(have)
        where.update(have.keys())
    for what, count in ("gpus", types), ("nodes", where):
        compare(f"types of GPUs: {what}",
                exported(samples, f"batchjob_cluster_gpu_type_{what}", "type"),
                {(t,): n for t, n in count.items()})


def check_sums(samples):
    """CPUs add up to sinfo's sums, and GPUs by use to all GPUs."""
    parts = Counter()
    for name in "cpus", "cpus_allocated", "cpus_idle", "cpus_other":
        parts[name] = sum(exported(samples, f"batchjob_cluster_{name}", "state",
                                   "flags").values())
    alloc, idle, other, total = map(int, sinfo_sums())
    compare("CPUs as sinfo sums them up", parts,
            {"cpus": total, "cpus_allocated": alloc, "cpus_idle": idle,
             "cpus_other": other})
    for table, labels in [("cluster", ["state", "flags", "type"]),
                          ("partition", ["partition", "state", "type"])]:
        whole = exported(samples, f"batchjob_{table}_gpus", *labels)
        made = Counter()
        for part in "allocated", "idle", "blocked", "other":
            made.update(exported(samples, f"batchjob_{table}_gpus_{part}", *labels))
        compare(f"GPUs of the {table} are allocated, idle, blocked or other",
                made, whole)


def sinfo_sums():
    """Allocated, idle, other and total CPUs of the partition with all nodes."""
    return run("sinfo", "-h", "-p", "test", "-o", "%P %C").split()[1] \
        .split("/")


def main():
    samples, q, n = settled(sys.argv[1])
    check_jobs(samples, q)
    check_nodes(samples, n)
    check_states_and_types(samples)
    check_sums(samples)
    sys.exit(failures > 0)


main()
