#!/usr/bin/env python3
"""Steps, energy, emissions and findings of one job, findings and emission factors
of many, constants, storage, heterogeneous jobs, UUIDs, GPU models.  TAP."""
import csv
import io
import json
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import HOST, check, run, same, user  # noqa: E402

V1 = "/api/v1"
PARTS = ["steps", "energy", "emissions", "findings"]


def importer_values(site):
    """Findings and CPU efficiencies are those of the store's views; set_up() then
    replaces them by known values."""
    a = site.fetch(V1 + "/findings?from=0&limit=100000", user("boss"))
    want = site.db().execute("SELECT name, severity, text FROM job_finding_v").fetchall()
    same(sorted((r["finding"], r["severity"], r["text"]) for r in a.data), sorted(want),
         "findings of the importer")
    check(len(want) > 10, "there are findings", len(want))
    a = site.fetch(V1 + "/jobs?from=0&limit=100000&fields=key,cpu_efficiency_percent,"
                   "cpu_efficiency_source,findings", user("boss"))
    want = dict((k, (e, s)) for k, e, s in site.db().execute(
        "SELECT (SELECT name FROM cluster) || ':' || j.jobid || ':' || j.submit,"
        " coalesce(u.cpu_efficiency_ppm, v.cpu_usec / (v.cpus * v.elapsed_seconds)),"
        " ifnull(u.cpu_efficiency_source, 'scheduler') FROM job AS j JOIN job_v AS v ON v.id = j.id"
        " LEFT JOIN job_use_v AS u ON u.job = j.id WHERE j.\"end\" IS NOT NULL"))
    got = {r["key"]: (r["cpu_efficiency_percent"], r["cpu_efficiency_source"]) for r in a.data
           if r["cpu_efficiency_percent"] is not None}
    same(got, {k: (e / 10000, s) for k, (e, s) in want.items() if e is not None},
         "jobs have their CPU efficiency")


def set_up(site):
    site.constants = site.file("constants", "students 1234\n\n[fake]\ngpu_years = 40.5 year # of ours\n")
    site.start("--access.trust-loopback", "--query.max-rows=20000", "--access.admins=boss", "--constants.file="
               + site.constants, "--access.coordinators=acct1: user2")
    importer_values(site)
    site.jobs = site.simulated_jobs()
    ended = {}
    for j in site.jobs:
        if j["End"] != "Unknown" and j["User"] not in ("", "user2") and j["Account"] == "acct1":
            ended.setdefault(j["JobIDRaw"], []).append(j)
    one = next(js[0] for js in ended.values() if len(js) == 1)
    site.user_name, site.key = one["User"], site.add_measurements(one["JobIDRaw"])
    site.row = one


def part(site, name, user_name=None, key=None, *headers):
    return site.fetch("%s/jobs/%s/%s" % (V1, key or site.key, name), user(user_name or site.user_name), *headers)


def steps(site):
    """The steps of a job are those that Python's SQLite reads from the store."""
    for j in site.jobs[:400]:
        if j["End"] == "Unknown":
            continue
        key = "fake:%s:%s" % (j["JobIDRaw"], j["Submit"])
        want = site.db().execute(
            "SELECT step_id, s.memory_task_peak_bytes, s.state FROM step_v AS s JOIN job AS j ON"
            " j.id = s.job WHERE j.jobid = ? AND j.submit = ? ORDER BY step_id",
            (int(j["JobIDRaw"]), int(j["Submit"]))).fetchall()
        if len(want) < 2:
            continue
        a = part(site, "steps", "boss", key)
        same(sorted((r["step"], r["memory_task_peak_bytes"], r["state"]) for r in a.data),
             [(str(s), m, t) for s, m, t in want], "steps of a job")
        check(all(r["elapsed_seconds"] == int(j["ElapsedRaw"])
                  and (r["cpu_efficiency_percent"] is None if r["step"] == "extern"  # nothing was measured
                       else abs(r["cpu_efficiency_percent"] - 70) < 0.5)
                  or int(j["ElapsedRaw"]) < 100 for r in a.data), "steps have their run time and CPU efficiency", a)
        return
    check(False, "a job has two steps")


def figures(site):
    row = site.fetch("%s/jobs/%s" % (V1, site.key), user(site.user_name)).data[0]
    same([row[k] for k in ("cpu_efficiency_percent", "cpu_efficiency_source",
                           "memory_efficiency_percent", "memory_efficiency_source",
                           "gpu_efficiency_percent", "gpus_unused", "gpu_held_seconds",
                           "gpu_idle_seconds", "energy_joules", "energy_source",
                           "energy_policy", "emissions_grams", "emissions_estimated", "findings")],
         [72.3456, "nodes", 50, "prometheus", 3, 1, 7200, 7000, 7200, "nodes", "hybrid", 0.1,
          True, 2], "a job has all derived values")
    same(sorted(row["finding_names"].split(",")), ["gpu_unused", "low_cpu"], "a job has its findings")
    rows = site.fetch(V1 + "/jobs?from=0&limit=2", user(site.user_name)).data
    check(rows and "findings" not in rows[0], "a list has no findings")
    a = site.fetch(V1 + "/jobs?from=0&limit=1000&fields=key,findings,emissions_grams", user(site.user_name))
    same({r["key"]: (r["findings"], r["emissions_grams"]) for r in a.data}[site.key], (2, 0.1),
         "a list has findings on request")
    check(all((r["findings"], r["emissions_grams"]) == (0, None)
              for r in a.data if r["key"] != site.key), "other jobs have no findings and no emissions")
    same({r["component"]: (r["joules"], r["kwh"]) for r in part(site, "energy").data},
         {"total": (7200, 0.002), "cpu": (3600, 0.001), "gpu": (1800, 0.0005),
          "other": (1800, 0.0005), "if_by_use": (7000, 0.001944),
          "if_by_reservation": (7400, 0.002056)}, "energy by component")
    energy = part(site, "energy").data
    same(sum(r["joules"] for r in energy if r["kind"] == "part"),
         sum(r["joules"] for r in energy if r["kind"] == "total"), "the parts of the energy are the total")
    same({r["component"] for r in energy if r["kind"] == "alternative"}, {"if_by_use", "if_by_reservation"},
         "totals of other policies are apart")
    same([(r["provider"], r["grams"], r["estimated"]) for r in part(site, "emissions").data],
         [("best", 0.1, True), ("rte", 0.1, True)], "emissions by provider of factors")
    same([(r["finding"], r["severity"], r["text"], r["value"], r["threshold"])
          for r in part(site, "findings").data],
         [("gpu_unused", "warning", "1.5 of its GPUs did nothing.", 1.5, 25),
          ("low_cpu", "info", "Used 1.5 %, not 25 %.", 1.5, 25)], "findings, the most severe first")
    usage = site.fetch(V1 + "/usage?from=%d" % (site.now - 30 * 86400), user(site.user_name)).data[0]
    same((usage["energy_kwh"], usage["emissions_grams"], usage["emissions_coverage"] - usage["energy_coverage"]),
         (0.002, 0.1, 0), "usage has emissions, known as far as the energy, whose factors all are")
    same((usage["gpu_efficiency_percent"], usage["gpu_unused_hours"]), (25, 0.75), "usage has the use of GPUs")
    usage = site.fetch(V1 + "/usage?from=0&to=86400", user(site.user_name)).data[0]
    same((usage["energy_kwh"], usage["emissions_grams"], usage["gpu_efficiency_percent"]),
         (None, None, None), "usage is null where nothing is known")


def many(site):
    a = site.fetch(V1 + "/findings?from=0", user(site.user_name))
    same([(r["key"], r["finding"]) for r in a.data],
         [(site.key, "gpu_unused"), (site.key, "low_cpu")], "findings of many jobs")
    same(len(site.fetch(V1 + "/findings?from=0&finding=gpu_unused", user("boss")).data), 1, "findings are filtered by name")
    same(len(site.fetch(V1 + "/findings?from=0&finding=gpu%20unused", user("boss")).data), 1,
         "names of findings may have blanks, as on pages")
    for path in "/findings?from=0&finding=odd", "/jobs?from=0&finding=low_cpu,odd":
        a = site.fetch(V1 + path, user("boss"))
        check(a.status == 400 and b"Unknown finding 'odd'; known are gpu_unused, low_cpu." in a.body,
              "an unknown finding is an error: " + path, a)
    same(site.fetch(V1 + "/findings?from=0&limit=1", user("boss")).json["meta"]["cut"], True,
         "a truncated list has meta.cut")
    same(site.fetch(V1 + "/findings?from=0&to=100", user("boss")).data, [], "findings are filtered by time")
    same(site.fetch(V1 + "/findings?from=0&user=" + site.user_name, user("user4" if site.user_name != "user4"
                                                                         else "user5")).data, [],
         "findings of other users are not listed")
    a = site.fetch(V1 + "/emission-factors?from=0", user("newcomer"))
    same(sorted((r["provider"], r["grams_per_kwh"], r["basis"], r["estimated"], r["country"])
                for r in a.data),
         [("best", 50, "live", True, None), ("rte", 50, "live", True, "FRA")], "emission factors")
    same(site.fetch(V1 + "/emission-factors?from=0&to=100", user("boss")).data, [], "factors are filtered by time")


def access_rules(site):
    stranger = next("user%d" % n for n in range(20) if "user%d" % n not in (site.user_name, "user2"))
    for name in PARTS:
        for user_name, status in ((site.user_name, 200), ("boss", 200), ("user2", 200), (stranger, 404),
                                  ("newcomer", 404)):
            same(part(site, name, user_name).status, status, "%s for %s" % (name, user_name))
        same(part(site, name, stranger).body, part(site, name, stranger, "fake:1:1").body,
             "another user's %s look like those of a job that does not exist" % name)
        same(part(site, name, "boss").status, 200, "an admin sees them")
        same(site.fetch("%s/jobs/%s/%s?mine=true" % (V1, site.key, name), user("boss")).status, 404,
             "with mine=true an admin finds no job of another user")
        same(site.fetch("%s/jobs/%s/%s" % (V1, site.key, name)).status, 403, "a request without a user is refused")
        a = part(site, name, None, None, ("Accept", "text/csv"))
        rows = list(csv.DictReader(io.StringIO(a.body.decode())))
        plain = part(site, name).data
        same((len(rows), list(rows[0]) if rows else []),
             (len(plain), list(plain[0]) if plain else []), "%s as CSV" % name)
    twice = {}
    for j in site.jobs:
        twice.setdefault(j["JobIDRaw"], []).append(j)
    two = next(js for js in twice.values() if len(js) > 1)
    same(part(site, "steps", "boss", two[0]["JobIDRaw"]).status, 409, "an id of several runs is ambiguous")
    same(site.fetch(V1 + "/jobs/a/b/steps", user("boss")).status, 404, "a name with a slash")


def constants(site):
    def get():
        a = site.fetch(V1 + "/constants", user("newcomer"))
        return [tuple(r.values()) for r in a.data], a.json["meta"]
    same(get(), ([(None, "students", 1234, None, None), ("fake", "gpu_years", 40.5, "year", 31536000)],
                 {"bad_lines": 0}), "constants")
    site.file("constants", "students: -3.25\nnonsense \\\"\n=\nx 1e400\ny 1 fortnight\n")
    line = """constants.file:2: '\\"' is not a number"""
    same(get(), ([(None, "students", -3.25, None, None)], {"bad_lines": 4, "bad_line": line}),
         "a change of the file shows at once")
    os.remove(site.constants)
    same(site.fetch(V1 + "/constants", user("newcomer")).status, 503, "without its file the constants are unavailable")
    site.start("--access.trust-loopback", "--access.admins=boss")
    same(site.fetch(V1 + "/constants", user("newcomer")).data, [], "without a configured file there are no constants")


def storage(site):
    def get(user_name, args=""):
        a = site.fetch(V1 + "/storage" + args, user(user_name))
        return [tuple(r.values()) for r in a.data], a.json["meta"]
    text = ("# written every night\n"
            "newcomer project smith 1536G 10T 45210 5000000 /project/a b\n"
            "newcomer quota home 12G - 41000 500000\n"
            "user2 quota home 1 2 - - /home/user2\n"
            "user2 disk home 1 2 - -\nuser2 quota home 1.5 2 - -\nuser2\n")
    path = site.file("storage", text)
    site.start("--access.trust-loopback", "--access.admins=boss", "--storage.file=" + path)
    own = [("newcomer", "project", "smith", "/project/a b", 1536 << 30, 10 << 40, 15, 45210, 5000000, 0.9042),
           ("newcomer", "quota", "home", None, 12 << 30, None, None, 41000, 500000, 8.2)]
    other = ("user2", "quota", "home", "/home/user2", 1, 2, 50, None, None, None)
    same(get("newcomer"), (own, {"bad_lines": 3}), "a user's projects and quotas")
    same(get("newcomer", "?user=user2"), ([], {"bad_lines": 3}), "quotas of other users stay hidden")
    same(get("nobody"), ([], {"bad_lines": 3}), "a user without a line in the file")
    line = "storage.file:5: 'disk' is not project or quota"
    same(get("boss"), (own + [other], {"bad_lines": 3, "bad_line": line}), "an admin sees all")
    same(get("boss", "?user=user2"), ([other], {"bad_lines": 3, "bad_line": line}), "an admin selects a user")
    os.remove(path)
    same(site.fetch(V1 + "/storage", user("newcomer")).status, 503, "without its file the quotas are unavailable")


def heterogeneous(site):
    db = sqlite3.connect(site.store)
    ids = [r for r in db.execute("SELECT id, jobid FROM job GROUP BY jobid HAVING count(*) = 1"
                                 " ORDER BY jobid LIMIT 3")]
    for n, (job, _) in enumerate(ids):
        db.execute("DELETE FROM job_more WHERE job = ?", (job,))
        db.execute("INSERT INTO job_more(job, het_job_id, het_offset) VALUES(?, ?, ?)",
                   (job, ids[0][1], n))
        db.execute("UPDATE job SET display_id = ? WHERE id = ?", ("%d+%d" % (ids[0][1], n), job))
    db.commit()
    db.close()
    site.refresh()
    for n, (_, raw) in enumerate(ids):
        name = "%d%%2B%d" % (ids[0][1], n)
        a = site.fetch(V1 + "/jobs/%s" % name, user("boss"))
        same([(r["jobid"], r["display_id"], r["het_offset"]) for r in a.data],
             [(str(raw), "%d+%d" % (ids[0][1], n), n)], "component %d" % n)
        for form in (name, "%d+%d" % (ids[0][1], n)):
            a = site.fetch(V1 + "/jobs?fields=jobid&job=" + form, user("boss"))
            same([r["jobid"] for r in a.data], [str(raw)], "as a filter: " + form)
    same(site.fetch(V1 + "/jobs/%d+9" % ids[0][1], user("boss")).status, 404, "an unknown component is refused")
    same(site.fetch(V1 + "/jobs/%d+x" % ids[0][1], user("boss")).status, 404, "an unknown name is refused")


def uuids(site):
    """Jobs are found by the UUIDs of the original API."""
    old = site.fetch("/api/jobs?from=0", user(site.user_name)).data
    checked = 0
    for j in old[:5] + old[-5:]:
        a = site.fetch(V1 + "/jobs/" + j["id"], user(site.user_name))
        if a.status == 409:  # runs of one job on one node
            checked += j["jobid"] in {r["display_id"] for r in a.data}
            continue
        checked += a.status == 200 and (a.data[0]["display_id"], a.data[0]["start"]) == (
            j["jobid"], j["start"])
    same(checked, len(old[:5] + old[-5:]), "a job is found by its UUID")
    same(site.fetch(V1 + "/jobs/" + old[0]["id"], user("newcomer")).status, 404, "other users do not find a job by its UUID")
    of_user = V1 + "/jobs?fields=jobid&user=%s&job=" % site.user_name
    check(site.fetch(of_user + old[0]["id"], user("boss")).data, "the UUID works as a filter")
    same(site.fetch(of_user.replace(site.user_name, "user2") + old[0]["id"], user("boss")).data, [],
         "a UUID is found among the jobs of the named user only")
    for path in ("/jobs/" + old[0]["id"], "/jobs/%s/steps" % old[0]["id"],
                 "/jobs?job=" + old[0]["id"]):
        a = site.fetch(V1 + path, user("boss"))
        check(a.status == 400 and "user=" in a.json["error"], "a list of all jobs does not accept a UUID", path, a)
    a = site.fetch(V1 + "/jobs?job=%s&job=4711" % old[0]["id"], user(site.user_name))
    check(a.status == 400 and "only value" in a.json["error"], "a UUID beside another name is refused", a)
    a = site.fetch(of_user + old[0]["id"] + "&total=1&user=user2", user("boss"))
    check(a.data and a.json["meta"]["total"] == len(a.data), "jobs with a UUID are counted, of several users", a)
    check(site.fetch(V1 + "/jobs?total=1&fields=jobid&job=" + old[0]["id"], user("user2")).status == 200,
          "a coordinator finds a job by its UUID")


def gpu_models(site):
    """The GPU model is the scheduler's type, until a node reports the model."""
    def model(job):
        a = site.fetch(V1 + "/jobs/%d?fields=gpu_model" % job, user("boss"))
        return a.data[0]["gpu_model"]
    db = sqlite3.connect(site.store)
    job, start, end, host = db.execute(
        "SELECT jobid, start, \"end\", " + HOST + " FROM job AS j WHERE \"end\" > start GROUP BY jobid"
                                 " HAVING count(*) = 1 ORDER BY jobid LIMIT 1 OFFSET 5").fetchone()
    db.execute("INSERT INTO word(text) VALUES('a100')")
    db.execute("UPDATE job SET gpus = 2, gpu_model = (SELECT id FROM word WHERE text = 'a100') WHERE jobid = ?", (job,))
    db.commit()
    db.close()
    site.refresh()
    same(model(job), "a100", "the model of GPUs is the scheduler's type")
    os.makedirs(os.path.join(site.folder, "spool"), exist_ok=True)
    site.file("spool/gpus.json", json.dumps({
        "format": 1, "cluster": "fake", "host": host, "jobid": str(job), "start": start, "end": end,
        "gpus": {"GPU-a": {"model": "NVIDIA A100-SXM4-80GB", "held_usec": 1000000}}}), 0o640)
    site.derive_records(site.store)
    site.refresh()
    same(model(job), "NVIDIA A100-SXM4-80GB", "the model of GPUs is that of the driver")


sys.exit(run(set_up, steps, figures, many, access_rules, constants, storage, heterogeneous, uuids, gpu_models,
             count=1500, days=20))
