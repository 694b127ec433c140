#!/usr/bin/env python3
"""Jobs of API v1, compared with the accounting of a simulated cluster.  TAP."""
import csv
import io
import os
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import check, run, same, user  # noqa: E402

STATES = {"COMPLETED": "completed", "FAILED": "failed", "TIMEOUT": "timeout",
          "OUT_OF_MEMORY": "oom", "NODE_FAIL": "node_fail", "PREEMPTED": "preempted",
          "CANCELLED by 1002": "cancelled", "DEADLINE": "deadline", "BOOT_FAIL": "boot_fail",
          "PENDING": "pending", "RUNNING": "running"}


def num(text):
    return int(text) if text.isdigit() else None


def key(job):
    return "fake:%s:%s" % (job["JobIDRaw"], job["Submit"])


def fetch(site, path, user_name="boss", **params):
    if params:
        path += "?" + urllib.parse.urlencode(params, doseq=True)
    return site.fetch(path, user(user_name))


def pages(site, user_name="boss", limit=100, **params):
    """All rows of a list, page by page."""
    rows, cursor = [], ""
    while cursor is not None:
        a = fetch(site, "/api/v1/jobs", user_name, limit=limit, cursor=cursor, **params)
        if a.status != 200:
            return a
        rows += a.data
        cursor = a.json["meta"]["next"]
    return rows


def begin(site):
    site.start("--access.trust-loopback", "--access.admins=boss",
               "--access.coordinators=acct1: user2", "--query.max-rows=1000",
               "--query.longest-job=3650d")
    site.jobs = site.simulated_jobs()
    site.all = {"from": "2000-01-01", "to": site.now + 1}


def forms(site):
    """format=csv for browsers; times rounded to days, weeks and months."""
    a = fetch(site, "/api/v1/jobs", format="csv", limit=3, fields="key,state", **site.all)
    same((a.status, a.headers["Content-Type"], a.body.split(b"\r\n")[0]),
         (200, "text/csv; charset=utf-8", b"key,state"), "format=csv")
    for path in ("/usage", "/findings", "/accounts", "/me"):
        same(fetch(site, "/api/v1" + path, format="csv").headers["Content-Type"],
             "text/csv; charset=utf-8", "format=csv of " + path)
    same(fetch(site, "/api/v1/jobs", format="xml").status, 400, "an unknown format is refused")
    accept = site.fetch("/api/v1/me?format=json", user("boss"), ("Accept", "text/csv"))
    same(accept.headers["Content-Type"], "application/json", "the parameter format takes precedence over Accept")
    def span(start, end):
        meta = fetch(site, "/api/v1/jobs", limit=0, **{"from": start, "to": end}).json["meta"]
        return meta["from_ms"] // 1000, meta["to_ms"] // 1000
    now = int(time.time())
    day = now - now % 86400
    t = time.gmtime(now)
    month = day - (t.tm_mday - 1) * 86400
    monday = day - t.tm_wday * 86400
    before = time.gmtime(month - 86400)
    same(span("now/d", "now/d"), (day, day + 86399), "today")
    same(span("now-1d/d", "now-1d/d"), (day - 86400, day - 1), "yesterday")
    same(span("now/w", "now/w"), (monday, monday + 7 * 86400 - 1), "this week")
    same(span("now-1w/w", "now-1w/w"), (monday - 7 * 86400, monday - 1), "last week")
    same(span("now/M", "now")[0], month, "this month")
    same(span("now-%dd/M" % t.tm_mday, "now-%dd/M" % t.tm_mday),
         (month - before.tm_mday * 86400, month - 1), "last month")
    for bad in ("now/", "now/x", "now/dd", "now/d/d", "now-/d", "nowd"):
        same(fetch(site, "/api/v1/jobs", **{"from": bad}).status, 400, "not a time: " + bad)


def everything(site):
    rows = pages(site, **site.all)
    want = sorted(((num(j["Start"]) or num(j["Submit"])), key(j)) for j in site.jobs)
    same(len(rows), len(want), "every run is in the list, once")
    same(sorted(r["key"] for r in rows), sorted(k for _, k in want), "each run has its key")
    first = [num(j["Start"]) or num(j["Submit"]) for j in site.jobs]
    order = [(r["start_ms"] or r["submit_ms"]) // 1000 for r in rows]
    same(order, sorted(first, reverse=True), "newest first")
    same({frozenset(r) for r in rows}, {frozenset(rows[0])}, "every row has every key")
    check(not any(isinstance(v, (dict, list)) for r in rows for v in r.values()),
          "all values are flat")
    simulated_jobs = {key(j): j for j in site.jobs}
    wrong = []
    for r in rows:
        j = simulated_jobs[r["key"]]
        got = (r["jobid"], r["user"], r["uid"], r["account"], r["partition"], r["state"],
               r["state_raw"], r["name"], r["start_ms"], r["end_ms"], r["from"], r["to"],
               r["elapsed_seconds"],
               r["cpus"], r["nodelist"], r["work_dir"], r["memory_requested_bytes"])
        end = num(j["End"])
        want = (j["JobIDRaw"], j["User"], num(j["UID"]), j["Account"], j["Partition"],
                STATES[j["State"]], j["State"], j["JobName"] or None,
                num(j["Start"]) and num(j["Start"]) * 1000, end and end * 1000,
                (num(j["Start"]) or num(j["Submit"])) * 1000,
                str(end * 1000) if end else "now", num(j["ElapsedRaw"]), num(j["AllocCPUS"]),
                None if "None" in j["NodeList"] else j["NodeList"], j["WorkDir"],
                num(j["AllocCPUS"]) * 100 << 20)
        if got != want:
            wrong.append((got, want))
    check(not wrong, "rows have the cluster's values, hostile names included", *wrong[:2])
    r = next(r for r in rows if r["end_ms"])
    same(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(r["end_ms"] / 1000)), r["end"],
         "both forms of a time agree")
    used = r["cpu_used_seconds"] / (r["cpus"] * r["elapsed_seconds"]) * 100
    check(abs(r["cpu_efficiency_percent"] - used) < 0.1, "efficiency is in percent", r)


def filters(site):
    def keys(rows):
        return sorted(r["key"] for r in rows)

    def want(test):
        return sorted(key(j) for j in site.jobs if test(j))
    cases = [
        ("user", {"user": "user3"}, lambda j: j["User"] == "user3"),
        ("users", {"user": "user3,user5"}, lambda j: j["User"] in ("user3", "user5")),
        ("users in braces", {"user": "{user3,user5}"}, lambda j: j["User"] in ("user3", "user5")),
        ("users, repeated", {"user": ["user3", "user5"]},
         lambda j: j["User"] in ("user3", "user5")),
        ("var-user", {"var-user": "user3"}, lambda j: j["User"] == "user3"),
        ("nobody", {"user": "nobody"}, lambda j: False),
        ("no filter: empty", {"user": ""}, lambda j: True),
        ("no filter: *", {"user": "*"}, lambda j: True),
        ("no filter: $__all", {"var-user": "$__all"}, lambda j: True),
        ("another variable", {"var-ds": "x"}, lambda j: True),
        ("account", {"account": "acct1"}, lambda j: j["Account"] == "acct1"),
        ("account and user", {"account": "acct1", "user": "user5"},
         lambda j: j["Account"] == "acct1" and j["User"] == "user5"),
        ("partition", {"partition": "gpu"}, lambda j: j["Partition"] == "gpu"),
        ("cluster", {"cluster": "fake"}, lambda j: True),
        ("no such cluster", {"cluster": "other"}, lambda j: False),
        ("state", {"state": "oom"}, lambda j: j["State"] == "OUT_OF_MEMORY"),
        ("states", {"state": "oom,failed"}, lambda j: j["State"] in ("OUT_OF_MEMORY", "FAILED")),
        ("ended", {"state": "ended"}, lambda j: num(j["End"]) is not None),
        ("all states", {"state": "all"}, lambda j: True),
        ("node", {"node": "n05"}, lambda j: j["NodeList"] == "n05"),
        ("nodes", {"node": "n05,n06"}, lambda j: j["NodeList"] in ("n05", "n06")),
        ("text in name", {"name": "RUN.s"}, lambda j: "run.s" in j["JobName"]),
        ("wildcards are plain", {"name": "%"}, lambda j: "%" in j["JobName"]),
        ("a quote is plain", {"name": "\"'\\"}, lambda j: "\"'\\" in j["JobName"]),
        ("running", {"running": "true"}, lambda j: j["State"] == "RUNNING"),
        ("not running", {"running": "0"}, lambda j: j["State"] != "RUNNING"),
    ]
    for what, params, test in cases:
        got = pages(site, fields="key", limit=313, **params, **site.all)
        same(keys(got) if isinstance(got, list) else got, want(test), "filter: " + what)
    a = fetch(site, "/api/v1/jobs", limit=0, total=1, user="user3", **site.all)
    same((a.data, a.json["meta"]["total"]), ([], len(want(lambda j: j["User"] == "user3"))),
         "the total is counted")


def overlap(site):
    t = site.now - 10 * 86400
    spans = [(t, t + 86400), (t, t), (t * 1000, (t + 3600) * 1000),
             (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t)), t + 7200),
             (time.strftime("%Y-%m-%dT%H:%M:%S.000+0000", time.gmtime(t)), t + 7200),
             (site.now - 60, "now")]
    for low, high in spans:
        def sec(v):
            return (int(v) // 1000 if int(v) > 10**11 else int(v)) if isinstance(v, int) \
                else site.now + 5 if v == "now" else t
        want = sorted(key(j) for j in site.jobs
                      if (num(j["Start"]) or num(j["Submit"])) <= sec(high)
                      and (num(j["End"]) is None or num(j["End"]) >= sec(low)))
        rows = pages(site, fields="key", **{"from": low, "to": high})
        same(sorted(r["key"] for r in rows), want, "overlap with %s to %s" % (low, high))


def one(site):
    ids = {}
    for j in site.jobs:
        ids.setdefault(j["JobIDRaw"], []).append(j)
    single = next(v[0] for v in ids.values() if len(v) == 1)
    double = next(v for v in ids.values() if len(v) == 2)
    for name in (key(single), single["JobIDRaw"]):
        a = fetch(site, "/api/v1/jobs/" + name)
        same([r["key"] for r in a.data], [key(single)], "one job by %s" % name)
    a = fetch(site, "/api/v1/jobs/" + double[0]["JobIDRaw"])
    same((a.status, sorted(r["key"] for r in a.data)), (409, sorted(map(key, double))),
         "an id of two runs is reported as ambiguous")
    a = fetch(site, "/api/v1/jobs/" + key(double[1]))
    same([r["key"] for r in a.data], [key(double[1])], "each run is found by its key")
    a = fetch(site, "/api/v1/jobs", job=key(double[0]), fields="key")
    same(a.data, [{"key": key(double[0])}], "the filter job lists one job by its key")
    for bad in ("none", "99999999", "fake:1:2", "a:b", ":::", "0" + single["JobIDRaw"], "%27",
                "s00000000000000", "1_2", "x" * 150):
        same(fetch(site, "/api/v1/jobs/" + bad).status, 404, "no such job: %s" % bad[:20])


def only_visible_jobs(site):
    """No request shows a user jobs that the access rules hide."""
    mine = {"user%d" % n: {key(j) for j in site.jobs if j["User"] == "user%d" % n}
            for n in (0, 2, 3)}
    coordinated = {key(j) for j in site.jobs if j["Account"] == "acct1"}
    for user_name, own in mine.items():
        see = own | (coordinated if user_name == "user2" else set())
        got = {r["key"] for r in pages(site, user_name, fields="key", **site.all)}
        same(got, see, "%s sees the jobs that the access rules allow" % user_name)
        got = {r["key"] for r in pages(site, user_name, fields="key", mine="1", **site.all)}
        same(got, own, "with mine %s sees own jobs only" % user_name)
        for params in ({"user": "user1"}, {"user": "user1,user7"}, {"user": "*"},
                       {"var-user": "$__all"}, {"account": "acct0,acct1,acct2,acct3"},
                       {"user": "' OR 1=1 --"}, {"name": "' OR '1'='1"}, {"node": "n01') OR (1"},
                       {"partition": "x\") OR 1=1; --"}, {"cluster": "fake' UNION SELECT 1"},
                       {"cursor": "9999999999.9999999999"}, {"state": "all"}):
            rows = pages(site, user_name, fields="key", **{**site.all, **params}) \
                if "cursor" not in params \
                else fetch(site, "/api/v1/jobs", user_name, fields="key", **{**site.all, **params}).data
            check(isinstance(rows, list) and {r["key"] for r in rows} <= see,
                  "%s with %r shows no job of another user" % (user_name, params), str(rows)[:300])
    foreign = next(j for j in site.jobs if j["User"] == "user1" and j["Account"] == "acct1")
    hidden = next(j for j in site.jobs if j["User"] == "user3")
    same(fetch(site, "/api/v1/jobs/" + key(foreign), "user2").status, 200, "a coordinator sees a job of the account")
    a, b = (fetch(site, "/api/v1/jobs/" + k, "user0") for k in (key(hidden), "fake:1:1"))
    same((a.status, a.body), (b.status, b.body), "another user's job looks like one that does not exist")
    a = fetch(site, "/api/v1/jobs", "newcomer")
    same((a.status, a.data), (200, []), "a user without jobs has an empty list")
    fetch(site, "/api/v1/jobs/" + key(hidden))
    with open(site.log) as f:
        text = f.read()
    check('user="boss"' in text and 'admin_about="user3"' in text
          and 'admin_about="%s"' % key(hidden) in text,
          "the log shows whose jobs an admin reads")


def invalid_requests(site):
    for query in ("limit=x", "limit=-1", "from=yesterday", "from=2026-13-01", "to=1e9",
                  "from=20&to=10", "cursor=x", "cursor=1", "cursor=1.2.3", "cursor=-1.5",
                  "fields=key,nothing", "state=sleeping", "order=up", "nothing=1", "mine=perhaps",
                  "name=a&name=b", "user=a%00b", "from=99999999999999999999", "name=" + "x" * 300,
                  "user=" + ",".join("u%d" % i for i in range(300)), "account'=1"):
        a = site.fetch("/api/v1/jobs?" + query, user("boss"))
        check(a.status == 400 and a.json["errorType"] == "bad_data"
              and a.json["error"].endswith("."), "%s is 400" % query[:40], a)
    for query, words in (("limti=3", "limti limit cursor from"), ("state=sleeping", "sleeping oom ended Slurm"),
                         ("from=yesterday", "from ISO now"), ("cursor=x", "cursor meta.next"),
                         ("fields=idd", "idd /api/v1/openapi.json")):
        a = site.fetch("/api/v1/jobs?" + query, user("boss"))
        check(all(w in a.json["error"] for w in words.split()), "%s: the error lists the known values" % query, a)
    lists = [[j["key"] for j in site.fetch("/api/v1/jobs?from=0&limit=1000&fields=key&state=" + s,
                                           user("boss")).data]
             for s in ("failed", "FAILED", "f", "Failed,oom", "OUT_OF_MEMORY,FAILED")]
    check(lists[0] and lists[0] == lists[1] == lists[2] and lists[3] == lists[4] and len(lists[3]) > len(lists[0]),
          "states are also accepted as Slurm writes them", [len(x) for x in lists])
    a = site.fetch("/api/v1/jobs?limit=100000", user("boss"))
    same(a.json["meta"]["limit"], 1000, "no reply is longer than the limit")


def times(site):
    """Each notation of a time gives the same time."""
    def begin(text):
        reply = site.fetch("/api/v1/jobs?to=now&limit=1&from=" + text, user("boss"))
        if reply.status != 200:
            check(False, text + " is a time", reply.status, reply.body[:300])
            return 0
        return reply.json["meta"]["from_ms"]
    for text in ("1793487600", "1793487600000", "2026-10-31T23:00:00Z", "2026-10-31T23:00:00",
                 "2026-11-01T00:00:00%2B01:00", "2026-11-01T00:00:00+01:00",
                 "2026-11-01T00:00:00+0100", "2026-10-31T20:00:00-03:00",
                 "2026-11-01T00:00:00.000+01:00"):
        same(begin(text), 1793487600000, text)
    for text, ago in (("now-7d", 7 * 86400), ("now-1h30m", 5400), ("now-90", 90), ("now", 0)):
        before = time.time()
        got = begin(text) / 1000 + ago
        check(before - 1 <= got <= time.time(), "%s is %d s ago" % (text, ago), got, before)
    for text in ("2026-11-01T00:00:00+", "2026-11-01T00:00:00+x", "2026-11-01T+01:00",
                 "2026-11-01T00:00:00++01:00", "now-", "now-1x", "now+1d", "nowadays",
                 "now-90000d", "now--1d"):
        same(site.fetch("/api/v1/jobs?from=" + text, user("boss")).status, 400, text + " is not a time")


def many_accounts(site):
    """A coordinator of 500 accounts can use all filters."""
    site.start("--access.trust-loopback", *["--access.coordinators=acct%d: lead" % i
                                            for i in range(500)])
    want = site.fetch("/api/v1/jobs?from=0&limit=50&fields=key", user("lead")).data
    nodes = ",".join("n%02d" % i for i in range(100))
    users = ",".join("user%d" % i for i in range(90))
    a = site.fetch("/api/v1/jobs?from=0&limit=50&fields=key&user=%s&node=%s" % (users, nodes),
                   user("lead"))
    check(a.status == 200 and a.data and len(want) == 50, "a coordinator of many accounts uses all filters", a)
    on = lambda text: [j["key"] for j in site.fetch("/api/v1/jobs?from=0&limit=500&fields=key&node=" + text,
                                                    user("lead")).data]
    got = on("n[05-07,11],n13")
    check(got and got == on("n05,n06,n07,n11,n13") and got != on("n05,n06,n07,n11"), "nodes are filtered by lists", got)
    same(site.fetch("/api/v1/jobs?from=0&node=n[7-5]", user("lead")).status, 400, "a bad list of nodes is an error")


def as_csv(site):
    a = site.fetch("/api/v1/jobs?limit=500&from=2000-01-01&fields=key,name,end_ms", user("boss"),
                   ("Accept", "text/csv"))
    rows = list(csv.reader(io.StringIO(a.body.decode(), newline="")))
    check(a.headers["Content-Type"].startswith("text/csv") and rows[0] == ["key", "name", "end_ms"]
          and len(rows) == 501 and {len(r) for r in rows} == {3}, "CSV by Accept", rows[:3])
    check(not any(r[1][:1] in ("=", "-", "+", "@") for r in rows), "no cell of CSV is a formula")
    check(a.headers["X-Next-Cursor"], "CSV has the cursor of the next page")


def stable(site):
    """An import between two pages neither repeats nor hides a job."""
    a = fetch(site, "/api/v1/jobs", limit=100, fields="key", **site.all)
    cursor = a.json["meta"]["next"]
    rows = [r["key"] for r in a.data]
    site.simulation["count"] += 0
    site.fill()
    while cursor:
        a = fetch(site, "/api/v1/jobs", limit=100, fields="key", cursor=cursor, **site.all)
        rows += [r["key"] for r in a.data]
        cursor = a.json["meta"]["next"]
    same((len(rows), len(set(rows))), (len(site.jobs),) * 2, "pages have each job once during an import")
    up = [r["key"] for r in pages(site, fields="key", order="asc", **site.all)]
    same(up, rows[::-1], "pages in ascending order have the same jobs")


sys.exit(run(begin, forms, everything, filters, overlap, one, only_visible_jobs, invalid_requests, times, as_csv,
             stable, many_accounts, count=1200, days=20))
