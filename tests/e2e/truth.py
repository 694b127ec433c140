#!/usr/bin/python3
"""Compare all that the programs say of real Slurm jobs with independent witnesses: a
sampler of control groups (sampler.c), the kernel's log, sacct, the rusage of the jobs'
processes, and the loads that the jobs were made of.  TAP.

  truth.py compare TRUTH SIZE     what truth_jobs.sh left in TRUTH

SIZE is "host" or "guest": an emulated guest is slower, and has fewer jobs."""
import bisect
import collections
import glob
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prom  # noqa: E402
import tap  # noqa: E402

MIB = 1 << 20
# Seconds of CPU time that a job may use beyond the processes that report theirs (the
# extern step, the beginning and end of processes), for each step; an emulated processor
# is slower.
MORE_CPU = {"host": 0.15, "guest": 3.0}
# Bytes that shells and srun hold beside the load.
MORE_MEMORY = 24 * MIB


# --- witnesses --------------------------------------------------------------------


def read(*path):
    try:
        with open(os.path.join(*path), encoding="utf-8", errors="replace") as f:
            return f.read()
    except FileNotFoundError:
        return None


def seconds(text):
    """[D-][HH:]MM:SS[.mmm] of sacct"""
    days, _, rest = text.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = total * 60 + float(part)
    return total + 86400 * int(days or 0)


def shell_times(text):
    """The user and system time of a shell and its children, from bash's times."""
    return sum(int(m) * 60 + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", text))


class Run:
    """One run of a job as sacct reports it."""

    def __init__(self, row):
        self.row, self.steps, self.number = row, [], 0
        self.job, self.submit = row["JobIDRaw"], int(row["Submit"])
        self.start = int(row["Start"]) if row["Start"].isdigit() else None
        self.end = int(row["End"]) if row["End"].isdigit() else None
        self.tres = dict(x.split("=", 1) for x in row["AllocTRES"].split(",") if x)
        self.records = []
        self.plan = self.display = None

    def cpu(self):
        return seconds(self.row["TotalCPU"])


def read_sacct(truth):
    lines = read(truth, "sacct").splitlines()
    head = lines[0].split("|")
    runs, last = [], {}
    for line in lines[1:]:
        row = dict(zip(head, line.split("|")))
        if "." in row["JobIDRaw"]:
            # The steps of a run follow it.
            last[row["JobIDRaw"].split(".")[0]].steps.append(row)
            continue
        run = last[row["JobIDRaw"]] = Run(row)
        runs.append(run)
    count = collections.Counter()
    for run in sorted(runs, key=lambda x: x.submit):
        run.number = count[run.job]
        count[run.job] += 1
    return runs


class Samples:
    """Readings of the sampler: of each job on each node, in order of time."""

    def __init__(self, truth):
        self.of = collections.defaultdict(list)
        self.first, self.last = None, None
        with open(os.path.join(truth, "samples"), encoding="ascii") as f:
            for line in f:
                w = line.split()
                if len(w) != 9:
                    continue  # the last line may be cut
                t = float(w[0])
                self.first = t if self.first is None else self.first
                self.last = t
                self.of[w[1], w[2]].append((t, *[int(x) for x in w[3:]]))
        self.number = sum(map(len, self.of.values()))

    def run(self, node, run):
        """Readings of one run, told from others of its id by Slurm's times and falling CPU time."""
        return [s for s in self.of.get((node, run.job), ())
                if run.start - 1.0 <= s[0] <= (run.end or 1 << 40) + 2.0]


# --- comparing --------------------------------------------------------------------


class Verdict:
    """One test for each kind of comparison, which counts them and keeps the worst."""

    def __init__(self):
        self.kinds, self.bad, self.worst, self.unit = collections.Counter(), {}, {}, {}

    def add(self, what, who, good, detail="", deviation=None, unit=""):
        self.kinds[what] += 1
        if not good:
            self.bad.setdefault(what, []).append(f"{who}: {detail}")
        if deviation is not None and abs(deviation) >= abs(self.worst.get(what, 0)):
            self.worst[what], self.unit[what] = deviation, unit

    def equal(self, what, who, got, want):
        self.add(what, who, got == want, f"got {got!r}, want {want!r}")

    def within(self, what, who, got, low, high, unit=""):
        """got lies between low and high (None: no bound); the worst is how far it is from the nearer one."""
        if got is None:
            self.add(what, who, False, f"absent, want {low} to {high}")
            return
        below = low is not None and got < low
        above = high is not None and got > high
        self.add(what, who, not below and not above, f"{got}, want {low} to {high}")

    def near(self, what, who, got, want, tolerance, unit=""):
        if got is None:
            self.add(what, who, False, f"absent, want {want}")
            return
        self.add(what, who, abs(got - want) <= tolerance, f"{got}, want {want} within {tolerance}", got - want, unit)

    def report(self):
        for what, n in self.kinds.items():
            worst = f", worst deviation {self.worst[what]:.6g} {self.unit[what]}".rstrip() if what in self.worst else ""
            tap.check(what not in self.bad, f"{what} ({n} comparisons{worst})", *self.bad.get(what, []))
        print(f"# {sum(self.kinds.values())} comparisons, {sum(map(len, self.bad.values()))} wrong")


STATES = {"COMPLETED": "completed", "FAILED": "failed", "CANCELLED": "cancelled", "TIMEOUT": "timeout",
          "OUT_OF_MEMORY": "oom", "REQUEUED": "requeued", "NODE_FAIL": "node_fail"}


class Compare:
    def __init__(self, truth, size):
        self.truth, self.size, self.v = truth, size, Verdict()
        self.more_cpu = MORE_CPU[size]
        self.cpu_near = []  # of each record: has it all of the CPU time that the processes report?
        self.runs = read_sacct(truth)
        self.samples = Samples(truth)
        self.records = [json.loads(read(f)) for f in sorted(glob.glob(os.path.join(truth, "records", "*.json")))]
        self.acct = {r["key"]: r for r in self.rows("acct.json")}
        self.api = {r["key"]: r for r in self.rows("api.json")}
        self.kernel = read(truth, "kernel") or ""
        self.match()

    def rows(self, name):
        got = json.loads(read(self.truth, name))
        return got["data"] if isinstance(got, dict) else got

    def match(self):
        plan = {j["n"]: j for j in json.loads(read(self.truth, "plan", "jobs.json"))}
        number = {}
        for line in read(self.truth, "ids").splitlines():
            n, job = line.split()
            number[job] = plan[int(n)]
        for run in self.runs:
            run.display = run.row["JobID"]
            run.plan = number.get(re.split(r"[_+]", run.display)[0])
            if run.plan is None:
                sys.exit(f"job {run.display} is not in the plan")
        for r in self.records:
            runs = [x for x in self.runs if x.job == r["jobid"] and x.start is not None]
            best = min(runs, key=lambda x: abs((r.get("start") or r["end"]) - x.start), default=None)
            if best is None:
                self.v.add("a final record belongs to a job that started", r["jobid"], False, str(r)[:200])
            else:
                best.records.append(r)

    def who(self, run, record=None):
        node = f"@{record['slurm_node']}" if record and "slurm_node" in record else ""
        return f"{run.plan['kind']} {run.display}.{run.number}{node}"

    def result(self, run, name):
        return read(self.truth, "results", f"{self.leader(run)}.{run.number}.{name}")

    def leader(self, run):
        """The id under which the job's script runs."""
        return run.display.split("+")[0] if "+" in run.display else run.job

    # What the processes of a run on a node report of their CPU time, or None.
    def reported(self, run, node):
        if run.plan["kind"] == "het" and run.display.endswith("+1"):
            names, shell = ["het1"], None
        elif run.plan["kind"] == "wide":
            names = [f"node.{node}"]
            shell = self.result(run, "times") if node == min(r["slurm_node"] for r in run.records) else ""
            if len(run.records) != 2:
                return None
        else:
            names, shell = ["rusage"], self.result(run, "times")
        if shell is None and names != ["het1"]:
            return None
        total = shell_times(shell) if shell else 0.0
        for name in names:
            for line in (self.result(run, name) or "").splitlines():
                total += sum(map(int, line.split())) / 1e6
        return total

    def step_count(self, run):
        return max(1, len(run.steps))

    def one_record(self, run, r):
        v, who, plan = self.v, self.who(run, r), run.plan
        node = r.get("slurm_node", "")
        s = self.samples.run(node, run)
        cpu = r.get("cpu_usec")
        cpu = None if cpu is None else cpu / 1e6
        v.equal("record: user", who, r.get("user"), run.row["User"])
        v.equal("record: account", who, r.get("account"), run.row["Account"])
        if r.get("complete") is False:
            return
        v.near("record: start is Slurm's (s)", who, r.get("start"), run.start, 3 if self.size == "host" else 20, "s")
        if run.end is not None:
            v.near("record: end is Slurm's (s)", who, r.get("end"), run.end, 12 if self.size == "host" else 40, "s")
        stepd = 0.0
        if s:
            peak = max(x[3] for x in s)
            held = max(x[4] for x in s)
            last = max(x[1] for x in s) / 1e6
            stepd = max(0, max(x[5] for x in s)) / 1e6
            if r.get("cpu_complete"):
                v.within("record: complete CPU time is at least the sampler's last (s)", who, cpu, last - 0.001, None)
            # The sampler's last reading may be before the kernel's last count.
            if r.get("memory_charged_peak_bytes") is not None:
                v.within("record: charged peak is at least the sampler's last, if the sample is the last", who,
                         r["memory_charged_peak_bytes"] if r.get("cpu_complete") else peak, peak, None)
            if not r.get("memory_held_peak_sampled") and r.get("cpu_complete"):
                v.within("record: held peak is at least the sampler's largest", who,
                         r.get("memory_held_peak_bytes"), held - 65536, None)
        known = self.reported(run, node)
        if known is not None and cpu is not None:
            more = self.more_cpu * self.step_count(run) + stepd * 1.02 + 0.01 * known
            v.within("record: CPU time is at most what the processes report (s)", who, cpu, None, known + more)
            self.cpu_near.append(abs(cpu - known) <= more)
            if r.get("cpu_complete"):
                v.near("record: complete CPU time is what the processes report (s)", who, cpu, known, more, "s")
        if "cpu" in plan and known is None and cpu is not None and r.get("cpu_complete") and not \
                (plan["kind"] == "requeue" and run.number):
            v.within("record: complete CPU time is at least the load (s)", who, cpu, plan["cpu"] - 0.01, None)
        held, charged = r.get("memory_held_peak_bytes"), r.get("memory_charged_peak_bytes")
        if held is not None and charged is not None:
            v.within("record: held peak is at most the charged peak", who, held, 0, charged)
        if plan.get("held") and r.get("cpu_complete") and plan["kind"] in ("mem", "steps"):
            if r.get("memory_held_peak_sampled"):
                v.within("record: sampled held peak is at most the load and shells", who, held, 0,
                         plan["held"] + MORE_MEMORY)
            else:
                v.within("record: held peak is at least the load", who, held, plan["held"], None)
        if run.plan["kind"] == "mem" and held is not None:
            v.within("record: held peak is at most the load and shells", who, held, 0, plan["held"] + MORE_MEMORY)
        limit = run.tres.get("mem")
        if limit and run.row["NNodes"] == "1" and "memory_limit_bytes" in r:
            v.equal("record: memory limit", who, r["memory_limit_bytes"], size_of(limit))
        if "cpus" in r and run.row["NNodes"] == "1":
            v.equal("record: CPUs", who, r["cpus"], int(run.row["AllocCPUS"]))
        self.oom(run, r, who)
        if "io" in plan and "io_write_bytes" in r:
            for key, least in (("io_write_bytes", 0), ("io_storage_write_bytes", 0)):
                value = r.get(key)
                v.within(f"record: {key} is at most the load", who, value, 0, plan["io"] + MIB)
                if plan["io_exact"]:
                    v.within(f"record: {key} has all of the load", who, value, plan["io"], None)
            if plan["io_exact"]:
                v.within("record: io_storage_read_bytes is at least the load", who, r.get("io_storage_read_bytes"),
                         plan["io"], None)
        gpus = self.result(run, "gpus")
        if gpus:
            want = {f"GPU-{i}0000000-1111-2222-3333-444444444444" for i in gpus.strip().split(",")}
            # Of a job that ends within the first readings the claim is not always read.
            v.add("record: GPUs are those that Slurm gave, or not known", who, r.get("gpus") is None or
                  set(r["gpus"]) == want, f"got {r.get('gpus')}, want {want}")
            for uuid, g in r.get("gpus", {}).items():
                held_sec = g.get("held_usec", 0) / 1e6
                v.near("record: time for which a GPU was held (s)", who, held_sec, run.end - run.start, 5, "s")
                # Power is constant.  Energy between two readings goes to the one holder, and a reading
                # that waits for claims to be read is the fourth at most (docs/gpu.md).
                watts = 100 * (int(uuid[4]) + 1)
                v.within("record: energy of a GPU is its power times that time, within four readings (J)", who,
                         g.get("energy_uj", 0) / 1e6, watts * max(0, held_sec - 8), watts * (held_sec + 30))
        elif run.plan["kind"] != "gpu":
            v.equal("record: a job without GPUs has none", who, r.get("gpus"), None)

    def oom(self, run, r, who):
        mine = re.findall(r"oom-kill:.*task_memcg=\S*/job_%s/" % run.job, self.kernel)
        if len([x for x in self.runs if x.job == run.job]) > 1 and mine:
            return  # which run is not known
        if "oom_kills" not in r:
            self.v.add("record: number of OOM kills is unknown only where there were some, or its end was missed", who,
                       bool(mine) or not r.get("cpu_complete"), f"absent, kernel {len(mine)}")
            return
        # A kill of a task group counts once in v1's file for each process.
        node = r.get("slurm_node", "")
        mine = [m for m in mine if f"slurm_{node}/" in m or f"{node}_slurmstepd" in m]
        self.v.equal("record: OOM kills are those of the kernel's log", who, r["oom_kills"], len(mine))

    def one_run(self, run):
        v, who = self.v, self.who(run)
        key = f"sandbox:{run.job}:{run.submit}"
        row, nodes = self.acct.get(key), int(run.row["NNodes"] or 0)
        if run.start is not None:
            v.equal("a run has a final record of each of its nodes", who, len(run.records), nodes)
        for r in run.records:
            self.one_record(run, r)
        if row is None:
            v.add("a run is in the store", who, False, "missing")
            return
        v.add("a run is in the store", who, True)
        self.against_sacct(run, row, who)
        self.against_records(run, row, who)
        other = self.api.get(key)
        v.equal("the API says what batchjob_acct says", who, other, row)

    def against_sacct(self, run, row, who):
        v, w = self.v, run.row
        state = w["State"].split()[0]
        code, _, signal = w["ExitCode"].partition(":")
        started = run.start is not None
        v.equal("store: state", who, row["state"], STATES.get(state, state))
        v.equal("store: exit code and signal", who, (row["exit_code"], row["exit_signal"]), (int(code), int(signal)))
        by = re.match(r"CANCELLED by (\d+)", w["State"])
        v.equal("store: who cancelled it", who, row["cancelled_by"], int(by[1]) if by else None)
        for ours, theirs in (("submit_ms", "Submit"), ("eligible_ms", "Eligible"), ("start_ms", "Start"),
                             ("end_ms", "End")):
            want = int(w[theirs]) * 1000 if w[theirs].isdigit() else None
            v.equal("store: submit, eligible, start and end times", who, row[ours], want)
        v.equal("store: elapsed seconds", who, row["elapsed_seconds"] if started else None,
                int(w["ElapsedRaw"]) if started else None)
        for ours, want in (("user", w["User"]), ("account", w["Account"]), ("partition", w["Partition"])):
            v.equal("store: user, account, partition", who, row[ours], want)
        v.equal("store: allocated CPUs, nodes, GPUs and memory", who,
                (row["cpus"], row["nodes"], row["gpus"] or 0, row["memory_allocated_bytes"]) if started else None,
                (int(w["AllocCPUS"]), int(w["NNodes"]), int(run.tres.get("gres/gpu", 0)), size_of(run.tres.get("mem")))
                if started else None)
        m = re.match(r"(\d+)_(\d+)$", run.display)
        v.equal("store: array and task", who, (text(row["array_job_id"]), text(row["array_task"])),
                (m[1], m[2]) if m else (None, None))
        m = re.match(r"(\d+)\+(\d+)$", run.display)
        v.equal("store: leader and number of a heterogeneous job", who,
                (text(row["het_job_id"]), text(row["het_offset"])), (m[1], m[2]) if m else (None, None))
        rss = [size_of(s["MaxRSS"]) for s in run.steps if s["MaxRSS"] not in ("", "0")]
        v.equal("store: accounting's largest task", who, row["memory_task_peak_bytes"], max(rss, default=None))
        if not started:
            v.equal("store: a job that never started has no use", who,
                    [row[k] for k in ("cpu_used_seconds", "cpu_efficiency_percent", "memory_peak_bytes",
                                      "memory_efficiency_percent", "time_efficiency_percent", "energy_joules")],
                    [None] * 6)

    def against_records(self, run, row, who):
        """Values of the store that come from all records, or else from accounting."""
        v = self.v
        if run.start is None:
            return
        elapsed, nodes = int(run.row["ElapsedRaw"]), int(run.row["NNodes"])
        whole = len(run.records) == nodes

        def added(key):
            values = [r.get(key) for r in run.records]
            return sum(values) if whole and None not in values else None
        cpu = added("cpu_usec")
        known = [x for x in (None if cpu is None else cpu / 1e6, run.cpu() or None) if x is not None]
        got = row["cpu_used_seconds"]
        if known:
            v.near("store: CPU time is the larger of records and sacct (s)", who, got, max(known),
                   0.001 * self.step_count(run) + 0.0005, "s")
        else:
            v.equal("store: CPU time that nobody measured is unknown", who, got, None)
        if known and elapsed:
            # sacct cuts the time of each step to milliseconds; the API has one decimal.
            span = int(run.row["AllocCPUS"]) * elapsed
            v.near("store: CPU efficiency (%)", who, row["cpu_efficiency_percent"], 100 * max(known) / span,
                   0.06 + 0.1 * self.step_count(run) / span, "%")
        else:
            v.equal("store: no CPU efficiency without use or time", who, row["cpu_efficiency_percent"], None)
        held = added("memory_held_peak_bytes")
        if held is not None:
            v.equal("store: held peak is the sum of the records'", who, row["memory_peak_bytes"], held)
            v.near("store: memory efficiency (%)", who, row["memory_efficiency_percent"],
                   100 * held / size_of(run.tres["mem"]), 0.06, "%")
        charged = added("memory_charged_peak_bytes")
        if charged is not None:
            v.equal("store: charged peak is the sum of the records'", who, row["memory_charged_peak_bytes"], charged)
        for key in ("io_read_bytes", "io_write_bytes"):
            if added(key) is not None:
                v.equal("store: I/O is the sum of the records'", who, row[key], added(key))
        limit = run.row["TimelimitRaw"]
        if limit.isdigit():
            v.near("store: time efficiency (%)", who, row["time_efficiency_percent"], 100 * elapsed / (60 * int(limit)),
                   0.06, "%")
        if "gpus" in run.plan and any("gpus" in r for r in run.records):
            want = sum(g["held_usec"] for r in run.records for g in r.get("gpus", {}).values()) / 1e6
            v.near("store: GPU time held is the records' (s)", who, row["gpu_held_seconds"], want, 0.01, "s")

    # Values on pages lie between the sampler's readings before and after the request.
    def pages(self):
        prefix = "batchjob_job_"
        for line in (read(self.truth, "pages", "index") or "").splitlines():
            n, t0, t1, _ = line.split()
            path = os.path.join(self.truth, "pages", n + ".exporter")
            cpu, peak, used = {}, {}, {}
            for name, labels, value in prom.parse(path):
                key = labels.get("slurm_node", ""), labels.get("jobid")
                for what, to in (("cpu_seconds_total", cpu), ("memory_charged_peak_bytes", peak)):
                    if name == prefix + what:
                        to[key] = float(value)
            self.page("exporter", float(t0), float(t1), cpu, peak, 0.05)
            # collectd's page has the time of each value in milliseconds, which its interval may precede.
            with open(os.path.join(self.truth, "pages", n + ".collectd"), encoding="utf-8", errors="replace") as f:
                for text_line in f:
                    m = re.match(r'collectd_batchjob_job_(cpu_usec_total|memory_charged_peak_bytes)\{batchjob="'
                                 r'(\d+)@(\S+?)",[^}]*\} (\S+) (\d+)$', text_line)
                    if m and "type=" not in text_line:
                        at = int(m[5]) / 1000
                        one = {(m[3], m[2]): float(m[4]) / (1e6 if m[1].startswith("cpu") else 1)}
                        self.page("collectd", at - 3, at + 3, one if m[1].startswith("cpu") else {},
                                  {} if m[1].startswith("cpu") else one, 0.05)

    def page(self, host, t0, t1, cpu, peak, slack):
        for what, values, column, scale in (("CPU time", cpu, 1, 1e6), ("charged peak", peak, 3, 1)):
            for key, value in values.items():
                s = self.samples.of.get(key)
                if not s or value is None:
                    continue
                times = [x[0] for x in s]
                i, k = bisect.bisect_right(times, t0 - slack) - 1, bisect.bisect_left(times, t1 + slack)
                # Only while the sampler saw the job before and after, and it is one run.
                if i < 0 or k >= len(s) or s[k][column] < s[i][column] or s[k][0] - s[i][0] > 15 + t1 - t0:
                    continue
                low, high = s[i][column] / scale, s[k][column] / scale
                self.v.within(f"{host}'s page: {what} is between the sampler's readings", f"{key[1]}@{key[0]} at {t0}",
                              value, low - 2e-6, high + 2e-6)

    def usage(self):
        text_ = read(self.truth, "usage.json")
        if not text_:
            return
        for row in json.loads(text_)["data"]:
            runs = [r for r in self.runs if r.row["User"] == row["user"] and r.start is not None]
            want = sum(int(r.row["AllocCPUS"]) * int(r.row["ElapsedRaw"]) for r in runs) / 3600
            self.v.near("API: core hours of a user are the sum over sacct's jobs", row["user"], row["core_hours"], want,
                        0.001, "h")

    def run(self):
        started = [r for r in self.runs if r.start is not None]
        kinds = collections.Counter(r.plan["kind"] for r in self.runs)
        print(f"# {len(self.runs)} runs, {len(started)} started: " +
              ", ".join(f"{k} {n}" for k, n in sorted(kinds.items())))
        print("# states: " + ", ".join(f"{k} {n}" for k, n in sorted(
            collections.Counter(r.row["State"].split()[0] for r in self.runs).items())))
        complete = sum(bool(r.get("cpu_complete")) for r in self.records)
        print(f"# {len(self.records)} final records, {complete} with complete CPU time, "
              f"{sum('oom_kills' not in r for r in self.records)} without number of OOM kills; "
              f"{self.samples.number} readings of the sampler; "
              f"{len(re.findall('oom-kill:', self.kernel))} OOM kills in the kernel's log")
        tap.check(bool(self.kernel) or not any(r.plan.get("oom") for r in self.runs), "the kernel's log was read")
        for run in self.runs:
            self.one_run(run)
        # A last sample may be missed: cpu_complete is false then.
        self.v.within("record: share of records with all of the CPU time that the processes report", "all",
                      sum(self.cpu_near) / max(1, len(self.cpu_near)), 0.9, None)
        print(f"# {sum(self.cpu_near)} of {len(self.cpu_near)} records have all of the CPU time that the processes report")
        self.v.equal("the store has the runs of sacct and no other", "all",
                     sorted(self.acct), sorted(f"sandbox:{r.job}:{r.submit}" for r in self.runs))
        self.pages()
        self.usage()
        self.v.report()
        return tap.plan()


def text(value):
    return None if value is None else str(value)


def size_of(t):
    if not t:
        return None
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(float(t[:-1]) * units[t[-1]]) if t[-1] in units else int(t)


if __name__ == "__main__":
    sys.exit(Compare(sys.argv[2], sys.argv[3]).run())
