#!/usr/bin/env python3
"""A job's time series from a real Prometheus and a real VictoriaMetrics that scrape the
exporter over real jobs: only users who may see the job receive them.  TAP."""
import contextlib
import csv
import io
import json
import os
import re
import socket
import sqlite3
import sys
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import check, run, same, user  # noqa: E402
from prom_lib import Node, Prometheus, VictoriaMetrics, wait_for  # noqa: E402


def path(key, what="series", **params):
    q = "&".join("%s=%s" % (k.rstrip("_"), v) for k, v in params.items())
    return "/api/v1/jobs/%s/%s%s" % (key.replace("+", "%2B"), what, "?" + q if q else "")


def without_prometheus(site):
    """Without Prometheus the API says so, but only to users who may see the job."""
    site.start("--access.trust-loopback", "--access.admins=boss")
    mine = site.fetch("/api/v1/jobs?limit=1&from=0&fields=key,user", user("user3")).data[0]["key"]
    a = site.fetch(path(mine), user("user3"))
    same((a.status, "prometheus.url" in a.json["error"]), (404, True), "without Prometheus the status is 404")
    names = site.fetch("/api/v1/series", user("user3")).data
    check(len(names) > 15 and all(set(n) == {"metric", "unit", "help"} for n in names),
          "the metrics are listed")
    site.start("--access.trust-loopback", "--access.admins=boss",
               "--prometheus.url=http://127.0.0.1:1")
    a = site.fetch(path(mine), user("user3"))
    same((a.status, a.json["errorType"]), (503, "unavailable"), "an unreachable Prometheus is status 503")
    same(site.fetch(path(mine), user("user4")).status, 404, "Prometheus is not queried about jobs of other users")
    for bad in ("metric=up", "metric=batchjob_job_cpus", "by=user", "step=x", "query=up", "from=x",
                "metric=cpus_used){x", "user=user3"):
        a = site.fetch(path(mine) + "?" + bad, user("user3"))
        same(a.status, 400, "refused: " + bad)
    same(site.fetch(path("fake:1:1"), user("user3")).status, 404, "a job that does not exist has no series")
    same(site.fetch("/api/v1/jobs//series", user("user3")).status, 404, "a job without a name")
    for options in (["--prometheus.url=ftp://x"], ["--prometheus.user=a"],
                    ["--prometheus.match=x"]):
        try:
            site.start("--prometheus.url=http://127.0.0.1:1", *options)
            check(False, "a bad option is refused: %s" % options)
        except RuntimeError as e:
            check("prometheus." in str(e), "a bad option is refused: %s" % options, e)


class FakePrometheus:
    """An HTTP server with replies set by the test, which records its
    requests."""

    def __init__(self):
        self.reply, self.received = b"", []
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.sock.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(c,), daemon=True).start()

    def one(self, c):
        with c:
            c.settimeout(20)
            got = b""
            try:
                while b"\r\n\r\n" not in got:
                    got += c.recv(65536)
                head, _, body = got.partition(b"\r\n\r\n")
                want = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
                while len(body) < want:
                    body += c.recv(65536)
                self.received.append((head.decode(), urllib.parse.parse_qs(body.decode())))
                reply = self.reply() if callable(self.reply) else self.reply
                c.sendall(reply)
            except OSError:
                pass

    def ok(self, text):
        text = text if isinstance(text, bytes) else json.dumps(text).encode()
        self.reply = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                      b"Connection: close\r\n\r\n" % len(text)) + text


def matrix(*series):
    return {"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": m, "values": v} for m, v in series]}}


def steps(site):
    """The default step keeps the number of values of all nodes below the limit."""
    fake = FakePrometheus()
    fake.ok(matrix())
    site.start("--access.trust-loopback", "--access.admins=boss", "--prometheus.url=" + fake.url,
               "--prometheus.scrape-interval=1s")
    job = max(site.fetch("/api/v1/jobs?limit=1000&from=0&state=completed&"
                         "fields=key,jobid,elapsed_seconds", user("boss")).data,
              key=lambda j: j["elapsed_seconds"])
    job["nodes"] = 64
    with contextlib.closing(sqlite3.connect(site.store)) as db, db:
        db.execute("UPDATE job SET nodes = ? WHERE jobid = ?", (job["nodes"], int(job["jobid"])))
    site.refresh()
    metrics = len(site.fetch("/api/v1/series", user("boss")).data)
    span = job["elapsed_seconds"] + 1
    step = {}
    for by in ("job", "node"):
        a = site.fetch(path(job["key"], by=by), user("boss"))
        step[by] = int(fake.received[-1][1]["step"][0])
        same((a.status, a.json["meta"]["step_sec"]), (200, step[by]), "the step by " + by)
    check(job["nodes"] * metrics * (span // step["job"] + 1) > 20000, "all series together exceed the limit",
          job, metrics, step)
    check(job["nodes"] * metrics * (span // step["node"] + 1) <= 20000
          < 4 * job["nodes"] * metrics * (span // step["node"] + 1), "the chosen step keeps series below the limit",
          job, metrics, step)


def invalid_replies(site):
    """Replies of Prometheus are checked as strictly as requests of clients."""
    fake = FakePrometheus()
    site.start("--access.trust-loopback", "--access.admins=boss", "--prometheus.url=" + fake.url + "/",
               "--prometheus.scrape-interval=10s", "--prometheus.timeout=20s",
               "--prometheus.match=job=batch\"job", "--prometheus.max-queries=2")
    job = site.fetch("/api/v1/jobs?limit=1&from=0&state=completed&fields=key,jobid,user,uid,start_ms,end_ms",
                     user("user3")).data[0]
    t = job["start_ms"] // 1000
    one = {"bj": "processes"}

    def get(**params):
        return site.fetch(path(job["key"], metric="processes", step=10, **params), user("user3"))
    fake.ok(matrix((one, [[t, "1"], [t + 10, "2.5"], [t + 20, "NaN"], [t + 30, "+Inf"],
                          [t + 40, "1e3"], [t + 50, "0x10"], [t + 60, "-0.5"], [t + 70, "01"],
                          [t + 80, "1}"], [t + 90, ""], [t + 100, None], [t + 110, 7],
                          [t - 10, "9"], [10**12, "9"], ["x", "9"], [t + 120], None, 3])))
    a = get()
    if job["end_ms"] // 1000 - t > 130:
        same([(r["time_ms"] // 1000 - t, r["processes"]) for r in a.data],
             [(0, 1), (10, 2.5), (40, 1000), (60, -0.5), (110, 7)], "only numbers within the job's time are taken")
    head, received = fake.received[-1]
    check(head.startswith("POST /api/v1/query_range HTTP/1.1") and received["step"] == ["10"]
          and received["start"] == [str(t)], "the server queries a range", head, received)
    same(received["query"], ['label_replace(sum by()(batchjob_job_processes{jobid="%s",user=~"user3|%d|",'
                             'cluster=~"fake|",job="batch\\"job",}),"bj","processes","","")'
                             % (job["jobid"], job["uid"])], "the query selects this job of this user")
    check("X-Grafana-User" not in head and "user3" not in head.replace("user3|", ""),
          "the client's headers are not forwarded", head)
    fake.ok(matrix((one, [[t, "1"]]), (dict(one, instance="n1:9010"), [[t, "2"]]),
                   (dict(one, instance="n1:9010", slurm_node="x\x01\ud800"), [[t, "3"]])))
    same([(r["node"], r["processes"]) for r in get(by="node").data],
         [(None, 1), ("n1", 2), ("x\x01?", 3)], "nodes with and without names")
    for what, text in (("a series that was not queried", matrix(({"bj": "up"}, [[t, "1"]]))),
                       ("a series without a name", matrix(({}, [[t, "1"]]))), ("not JSON", b"<html>login</html>"),
                       ("truncated", json.dumps(matrix((one, [[t, "1"]])))[:-4].encode()),
                       ("empty", b""), ("an array", b"[]"), ("without a result", {"status": "success"}),
                       ("deeply nested", b'{"data":{"result":[' + b"[" * 200 + b"]" * 200 + b"]}}"),
                       ("too long", b'{"data":{"result":["' + b"x" * (2 << 20) + b'"]}}')):
        fake.ok(text)
        a = get()
        same((a.status, a.json["status"]), (503, "error"), "status 503 for a reply: " + what)
    for status in (b"400 Bad Request", b"401 Unauthorized", b"302 Found\r\nLocation: /x",
                   b"503 Unavailable", b"200 OK\r\nContent-Length: 99999999999", b"999 x"):
        fake.reply = b"HTTP/1.1 " + status + b"\r\nConnection: close\r\n\r\n{}"
        same(get().status, 503, "status 503 for a reply with " + status.decode().split("\r")[0])
    fake.reply = b"garbage\r\n\r\n"
    same(get().status, 503, "a reply that is not HTTP is status 503")
    fake.ok(matrix(*[(dict(one, instance="n%d" % i), [[t, "1"]]) for i in range(3000)]))
    a = get(by="node")
    same(a.status, 400, "more nodes than the limit are refused")
    check("too" in a.json["error"] or "more than" in a.json["error"], "the error names the limit of series", a)
    fake.ok(matrix((one, [])))
    same(get().data, [], "a series without values")
    before = len(fake.received)
    for user_name in ("user4", "newcomer"):
        same(site.fetch(path(job["key"]), user(user_name)).status, 404, "refused to " + user_name)
    same(len(fake.received), before, "Prometheus is not queried about jobs of other users")
    log = open(site.log).read()
    check("\x01" not in log and "login" not in log, "the log has no raw reply of Prometheus")


def rows(site, key, user_name, **params):
    a = site.fetch(path(key, **params), user(user_name))
    return a.data if a.status == 200 else check(False, "series of %s for %s" % (key, user_name), a) or []


def real_servers(site):
    site.start("--access.trust-loopback", "--access.admins=boss")
    jobs = site.fetch("/api/v1/jobs?from=0&state=running&limit=100&fields=key,jobid,uid,user,account,start_ms",
                      user("boss")).data
    if not check(len({j["user"] for j in jobs}) > 1, "several users have running jobs"):
        return
    first = jobs[0]
    other = next(j for j in jobs if j["user"] != first["user"])
    node = Node("fake", [(j["jobid"], j["uid"], j["user"], j["account"]) for j in (first, other)])
    servers = []
    try:
        if node.failure:
            check(True, "series of real jobs # SKIP " + node.failure)
            return
        for kind in (Prometheus, VictoriaMetrics):
            servers.append(kind(node.url))
        for server in servers:
            if server.failure:
                check(True, "series of real jobs # SKIP " + server.failure)
            else:
                check_server(site, server, first, other)
        if not servers[0].failure:
            crowd(site, servers[0], first["key"], first["user"])
    finally:
        node.stop()
        for server in servers:
            server.stop()


def check_server(site, prom, first, other):
    seen = wait_for(lambda: prom.query(
        'rate(batchjob_job_cpu_seconds_total{jobid="%s"}[4s]) > 0' % first["jobid"]))
    if not check(seen, "Prometheus has scraped the job"):
        return
    site.start("--access.trust-loopback", "--access.admins=boss", "--prometheus.url=" + prom.url,
               "--prometheus.scrape-interval=1s", "--prometheus.timeout=20s")
    key, user_name, now = first["key"], first["user"], int(time.time())
    part = dict(from_=now - 30, step=1)
    data = rows(site, key, user_name, **part)
    names = [n["metric"] for n in site.fetch("/api/v1/series", user(user_name)).data]
    check(data and all(list(r) == ["time", "time_ms", "node", "gpu"] + names for r in data),
          "every row has every key", data[:1])
    last = wait_for(lambda: [r for r in rows(site, key, user_name, **part)
                             if None not in (r["cpus_used"], r["memory_bytes"], r["processes"])])
    if not check(last, "a row has CPU use, memory and processes"):
        return
    last = last[-1]
    truth = prom.query('batchjob_job_memory_used_bytes{jobid="%s"}' % first["jobid"])[0]["value"]
    check(abs(last["memory_bytes"] - float(truth[1])) < 20e6, "memory is that of Prometheus",
          last, truth)
    check(0 < last["cpus_used"] < 8 and last["cpus_usable"] >= 1, "CPU use is shown", last)
    check(last["processes"] >= 1, "processes are shown", last)
    check([r["time_ms"] for r in data] == sorted(r["time_ms"] for r in data), "rows are in order of time")
    check(all(now - 31 <= r["time_ms"] / 1000 <= now + 30 for r in data), "rows are within the requested time")
    data = rows(site, key, user_name, metric="processes,threads", **part)
    same(list(data[-1]), ["time", "time_ms", "node", "gpu", "processes", "threads"], "some metrics")
    data = rows(site, key, user_name, metric="processes", by="node", **part)
    check(data and data[-1]["node"], "rows have a node", data[-1:])
    data = rows(site, key, user_name, metric="gpu_busy_ratio", by="gpu", **part)
    if prom.query("batchjob_job_gpu_busy_ratio"):
        gpus = {r["gpu"]: r["gpu_busy_ratio"] for r in data}
        same(sorted(gpus.values()), [0, 0.8], "rows have a GPU")
    else:
        check(True, "rows have a GPU # SKIP no simulated GPU")
    power = wait_for(lambda: [r for r in rows(site, key, user_name, metric="power_watts", **part)
                              if r["power_watts"]])
    # The node takes 700 W; one late sample changes a rate over a few seconds a lot.
    check(power and 0 < power[-1]["power_watts"] < 1400, "power", power)

    a = site.fetch(path(key, metric="processes", **part), user(user_name), ("Accept", "text/csv"))
    table = list(csv.reader(io.StringIO(a.body.decode())))
    same((a.headers["Content-Type"].split(";")[0], table[0]),
         ("text/csv", ["time", "time_ms", "node", "gpu", "processes"]), "CSV")

    a = site.fetch(path(key), user(user_name))
    span = now - first["start_ms"] // 1000
    step = a.json["meta"]["step_sec"]
    check(span // 300 <= step <= span // 300 * 5 + 60 and a.json["meta"]["job"] == key,
          "the server chooses a step", a.json["meta"], span)
    a = site.fetch(path(key, step=1, from_=0), user(user_name))
    check(a.status == 400 if span > 2000 else a.status == 200, "too many points are refused", a)

    # Other users.
    for name, status in ((other["user"], 404), ("newcomer", 404), ("boss", 200)):
        same(site.fetch(path(key, **part), user(name)).status, status, "series requested by " + name)
    a = site.fetch(path(key, **part), user(other["user"]), ("X-Grafana-User", user_name))
    same(a.status, 400, "two names of users are refused")
    theirs = rows(site, other["key"], other["user"], metric="processes", **part)
    check(theirs, "the other user gets the series of their own job")

    prom.suspend()
    a = site.fetch(path(key, **part), user(user_name))
    same(a.status, 503, "a Prometheus that hangs is status 503")
    prom.resume()
    check(wait_for(lambda: site.fetch(path(key, **part), user(user_name)).status == 200),
          "series return with Prometheus")


def crowd(site, prom, key, user_name):
    """A Prometheus that hangs delays only the requests that query it."""
    site.start("--access.trust-loopback", "--access.admins=boss", "--prometheus.url=" + prom.url,
               "--prometheus.scrape-interval=1s", "--prometheus.timeout=60s",
               "--prometheus.max-queries=3")
    target = path(key, metric="processes", from_=int(time.time()) - 20, step=1)
    statuses = []
    prom.suspend()
    threads = [threading.Thread(target=lambda: statuses.append(site.fetch(target, user(user_name)).status))
               for _ in range(5)]
    for t in threads:
        t.start()
    others = [site.fetch("/api/v1/jobs?from=0&limit=5", user(user_name)).status for _ in range(20)]
    page = site.fetch("/jobs/" + key, user(user_name)).status
    same((set(others), page, statuses), ({200}, 200, []),
         "other requests are answered while all queries to Prometheus wait")
    prom.resume()
    for t in threads:
        t.join(60)
    same(statuses, [200] * 5, "requests that waited are answered in turn")

    # A request waits for one query at most, not for the timeouts of all queries before its own.
    fake, stop = FakePrometheus(), threading.Event()
    fake.reply = lambda: stop.wait(60) and b""
    site.start("--access.trust-loopback", "--access.admins=boss", "--prometheus.url=" + fake.url,
               "--prometheus.scrape-interval=1s", "--prometheus.timeout=2s",
               "--prometheus.max-queries=1")
    statuses.clear()
    threads = [threading.Thread(target=lambda: statuses.append(site.fetch(target, user(user_name)).status))
               for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    check(statuses == [503] * 8 and len(fake.received) < 8, "a request waits no longer than one query to Prometheus",
          statuses, len(fake.received))
    site.start("--access.trust-loopback", "--access.admins=boss", "--prometheus.url=" + fake.url,
               "--prometheus.scrape-interval=1s", "--prometheus.timeout=60s")
    a = site.fetch("/jobs/" + key, user(user_name))
    check(a.status == 200 and b"took too long" in a.body, "a page arrives without the curves that take too long", a)
    same(fake.received[-1][1]["timeout"], ["4"], "a page waits 4 s for its curves")
    stop.set()


sys.exit(run(without_prometheus, invalid_replies, steps, real_servers, count=2500, days=10))
