#!/usr/bin/env python3
"""The pages /cluster, /gpus, /nodes, /queue, /support and /management.  TAP."""
import contextlib
import os
import re
import sqlite3
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import check, run, same  # noqa: E402
from page_lib import FakePrometheus, HOSTILE, Page, fetch, set_up, check_page  # noqa: E402


def staff(site):
    """Pages about the cluster and for its staff have the data of store and Prometheus."""
    faculty = site.file("faculties", "# ACCOUNT FACULTY\nacct1 Science <b>&\nacct2  Science <b>&\nacct0 Arts\n", 0o644)
    fake = FakePrometheus()
    state = [("nodes", "allocated", "", 5), ("nodes", "idle", "drain", 2), ("nodes", HOSTILE, "", 1),
             ("cpus", "allocated", "", 320), ("cpus_allocated", "allocated", "", 300), ("cpus", "idle", "drain", 128)]
    fake.grid = [({"bj": part, "state": s, "flags": f}, v) for part, s, f, v in state]
    site.start(*site.options, "--prometheus.url=" + fake.url, "--prometheus.match=job=batch",
               "--faculty.file=" + faculty)
    page = check_page("the cluster", fetch(site, "/cluster?cluster=alpha"))
    rows = {r[0]: r[1:] for r in page.rows if len(r) == 4}
    same((rows["allocated"], rows["idle (drain)"], rows["Total"]),
         (["5", "320", "300"], ["2", "128", "-"], ["8", "448", "300"]), "nodes and CPUs by state")
    check('job="batch",' in fake.query and 'cluster=~"alpha|"' in fake.query, "the query has the site's labels", fake.query)
    check(HOSTILE.replace("\x01", " ") in page.text and "Down or drained: 2 on average" in page.text,
          "states are shown as text, with a chart of the last day", page.text)
    same([fetch(site, "/cluster?cluster=" + urllib.parse.quote(c)).status for c in ('a"}', "a|b", "a\n")], [400] * 3,
         "a cluster is not PromQL")
    # One GPU is idle while held, one is free, one is used; kernels outside of jobs do not count.
    use = {("a:9", "0", "x"): (0.0, 1.0), ("a:9", "1", "y"): (0.0, None), (HOSTILE, "0", "z"): (0.9, 1.0),
           ("b:9", "0", "w"): (0.5, 0.5)}
    fake.grid = []
    for (node, index, gpu), (busy, held) in use.items():
        labels = {"instance": node, "index": index, "gpu": gpu}
        fake.grid += [({"bj": n, **labels}, v) for n, v in (("use", busy), ("held", held)) if v is not None]
    page = check_page("GPUs", fetch(site, "/gpus", "boss"))
    rows = [r for r in page.rows if len(r) == 26]
    same([(r[0], r[1], set(r[2:])) for r in rows], [("0 %", "24 h", {"0"}), ("90 %", "2.4 h", {"90"}),
                                                    ("free", "0 h", {"\u00b7"}), ("100 %", "0 h", {"100"})]
         if rows[2][0] == "free" else [("0 %", "24 h", {"0"}), ("90 %", "2.4 h", {"90"}),
                                       ("100 %", "0 h", {"100"}), ("free", "0 h", {"\u00b7"})],
         "GPUs are sorted by the time held and not used")
    check("4 GPUs. In the last 24 hours jobs held them for 60 GPU hours; 26.4 of these were not used." in page.text,
          "the sum over all GPUs", page.text[:400])
    same((fetch(site, "/gpus").status, fetch(site, "/gpus", "user2").status), (404, 404), "only admins see all GPUs")
    fake.grid = [({"bj": n, "instance": "node%04d:9" % i, "index": "0", "gpu": "g"}, 0.5)
                 for i in range(1000) for n in ("use", "held")]
    a = fetch(site, "/gpus", "boss")
    check(len(a.body) < 300000 and b"100 of 1,000 GPUs" in a.body, "the page of 1,000 GPUs is below 300 KB", len(a.body))
    fake.grid = [({"bj": "other"}, 1)]
    check("did not answer" in check_page("a wrong reply", fetch(site, "/gpus", "boss")).text,
          "an unexpected reply gives no values")
    fake.grid = []
    check("has no data of GPUs" in fetch(site, "/gpus", "boss").body.decode()
          and "has no data of nodes" in re.sub(r"\s+", " ", fetch(site, "/cluster").body.decode()),
          "pages say that Prometheus has no data")
    # management
    by = {f: [] for f in ("Science <b>&", "Arts", None)}
    accounts = fetch(site, "/api/v1/usage?from=2000-01-01&group_by=account", "boss").data
    for a in accounts:
        by[{"acct1": "Science <b>&", "acct2": "Science <b>&", "acct0": "Arts"}.get(a["account"])].append(a)
    got = fetch(site, "/api/v1/usage?from=2000-01-01&group_by=faculty", "boss").data
    same({g["faculty"]: (g["jobs_ended"], round(g["core_hours"], 1)) for g in got},
         {f: (sum(a["jobs_ended"] for a in v), round(sum(a["core_hours"] for a in v), 1)) for f, v in by.items() if v},
         "usage by faculty is the sum of its accounts")
    page = check_page("management", fetch(site, "/management?from=2000-01-01", "boss"))
    check("Science <b>&" in page.text and "other accounts" in page.text and "By month" in page.text,
          "management sees faculties, accounts and months")
    with contextlib.closing(sqlite3.connect(site.store)) as db, db:
        db.execute("INSERT OR REPLACE INTO price VALUES(1, '<i>EUR', 20000, NULL, NULL, NULL, 0)")
    site.refresh()
    costs = {a["account"]: a for a in fetch(site, "/api/v1/usage?from=2000-01-01&group_by=account", "boss").data}
    same({k: (round(a["cost"], 2), a["currency"]) for k, a in costs.items()},
         {a["account"]: (round(a["core_hours"] * 0.02, 2), "<i>EUR") for a in accounts}, "usage has the cost")
    page = check_page("costs", fetch(site, "/management?from=2000-01-01", "boss"))
    check(all("%.2f <i>EUR" % (int(a["cost"] * 100 + 0.5) / 100) in page.text for a in costs.values()),
          "pages show the cost", page.text[-900:])
    page = check_page("a job that cost", fetch(site, "/jobs/" + site.key))
    job = fetch(site, "/api/v1/jobs/" + site.key + "?fields=cost,currency,cpus,elapsed_seconds,cost_is_minimum").data[0]
    same((round(job["cost"], 5), job["cost_is_minimum"]), (round(job["cpus"] * job["elapsed_seconds"] / 3600 * 0.02, 5), False),
         "the cost of a job")
    with contextlib.closing(sqlite3.connect(site.store)) as db, db:
        db.execute("DELETE FROM price")
    site.refresh()
    check("EUR" not in fetch(site, "/management?from=2000-01-01", "boss").body.decode()
          and "Cost" not in fetch(site, "/jobs/" + site.key).body.decode(), "without prices there is no cost")
    # support
    with contextlib.closing(sqlite3.connect(site.store)) as db, db:
        rule, = db.execute("SELECT id FROM finding_rule WHERE name = 'gpu_unused'").fetchone()
        job, number = db.execute("SELECT id, jobid FROM job WHERE \"end\" IS NULL AND start IS NOT NULL LIMIT 1").fetchone()
        db.execute("INSERT INTO job_finding(job, rule, value, threshold) VALUES(?, ?, 1, 0)", (job, rule))
        db.execute("INSERT INTO running_finding VALUES(?, 'gpu_unused', ?, ?)", (job, site.now - 7200, site.now))
        db.execute("INSERT INTO running_action(job, rule, since, step, action, at, state) VALUES(?, 'gpu_unused',"
                   " ?, 0, 'warn', ?, 'dry run')", (job, site.now - 7200, site.now))
    site.refresh()
    page = check_page("support", fetch(site, "/support", "boss"))
    check(any(r[1:2] and r[1].split()[-1] == str(number) and r[4:5] == ["warn, dry run"] for r in page.rows),
          "running jobs have their findings and actions", [r for r in page.rows if len(r) > 9][:3])
    found = fetch(site, "/api/v1/findings?running=1", "boss").data
    same([(f["jobid"], f["since_ms"], f["action"]) for f in found], [(str(number), (site.now - 7200) * 1000, "warn, dry run")],
         "findings on running jobs by the API")
    body = fetch(site, "/support", "boss").body.decode()
    users = fetch(site, "/api/v1/usage?group_by=user&sort=gpu_unused_hours&from=%d" % (site.now - 7 * 86400), "boss").data
    talk = table(body, "Who to talk to</h2>")
    first = max(users, key=lambda u: (u["gpu_unused_hours"] or -1, u["cpu_unused_hours"] or -1))
    same((list(talk)[1], len(talk)), (first["user"], 1 + min(10, len(users))), "who left the most unused comes first")
    check(all(abs(float(talk[u["user"]][1].replace(",", "")) - u["cpu_unused_hours"]) <= max(1, u["cpu_unused_hours"] / 100)
              for u in users if u["user"] in talk and u["cpu_unused_hours"] is not None), "with the unused CPU hours", talk, users)
    with contextlib.closing(sqlite3.connect(site.store)) as db, db:
        db.execute("DELETE FROM price")
    site.refresh()
    by = [u["user"] for u in sorted(users, key=lambda u: (-(u["gpu_unused_hours"] or -1), -(u["cpu_unused_hours"] or -1)))]
    same(list(table(fetch(site, "/support", "boss").body.decode(), "Who to talk to</h2>"))[1:], by[:10], "without prices by CPU hours")
    months = [time.strftime("%Y-%m", time.gmtime(site.now - d * 86400)) for d in (0, 32)]
    same([", so far" in fetch(site, "/management?month=" + m, "boss").body.decode() for m in months], [True, False],
         "a month that has not ended is one so far")
    check(not any(u["gpu_hours"] for u in users) and "GPU hours" not in body, "without GPUs nothing is said of them")
    since = (site.now - 7 * 86400) // 86400 * 86400  # whole days, as the hours
    lost = [site.db().execute("SELECT count(*) FROM job_v WHERE end_sec >= ? AND state IN (?, ?)", (since, *s)).fetchone()[0]
            for s in (("oom", "oom"), ("timeout", "deadline"))]
    check("%d out of memory, %d at the time limit" % tuple(lost) in body, "jobs that lost their result", lost, re.findall(r"[^<>]*out of memory, [^<>]*", body))
    check(">1<div class=\"sub\">of " in body, "one running job has a finding")
    check(all(("support" in Page(fetch(site, "/jobs", w).body.decode()).links) == sees for w, sees in
              (("boss", True), ("user2", True), ("user3", False))),
          "users who see other users' jobs have a link to the page")
    page = check_page("my own support page", fetch(site, "/support", "newcomer"))
    check("No rule finds anything" in page.text and "user1" not in page.text,
          "the support page has the same access rules")
    with contextlib.closing(sqlite3.connect(site.store)) as db, db:
        db.execute("DELETE FROM job_finding WHERE job = ?", (job,))
    site.refresh()
    site.file("faculties", "acct1 Science\nacct2\n", 0o644)
    same(fetch(site, "/management", "boss").status, 503, "a line without a faculty is an error")
    check(faculty + ":2: expected: ACCOUNT FACULTY; not 'acct2'" in open(site.log).read(), "the log names the line")
    os.unlink(faculty)
    same(fetch(site, "/management", "boss").status, 503, "a file that cannot be read is an error")
    site.start(*site.options)
    check("No Prometheus server is configured" in check_page("no Prometheus", fetch(site, "/cluster")).text, "a page without data says why")


def slow_jobs(site, names):
    """Let the newest jobs of two users have run on four nodes, of which the first was slow."""
    with contextlib.closing(sqlite3.connect(site.store)) as db, db:
        hosts, = db.execute("INSERT INTO hosts(text) VALUES(?) RETURNING id", (",".join(names),)).fetchone()
        ids = []
        for name in names:
            db.execute("INSERT OR IGNORE INTO host(name) VALUES(?)", (name,))
            ids.append(db.execute("SELECT id FROM host WHERE name = ?", (name,)).fetchone()[0])
            db.execute("INSERT INTO hosts_host(host, hosts) VALUES(?, ?)", (ids[-1], hosts))
        jobs = {u: j for j, u in db.execute(
            "SELECT j.id, j.user FROM job AS j WHERE \"end\" - start > 600 AND state = 4 AND \"end\" > ? AND NOT EXISTS"
            " (SELECT 1 FROM job AS o WHERE o.jobid = j.jobid AND o.id <> j.id)", (site.now - 6 * 86400,))}
        for job in list(jobs.values())[:2]:
            db.execute("UPDATE job SET nodes = 4, hosts = ? WHERE id = ?", (hosts, job))
            for i, host in enumerate(ids):
                db.execute("INSERT INTO node_record(cluster, jobid, host, slurm_node, start, \"end\", cpus, cpu_usec)"
                           " SELECT cluster, jobid, ?, '', start, \"end\", 8, 8 * 1000000 * (\"end\" - start) * ? / 10"
                           " FROM job WHERE id = ?", (host, 9 if i else 3, job))
        return [k for k, in db.execute("SELECT j.jobid FROM job AS j WHERE hosts = ?", (hosts,))]


def table(page, title):
    """The rows of the table below a title, by their first cell."""
    part = page.split(title, 1)[1].split("</table>", 1)[0]
    rows = [[" ".join(re.sub("<[^>]*>", " ", c).split()) for c in re.findall(r"<t[dh][ >].*?</t[dh]>", r, re.S)]
            for r in re.findall(r"<tr.*?</tr>", part, re.S)]
    return {r[0]: r[1:] for r in rows}


def nodes(site):
    """The pages of nodes: jobs of the week, slow nodes, what Prometheus says, and who sees what."""
    names = ["slow0", "fast1", "fast2", "fast3"]
    many = slow_jobs(site, names)
    same(len(many), 2, "two users have jobs on four nodes")
    jobs, failed = {}, {}
    rows = site.db().execute("SELECT nodelist, state, \"user\" FROM job_v WHERE end_sec >= ?", (site.now - 7 * 86400,)).fetchall()
    for nodelist, state, who in rows:
        for n in nodelist.split(",") if nodelist else ():
            jobs[n] = jobs.get(n, 0) + 1
            failed[n] = failed.get(n, 0) + (state in ("failed", "node_fail", "boot_fail"))
    site.refresh()
    fake = FakePrometheus()
    fake.grid = [({"bj": part, label: n + (":9010" if label == "instance" else ""), **more}, v)
                 for n, state, held, busy, up in (("slow0", "allocated+", 64, 20, 1), ("fast1", "idle+drain", 0, 0, 0),
                                                  ("fast2", "mixed+", 10, 9.5, 1), (HOSTILE, "idle+", 0, 0, 1))
                 for part, label, v, more in (("state", "node", 1, {"state": state}), ("cpus", "node", 64, {}),
                                              ("held", "node", held, {}), ("busy", "instance", busy, {}),
                                              ("up", "instance", up, {}), ("watts", "instance", 402, {}))]
    site.start(*site.options, "--prometheus.url=" + fake.url, "--prometheus.match=job=batch")
    fetch(site, "/nodes?cluster=alpha", "boss")
    check('batchjob_cluster_node_cpus{job="batch",cluster=~"alpha|"}' in fake.query, "all nodes are queried", fake.query)
    a = fetch(site, "/nodes", "boss")
    check_page("nodes", a)
    body = a.body.decode()
    worst, listed = table(body, "Worst nodes"), table(body, "As a list")
    same((worst["slow0"][0], worst["slow0"][1][:42]), ("Slow", "2 of 2 jobs on several nodes: CPUs were le"), "a node that was slow")
    check(worst["slow0"][1].endswith("33.3 %"), "with its speed", worst["slow0"])
    same((worst["fast1"][:2], "fast2" in worst, "fast3" in worst), (["Out of service", "idle+drain"], False, False),
         "a drained node is out of service; nodes as fast as others are not named")
    same({n: (int(r[-2]), int(r[-1])) for n, r in listed.items() if n in jobs}, {n: (jobs[n], failed[n]) for n in jobs},
         "jobs and failed jobs of the week on each node")
    same((listed["slow0"][:2], listed["fast2"][0], listed["fast3"][0]), (["Full", "64 of 64"], "Partly used", "Not known"),
         "state and held CPUs")
    check("0" not in listed["fast3"][1] + listed["fast3"][2], "what is not known of a node is not 0", listed["fast3"])
    fake.grid += [({"bj": "reason", "node": "fast1", "state": "fan <b>2"}, 1), ({"bj": "gpus", "node": "fast2"}, 4)]
    asked = "batchjob_cluster_reason_node_info"
    a = fetch(site, "/nodes?show=out", "boss")
    check_page("nodes out of service", a)
    same({n: r[0] for n, r in table(a.body.decode(), '<h2>Nodes</h2>').items() if n != "Node"},
         {"fast1": "Out of service idle+drain: fan <b>2".replace("<", "&lt;").replace(">", "&gt;")},
         "only nodes out of service, with the reason")
    check(asked in fake.query, "admins see the reasons", fake.query)
    a = fetch(site, "/home", "boss")
    check_page("the start page of an admin", a)
    same({n: r for n, r in table(a.body.decode(), "Nodes out of service").items() if n != "Node"},
         {"fast1": ["Out of service", "idle+drain: fan &lt;b&gt;2"]}, "admins begin with nodes out of service")
    check(asked not in fetch(site, "/home?mine=true", "boss").body.decode() and "out of service" not in
          fetch(site, "/home", "user3").body.decode(), "users do not see them on their start page")
    kept, fake.grid = fake.grid, [g for g in fake.grid if "fast1" not in str(g)]
    check("No node is out of service, of 3 whose state is known." in fetch(site, "/home", "boss").body.decode(),
          "all nodes are in service")
    fake.grid = [g for g in kept if g[0]["bj"] in ("up", "busy")]
    same({n: r[0] for n, r in table(fetch(site, "/home", "boss").body.decode(), "Nodes out of service").items() if n != "Node"},
         {"fast1": "Not measured"}, "a node whose exporter does not answer")
    fake.grid = [({"bj": "busy", "instance": "slow0:9010"}, 1)]
    check("The states of nodes are not known" in fetch(site, "/home", "boss").body.decode(), "unknown states are not good")
    fake.grid = kept
    fake.grid = kept + [({"bj": "gpu_health", "instance": n + ":9010"}, v) for n, v in (("fast2", 4), ("fast3", 2))]
    worst = table(fetch(site, "/nodes?show=worst", "boss").body.decode(), "Worst nodes")
    same((worst["fast2"][:2], "fast3" in worst), (["GPU unfit", "Results of jobs on a GPU may be wrong"], False),
         "nodes with a GPU that jobs should not use")
    check("A GPU needs attention" in check_page("a node with a GPU", fetch(site, "/nodes/fast3", "boss")).text,
          "the page of a node says how its GPUs are")
    fake.grid = kept
    same(set(table(fetch(site, "/nodes?show=gpus", "boss").body.decode(), '<h2>Nodes</h2>')) - {"Node"}, {"fast2"},
         "only nodes with GPUs")
    body = fetch(site, "/nodes?show=worst", "boss").body.decode()
    check("slow0" in table(body, "Worst nodes") and "As a list" not in body, "only the worst nodes")
    tabs = re.findall(r'<a[^>]*>([^<]*)<b>([\d,]+)</b>', body.split('<ul class="tabs">')[1].split("</ul>")[0].replace(" <b>", "<b>"))
    same([int(n.replace(",", "")) for t, n in tabs if t in ("Out of service", "With GPUs")], [1, 1], "tabs have the numbers of nodes")
    same(fetch(site, "/nodes?show=bad", "boss").status, 400, "an unknown choice of nodes is refused")
    fake.grid = [g for g in fake.grid if g[0]["bj"] not in ("reason", "gpus")]
    own = table(fetch(site, "/nodes", "user3").body.decode(), "As a list")
    check(asked not in fake.query, "others do not see the reasons", fake.query)
    mine = {}
    for nodelist, state, who in rows:
        for n in nodelist.split(",") if who == "user3" else ():
            mine[n] = mine.get(n, 0) + 1
    same({n: int(r[-2]) for n, r in own.items() if n in jobs and int(r[-2])}, mine, "users count their own jobs only")
    a = fetch(site, "/nodes/slow0", "boss")
    check_page("a node", a)
    body = a.body.decode()
    check('node="slow0"' in fake.query and 'instance=~"slow0(\\\\.[^:]*)?(:[0-9]+)?"' in fake.query, "one node is queried", fake.query)
    rows_of = table(body, "Jobs on this node")
    check("Serious" in body and "<h2>Slow</h2>" in body and len(rows_of) == 3, "its verdict and jobs", list(rows_of))
    check("CPUs" in body and "busy: 20 on average" in body and "Power" in body, "its curves")
    fake.grid += [({"bj": "reason", "node": "slow0", "state": "fan <b>2"}, 1)]
    body = fetch(site, "/nodes/slow0", "boss").body.decode()
    same([r[1] for r in table(body, "State, 7 days</h2>").values()], ["Reason", "fan &lt;b&gt;2"],
         "changes of its state have the reason")
    del fake.grid[-1]
    day = int(time.time()) // 86400 * 86400
    was = [("slow0", "root|fan|<b>2", day - 20 * 86400, day - 12 * 86400), ("slow0", "|kernel", day - 2 * 86400, time.time() - 600),
           ("fast2", "anna|disk", day - 9 * 86400, day - 7200)]
    fake.grid += [({"bj": part, "node": n, "state": text}, at) for n, text, *times in was for part, at in zip(("first", "last"), times)]
    def stamp(at):
        return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at))
    history = table(fetch(site, "/nodes?show=out", "boss").body.decode(), "in the last 30 days</h2>")
    same((list(history), history["fast2"]), (["Node", "slow0", "fast2"], ["disk", "anna", stamp(day - 9 * 86400), stamp(day - 7200)]),
         "drains with reason, who drained, and times")
    del fake.grid[-2:]
    body = fetch(site, "/nodes/slow0", "boss").body.decode()
    check("timestamp(batchjob_cluster_reason_node_info{" in fake.query and "[30d:10m]@end()" in fake.query, "queried for 30 days", fake.query)
    same(table(body, "in the last 30 days</h2>"), {"Reason": ["Set by", "From", "Until"], "kernel": ["&ndash;", stamp(day - 2 * 86400), "now"],
         "fan|&lt;b&gt;2": ["root", stamp(day - 20 * 86400), stamp(day - 12 * 86400)]}, "the drains of a node")
    fetch(site, "/nodes/slow0", "user3")
    check("set_by" not in fake.query, "only admins see who drained", fake.query)
    del fake.grid[-4:]
    a = fetch(site, "/nodes/slow0", "user3" if mine.get("slow0") else "newcomer")
    check(a.status == 200 and (mine.get("slow0") or "No jobs that you may see" in a.body.decode()), "others do not see its jobs")
    a = fetch(site, "/nodes/" + urllib.parse.quote('x"} or up{a="'), "boss")
    check(a.status == 200 and 'node="x\\"} or up{a=\\""' in fake.query, "a name of a node is not PromQL", fake.query)
    fake.grid = [({"bj": p, "node": "node%04d" % i, **({"state": "mixed+"} if p == "state" else {})}, 1)
                 for i in range(1200) for p in ("state", "cpus", "held")]
    a = fetch(site, "/nodes", "boss")
    check(len(a.body) < 300000 and a.body.count(b'href="nodes/node') >= 1200, "the page of 1,200 nodes is below 300 KB", len(a.body))
    fake.grid = [({"bj": "busy", "instance": "slow0:9010"}, 3)]
    body = fetch(site, "/nodes", "boss").body.decode()
    same(re.findall("<dt>(.*?)</dt>", body), ["State not known"], "without any state, no number of nodes is 0")
    same([bool(n) for n in re.findall(r'<li><a href="nodes\?show=[^>]*>[^<]*( <b>\d+</b>)?</a>', body)], [True, False, True, False],
         "nor the number of nodes out of service and of those with GPUs")
    def worst_now(sql, *values):
        with contextlib.closing(sqlite3.connect(site.store)) as db, db:
            db.execute(sql, values)
        site.refresh()
        return table(fetch(site, "/nodes?show=worst", "boss").body.decode(), "Worst nodes")
    one = "UPDATE job SET user = (SELECT min(user) FROM job WHERE jobid IN (%s)) WHERE jobid IN (%s)" % ((",".join(map(str, many)),) * 2)
    check("slow0" not in worst_now(one), "a node is not slow because of one user's jobs")
    bad = worst_now("UPDATE job SET state = 5 WHERE \"end\" >= ? AND state <> 9", site.now - 7 * 86400)
    check("Jobs fail here" not in [r[0] for r in bad.values()], "no node stands out if jobs fail everywhere", bad)
    site.start(*site.options)
    body = check_page("nodes without Prometheus", fetch(site, "/nodes", "boss")).text
    check("No Prometheus server is configured" in body and "slow0" in body, "the store alone knows jobs of nodes")
    check_page("a node without Prometheus", fetch(site, "/nodes/slow0", "boss"))


REASONS = [("DependencyNeverSatisfied", "Never start"), ("AssocMaxCpuPerJobLimit", "Never start"),
           ("QOSMaxCpuPerUserLimit", "Limits, jobs and holds of the owner"), ("AssocGrpCpuLimit", "Limits of the account or QOS"),
           ("Priority", "Free resources, jobs ahead"), ("JobHeldAdmin", "Operators"), ("Strange", "Other or not known")]


def queue(site):
    """What waiting jobs wait for, those that never start first, and how long."""
    with contextlib.closing(sqlite3.connect(site.store)) as db, db:
        jobs = db.execute("SELECT id, jobid FROM job WHERE \"end\" IS NULL ORDER BY id LIMIT ?", (len(REASONS),)).fetchall()
        for (job, _), (reason, _) in zip(jobs, REASONS):
            db.execute("INSERT OR IGNORE INTO word(text) VALUES(?)", (reason,))
            db.execute("UPDATE job SET state = 1, start = NULL, eligible = ?, reason = (SELECT id FROM word WHERE text = ?)"
                       " WHERE id = ?", (site.now - 7200, reason, job))
    site.refresh()
    same(len(jobs), len(REASONS), "jobs to wait")
    wanted, oldest = {}, {}
    for reason, since in site.db().execute("SELECT (SELECT text FROM word WHERE id = j.reason), coalesce(eligible, submit) FROM job AS j"
                                           " WHERE state = 1 AND start IS NULL AND \"end\" IS NULL").fetchall():
        kind = dict(REASONS).get(reason, "Free resources, jobs ahead" if reason == "Resources" else "Other or not known")
        wanted[kind] = wanted.get(kind, 0) + 1
        oldest[kind] = min(oldest.get(kind, since), since)
    a = fetch(site, "/queue", "boss")
    check_page("the queue", a)
    body = a.body.decode()
    rows = table(body, "What they wait for</h2>")
    same({k: int(r[1]) for k, r in rows.items() if k in wanted}, wanted, "jobs by what they wait for")
    check(all(re.match(r"(\d+-)?\d\d:\d\d:\d\d$", rows[k][2]) for k in wanted), "and how long the oldest has waited", rows)
    part = body.split('class="card verdict bad"', 1)[1].split("</section>", 1)[0]
    check("2 jobs wait for something that will not happen." in part and "It depends on a job that failed" in part
          and all(str(j) in part for _, j in jobs[:2]) and str(jobs[2][1]) not in part, "jobs that never start come first", part)
    waits = table(body, "How long jobs waited")
    started = [max(0, w) for w, in site.db().execute("SELECT start - coalesce(eligible, nullif(submit, 0)) FROM job WHERE start >= ?"
                                                     " AND start <= ?", (site.now - 7 * 86400, time.time())).fetchall() if w is not None]
    check(abs(sum(int(r[-1].replace(",", "")) for k, r in waits.items() if k != "Wait") - len(started)) <= 2
          and abs(int(waits["below 1 minute"][-1].replace(",", "")) - sum(w < 60 for w in started)) <= 2,
          "the distribution of waits has all jobs that started", waits, len(started))
    job, number = jobs[4]  # waits for resources
    partition, = site.db().execute("SELECT (SELECT name FROM partition WHERE id = j.partition) FROM job AS j WHERE id = ?",
                                   (job,)).fetchone()
    longer = sorted(max(0, w) for w, in site.db().execute(
        "SELECT start - coalesce(eligible, nullif(submit, 0)) FROM job AS j WHERE start >= ? AND start <= ? AND"
        " partition = (SELECT id FROM partition WHERE name = ?)", (site.now - 7 * 86400, time.time(), partition)) if w is not None)
    with contextlib.closing(sqlite3.connect(site.store)) as db, db:  # it has waited as long as half of the others
        age = longer[len(longer) // 2]
        db.execute("UPDATE job SET eligible = ? WHERE id = ?", (int(time.time()) - age, job))
    site.refresh()
    rows = {r.split(" ")[-1]: v for r, v in table(fetch(site, "/queue", "boss").body.decode(), "Waiting jobs</h2>").items()}
    left = [w - age for w in longer if w >= age]
    got = re.fullmatch(r"in about (\d\d):(\d\d):(\d\d)", rows[str(number)][-1])
    seconds = sum(int(x) * y for x, y in zip(got.groups(), (3600, 60, 1))) if got else None
    check(got and min(left) <= seconds <= max(left) and abs(sorted(left)[len(left) // 2] - seconds) <= 600,
          "the estimate is what half of the jobs waited longer", rows[str(number)], sorted(left)[len(left) // 2])
    same(rows[str(jobs[2][1])][-1], "&ndash;", "a job that waits for a limit has no estimate")
    mine = fetch(site, "/queue", "newcomer").body.decode()
    check("verdict bad" not in mine and "You have no waiting jobs" in mine, "users see their own waiting jobs only")


sys.exit(run(set_up, staff, nodes, queue, count=2500, days=20))
