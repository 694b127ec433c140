#!/usr/bin/env python3
"""Grafana's Prometheus data source and the dashboards of examples/grafana/prometheus
through the PromQL gate, for a user, a coordinator and an admin.  With an argument, those
of a later version of Grafana as well.  TAP.

gate.cjs says what is Grafana's own code.  Each request of it must succeed, and its answer
must be that of a Prometheus which has only the series that the person may see."""
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
from gate_lib import Gate, History  # noqa: E402
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
# Panels that are empty for users, or also for coordinators.
NEEDS_ACCOUNTS = {"Cluster: CPUs of running jobs by account", "Cluster: Usage by account"}
NEEDS_ADMIN = {"Cluster: Nodes with a note"}
VALUES = {
    "instance": ["node1:9010", "node2:9010"], "state": ["RUNNING", "PENDING", "down"], "mode": ["user", "idle"],
    "component": ["cpu", "dram"], "gpu": ["GPU-1"], "index": ["0"], "source": ["queue", "nodes"], "name": ["gpu_years"],
}


def described():
    """name -> labels of its own, of the metrics that the dashboards query."""
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
    """(name, labels, [(time, value)]): each metric of the dashboards."""
    out = []
    for name, own in sorted(described().items()):
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


def visible(person, name, labels):
    if person == "boss" or not (PERSONAL.match(name) or ADMINS.match(name)):
        return True
    return not ADMINS.match(name) and (labels.get("user") == person or labels.get("account") in ACCOUNTS[person])


def plain(body):
    """An answer without the order of series, and what depends on that in sums."""
    def rounded(v):
        if isinstance(v, list):
            return [rounded(x) for x in v]
        if isinstance(v, dict):
            return {k: rounded(x) for k, x in v.items()}
        return "%.9g" % float(v) if re.fullmatch(r"-?[\d.]+(e[-+]\d+)?", str(v)) else v
    answer = json.loads(body)["data"]
    items = answer.get("result", answer) if isinstance(answer, dict) else answer
    return sorted(json.dumps(rounded(x), sort_keys=True) for x in items) if isinstance(items, list) else items


def own_answer(url, request):
    """What the person's own Prometheus answers to a request."""
    path, _, query = request["path"].partition("?")
    form = request["form"] if request["method"] == "POST" else ""
    query = query or (request["form"] if request["method"] == "GET" else "")
    r = urllib.request.Request(url + path + ("?" + query if query else ""), form.encode() or None)
    with urllib.request.urlopen(r, timeout=60) as reply:
        return plain(reply.read())


def succeeded(r):
    """Or was repeated with GET; or refused, which Grafana only logs."""
    return r["status"] == 200 or (r.get("repeated") and r["status"] == 405) or (
        r["status"] == 403 and r["path"] == "/api/v1/rules")


def check_requests(out, own):
    """Each request succeeds with the answer of the person's own Prometheus."""
    bad = [r for r in out["requests"] if not succeeded(r)]
    check(not bad, "each of %d requests succeeds" % len(out["requests"]),
          *["%(user)s %(method)s %(path)s %(form)s: %(status)d %(body).200s" % r for r in bad[:5]])
    different, seen = [], {}
    for r in (r for r in out["requests"] if r["status"] == 200 and "metadata" not in r["path"]):
        key = (r["user"], r["method"], r["path"], r["form"])
        if key not in seen:
            seen[key] = own_answer(own[r["user"]], r)
        if plain(r["body"]) != seen[key]:
            different.append("%s: %s %s %s\n  %s\n  %s" % (r["what"], r["user"], r["path"],
                             urllib.parse.unquote(r["form"]), plain(r["body"])[:3], seen[key][:3]))
    check(not different, "answers are those of a Prometheus with the visible series alone (%d)" % len(seen),
          "%d differ" % len(different), *different[:4])
    for person in SEES:
        hidden = {w for j, u, _ in JOBS if j not in SEES[person] for w in (j, u)} - {person}
        text = "".join(r["body"] for r in out["requests"] if r["user"] == person)
        same(sorted(w for w in hidden if '"%s"' % w in text), [], "%s sees no other jobs and owners" % person)
        same({j for j, _, _ in JOBS if '"%s"' % j in text}, SEES[person], "%s sees the jobs %s" % (
            person, " ".join(sorted(SEES[person]))))


def check_panels(out):
    panels = {}
    for p in out["panels"]:
        panels.setdefault(p["what"], {})[p["user"]] = p
    same({len(p) for p in panels.values()}, {len(SEES)}, "%d panels for each person" % len(panels))
    for what, people in sorted(panels.items()):
        empty = {user for user, p in people.items() if not all(p["full"]) or p.get("error") or not p["rows"]}
        want = {"user1", "user2"} if what in NEEDS_ADMIN else {"user1"} if what in NEEDS_ACCOUNTS else set()
        same(empty, want, what + (" has data" if not want else " has data for the others than " + ", ".join(sorted(want))))
    table = panels["My jobs (live): Jobs"]["user1"]
    same({"Job", "Nodes", "CPUs", "Energy"} - set(table["names"]), set(), "the columns of a table have their names")


def check_variables(out):
    for v in out["variables"]:
        found = v["found"]
        if "jobid" in found:
            same(set(found["jobid"]), SEES[v["user"]], "%s: jobs to choose for %s" % (v["board"], v["user"]))
        if "user" in found:
            same(set(found["user"]), {u for j, u, _ in JOBS if j in SEES[v["user"]]},
                 "%s: users to choose for %s" % (v["board"], v["user"]))
        check(all(found.values()), "%s: every variable has values for %s" % (v["board"], v["user"]), found)


def check_others(out):
    for what in dict.fromkeys(o["what"] for o in out["others"]):
        bad = [o for o in out["others"] if o["what"] == what and (
            "error" in o or not (o.get("got") or what in ("descriptions", "start of the editor")))]
        check(not bad, "data source: " + what, *bad[:3])


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
            "people": list(SEES), "boards": boards, "settings": settings(), "seconds": {"now-6h": 6 * 3600, "now-24h": 24 * 3600}}
    p = subprocess.run(["node", "gate.cjs"], cwd=grafana_packages.folder_of(version), input=json.dumps(work), text=True,
                       capture_output=True, timeout=300, check=False)
    return json.loads(p.stdout) if check(p.returncode == 0, "the code of Grafana %s runs" % version, p.stderr[-2000:]) else None


def one_version(gate, now, stores, version):
    why = grafana_packages.install(version)
    if why:
        print("# " + why.replace("\n", "\n# "))
        check("registry" in why or "npm and node" in why, "Grafana %s # SKIP %s" % (version, why[:60]), why)
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
    stores = {p: History([s for s in everything if visible(p, *s[:2])]) for p in SEES}
    gate = Gate()
    try:
        if stores["boss"].why:
            skip("Grafana's data source", stores["boss"].why)
            return plan()
        gate.start_for(stores["boss"].url)
        for version in [grafana_packages.VERSION] + [LATER] * (len(sys.argv) > 1):
            one_version(gate, now, stores, version)
        same(gate.stop(), 0, "the server ends")
    finally:
        gate.stop()
        gate.done()
        for s in stores.values():
            s.stop()
    return plan()


sys.exit(main())
