#!/usr/bin/env python3
"""The dashboards in examples/grafana: each query returns data, from a real store
or a real Prometheus that has scraped real jobs and the cluster collector, and
Grafana's published packages read the responses.  TAP."""
import glob
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import TOP, check, endpoints_with_rows, run, same, user  # noqa: E402
import grafana_packages
from prom_lib import Node, Prometheus, wait_for  # noqa: E402

FOLDER = os.path.join(TOP, "examples/grafana")
# Columns that may be empty with the simulated cluster or on this machine.
UNKNOWN = {"Ended", "timeEnd", "Name", "Limit", "Memory used", "Memory", "Country", "limit", "GPUs",
           "Tasks", "What to do", "Advice", "Line"}  # the last three: neither job has advice
cases = []


def set_up(site):
    """Choose a user with a running job, which gets time series, and an ended job
    with steps, which gets all derived values."""
    site.start("--access.trust-loopback", "--access.admins=boss")
    running = site.fetch("/api/v1/jobs?from=0&state=running&limit=100&fields=key,jobid,uid,user,account",
                         user("boss")).data
    for job in running:
        ended = site.fetch("/api/v1/jobs?from=0&state=completed&limit=1&fields=key,jobid,nodelist&user="
                           + job["user"], user("boss")).data
        steps = ended and site.fetch("/api/v1/jobs/%s/steps" % ended[0]["key"], user("boss"))
        if steps and steps.status == 200 and steps.data:
            break
    else:
        raise RuntimeError("no user has both a running and an ended job")
    site.user_name, site.running, site.ended = job["user"], job, ended[0]
    same(site.add_measurements(ended[0]["jobid"]), ended[0]["key"], "the ended job gets measured values")
    db = sqlite3.connect(site.store)
    db.execute("UPDATE job SET gpus = 2 WHERE jobid = ?", (int(ended[0]["jobid"]),))
    db.execute("INSERT OR REPLACE INTO price VALUES(1, 'EUR', 20000, NULL, NULL, NULL, 0)")
    db.commit()
    db.close()
    site.node = Node("fake", [(job["jobid"], job["uid"], job["user"], job["account"])])
    site.prom = None if site.node.failure else Prometheus(site.node.url)
    site.failure = site.node.failure or site.prom.failure
    if site.failure:
        print("# no curves: " + site.failure)
        return
    for what in ('rate(batchjob_job_energy_joules_total{jobid="%s"}[5s]) > 0' % job["jobid"],
                 "rate(batchjob_job_cpu_seconds_total[5s]) > 0", "batchjob_cluster_limit_jobs",
                 "batchjob_cluster_licenses", "batchjob_cluster_shares",
                 "batchjob_cluster_controller_schedule_cycle_last_seconds",
                 "batchjob_cluster_source_age_seconds", "batchjob_emission_factor_grams_per_kwh"):
        check(wait_for(lambda: site.prom.query(what), 60), "Prometheus has " + what)
    site.gpus = wait_for(lambda: site.prom.query("rate(batchjob_job_gpu_held_seconds_total[5s])"))
    site.start("--access.trust-loopback", "--access.admins=boss", "--prometheus.url="
               + site.prom.url, "--prometheus.scrape-interval=1s")


def fill(text, site, job, all_value):
    """Replace macros and variables as Grafana and the plugin do."""
    values = {"user": all_value, "account": all_value, "partition": "*", "state": "all",
              "job": urllib.parse.quote(job["key"], safe=""), "id": job["jobid"], "cluster": ".*",
              "node": ".*", "jobid": job["jobid"], "__rate_interval": "5s", "__range": "20s", "__from": "%d000" % (site.now - 30 * 86400),
              "__to": "%d000" % (site.now + 60)}
    if job is site.running:
        text = text.replace("$__unixEpochFrom()", str(int(time.time()) - 20))
    text = text.replace("$__unixEpochFrom()", str(site.now - 30 * 86400))
    text = text.replace("$__unixEpochTo()", str(int(time.time()) + 60))
    return re.sub(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)",
                  lambda m: values[m.group(1) or m.group(2)], text)


def fetch(site, target, user_name, job, all_value):
    params = [(fill(k, site, job, all_value), urllib.parse.unquote(fill(v, site, job, all_value)))
              for k, v in target["params"]]
    return site.fetch("/api/v1%s?%s" % (fill(target["urlPath"], site, job, all_value),
                                        urllib.parse.urlencode(params)), user(user_name))


def rows_of(data, path):
    """The rows of a JSONPath: $.data[*].KEY, $.data.LIST[*].KEY, or the object $.data.OBJECT.KEY."""
    inner = re.fullmatch(r"\$\.data(?:\.(\w+))?(?:\[\*\])?\.\w+", path).group(1)
    rows = data[inner] if inner else data
    return rows if isinstance(rows, list) else [rows]


def column(data, path):
    """The values that a JSONPath finds; rows without the key are left out."""
    key = path.rpartition(".")[2]
    return [r[key] for r in rows_of(data, path) if key in r]


def fields_fit(where, target, a):
    lengths = {len(column(a.data, f["jsonPath"])) for f in target["fields"]}
    if lengths != {len(rows_of(a.data, target["fields"][0]["jsonPath"]))}:
        return check(False, where + ": fields of one length", lengths)
    for f in target["fields"]:
        kinds = {"number": (int, float), "time": (int, float), "string": str,
                 "boolean": bool}[f["type"]]
        values = column(a.data, f["jsonPath"])
        if not all(v is None or isinstance(v, kinds) for v in values):
            return check(False, "%s: %s is %s" % (where, f["name"], f["type"]), values[:3])
    return True


def check_target(site, where, target, kind=None):
    """Each user gets a valid response; for the owner each column has data, of one of two jobs."""
    about_job = "$job" in json.dumps(target) or "${job" in json.dumps(target)
    if "/series" in target["urlPath"] and site.failure:
        check(True, where + " # SKIP " + site.failure)
        return
    for user_name, all_value in ((site.user_name, "*"), (site.user_name, "$__all"), ("boss", "*"), ("newcomer", "")):
        good, numbers = [], []
        for job in (site.running, site.ended):
            a = fetch(site, target, user_name, job, all_value)
            if user_name == "newcomer" and about_job and a.status == 404:
                continue
            if a.status != 200:
                check(False, "%s for %s" % (where, user_name), a)
                return
            if not fields_fit(where, target, a):
                return
            cases.append({"kind": "jsonapi", "description": "Grafana: %s for %s" % (where, user_name),
                          "body": a.body.decode(), "fields": target["fields"],
                          "rows": len(rows_of(a.data, target["fields"][0]["jsonPath"])),
                          "series": kind == "timeseries"})
            good.append(a.data)
            numbers.append({f["name"] for f in target["fields"]
                            if any(v is not None for v in column(a.data, f["jsonPath"]))})
        if user_name == site.user_name:
            seen = set().union(*numbers)
            want = {f["name"] for f in target["fields"]}
            if "Waiting" in where and not seen:
                want = set()  # no pressure in cgroup v1
            if "busy" in want and not site.gpus:
                want = set()
            lacking = want - seen - UNKNOWN
            if lacking:
                check(False, where + ": every column has data", lacking, good[:1])
                return
    check(target["cacheDurationSeconds"] == 0, where + " has data")


def prom_range(site, expr, instant):
    now = int(time.time())
    if instant:
        path = "/api/v1/query?" + urllib.parse.urlencode({"query": expr})
    else:
        path = "/api/v1/query_range?" + urllib.parse.urlencode(
            {"query": expr, "start": now - 8, "end": now, "step": 1})
    got = site.prom.get(path)
    return json.loads(got)["data"]["result"] if got else None


def check_series(site, where, target):
    expr = fill(target["expr"], site, site.running, ".*")
    cases.append({"kind": "promql", "description": "PromQL: " + where, "expr": expr})
    if site.failure:
        check(True, where + " # SKIP " + site.failure)
        return None
    if "gpu" in expr and not site.gpus and "cluster_gpus" not in expr:
        check(True, where + " # SKIP no simulated GPU")
        return None
    if "pressure" in expr and not site.prom.query("batchjob_job_pressure_cpu_some_seconds_total"):
        return None  # cgroup v1
    got = wait_for(lambda: prom_range(site, expr, target["instant"]))
    check(got, where + " has data", expr)
    labels = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
    if got and labels:
        check(any(l in r["metric"] for r in got for l in labels), where + ": the legend has labels",
              labels, got[0]["metric"])
    return got


def tables_of(panel, results):
    """Responses of Prometheus as tables, in the format of Grafana's data source."""
    out = []
    for target, result in zip(panel["targets"], results):
        names = sorted({k for r in result for k in r["metric"] if k != "__name__"})
        value = "Value" if len(results) == 1 else "Value #" + target["refId"]
        out.append({"refId": target["refId"], "fields": [
            {"name": "Time", "type": "time", "values": [r["value"][0] * 1000 for r in result]}]
            + [{"name": n, "type": "string", "values": [r["metric"].get(n) for r in result]}
               for n in names]
            + [{"name": value, "type": "number", "values": [float(r["value"][1]) for r in result]}]})
    return out


def one_panel(site, name, p, metrics):
    where = "%s: %s" % (name, p["title"])
    if p["type"] == "row":
        return
    results = []
    for t in p["targets"]:
        if "expr" not in t:
            check_target(site, where, t, p["type"])
            continue
        unknown = set(re.findall(r"batchjob_\w+", t["expr"])) - metrics
        check(not unknown, where + " queries metrics that exist", unknown)
        if name == "one-job.json":
            same(t["expr"].count('{jobid="$id"}'), len(re.findall(r"batchjob_\w+", t["expr"])),
                 where + " queries one job")
        results.append(check_series(site, where + " " + t["refId"], t))
    case = {"kind": "panel", "description": "panel: " + where, "tables": [], "columns": [],
            "units": [p["fieldConfig"]["defaults"]["unit"]] + [
                x["value"] for o in p["fieldConfig"]["overrides"] for x in o["properties"]
                if x["id"] == "unit"],
            "transformations": p.get("transformations", [])}
    names = {f["name"] for t in p["targets"] for f in t.get("fields", [])}
    names |= {t.get("legendFormat") for t in p["targets"]}
    names |= {new for x in p.get("transformations", [])
              for new in x["options"].get("renameByName", {}).values()}
    for o in p["fieldConfig"]["overrides"]:
        check(o["matcher"]["options"] in names, where + ": %s is a column or a curve"
              % o["matcher"]["options"], names)
    if p.get("transformations") and all(results):
        case["tables"] = tables_of(p, results)
        case["columns"] = [v for s in p["transformations"]
                           for v in s["options"].get("renameByName", {}).values()]
    else:
        case["transformations"] = []
        case["tables"] = [{"fields": [{"name": "x", "values": [1]}]}]
    cases.append(case)


KINDS = {"string": "string", "number": "number", "boolean": "boolean", "timestamp_epoch": "time"}


def as_jsonapi(x):
    """Translate targets of the data source Infinity to those of JSON API: a row for
    each row of "data", a column for each selector."""
    if isinstance(x, list):
        return [as_jsonapi(v) for v in x]
    if not isinstance(x, dict):
        return x
    if "infinityQuery" in x:
        x = x["infinityQuery"]
    if x.get("source") == "url":
        assert (x["type"], x["parser"], x["format"], x["url_options"]["method"]) == ("json", "backend", "table", "GET")
        assert x["root_selector"] in ("data", "data.advice", "data.verdict")
        rows = "$." + x["root_selector"] + ("" if x["root_selector"] == "data.verdict" else "[*]")
        return {"refId": x["refId"], "datasource": x["datasource"], "urlPath": x["url"],
                "cacheDurationSeconds": 0,
                "params": [[p["key"], p["value"].replace("${__from:date:seconds}", "$__unixEpochFrom()")
                            .replace("${__to:date:seconds}", "$__unixEpochTo()")]
                           for p in x["url_options"]["params"]],
                "fields": [{"jsonPath": rows + "." + c["selector"], "name": c["text"],
                            "type": KINDS[c["type"]]} for c in x["columns"]]}
    return {k: as_jsonapi(v) for k, v in x.items()}


def infinity(_site):
    """The dashboards for Infinity have the same queries as those for JSON API."""
    def queries(board):
        return [[t for t in p.get("targets", [])] for p in board["panels"]] + [
            v["query"] for v in board["templating"]["list"] if v["type"] == "query"]

    ignored = {"datasource", "refId", "method", "queryParams", "body", "bodyType", "headers"}

    def without_ignored(x):
        if isinstance(x, list):
            return [without_ignored(v) for v in x]
        return {k: without_ignored(v) for k, v in x.items() if k not in ignored} if isinstance(x, dict) else x
    paths = sorted(glob.glob(FOLDER + "/infinity/*.json"))
    same(len(paths), 4, "dashboards for Infinity")
    for path in paths:
        with open(path) as f:
            mine = json.load(f)
        with open(os.path.join(FOLDER, "jsonapi", os.path.basename(path))) as f:
            other = json.load(f)
        same(without_ignored(queries(as_jsonapi(mine))), without_ignored(queries(other)),
             "infinity/%s has the queries of the dashboard for JSON API" % os.path.basename(path))
        check("marcusolsson" not in json.dumps(mine), "dashboards for Infinity do not use the plugin JSON API")


def boards(site):
    metrics = set(re.findall(r"`(batchjob_\w+)`", open(os.path.join(TOP, "docs/metrics.md")).read()))
    uids = {}
    paths = sorted(glob.glob(FOLDER + "/jsonapi/*.json") + glob.glob(FOLDER + "/prometheus/*.json"))
    files = [os.path.relpath(p, FOLDER) for p in paths]
    same(files, ["jsonapi/%s.json" % n for n in ("energy", "gpu-waste", "my-jobs", "one-job")]
         + ["prometheus/%s.json" % n for n in
            ("cluster", "energy", "gpus", "job", "my-jobs", "node")], "ten dashboards")
    every = [json.load(open(p))["uid"] for p in glob.glob(FOLDER + "/**/*.json", recursive=True)]
    same(len(set(every)), 14, "dashboards of all sets have different uids")
    for path, name in zip(paths, files):
        with open(path) as f:
            board = json.load(f)
        uids[board["uid"]] = board
        same((board["id"], board["schemaVersion"] >= 36), (None, True), name + " can be imported")
        names = [v["name"] for v in board["templating"]["list"]]
        text = json.dumps([board["panels"], board["annotations"]])
        used = set(re.findall(r"\$\{?(\w+)", text)) - {"__unixEpochFrom", "__unixEpochTo", "__data",
                                                       "__rate_interval", "__value", "data"}
        check({u for u in used if not u.startswith("__")} <= set(names),
              name + " uses only variables that it defines", used - set(names))
        check(not re.search(r"https?://", text), name + " contains no URL of a host")
        ids = [p["id"] for p in board["panels"]]
        same(len(set(ids)), len(ids), name + ": panels have unique ids")
        taken = [(p["gridPos"]["y"] + j, p["gridPos"]["x"] + i) for p in board["panels"]
                 for j in range(p["gridPos"]["h"]) for i in range(p["gridPos"]["w"])]
        check(len(taken) == len(set(taken)) and max(x for _, x in taken) < 24,
              name + ": panels do not overlap")
        for v in board["templating"]["list"]:
            if v["type"] == "query" and "fields" in v["query"]:
                check_target(site, "%s: variable %s" % (name, v["name"]), v["query"])
            elif v["type"] == "query":
                m = re.fullmatch(r"label_values\((\w+)(?:{[^}]*})?, (\w+)\)",
                                 v["query"]["query"])
                check(site.failure or any(m.group(2) in r["metric"] for r in
                                          site.prom.query(m.group(1)) or []),
                      "%s: variable %s" % (name, v["name"]))
        for a in board["annotations"]["list"]:
            check_target(site, "%s: annotation" % name, a["target"])
        for p in board["panels"]:
            one_panel(site, name, p, metrics)
    waiting = site.fetch("/api/v1/jobs?from=0&state=pending&fields=from,to,start_ms", user(site.user_name)).data
    check(all(j["from"] and j["to"] and j["start_ms"] is None for j in waiting),
          "links from waiting jobs have times", waiting)
    for board in uids.values():
        for uid in re.findall(r"/d/([\w-]+)/", json.dumps(board)):
            check(uid in uids, "%s links to a dashboard that exists" % board["title"], uid)


def simpod(site):
    """Collect responses of the simPod endpoints for Grafana's code to read."""
    def iso(sec):
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(sec))
    for target in ("jobs", "usage", "core_hours", "energy_kwh"):
        a = site.fetch("/api/simpod/query", user(site.user_name), ("Content-Type", "application/json"),
                       method="POST", body={
                         "range": {"from": iso(site.now - 20 * 86400), "to": iso(site.now + 60)},
                         "targets": [{"refId": "Q", "target": target, "payload": {}}]})
        check(a.status == 200, "simPod: " + target, a)
        cases.append({"kind": "simpod", "description": "simPod in Grafana: " + target,
                      "body": a.body.decode()})


def description(site):
    """Collect the OpenAPI document and a response of each endpoint for a validator."""
    doc = site.fetch("/api/v1/openapi.json")
    responses = {}
    for path in endpoints_with_rows(doc.json):
        job = site.running if path.endswith("series") else site.ended
        if path.endswith("}/series") and site.failure:
            continue
        a = site.fetch(path.replace("{job}", job["key"]), user(site.user_name))
        check(a.status == 200, path + " has status 200", a)
        responses[path] = a.body.decode()
    cases.append({"kind": "openapi", "description": "the OpenAPI document is valid and describes the responses (%d)"
                  % len(responses), "doc": doc.body.decode(), "responses": responses})


def schema(folder):
    """Compile the dashboards with Grafana's TypeScript types."""
    for old in glob.glob(folder + "/*.ts"):
        os.remove(old)
    names = []
    for path in sorted(glob.glob(FOLDER + "/*/*.json")):
        with open(path) as f:
            board = json.load(f)
        for a in board["annotations"]["list"]:
            a["target"] = {"refId": a["target"]["refId"]}  # the other keys are the data source's
        text = json.dumps(board)
        for mode, enum in (("fixed", "FieldColorModeId.Fixed"),
                           ("thresholds", "FieldColorModeId.Thresholds"),
                           ("palette-classic", "FieldColorModeId.PaletteClassic"),
                           ("absolute", "ThresholdsMode.Absolute")):
            text = text.replace('"mode": "%s"' % mode, '"mode": ' + enum)
        names.append(os.path.relpath(path, FOLDER).replace("/", "_")[:-5] + ".ts")
        with open(os.path.join(folder, names[-1]), "w") as f:
            f.write('import { Dashboard, FieldColorModeId, ThresholdsMode } from "@grafana/schema";\n'
                    "export const board: Dashboard = %s;\n"
                    "void [FieldColorModeId, ThresholdsMode];\n" % text)
    p = subprocess.run(["node", "node_modules/typescript/bin/tsc", "--noEmit", "--skipLibCheck",
                        "--moduleResolution", "node", "--target", "es2020", "--module", "commonjs"]
                       + names, cwd=folder, capture_output=True, text=True, timeout=300)
    check(p.returncode == 0, "dashboards have Grafana's types (%d)" % len(names), p.stdout[:600])


def packages(_site):
    """Grafana's published code reads all responses that were collected above."""
    failure = grafana_packages.install()
    if failure:
        print("# " + failure.replace("\n", "\n# "))
        check("registry" in failure or "npm and node" in failure, "Grafana's packages # SKIP " + failure[:60], failure)
        return
    folder = grafana_packages.FOLDER
    schema(folder)
    p = subprocess.run(["node", "check.mjs"], cwd=folder, input=json.dumps(cases), text=True,
                       capture_output=True, timeout=300)
    lines = p.stdout.splitlines()
    same((len(lines), p.returncode), (len(cases), 0), "Grafana's code read every response")
    seen = set()
    for line in lines:
        if line.startswith("ok ") and line not in seen:
            check(True, line[3:])
        elif not line.startswith("ok "):
            check(False, line[7:])
        seen.add(line)
    if p.returncode:
        print("# " + p.stderr[-800:].replace("\n", "\n# "))


def end(site):
    site.node.stop()
    if site.prom:
        site.prom.stop()


def everything(site):
    site.gpus = None
    set_up(site)
    try:
        boards(site)
        infinity(site)
        simpod(site)
        description(site)
        packages(site)
    finally:
        end(site)


sys.exit(run(everything, count=1500, days=25))
