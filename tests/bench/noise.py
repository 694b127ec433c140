#!/usr/bin/env python3
"""What the exporter costs a parallel job: "make bench-noise".

A computation runs in pieces of one millisecond on one CPU (tests/bench/quantum.c). The
exporter runs on the same CPU with a higher priority, the worst case, and is scraped every
second from another one. A parallel job waits at each barrier for its slowest process, so
the slowest pieces count; a piece that is longer than the same one without an exporter was
interrupted. The programs take turns; the median of all rounds is printed."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench  # noqa: E402
import machine  # noqa: E402
import trees  # noqa: E402

JOBS = 32
NICE = -10


class Scraper(threading.Thread):
    """Scrapes a server every second, on other CPUs than the one that is measured."""

    def __init__(self, port, cpus):
        super().__init__()
        self.url, self.cpus, self.ended = "http://127.0.0.1:%d/metrics" % port, cpus, threading.Event()

    def run(self):
        os.sched_setaffinity(0, self.cpus)
        while not self.ended.wait(1):
            urllib.request.urlopen(self.url, timeout=10).read()


def pieces(o, cpu, server):
    """Run the computation beside a server, or alone."""
    scraper = server and Scraper(server.port, os.sched_getaffinity(0) - {cpu})
    if scraper:
        scraper.start()
    try:
        done = subprocess.run([o.build + "/bench/quantum", str(cpu), str(o.seconds)],
                              capture_output=True, text=True)
    finally:
        if scraper:
            scraper.ended.set()
            scraper.join()
    if done.returncode:
        raise machine.CannotRun("quantum: " + done.stderr)
    return json.loads(done.stdout)


def busy(pid):
    """Let the exporter run on the CPU that is measured, with a higher priority; all threads."""
    for tid in os.listdir("/proc/%d/task" % pid):
        os.setpriority(os.PRIO_PROCESS, int(tid), NICE)


def measure(o, cpu, stage, results):
    for _ in range(o.rounds):
        for name in ["nothing"] + o.programs:
            server = None
            if name != "nothing":
                server = machine.Server(bench.command(o.build, name, stage.tree),
                                        ["taskset", "-c", str(cpu)])
                busy(server.pid)
                time.sleep(1)
            try:
                results.setdefault(name, []).append(pieces(o, cpu, server))
            finally:
                if server:
                    server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    o = parser.parse_args()
    o.programs = ["basic", "default", "process"]
    cpu = max(os.sched_getaffinity(0))
    if len(os.sched_getaffinity(0)) < 2 or os.geteuid() != 0:
        sys.exit("bench-noise needs root and two CPUs")
    bench.read_modes()
    version = trees.real_version()
    kind = "real-v%d" % version if version else "tmpfs-v2"
    results = {}
    with tempfile.TemporaryDirectory(prefix="bj-noise.") as o.top:
        stage = bench.Stage(o, kind, bench.Shape(JOBS, 1, 16, 4, 0))
        try:
            measure(o, cpu, stage, results)
        finally:
            stage.end()
    print("%s, %d jobs, one scrape a second, pieces of 1 ms on one CPU: milliseconds, median of %d rounds of %d s"
          % (kind, JOBS, o.rounds, o.seconds))
    print("%-10s %8s %8s %8s %8s %8s %10s" % ("program", "mean", "median", "99 %", "99.9 %", "most", "slowdown"))
    alone = None
    for name, rows in results.items():
        row = {k: bench.median([r[k] for r in rows]) for k in rows[0]}
        alone = alone or row["mean"]
        print("%-10s %8.3f %8.3f %8.3f %8.3f %8.3f %9.2f %%" % (
            name, row["mean"], row["median"], row["p99"], row["p999"], row["most"], 100 * (row["mean"] / alone - 1)))


if __name__ == "__main__":
    main()
