#!/usr/bin/env python3
"""What the PromQL gate costs, compared with minimal proxies that use the same libraries,
with a thread for each connection (gate_floor.c) and with one thread for all
(gate_floor_loop.c): CPU time a query for small and large responses, and memory with 100
queries at once.

  gate.py BUILD
"""
import http.client
import os
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import rss, start, ticks  # noqa: E402

QUERY = ("sum by (instance) (rate(batchjob_job_cpu_seconds_total{cluster=~\".*\",jobid=\"4711\"}[5m]))")
FORM = urllib.parse.urlencode({"query": QUERY, "start": 1700000000, "end": 1700003600, "step": 15})
HEADERS = {"Content-Type": "application/x-www-form-urlencoded", "X-Grafana-User": "anna"}


ROUNDS = 5


def program(*argv):
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return p, int(p.stdout.readline())


def send_queries(port, path, count, bytes_):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(count):
        c.request("POST", path, FORM, HEADERS)
        r = c.getresponse()
        n = len(r.read())
        assert (r.status, n) == (200, bytes_), (r.status, n)
    c.close()


def cost(pid, port, path, count, bytes_):
    """CPU milliseconds per query, over two connections."""
    before = ticks(pid)
    threads = [threading.Thread(target=send_queries, args=(port, path, count // 2, bytes_)) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return (ticks(pid) - before) * 1000 / count


def peak_memory(pid, port, path, bytes_):
    """The peak of resident memory while 100 clients slowly read one response each."""
    clients = []
    for _ in range(100):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        c.request("POST", path, FORM, HEADERS)
        clients.append(c)
    most, replies = 0, [c.getresponse() for c in clients]
    for _ in range(bytes_ // 65536 + 1):
        for r in replies:
            r.read(65536)
        most = max(most, rss(pid))
    assert all(not r.read() for r in replies)
    return most


def main():
    build = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        store = folder + "/none.db"
        for bytes_, count in ((1000, 6000), (64 << 10, 4000), (1 << 20, 1000)):
            server, at = program(build + "/bench/gate_server", str(bytes_))
            url = "http://127.0.0.1:%d" % at
            floors = [program(build + "/bench/" + f, url) for f in ("gate_floor", "gate_floor_loop")]
            gate, gate_port = start(build, store, "--gate.enabled", "--prometheus.url=" + url,
                                    "--gate.max-queries=100", "--gate.max-user-queries=100",
                                    "--web.max-requests=400")
            path, rounds = "/api/v1/query_range", []
            for _ in range(ROUNDS):
                own = cost(gate.pid, gate_port, "/prometheus" + path, count, bytes_)
                rounds.append([own] + [cost(p.pid, port, path, count, bytes_) for p, port in floors])
            # other load on the machine only increases them
            least = [min(r) for r in zip(*rounds)]
            print("%8d bytes: gate %.3f ms of CPU a query, bare proxy with threads %.3f ms, in one thread %.3f ms: "
                  "%.2f and %.2f times" % (bytes_, *least, least[0] / least[1], least[0] / least[2]))
            if bytes_ > 100000:
                print("%8d bytes, 100 at once: %.1f MiB resident" % (
                    bytes_, peak_memory(gate.pid, gate_port, "/prometheus" + path, bytes_)))
            for p in [gate, server] + [f for f, _ in floors]:
                p.terminate()
                p.wait(60)


main()
