#!/usr/bin/env python3
"""The web pages: their values, access rules, escaping of hostile names, and how
a browser (Chromium) shows them.  TAP."""
import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import IMPORTER, basic, check, run, rounded, same, user  # noqa: E402
from page_lib import FakePrometheus, GRAFANA, HOSTILE, Page, fetch, set_up, check_page  # noqa: E402
from prom_lib import Node, Prometheus, wait_for  # noqa: E402

STARTED = "running,suspended,ended"


def hosts(nodelist):
    """The names of a list such as "n[1-3,5],m1"."""
    names = []
    for prefix, ranges in re.findall(r"([^\[,]+)(?:\[([^\]]*)\])?", nodelist or ""):
        for r in ranges.split(",") if ranges else [""]:
            first, _, last = r.partition("-")
            names += [prefix + str(i).zfill(len(first)) for i in range(int(first), int(last or first) + 1)] if r else [prefix]
    return names


def jobs(site):
    seen, path = [], "/jobs?from=2000-01-01&limit=7"
    while path and len(seen) < 1000:
        a = fetch(site, path)
        page = check_page("my jobs", a) if not seen else Page(a.body.decode())
        seen += [urllib.parse.unquote(u[5:]) for u in page.links if u.startswith("jobs/")]
        more = [u for u in page.links if u.startswith("jobs?") and "cursor=" in u]
        path = "/" + more[0] if more else None
    waiting = [j["key"] for j in site.own_jobs if j["state"] == "pending"]
    same(seen, waiting[:5] + [j["key"] for j in site.own_jobs if j["state"] != "pending"],
         "some waiting jobs first, then page by page all others of the user")
    page = check_page("with filters", fetch(site, "/jobs?from=2000-01-01&name=%22%3E%3Cscript%3E&state=failed"
                                            "&account=%27%22%3C"))
    check("No jobs found" in page.text, "filters that match no job show none")
    a = fetch(site, "/jobs?state=zzz")
    page = check_page("a bad filter", a)
    check(a.status == 400 and "Unknown state" in page.text, "a bad filter is an error", a)
    same(fetch(site, "/jobs?nonsense=1").status, 400, "an unknown parameter is refused")
    page = check_page("an admin's list", fetch(site, "/jobs?from=2000-01-01&limit=500", "boss"))
    check("User" in page.text and len({r[3] for r in page.rows if len(r) > 4}) > 5, "an admin sees jobs of all users")
    used = [j["cpu_efficiency_percent"] for j in fetch(
        site, "/api/v1/jobs?from=2000-01-01&limit=500&fields=cpu_efficiency_percent&state=" + STARTED, "boss").data]
    shown = [r[10] for r in page.rows if len(r) > 10][-len(used):]
    same([s == "-" for s in shown], [u is None for u in used], "CPU use is shown where it is known")
    check(all(u is None or abs(float(s.split()[0]) - u) < 0.11 for s, u in zip(shown, used)),
          "CPU use is from the best source", (shown[:9], used[:9]))
    page = Page(fetch(site, "/jobs?from=2000-01-01&limit=100000", "boss").body.decode())
    same(len([r for r in page.rows if len(r) > 10]), 500, "a page has at most 500 jobs")
    page = check_page("a list without jobs", fetch(site, "/jobs?from=0", "newcomer"))
    check("No jobs" in page.text, "a user without jobs sees none")


def running_list(site):
    """The list of running jobs has what they use now, and says "-" where that is not known."""
    path = "/jobs?from=2000-01-01&limit=500&state=running"
    db = sqlite3.connect(site.store)
    db.execute("INSERT INTO job_part(job, node, gpu, since, upto, cpus, cpus_milli, memory_bytes) SELECT id, 'n1', '',"
               " start, start + 300, 2, 1500, 1073741824 FROM job WHERE \"end\" IS NULL AND state = 2 AND nodes = 1"
               " ORDER BY id LIMIT 1")
    db.commit()
    db.close()
    site.refresh()
    page = check_page("running jobs", fetch(site, path, "boss"))
    check("CPUs now" in page.text and "CPU efficiency" not in page.text.split("Idle since")[-1],
          "the list of running jobs has columns of their own")
    rows = {urllib.parse.unquote(k): v for k, v in
            ((j["key"], j) for j in fetch(site, "/api/v1/jobs?from=2000-01-01&limit=500&state=running&fields=key,"
                                          "display_id,now_cpus_busy,now_memory_bytes,now_gpu_busy_percent,idle_since",
                                          "boss").data)}
    shown = {r[0].split()[-1]: r[-4:] for r in page.rows if len(r) > 10}
    same(sorted(shown), sorted(j["display_id"] for j in rows.values()), "the same jobs run on the page and in the API")
    for j in rows.values():
        values = [j["now_cpus_busy"], j["now_memory_bytes"], j["now_gpu_busy_percent"], j["idle_since"]]
        if [s in ("-", "") for s in shown[j["display_id"]]] != [v is None for v in values]:
            return check(False, "a value is shown where it is known", (shown[j["display_id"]], values))
    known = [j for j in rows.values() if j["now_cpus_busy"] == 1.5]
    check(len(known) == 1 and shown[known[0]["display_id"]][0].startswith("1.5") and known[0]["now_memory_bytes"] ==
          1 << 30 and known[0]["idle_since"] is None, "a running job has its present use", (known, shown))
    for job in known + [j for j in rows.values() if j["now_cpus_busy"] is None][:1]:
        page = check_page("a running job", fetch(site, "/jobs/" + urllib.parse.quote(job["key"], safe=""), "boss"))
        uses = [" ".join(r[1].split()) for r in page.rows if len(r) == 3][:2]  # of CPUs and memory
        same(uses, ["1.5 now", "1 GiB now"] if job in known else ["–", "–"],
             "the page of a running job has the same values, or says that they are not known")
        check(("n1" in [r[0] for r in page.rows if r]) == (job in known), "and those of its nodes", page.rows)
    page = check_page("jobs of all states", fetch(site, "/jobs?from=2000-01-01", "boss"))
    check("CPUs now" not in page.text, "a list of all jobs has no columns of running ones")


def search(site):
    """Jobs are found by id, attribute, node and finding, sorted, counted, and linked to similar ones."""
    def ids(path, who="boss"):
        page = check_page(path, fetch(site, path, who))
        return [r[0].split()[-1] for r in page.rows if len(r) > 10], page
    total = fetch(site, "/api/v1/jobs?from=0&limit=0&total=true&state=" + STARTED, "boss").json["meta"]["total"]
    found, page = ids("/jobs?from=0&limit=20")
    check("{:,} jobs".format(total) in page.text and len(found) == 20, "a list says how many jobs there are")
    job = fetch(site, "/api/v1/jobs?from=0&limit=1&state=completed&order=asc"
                "&fields=jobid,display_id,user,account,nodelist,partition,cluster", "boss").data[0]
    found, _ = ids("/jobs?job=" + job["jobid"])
    check(job["display_id"] in found, "a job is found by its id, whenever it ran", found)
    found, page = ids("/jobs?job=99999999")
    check(not found and "You have no job with this id" in page.text, "the page reports an unknown id")
    for name in ("user", "account", "partition", "cluster"):
        found, page = ids("/jobs?from=0&limit=500&%s=%s" % (name, job[name]))
        check(job["display_id"] in found or len(found) == 500, "jobs by " + name)
    page = ids("/jobs?from=0&limit=500&order=asc")[1]
    check(all("jobs?%s=%s" % (n, job[n]) in page.links for n in ("user", "account", "partition")),
          "users, accounts and partitions are links to their jobs")
    if job["nodelist"] and "[" not in job["nodelist"]:
        found, _ = ids("/jobs?from=0&order=asc&limit=500&node=" + job["nodelist"])
        check(job["display_id"] in found, "jobs by node")
    found, page = ids("/jobs?from=0&finding=gpu_unused")
    same(found, [site.key.split(":")[1]], "jobs by finding")
    check("jobs?finding=gpu_unused" in page.links, "a finding is a link to jobs with it")
    for field in ("elapsed_seconds", "cpus", "cpu_efficiency_percent", "start"):
        for order in ("desc", "asc"):
            path = "from=0&limit=50&sort=%s&order=%s" % (field, order)
            a = fetch(site, "/api/v1/jobs?fields=display_id,%s&%s&state=%s" % (field, path, STARTED), "boss")
            values = [j[field] for j in a.data if j[field] is not None]
            same(values, sorted(values, reverse=order == "desc"), "sorted by %s, %s" % (field, order))
            if field != "start":
                same(ids("/jobs?" + path)[0], [j["display_id"] for j in a.data], "the page has the same order")
    page = ids("/jobs?from=0&sort=cpus")[1]
    check(any(u.endswith("sort=cpus&order=asc") for u in page.links)
          and ("aria-sort", "descending") in page.attrs, "a second click reverses the order")
    same(fetch(site, "/jobs?sort=name").status, 400, "a list cannot be sorted by text")
    seen, cursor = [], ""
    while cursor is not None and len(seen) < 5000:
        a = fetch(site, "/api/v1/jobs?from=0&limit=700&fields=key&sort=elapsed_seconds&state=%s&cursor=%s" % (STARTED, cursor), "boss")
        seen += [j["key"] for j in a.data]
        cursor = a.json["meta"]["next"]
    same((len(seen), len(set(seen))), (total, total), "page by page, all sorted jobs once")
    same(fetch(site, "/api/v1/jobs?from=0&limit=1000&fields=user&sort=cpus").data,
         [{"user": "user3"}] * len(site.own_jobs), "a sorted list has the same access rules")
    twice = [i for i, in site.db().execute("SELECT jobid FROM job GROUP BY 1 HAVING count(*) > 1")]
    a = fetch(site, "/jobs/%d" % twice[0], "boss")
    page = check_page("an ambiguous id", a)
    same((a.status, len([u for u in page.links if u.startswith("../jobs/fake")])), (300, 2),
         "an ambiguous id offers a choice")
    same(fetch(site, "/jobs/%d" % twice[0], "newcomer").status, 404, "an ambiguous id of other users' jobs is not found")


def levels(site):
    """In a list, a bar has a colour where a finding of its job names the resource, and nowhere else."""
    page = fetch(site, "/jobs?from=0&limit=500", "boss").body.decode()
    rows = [r for r in page.split("<tr>") if "</td>" in r]
    bad, seen = [], set()
    for r in rows:
        found = " ".join(re.findall(r"jobs\?finding=(\w+)", r))
        for title, word in (("CPU efficiency", "cpu"), ("Memory efficiency", "memory"), ("GPU efficiency", "gpu")):
            bar = re.search('data-l="%s"><svg class="bar( warn| bad|)"' % title, r)
            seen.add(bar and bar.group(1))
            if bar and (bar.group(1) != "") != (word in found):
                bad.append((title, found, bar.group(0)))
    same((bad, seen >= {"", None} and seen & {" warn", " bad"} != set()), ([], True),
         "a bar has a colour only where there is a finding")


def moved_levels(site):
    """A site that moves a rule moves the words of bars.  The last test: an import replaces names that set_up wrote."""
    def bars():
        page = fetch(site, "/usage?from=2000-01-01&group_by=user", "boss").body.decode()
        return [(float(v), word, look) for look, v, word in re.findall(
            r'data-l="CPU efficiency"><svg class="bar([a-z ]*)".*?class="pct">([0-9.]+) %</span> <small>(\w+)<', page)]

    def reload(*options):
        p = subprocess.run([IMPORTER, "--once", "--store.path=" + site.store, "--cluster.file="
                            + os.path.join(site.folder, "fake.yml"), *options], capture_output=True, timeout=300)
        check(p.returncode == 0, "the importer runs with the rules", p.stderr[-600:])
        site.refresh()

    def wrong(poor, fair):
        return [g for g in bars() if (g[1] == "poor") != (g[0] < poor) or (g[1] == "fair") != (poor <= g[0] < fair)
                or (g[1] == "poor") != (g[2] == " bad")]

    before = bars()
    check(len(before) > 3, "bars have words", before[:5])
    same(wrong(65, 80), [], "words and colours have the built-in thresholds")
    rules = site.file("rules.yml", "rules:\n- name: cpu_very_low\n  set: {percent: 12.5}\n"
                                   "- name: cpu_low\n  set: {percent: 30}\n")
    reload("--findings.file=" + rules)
    same(wrong(12.5, 30), [], "words and colours follow the site's thresholds")
    check(bars() != before, "the words have changed")
    reload()
    same(bars(), before, "without the file the built-in thresholds are back")


def filters(site):
    """Filters are lists of what exists; tabs count what they show; chips remove a filter; waiting jobs have columns."""
    def options(page, name):
        found = re.search('<select name="%s">(.*?)</select>' % name, page)
        return re.findall('value="([^"]*)"', found.group(1))[1:] if found else []
    when = "from=2000-01-01"
    text = fetch(site, "/jobs?" + when, "user2").body.decode()
    same((options(text, "account"), options(text, "user")), tuple(
        sorted(a[k] for a in fetch(site, "/api/v1/" + path, "user2").data)
        for path, k in (("accounts", "account"), ("users", "user"))), "lists have what the user may see")
    check("user4" not in fetch(site, "/jobs").body.decode(), "a user does not see the names of others")
    page = fetch(site, "/jobs?from=now-20d", "boss").body.decode()
    for state, n in re.findall(r'state=(\w+)"[^>]*>[A-Z][a-z ]+ <b>([0-9,]+)</b>', page):
        total = fetch(site, "/api/v1/jobs?from=now-20d&limit=0&total=true&state=" + state, "boss").json["meta"]["total"]
        same(int(n.replace(",", "")), total, "the tab of state " + state)
    check('state=failed' in page and 'state=pending' in page, "tabs of states")
    page = check_page("with chips", fetch(site, "/jobs?%s&account=acct1&name=%%3Cb%%3E" % when, "boss"))
    check("jobs?from=2000-01-01&name=%3Cb%3E&" in page.links and "jobs?from=2000-01-01&account=acct1&" in page.links,
          "a chip removes its filter", page.links)
    page = check_page("waiting jobs", fetch(site, "/jobs?%s&state=pending" % when, "boss"))
    jobs = fetch(site, "/api/v1/jobs?from=0&limit=500&state=pending&fields=display_id,cpus_requested", "boss").data
    same({r[0].split()[-1]: r[8].replace(",", "") for r in page.rows if len(r) == 10},
         {j["display_id"]: "-" if j["cpus_requested"] is None else str(j["cpus_requested"]) for j in jobs},
         "waiting jobs have the CPUs that they request")


def home(site):
    """The start page has what the user's jobs need and wasted; nobody sees jobs of others there."""
    page = check_page("the start page", fetch(site, "/home"))
    jobs = {s: fetch(site, "/api/v1/jobs?from=0&limit=500&mine=true&fields=display_id,state,reason&state=" + s).data
            for s in ("running", "pending", "ended")}
    check("Your jobs" in page.text and "%d CPUs" % sum(j["cpus"] for j in fetch(
        site, "/api/v1/jobs?from=0&limit=500&mine=true&fields=cpus&state=running").data) in page.text.replace(",", ""),
          "the CPUs of running jobs", page.text[:700])
    check(all(j["display_id"] in page.text for j in jobs["running"][:8] + jobs["ended"][:8]),
          "running jobs, and those that ended lately")
    count = len([j for j in fetch(site, "/api/v1/findings?from=now-7d&limit=500&mine=true").data])
    same(("Three things to change" in page.text, page.text.count("newest run") <= 3), (count > 0, True),
         "at most three things to change, if there is a finding")
    check(("1.5 of its GPUs did nothing." in page.text) == (count > 0), "the change names the finding")
    own = {urllib.parse.unquote(u[5:]) for u in page.links if u.startswith("jobs/")}
    check(own and own <= {j["key"] for j in site.own_jobs}, "the start page has jobs of the user only", own)
    page = check_page("the start page of a user without jobs", fetch(site, "/home", "newcomer"))
    check("You have no running jobs" in page.text and "Three things" not in page.text
          and not [u for u in page.links if u.startswith("jobs/")], "a user without jobs sees none")
    page = check_page("the start page of an admin", fetch(site, "/home", "boss"))
    check("Losing time now" in page.text and "complete up to" in page.text
          and "No Prometheus server is configured" in page.text, "an admin sees the cluster", page.text)
    mark = r'<span class="s (\w+)">Accounting'
    marks_of = [re.search(mark, fetch(site, "/home", "boss").body.decode())[1]]
    site.age_imports(7200)
    marks_of.append(re.search(mark, fetch(site, "/home", "boss").body.decode())[1])
    site.age_imports(-7200)
    same(marks_of, ["ok", "bad"], "accounting that is late is marked")
    page = check_page("an admin's own jobs", fetch(site, "/home?mine=true", "boss"))
    check("Your jobs" in page.text, "an admin has jobs, too")
    same([fetch(site, "/home?mine=" + v).status for v in ("x", "true&user=user4")], [400, 400], "unknown values are refused")


def never_starts(site):
    """The start page names jobs whose reason never ends, and no others that wait; it counts runs of jobs without a name."""
    job = fetch(site, "/api/v1/jobs?from=0&state=pending&limit=1&fields=key,user,display_id", "boss").data[0]
    mine = "(SELECT id FROM user WHERE name = '%s')" % job["user"]

    def change(*statements):
        with contextlib.closing(sqlite3.connect(site.store)) as db, db:
            for sql in statements:
                db.execute(sql)
        site.refresh()
    before = site.db().execute("SELECT id, reason FROM job WHERE \"end\" IS NULL AND state = 1").fetchall()
    for reason, final in (("Priority", False), ("Dependency", False), ("PartitionTimeLimit", True),
                          ("DependencyNeverSatisfied", True)):
        change("INSERT OR IGNORE INTO word(text) VALUES('%s')" % reason,
               "UPDATE job SET reason = NULL WHERE \"end\" IS NULL AND state = 1",
               "UPDATE job SET reason = (SELECT id FROM word WHERE text = '%s') WHERE jobid = %s AND user = %s"
               % (reason, job["key"].split(":")[1], mine))
        for who in (job["user"], "boss"):
            text = check_page("the start page with a job that waits", fetch(site, "/home", who)).text
            same(("will never start" in text, "Never starts" in text), (final, final and who != "boss"),
                 "a job that waits for %s, on the page of %s" % (reason, who))
    change(*["UPDATE job SET reason = %s WHERE id = %d" % ("NULL" if r is None else r, i) for i, r in before])
    ended = site.db().execute("SELECT j.id, j.user, j.name, (SELECT name FROM user WHERE id = j.user) FROM job AS j WHERE"
                              " j.at > ? AND \"end\" IS NOT NULL ORDER BY j.user", (site.now - 6 * 86400,)).fetchall()
    who = next(e[1] for e, f in zip(ended, ended[1:]) if e[1] == f[1])
    runs = [e for e in ended if e[1] == who]
    some = ", ".join(str(e[0]) for e in runs[:2])
    change("INSERT INTO job_finding(job, rule, value) SELECT j.id, r.id, 1 FROM job AS j, (SELECT min(id) AS id FROM"
           " finding_rule) AS r WHERE j.id IN (%s) ON CONFLICT DO NOTHING" % some,
           "UPDATE job SET name = NULL WHERE id IN (%s)" % ", ".join(str(e[0]) for e in runs))
    page = check_page("jobs without a name", fetch(site, "/home", runs[0][3]))
    of = re.search(r"Jobs without a name.*?([0-9]+) of ([0-9]+) runs", page.text, re.S)
    check(of and 2 <= int(of[1]) <= len(runs) <= int(of[2]), "the runs of jobs without a name", len(runs), page.text[:3000])
    change("DELETE FROM job_finding WHERE job IN (%s) AND value = 1" % some,
           *["UPDATE job SET name = %s WHERE id = %d" % ("NULL" if e[2] is None else e[2], e[0]) for e in runs])


def find(site):
    """One field finds what the user may see; other names are searched among names of jobs."""
    def to(q, who="user3"):
        a = fetch(site, "/find?q=" + urllib.parse.quote(q), who)
        return a.status, a.headers["Location"]
    job = fetch(site, "/api/v1/jobs?from=0&limit=1&fields=jobid,account,partition,nodelist&user=user3", "boss").data[0]
    node = site.db().execute("SELECT name FROM host").fetchone()[0]
    for q, path in ((job["jobid"], "jobs/" + job["jobid"]), (site.key, "jobs/" + urllib.parse.quote(site.key, safe="")),
                    (" user3 ", "users/user3"), (job["account"], "accounts/" + job["account"]),
                    (job["partition"], "jobs?partition=" + job["partition"]), (node, "nodes/" + node),
                    ("user4", "jobs?name=user4"), ("", "jobs"), ("a&b=<c>", "jobs?name=a%26b%3D%3Cc%3E"),
                    ("x\r\nSet-Cookie: a=b", "jobs?name=x%0D%0ASet-Cookie%3A%20a%3Db")):
        same(to(q), (303, path), "the field finds " + repr(q))
    same(to("user4", "boss"), (303, "users/user4"), "an admin finds all users")
    same([fetch(site, "/find?" + q).status for q in ("q=" + "x" * 201, "p=1")], [400, 400], "the field has a limit")
    a = fetch(site, "/" + job["jobid"])
    same((a.status, a.headers["Location"]), (303, "jobs/" + job["jobid"]), "the number of a job below the root")
    same((fetch(site, "/zzz").status, fetch(site, "/1/2").status, site.fetch("/123").status), (404, 404, 401),
         "other paths are not found, and a job needs a user")


def one(site):
    a = fetch(site, "/jobs/" + urllib.parse.quote(site.key, safe=""))
    page = check_page("one job", a)
    same(a.status, 200, "the page of a job exists")
    shown = HOSTILE.replace("\x01", " ")
    check(shown in page.text, "a hostile name is shown as text", page.text[:600])
    lacking = [t for t in ("1.5 of its GPUs did nothing.", "72.3 %", "2 Wh", "0.1 g")
               if t not in page.text]
    same(lacking, [], "the page of a job shows findings and values")
    check("Steps" in page.text and "figure" not in page.tags
          and "No Prometheus server is configured" in page.text,
          "without Prometheus a page says why it has no charts")
    order = [page.text.find(t) for t in ("1.5 of its GPUs did nothing.", "Requested and used", "Over time", "Steps",
                                         "Accounting")]
    check(-1 not in order and order == sorted(order), "the verdict is first, accounting last", order)
    banned = [t for t in ("by the batch system", "best known", "told") if t in page.text]
    same(banned, [], "labels avoid these phrases")
    check("refresh" not in a.body.decode() and "data-live=" not in a.body.decode(), "the page of an ended job does not reload")
    missing = fetch(site, "/jobs/fake:1:1")
    same((missing.status, check_page("a missing job", missing).text.count("you may not see it")), (404, 1),
         "a job that does not exist")
    others = [fetch(site, "/jobs/" + site.key, who) for who in ("user4", "newcomer")]
    for a in others:
        same((a.status, a.body.replace(b"user4", b"X").replace(b"newcomer", b"X")),
             (404, missing.body.replace(b"user3", b"X")), "a job of another user looks like one that does not exist")
    same(fetch(site, "/jobs/" + site.key, "boss").status, 200, "an admin sees the page of a job")
    same(fetch(site, "/jobs/%3Cscript%3E").status, 404, "a hostile job id is not found")
    same(fetch(site, "/jobs/" + site.key + "?user=boss").status, 400, "an unknown parameter of a page is refused")


def verdicts(site):
    """A page has the verdict, advice and findings of the report, word for word."""
    jobs = fetch(site, "/api/v1/jobs?from=0&state=ended&limit=40&sort=findings&fields=key", "boss").data
    lacking, advice = [], 0
    for job in jobs[::4]:
        report = fetch(site, "/api/v1/jobs/%s/report" % job["key"], "boss").data
        page = Page(fetch(site, "/jobs/" + job["key"], "boss").body.decode())
        want = [report["verdict"]["wrong"], report["verdict"]["cost"]]
        want += [a[k] for a in report["advice"] for k in ("text", "line")]
        want += [f["text"] for f in report["findings"]]
        advice += len(report["advice"])
        text = re.sub(r"\s", " ", page.text)
        lacking += [(job["key"], w) for w in want if w and re.sub(r"[\s\x00-\x1f]", " ", w) not in text]
    same(lacking[:3], [], "verdict, advice and findings are those of the report")
    # "poor" and others stand beside a percentage of a job that ran for five minutes.
    rated = {True: 0, False: 0}
    for job in fetch(site, "/api/v1/jobs?from=0&state=ended&limit=200&fields=key,elapsed_seconds,"
                     "cpu_efficiency_percent", "boss").data:
        is_short = (job["elapsed_seconds"] or 0) < 300
        if job["cpu_efficiency_percent"] is not None and (is_short or rated[False] < 3):
            page = fetch(site, "/jobs/" + job["key"], "boss").body.decode()
            rated[is_short] += len(re.findall("<small>(?:poor|fair|good|full|over)</small>", page))
    check(rated[True] == 0 and rated[False] > 0, "what a job used in less than five minutes is not judged", rated)
    waiting = fetch(site, "/api/v1/jobs?from=0&state=pending&limit=1&fields=key", "boss").data
    if waiting:
        with contextlib.closing(sqlite3.connect(site.store)) as db, db:
            db.execute("INSERT OR IGNORE INTO word(text) VALUES('QOSMaxCpuPerUserLimit')")
            db.execute("UPDATE job SET reason = (SELECT id FROM word WHERE text ="
                       " 'QOSMaxCpuPerUserLimit') WHERE jobid = ?", (int(waiting[0]["key"].split(":")[1]),))
        site.refresh()
        page = check_page("a waiting job", fetch(site, "/jobs/" + waiting[0]["key"], "boss"))
        check("uses as much as the QOS allows" in page.text, "the reason for waiting is in words", page.text[:800])


def charts(site):
    """Charts show names, units, limits, each GPU and node; a page without charts says why."""
    fake = FakePrometheus()
    site.start(*site.options, "--prometheus.url=" + fake.url, "--prometheus.scrape-interval=30s")
    path = "/jobs/" + urllib.parse.quote(site.key, safe="")
    with contextlib.closing(sqlite3.connect(site.store)) as db, db:
        db.execute("UPDATE job SET cpus = 4, gpus = 4, nodes = 2, memory_requested_bytes = 4 << 30"
                   " WHERE jobid = ?", (int(site.key.split(":")[1]),))
    site.refresh()
    page = check_page("charts", fetch(site, path))
    lacking = [t for t in ("CPUs used: 1.25 on average", "CPUs allocated: 4", "GPU use: 67 % on average",
                           "100 %", "Memory requested: 4 GiB", "Values as a table",
                           "n1: GPU 1", "GPU use: always 0.", "Each node",
                           "No samples of: Data read and written, Power.") if t not in page.text]
    same(lacking, [], "charts have names, units, limits and every GPU")
    same([t for t in ("cpus_used", "gpu_busy_ratio", "memory_bytes") if t in page.text], [],
         "charts do not show keys of the API")
    check(len([t for t in page.tags if t == "svg"]) >= 4 + 2 * 4 + 2 * 2 - 1, "one chart for each GPU and node")
    text = fetch(site, path).body.decode()
    strips = re.findall(r'<tr[^>]*><th scope="row"><a[^>]*>([^<]*)</a></th><td class="st"><svg class="strip".*?data-v="([^"]*)">(.*?)</svg></td>'
                        r'<td class="n">([^<]*)<', text)
    # the first windows of rates are not known
    same(sorted((n, re.search(r"(?:^| )(\d+)", v)[1], "".join(re.findall('class="(..)"', p)), mean) for n, v, p, mean in strips),
         sorted([("n%d: GPU %d" % (n, g), *(("67", "u3", "67 %"), ("0", "ui", "0 %"))[g]) for n in (0, 1) for g in (0, 1)]
                + [("n%d" % n, "31", "u2", "31.2 %") for n in (0, 1)]), "a row of the map for each GPU and node")
    same((text.count('<tr class="odd">'), text.count('never used')), (4, 2), "rows that differ from the median stand out")
    text = fetch(site, "/compare?job=%s&job=%s" % (site.key, site.key)).body.decode()
    check(text.count('class="l c0"') >= 3 and text.count('class="l c0"') == text.count('class="l c1"'),
          "a comparison has a line for each job in each chart")
    check("<tr><td>00:00:00</td>" in text and ">1970-" not in text, "over the time since each start")
    marks(site, path)
    for nodes, most in ((1, 200000), (4, 200000), (64, 300000), (1000, 300000)):
        fake.nodes = nodes
        with contextlib.closing(sqlite3.connect(site.store)) as db, db:
            db.execute("UPDATE job SET nodes = ?, gpus = ? WHERE jobid = ?",
                       (nodes, 2 * nodes, int(site.key.split(":")[1])))
        site.refresh()
        a = fetch(site, path)
        check(a.status == 200 and len(a.body) < most, "the page of a job with %d nodes is below %d KB" % (nodes, most // 1000),
              len(a.body))
    check_page("many nodes", a)
    check(b"of 1000: those that differ most" in a.body, "of 1000 nodes the page shows those that differ most")
    site.start(*site.options, "--prometheus.url=http://127.0.0.1:1")
    page = check_page("no reply of Prometheus", fetch(site, path))
    check("The Prometheus server did not answer" in page.text and "figure" not in page.tags
          and "Requested and used" in page.text, "the page works without Prometheus")
    site.start(*site.options)


def marks(site, path):
    """Curves mark steps that began later than their job, and steps that ran out of memory."""
    def change(*statements):
        with contextlib.closing(sqlite3.connect(site.store)) as db, db:
            for sql in statements:
                db.execute(sql)
        site.refresh()
    job, start, end = site.db().execute("SELECT id, start, \"end\" FROM job WHERE jobid = ?", (int(site.key.split(":")[1]),)).fetchone()
    later = (end - start) // 2
    check(later > 120 and not re.search(b'class="m( bad)?"', fetch(site, path).body), "curves without marks", later)
    row = "INSERT INTO step(job, slot, state, start, elapsed) SELECT %d, %%d, id, %d + %%d, %%d FROM state WHERE name = '%%s'" % (job, start)
    change(row % (16, 0, later, "completed"), row % (17, later, later // 2, "oom"))
    text = fetch(site, path).body.decode()
    lines = [(bad, float(x)) for bad, x in re.findall(r'<path class="m( bad)?" d="M([\d.]+) 0V100"/>', text)]
    names = re.findall(r'<text class="m(?: bad)?"[^>]*>([^<]*)</text>', text)
    same((len(lines), sorted(names)), (4, ["out of memory"] * 2 + ["step 1"] * 2), "CPUs and memory have a mark of the second step and of its end")
    check(all(abs(x - (750 if bad else 500)) < 15 for bad, x in lines), "the marks are at their times", lines)
    change("DELETE FROM step WHERE job = %d AND slot IN (16, 17)" % job)


def running(site):
    """The page of a running job reloads, unless the URL has live=false."""
    job = fetch(site, "/api/v1/jobs?from=0&state=running&limit=1&fields=key", "boss").data[0]["key"]
    a = fetch(site, "/jobs/" + job, "boss")
    page = check_page("a running job", a)
    check(b'<noscript><meta http-equiv="refresh" content="60"></noscript>' in a.body and "has been running for" in page.text,
          "a running job reloads in browsers without scripts", a)
    check(b'<main id="main" data-zone="UTC" data-live="30">' in a.body and b'id="answer" data-live-part' in a.body
          and b'id="curves" data-live-part' in a.body, "the script reads its parts again")
    a = fetch(site, "/jobs/" + job + "?live=false", "boss")
    check(b"refresh" not in a.body and b"data-live=" not in a.body and b"Reload every minute" in a.body,
          "live=false stops the reload")


def days(site):
    """The last day is included in full; the form shows the default of a date that is not given."""
    a = fetch(site, "/api/v1/jobs?from=0&limit=1&state=ended&fields=start,jobid&order=asc").data[0]
    day = a["start"][:10]
    page = Page(fetch(site, "/jobs?from=%s&to=%s&limit=500" % (day, day)).body.decode())
    check(a["jobid"] in page.text, "a job of the day is among those up to that day", a)
    values = dict(re.findall(r'name="(from|to)" type="date" value="([^"]*)"',
                             fetch(site, "/jobs?to=" + day).body.decode()))
    same(values["to"], day, "the form keeps the chosen day")
    same((time.mktime(time.strptime(day, "%Y-%m-%d"))
          - time.mktime(time.strptime(values["from"], "%Y-%m-%d"))) // 86000, 7,
         "the form shows the default of a week")


def words(site):
    """The title says whether all jobs are the user's own; findings have their full text."""
    for who, title in (("user3", "My jobs"), ("user2", "Jobs"), ("boss", "Jobs")):
        check("<h1>%s</h1>" % title in fetch(site, "/jobs", who).body.decode(),
              "%s sees: %s" % (who, title))
    page = fetch(site, "/jobs/" + site.key).body.decode()
    check(re.search(r'<li><span class="s warn">Worth changing</span> <bdi>[^<]*1\.5 of its GPUs did nothing\.',
                    page), "the text of a finding is not cut")
    check(page.index("1.5 of its GPUs") < page.index("Used 1.5 %"), "the most severe finding is first")


def coverage(site):
    """An efficiency that is known for less than half of the hours is not judged."""
    def change(sql):
        with contextlib.closing(sqlite3.connect(site.store)) as db, db:
            db.execute(sql)
        site.refresh()
    change("UPDATE rollup_usage SET cpu_unknown_sec = cpu_unknown_sec + cpu_sec * 3 / 5 WHERE assoc % 2 = 0")
    a = fetch(site, "/api/v1/usage?group_by=user&from=2000-01-01", "boss").data
    page = check_page("usage, partly known", fetch(site, "/usage?group_by=user&from=2000-01-01", "boss"))
    change("UPDATE rollup_usage SET cpu_unknown_sec = cpu_unknown_sec - cpu_sec * 3 / 5 WHERE assoc % 2 = 0")
    some = [(w["cpu_coverage"], r[9]) for w, r in zip(a, [r for r in page.rows if r]) if w["cpu_efficiency_percent"]]
    same({s[0] >= 50 for s in some}, {True, False}, "of some users half is known")
    same([s for s in some if bool(re.search("poor|fair|good|over", s[1])) != (s[0] >= 50)], [],
         "efficiency is judged where half of the use is known")


def usage(site):
    """Usage by group has the API's values and order, totals, coverage, and links to details."""
    for by in ("account", "user", "partition", "cluster", "month", "day"):
        page = check_page("usage by " + by, fetch(site, "/usage?from=2000-01-01&group_by=" + by))
        check(page.rows and len(page.rows[1]) == 16, "a table by " + by, page.rows[:2])
    want = fetch(site, "/api/v1/usage?group_by=account&from=2000-01-01", "boss").data
    page = check_page("usage", fetch(site, "/usage?from=2000-01-01", "boss"))
    rows = [r for r in page.rows if r]
    same([(r[0], r[1], r[3], r[4], r[5]) for r in rows[:-1]],
         [(w["account"], *("{:,}".format(w["jobs_" + k]) for k in ("ended", "failed", "timeout", "oom")))
          for w in want], "usage pages have the values of the API, jobs by final state")
    hours = [w["core_hours"] for w in want]
    check(len(hours) > 2 and hours == sorted(hours, reverse=True), "the largest is first", hours)
    same((rows[-1][0], rows[-1][1]), ("Total", "{:,}".format(sum(w["jobs_ended"] for w in want))), "a row of totals")
    same([r[8] for r in rows[:-1]], [rounded(w["core_hours"]) for w in want], "values are rounded")
    known = [w for w in want if w["energy_coverage"] is not None and w["energy_kwh"] is not None]
    check(known and re.search(r"kWh [\d.]+ % known|[0-9.]+ Wh [\d.]+ % known", page.text), "energy has its coverage", known[:1])
    account = want[0]["account"]
    check("accounts/" + account in page.links, "an account is a link to its page")
    page = check_page("an account", fetch(site, "/accounts/" + account, "boss"))
    users = fetch(site, "/api/v1/usage?group_by=user&from=now-30d&account=" + account, "boss").data
    check(all("../users/" + u["user"] in page.links for u in users) and
          "../jobs?account=" + account in page.links, "the page of an account has links to its users and jobs")
    month = time.strftime("%Y-%m", time.gmtime(site.now - 86400))
    check(any("usage?group_by=account&from=%s-01&to=%s-" % (month, month) in u for u in page.links),
          "the page of an account has links to months", page.links)
    page = check_page("a user", fetch(site, "/users/user3"))
    check("gpu unused" in page.text and "../jobs?finding=gpu_unused&user=user3" in page.links,
          "the page of a user has findings")
    same([b'href="../mail"' in fetch(site, "/users/" + u).body for u in ("user3", "user4")], [True, False],
         "only the user's own page has a link to the choice of mails")
    page = check_page("another user", fetch(site, "/users/user4"))
    check("No usage in this time." in page.text and len([r for r in page.rows if r]) == 0,
          "users do not see the usage of others")
    check_page("a hostile user", fetch(site, "/users/" + urllib.parse.quote("<script>'&"), "boss"))
    many = fetch(site, "/api/v1/usage?from=2000-01-01&group_by=day,user", "boss").data
    page = check_page("many rows", fetch(site, "/usage?from=2000-01-01&group_by=day,user", "boss"))
    rows = [r for r in page.rows if r]
    check(len(many) > 250 and len(rows) == 251 and "There are more rows" in page.text
          and "{:,}".format(sum(m["jobs_ended"] for m in many)) in rows[-1], "a page has 250 rows and the total of all",
          len(many), len(rows), rows[-1])
    page = check_page("periods", fetch(site, "/usage?group_by=user&account=acct1"))
    check(sum("group_by=user&account=acct1&from=" in u for u in page.links) == 5,
          "links to other times keep the filters")


def lists(site):
    """Pages of findings, of the queue, and of jobs side by side."""
    total = len(fetch(site, "/api/v1/findings?from=0&limit=1000", "boss").data)
    seen, cursor, pages_ = [], "", 0
    while cursor is not None and pages_ < 50:
        a = fetch(site, "/api/v1/findings?from=0&limit=1&cursor=" + cursor, "boss")
        seen += [(f["key"], f["finding"]) for f in a.data]
        cursor, pages_ = a.json["meta"]["next"], pages_ + 1
    same((len(seen), len(set(seen))), (total, total), "page by page, all findings once")
    check(total >= 2, "the store has findings", total)
    same(fetch(site, "/api/v1/findings?cursor=x").status, 400, "a cursor is checked")
    page = check_page("findings", fetch(site, "/findings?from=2000-01-01"))
    check("1.5 of its GPUs did nothing." in page.text and "jobs/" + urllib.parse.quote(site.key, safe="")
          in page.links, "findings have links to their jobs", page.text[:900])
    check([r[:3] for r in page.rows if len(r) == 3] and "By rule" in page.text, "findings by rule")
    page = check_page("one rule", fetch(site, "/findings?from=2000-01-01&finding=low_cpu"))
    check("Used 1.5 %" in page.text and "did nothing" not in page.text, "findings of one rule")
    check("No findings" in check_page("none", fetch(site, "/findings?from=2000-01-01", "newcomer")).text,
          "users do not see findings of others")
    queue = fetch(site, "/queue", "boss")
    page = check_page("the queue", queue)
    part = queue.body.decode().split("Waiting jobs</h2>", 1)[1].split("</table>", 1)[0]
    waiting = fetch(site, "/api/v1/jobs?from=0&state=pending&limit=200&fields=display_id,tres_requested", "boss").data
    rows = [[" ".join(re.sub("<[^>]*>", " ", c).split()) for c in re.findall(r"<t[dh][ >].*?</t[dh]>", r, re.S)]
            for r in re.findall(r"<tr>.*?</tr>", part, re.S)]
    rows = {r[0].split()[-1]: r[6] for r in rows if r[0] != "Job"}
    requested = {w["display_id"]: (re.findall(r"gres/gpu=(\d+)", w["tres_requested"]) or ["0"])[0] for w in waiting}
    check(any(n != "0" for n in requested.values()), "a waiting job requested GPUs", requested)
    same(rows, requested, "the queue has the waiting jobs and the GPUs that they requested")
    waits = {}
    for j in fetch(site, "/api/v1/jobs?from=now-7d&began=1&limit=1000&fields=partition,wait_seconds,start",
                   "boss").data:
        if j["start"]:
            waits.setdefault(j["partition"], []).append(j["wait_seconds"])
    def clock(sec):
        return "%02d:%02d:%02d" % (sec // 3600, sec // 60 % 60, sec % 60)
    rows = {r[0]: r for r in page.rows if r and r[0] in waits and len(r) == 7}
    same({p: (r[1], r[2], r[6]) for p, r in rows.items()},
         {p: (str(len(w)), clock(sorted(w)[(len(w) * 50 + 99) // 100 - 1]), clock(max(w)))
          for p, w in waits.items()}, "percentiles of waits by partition")
    for by in ("account", "user"):
        waits = {}
        for j in fetch(site, "/api/v1/jobs?from=now-7d&began=1&limit=1000&fields=wait_seconds,start," + by, "boss").data:
            if j["start"]:
                waits.setdefault(j[by], []).append(j["wait_seconds"])
        rows = {r[0]: r for r in page.rows if r and r[0] in waits and len(r) == 7}
        same({p: (r[1], r[2], r[6]) for p, r in rows.items()},
             {p: (str(len(w)), clock(sorted(w)[(len(w) * 50 + 99) // 100 - 1]), clock(max(w)))
              for p, w in waits.items()}, "percentiles of waits by " + by)
    keys = [j["key"] for j in site.own_jobs[:3]]
    page = check_page("a comparison", fetch(site, "/compare?job=" + "&job=".join(keys)))
    check(all("jobs/" + urllib.parse.quote(k, safe="") in page.links for k in keys)
          and {len(r) for r in page.rows if r} == {3} and "Verdict" in page.text, "three jobs side by side")
    nodes = [j["nodelist"] for j in fetch(site, "/api/v1/jobs?from=0&limit=1000&mine=true&fields=key,nodelist").data if j["key"] in keys]
    text = fetch(site, "/compare?job=" + "&job=".join(keys)).body.decode()
    check(">Account<" in text and ">Cost<" in text, "a comparison has account and cost")
    row = re.search(r'<th scope="row">Nodes that differ</th>(.*?)</tr>', text)[1]
    own = [set(hosts(n)) for n in nodes]
    same([set(re.findall(r'nodes/([^"]*)"', cell)) for cell in row.split("</td>")[:3]],
         [set(sorted(o - set.intersection(*own))[:8]) for o in own], "the nodes that not all had")
    same((fetch(site, "/compare?job=" + ",".join(["1"] * 5)).status,
          fetch(site, "/compare?job=" + keys[0], "newcomer").status), (400, 404),
         "a comparison takes at most four jobs, all visible to the user")
    page = check_page("one job", fetch(site, "/jobs/" + keys[0]))
    check("Compare with job" in page.text, "the page of a job has a form to compare it")
    style = site.fetch("/static/style.css").body.decode()
    check("@media print" in style and "prefers-color-scheme:dark" in style, "styles for print and dark pages")
    light, dark = (dict(re.findall(r"--([\w-]+):(#[0-9a-f]+)", block)) for block in re.findall(r":root\{(.*?)\}", style, re.S)[:2])
    for scheme, tokens in (("light", light), ("dark", {**light, **dark})):
        grounds = {"bg", "card", "sunk", *(t for t in tokens if t.endswith("-bg"))}
        pairs = [(t, g, 4.5) for t in ("ink", "mute", "link", "bad", "warn", "ok", "note") for g in ("card", "bg")]
        pairs += [(t, t + "-bg", 4.5) for t in ("bad", "warn", "ok", "note")] + [("ink", g, 4.5) for g in grounds]
        pairs += [(t, "card", 3) for t in ("c0", "c1", "c2", "c3", "lim", "ui", "edge")]
        pairs += [("on1", "u1", 4.5), ("on1", "u2", 4.5), ("on4", "u4", 4.5), ("ondown", "down", 4.5)]
        same([p for p in pairs if contrast(tokens[p[0]], tokens[p[1]]) < p[2]], [], scheme + ": contrast of texts and shapes")


def contrast(a, b):
    """The ratio of the luminances of two colours, as WCAG 2 defines it."""
    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
        parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
        return sum(w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for w, c in zip((0.2126, 0.7152, 0.0722), parts))
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def who(site):
    """Without valid credentials a browser gets status 401, a program 403."""
    for path in ("/jobs", "/usage", "/jobs/" + site.key, "/jobs/" + site.key + "/curve.svg"):
        a = site.fetch(path)
        same((a.status, a.headers["WWW-Authenticate"].split(" ")[0]), (401, "Basic"),
             "without credentials the status is 401: " + path.split(":")[0])
        a = site.fetch(path, basic("user3", "no"))
        same((a.status, "WWW-Authenticate" in a.headers), (401, True),
             "a wrong password is status 401")
        same(site.fetch(path, GRAFANA).status, 401, "a proxy without a user is status 401")
        same(site.fetch(path, ("Authorization", "Bearer bj_12345678_x")).status, 403, "a program with a wrong token is status 403")
        same(site.fetch(path, GRAFANA, user("user3"), user("boss")).status, 400, "two names of users are refused")
        same(site.fetch(path, method="POST", body=b"").status, 405, "POST is refused")
    same(site.fetch("/jobs", basic("user3", "pw3")).status, 200, "a right password is accepted")
    same(site.fetch("/api/v1/jobs").status, 403, "programs get status 403")
    a = site.fetch("/", ("Accept", "text/html,*/*"))
    same((a.status, a.headers["Location"]), (303, "home"), "the root leads a browser to the start page")
    same(site.fetch("/").json["status"], "success", "the root is JSON for programs")
    a = site.fetch("/static/style.css")
    same((a.status, a.headers["Content-Type"]), (200, "text/css; charset=utf-8"), "/static/style.css is served")
    check(len(a.body) < 16000 and len(site.fetch("/static/pages.js").body) < 10000, "style sheet and script are small", len(a.body))
    empty = site.file("empty.yml", "rate_limit:\n  interval: 1ms\n  burst: 100\n")
    site.start("--access.admins=boss", "--web.config.file=" + empty)
    same((site.fetch("/jobs").status, "WWW-Authenticate" in site.fetch("/jobs").headers), (403, False),
         "without passwords a browser gets status 403")


def shown(site, port, path, *more):
    """Run Chromium with a path of the server."""
    return subprocess.run(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--user-data-dir=" + site.folder + "/chromium", "--window-size=1200,1000",
         "--virtual-time-budget=5000", *more, "http://user3:pw3@127.0.0.1:%d%s" % (port, path)],
        capture_output=True, text=True, timeout=300)


def browser(site):
    if not shutil.which("chromium"):
        check(True, "a browser # SKIP chromium is not installed")
        return
    site.start(*site.options)
    p = shown(site, site.port, "/jobs/" + site.key, "--dump-dom")
    dom = p.stdout
    check("<small>Job %s</small>" % site.key.split(":")[1] in dom
          and dom.count("<script") == 1 and "onerror" in dom and "<img" not in dom, "a browser shows one job", dom[-600:], p.stderr[-300:])
    p = shown(site, site.port, "/jobs?from=2000-01-01", "--screenshot=" + site.folder + "/jobs.png")
    check(p.returncode == 0 and os.path.getsize(site.folder + "/jobs.png") > 20000,
          "a browser shows the list of jobs", p.stderr[-300:])
    running = site.fetch("/api/v1/jobs?from=0&state=running&limit=100&fields=key,jobid,uid,user,account",
                         GRAFANA, user("boss")).data
    job = next((j for j in running if j["user"] == "user3"), None)
    if not job:
        check(True, "charts in a browser # SKIP user3 has no running job")
        return
    node = Node("fake", [(job["jobid"], job["uid"], job["user"], job["account"])])
    prom = None if node.failure else Prometheus(node.url)
    try:
        if node.failure or prom.failure:
            check(True, "charts in a browser # SKIP " + (node.failure or prom.failure))
            return
        check(wait_for(lambda: prom.query("rate(batchjob_job_cpu_seconds_total[5s])")),
              "Prometheus has samples of the job")
        db = sqlite3.connect(site.store)  # what batchjob_stats_db stores of running jobs
        db.execute("INSERT INTO job_part(job, node, gpu, since, upto, cpus, cpus_milli, memory_bytes) SELECT id, 'n1', '',"
                   " start, start + 300, 2, 1500, 1073741824 FROM job WHERE jobid = ? AND \"end\" IS NULL ON CONFLICT DO"
                   " NOTHING", (int(job["jobid"]),))
        db.commit()
        db.close()
        site.start(*site.options, "--prometheus.url=" + prom.url, "--prometheus.scrape-interval=1s")
        a = site.fetch("/jobs/%s/curve.svg?metric=processes&from=%d" % (job["key"], time.time() - 20),
                       basic("user3", "pw3"))
        check(a.status == 200 and a.headers["Content-Type"] == "image/svg+xml"
              and b">Processes</text>" in a.body and b'class="l c0"' in a.body, "a chart", a)
        same(site.fetch("/jobs/%s/curve.svg" % job["key"], GRAFANA, user("user4")).status, 404,
             "other users get no chart")
        p = shown(site, site.port, "/jobs/" + job["key"], "--dump-dom")
        check(p.returncode == 0 and p.stdout.count("<svg") >= 2 and "1.5 <small>now</small>" in p.stdout,
              "a browser shows charts, and what a running job uses now", p.stdout[1000:4500])
    finally:
        node.stop()
        if prom:
            prom.stop()


def sources(site):
    """Where the peak of a job's memory is from is said also if the job requested no amount."""
    db = sqlite3.connect(site.store)
    number = int(site.key.split(":")[1])
    for column in "memory_requested_bytes", "memory_allocated_bytes":
        table, = (t for t in ("job", "job_more") if any(c[1] == column for c in db.execute("PRAGMA table_info(%s)" % t)))
        db.execute("UPDATE %s SET %s = NULL WHERE %s IN (SELECT id FROM job WHERE jobid = ?)"
                   % (table, column, "id" if table == "job" else "job"), (number,))
    db.execute("UPDATE job_use SET memory_efficiency_ppm = NULL, memory_efficiency_source = NULL WHERE job IN"
               " (SELECT id FROM job WHERE jobid = ?)", (number,))
    db.commit()
    db.close()
    site.refresh()
    site.start(*site.options)
    body = fetch(site, "/jobs/" + site.key, "boss").body.decode()
    row = re.search(r"<tr>(?:(?!</tr>).)*>Memory<.*?</tr>", body[body.index("<h2>Resources used</h2>"):], re.S)
    check(row and "scheduler, recorded" in row[0], "the source of the memory", row)
    for state, sentence in ((12, "The job reached its deadline after "), (10, "The job was preempted after ")):
        with contextlib.closing(sqlite3.connect(site.store)) as db, db:
            db.execute("UPDATE job SET state = ? WHERE jobid = ?", (state, number))
        site.refresh()
        check(sentence in fetch(site, "/jobs/" + site.key, "boss").body.decode(), sentence.strip())


sys.exit(run(set_up, jobs, running_list, search, levels, filters, home, never_starts, find, one, verdicts, charts, running, days, words, usage, coverage, lists, who, browser, moved_levels, sources, count=2500, days=20))
