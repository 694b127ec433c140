#!/usr/bin/env python3
"""Open OnDemand: widgets rendered by ruby's ERB against a real server on a Unix socket, balances and
quotas in its formats, curves of jobs by a real Prometheus.  The jobs and samples are simulated.  TAP."""
import datetime
import html
import json
import math
import os
import pwd
import re
import shutil
import sqlite3
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from api_lib import Site  # noqa: E402
from gate_lib import FilledPrometheus  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

TOP = os.path.abspath(os.path.join(HERE, "../.."))
O = os.path.join(TOP, os.environ.get("O", "build"))
EXAMPLES = os.path.join(TOP, "examples/ondemand")
OWN = pwd.getpwuid(os.getuid()).pw_name
NAME = "<b>a</b> & \"q\" '1' <%= 1 %>"
DAY = 86400


def store(site, *words):
    return subprocess.run([O + "/batchjob_stats_db", *words, "--store.path=" + site.store], capture_output=True,
                          text=True, timeout=300, check=False)


def sql(site, text, *values):
    db = sqlite3.connect(site.store, timeout=300)
    try:
        return db.execute(text, values).fetchall()
    finally:
        db.commit()
        db.close()


# --- balances and quotas -------------------------------------------------------------------------


def held(site, account, first, column):
    """Hours of CPUs or GPUs that jobs of the account held since a day, summed over the jobs."""
    begin = datetime.datetime.fromisoformat(first).replace(tzinfo=datetime.timezone.utc).timestamp()
    return sum(n * (end - max(start, begin)) for start, end, n in sql(
        site, "SELECT j.start, coalesce(j.\"end\", (SELECT max(to_sec) FROM covered)), j.%s FROM job AS j WHERE j.start"
        " IS NOT NULL AND j.account = (SELECT id FROM account WHERE name = ?)" % column, account) if n and end > max(start, begin)) / 3600


def day(site, ago):
    return datetime.datetime.fromtimestamp(site.now - ago * DAY, datetime.timezone.utc).date().isoformat()


def balances(site):
    first, account = day(site, 3), "acct1"
    budget = site.file("budget", "# comment\n%s 10000.5 %s   # core hours\nacct0 1 %s %s\n"
                       "acct2 5 %s\nnobody 100 %s\nacct3 1 %s\n" % (
                           account, first, day(site, 5), day(site, 4), first, first, day(site, 400)))
    p = store(site, "balances", "core-hours", budget)
    same(p.returncode, 0, "balances succeeds")
    got = json.loads(p.stdout)
    same((got["version"], got["config"]), (1, {"unit": "core hour", "project_type": "account"}), "version and units")
    check(site.now - DAY < got["timestamp"] <= site.now + 300, "the time is that of the last import", got["timestamp"])
    rows = [(r["user"], r["project"], r["value"]) for r in got["balances"]]
    users = {u for u, in sql(site, "SELECT DISTINCT u.name FROM job AS j JOIN user AS u ON u.id = j.user JOIN account AS a"
                             " ON a.id = j.account WHERE a.name = ?", account)}
    want = math.floor(10000.5 - held(site, account, first, "cpus"))
    mine = [r for r in rows if r[1] == account]
    check({u for u, _, _ in mine} >= users and len(mine) == len({u for u, _, _ in mine}), "a row for each user", mine)
    check(all(abs(v - want) <= 1 for _, _, v in mine), "what is left of the hours since the first day", mine[:3], want)
    low = [v for _, a, v in rows if a == "acct2"]
    check(low and max(low) < 0 and abs(low[0] - math.floor(5 - held(site, "acct2", first, "cpus"))) <= 1,
          "an account that used more has less than nothing", low)
    same([a for _, a, _ in rows if a not in (account, "acct2")], [], "no rows for other days and accounts without jobs")
    check("budget:6: acct3: left out" in p.stderr, "a budget that began before the import is left out, with a warning", p.stderr)
    p = store(site, "balances", "gpu-hours", site.file("gpus", "%s 50 %s\n" % (account, first)))
    check(abs(json.loads(p.stdout)["balances"][0]["value"] - math.floor(50 - held(site, account, first, "gpus"))) <= 1,
          "GPU hours", p.stdout)
    for line in ("acct1 many 2026-01-01", "acct1 5", "acct1 5 yesterday", "acct1 5 2026-02-01 2026-01-01", "acct1 -5 2026-01-01"):
        p = store(site, "balances", "core-hours", site.file("bad", "%s\n%s 7 %s\n" % (line, account, first)))
        check(p.returncode == 1 and "bad:1: '%s" % line in p.stderr and json.loads(p.stdout)["balances"],
              "'%s' is refused, the rest is printed" % line, p.stderr, p.stdout[:200])
    for words in (("balances",), ("balances", "hours", budget), ("balances", "core-hours", site.folder + "/missing")):
        check(store(site, *words).returncode == 1, "%s is refused" % " ".join(words)[:40])


def quotas(site):
    path = site.file("storage", "# USER KIND NAME BYTES BYTES_LIMIT FILES FILES_LIMIT\nanna quota home 12G 50G 41000 500000"
                     " /home/anna\nbob project a\"b\\c 1536M 2T 7 8\nanna quota scratch 1G - 5 -\n")
    p = subprocess.run(["awk", "-f", EXAMPLES + "/quotas.awk", path], capture_output=True, text=True, check=True)
    got = json.loads(p.stdout)
    same([sorted(q.items()) for q in got["quotas"]], [sorted(q.items()) for q in (
        {"path": "/home/anna", "user": "anna", "total_block_usage": 12 << 20, "block_limit": 50 << 20,
         "total_file_usage": 41000, "file_limit": 500000},
        {"path": "a\"b\\c", "user": "bob", "total_block_usage": 1536 << 10, "block_limit": 2 << 30,
         "total_file_usage": 7, "file_limit": 8})], "quotas, without those that are not known")
    check(got["version"] == 1 and got["timestamp"] > site.now - 300, "version and time", got)


# --- widgets -------------------------------------------------------------------------------------


def render(site, name, **env):
    code = ("load ARGV[0] + '/batchjob.rb'; print ERB.new(File.read(ARGV[0] + '/widgets/_' + ARGV[1] + '.html.erb'))"
            ".result(binding)")
    p = subprocess.run(["ruby", "-Ku", "-rerb", "-e", code, EXAMPLES, name], capture_output=True, text=True, timeout=300,
                       check=False, env={**os.environ, "LC_ALL": "C.UTF-8", "BATCHJOB_SOCKET": site.socket,
                                         "BATCHJOB_URL": "https://stats.example.org/", **env})
    check(p.returncode == 0 and not p.stderr, "%s renders" % name, p.stderr[-1000:])
    return p.stdout


def cells(text):
    """The rows of a table as texts."""
    return [[html.unescape(re.sub("<[^>]*>", "", c)).strip() for c in re.findall("<t[hd]>(.*?)</t[hd]>", row, re.S)]
            for row in re.findall("<tr>(.*?)</tr>", text, re.S)]


def widgets(site):
    same(store(site, "rename", "user", "user1", OWN).returncode, 0, "the jobs of a user become ours")
    sql(site, "INSERT INTO jobname(id, text) VALUES(999999, ?)", NAME)
    mine = "(SELECT id FROM user WHERE name = '%s')" % OWN
    sql(site, "UPDATE job SET name = 999999 WHERE user = " + mine)
    # The newest job runs, with a finding.
    (job, number), = sql(site, "SELECT id, CAST(jobid AS TEXT) FROM job WHERE user = %s AND start IS NOT NULL ORDER BY start"
                         " DESC LIMIT 1" % mine)
    sql(site, "UPDATE job SET \"end\" = NULL, state = 2 WHERE id = ?", job)
    sql(site, "INSERT INTO finding_rule(id, name, severity, condition, text) VALUES(999, 'x', 'warning', '',"
        " 'Uses <3 & 4 CPUs.')")
    sql(site, "DELETE FROM job_finding WHERE job = ?", job)
    sql(site, "INSERT INTO job_finding(job, rule, value, threshold) VALUES(?, 999, 1, 1)", job)
    sql(site, "INSERT INTO running_finding(job, rule, since, seen) VALUES(?, 'x', ?, ?)", job, site.now - 60, site.now)
    site.socket = os.path.join(site.folder, "api.sock")
    site.start("--web.unix-socket=" + site.socket, "--web.config.file=" + site.file("web.yml", "basic_auth_users: {}\n"))

    running = render(site, "batchjob_running")
    rows = cells(running)
    same([(r[0], r[1], r[3]) for r in rows[1:]], [(number, NAME, "Uses <3 & 4 CPUs.")], "my running job with its finding")
    check('href="https://stats.example.org/jobs/fake%3A{}%3A'.format(number) in running, "it links to its page", running)
    check("<b>a" not in running, "a hostile name is text")

    ended = cells(render(site, "batchjob_ended"))
    rows = site.fetch("/api/v1/jobs?mine=true&state=ended&limit=10&from=now-30d&fields=key,display_id,state", unix=site.socket)
    want = json.loads(rows.body)["data"]
    same([(r[0], r[1], r[2]) for r in ended[1:]], [(j["display_id"], NAME, j["state"]) for j in want], "my last jobs")
    reports = [json.loads(site.fetch("/api/v1/jobs/%s/report" % j["key"], unix=site.socket).body)["data"]["verdict"]
               for j in want]
    same([r[4] for r in ended[1:]], [v["todo"] or v["wrong"] or "" for v in reports], "each with its sentence")
    check(len(want) > 3 and any(r[4] for r in ended[1:]), "there are some", ended)

    month = dict(r for r in cells(render(site, "batchjob_month")))
    usage = json.loads(site.fetch("/api/v1/usage?user=%s&from=now/M" % OWN, unix=site.socket).body)["data"][0]
    same(month["Jobs that ended"], str(usage["jobs_ended"]), "jobs of the month")
    check(abs(float(month["CPU hours"]) / usage["core_hours"] - 1) < .02, "CPU hours of the month", month, usage["core_hours"])
    same(month["Energy"], "\u2013", "energy that nobody measured is a dash")

    site.stop()
    for name in ("batchjob_running", "batchjob_ended", "batchjob_month"):
        check("Not known now." in render(site, name), "%s without a server says so" % name)


# --- curves in "Active Jobs" ---------------------------------------------------------------------

# What jobs do on nodes: (instance, jobid, array task of array 300), CPUs, CPUs used, GiB, use of GPUs.
CURVES = {("n1.example.org:9010", "4711", ""): (8, 2.5, 3, [.25, .75]), ("n2.example.org:9010", "4711", ""): (8, 1, 1, []),
          ("n1.example.org:9010", "5001", "4"): (4, 1.5, 2, []), ("n1.example.org:9010", "5002", "5"): (4, .5, 1, []),
          ("n12.example.org:9010", "4711", ""): (16, 16, 9, [])}
GIB = 1 << 30


def samples(now):
    times = range(now - 600, now + 1, 15)
    for (instance, jobid, task), (cpus, used, gib, gpus) in CURVES.items():
        one = {"cluster": "alpha", "instance": instance, "jobid": jobid}
        info = dict(one, array_job_id="300" if task else "", array_task=task)
        rows = [("batchjob_job_info", {k: v for k, v in info.items() if v}, lambda t: 1),
                ("batchjob_job_cpu_seconds_total", one, lambda t, used=used: used * (t - now + 1000)),
                ("batchjob_job_cpus", one, lambda t, cpus=cpus: cpus),
                ("batchjob_job_memory_rss_bytes", one, lambda t, gib=gib: gib * GIB / 2),
                ("batchjob_job_memory_shmem_bytes", one, lambda t, gib=gib: gib * GIB / 2),
                ("batchjob_job_memory_limit_bytes", one, lambda t: 16 * GIB)]
        for i, use in enumerate(gpus):
            gpu = dict(one, gpu="GPU-%d" % i, index=str(i))
            rows += [("batchjob_job_gpu_busy_ratio", gpu, lambda t, use=use: use),
                     ("batchjob_job_gpu_memory_used_bytes", gpu, lambda t, i=i: (i + 1) * GIB)]
        for name, labels, value in rows:
            yield name, labels, [(t, value(t)) for t in times]


def grafana_part():
    """The settings of cluster.yml, read without a YAML library: the file has one key a line."""
    with open(EXAMPLES + "/cluster.yml", encoding="utf-8") as f:
        lines = re.findall(r"^ *([\w-]+): +([^#\n]+?) *(?:#.*)?$", f.read(), re.M)
    return dict(lines[-7:]), dict(lines)


def curves(site):
    with open(EXAMPLES + "/dashboard.json", encoding="utf-8") as f:
        board = json.load(f)
    panels = {p["id"]: p for p in board["panels"]}
    last, keys = grafana_part()
    same(keys["uid"], board["uid"], "cluster.yml names the dashboard")
    same([k in ("cpu", "memory", "gpu-util", "gpu-memory") and int(v) in panels for k, v in list(last.items())[:4]],
         [True] * 4, "each of its panels exists")
    variables = {v["name"]: v for v in board["templating"]["list"]}
    same([(k, variables[v]["type"]) for k, v in list(last.items())[4:]],
         [("cluster", "textbox"), ("host", "textbox"), ("jobid", "textbox")],
         "each of its variables exists, and takes any value")
    now = site.now // 15 * 15
    prom = FilledPrometheus(list(samples(now)))
    try:
        if prom.failure:
            check("not installed" in prom.failure, "curves # SKIP " + prom.failure, prom.failure)
            return

        def shown(number, host, jobid, cluster="alpha"):
            out = []
            for t in panels[number]["targets"]:
                expr = t["expr"].replace("$__rate_interval", "60s")
                for name, value in (("cluster", cluster), ("host", host), ("jobid", jobid)):
                    expr = expr.replace("$" + name, value)
                body = prom.get("/api/v1/query?" + urllib.parse.urlencode({"query": expr, "time": now}))
                out += [round(float(r["value"][1]), 3) for r in json.loads(body)["data"]["result"]] if body else ["error"]
            return out
        same(shown(20, "n1", "4711"), [2.5, 8], "CPUs of a job on one node, used and usable; not those of n12")
        same(shown(20, "n2", "4711"), [1, 8], "on the other node")
        same(shown(24, "n1", "4711"), [3 * GIB, 16 * GIB], "memory and its limit")
        same(shown(25, "n1", "4711"), [.25, .75], "use of its GPUs")
        same(shown(26, "n1", "4711"), [GIB, 2 * GIB], "memory of its GPUs")
        same(shown(20, "n1", "300_4"), [1.5, 4], "a task of an array, by the id that squeue shows")
        same(shown(20, "n1", "300_9") + shown(20, "n1", "47"), [], "no other job")
        same(shown(20, "n1", "4711", "beta"), [], "no other cluster")
        same(shown(25, "n1", "5001"), [], "a job without GPUs has none")
    finally:
        prom.stop()


def main():
    site = Site(count=300, days=6)
    try:
        site.fill()
        quotas(site)
        balances(site)
        curves(site)
        if shutil.which("ruby"):
            widgets(site)
        else:
            skip("widgets", "not installed: ruby")
    finally:
        site.stop()
        shutil.rmtree(site.folder, ignore_errors=True)
    return plan()


sys.exit(main())
