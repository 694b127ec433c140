#!/usr/bin/python3
"""Compare the values of the exporter and of collectd for Slurm's jobs with the kernel's
files and with Slurm's accounting.  Prints "ok - ..." and "not ok - ..." lines.

  slurm_check.py files URL COLLECTD_URL PREFIX       cgroup files, job by job
  slurm_check.py sstat PAGE JOB.STEP                 a running step
  slurm_check.py sacct PAGE JOB                      a job that has ended

PREFIX is that of the node names of the test's slurmd.  A value of the exporter must
lie between those of the file before and after the scrape.  collectd reads once a
second, and its value may be two intervals old: its CPU time may be lower by what
the job can have used in that time, and its memory must be roughly right."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prom  # noqa: E402
from tap import check  # noqa: E402

ROOT = "/sys/fs/cgroup"
MIB = 1 << 20
UNLIMITED = 1 << 62
COLLECTD_AGE = 3.0  # seconds: two intervals of 1 s, and the delay in collectd


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True,
                          encoding="utf-8", errors="replace").stdout


def page(url):
    with urllib.request.urlopen(url + "/metrics", timeout=300) as r:
        body = r.read()
    with tempfile.NamedTemporaryFile() as f:
        f.write(body)
        f.flush()
        return list(prom.parse(f.name))


def number(text):
    return int(text)


def key(name):
    def parse(text):
        for line in text.splitlines():
            k, _, v = line.partition(" ")
            if k == name:
                return int(v)
        raise KeyError(name)
    return parse


def limit(text):
    v = UNLIMITED if text.strip() == "max" else int(text)
    return None if v >= UNLIMITED else v


def cpu_list(text):
    n = 0
    for part in text.strip().split(","):
        a, _, b = part.partition("-")
        n += int(b or a) - int(a) + 1
    return n


# COUNTERS: metric of the exporter, collectd's type, (v1 controller, file, parser,
# units), (v2 file, parser, units), collectd's units, tolerance.  LEVELS: the same
# without collectd's.  units: how many of them are one unit of the exporter.  The
# tolerance of a level allows for its change between the reads.
TICK = os.sysconf("SC_CLK_TCK")
COUNTERS = [
    ("cpu_seconds_total", "cpu_usec_total",
     ("cpuacct", "cpuacct.usage", number, 1e9),
     ("cpu.stat", key("usage_usec"), 1e6), 1e6, 0.0),
    # v1 has these in ticks; the exporter may have a finer source.
    ("cpu_user_seconds_total", "cpu_user_usec_total",
     ("cpuacct", "cpuacct.stat", key("user"), TICK),
     ("cpu.stat", key("user_usec"), 1e6), 1e6, 2.0 / TICK),
    ("cpu_system_seconds_total", "cpu_system_usec_total",
     ("cpuacct", "cpuacct.stat", key("system"), TICK),
     ("cpu.stat", key("system_usec"), 1e6), 1e6, 2.0 / TICK),
]
LEVELS = [
    ("memory_used_bytes", ("memory", "memory.usage_in_bytes", number, 1),
     ("memory.current", number, 1), 2 * MIB),
    ("memory_rss_bytes", ("memory", "memory.stat", key("total_rss"), 1),
     ("memory.stat", key("anon"), 1), 2 * MIB),
    ("memory_cache_bytes", ("memory", "memory.stat", key("total_cache"), 1),
     ("memory.stat", key("file"), 1), 2 * MIB),
    ("memory_mapped_file_bytes",
     ("memory", "memory.stat", key("total_mapped_file"), 1),
     ("memory.stat", key("file_mapped"), 1), 4 * MIB),
    ("memory_charged_peak_bytes", ("memory", "memory.max_usage_in_bytes", number, 1),
     ("memory.peak", number, 1), 0),
    ("memory_limit_bytes", ("memory", "memory.limit_in_bytes", limit, 1),
     ("memory.max", limit, 1), 0),
    ("cpus", ("cpuset", "cpuset.effective_cpus", cpu_list, 1),
     ("cpuset.cpus.effective", cpu_list, 1), 0),
]


def jobs_in_cgroups(prefix):
    """Return {(job id, node): directory}; with v1 relative to the controller's root."""
    found = {}
    for d in glob.glob(f"{ROOT}/memory/slurm_{prefix}*/uid_*/job_*"):
        rel = d[len(f"{ROOT}/memory/"):]
        m = re.match(r"slurm_([^/]+)/uid_\d+/job_(\d+)$", rel)
        found[m.group(2), m.group(1)] = rel
    for d in (glob.glob(f"{ROOT}/*.slice/{prefix}*_slurmstepd.scope/job_*") +
              glob.glob(f"{ROOT}/{prefix}*_slurmstepd.scope/job_*")):
        m = re.search(r"/([^/]+)_slurmstepd.scope/job_(\d+)$", d)
        found[m.group(2), m.group(1)] = d
    return found


def source(where, v1, v2):
    """Return (path, parser, units) of a value of the job whose directory is `where`."""
    if where.startswith("/"):
        return (f"{where}/{v2[0]}",) + tuple(v2[1:])
    return (f"{ROOT}/{v1[0]}/{where}/{v1[1]}",) + tuple(v1[2:])


def read(where, row):
    path, parse, units = source(where, *row)
    try:
        with open(path, encoding="ascii") as f:
            v = parse(f.read())
    except (FileNotFoundError, KeyError, OSError):
        return None
    return None if v is None else v / units


def read_all(jobs):
    return {job: {**{r[0]: read(w, r[2:4]) for r in COUNTERS},
                  **{r[0]: read(w, r[1:3]) for r in LEVELS}}
            for job, w in jobs.items()}


def index(samples):
    return {(name, labels.get("jobid"), labels.get("slurm_node", "")): float(v)
            for name, labels, v in samples}


def collectd_index(samples):
    """Index samples by (name, job, node), without those per step, device, ..."""
    out = {}
    for name, labels, v in samples:
        if "type" in labels:
            continue
        job, _, node = labels.get("batchjob", "").partition("@")
        out[name, job, node] = float(v)
    return out


class Tally:
    """One test result for each metric, which lists the jobs with a wrong value.
    A level can rise and fall between two reads of its file, so all values are
    compared more than once, and each one has to be right once."""

    def __init__(self):
        self.rows = {}

    def add(self, what, job, good, why):
        jobs = self.rows.setdefault(what, {})
        jobs[job] = None if good or jobs.get(job, why) is None else why

    def bad(self):
        return any(why for jobs in self.rows.values() for why in jobs.values())

    def report(self):
        for what, jobs in self.rows.items():
            bad = [why for why in jobs.values() if why]
            check(not bad, f"{what} ({len(jobs)} jobs)" + "".join(
                f"; {b}" for b in bad[:5]))


def compare(tally, host, what, job, value, low, high):
    tally.add(f"{host}: {what} agrees with the cgroup's file", job,
              value is not None and low <= value <= high,
              f"{job[0]}@{job[1]}: {value}, file {low} to {high}")


def check_counter(tally, row, job, before, after, ours, theirs):
    name, ctype, _, _, cunits, slack = row
    lo, hi = before[job][name], after[job][name]
    if lo is None or hi is None:
        return
    # The exporter rounds to a microsecond.
    compare(tally, "exporter", name, job,
            ours.get((f"batchjob_job_{name}", *job)), lo - slack - 2e-6,
            hi + slack + 2e-6)
    value = theirs.get((f"collectd_batchjob_job_{ctype}", *job))
    cpus = os.cpu_count() or 1
    compare(tally, "collectd", name, job,
            None if value is None else value / cunits,
            lo - slack - cpus * COLLECTD_AGE, hi + slack + 2e-6)


def check_level(tally, row, job, before, after, ours, theirs):
    name, slack = row[0], row[3]
    lo, hi = before[job][name], after[job][name]
    if lo is None or hi is None:
        return
    lo, hi = min(lo, hi), max(lo, hi)
    compare(tally, "exporter", name, job,
            ours.get((f"batchjob_job_{name}", *job)), lo - slack, hi + slack)
    # collectd's value is older, and the job may have used much less then.
    loose = slack and max(slack, 0.25 * hi)
    if name == "memory_charged_peak_bytes":
        loose = hi
    compare(tally, "collectd", name, job,
            theirs.get((f"collectd_batchjob_job_{name}", *job)),
            lo - loose, hi + loose)


def files(url, collectd_url, prefix):
    jobs = jobs_in_cgroups(prefix)
    running = set()
    for line in run("squeue", "-h", "-t", "R", "-o", "%A %N").splitlines():
        job, nodes = line.split(None, 1)
        for node in run("scontrol", "show", "hostnames", nodes).split():
            running.add((job, node))
    check(bool(running), f"{len(running)} jobs run")
    lost = running - set(jobs)
    check(not lost, f"each running job has a cgroup {sorted(lost) or ''}")
    tally = Tally()
    for attempt in range(20):
        shown, cshown = compare_once(jobs, running, url, collectd_url, tally)
        if not tally.bad():
            break
        time.sleep(1)
    check(running <= shown,
          f"the exporter shows all running jobs {sorted(running - shown) or ''}")
    check(running <= cshown,
          f"collectd shows all running jobs {sorted(running - cshown) or ''}")
    tally.report()


def compare_once(jobs, running, url, collectd_url, tally):
    before = read_all(jobs)
    ours_raw = page(url)
    after = read_all(jobs)
    theirs_raw = page(collectd_url)
    ours, theirs = index(ours_raw), collectd_index(theirs_raw)
    for job in sorted(running & set(jobs)):
        for row in COUNTERS:
            check_counter(tally, row, job, before, after, ours, theirs)
        for row in LEVELS:
            check_level(tally, row, job, before, after, ours, theirs)
    return ({(l["jobid"], l.get("slurm_node", "")) for n, l, _ in ours_raw
             if n == "batchjob_job_info"}, {k[1:] for k in theirs})


def seconds(text):
    """[D-][HH:]MM:SS[.mmm] of sstat and sacct"""
    days, _, rest = text.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = total * 60 + float(part)
    return total + 86400 * int(days or 0)


def size(text):
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return float(text[:-1]) * units[text[-1]] if text[-1] in units else float(
        text)


def one(path, name, *filters):
    rows = prom.select(path, name, filters)
    return sum(float(v) for _, v in rows) if rows else None


def check_near(what, got, want, rel, least):
    good = got is not None and abs(got - want) <= max(rel * want, least)
    check(good, f"{what}: {got}, Slurm has {want}")


def sstat(path, step):
    job, _, number_ = step.partition(".")
    out = run("sstat", "-nPa", "-j", step, "-o", "NTasks,AveCPU,MaxRSS")
    tasks, cpu, rss = out.splitlines()[0].split("|")
    label = (f"jobid={job}", f"step={number_}")
    # sstat's values are up to a second old, in whole seconds for each task;
    # both read the same cgroup.
    check_near(f"CPU time of step {step} agrees with sstat",
               one(path, "batchjob_step_cpu_seconds_total", *label),
               int(tasks) * seconds(cpu), 0.15, 3.0 * int(tasks))
    # MaxRSS is the anonymous memory in the cgroup of the largest task.
    per_task = [float(v) for _, v in prom.select(
        path, "batchjob_task_memory_rss_bytes", label)]
    check_near(f"memory of step {step} agrees with sstat's MaxRSS",
               max(per_task) if per_task else None, size(rss), 0.1, 4 * MIB)


def sacct(path, job):
    """Compare the values kept for the grace period with the job's accounting."""
    deadline = time.time() + 60
    while True:
        rows = [r.split("|") for r in run(
            "sacct", "-nP", "-j", job, "-o",
            "State,TotalCPU,MaxRSS").splitlines()]
        # Slurm stores the steps' records one by one.
        if not any(r[0] in ("RUNNING", "PENDING", "COMPLETING")
                   for r in rows) or time.time() > deadline:
            break
        time.sleep(0.5)
    state, cpu, _ = rows[0]
    # The last pass may be up to a scrape interval before its end, and Slurm's
    # TotalCPU includes slurmstepd, which v1 does not charge to the job.
    check_near(f"CPU time of job {job} agrees with sacct ({state})",
               one(path, "batchjob_job_cpu_seconds_total", f"jobid={job}"),
               seconds(cpu), 0.1, 3.0)
    most = max(size(r[2]) for r in rows if r[2])
    peak = one(path, "batchjob_job_memory_charged_peak_bytes", f"jobid={job}")
    # The peak is of all tasks together, with page cache and kernel memory.
    check(peak is not None and peak >= 0.95 * most,
          f"peak of job {job}, {peak}, is not below sacct's MaxRSS {most}")
    held = one(path, "batchjob_job_memory_held_peak_bytes", f"jobid={job}")
    check(held is not None and 0.5 * most <= held <= peak,
          f"held peak of job {job}, {held}, is without page cache")


if __name__ == "__main__":
    {"files": files, "sstat": sstat, "sacct": sacct}[sys.argv[1]](
        *sys.argv[2:])
