#!/usr/bin/env python3
"""Grafana's Prometheus data source and the dashboards of examples/grafana/prometheus
through the PromQL gate, for a user, a coordinator and an admin.  With an argument, also
with the data source of a later version of Grafana.  TAP.

The head of grafana/gate.cjs lists which code is Grafana's own.  Each of its requests must
succeed, with the response of a Prometheus that has only the series that the user may see."""
import glob
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import grafana_packages  # noqa: E402
from gate_lib import Gate, FilledPrometheus  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
LATER = "13.2.3"
STEP, COUNT = 30, 40
# jobid, user, account: user1 has two jobs; user2 one, and coordinates acct1.
JOBS = [("91001", "user1", "acct0"), ("91002", "user1", "acct0"), ("92001", "user2", "acct2"),
        ("93001", "user3", "acct1"), ("94001", "user4", "acct3")]
SEES = {"user1": {"91001", "91002"}, "user2": {"92001", "93001"}, "boss": {j[0] for j in JOBS}}
ACCOUNTS = {"user1": set(), "user2": {"acct1"}, "boss": {j[2] for j in JOBS}}
# Metrics of jobs and accounts are personal, notes of nodes for admins.
PERSONAL = re.compile("batchjob_(job|cluster_account|cluster_shares)_")
ADMINS = re.compile("batchjob_cluster_reason_")
# Panels with data for coordinators and admins only, and for admins only.
NEEDS_ACCOUNTS = {"Cluster: CPUs of running jobs by account", "Cluster: Usage by account"}
NEEDS_ADMIN = {"Cluster: Nodes with a note"}
VALUES = {
    "instance": ["node1:9010", "node2:9010"], "state": ["RUNNING", "PENDING", "down"], "mode": ["user", "idle"],
    "component": ["cpu", "dram"], "gpu": ["GPU-1"], "index": ["0"], "source": ["queue", "nodes"], "name": ["gpu_years"],
}


def queried_metrics():
    """{name: labels} of the metrics that the dashboards query, from docs/metrics.md."""
    wanted = set()
    for path in glob.glob(TOP + "/examples/grafana/prometheus/*.json"):
        with open(path) as f:
            for expr in re.findall(r'"(?:expr|query)": "(.*)"', f.read()):
                wanted |= set(re.findall(r"\bbatchjob_\w+", expr))
    with open(TOP + "/docs/metrics.md") as f:
        rows = re.findall(r"^\| `(batchjob_\w+)` \| \w+ \| ([^|]*) \|", f.read(), re.M)
    return {n: re.findall(r"`(\w+)`", labels) for n, labels in rows if n in wanted}


def with_all(labels, names):
    """The labels with each combination of values of these names."""
    out = [labels]
    for n in names:
        out = [dict(o, **{n: v}) for o in out for v in VALUES.get(n, [n])]
    return out


def series(now):
    """(name, labels, [(time, value)]) of each metric of the dashboards."""
    out = []
    for name, own in sorted(queried_metrics().items()):
        groups = [{"cluster": "alpha"}]
        if name.startswith("batchjob_job_"):
            groups = [{"cluster": "alpha", "instance": "node%d:9010" % (k % 2 + 1), "jobid": j, "user": u, "account": a}
                      for k, (j, u, a) in enumerate(JOBS)]
        elif "_cluster_account_" in name:
            groups = [{"cluster": "alpha", "account": a} for a in sorted({j[2] for j in JOBS})]
        elif "_cluster_shares_" in name:
            groups = [{"cluster": "alpha", "account": a, **u} for j, user, a in JOBS for u in ({}, {"user": user})
                      if j != "91002"]
        elif not name.startswith(("batchjob_cluster_", "batchjob_partition_")):
            groups = with_all({"cluster": "alpha"}, ["instance"])
        have = {n for g in groups for n in g}
        for labels in (x for g in groups for x in with_all(g, [n for n in own if n not in have])):
            # distinct values: topk() has no ties
            rate = 1 + len(out) % 97 + len(out) / 1e4
            out.append((name, labels, [(now - STEP * (COUNT - t) + STEP, rate * (t if name.endswith("_total") else 1))
                                       for t in range(COUNT)]))
    return out


def visible(viewer, name, labels):
    if viewer == "boss" or not (PERSONAL.match(name) or ADMINS.match(name)):
        return True
    return not ADMINS.match(name) and (labels.get("user") == viewer or labels.get("account") in ACCOUNTS[viewer])


def plain(body):
    """The sorted series of a response; numbers are rounded, as sums depend on the order."""
    def rounded(v):
        if isinstance(v, list):
            return [rounded(x) for x in v]
        if isinstance(v, dict):
            return {k: rounded(x) for k, x in v.items()}
        return "%.9g" % float(v) if re.fullmatch(r"-?[\d.]+(e[-+]\d+)?", str(v)) else v
    data = json.loads(body)["data"]
    items = data.get("result", data) if isinstance(data, dict) else data
    return sorted(json.dumps(rounded(x), sort_keys=True) for x in items) if isinstance(items, list) else items


def expected_response(url, request):
    """The response of the user's own Prometheus to a request."""
    path, _, query = request["path"].partition("?")
    form = request["form"] if request["method"] == "POST" else ""
    query = query or (request["form"] if request["method"] == "GET" else "")
    r = urllib.request.Request(url + path + ("?" + query if query else ""), form.encode() or None)
    with urllib.request.urlopen(r, timeout=300) as reply:
        return plain(reply.read())


def succeeded(r):
    """Whether a request succeeded, was repeated with GET, or was refused, which Grafana only
    logs."""
    return r["status"] == 200 or (r.get("repeated") and r["status"] == 405) or (
        r["status"] == 403 and r["path"] == "/api/v1/rules")


def check_requests(out, own):
    """Each request succeeds with the response of the user's own Prometheus."""
    bad = [r for r in out["requests"] if not succeeded(r)]
    check(not bad, "each of %d requests succeeds" % len(out["requests"]),
          *["%(user)s %(method)s %(path)s %(form)s: %(status)d %(body).200s" % r for r in bad[:5]])
    different, seen = [], {}
    for r in (r for r in out["requests"] if r["status"] == 200 and "metadata" not in r["path"]):
        key = (r["user"], r["method"], r["path"], r["form"])
        if key not in seen:
            seen[key] = expected_response(own[r["user"]], r)
        if plain(r["body"]) != seen[key]:
            different.append("%s: %s %s %s\n  %s\n  %s" % (r["action"], r["user"], r["path"],
                             urllib.parse.unquote(r["form"]), plain(r["body"])[:3], seen[key][:3]))
    check(not different, "responses are those of a Prometheus with only the visible series (%d)" % len(seen),
          "%d differ" % len(different), *different[:4])
    for viewer in SEES:
        hidden = {w for j, u, _ in JOBS if j not in SEES[viewer] for w in (j, u)} - {viewer}
        text = "".join(r["body"] for r in out["requests"] if r["user"] == viewer)
        same(sorted(w for w in hidden if '"%s"' % w in text), [], "%s sees no hidden jobs and owners" % viewer)
        same({j for j, _, _ in JOBS if '"%s"' % j in text}, SEES[viewer], "%s sees the jobs %s" % (
            viewer, " ".join(sorted(SEES[viewer]))))


def check_panels(out):
    panels = {}
    for p in out["panels"]:
        panels.setdefault(p["action"], {})[p["user"]] = p
    same({len(p) for p in panels.values()}, {len(SEES)}, "each of %d panels is shown to each user" % len(panels))
    for action, by_user in sorted(panels.items()):
        empty = {user for user, p in by_user.items() if not all(p["full"]) or p.get("error") or not p["rows"]}
        want = {"user1", "user2"} if action in NEEDS_ADMIN else {"user1"} if action in NEEDS_ACCOUNTS else set()
        check(empty == want, action + (" has data" if not want else " has data except for " + ", ".join(sorted(want))),
              *[by_user[user] for user in sorted(empty ^ want)])
    table = panels["My jobs (live): Jobs"]["user1"]
    same({"Job", "Nodes", "CPUs", "Energy"} - set(table["names"]), set(), "the columns of a table have their names")


def check_variables(out):
    for v in out["variables"]:
        found = v["found"]
        if "jobid" in found:
            same(set(found["jobid"]), SEES[v["user"]],
                 "%s: the variable jobid lists the jobs of %s" % (v["board"], v["user"]))
        if "user" in found:
            same(set(found["user"]), {u for j, u, _ in JOBS if j in SEES[v["user"]]},
                 "%s: the variable user lists the owners for %s" % (v["board"], v["user"]))
        check(all(found.values()), "%s: every variable has values for %s" % (v["board"], v["user"]), found)


def check_others(out):
    for action in dict.fromkeys(o["action"] for o in out["others"]):
        bad = [o for o in out["others"] if o["action"] == action and (
            "error" in o or not (o.get("got") or action in ("descriptions", "start of the editor")))]
        check(not bad, "data source: " + action, *bad[:3])


def settings():
    """jsonData of the data source in docs/gate.md."""
    with open(TOP + "/docs/gate.md") as f:
        block = re.search(r"jsonData:\n((?: +\w+: .*\n)+)", f.read())[1]
    return {k: {"true": True, "false": False}.get(v, v) for k, v in re.findall(r"(\w+): (.*)", block)}


def grafana(gate, now, version):
    boards = []
    for path in sorted(glob.glob(TOP + "/examples/grafana/prometheus/*.json")):
        with open(path) as f:
            boards.append(json.load(f))
    work = {"url": "http://127.0.0.1:%d/prometheus" % gate.port, "password": "s3cret", "now": now * 1000,
            "users": list(SEES), "boards": boards, "settings": settings(), "seconds": {"now-6h": 6 * 3600, "now-24h": 24 * 3600}}
    p = subprocess.run(["node", "gate.cjs"], cwd=grafana_packages.folder_of(version), input=json.dumps(work), text=True,
                       capture_output=True, timeout=300, check=False)
    return json.loads(p.stdout) if check(p.returncode == 0, "the code of Grafana %s runs" % version, p.stderr[-2000:]) else None


def one_version(gate, now, stores, version):
    failure = grafana_packages.install(version)
    if failure:
        print("# " + failure.replace("\n", "\n# "))
        check("registry" in failure or "npm and node" in failure, "Grafana %s # SKIP %s" % (version, failure[:60]), failure)
        return
    out = grafana(gate, now, version)
    if out:
        check_requests(out, {p: s.url for p, s in stores.items()})
        check_panels(out)
        check_variables(out)
        check_others(out)


def main():
    now = int(time.time()) // 60 * 60
    everything = series(now)
    stores = {p: FilledPrometheus([s for s in everything if visible(p, *s[:2])]) for p in SEES}
    gate = Gate()
    try:
        if stores["boss"].failure:
            skip("Grafana's data source", stores["boss"].failure)
            return plan()
        gate.start_with_prometheus(stores["boss"].url)
        for version in [grafana_packages.VERSION] + [LATER] * (len(sys.argv) > 1):
            one_version(gate, now, stores, version)
        same(gate.stop(), 0, "the server ends with status 0")
    finally:
        gate.stop()
        gate.clean_up()
        for s in stores.values():
            s.stop()
    return plan()


sys.exit(main())
