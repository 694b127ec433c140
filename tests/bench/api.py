#!/usr/bin/env python3
"""What requests to batchjob_stats_server cost.

  api.py [--build DIR] [--jobs N] [--seconds S] [--store FILE] [--pages]

Fills a store (or uses an existing one), starts the server, sends requests with wrk, and
prints CPU time of the server per request, requests per second, latency and memory.
Other load on the machine hardly changes the CPU time, but the other figures."""
import argparse
import contextlib
import json
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

# The columns of api_floor.c.
FLOOR = ("jobid,user,account,partition,qos,state,name,nodelist,tres_allocated,exit_code,exit_signal,"
         "submit_ms,eligible_ms,start_ms,end_ms,time_limit_seconds,cpus,nodes,gpus,"
         "memory_requested_bytes,memory_allocated_bytes,cpu_used_seconds,cpu_system_seconds,"
         "memory_peak_bytes,energy_scheduler_joules,priority")
EIGHT = "key,user,account,state,start_ms,end_ms,cpus,name"


def ticks(pid):
    with open("/proc/%d/stat" % pid) as f:
        part = f.read().rsplit(")", 1)[1].split()
    return (int(part[11]) + int(part[12])) / os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """CPU time of the threads of a process, to the nanosecond; the server starts none while it answers."""
    total = 0
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, thread)) as f:
            total += int(f.read().split()[0])
    return total / 1e9


def rss(pid):
    with open("/proc/%d/statm" % pid) as f:
        return int(f.read().split()[1]) * 4096 / 2**20


def start(build, store, *options):
    p = subprocess.Popen(
        [build + "/batchjob_stats_server", "--web.listen-address=127.0.0.1:0", "--log.level=info",
         "--access.trust-loopback", "--access.rate=0", "--access.admins=boss",
         "--access.coordinators=acct7: lead", "--store.path=" + store, *options],
        stderr=subprocess.PIPE, text=True)
    port = re.search(r"127\.0\.0\.1:(\d+)", p.stderr.readline()).group(1)
    # Discard the log through a pipe, as a journal would read it.
    subprocess.Popen(["cat"], stdin=p.stderr, stdout=subprocess.DEVNULL)
    return p, port


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def wrk(port, path, user, connections, seconds):
    out = subprocess.run(
        ["wrk", "-t2", "-c%d" % connections, "-d%ds" % seconds, "--latency",
         "-H", "X-Grafana-User: " + user, "http://127.0.0.1:%s%s" % (port, path)],
        capture_output=True, text=True, check=True).stdout
    time.sleep(0.3)  # until the server has processed the last requests
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    return {"requests": int(re.search(r"(\d+) requests in", out).group(1)),
            "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)),
            "p99": milliseconds(re.search(r"\n\s+99%\s+(\S+)", out).group(1)),
            "bad": int(bad.group(1)) if bad else 0}


def measure(port, path, user, connections, seconds, pids):
    """The results of wrk, and CPU time per request in microseconds of the processes that
    pids() returns."""
    wrk(port, path, user, connections, 1)
    before = sum(ticks(pid) for pid in pids())
    r = wrk(port, path, user, connections, seconds)
    used = sum(ticks(pid) for pid in pids()) - before
    r.update(cpu=used / max(r["requests"], 1) * 1e6, rss=sum(rss(pid) for pid in pids()))
    return r


def show(what, r):
    print("%-30s %9.1f %9.0f %9.2f %8.1f %6d" % (
        what, r["cpu"], r["rate"], r["p99"], r["rss"], r["bad"]))


def fill(build, store, jobs):
    """Create a store with that many jobs, unless it exists."""
    if not os.path.exists(store):
        begin = time.time()
        subprocess.run([build + "/bench/api_fill", store, str(jobs)], check=True)
        print("%d jobs in %.0f s, %.0f bytes a job" % (
            jobs, time.time() - begin, os.path.getsize(store) / jobs))
    return store


def newest(port, user):
    """The id of a user's newest job."""
    ask = urllib.request.Request("http://127.0.0.1:%s/api/v1/jobs?limit=1&fields=jobid" % port,
                                 headers={"X-Grafana-User": user})
    with urllib.request.urlopen(ask) as answer:
        return json.load(answer)["data"][0]["jobid"]


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(n) for n in f.read().split()]


def flask(store, seconds):
    """Measure the same 100 jobs by Flask and gunicorn, if they are installed."""
    try:
        import flask as _  # noqa: F401
        import gunicorn as _  # noqa: F401
    except ImportError:
        print("Flask or gunicorn is not installed: nothing to compare with")
        return
    here = os.path.dirname(os.path.abspath(__file__))
    p = subprocess.Popen([sys.executable, "-m", "gunicorn", "-w", "1", "-b", "127.0.0.1:0",
                          "--chdir", here, "api_flask:app"], stderr=subprocess.PIPE, text=True,
                         env=dict(os.environ, STORE=os.path.abspath(store),
                                  PYTHONDONTWRITEBYTECODE="1"))
    port = None
    for line in p.stderr:
        got = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        port = got.group(1) if got else port
        if "Booting worker" in line:
            break
    subprocess.Popen(["cat"], stdin=p.stderr, stdout=subprocess.DEVNULL)
    for what, path in (("Flask, all columns", "/jobs?user=user7"),
                       ("Flask, 8 columns", "/jobs?user=user7&fields=jobid,user,account,state,"
                        "start,end,cpus,name")):
        show(what, measure(port, path, "user7", 16, seconds,
                           lambda: [p.pid] + children(p.pid)))
    p.terminate()
    p.wait()


def beside_floor(build, store, server, path, seconds, rounds=5):
    """Measure 100 jobs by api_floor and by the server, in turn; server: its port and
    its process id."""
    p = subprocess.Popen([build + "/bench/api_floor", store, "user7"], text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    cases = [("floor, 26 columns", p.stdout.readline().strip(), "/", p.pid),
             ("the same 26 as keys", server[0], path + "&fields=" + FLOOR, server[1]),
             ("all keys", server[0], path, server[1])]
    runs = [[measure(port, what, "user7", 64, seconds, lambda: [pid])
             for _, port, what, pid in cases] for _ in range(rounds)]
    p.stdin.close()
    p.wait()
    medians = [{k: statistics.median(r[k] for r in of) for k in of[0]} for of in zip(*runs)]
    for (name, *_), median in zip(cases, medians):
        show(name, median)
    for (name, *_), median in list(zip(cases, medians))[1:]:
        print("%-30s %8.2fx %8.2fx %8.2fx" % (name + ", by the floor", *(
            median[k] / medians[0][k] for k in ("cpu", "rate", "p99"))))


def job_pages(build, store, rounds=20):
    """CPU time and size of the page of a job with many nodes, with charts from a
    Prometheus server that has values of each node and GPU."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
    from page_lib import FakePrometheus
    fake = FakePrometheus()
    p, port = start(build, store, "--prometheus.url=" + fake.url)
    for nodes in (1, 64, 1000):
        fake.nodes = nodes
        with contextlib.closing(sqlite3.connect(store)) as db, db:
            db.execute("UPDATE job SET nodes = ?, gpus = ? WHERE jobid = 77", (nodes, 2 * nodes))
        path = urllib.request.Request("http://127.0.0.1:%s/jobs/77" % port, headers={"X-Grafana-User": "boss"})
        urllib.request.urlopen(path).read()
        before = ticks(p.pid)
        for _ in range(rounds):
            with urllib.request.urlopen(path) as answer:
                size = len(answer.read())
        print("page of a job with %4d nodes: %6.1f ms of CPU time, %6.1f KB" % (
            nodes, (ticks(p.pid) - before) / rounds * 1000, size / 1000))
    p.terminate()
    p.wait()


def pages(build, store, rounds=5):
    """CPU time and wall time, the least of some requests, and size of each kind of page of an admin and of a user, on all
    jobs of the store."""
    p, port = start(build, store)
    job = newest(port, "boss")
    month = time.strftime("%Y-%m", time.gmtime(time.time() - 32 * 86400))
    for who, paths in (("boss", ("/home", "/jobs", "/jobs?from=2000-01-01", "/jobs?sort=cpus", "/jobs/" + job, "/compare?job=%s" % job,
                                 "/findings", "/queue", "/usage", "/nodes", "/nodes/n0001", "/support", "/cluster",
                                 "/management?month=" + month, "/management?from=2000-01-01", "/gpus", "/usage?from=2000-01-01", "/users/user7", "/accounts/acct7",
                                 "/accounts/acct7?month=" + month)),
                       ("user7", ("/home", "/jobs", "/findings", "/usage", "/users/user7"))):
        for path in paths:
            request = urllib.request.Request("http://127.0.0.1:%s%s" % (port, path), headers={"X-Grafana-User": who})
            with urllib.request.urlopen(request) as answer:
                size = len(answer.read())
            cpu, wall = [], []
            for _ in range(rounds):
                before, begin = cpu_seconds(p.pid), time.time()
                with urllib.request.urlopen(request) as answer:
                    answer.read()
                wall.append(time.time() - begin)
                cpu.append(cpu_seconds(p.pid) - before)
            print("%-6s %-36s %7.1f ms of CPU time, %7.1f ms, %6.1f KB" % (
                who, path, min(cpu) * 1000, min(wall) * 1000, size / 1000))
    p.terminate()
    p.wait()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--jobs", type=int, default=1000000)
    a.add_argument("--seconds", type=int, default=5)
    a.add_argument("--store")
    a.add_argument("--pages", action="store_true", help="only the pages")
    a = a.parse_args()
    if not a.pages and not shutil.which("wrk"):
        sys.exit("wrk is not installed")
    folder = tempfile.mkdtemp(prefix="bj-bench-api-")
    try:
        store = fill(a.build, a.store or folder + "/store.db", a.jobs)
        if a.pages:
            return pages(a.build, store)
        now = int(time.time())
        year = "from=%d&to=%d" % (now - 366 * 86400, now)
        p, port = start(a.build, store)
        own = newest(port, "user7")
        questions = [
            ("nothing of the store", "/api/v1/me", "user7", 16),
            ("100 jobs, all keys", "/api/v1/jobs?limit=100&" + year, "user7", 16),
            ("the same, 64 connections", "/api/v1/jobs?limit=100&" + year, "user7", 64),
            ("100 jobs, 8 fields", "/api/v1/jobs?limit=100&fields=%s&%s" % (EIGHT, year),
             "user7", 16),
            ("the same, 64 connections", "/api/v1/jobs?limit=100&fields=%s&%s" % (EIGHT, year),
             "user7", 64),
            ("one job", "/api/v1/jobs/77",
             "boss", 16),
            ("the newest 100 of everybody", "/api/v1/jobs?limit=100&fields=" + EIGHT, "boss", 16),
            ("a coordinator's week", "/api/v1/jobs?limit=100&fields=" + EIGHT, "lead", 16),
            ("a user's own job by id", "/api/v1/jobs/%s" % own, "user7", 16),
            ("what runs now, of everybody", "/api/v1/jobs?running=1&fields=" + EIGHT, "boss", 16),
            ("a user's year by day", "/api/v1/usage?group_by=day&" + year, "user7", 16),
        ]
        print("%-30s %9s %9s %9s %8s %6s" % ("", "CPU us", "req/s", "p99 ms", "RSS MiB", "bad"))
        for what, path, user, connections in questions:
            show(what, measure(port, path, user, connections, a.seconds, lambda: [p.pid]))
        print("64 connections in turn, medians of five:")
        beside_floor(a.build, store, (port, p.pid), "/api/v1/jobs?limit=100&" + year, a.seconds)
        p.terminate()
        p.wait()
        pages(a.build, store)
        job_pages(a.build, store)
        flask(store, a.seconds)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
