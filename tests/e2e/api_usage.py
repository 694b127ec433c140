#!/usr/bin/env python3
"""Usage, lists of users, accounts and clusters, and the OpenAPI document.  TAP."""
import calendar
import os
import re
import sqlite3
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import check, endpoints_with_rows, run, same, user  # noqa: E402

V1 = "/api/v1"


def num(text):
    return int(text) if text.isdigit() else None


def fetch(site, path, viewer="boss", **params):
    if params:
        path += "?" + urllib.parse.urlencode(params, doseq=True)
    return site.fetch(V1 + path, user(viewer))


def set_up(site):
    site.start("--access.trust-loopback", "--access.admins=boss",
               "--access.coordinators=acct1: user2")
    site.jobs = site.simulated_jobs()
    site.all = {"from": "2000-01-01", "to": site.now + 86400}


def sums(site, test):
    """Core hours and jobs that ended, from the simulated accounting."""
    cores = ended = 0
    for j in site.jobs:
        if num(j["Start"]) is None or not test(j):
            continue
        cores += num(j["ElapsedRaw"]) * num(j["AllocCPUS"])
        ended += num(j["End"]) is not None
    return round(cores / 3600, 3), ended


def near(row, want):
    return abs(row["core_hours"] - want[0]) < 0.002 and row["jobs_ended"] == want[1]


def totals(site):
    a = fetch(site, "/usage", **site.all)
    check(len(a.data) == 1 and near(a.data[0], sums(site, lambda j: True)),
          "the total of all users", a.data, sums(site, lambda j: True))
    check(not any(isinstance(v, (dict, list)) for v in a.data[0].values()), "rows of usage are flat")
    same(a.data[0]["energy_scheduler_kwh"], None, "unknown energy is null, not 0")
    for what, params, test in (
            ("a user's", {"user": "user3"}, lambda j: j["User"] == "user3"),
            ("an account's", {"account": "acct1"}, lambda j: j["Account"] == "acct1"),
            ("two partitions'", {"partition": "cpu,gpu"}, lambda j: True),
            ("an unknown user's", {"user": "nobody"}, lambda j: False)):
        row = fetch(site, "/usage", **params, **site.all).data[0]
        check(near(row, sums(site, test)), "%s total" % what, row, sums(site, test))
    for by, field in (("user", "User"), ("account", "Account"), ("partition", "Partition"),
                      ("cluster", "Cluster")):
        rows = fetch(site, "/usage", group_by=by, **site.all).data
        want = {j[field] for j in site.jobs if num(j["Start"]) is not None}
        same({r[by] for r in rows} - {r[by] for r in rows if not r["jobs_started"]}, want,
             "a row for each %s" % by)
        check(all(near(r, sums(site, lambda j, r=r: j[field] == r[by])) for r in rows),
              "rows have the sums of their jobs")
        same({frozenset(r) for r in rows}, {frozenset(rows[0])}, "rows have all keys")
    days = fetch(site, "/usage", group_by="day", **site.all).data
    check(abs(sum(r["core_hours"] for r in days) - sums(site, lambda j: True)[0]) < 0.1,
          "days add up to the whole")
    same([r["time"] for r in days], sorted(r["time"] for r in days), "rows are in their order")
    same(days[0]["time_ms"], calendar.timegm(time.strptime(days[0]["day"], "%Y-%m-%d")) * 1000,
         "a day begins at midnight of UTC")
    one = fetch(site, "/usage", group_by="day", **{"from": days[3]["time_ms"],
                                                   "to": days[4]["time_ms"] + 1000}).data
    same(one, days[3:5], "a range of days")
    months = fetch(site, "/usage", group_by="month,user", user="user3", **site.all).data
    check({r["user"] for r in months} == {"user3"} and all(len(r["month"]) == 7 for r in months),
          "usage grouped by month and user", months[:1])
    same(fetch(site, "/usage", group_by="day", **{"from": 0, "to": 86400}).data, [],
         "there is no usage before the first job")
    same(fetch(site, "/usage", group_by="name").status, 400, "other groups are refused")


def months(site):
    """Whole months, which have sums of their own, and days at both ends add up to the days of the period."""
    days = fetch(site, "/usage", group_by="day", **site.all).data
    first, last = (time.strptime(days[i]["day"], "%Y-%m-%d") for i in (0, -1))
    ends = calendar.monthrange(last.tm_year, last.tm_mon)[1]
    for since in (1, 2, first.tm_mday + 1):
        for upto in (ends, ends - 1, last.tm_mday - 1):
            begin = "%04d-%02d-%02d" % (first.tm_year, first.tm_mon, min(since, 28))
            end = "%04d-%02d-%02d" % (last.tm_year, last.tm_mon, max(upto, 1))
            within = [r for r in days if begin <= r["day"] <= end]
            params = {"from": begin, "to": end}
            row = fetch(site, "/usage", **params).data[0]
            rows = fetch(site, "/usage", group_by="month,user", **params).data
            for key in ("jobs_started", "jobs_ended", "jobs_completed", "core_hours", "job_hours"):
                want = sum(r[key] for r in within)
                check(abs(row[key] - want) < 0.01 + 0.001 * len(within) and abs(sum(r[key] for r in rows) - want) < 0.1,
                      "%s from %s to %s" % (key, begin, end), row[key], want)


def unused(site):
    """Usage has the core hours that were allocated but not used, and can be sorted by them."""
    want = {}
    for j in site.jobs:
        if num(j["End"]) is not None:  # until then the use is not known
            h, m, s = j["TotalCPU"].split(":")
            used = int(h) * 3600 + int(m) * 60 + int(s)
            want[j["User"]] = want.get(j["User"], 0) + num(j["ElapsedRaw"]) * num(j["AllocCPUS"]) - used
    rows = fetch(site, "/usage", group_by="user", sort="cpu_unused_hours", **site.all).data
    bad = [(r["user"], r["cpu_unused_hours"], want.get(r["user"])) for r in rows
           if abs((r["cpu_unused_hours"] or 0) - max(want.get(r["user"], 0), 0) / 3600) > 0.002]
    same(bad, [], "unused core hours of each user")
    for order in ("core_hours", "cpu_unused_hours"):
        values = [r[order] or 0 for r in fetch(site, "/usage", group_by="user,month", sort=order, **site.all).data]
        check(values == sorted(values, reverse=True) and values[0] > 0, "usage sorted by " + order, values[:5])
    a = fetch(site, "/usage", group_by="user", sort="name")
    check(a.status == 400 and "cpu_unused_hours" in a.json["error"], "another order is refused", a)


def access_rules(site):
    for viewer, test in (("user3", lambda j: j["User"] == "user3"),
                         ("user2", lambda j: j["User"] == "user2" or j["Account"] == "acct1"),
                         ("newcomer", lambda j: False)):
        row = fetch(site, "/usage", viewer, **site.all).data[0]
        check(near(row, sums(site, test)), "the total of %s is that of the visible jobs" % viewer, row)
        for params in ({"user": "*"}, {"user": "user1,user5"}, {"account": "acct0"},
                       {"group_by": "user", "account": "' OR 1=1 --"}):
            rows = fetch(site, "/usage", viewer, **{**params, "group_by": "user,account", **site.all}).data
            see = {(j["User"], j["Account"]) for j in site.jobs if test(j)}
            check({(r["user"], r["account"]) for r in rows} <= see,
                  "%s with %r gets usage of visible jobs only" % (viewer, params), rows[:2])
        rows = fetch(site, "/users", viewer).data
        same({r["user"] for r in rows}, {j["User"] for j in site.jobs if test(j)} | {viewer},
             "%s's list of users" % viewer)
        rows = fetch(site, "/accounts", viewer).data
        same({r["account"] for r in rows}, {j["Account"] for j in site.jobs if test(j)},
             "%s's list of accounts" % viewer)
    same({r["user"] for r in fetch(site, "/users").data}, {j["User"] for j in site.jobs},
         "an admin's list of users")
    rows = fetch(site, "/clusters", "user3").data
    check([r["cluster"] for r in rows] == ["fake"] and rows[0]["batch_system"] == "slurm"
          and abs(rows[0]["last_update_ms"] / 1000 - site.now) < 600, "clusters", rows)


def part_of(total, start, end, first, last):
    """The part of a total within days: whole units until their end minus those until their start."""
    if end <= start:
        return total if first <= end < last else 0
    first, last = max(first, start), min(last, end)
    return total * (last - start) // (end - start) - total * (first - start) // (end - start) if first < last else 0


def applications(site):
    """Sums by application are those of the jobs within the days, for each user of the jobs they may see."""
    db = sqlite3.connect(site.store)
    lines = {"vasp": "srun vasp_std", "gromacs": "srun gmx_mpi", None: "sbatch run.sh"}
    names = ["vasp", "gromacs", None, "vasp"]
    jobs = [j for j, in db.execute("SELECT id FROM job WHERE \"end\" IS NOT NULL")]
    for job in jobs:
        db.execute("INSERT INTO job_more(job, submit_line) VALUES(?1, ?2) ON CONFLICT DO UPDATE SET submit_line ="
                   " excluded.submit_line, script_application = NULL", (job, lines[names[job % 4]]))
        db.execute("UPDATE step SET name = NULL WHERE job = ?", (job,))
        db.execute("UPDATE job SET name = NULL WHERE id = ?", (job,))
        db.execute("INSERT INTO derive_todo(job) VALUES(?) ON CONFLICT DO NOTHING", (job,))
    db.commit()
    os.makedirs(site.folder + "/spool", exist_ok=True)
    site.derive_records(site.store)
    rows = db.execute("SELECT j.id, u.name, a.name, j.cpus, j.gpus, j.elapsed, j.cpu_usec, j.start, j.\"end\" FROM job AS j"
                      " JOIN user AS u ON u.id = j.user JOIN account AS a ON a.id = j.account WHERE j.\"end\""
                      " IS NOT NULL AND j.start IS NOT NULL").fetchall()
    db.close()
    site.refresh()
    middle = sorted(r[8] for r in rows)[len(rows) // 2]
    for viewer, sees in (("boss", lambda u, a: True), ("user2", lambda u, a: u == "user2" or a == "acct1"),
                         ("user3", lambda u, a: u == "user3"), ("nobody", lambda u, a: False)):
        for first, last in ((0, site.now + 86400), (middle, site.now + 86400), (0, middle)):
            got = fetch(site, "/applications", viewer, **{"from": first, "to": last}).data
            want = {}
            first, last = first - first % 86400, last - last % 86400 + 86400
            for job, u, a, cpus, gpus, elapsed, used, start, end in rows:
                name = names[job % 4]
                if name is None or not sees(u, a) or start >= last or end < first:
                    continue
                s = want.setdefault(name, dict.fromkeys(("jobs", "core", "known", "used", "gpu"), 0))
                s["jobs"] += first <= (end - (end > start)) < last
                core = (cpus or 0) * (elapsed or 0)
                for k, v in (("core", core), ("known", 0 if used is None else core), ("used", (used or 0) // 1000),
                             ("gpu", (gpus or 0) * (elapsed or 0))):
                    s[k] += part_of(v, start, end, first, last)
            shown = {r["application"]: [r["jobs"], r["core_hours"], r["cpu_efficiency_percent"], r["cpu_coverage"],
                                        r["gpu_hours"]] for r in got}
            def part(a, b):
                return 100 * a / b if b else None
            expected = {n: [s["jobs"], s["core"] / 3600, part(s["used"] / 1000, s["known"]), part(s["known"], s["core"]),
                            s["gpu"] / 3600] for n, s in want.items() if s["jobs"] or s["core"]}
            bad = [(n, shown.get(n), expected[n]) for n in expected if n not in shown or any(
                (x is None) != (y is None) or x is not None and abs(x - y) > 2e-3 for x, y in zip(shown[n], expected[n]))]
            check(not bad and set(shown) - {None} == set(expected), "applications of %s" % viewer, bad[:2], set(shown))
            same([r["core_hours"] for r in got], sorted((r["core_hours"] for r in got), reverse=True), "the largest first")
            total = fetch(site, "/usage", viewer, **{"from": first, "to": last - 1}).data
            for key in ("core_hours", "gpu_hours"):
                check(abs(sum(r[key] for r in got) - sum(r[key] or 0 for r in total)) < 0.01,
                      "the rest of %s is in the row without a name: %s" % (viewer, key), got, total)
            same(sum(r["jobs"] for r in got), sum(r["jobs_ended"] or 0 for r in total), "so are the jobs")
    same(fetch(site, "/applications", **{"from": 20, "to": 10}).status, 400, "a period that ends before it begins")
    page = site.fetch("/management?from=2000-01-01", user("boss")).body.decode()
    table = page.split("By application</h2>")[1].split("</table>")[0]
    check(all(n in table for n in ("vasp", "gromacs", "not recognised")),
          "the page for management shows applications", table[:900])


def with_default(path, keys):
    """The columns without the parameter fields: a list of jobs lacks some."""
    keys = list(keys)
    if not path.endswith("/jobs"):
        return keys
    more = {"gpus_requested", "cpu_efficiency_source", "memory_efficiency_source",
            "memory_charged_peak_bytes", "memory_peak_sampled", "memory_peak_charged", "energy_source", "energy_partial",
            "energy_scheduler_joules", "admin_comment", "gpu_allocated_seconds", "memory_allocated_mib_seconds",
            "reservation", "constraints", "time_limit_unlimited", "application", "application_by", "script_options",
            "gpu_fault", "gpu_conflicts", "hardware_failed", "memory_remote_percent", "suspended_measured_seconds"}
    return [k for k in keys[:keys.index("gpu_efficiency_percent")] if k not in more]


def described(site):
    """Each endpoint has the rows, columns, types and parameters of the OpenAPI document."""
    doc = site.fetch(V1 + "/openapi.json").json
    same(doc["openapi"], "3.1.0", "an OpenAPI document")
    same((doc["info"]["license"]["identifier"], doc["servers"]), ("MIT", [{"url": "/"}]),
         "licence and server")
    ops = [op for of in doc["paths"].values() for op in of.values()]
    names = [op.get("operationId") for op in ops]
    check(None not in names and len(set(names)) == len(names), "operations have unique names", names)
    of = doc["paths"][V1 + "/jobs/{job}"]["get"]
    check({"200", "400", "403", "404", "409", "429", "503"} <= set(of["responses"]), "refusals are described",
          list(of["responses"]))
    check("format" in [x["name"] for x in of["parameters"]], "format is a parameter")
    row = fetch(site, "/jobs", limit=1, state="completed", **site.all).data[0]
    check(site.add_measurements(row["jobid"]) == row["key"], "one job gets all derived values")
    steps = site.db().execute("SELECT (SELECT count(*) FROM step), (SELECT name FROM cluster)")
    check(steps.fetchone()[0] > 0, "the store has steps")
    for path, get in endpoints_with_rows(doc).items():
        real = path.replace("{job}", row["key"])
        a = site.fetch(real, user("boss"))
        if path.endswith("}/series"):  # api_series.py has a Prometheus for it
            same(a.status, 404, path + " needs a Prometheus")
            continue
        check(a.status == 200, "%s has status 200" % path, a)
        schema = get["responses"]["200"]["content"]["application/json"]["schema"]
        keys = schema["properties"]["data"]["items"]["properties"]
        rows = a.data or fetch(site, path[len(V1):], **site.all).data
        same([list(r) for r in rows[:3]], [with_default(path, keys)] * len(rows[:3]),
             "rows have the keys of the document")
        if path.endswith("/jobs"):
            rows = fetch(site, "/jobs", fields=",".join(keys), limit=3, **site.all).data
            same([list(r) for r in rows], [list(keys)] * 3, "rows have all keys on request")
        a = site.fetch(real, user("boss"), ("Accept", "text/csv"))
        content = get["responses"]["200"]["content"]
        check("text/csv" in content and a.headers["Content-Type"] == "text/csv; charset=utf-8"
              and a.body.split(b"\r\n")[0].decode().split(",") == with_default(path, keys),
              "CSV has the same columns", a)
        types = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
        check(all(v is None or isinstance(v, types[keys[k]["type"][0]])
                  for r in rows for k, v in r.items()), "values have the types of the document")
        known = {p["name"] for p in get["parameters"] if p["in"] == "query"}
        for name in known | {"nonsense"}:
            a = site.fetch(real + "?%s=" % name, user("boss"))
            # the admin has no jobs
            same(a.status, 400 if name not in known else 404 if name == "mine" and "{" in path
                 else 200, "%s?%s" % (path, name))
        same(site.fetch(real, user("a b")).status, 400, "a bad user is refused at %s" % path)
        same(site.fetch(real).status, 403, "a request without a user is refused")
        same(site.fetch(real, user("boss"), method="POST", body=b"{}").status, 405, "POST is refused")
        same((site.fetch(real, user("boss"), method="HEAD").status,
              site.fetch(real, user("boss"), method="HEAD").body), (200, b""), "HEAD")
    for base in ("/", "/api", "/api/v1", "/health"):
        same(site.fetch(base).status, 200, "%s needs no user" % base)


def cut(site):
    """A truncated response says so, in every format."""
    site.start("--access.trust-loopback", "--access.admins=boss", "--query.max-rows=1")
    csv, viewer = ("Accept", "text/csv"), user("boss")
    for whole, part in ((V1 + "/usage?from=0", V1 + "/usage?from=0&group_by=user"),
                        (V1 + "/findings?from=0&finding=low_cpu", V1 + "/findings?from=0")):
        same([site.fetch(p, viewer, csv).headers["X-Cut"] for p in (whole, part)], [None, "true"],
             "CSV: " + part)
        same([site.fetch(p, viewer).json["meta"]["cut"] for p in (whole, part)], [False, True], "JSON")
    same(["There are more rows" in site.fetch("/usage?from=2020-01-01&group_by=" + by, viewer).body.decode()
          for by in ("cluster", "user")], [False, True], "a page")
    a = site.fetch(V1 + "/jobs?from=0", viewer, csv)
    check(re.match(r"\d+\.\d+$", a.headers["X-Next-Cursor"]), "jobs have a cursor", a.headers)


sys.exit(run(set_up, totals, months, unused, applications, access_rules, described, cut, count=1000, days=40))
