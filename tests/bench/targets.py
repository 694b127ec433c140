"""Targets of the exporter, and whether they were reached.

The figures of other exporters (slurm-job-exporter 0.4.12, cgroup_exporter 0.9.1
and 1.0.0-rc.0, batchjob_monitoring of 2023-12) were measured on the same kind
of machine, a Debian 12 VM with 2 CPUs: see docs/performance.md.
"""

PEER_V1_MS = 74.0    # batchjob_monitoring, 128 jobs: the cheapest
PEER_V2_MS = 126.5   # slurm-job-exporter, 128 jobs
PEER_DETAIL_MS = 108.0  # slurm-job-exporter, v1, 128 jobs, with processes


class Results:
    """Figures by (tree, jobs, steps, users, program)."""

    def __init__(self):
        self.rows, self.extra = {}, {}

    def add(self, key, row):
        self.rows[key] = row

    def get(self, tree, program, figure, jobs=128, steps=1, users=16):
        row = self.rows.get((tree, jobs, steps, users, program), {})
        return row.get(figure)


def ratio(a, b):
    return a / b if a is not None and b else None


def limit(value, most, text="%.2f"):
    """(the figure as text, reached?) for a figure with an upper limit."""
    if value is None:
        return "not measured", None
    return (text + " (at most " + text + ")") % (value, most), value <= most


def per_job(r, tree, program, fixed):
    calls = r.get(tree, program, "syscalls")
    return None if calls is None else (calls - fixed) / 128


def against(r, tree, program, peer):
    """The other exporter's milliseconds divided by ours."""
    ours = r.get(tree, program, "cpu_ms")
    return ratio(peer, ours)


def at_least(value, least):
    if value is None:
        return "not measured", None
    return "1/%.0f (at most 1/%.0f)" % (value, least), value >= least


def growth(r, tree, program):
    return ratio(r.get(tree, program, "cpu_ms", 512),
                 r.get(tree, program, "cpu_ms"))


def more(r, tree, program, figure="cpu_ms", **shape):
    """Cost of another shape of jobs divided by that of the usual one."""
    return ratio(r.get(tree, program, figure, **shape),
                 r.get(tree, program, figure))


def rows(r):
    """Yield (number, target, (figure, reached?)); names of trees and programs are
    those of bench.py."""
    real = r.extra.get("real", "real-v1")
    get, extra = r.get, r.extra.get
    keep = ratio(get(real, "basic", "cpu_ms"), get(real, "floor-keep",
                                                   "cpu_ms"))
    yield ("E1", "%s, 128 jobs: CPU against floor with kept files" % real,
           limit(keep, 1.15))
    yield ("E1", "the same against the best peer, 74 ms",
           at_least(against(r, real, "basic", PEER_V1_MS), 50))
    paced = ratio(get(real, "basic-all", "cpu_ms"),
                  get(real, "floor-paced", "cpu_ms"))
    yield ("E1", "the same with all files in every scrape, against floor",
           limit(paced, 1.15))
    yield ("E2", "v2 tree, 128 jobs: against slurm-job-exporter, 126.5 ms",
           at_least(against(r, "tmpfs-v2", "basic", PEER_V2_MS), 200))
    for tree, program, most in (
            (real, "basic", 7 if real.endswith("1") else 6),
            (real, "basic-all", 7 if real.endswith("1") else 6),
            ("tmpfs-v2", "basic", 6)):
        yield ("E3", "%s: system calls a job beyond 40 a scrape, %s" %
               (tree, program), limit(per_job(r, tree, program, 40), most))
    for program in ("detail", "detail-all", "process"):
        yield ("E4", "%s, %s: against slurm-job-exporter, 108 ms"
               % (real, program),
               at_least(against(r, real, program, PEER_DETAIL_MS), 20))
    yield ("E5", "%s, 512 jobs: p95 wall, ms" % real,
           limit(get(real, "basic", "p95_ms", 512), 12))
    yield ("E5", "%s: CPU at 512 jobs over 128 (floor-keep: %.2f)" %
           (real, growth(r, real, "floor-keep") or 0),
           limit(growth(r, real, "basic"), 4.4))
    for tree in (real, "tmpfs-v2"):
        yield ("E6", "%s: 4 steps a job over 1" % tree,
               limit(more(r, tree, "basic", steps=4), 1.2))
    for program in ("basic", "default"):
        yield ("E7", "v2 tree: instructions a series, %s" % program,
               limit(extra("insn_series_" + program), 600, "%.0f"))
    for program in ("basic", "default"):
        yield ("E8", "%s, 512 jobs: RSS in MiB, %s" % (real, program),
               limit(ratio(get(real, program, "rss_kib", 512), 1024), 6))
        yield ("E8", "kernel memory of kept files, KiB a job, %s" % program,
               limit(get(real, program, "kernel_kib_job", 512), 30, "%.1f"))
    yield ("E9", "times scheduled while idle",
           limit(extra("idle_scheduled"), 0, "%d"))
    yield ("E10", "v2, 128 possible CPUs: kernel and user instructions a job",
           limit(extra("vm_default"), 75000, "%.0f"))
    yield ("E10", "the same with the slow files in every pass",
           limit(extra("vm_default-all"), 75000, "%.0f"))
    for tree in (real, "tmpfs-v2"):
        yield ("E11", "%s: 128 users over 16" % tree,
               limit(more(r, tree, "basic", users=128), 1.5))
    yield ("E11", "processes started", limit(extra("forks"), 0, "%d"))
    yield ("F1", "instructions to write a series",
           limit(extra("insn_write_series"), 220, "%.0f"))
    yield ("energy", "128 jobs: CPU of meters and ledger over that of a pass",
           limit(extra("energy_share"), 0.10))


    gpus = extra("gpu_with", {})
    yield ("gpu", "8 GPUs: processes started by scrapes and readings",
           limit(gpus.get("forks"), 0, "%d"))
    more_calls = None
    if gpus:
        more_calls = gpus["syscalls"] - extra("gpu_without")["syscalls"]
    yield ("gpu", "8 GPUs: system calls more in a scrape",
           limit(more_calls, 8, "%.1f"))


def show(r):
    word = {True: "reached", False: "missed", None: "-"}
    print("\n## Targets")
    for number, text, (figure, reached) in rows(r):
        print("%-6s %-62s %-28s %s" % (number, text, figure, word[reached]))
