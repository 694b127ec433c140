#!/usr/bin/python3
"""Compare the pages in dialects of cluster exporters with the output of the
commands that the originals run, parsed as they parse it.

  dialects_cluster.py URL     prints "ok - ..." and "not ok - ..." """
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prom

URL = sys.argv[1]
Counter = collections.Counter


def run(*argv):
    return subprocess.run(argv, check=True, text=True, timeout=300,
                          stdout=subprocess.PIPE).stdout


def page(dialect):
    """{(name, labels without cluster): value}"""
    with urllib.request.urlopen("%s/metrics/%s" % (URL, dialect), timeout=300) as f:
        text = f.read()
    with tempfile.NamedTemporaryFile() as f:
        f.write(text)
        f.flush()
        return {(name, frozenset(kv for kv in labels.items() if kv[0] != "cluster")):
                float(value) for name, labels, value in prom.parse(f.name)
                if not name.startswith("process_")}


def key(name, /, **labels):
    return name, frozenset(labels.items())


def add(sums, name, value, /, **labels):
    sums[key(name, **labels)] += value


def vpenso():
    want = Counter()
    for what, letter in ("account", "a"), ("user", "u"):
        for line in run("squeue", "-a", "-r", "-h", "-o",
                        "%A|%" + letter + "|%T|%C").splitlines():
            _, label_value, state, cpus = line.split("|")
            state = state.lower()
            if state in ("pending", "running", "suspended"):
                add(want, "slurm_%s_jobs_%s" % (what, state), 1, **{what: label_value})
            if state == "running":
                add(want, "slurm_%s_cpus_running" % what, int(cpus), **{what: label_value})
    for s in ("pending pending_dependency running suspended cancelled completing completed "
              "configuring failed timeout preempted node_fail").split():
        add(want, "slurm_queue_" + s, 0)
    for line in run("squeue", "-a", "-r", "-h", "-o", "%A,%T,%r",
                    "--states=all").splitlines():
        _, state, reason = line.split(",", 2)
        add(want, "slurm_queue_" + state.lower(), 1)
        if state == "PENDING" and reason == "Dependency":
            add(want, "slurm_queue_pending_dependency", 1)
    # A job that waits for several partitions counts in each of them.
    for line in run("squeue", "-a", "-r", "-h", "-o%P", "--states=PENDING").splitlines():
        for p in line.split(","):
            add(want, "slurm_partition_jobs_pending", 1, partition=p)
    names = "alloc", "idle", "other", "total"
    for line in run("sinfo", "-h", "-o", "%C").splitlines():
        for name, n in zip(names, line.split("/")):
            add(want, "slurm_cpus_" + name, int(n))
    for line in run("sinfo", "-h", "-o%R,%C").splitlines():
        p, cpus = line.split(",")
        for name, n in zip(("allocated",) + names[1:], cpus.split("/")):
            if int(n):
                add(want, "slurm_partition_cpus_" + name, int(n), partition=p)
    classes = "alloc comp down drain err fail idle maint mix resv".split()
    for s in classes:
        add(want, "slurm_nodes_" + s, 0)
    for line in run("sinfo", "-h", "-o", "%D,%T").splitlines():
        n, state = line.strip().split(",")
        for s in classes:
            if state.startswith(s[:3]):
                add(want, "slurm_nodes_" + s, int(n))
    for line in set(run("sinfo", "-h", "-N", "-O",
                        "NodeList,AllocMem,Memory,CPUsState,StateLong").splitlines()):
        node, alloc, mem, cpus, state = line.split()
        label = dict(node=node, status=state)
        for name, n in zip(names, cpus.split("/")):
            add(want, "slurm_node_cpu_" + name, int(n), **label)
        add(want, "slurm_node_mem_alloc", int(alloc), **label)
        add(want, "slurm_node_mem_total", int(mem), **label)
        add(want, "slurm_node_state_info", 1, node=node, state=state.rstrip("*~#!%$@^-+"))
    gpus = sum(int(re.search(r"gpu:\w+:(\d+)", line)[1])
               for line in set(run("sinfo", "-h", "-N", "-o", "%N %G").splitlines())
               if "gpu:" in line)
    add(want, "slurm_gpus_total", gpus)
    add(want, "slurm_gpus_idle", gpus)
    add(want, "slurm_gpus_alloc", 0)
    add(want, "slurm_gpus_utilization", 0)
    return want


def memory(text):
    unit = {"M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    return int(float(text.rstrip("MGT")) * unit.get(text[-1], 1 << 20))


def rivos(states="%T"):
    want = Counter()
    lines = run("squeue", "--states=all", "-h", "-r", "-o",
                '{"a": "%a", "id": %A, "end_time": "%e", "u": "%u", "state": "%T", '
                '"p": "%P", "cpu": %C, "mem": "%m", "array_id": "%K", "r": "%R"}')
    for line in lines.splitlines():
        j = json.loads(line)
        user = dict(username=j["u"], state=j["state"])
        account = dict(account=j["a"], state=j["state"])
        mem = memory(j["mem"])
        for name, labels in (("user_state_total", user), ("account_job_state_total", account),
                             ("partition_job_state_total",
                              dict(partition=j["p"], state=j["state"])),
                             ("feature_total", dict(feature=""))):
            add(want, "slurm_" + name, 1, **labels)
        for name, labels in (("user", user), ("account_job_state", account),
                             ("feature", dict(feature=""))):
            add(want, "slurm_%s_cpu_alloc" % name, j["cpu"], **labels)
            add(want, "slurm_%s_mem_alloc" % name, mem, **labels)
        add(want, "slurm_account_cpu_alloc", j["cpu"], account=j["a"])
        add(want, "slurm_account_mem_alloc", mem, account=j["a"])
        add(want, "slurm_jobs_state_count", 1, state=j["state"])
        add(want, "slurm_job_count_per_state", 1, state=j["state"])
        held = j["state"] in ("RUNNING", "SUSPENDED", "STOPPED", "COMPLETING", "CONFIGURING")
        add(want, "slurm_jobs_total_alloc_cpus", held * j["cpu"])
        add(want, "slurm_jobs_total_alloc_mem", held * mem)
        if j["state"] == "PENDING":
            reason = j["r"].strip("()").split(",")[0]
            add(want, "slurm_pending_reason_total", 1, reason=reason)
    add(want, "job_scrape_errors", 0)
    add(want, "slurm_job_scrape_error", 0)
    nodes = {}
    # The original queries host names (%n), which all nodes here share.  Allocated memory is
    # queried separately, because the original takes all memory that is not free.
    alloc = dict(line.split() for line in
                 run("sinfo", "-h", "-N", "-O", "NodeList,AllocMem").splitlines())
    for line in run("sinfo", "-h", "-N", "-o",
                    '{"s": "' + states + '", "mem": %m, "n": "%N", "l": "%O", "p": "%R", '
                    '"fmem": "%e", "cstate": "%C", "w": %w}').splitlines():
        n = json.loads(line)
        node = nodes.setdefault(n["n"], dict(n, partitions=set()))
        node["partitions"].add(n["p"])
    for name in "cpu_load", "cpus_total", "cpus_idle", "mem_real", "mem_free", "mem_alloc":
        add(want, "slurm_" + name, 0)
    for name, n in nodes.items():
        a, i, _, t = map(int, n["cstate"].split("/"))
        free = 0 if n["fmem"] == "N/A" else int(n["fmem"]) << 20
        real, used = n["mem"] << 20, int(alloc[name]) << 20
        state = dict(state=n["s"])
        load = 0 if n["l"] == "N/A" else float(n["l"])
        add(want, "slurm_cpu_load", load)
        for k, v, labels in (("cpus_total", t, {}), ("cpus_idle", i, {}),
                             ("cpus_per_state", t, state), ("node_count_per_state", 1, state),
                             ("mem_real", real, {}), ("mem_free", free, {}),
                             ("mem_alloc", used, {})):
            add(want, "slurm_" + k, v, **labels)
        for p in n["partitions"]:
            part, both = dict(partition=p), dict(partition=p, state=n["s"])
            for k, v, labels in (("total_cpus", t, part), ("idle_cpus", i, part),
                                 ("real_mem", real, part), ("free_mem", free, part),
                                 ("cpu_load", load, part), ("weight", n["w"], part),
                                 ("alloc_cpus", a, both), ("alloc_mem", used, both),
                                 ("node_count", 1, both)):
                if v:
                    add(want, "slurm_partition_" + k, v, **labels)
    for line in run("scontrol", "show", "lic", "-o").splitlines():
        f = dict(w.split("=", 1) for w in line.split())
        for k in "Total", "Used", "Free", "Reserved":
            if int(f[k]):
                add(want, "slurm_lic_" + k.lower(), int(f[k]), name=f["LicenseName"])
    for line in run("sacctmgr", "show", "assoc",
                    "format=User,Account,GrpCPU,GrpMem,GrpJobs,GrpSubmit", "--noheader",
                    "--parsable2").splitlines():
        user, account, cpus, mem, jobs, submit = line.split("|")
        for k, v in (("cpu", int(cpus or 0)), ("mem", memory(mem) if mem else 0),
                     ("job_alloc", int(jobs or 0)), ("job", int(submit or 0))):
            if not user and v:
                add(want, "slurm_account_%s_limit" % k, v, account=account)
    for name in "node_scrape_error", "lic_scrape_error", "diag_scrape_error", \
            "account_collect_error":
        add(want, "slurm_" + name, 0)
    return want


STATES = ("allocated completing idle maint mixed perfctrs power_up reserved reboot down "
          "drained draining fail failing future power_down unknown not_responding").split()


def mila():
    want = Counter()
    for line in run("squeue", "-a", "-r", "-h", "--states=all", "-O",
                    "State:|,AllocNodes:|,Partition:|").splitlines():
        state, host, partitions = line.split("|")[:3]
        add(want, "slurm_job_states", 1, name=state.lower())
        add(want, "slurm_login_nodes", 1, name=host)
        for p in partitions.split(","):
            add(want, "slurm_partitions", 1, name=p)
    reserved = {"bjy2": "repair", "bjy4": "mine"}
    cpus = dict(line.split() for line in
                run("sinfo", "-h", "-N", "-O", "NodeList,CPUsState").splitlines())
    for line in run("scontrol", "-o", "show", "node").splitlines():
        f = dict(re.findall(r"(\w+)=(\S*)", line.split(" Reason=")[0]))
        name, words = f["NodeName"], f["State"].lower().replace("*", "+*").split("+")
        state = "down" if "down" in words else "drained" if "drain" in words else words[0]
        for s in STATES:
            add(want, "slurm_node_states", int(s == state), name=name, slurm_node_states=s)
        where = dict(reservation=reserved.get(name, "None"))
        for k, v in zip(("alloc", "idle", "drain", "total"), cpus[name].split("/")):
            add(want, "slurm_cpus_" + k, int(v), **where)
        m = re.match(r"gpu:(\w+):(\d+)", f["Gres"])
        if m:
            n, label = int(m[2]), dict(where, type=m[1])
            # Other nodes do not respond, or are down or drained.
            free = state in STATES[:8] and "not_responding" not in words and "*" not in words
            add(want, "slurm_gpus_total", n, **label)
            add(want, "slurm_gpus_alloc", 0, **label)
            add(want, "slurm_gpus_idle", n if free else 0, **label)
            add(want, "slurm_gpus_drain", 0 if free else n, **label)
    return want


# Counters that continue, values of the moment, and values that the commands above
# do not report.
MOVING = re.compile("slurm_(scheduler|rpc|user_rpc|daemon|dbd|backfill|account_fairshare|account_levelfs)|"
                    ".*_scrape_duration")


def differences(dialect, want):
    got = {k: v for k, v in page(dialect).items() if not MOVING.match(k[0])}
    return ["%s%s: %s, wanted %s" % (name, dict(labels), got.get((name, labels)),
                                     want.get((name, labels)))
            for name, labels in sorted(set(got) | set(want), key=str)
            if None in (got.get((name, labels)), want.get((name, labels))) or
            abs(got[name, labels] - want[name, labels]) > 1e-6]


def sdiag_names():
    """{kind of RPC: count}, of kinds that are no longer called."""
    text = run("sdiag")
    return {m[1]: int(m[2]) for m in re.finditer(
        r"(?m)^\t(REQUEST_SUBMIT_BATCH_JOB|REQUEST_CREATE_RESERVATION)\s+\( *\d+\) "
        r"count:(\d+)", text)}


for dialect, compute in (("vpenso", vpenso), ("prometheus-slurm-exporter", rivos),
                         # 1.8 requests StateCompact, the word of %t.
                         ("prometheus-slurm-exporter-1.8",
                          lambda: {**rivos("%t"), key("slurm_fairshare_scrape_error"): 0}),
                         ("mila", mila)):
    # The cluster must not change between the page and the commands.
    for attempt in range(15):
        diff = differences(dialect, compute())
        if not diff:
            break
        time.sleep(1)
    for line in diff[:12]:
        print("#", line)
    print("%s - %s: the page has the values of the original's commands" % ("not ok" if diff else "ok", dialect))

calls = sdiag_names()
for dialect, name, label in (("vpenso", "slurm_rpc_stats", "operation"),
                             ("prometheus-slurm-exporter", "slurm_rpc_msg_type_count", "type")):
    got = page(dialect)
    good = calls and all(got.get(key(name, **{label: k})) == v for k, v in calls.items())
    print("%s - %s: the page has the counts of RPCs by sdiag" % ("ok" if good else "not ok", dialect))
