#!/usr/bin/env python3
"""Random queries through the PromQL gate to a Prometheus with all series return the same
as without the gate from a Prometheus that holds only the series that the user may see.
With VictoriaMetrics both servers are behind a gate.  TAP.

    tests/e2e/gate_equal.py [NUMBER [SEED [victoria]]]     victoria: VictoriaMetrics instead
"""
import concurrent.futures
import http.client
import json
import os
import random
import re
import sys
import threading
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gate_lib import GRAFANA, Gate, FilledPrometheus, FilledVictoriaMetrics  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

START, STEP, COUNT = 1700000000, 30, 41
USERS, ACCOUNTS = ["user1", "user2", "user3", "user4"], ["acct1", "acct2", "a.ct1", "axct1"]
# user2 coordinates acct1, user3 a.ct1 and acct2
SEES = {"user1": set(), "user2": {"acct1"}, "user3": {"a.ct1", "acct2"}}


def series(rnd):
    """(name, labels, [(time, value)]), some with gaps or without an owner."""
    out = []
    for name in ("job_a", "job_b", "other_c", "pub_n", "pub_up"):
        for k in range(10):
            labels = {"i": str(k % 4), "jobid": str(k)}
            if name == "other_c":
                # the label owner names the owner
                labels.update(owner=rnd.choice(USERS), project=rnd.choice(ACCOUNTS), user=rnd.choice(USERS))
            elif not name.startswith("pub"):
                labels.update(user=rnd.choice(USERS), account=rnd.choice(ACCOUNTS))
            gap = rnd.random() < 0.4
            out.append((name, labels, [(START + STEP * t, rnd.randint(0, 50)) for t in range(COUNT)
                                       if not (gap and 10 < t < 25)]))
    out.append(("job_b", {"i": "1", "jobid": "77"}, [(START + STEP * t, 3) for t in range(COUNT)]))
    out.append(("job_a", {"i": "2", "jobid": "78", "account": "acct1"},
                [(START + STEP * t, t) for t in range(COUNT)]))
    return out


def visible(user, name, labels):
    owner, account = ("owner", "project") if name == "other_c" else ("user", "account")
    return name.startswith("pub") or labels.get(owner) == user or labels.get(account) in SEES[user]


class Grammar:
    """Makes random PromQL queries; few have type errors, which are tested too."""
    binaries = [
        " or ", " and ", " unless ", " + ", " > ", " == bool ", " or on(i) ", " and on(user) ", " unless on() ",
        " * on(i,jobid) ", " + ignoring(user,account) ", " * on(i) group_left() ", " / on(jobid) group_right(i) ",
        " unless ignoring(account) ", " - on(user,jobid) ", " ^ ", " % ", " atan2 "]

    changes = ['label_replace(%s,"user","user2","i","1")', 'label_join(%s,"account","-","i","user")',
               "clamp(%s, 3, 20)", "round(%s, 7)", "predict_linear(%s[4m:1m], 60)"]

    def __init__(self, rnd, server):
        self.rnd, self.pick = rnd, rnd.choice
        if server is FilledVictoriaMetrics:
            # 1.79.5: "or" merges series in the order of storage; label_replace of stddev takes a
            # value from the labels of any series.  It sums in the order of storage, too, and % makes
            # a whole number of a rounding error.
            self.binaries = [b for b in self.binaries if not (b.startswith(" or ") or b == " % ")]
            self.changes = self.changes[1:]

    def selector(self):
        # Without a metric name, the gate reads no public series and none of metrics
        # with labels of their own for the owner.
        s = self.pick(["job_a", "job_b", "other_c", "pub_n", "pub_up", '{__name__=~"job_.*"}', '{__name__="job_a"}',
                       '{i="1",__name__!~"pub.*|other.*"}', '{__name__=~"pub_.*"}', '{__name__=~"other_.+"}',
                       '{jobid!="3",i=~".+",__name__!~"pub.*|other.*"}', '{__name__=~"pub_n|pub_up",i!="2"}',
                       '{__name__=~"job_a|job_b"}'])
        if s[0] != "{" and self.rnd.random() < 0.4:
            s += self.pick(['{i="1"}', '{user="user2"}', '{user!="user1"}', '{account=~"a.*"}', '{user=""}',
                            '{i=~"1|2"}', '{account="a.ct1"}', "{jobid=`7`}", '{user=~".*"}', '{account!~"acct."}'])
        return s

    def modifier(self):
        return self.pick(["", "", "", "", " offset 1m", " @ %d" % (START + 700), " offset -1m", " @ end()",
                          " @ start() offset 30s"])

    def range(self, depth):
        how = self.rnd.random()
        if how < 0.5:
            return self.selector() + "[%s]" % self.pick(["3m", "90s", "5m"]) + self.modifier()
        return self.pick([self.selector(), "(%s)" % self.vector(depth - 1)]) + self.pick(
            ["[4m:1m]", "[3m:45s]"]) + self.modifier()

    def aggregation(self, depth):
        by = self.pick(["", " by (i)", " without (jobid)", " by (user)", " by (account,i)", " without (user)"])
        if self.rnd.random() < 0.3:
            # Which of equal values topk takes depends on the order of series, so
            # only sums over them are compared.
            group = self.pick(["", " by (i)"])
            one = "%s%s(%s, %s)" % (self.pick(["topk", "bottomk", "quantile"]), group,
                                    self.pick(["1", "scalar(count(%s))" % self.vector(depth - 1), "0.5"]),
                                    self.vector(depth - 1))
            return "%s%s(%s)" % (self.pick(["sum", "max", "count"]), group, one)
        return "%s%s(%s)" % (self.pick(["sum", "count", "max", "min", "avg", "group", "stddev"]), by,
                             self.vector(depth - 1))

    def call(self, depth):
        how = self.rnd.random()
        if how < 0.55:
            return "%s(%s)" % (self.pick(
                ["rate", "increase", "delta", "irate", "sum_over_time", "max_over_time", "last_over_time", "changes",
                 "resets", "absent_over_time", "deriv", "count_over_time", "present_over_time", "stddev_over_time"]),
                self.range(depth))
        if how < 0.65:
            return "quantile_over_time(scalar(%s)/50, %s)" % (self.vector(depth - 1), self.range(depth))
        if how < 0.75:
            return self.pick(self.changes) % ("(%s)" % self.vector(depth - 1))
        return "%s(%s)" % (self.pick(["abs", "absent", "timestamp", "sort", "sort_desc", "-", "exp"]),
                           self.vector(depth - 1))

    def binary(self, depth):
        return "(%s%s%s)" % (self.vector(depth - 1), self.pick(self.binaries), self.vector(depth - 1))

    def vector(self, depth):
        if depth <= 0:
            return self.selector() + self.modifier()
        return self.pick([
            lambda: self.selector() + self.modifier(), lambda: self.aggregation(depth), lambda: self.call(depth),
            lambda: self.call(depth), lambda: self.binary(depth), lambda: self.binary(depth),
            lambda: "vector(scalar(%s))" % self.vector(depth - 1),
            lambda: 'count_values("v", round(%s + 0.123456, 7))' % self.vector(depth - 1),
            lambda: "%s %s %s" % (self.vector(depth - 1), self.pick("+-*/"), self.pick(["2", "7", "1e3"]))])()


def rounded(value):
    """The value with rounded numbers: sums of floats depend on the order of series."""
    if isinstance(value, list):
        return [rounded(v) for v in value]
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    try:
        return "%.9g" % float(value) if abs(float(value)) > 1e-9 else "0"
    except (ValueError, TypeError):
        return value


def plain(status, answer):
    """The part of a response that must be equal."""
    if answer["status"] != "success":
        return answer["errorType"]
    data = answer["data"]
    if not isinstance(data, dict):
        return sorted(json.dumps(x, sort_keys=True) for x in data)
    result = data["result"]
    if data["resultType"] in ("vector", "matrix"):
        result = sorted(rounded(result), key=lambda r: json.dumps(r, sort_keys=True))
    return [data["resultType"], result]


local = threading.local()


def post(url, path, form, headers):
    """One request on this thread's connection to a server."""
    known = local.__dict__.setdefault("known", {})
    url, base = re.match("(http://[^/]*)(.*)", url).groups()
    body = urllib.parse.urlencode(form)
    for again in (True, False):
        c = known.get(url) or known.setdefault(url, http.client.HTTPConnection(url.split("//")[1], timeout=300))
        try:
            c.request("POST", base + path, body, dict(headers, **{"Content-Type": "application/x-www-form-urlencoded"}))
            r = c.getresponse()
            return r.status, json.loads(r.read())
        except OSError:
            c.close()
            known.pop(url)
            if not again:
                raise


def parameters(rnd, query):
    """The path and parameters of a request."""
    how = rnd.random()
    if how < 0.1:
        match = rnd.choice(['{i=~".+"}', "job_a", '{__name__=~"job_.*"}', '{user!=""}', '{account=~"a.*"}',
                            '{__name__!~"other.*",i="1"}', "pub_n", '{__name__=~".+"}'])
        return "series", {"match[]": match, "start": START, "end": START + 1230}
    if how < 0.55:
        return "query", {"query": query, "time": START + 900}
    return "query_range", {"query": query, "start": START + 300, "end": START + 1100, "step": 100}


def compare(server, gate, user, own, path, form):
    """None when both responses are equal, else both; and the kind of response."""
    headers = dict([GRAFANA, ("X-Grafana-User", user)])
    status, answer = post("http://127.0.0.1:%d/prometheus/api/v1/" % gate.port, path, form, headers)
    if status == 403:
        return None, "refused"
    a, b = plain(status, answer), plain(*post(own, path, form, headers))
    if path == "series":
        # the gate adds match[] for accounts and public series, so a series can come twice;
        # series of other_c that a selector without a name returns are not compared
        a, b = list(dict.fromkeys(a)), list(dict.fromkeys(b))
        if not re.match(r"job_a|pub_n|.__name__=~.job", form["match[]"]):
            a, b = ([s for s in x if '"other_c"' not in s] for x in (a, b))
    kind = "error" if isinstance(b, str) else "empty" if not b or not b[-1] else "full"
    if server is FilledVictoriaMetrics and a != b and (isinstance(a, str) or isinstance(b, str)):
        return None, "other error"  # it accepts more than PromQL, and its errors depend on the order of series
    return (None if a == b else (a, b)), kind


def compare_all(server, gate, own, count, rnd):
    """The differences, and the number of responses of each kind."""
    grammar, users = Grammar(rnd, server), sorted(own)
    work = []
    for k in range(count):
        query = grammar.vector(rnd.choice((1, 2, 3)))
        work.append((users[k % len(users)],) + parameters(rnd, query))
    kinds, bad = {}, []

    def one(job):
        user, path, form = job
        return job, compare(server, gate, user, own[user], path, form)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for job, (difference, kind) in pool.map(one, work):
            kinds[kind] = kinds.get(kind, 0) + 1
            if difference:
                bad.append((job, "gate: %s" % str(difference[0])[:600], "own:  %s" % str(difference[1])[:600]))
    return bad, kinds


def start(gate, history):
    gate.start_with_prometheus(history.url, "--access.coordinators=a.ct1: user3", "--access.coordinators=acct2: user3",
                               "--access.coordinators=acct1: user2", "--gate.metrics=pub_* public",
                               "--gate.metrics=other_* user=owner account=project")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    rnd = random.Random(sys.argv[2] if len(sys.argv) > 2 else "gate")
    all_series = series(rnd)
    server = FilledVictoriaMetrics if sys.argv[3:] == ["victoria"] else FilledPrometheus
    everything = server(all_series)
    if everything.failure:
        skip("random queries", everything.failure)
        everything.stop()
        return plan()
    parts = {u: server([s for s in all_series if visible(u, *s[:2])]) for u in SEES}
    gates = [Gate()]
    try:
        start(gates[0], everything)
        own = {u: p.url + "/api/v1/" for u, p in parts.items()}
        if server is FilledVictoriaMetrics:
            # A query and its restricted form can differ there, as both are not quite PromQL: series
            # of NaN stay in a query until "and" or "or".  So both have the restricted form.
            for u in own:
                gates.append(Gate())
                start(gates[-1], parts[u])
                own[u] = "http://127.0.0.1:%d/prometheus/api/v1/" % gates[-1].port
        bad, kinds = compare_all(server, gates[0], own, count, rnd)
        print("# %d queries: %s" % (count, ", ".join("%d %s" % (n, k) for k, n in sorted(kinds.items()))))
        check(not bad, "%s: %d random queries have equal responses %s" % (
                  server.program, count, "through gates, from all series and from the user's series" if gates[1:]
                  else "from all series through the gate and from the user's series"),
              "%d differ" % len(bad), *bad[:5])
        check(kinds.get("full", 0) > count * 0.3, "more than 30 % of the queries have a result", kinds)
        check(kinds.get("refused", 0) < count * 0.02 and kinds.get("other error", 0) < count * 0.05,
              "few queries are refused or fail", kinds)
        same([g.stop() for g in gates], [0] * len(gates), "the servers end with status 0")
    finally:
        for g in gates:
            g.stop()
            g.clean_up()
        for p in [everything] + list(parts.values()):
            p.stop()
    return plan()


sys.exit(main())
