#!/usr/bin/env python3
"""The PromQL gate with a real Prometheus: with any request, users get only public series
and those of jobs that they may see.  TAP."""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gate_lib import API, GRAFANA, Gate, FilledPrometheus, form  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

NOW = int(time.time())
OWNERS = {"user1": "acct1", "user2": "acct2", "user3": "acct1", "user4": "acct4"}
SEES = {"user1": {"user1"}, "user2": {"user1", "user2", "user3"}, "user4": {"user4"},
        "newcomer": set(), "boss": set(OWNERS)}


def series():
    times = [NOW - 600 + 30 * k for k in range(21)]
    values = [(t, k) for k, t in enumerate(times)]
    for user, account in OWNERS.items():
        own = dict(user=user, account=account, jobid="1" + user[-1], mark="mark-" + user)
        for name in ("batchjob_job_cpus", "batchjob_step_cpus", "unknown_metric", "ALERTS"):
            yield name, own, values
        # their label user does not name the owner
        yield "cgroup_info", dict(username=user, user="user1", mark="mark-" + user), values
        yield "site_figure", dict(owner=user, user="user1", mark="mark-" + user), values
    yield "batchjob_node_cpus", dict(node="n1", mark="mark-public"), values
    yield "batchjob_cluster_qos_jobs", dict(qos="q", mark="mark-none"), values
    yield "up", dict(instance="i", mark="mark-public"), values
    yield "uptime", dict(instance="i", mark="mark-none"), values


def hidden_marks(user, answer):
    """The marks in a response that the user must not see."""
    text = answer.body.decode()
    allowed = {"mark-public"} | {"mark-" + u for u in SEES[user]}
    if user == "boss":
        return []
    return sorted(m for m in {"mark-" + u for u in OWNERS} | {"mark-none"}
                  if m in text and m not in allowed)


def marks(answer, label="mark"):
    return sorted(r["metric"].get(label, "") for r in answer.data["result"])


def test_queries(gate):
    for user, seen in SEES.items():
        want = sorted("mark-" + u for u in seen)
        for name in ("batchjob_job_cpus", "batchjob_step_cpus", "unknown_metric", "cgroup_info",
                     "site_figure", '{__name__="ALERTS"}'):
            # these metrics have no label with the account
            own = [m for m in want if user != "user2" or name not in ("cgroup_info", "site_figure")
                   or m == "mark-user2"]
            same(marks(gate.get(user, "query", query=name)), own, "%s: %s" % (user, name))
            a = gate.post(user, "query_range", query="max_over_time(%s[2m])" % name, start=NOW - 300,
                          end=NOW, step=60)
            same(marks(a), own, "%s: a range query of %s" % (user, name))
        same(marks(gate.get(user, "query", query="batchjob_node_cpus or up")), ["mark-public"] * 2,
             user + ": public series")
    same(marks(gate.get("user1", "query", query="uptime")), [],
         "a metric whose name starts with that of a public one is not public")
    a = gate.get("user1", "query", query="count(batchjob_job_cpus)")
    same(a.data["result"][0]["value"][1], "1", "a count includes only own series")
    same(gate.get("user1", "query", query="1+1", time=4).data["result"][1], "2",
         "the query of Grafana's health check works")
    same(gate.get("user1", "query", query="batchjob_job_cpus[1m]").data["resultType"], "matrix",
         "a range selector returns a matrix")


def test_names(gate):
    def names(user, path, **parameters):
        a = gate.get(user, path, **parameters)
        b = a if path.startswith("label/") else gate.post(user, path, **parameters)
        if "data" not in a.json:
            raise RuntimeError("%s: %r" % (parameters, a))
        same(a.data, b.data, "%s: GET and POST of %s agree" % (user, path))
        return a.data
    public = {"mark-public"}
    for user, seen in SEES.items():
        want = {"mark-" + u for u in seen} | public
        # boss sees everything
        want = want | {"mark-none"} if user == "boss" else want
        same(set(names(user, "label/mark/values")), want, user + ": values of a label")
        for match in ('{mark!=""}', '{__name__=~".+"}', '{__name__!="x",mark=~".+"}'):
            same({s["mark"] for s in names(user, "series", m=match)}, want, user + ": series of " + match)
        same(names(user, "label/mark/values", m='{__name__="batchjob_node_cpus"}'), ["mark-public"],
             user + ": values of public series")
        a = gate.get(user, "label/mark/values", m=["batchjob_job_cpus", "up"])
        same(set(a.data), {"mark-" + u for u in seen} | public, user + ": values of a label for two selectors")
    same(names("newcomer", "labels"), ["__name__", "instance", "mark", "node"], "names of labels of public series")
    same(names("newcomer", "label/__name__/values"), ["batchjob_node_cpus", "up"], "names of public metrics")
    same(gate.get("user1", "series").status, 400, "series requires a selector")


def test_rest(gate):
    same(gate.get("user1", "status/buildinfo").json["status"], "success", "the version is available")
    same(gate.get("user1", "format_query", query="sum( a )").data, "sum(a)", "a query is formatted")
    same(gate.post("user1", "query_exemplars", query="batchjob_job_cpus", start=NOW - 60, end=NOW).data,
         [], "a query for exemplars returns none")
    same(gate.get("user1", "metadata").data, {}, "descriptions of metrics are available")


REFUSED = ["rules", "alerts", "targets", "targets/metadata", "alertmanagers", "read", "write",
           "status/config", "status/flags", "status/tsdb", "status/runtimeinfo", "admin/tsdb/snapshot",
           "admin/tsdb/delete_series", "parse_query", "scrape_pools", "notifications/live",
           "../../federate", "../../-/reload", "../../metrics", "../v1/query/", "query/..", "Query",
           "//query", "label/a/b/values", "label//values", "query%2e%2e", "status/../query"]


def test_paths(gate):
    for user in ("user1", "boss"):
        for path in REFUSED:
            a = gate.get(user, path, query="batchjob_job_cpus", m="{mark!=''}")
            check(a.status == 403 and a.json["errorType"] == "forbidden",
                  "%s: %s is refused" % (user, path), a)
            same(gate.post(user, path, m="up").status, 403, "%s: POST %s" % (user, path))
    for path in ("federate", "", "api", "api/v1", "api/v1/", "graph", "api/v2/query"):
        a = gate.fetch("/prometheus/" + path, GRAFANA, ("X-Grafana-User", "boss"))
        same(a.status, 403, "/prometheus/%s is refused" % path)
    for path in ("label/a%2Fb/values", "%00", "query%2F"):
        same(gate.get("user1", path, query="up").status, 400, path)
    for path in ("label/a-b/values", "label/a%20b/values", "label/%252e/values", "label/9/values"):
        a = gate.get("user1", path)
        check(a.status == 400 and a.json["errorType"] == "bad_data", path, a)
    same(gate.fetch(API + "query?query=up", GRAFANA, ("X-Grafana-User", "user1"), method="HEAD").status, 405,
         "HEAD is refused")
    same(gate.post("user1", "label/mark/values").status, 405, "POST of label values is refused")


def test_parameters(gate):
    own, q = "mark-user1", "batchjob_job_cpus"
    # encoded twice, the query is no PromQL
    same(gate.get("user1", "query?query=batchjob%255fjob").status, 400, "a query that is URL-encoded twice is refused")
    for what, a in (
            ("a query twice in the URL", gate.get("user1", "query?query=up&" + form(query=q))),
            ("a query in URL and body", gate.post("user1", "query", url="?query=up", query=q)),
            ("a query twice in the body", gate.post("user1", "query", body="query=up&query=" + q)),
            ("a second query with an encoded name", gate.post("user1", "query", body="query=up&%71uery=" + q)),
            ("a time twice", gate.get("user1", "query?query=up&time=1&time=2")),
            ("a semicolon", gate.post("user1", "query", body="query=up;query=" + q)),
            ("a bad escape", gate.post("user1", "query", body="query=%zz")),
            ("no query", gate.get("user1", "query", query="")),
            ("another Content-Type", gate.post("user1", "query", ("Content-Type", "multipart/form-data"),
                                               body="query=up")),
            ("no Content-Type", gate.fetch(API + "query", GRAFANA, ("X-Grafana-User", "user1"), method="POST",
                                 body=b"query=up")),
            ("a body of JSON", gate.fetch(API + "query", GRAFANA, ("X-Grafana-User", "user1"), method="POST",
                              body={"query": "up"})),
            ("a broken query", gate.get("user1", "query", query="sum(")),
            ("MetricsQL", gate.get("user1", "query", query='WITH (x = up) x')),
            ("or in a selector", gate.get("user1", "query", query='{user="a" or user="b"}')),
            ("a time that is not a number", gate.get("user1", "query", query="up", time="now")),
            ("a hexadecimal time", gate.get("user1", "query", query="up", time="0x10")),
            ("a step of 0", gate.get("user1", "query_range", query="up", start=1, end=2, step=0)),
            ("no step", gate.get("user1", "query_range", query="up", start=1, end=2)),
            ("an end before the start", gate.get("user1", "query_range", query="up", start=2, end=1, step=1)),
            ("too many steps", gate.get("user1", "query_range", query="up", start=1, end=20000, step=1)),
            ("too long a range", gate.get("user1", "query", query="rate(up[3y])")),
            ("too many points", gate.get("user1", "query", query="max_over_time(up[1d:1s])")),
            ("an expression as a selector", gate.get("user1", "series", m="up or up")),
            ("an empty selector", gate.get("user1", "series", m="")),
            ("a limit that is not a number", gate.get("user1", "labels", limit="x"))):
        check(a.status == 400 and a.json["errorType"] == "bad_data", what + " is refused", a)
    for query in ("info(up)", 'up{__tenant_id__="x"}', 'up{vm_account_id="1"}'):
        a = gate.get("user1", "query", query=query)
        check(a.status == 403 and a.json["errorType"] == "forbidden", query + " is refused", a)
    # unknown parameters are not passed on
    for extra in ("match[]={mark!=''}", "extra_label=a=b", "extra_filters[]={mark!=''}", "match=up",
                  "nocache=1", "storeMatch[]=x", "lookback_delta=1h", "stats=all"):
        a = gate.get("user1", "query?" + form(query=q) + "&" + extra)
        same(marks(a), [own], "own series only, with " + extra)
    for match in ("match[]", "match%5B%5D", "match%5b%5d"):
        a = gate.get("user1", "label/mark/values?%s={mark!=''}" % match)
        same(a.data, ["mark-public", own], "a selector as " + match)
    a = gate.post("user1", "series", url="?match[]={mark='mark-user2'}", m='{mark!=""}')
    same(hidden_marks("user1", a), [], "selectors in URL and body give no series of other users")
    for a in (gate.get("user1", "label/mark/values?user=user2&" + form(m='{mark!=""}')),
              gate.get("user1", "query", ("X-Grafana-User", "boss"), query=q),
              gate.get("user1", "query", ("X-Scope-OrgID", "boss"), ("X-Prom-Label-Policy", "a:b"),
                       query=q)):
        same(hidden_marks("user1", a), [], "a request with a second user name gives no series of others")
    same(gate.fetch(API + "query?query=up").status, 403, "a request without credentials is refused")
    same(gate.fetch(API + "query?query=up", GRAFANA).json["errorType"], "forbidden",
         "a request without a user is refused")


QUERIES = [
    '{mark!=""}', '{__name__=~".+"}', '{user="user2"}', '{user!="user1"}', '{user=~".*"}', '{user=""}',
    'batchjob_job_cpus or {mark!=""}', 'batchjob_job_cpus unless up', 'topk(9,{mark!=""})',
    'topk(scalar(count({mark!=""})), up)', 'label_replace(batchjob_job_cpus,"user","user2","","")',
    'count_values("mark",{mark!=""})', 'count by (mark)({mark!=""})', 'max_over_time({mark!=""}[5m:1m])',
    'last_over_time({mark!=""}[5m])', '{mark!=""} @ %d' % (NOW - 60), '{mark!=""} offset 1m',
    'up * on() group_left(mark) unknown_metric', '{__name__=~"batchjob_.*"}',
    '{__name__=~"cgroup_info|site_figure"}', '{__name__=~"up|batchjob_job_cpus"}',
    '{__name__=~"up|"}', '{__name__=~"(?i)UP|batchjob_job_cpus"}', '{__name__=~"up|cgroup.*"}',
    'sort({mark!=""})', 'absent({mark="mark-user2"})', 'timestamp({mark!=""})', '-{mark!=""}',
    'site_figure{user="user1"}', '{user="user1"}', '{user="user1",__name__!~"x"}',
    'quantile_over_time(scalar(count({mark!=""}))/99, {mark!=""}[2m])']


def test_leaks(gate):
    for user in ("user1", "user2", "user4", "newcomer"):
        bad = []
        for query in QUERIES:
            for a in (gate.get(user, "query", query=query),
                      gate.post(user, "query_range", query=query, start=NOW - 120, end=NOW, step=60)):
                # absent() returns labels of the query
                if [m for m in hidden_marks(user, a) if m not in query]:
                    bad.append((query, a.body[:300]))
        same(bad, [], user + ": %d queries return no series of other users" % len(QUERIES))


def main():
    prom = FilledPrometheus(list(series()))
    if prom.failure:
        skip("the gate", prom.failure)
        prom.stop()
        return plan()
    gate = Gate()
    try:
        gate.start_with_prometheus(prom.url, "--gate.metrics=site_figure user=owner")
        for test in (test_queries, test_names, test_rest, test_paths, test_parameters, test_leaks):
            test(gate)
        same(gate.stop(), 0, "the server ends with status 0")
    finally:
        gate.clean_up()
        prom.stop()
    return plan()


sys.exit(main())
