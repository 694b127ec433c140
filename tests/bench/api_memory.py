#!/usr/bin/env python3
"""How much memory batchjob_stats_server uses under load.

  api_memory.py [--build DIR] [--jobs N] [--store FILE]

Each kind of load runs against its own server, then all of them against one.  Prometheus is
simulated, with responses of the maximum size.  RSS in MiB: the peak, the value afterwards,
and the part of that which is not files (libraries, which other processes share)."""
import argparse
import collections
import http.client
import http.server
import json
import re
import resource
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from api import fill, start

NOW = int(time.time())
YEAR = "from=%d&to=%d" % (NOW - 366 * 86400, NOW)
LARGE = "/api/v1/jobs?limit=2000&" + YEAR
CELLS = 20000  # of a response with series, at most


class Prometheus(http.server.BaseHTTPRequestHandler):
    """Returns series for any query; by node as many as one response may have."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        args = urllib.parse.parse_qs(text)
        begin, end, step = (int(args[k][0]) for k in ("start", "end", "step"))
        times = range(begin, end + 1, step)
        names = re.findall(r'"bj","(\w+)"', args["query"][0])
        nodes = CELLS // (len(times) * len(names)) if "instance" in args["query"][0] else 1
        rows = [{"metric": {"bj": n, "instance": "node%04d.cluster.example:9010" % i},
                 "values": [[t, "%.15f" % (t % 977 / 3)] for t in times]}
                for n in names for i in range(max(nodes, 1))]
        body = json.dumps({"status": "success",
                           "data": {"resultType": "matrix", "result": rows}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server:
    def __init__(self, build, store, prometheus, web):
        more = ["--web.config.file=" + web] if web else []
        self.process, self.port = start(build, store, "--prometheus.scrape-interval=1s",
                                        "--prometheus.url=http://127.0.0.1:%d" % prometheus, *more)
        self.port = int(self.port)
        self.tls = ssl._create_unverified_context() if web else None

    def memory(self, name):
        with open("/proc/%d/status" % self.process.pid) as f:
            return int(re.search(name + r":\s+(\d+)", f.read()).group(1)) / 1024

    def connect(self, **options):
        s = socket.socket()
        for name, value in options.items():
            s.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
        s.connect(("127.0.0.1", self.port))
        return self.tls.wrap_socket(s) if self.tls else s

    def get(self, path, user="boss", accept="*/*"):
        kind = http.client.HTTPSConnection if self.tls else http.client.HTTPConnection
        c = kind("127.0.0.1", self.port, **({"context": self.tls} if self.tls else {}))
        c.request("GET", path, headers={"X-Grafana-User": user, "Accept": accept})
        r = c.getresponse()
        body = r.read()
        c.close()
        return r.status, body


def request(path, user="boss"):
    return ("GET %s HTTP/1.1\r\nHost: x\r\nX-Grafana-User: %s\r\n\r\n" % (path, user)).encode()


def run_clients(clients, rounds, what):
    """Run what() in that many threads; returns how often each status occurred."""
    got = collections.Counter()

    def client():
        for _ in range(rounds):
            got[what()[0]] += 1
    threads = [threading.Thread(target=client) for _ in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return got


def hundred_jobs(s):
    return run_clients(64, 20, lambda: s.get("/api/v1/jobs?limit=100&" + YEAR, "user7"))


def long_lists(s):
    return run_clients(16, 6, lambda: s.get(LARGE))


def as_csv(s):
    return run_clients(16, 6, lambda: s.get(LARGE, accept="text/csv"))


def pages(s):
    return run_clients(32, 6, lambda: s.get("/jobs?" + YEAR, "user7"))


def series(s):
    rows = json.loads(s.get(LARGE + "&fields=key,elapsed_seconds", "user7")[1])["data"]
    job = max(rows, key=lambda r: r["elapsed_seconds"])
    path = "/api/v1/jobs/%s/series?by=node&metric=cpus_used&step=%d" % (
        job["key"], job["elapsed_seconds"] // 1990 + 1)
    return run_clients(8, 4, lambda: s.get(path, "user7"))


def standing(s, read=0):
    """A hundred clients that request long lists, more than the kernel buffers, and read nothing,
    or little."""
    socks = [s.connect(SO_RCVBUF=4096) for _ in range(100)]
    for c in socks:
        c.sendall(request(LARGE) * 4)
        c.setblocking(False)
    for _ in range(40):
        time.sleep(0.1)
        for c in socks if read else ():
            try:
                c.recv(read)
            except OSError:
                pass
    for c in socks:
        c.close()
    return run_clients(1, 1, lambda: s.get("/api/v1/me"))


def slow(s):
    return standing(s, 4096)


def idle(s, path="/api/v1/me"):
    """512 connections, of which the server keeps as many as its limit."""
    socks, got = [], collections.Counter()
    for _ in range(512):
        try:
            c = s.connect()
            c.sendall(request(path))
            got[c.recv(12)[9:].decode()] += 1
            socks.append(c)
        except OSError:
            got["closed"] += 1
    for c in socks:
        c.close()
    return got


def active(s):
    """The same with responses of 130 KB that the clients do not read to the end."""
    return idle(s, "/api/v1/jobs?limit=100&" + YEAR)


PLAIN = [hundred_jobs, long_lists, as_csv, pages, series, standing, slow, idle, active]
TLS = [idle, active, long_lists]


def make_tls(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj",
                    "/CN=localhost", "-keyout", folder + "/key.pem", "-out",
                    folder + "/cert.pem"], check=True, stderr=subprocess.DEVNULL)
    with open(folder + "/web.yml", "w") as f:
        f.write("tls_server_config:\n  cert_file: %s/cert.pem\n  key_file: %s/key.pem\n"
                % (folder, folder))
    return folder + "/web.yml"


def measure(a, loads, prometheus, web=None, title="%s"):
    s = Server(a.build, a.store, prometheus, web)
    first = s.memory("VmRSS")
    try:
        for load in loads:
            got = load(s)
            print("%-30s %7.1f %7.1f %7.1f %7.1f   %s" % (
                title % load.__name__.replace("_", " "), first, s.memory("VmHWM"),
                s.memory("VmRSS"), s.memory("RssAnon"),
                " ".join("%s:%s" % p for p in sorted(got.items(), key=str))), flush=True)
    finally:
        s.process.terminate()
        s.process.wait()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--jobs", type=int, default=1000000)
    a.add_argument("--store")
    a = a.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    folder = tempfile.mkdtemp(prefix="bj-bench-api-")
    prom = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prometheus)
    threading.Thread(target=prom.serve_forever, daemon=True).start()
    try:
        a.store = fill(a.build, a.store or folder + "/store.db", a.jobs)
        print("%-30s %7s %7s %7s %7s   status" % ("RSS MiB", "start", "peak", "then", "anon"))
        for load in PLAIN:
            measure(a, [load], prom.server_port)
        measure(a, PLAIN, prom.server_port, None, "in turn: %s")
        if shutil.which("openssl"):
            web = make_tls(folder)
            for load in TLS:
                measure(a, [load], prom.server_port, web, "TLS: %s")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
