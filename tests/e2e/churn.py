#!/usr/bin/python3
"""Create and remove cgroups of jobs while an exporter is scraped, and check that
its memory and descriptors do not grow.

  churn.py --pid PID --url URL --base DIR... [--leaf PATH] [--passes N]
           [--jobs N] [--grace SECONDS]

DIR is the parent of job_N in each hierarchy; processes are in PATH below the
job.  Resident memory and descriptors of PID are measured with no job left,
after a tenth of the passes and at the end.  Prints "ok - " and "not ok - "."""
import argparse
import collections
import http.client
import os
import random
import signal
import subprocess
import sys
import time
import urllib.parse

from tap import check


class Jobs:
    def __init__(self, bases, leaf):
        self.bases, self.leaf = bases, leaf.strip("/")
        self.live = collections.deque()
        self.sleepers = {}
        self.made = 0
        self.next = random.randrange(10**8, 2 * 10**8)

    def paths(self, job):
        return [os.path.join(b, f"job_{job}") for b in self.bases]

    def start(self, with_process):
        # Now and then a recent id again: with another inode it is another job.
        job = self.next if random.random() > 0.2 else self.next - 3
        if job in self.live:
            return
        self.next += job == self.next
        for p in self.paths(job):
            os.makedirs(os.path.join(p, self.leaf))
        self.live.append(job)
        self.made += 1
        if with_process:
            child = subprocess.Popen(["sleep", "600"])
            self.sleepers[job] = child
            for p in self.paths(job):
                with open(os.path.join(p, self.leaf, "cgroup.procs"), "w",
                          encoding="ascii") as f:
                    f.write(str(child.pid))

    def end(self):
        job = self.live.popleft()
        child = self.sleepers.pop(job, None)
        if child:
            child.kill()
            child.wait()
        for p in self.paths(job):
            self.remove(p)

    def remove(self, path):
        for _ in range(200):
            try:
                for d, _, _ in os.walk(path, topdown=False):
                    os.rmdir(d)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.01)
        raise SystemExit(f"cannot remove {path}")


class Exporter:
    def __init__(self, url, pid):
        self.host = urllib.parse.urlsplit(url).netloc
        self.pid, self.bad, self.scrapes = pid, [], 0
        self.connection = None

    def scrape(self):
        self.scrapes += 1
        try:
            # Now and then a new connection, as scrapers do.
            if self.connection is None or self.scrapes % 50 == 0:
                self.close()
                self.connection = http.client.HTTPConnection(self.host,
                                                             timeout=300)
            self.connection.request("GET", "/metrics")
            r = self.connection.getresponse()
            body = r.read()
            if r.status != 200 or b"batchjob_build_info" not in body:
                self.bad.append(f"pass {self.scrapes}: status {r.status}")
            return body
        except (OSError, http.client.HTTPException) as e:
            self.bad.append(f"pass {self.scrapes}: {e!r}")
            self.close()
            return b""

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def use(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            rss = next(int(line.split()[1]) for line in f
                       if line.startswith("RssAnon:"))
        return rss, len(os.listdir(f"/proc/{self.pid}/fd"))


def settle(jobs, exporter, grace):
    """End all jobs, wait for the grace period; return the exporter's memory and descriptors."""
    while jobs.live:
        jobs.end()
    end = time.monotonic() + grace + 1
    while time.monotonic() < end:
        exporter.scrape()
        time.sleep(0.1)
    exporter.close()
    time.sleep(0.5)
    return exporter.use()


def churn(args, jobs, exporter, passes):
    for _ in range(passes):
        for _ in range(random.randrange(4)):
            jobs.start(random.random() < args.processes)
        while len(jobs.live) > args.jobs or (jobs.live and
                                             random.random() < 0.5):
            jobs.end()
        exporter.scrape()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--pid", type=int, required=True)
    p.add_argument("--url", required=True)
    p.add_argument("--base", nargs="+", required=True)
    p.add_argument("--leaf", default="")
    p.add_argument("--passes", type=int, default=500)
    p.add_argument("--jobs", type=int, default=20)
    p.add_argument("--grace", type=float, default=1)
    p.add_argument("--processes", type=float, default=0.3)
    args = p.parse_args()
    random.seed(1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    jobs, exporter = Jobs(args.base, args.leaf), Exporter(args.url, args.pid)
    try:
        churn(args, jobs, exporter, max(args.passes // 10, 50))
        rss0, fds0 = settle(jobs, exporter, args.grace)
        start = time.monotonic()
        churn(args, jobs, exporter, args.passes)
        took = time.monotonic() - start
        rss1, fds1 = settle(jobs, exporter, args.grace)
    finally:
        while jobs.live:
            jobs.end()
    print(f"# {exporter.scrapes} scrapes, the last {args.passes} passes in "
          f"{took:.1f} s, {jobs.made} jobs")
    check(not exporter.bad, f"every scrape of {exporter.scrapes} is answered "
          + "; ".join(exporter.bad[:5]))
    check(fds1 == fds0, f"descriptors are as before: {fds0}, then {fds1}")
    # The allocator may keep some pages, but memory must not keep growing.
    check(rss1 <= rss0 + 768, f"memory is as before: {rss0} KiB, then "
          f"{rss1} KiB")


if __name__ == "__main__":
    main()
