#!/usr/bin/env python3
"""The endpoints of Grafana's simPod JSON data source.  TAP."""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import check, run, same, user  # noqa: E402

BASE = "/api/simpod"


def iso(sec):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(sec))


def post(site, name, body, user_name="boss"):
    return site.fetch(BASE + "/" + name, user(user_name), ("Content-Type", "application/json"),
                      method="POST", body=body)


def query(site, *targets, user_name="boss", **more):
    return post(site, "query", {
        "app": "dashboard", "requestId": "Q1", "timezone": "utc", "panelId": 1,
        "range": {"from": iso(site.now - 30 * 86400), "to": iso(site.now + 60),
                  "raw": {"from": "now-30d", "to": "now"}},
        "interval": "30s", "intervalMs": 30000, "maxDataPoints": 500,
        "scopedVars": {"__interval": {"text": "30s", "value": "30s"}}, **more,
        "targets": [dict(refId=chr(65 + i), **t) for i, t in enumerate(targets)]}, user_name)


def set_up(site):
    site.start("--access.trust-loopback", "--access.admins=boss", "--query.max-rows=100000")
    site.jobs = site.simulated_jobs()
    a = site.fetch(BASE)
    same(a.status, 200, "health")


def tables(site):
    a = query(site, {"target": "jobs", "payload": {"user": "user3", "limit": 1000}})
    t = a.json[0]
    same((t["refId"], t["type"], len(t["rows"])),
         ("A", "table", sum(j["User"] == "user3" for j in site.jobs)), "a table of jobs")
    names = [c["text"] for c in t["columns"]]
    types = {c["text"]: c["type"] for c in t["columns"]}
    same((types["start_ms"], types["jobid"], types["cpus"]), ("time", "string", "number"),
         "columns have types")
    check(all(len(r) == len(names) and r[names.index("user")] == "user3" for r in t["rows"]),
          "rows are of full length")
    check(all(isinstance(r[names.index("submit_ms")], int) for r in t["rows"]),
          "times are numbers")
    a = query(site, {"target": "jobs", "payload": {"account": ["acct1", "acct2"], "limit": 1,
                                                   "fields": ["key", "state"]}},
              {"target": "usage", "payload": {"group_by": "account"}})
    same(([c["text"] for c in a.json[0]["columns"]], a.json[1]["refId"]),
         (["key", "state"], "B"), "several targets, fields, lists")
    same({r[1] for r in a.json[1]["rows"]}, {"acct0", "acct1", "acct2", "acct3"},
         "usage by account")
    a = query(site, {"target": "jobs", "data": {"user": "user3", "limit": 1000}, "type": "table"})
    same(len(a.json[0]["rows"]), len(t["rows"]), "data, the old name of payload, works")
    for name in ("filters", "adhocFilters"):
        a = query(site, {"target": "jobs", "payload": {"limit": 1000}},
                  **{name: [{"key": "user", "operator": "=", "value": "user3"}]})
        same(len(a.json[0]["rows"]), len(t["rows"]), "ad hoc filters in " + name)
    same(query(site, {"target": ""}).json, [], "a target without a name is ignored")


def series(site):
    day = query(site, {"target": "usage", "payload": {"group_by": "day", "user": "user3"}}).json[0]
    names = [c["text"] for c in day["columns"]]
    a = query(site, {"target": "core_hours", "payload": {"user": "user3"}},
              {"target": "cpu_efficiency_percent", "payload": {}})
    s = a.json[0]
    same((s["target"], s["refId"]), ("core_hours", "A"), "a series")
    same(s["datapoints"], [[r[names.index("core_hours")], r[names.index("time_ms")]]
                           for r in day["rows"]], "value first, then milliseconds")


def lists(site):
    whole = [x["value"] for x in post(site, "metrics", {}).json]
    same(post(site, "search", {"target": ""}).json, whole, "/search and /metrics agree")
    check({"jobs", "usage", "energy_scheduler_kwh"} <= set(whole), "the list of metrics has jobs, usage and energy")
    users = sorted({j["User"] for j in site.jobs})
    same(post(site, "variable", {"payload": {"target": "users"}, "range": {}}).json,
         [{"__text": u, "__value": u} for u in users], "a variable")
    same(post(site, "metric-payload-options",
              {"metric": "jobs", "payload": {}, "name": "account"}).json,
         [{"label": "acct%d" % i, "value": "acct%d" % i} for i in range(4)], "options")
    same([k["text"] for k in post(site, "tag-keys", b"").json],
         ["user", "account", "partition", "cluster"], "keys of ad hoc filters")
    same(post(site, "tag-values", {"key": "cluster"}).json, [{"text": "fake"}], "values of ad hoc filters")


    same(post(site, "search", {"target": "accounts"}).json, ["acct%d" % i for i in range(4)],
         "/search for variables, as until 0.3")
    same(post(site, "options", {"metric": "jobs", "name": "cluster"}).json,
         [{"label": "fake", "value": "fake"}], "/options, as in pre-releases")


def annotate(site, user_name, query_text, since=30 * 86400):
    return post(site, "annotations", {
        "annotation": {"query": query_text, "name": "jobs", "datasource": "x", "enable": True,
                       "iconColor": "red"},
        "range": {"from": iso(site.now - since), "to": iso(site.now + 60), "raw": {}},
        "rangeRaw": {"from": "now-30d", "to": "now"}, "variables": {}}, user_name)


def annotations(site):
    """Jobs are annotations in the format of plugins until 0.4: regions with title, text and tags."""
    mine = [j for j in site.jobs if j["User"] == "user3" and j["Start"] != "Unknown"]
    a = annotate(site, "user3", '{"limit": 1000}')
    same(sorted(x["time"] for x in a.json), sorted(int(j["Start"]) * 1000 for j in mine),
         "a job is an annotation")
    ended = [x for x in a.json if "timeEnd" in x]
    same(sorted(x["timeEnd"] for x in ended),
         sorted(int(j["End"]) * 1000 for j in mine if j["End"] != "Unknown"), "an annotation ends with its job")
    check(all(x["title"].startswith("Job ") and isinstance(x["text"], str)
              and len(x["tags"]) == 3 and x["tags"][1] == "user3" for x in a.json), "annotations have titles and tags")
    got = annotate(site, "boss", '{"user": "user3", "state": "failed", "limit": 1000}').json
    same({(x["tags"][0], x["tags"][1]) for x in got}, {("failed", "user3")}, "a query filters annotations")
    same(len(annotate(site, "user3", "").json), min(100, len(mine)), "annotations without a query are jobs")
    same(len(annotate(site, "user3", "my jobs").json), min(100, len(mine)), "annotations ignore a text that is no filter")
    same(annotate(site, "newcomer", "").json, [], "a user without jobs has no annotations")
    same(annotate(site, "user3", '{"user": "user4"}').json, [], "jobs of other users are not annotations")
    same(annotate(site, "user3", '{"user"').status, 400, "a query of annotations that is not JSON")
    same(annotate(site, "user3", '{"limit": "x"}').status, 400, "a bad value in a query of annotations")


def only_visible_jobs(site):
    a = query(site, {"target": "jobs", "payload": {"limit": 1000, "user": "*",
                                                   "fields": "user"}}, user_name="user3")
    same({r[0] for r in a.json[0]["rows"]}, {"user3"}, "jobs of others are not shown")
    a = query(site, {"target": "usage", "payload": {"group_by": "user"}}, user_name="user3")
    same({r[2] for r in a.json[0]["rows"]}, {"user3"}, "usage of other users is not shown")
    same(post(site, "variable", {"payload": {"target": "users"}}, "user3").json,
         [{"__text": "user3", "__value": "user3"}], "names of other users are not shown")
    for name in ("query", "metrics", "search", "variable", "metric-payload-options", "tag-keys",
                 "tag-values", "annotations", "options"):
        same(site.fetch(BASE + "/" + name, method="POST", body=b"{}").status, 403,
             "/%s needs a user" % name)
        same(site.fetch(BASE + "/" + name, user("boss")).status, 405, "the endpoint refuses GET")


def wrong(site):
    for what, body in (("not JSON", b"{"), ("an array", b"[]"), ("empty", b""),
                       ("a number", b"1"), ("deeply nested", b"[" * 50 + b"]" * 50),
                       ("not UTF-8", b'{"targets":[{"target":"\xff"}]}'),
                       ("with a NUL", b'{"targets":[{"target":"jobs","payload":{"user":"a\\u0000"}}]}'),
                       ("with an unknown target", b'{"targets":[{"target":"drop"}]}'),
                       ("with too many targets", b'{"targets":[%s]}' % b",".join([b'{"target":"jobs"}'] * 21)),
                       ("with an unknown operator", b'{"targets":[{"target":"jobs"}],"filters":[{"key":"user",'
                        b'"operator":"=~","value":"."}]}'),
                       ("with a bad value", b'{"targets":[{"target":"jobs","payload":{"limit":"x"}}]}'),
                       ("with SQL", b'{"targets":[{"target":"jobs","payload":{"user":"\' OR 1=1"}}]}')):
        a = post(site, "query", body)
        good = (a.status == 400 and a.json["status"] == "error") or (
            a.status == 200 and isinstance(a.json, list) and not any(t["rows"] for t in a.json))
        check(good, "a query is refused or finds nothing: %s" % what, a)
        for name in ("variable", "metric-payload-options", "tag-values"):
            check(post(site, name, body).status == 400, "/%s refuses it, too" % name)
    same(site.fetch("/health").status, 200, "requests succeed afterwards")


sys.exit(run(set_up, tables, series, lists, annotations, only_visible_jobs, wrong, count=600, days=20))
