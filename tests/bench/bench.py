#!/usr/bin/env python3
"""Measure the exporter and a floor that only reads the files.

  bench.py --build DIR [--quick] [--trees real,v2,v1] [--jobs 1,16,128,512]
           [--only matrix,memory,idle,instructions,collectd,energy]
           [--programs NAME,...] [--rounds N]

DIR holds the built programs.  All programs of a tree run at the same time and
are scraped in turn, round after round; the least CPU time of the rounds counts,
so that other load on the machine disturbs all alike.  Prints tables, then the
targets; writes everything to DIR/bench/results.json.  Real cgroups need root.
docs/performance.md explains the figures.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # leave no __pycache__

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../e2e"))

import daemon
import energy as rapl
import gpus
import machine
import targets
import trees

# wake: milliseconds between wake-ups of a job's processes, 0 for none.
Shape = collections.namedtuple("Shape", "jobs steps users threads wake")
PASSES = "batchjob_sampler_passes_total"

# Configurations of the exporter (tests/bench/modes): the six files that every
# other exporter reads, the defaults, and process detail added to either.  Those
# named -all pause between scrapes and read the files of the slow interval in
# each of them; the others never do.  The floor has no slow interval;
# floor-paced has the same pauses, to be compared with -all.
FLOORS = {"floor": [], "floor-keep": ["keep"],
          "floor-process": ["keep", "processes"],
          "floor-paced": ["keep"]}
PAUSE = {"floor-paced": 120}
MODES = {}
PAGE_WRITER = "bj_page_write"


def read_modes():
    with open(os.path.dirname(os.path.abspath(__file__)) + "/modes") as f:
        for line in f:
            name, pause, *options = line.split()
            MODES[name], PAUSE[name] = options, int(pause)


def command(build, program, tree):
    if program in FLOORS:
        return [build + "/bench/floor", str(tree.version), tree.root,
                "@PORT@"] + FLOORS[program]
    return [build + "/batchjob_exporter",
            "--web.listen-address=127.0.0.1:@PORT@",
            "--path.cgroupfs=" + tree.root] + MODES[program]


def floor_of(program):
    """The floor to compare the program with."""
    return "floor-paced" if PAUSE.get(program) else "floor-keep"


class Stage:
    """Jobs of one shape, their tree, and the programs that measure them."""

    def __init__(self, o, kind, shape):
        self.shape, self.kind, self.servers, self.tree = shape, kind, {}, None
        top = tempfile.mkdtemp(prefix="stage.", dir=o.top)
        self.sleepers = machine.Sleepers(o.build, shape)
        try:
            self.jobs = jobs = trees.read_jobs(self.sleepers.lines)
            make = trees.Real if kind.startswith("real") else trees.Picture
            self.tree = make(top, int(kind[-1]), jobs)
        except BaseException:
            self.end()
            raise

    def start(self, o, programs):
        for name in programs:
            self.servers[name] = machine.Server(command(o.build, name,
                                                        self.tree))

    def end(self):
        for server in self.servers.values():
            server.end()
        self.sleepers.end()
        if self.tree:
            machine.wait_for("end of the jobs", 20, self.tree.empty)
            self.tree.remove()

    def key(self, program):
        return (self.kind,) + self.shape[:3] + (program,)


def measure(o, stages, results):
    """Scrape everything in turn, count system calls, print a table."""
    for _ in range(o.rounds):
        for stage in stages:
            for name, server in stage.servers.items():
                pause = PAUSE.get(name, 0)
                row = server.scrape(o.build, 5, o.milliseconds + 8 * pause,
                                    "" if name in FLOORS else PASSES,
                                    pause=pause)
                best = results.rows.setdefault(stage.key(name), row)
                if row["cpu_ms"] < best["cpu_ms"]:
                    best.update({k: row[k] for k in ("cpu_ms", "wall_ms")})
                best["p95_ms"] = min(best["p95_ms"], row["p95_ms"])
    for stage in stages:
        for name, server in stage.servers.items():
            row = results.rows[stage.key(name)]
            row["rss_kib"] = machine.status(server.pid, "VmRSS")
            calls = machine.system_calls(server, o.build, PAUSE.get(name, 0))
            row["calls"] = calls
            row["syscalls"] = sum(calls.values()) if calls else None
            show_row(results, stage, name, row)


HEAD = ("tree     jobs steps users program        cpu ms us/job x keep  wall ms"
        "   p95 ms  syscalls  RSS KiB series   bytes")


def show_row(results, stage, name, row):
    keep = results.rows.get(stage.key(floor_of(name)), row)["cpu_ms"]
    s = stage.shape
    print("%-8s %4d %5d %5d %-13s %7.3f %6.1f %6.2f %8.3f %8.3f %9.1f %8d "
          "%6d %7d%s" %
          (stage.kind, s.jobs, s.steps, s.users, name, row["cpu_ms"],
           row["cpu_ms"] / s.jobs * 1e3, row["cpu_ms"] / keep, row["wall_ms"],
           row["p95_ms"], row["syscalls"] or -1, row["rss_kib"], row["series"],
           row["bytes"], "" if name in FLOORS or abs(row["rise"] - 1) < 0.01
           else "  %.2f passes a scrape" % row["rise"]), flush=True)


def suited(o, shape):
    """The programs for a shape: those with pauses if processes wake up, only some
    for other numbers of steps and users."""
    if shape.wake:
        return [p for p in o.programs if PAUSE.get(p)]
    some = ["floor-keep", "basic", "default"]
    usual = shape.steps == 1 and shape.users == 16
    if usual and shape.jobs <= 128:
        some.append("floor-process")
    return [p for p in o.programs if not PAUSE.get(p) and
            (p in some or (usual and p in MODES) or
             (usual and p == "floor"))]


def shapes(o, kind):
    out = [Shape(n, 1, 16, 4, 0) for n in o.jobs]
    if 128 in o.jobs and kind != "tmpfs-v1":
        out += [Shape(128, 4, 16, 4, 0), Shape(128, 1, 128, 4, 0)]
    if 128 in o.jobs and kind.startswith("real"):
        out.append(Shape(128, 1, 16, 4, 50))
    return out


def run_matrix(o, results):
    print("\n## Scrapes\n" + HEAD)
    for kind in o.trees:
        stages = []
        try:
            for shape in shapes(o, kind):
                stages.append(Stage(o, kind, shape))
                stages[-1].start(o, suited(o, shape))
            measure(o, stages, results)
        finally:
            for stage in stages:
                stage.end()


def median(values):
    return sorted(values)[len(values) // 2]


def run_memory(o, results):
    """Print the kernel memory that each program takes, from SUnreclaim of the machine:
    the median of five starts."""
    print("\n## Kernel memory, KiB a job at 512 jobs")
    kind, stage = o.trees[0], None
    try:
        stage = Stage(o, kind, Shape(512, 1, 16, 4, 0))
        for name in o.programs:
            if PAUSE.get(name):
                continue
            seen = []
            for _ in range(5):
                before = machine.kernel_kib()
                server = machine.Server(command(o.build, name, stage.tree))
                server.scrape(o.build, 3)
                seen.append((machine.kernel_kib() - before) / 512)
                server.end()
            results.rows.setdefault(stage.key(name), {})["kernel_kib_job"] = \
                median(seen)
            print("%-14s %6.1f" % (name, median(seen)), flush=True)
    finally:
        if stage:
            stage.end()


def run_idle(o, results):
    """Count wake-ups without scrapes, and processes started by scrapes."""
    print("\n## Idle for %d s, and processes started" % o.idle)
    stage = Stage(o, o.trees[0], Shape(128, 1, 128, 4, 0))
    try:
        stage.start(o, [p for p in o.programs
                        if p in MODES and not PAUSE[p]])
        for server in stage.servers.values():
            server.scrape(o.build, 5)
        machine.time.sleep(1)  # work after the last scrape does not count
        before = {n: machine.times_scheduled(s.pid)
                  for n, s in stage.servers.items()}
        machine.time.sleep(o.idle)
        for name, server in stage.servers.items():
            n = machine.times_scheduled(server.pid) - before[name]
            started = machine.forks(server, o.build)
            print("%-14s %d times scheduled, %s processes started" %
                  (name, n, started))
            results.extra["idle_scheduled"] = max(
                n, results.extra.get("idle_scheduled", 0))
            if started is not None:
                results.extra["forks"] = max(started,
                                             results.extra.get("forks", 0))
    finally:
        stage.end()


def run_instructions(o, results):
    print("\n## User-space instructions of a scrape, v2 tree, 128 jobs")
    stage = Stage(o, "tmpfs-v2", Shape(128, 1, 16, 4, 0))
    try:
        for name in o.programs:
            if PAUSE.get(name):
                continue
            argv = command(o.build, name, stage.tree)
            server = machine.Server(argv)
            series = server.scrape(o.build, 3)["series"]
            server.end()
            total, parts = machine.instructions(o.build, argv)
            if total is None:
                print("no valgrind: not measured")
                return
            results.extra["insn_series_" + name] = total / series
            print("%-14s %9d a scrape, %d series, %.0f a series" %
                  (name, total, series, total / series), flush=True)
            top = sorted(parts.items(), key=lambda p: -p[1])
            for function, n in top[:o.functions]:
                print("    %9d %5.1f a series  %s" % (n, n / series, function))
            if PAGE_WRITER in parts:
                print("%14s %9d of them to write the page, %.0f a series" %
                      ("", parts[PAGE_WRITER], parts[PAGE_WRITER] / series))
    finally:
        stage.end()
    write_series(o, results)


def write_series(o, results):
    """Measure what writing a series costs on a page of 512 jobs without gaps."""
    program = o.build + "/bench/page_bench"
    few, many = (machine.program_instructions([program, n])
                 for n in ("10", "30"))
    count = subprocess.run([program, "1", "count"], capture_output=True,
                           text=True).stdout
    cost = (many - few) / 20 / int(re.search(r"\d+", count).group())
    results.extra["insn_write_series"] = cost
    print("page of 512 jobs: %.0f to write a series" % cost)


def run_collectd(o, results):
    daemon.run(o, results, Stage, Shape)


def run_gpus(o, results):
    gpus.run(o, results, Stage, Shape)


def run_energy(o, results):
    """Measure what metering and attributing energy adds to a pass."""
    print("\n## Energy: CPU of a pass and of what energy adds to it, 128 jobs")
    stage = Stage(o, o.trees[0], Shape(128, 1, 16, 4, 0))
    sysfs = tempfile.mkdtemp(prefix="sys.", dir=o.top)
    rapl.lay_out(sysfs)
    try:
        run = subprocess.run(
            [o.build + "/bench/energy_bench", stage.tree.root, sysfs, "2000",
             f"--energy.state-file={sysfs}/state", "--sample.slow=1h"],
            check=True, capture_output=True, text=True)
    finally:
        stage.end()
    words = run.stdout.split()
    cost = dict(zip(words[::2], map(float, words[1::2])))
    results.extra["energy_share"] = cost["tick_us"] / cost["pass_us"]
    print("pass %.0f us; meters, ledger and text of the state %.0f us (%.0f %%); "
          "to save it %.0f us" %
          (cost["pass_us"], cost["tick_us"],
           100 * results.extra["energy_share"], cost["save_us"]))


def read_vm(o, results):
    """Read the results of "make bench-vm", if any: instructions a job with the defaults, on
    cgroup v2 with most CPUs."""
    try:
        with open(o.build + "/bench/vm.txt") as f:
            text = f.read()
    except OSError:
        return
    for mode in ("default", "default-all"):
        found = re.findall(r"v=2 cpus=(\d+) who=%s jobs.*cpu_ns/job=(\d+)" %
                           mode, text)
        if found:
            results.extra["vm_" + mode] = max(
                (int(cpus), int(n)) for cpus, n in found)[1]


PARTS = {"matrix": run_matrix, "memory": run_memory, "idle": run_idle,
         "instructions": run_instructions, "collectd": run_collectd,
         "energy": run_energy, "gpu": run_gpus}


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=
                                argparse.RawDescriptionHelpFormatter)
    split = lambda s: s.split(",")
    a.add_argument("--build", required=True)
    a.add_argument("--quick", action="store_true", help="16 and 128 jobs, two "
                   "short rounds")
    a.add_argument("--trees", type=split, default=["real", "v2", "v1"])
    a.add_argument("--jobs", type=split)
    a.add_argument("--only", type=split, default=list(PARTS))
    a.add_argument("--programs", type=split,
                   default=list(FLOORS) + list(MODES),
                   help="of " + " ".join(list(FLOORS) + list(MODES)))
    a.add_argument("--rounds", type=int)
    a.add_argument("--milliseconds", type=int, default=700,
                   help="of scrapes, a program and round")
    a.add_argument("--idle", type=int, default=10, help="seconds")
    a.add_argument("--functions", type=int, default=0,
                   help="number of the most expensive functions to print")
    o = a.parse_args()
    o.build = os.path.abspath(o.build)
    o.jobs = [int(n) for n in o.jobs or (["16", "128"] if o.quick else
                                         ["1", "16", "128", "512"])]
    o.rounds = o.rounds or (2 if o.quick else 4)
    return o


def choose_trees(o):
    real = trees.real_version()
    if "real" in o.trees and not real:
        print("# no real cgroups: %s" % (
            "no controllers below /sys/fs/cgroup" if os.geteuid() == 0 else
            "they need root"))
        o.trees.remove("real")
    names = {"real": "real-v%d" % real, "v1": "tmpfs-v1", "v2": "tmpfs-v2"}
    o.trees = [names[t] for t in o.trees]
    return names["real"] if real else "tmpfs-v1"


def main():
    read_modes()
    o = arguments()
    results = targets.Results()
    results.extra["real"] = choose_trees(o)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    failed = 0
    with tempfile.TemporaryDirectory(prefix="batchjob_bench.",
                                     dir=memory) as o.top:
        for part in o.only:
            try:
                PARTS[part](o, results)
            except machine.CannotRun as e:
                print("# %s: %s" % (part, e))
                failed = 1
    read_vm(o, results)
    targets.show(results)
    with open(o.build + "/bench/results.json", "w") as f:
        json.dump({"rows": [dict(zip(("tree", "jobs", "steps", "users",
                                      "program"), k), **v)
                            for k, v in results.rows.items()],
                   "extra": results.extra}, f, indent=1)
    return failed


if __name__ == "__main__":
    sys.exit(main())
