#!/usr/bin/env python3
"""The PromQL gate with several servers, most of them simulated: which one gets a query, also
when one is slow, fails or is down.  TAP."""
import os
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gate_lib import ScriptedPrometheus, Gate, FilledPrometheus  # noqa: E402
from prom_lib import wait_for  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

NOW = int(time.time())
DAY = 86400


def start(gate, *servers, more=""):
    """Start the server with this list of servers in its configuration file."""
    conf = gate.file("stats_server.yml", "gate:\n  servers:\n" + "".join(
        "    - %s\n" % s for s in servers) + more)
    gate.start_with_options(["--config.file=" + conf])


def metric(gate, name, prometheus):
    want = 'batchjob_api_gate_server_%s{server="%s"} ' % (name, prometheus.url)
    for line in gate.fetch("/metrics").body.decode().splitlines():
        if line.startswith(want):
            return int(line[len(want):])
    return None


def named(name):
    """A simulated server whose replies contain its name."""
    prometheus = ScriptedPrometheus()
    prometheus.reply = lambda h: h.send(body=b'{"status":"success","data":"%s"}' % name.encode())
    return prometheus


def stall(prometheus):
    """Delay the replies of the simulated server until the returned event is set."""
    go, reply = threading.Event(), prometheus.reply

    def later(h):
        go.wait(300)
        reply(h)
    prometheus.reply = later
    return go


def query_in_thread(gate, user, into, **parameters):
    t = threading.Thread(target=lambda: into.append(gate.get(user, "query", **parameters).json.get("data")))
    t.start()
    return t


def test_retention(gate):
    new, old, cold = named("new"), named("old"), named("cold")
    start(gate, new.url + " retention=15d", old.url + " retention=300d", cold.url + " delay=2h")
    ago = lambda days: NOW - days * DAY  # noqa: E731
    for want, path, parameters in (
            ("new", "query", dict(query="up")),
            ("new", "query", dict(query="rate(up[7d])")),
            ("old", "query", dict(query="rate(up[20d])")),
            ("old", "query", dict(query="up", time=ago(16))),
            ("old", "query", dict(query="up offset 20d")),
            ("new", "query", dict(query="up offset 20d", time=NOW + 10 * DAY)),
            ("old", "query", dict(query="up + max_over_time(rate(up[9d])[9d:1h])")),
            ("old", "query", dict(query="up @ %d" % ago(30))),
            ("new", "query", dict(query="up @ %d" % ago(3), time=ago(40))),
            ("new", "query", dict(query="1 + 1", time=ago(40))),
            ("new", "query_range", dict(query="up", start=ago(14), end=NOW, step=3600)),
            ("old", "query_range", dict(query="up", start=ago(16), end=NOW, step=3600)),
            ("old", "query_range", dict(query="up @ start()", start=ago(16), end=NOW, step=3600)),
            ("new", "query_range", dict(query="up @ end()", start=ago(16), end=NOW, step=3600)),
            ("cold", "query_range", dict(query="up", start=ago(350), end=ago(320), step=3600)),
            ("cold", "query_range", dict(query="up", start=ago(350), end=NOW, step=3600)),
            ("new", "label/x/values", dict(start=ago(1), end=NOW)),
            ("old", "series", dict(m="up", start=ago(20), end=NOW)),
            ("cold", "labels", {}),
            ("old", "query_exemplars", dict(query="up", start=ago(20), end=NOW)),
            ("new", "format_query", dict(query="up"))):
        same(gate.get("user1", path, **parameters).json.get("data"), want,
             "the right server gets %s %s" % (path, parameters))
    for d in (new, old, cold):
        d.stop()


def test_load(gate):
    """Two servers for new series and one for old ones."""
    one, two, old = named("one"), named("two"), named("old")
    start(gate, one.url + " retention=15d max-queries=2", two.url + " retention=15d", old.url)
    same(sorted(gate.get("user1", "query", query="up").data for _ in range(4)), ["one", "one", "two", "two"],
         "two servers take turns")
    slow, answers = stall(one), []
    first = query_in_thread(gate, "user1", answers, query="up")
    wait_for(lambda: metric(gate, "running", one) == 1 or answers)
    if not answers:
        same([gate.get("user2", "query", query="up").data for _ in range(3)], ["two"] * 3,
             "the server with fewer queries gets the next ones")
    slow.set()
    first.join()
    go, answers, n = stall(old), [], 30
    threads = [query_in_thread(gate, "user%d" % (k % 4 + 1), answers, query="up offset 20d") for k in range(n)]
    wait_for(lambda: metric(gate, "running", old) == 16)
    same(metric(gate, "running", old), 16, "the slow server gets gate.max-queries queries")
    same({gate.get(user, "query", query="up").status for user in ("user1", "user2", "boss")}, {200},
         "the other servers meanwhile answer all users")
    go.set()
    for t in threads:
        t.join()
    same(answers, ["old"] * n, "the slow server answers all queries at last")
    for d in (one, two, old):
        d.stop()


def fresh(gate, one, two, more=""):
    """A new gate that sends its next query to the first server."""
    start(gate, one.url, two.url, more=more)


def test_failures(gate):
    one, two = named("one"), named("two")
    good = one.reply

    def cut(h):
        h.close_connection = True
        h.connection.shutdown(2)
    html = lambda status: lambda h: h.send(status, b"<html>", "text/html")  # noqa: E731
    for what, reply in (("closes the connection", cut), ("replies with 502", html(502)),
                        ("replies with 503", html(503)), ("refuses the credentials", html(401))):
        fresh(gate, one, two)
        one.reply = reply
        received = len(one.received)
        same(gate.get("user1", "query", query="up").data, "two", "a server %s: the other one gets the query" % what)
        check(len(one.received) > received and b"batchjob_api_gate_retries_total 1\n" in gate.fetch("/metrics").body,
              "the retry is counted")
    wait_for(lambda: metric(gate, "up", one) == 1)
    same(metric(gate, "up", one), 1, "the server is up again after a check")
    fresh(gate, one, two)
    body = b'{"status":"error","errorType":"timeout","error":"query timed out"}'
    one.reply = lambda h: h.send(503, body)
    a = gate.get("user1", "query", query="up")
    same((a.body, metric(gate, "up", one)), (body, 1), "an error of Prometheus itself is passed on")

    def half(h):
        h.send_response(200)
        h.send_header("Content-Type", "application/json")
        h.send_header("Content-Length", "4000000")
        h.end_headers()
        h.wfile.write(b"x" * 2000000)
        h.close_connection = True
    fresh(gate, one, two)
    one.reply, received = half, len(two.received)
    try:
        whole = gate.get("user1", "query", query="up").body
    except Exception:  # noqa: the connection breaks; the exception depends on the library
        whole = None
    same((whole, len(two.received) - received), (None, 0), "a query whose response breaks off is not sent again")
    one.reply = good
    one.stop()
    fresh(gate, one, two)
    same({gate.get("user1", "query", query="up").data for _ in range(6)}, {"two"}, "a stopped server gets no queries")
    same((metric(gate, "up", one), metric(gate, "up", two)), (0, 1), "a stopped server is down")
    two.stop()
    same(gate.get("user1", "query", query="up").status, 502, "without any server a query fails")
    same(gate.stop(), 0, "the gate ends with status 0")


def test_checks(gate):
    one, two, old = named("one"), named("two"), named("old")
    one.health = 503
    conf = (one.url + " retention=15d", two.url + " retention=15d", old.url + " header=X-Scope-OrgID:site")
    start(gate, *conf)
    wait_for(lambda: metric(gate, "up", one) == 0)
    same((metric(gate, "up", one), metric(gate, "up", two), metric(gate, "up", old)), (0, 1, 1),
         "a server that fails its check is down")
    same({gate.get("user1", "query", query="up").data for _ in range(4)}, {"two"},
         "a server that is down gets no queries")
    two.health = 503
    gate.reload()
    wait_for(lambda: metric(gate, "up", two) == 0)
    same(gate.get("user1", "query", query="up").data, "old", "when both are down, one with a longer retention answers")
    same(old.received[-1][2].get("X-Scope-OrgID"), "site", "the request has the header configured for that server")
    one.health = two.health = 200
    wait_for(lambda: metric(gate, "up", one) == 1)
    same(gate.get("user1", "query", query="up").data in ("one", "two"), True,
         "when one is up again, it gets the queries")
    go, answers = stall(two), []
    threads = [query_in_thread(gate, "user%d" % k, answers, query="up") for k in (1, 2)]
    wait_for(lambda: len(answers) == 1 and metric(gate, "running", two) == 1)
    gate.file("stats_server.yml", "gate:\n  servers: ['%s']\n" % old.url)
    gate.reload()
    wait_for(lambda: metric(gate, "up", two) is None)
    same((metric(gate, "up", two), gate.get("user1", "query", query="up").data), (None, "old"),
         "a reload replaces the servers")
    go.set()
    for t in threads:
        t.join()
    same(sorted(answers), ["one", "two"], "a query that runs at a removed server ends there")
    gate.file("stats_server.yml", "gate:\n  servers: ['%s retention=x']\n" % old.url)
    gate.reload()
    log = open(gate.log).read()
    check("stats_server.yml:2:13: gate.servers: " in log and "'retention=x': expected a duration" in log,
          "an error in the list is reported with its line and column", log[-400:])
    for d in (one, two, old):
        d.stop()


def test_prometheus(gate):
    """Two real servers, one of which has only the last three hours."""
    def series(hours):
        return [("batchjob_node_cpus", dict(node="n1"),
                 [(NOW - 600 * k, k) for k in range(6 * hours, -1, -1)])]
    recent, both = FilledPrometheus(series(3)), FilledPrometheus(series(9))
    try:
        if recent.failure or both.failure:
            return skip("two Prometheus servers", recent.failure or both.failure)
        start(gate, recent.url + " retention=3h", both.url)

        def points(hours):
            a = gate.post("user1", "query_range", query="batchjob_node_cpus", start=NOW - 3600 * hours, end=NOW,
                          step=600)
            return a.data["result"] and len(a.data["result"][0]["values"])
        same((points(2), points(8)), (2 * 6 + 1, 8 * 6 + 1),
             "queries of recent and old samples go to the servers that have them")
        same([metric(gate, "queries_total", d) for d in (recent, both)], [1, 1], "each server answered one query")
        same([metric(gate, "up", d) for d in (recent, both)], [1, 1], "both servers are up")
    finally:
        recent.stop()
        both.stop()


def main():
    gate = Gate()
    try:
        for test in (test_retention, test_load, test_failures, test_checks, test_prometheus):
            test(gate)
    finally:
        gate.stop()
        gate.clean_up()
    return plan()


sys.exit(main())
