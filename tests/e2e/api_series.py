#!/usr/bin/env python3
"""A job's time series: asked of a real Prometheus that has scraped the exporter
over real jobs, for those who may see the job and nobody else.  TAP."""
import csv
import io
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import check, run, same, user  # noqa: E402
from prom_lib import Node, Prometheus, wait_for  # noqa: E402


def path(key, what="series", **params):
    q = "&".join("%s=%s" % (k.rstrip("_"), v) for k, v in params.items())
    return "/api/v1/jobs/%s/%s%s" % (key.replace("+", "%2B"), what, "?" + q if q else "")


def without(site):
    """No Prometheus: said so, but not before it is known that one may ask."""
    site.start("--access.trust-loopback", "--access.admins=boss")
    mine = site.ask("/api/v1/jobs?limit=1&from=0&fields=key,user", user("user3")).data[0]["key"]
    a = site.ask(path(mine), user("user3"))
    same((a.status, "prometheus.url" in a.json["error"]), (404, True), "none is configured")
    names = site.ask("/api/v1/series", user("user3")).data
    check(len(names) > 15 and all(set(n) == {"metric", "unit", "help"} for n in names),
          "the metrics are listed")
    site.start("--access.trust-loopback", "--access.admins=boss",
               "--prometheus.url=http://127.0.0.1:1")
    a = site.ask(path(mine), user("user3"))
    same((a.status, a.json["errorType"]), (503, "unavailable"), "nobody is there")
    same(site.ask(path(mine), user("user4")).status, 404, "it is not asked about another's job")
    for bad in ("metric=up", "metric=batchjob_job_cpus", "by=user", "step=x", "query=up", "from=x",
                "metric=cpus_used){x", "user=user3"):
        a = site.ask(path(mine) + "?" + bad, user("user3"))
        same(a.status, 400, "refused: " + bad)
    same(site.ask(path("fake:1:1"), user("user3")).status, 404, "no such job")
    same(site.ask("/api/v1/jobs//series", user("user3")).status, 404, "a job without a name")
    for options in (["--prometheus.url=ftp://x"], ["--prometheus.user=a"],
                    ["--prometheus.match=x"]):
        try:
            site.start("--prometheus.url=http://127.0.0.1:1", *options)
            check(False, "a bad option is refused: %s" % options)
        except RuntimeError as e:
            check("prometheus." in str(e), "a bad option is refused: %s" % options, e)


def rows(site, key, who, **params):
    a = site.ask(path(key, **params), user(who))
    return a.data if a.status == 200 else check(False, "series of %s for %s" % (key, who), a) or []


def with_one(site):
    site.start("--access.trust-loopback", "--access.admins=boss")
    jobs = site.ask("/api/v1/jobs?from=0&state=running&limit=100&fields=key,id,uid,user,account,start_ms",
                    user("boss")).data
    if not check(len({j["user"] for j in jobs}) > 1, "several users have running jobs"):
        return
    first = jobs[0]
    other = next(j for j in jobs if j["user"] != first["user"])
    node = Node("fake", [(j["id"], j["uid"], j["user"], j["account"]) for j in (first, other)])
    prom = None
    try:
        if node.why:
            check(True, "series of real jobs # SKIP " + node.why)
            return
        prom = Prometheus(node.url)
        if prom.why:
            check(True, "series of real jobs # SKIP " + prom.why)
            return
        ask_all(site, prom, first, other)
    finally:
        node.stop()
        if prom:
            prom.stop()


def ask_all(site, prom, first, other):
    seen = wait_for(lambda: prom.query(
        'rate(batchjob_job_cpu_seconds_total{jobid="%s"}[4s]) > 0' % first["id"]), 60)
    if not check(seen, "Prometheus has scraped the job"):
        return
    site.start("--access.trust-loopback", "--access.admins=boss", "--prometheus.url=" + prom.url,
               "--prometheus.scrape-interval=1s", "--prometheus.timeout=2s")
    key, who, now = first["key"], first["user"], int(time.time())
    part = dict(from_=now - 30, step=1)
    data = rows(site, key, who, **part)
    names = [n["metric"] for n in site.ask("/api/v1/series", user(who)).data]
    check(data and all(list(r) == ["time", "time_ms", "node", "gpu"] + names for r in data),
          "every row has every key", data[:1])
    last = wait_for(lambda: [r for r in rows(site, key, who, **part)
                             if None not in (r["cpus_used"], r["memory_bytes"], r["processes"])], 20)
    if not check(last, "a row has all that this node has"):
        return
    last = last[-1]
    truth = prom.query('batchjob_job_memory_used_bytes{jobid="%s"}' % first["id"])[0]["value"]
    check(abs(last["memory_bytes"] - float(truth[1])) < 20e6, "memory is what Prometheus has",
          last, truth)
    check(0 < last["cpus_used"] < 8 and last["cpus_allocated"] >= 1, "CPUs", last)
    check(last["processes"] >= 1, "processes", last)
    check([r["time_ms"] for r in data] == sorted(r["time_ms"] for r in data), "in order of time")
    check(all(now - 31 <= r["time_ms"] / 1000 <= now + 30 for r in data), "of the time asked for")
    data = rows(site, key, who, metric="processes,threads", **part)
    same(list(data[-1]), ["time", "time_ms", "node", "gpu", "processes", "threads"], "some metrics")
    data = rows(site, key, who, metric="processes", by="node", **part)
    check(data and data[-1]["node"], "by node", data[-1:])
    data = rows(site, key, who, metric="gpu_busy_ratio", by="gpu", **part)
    if prom.query("batchjob_job_gpu_busy_ratio"):
        gpus = {r["gpu"]: r["gpu_busy_ratio"] for r in data}
        same(sorted(gpus.values()), [0, 0.8], "by GPU")
    else:
        check(True, "by GPU # SKIP no library that plays one")
    power = wait_for(lambda: [r for r in rows(site, key, who, metric="power_watts", **part)
                              if r["power_watts"]], 30)
    check(power and 0 < power[-1]["power_watts"] < 500, "power", power)

    a = site.ask(path(key, metric="processes", **part), user(who), ("Accept", "text/csv"))
    table = list(csv.reader(io.StringIO(a.body.decode())))
    same((a.headers["Content-Type"].split(";")[0], table[0]),
         ("text/csv", ["time", "time_ms", "node", "gpu", "processes"]), "CSV")

    a = site.ask(path(key), user(who))
    span = now - first["start_ms"] // 1000
    step = a.json["meta"]["step_sec"]
    check(span // 300 <= step <= span // 300 * 5 + 60 and a.json["meta"]["job"] == key,
          "a step is chosen", a.json["meta"], span)
    a = site.ask(path(key, step=1, from_=0), user(who))
    check(a.status == 400 if span > 2000 else a.status == 200, "too many points are refused", a)

    # Others.
    for name, status in ((other["user"], 404), ("newcomer", 404), ("boss", 200)):
        same(site.ask(path(key, **part), user(name)).status, status, "asked by " + name)
    a = site.ask(path(key, **part), user(other["user"]), ("X-Grafana-User", who))
    same(a.status, 400, "two users")
    theirs = rows(site, other["key"], other["user"], metric="processes", **part)
    check(theirs, "the other has his own")

    prom.hold()
    started = time.monotonic()
    a = site.ask(path(key, **part), user(who))
    check(a.status == 503 and time.monotonic() - started < 10, "a Prometheus that hangs", a)
    prom.go_on()
    check(wait_for(lambda: site.ask(path(key, **part), user(who)).status == 200, 20),
          "and comes back")


sys.exit(run(without, with_one, count=2500, days=10))
