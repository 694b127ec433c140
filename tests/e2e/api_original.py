#!/usr/bin/env python3
"""The API of the original stats server, corrected and with --original.strict.  TAP."""
import os
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
os.environ["TZ"] = "Europe/Paris"
time.tzset()
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import check, run, same, user  # noqa: E402

KEYS = ["jobid", "id", "partition", "account", "group", "gid", "user", "uid", "submit", "start",
        "end", "elapsed", "exitcode", "state", "nnodes", "nodelist", "nodelistexp"]


def clock(sec):
    days = "%d-" % (sec // 86400) if sec >= 86400 else ""
    return days + "%02d:%02d:%02d" % (sec // 3600 % 24, sec // 60 % 60, sec % 60)


def fetch(site, path, user_name="user3", **params):
    return site.fetch(path + "?" + urllib.parse.urlencode(params, doseq=True), user(user_name))


def corrected(site):
    site.start("--access.trust-loopback", "--access.admins=boss", "--query.max-rows=100000")
    site.jobs = [j for j in site.simulated_jobs() if j["Start"].isdigit()]
    same((site.fetch("/api/health").status, site.fetch("/api/health").body), (200, b"OK"),
         "/api/health")
    a = fetch(site, "/api/accounts")
    same(list(a.json), ["status", "errorType", "error", "warnings", "data"],
         "the envelope's keys are in their order")
    same(a.data, [{"id": "acct3"}], "the accounts of a user")
    for params in ({"from": "2000-01-01"}, {"from": 946684800, "account": "acct3"},
                   {"from": 946684800000, "var-account": "$__all"},
                   {"from": "2000-01-01T00:00:00+01:00", "account": "acct0,acct3"}):
        got = fetch(site, "/api/jobs", **params).data
        want = [j for j in site.jobs if j["User"] == "user3"]
        same(sorted((r["jobid"], r["submit"]) for r in got),
             sorted((j["JobIDRaw"], time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                                  time.gmtime(int(j["Submit"])))) for j in want),
             "jobs with %r" % (params,))
    starts = [r["start"] for r in got]
    check(len(set(starts)) > 2 and starts == sorted(starts, reverse=True), "the newest job is first")
    same(list(got[0]), KEYS, "a job's keys")
    check(all(isinstance(v, str) for r in got for v in r.values()), "all values are text")
    same(fetch(site, "/api/jobs", account="acct1", **{"from": 0}).data, [], "jobs of other accounts are absent")
    week = [j for j in site.jobs if j["User"] == "user3"
            and int(j["Start"]) >= site.now - 168 * 3600]
    same(len(fetch(site, "/api/jobs").data), len(week), "without times the jobs of the last week are listed")
    same(len(fetch(site, "/api/jobs", "boss").data), 0, "an admin, too, gets own jobs only")
    same(site.fetch("/api/jobs").status, 403, "a request without a user is refused")
    same(fetch(site, "/api/jobs", **{"from": "x"}).status, 400, "a bad time is 400")


def strict(site):
    site.start("--access.trust-loopback", "--original.strict", "--query.max-rows=100000")
    a = site.fetch("/api/jobs")
    same((a.status, a.json), (200, {"status": "error", "errorType": "User Error",
                                    "error": "No user identified", "warnings": None, "data": []}),
         "strict: no user is status 200")
    same(fetch(site, "/api/jobs").json["data"], None, "strict: without an account data is null")
    same(fetch(site, "/api/accounts", "nobody").json["data"], None, "strict: no accounts are null")
    got = fetch(site, "/api/jobs", account="acct3", **{"from": "2000", "to": "3000"}).data
    kept = ("COMPLETED", "FAILED", "CANCELLED by 1002", "NODE_FAIL", "PREEMPTED", "TIMEOUT")
    want = {}
    for j in site.jobs:
        if j["User"] == "user3" and j["State"] in kept:
            def local(t):
                return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(int(t)))
            want[j["JobIDRaw"], local(j["Submit"])] = (
                j["Partition"], j["Account"], j["Group"], j["User"], j["UID"], local(j["Start"]),
                local(j["End"]), clock(int(j["ElapsedRaw"])), j["ExitCode"], j["State"],
                j["NNodes"], j["NodeList"], j["NodeList"])
    have = {(r["jobid"], r["submit"]): tuple(r[k] for k in (
        "partition", "account", "group", "user", "uid", "start", "end", "elapsed", "exitcode",
        "state", "nnodes", "nodelist", "nodelistexp")) for r in got}
    same(have, want, "strict: %d jobs as sacct wrote them, in local time" % len(want))
    starts = [r["start"] for r in got]
    check(len(set(starts)) > 2 and starts == sorted(starts), "strict: the oldest job is first")
    low, high = sorted(r["start"] for r in got)[2:5:2]
    same(len(fetch(site, "/api/jobs", account="acct3", **{"from": low, "to": high}).data), 3,
         "strict: times are compared as text")
    same(fetch(site, "/api/jobs", account="acct3", **{"from": "946684800", "to": "999"}).data, None,
         "strict: so epoch seconds find nothing")
    same(fetch(site, "/api/jobs", account="acct3' OR 1=1 --", **{"from": "2000"}).json["data"], None,
         "strict: a parameter is not executed as SQL")


sys.exit(run(corrected, strict, count=800, days=20))
