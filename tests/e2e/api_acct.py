#!/usr/bin/env python3
"""batchjob_acct prints the same jobs from the store and from the API, and through
the API only those that the user may see.  TAP."""
import json
import os
import re
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import O, SERVER, TOP, check, run, same, skip  # noqa: E402

ACCT = os.path.abspath(os.path.join(TOP, O, "batchjob_acct"))
USER = "daemon"  # a user of every system
ALL = "--since=2001-01-01"


def set_up(site):
    db = sqlite3.connect(site.store)
    db.execute("UPDATE user SET name = ? WHERE name = 'user2'", (USER,))
    ids = [i for i, in db.execute("SELECT id FROM job WHERE \"end\" IS NOT NULL AND"
                                  " array_job_id IS NULL ORDER BY at DESC LIMIT 9")]
    db.execute("UPDATE job SET time_limit = 9223372036854775807 WHERE id = ?", ids[:1])
    db.execute("UPDATE job SET time_limit = NULL WHERE id = ?", ids[1:2])
    db.execute("UPDATE job SET array_job_id = 4000, array_task = id WHERE id IN (?, ?)", ids[2:4])
    db.execute("UPDATE job SET \"end\" = NULL, state = 2, elapsed = 10, suspended = 5, cpus = 3, cpu_sec = NULL"
               " WHERE id IN (?, ?, ?)", ids[6:9])
    site.ids = [i for i, in db.execute("SELECT jobid FROM job WHERE id IN (?, ?)", ids[4:6])]
    site.mid, = db.execute("SELECT at FROM job ORDER BY at LIMIT 1 OFFSET 30").fetchone()
    site.other, = db.execute("SELECT jobid FROM job WHERE user <> (SELECT id FROM user WHERE"
                             " name = ?) LIMIT 1", (USER,)).fetchone()
    db.commit()
    db.close()
    site.age_imports()
    os.chmod(site.store, 0o600)
    p = subprocess.run([SERVER, "make-token", USER, "2999-01-01"], capture_output=True, text=True)
    site.token = p.stderr.strip()
    site.socket = os.path.join(site.folder, "api.sock")
    site.start("--web.unix-socket=" + site.socket, "--access.admins=root", "--query.max-rows=7",
               "--access.token-file=" + site.file("tokens", p.stdout))
    site.url = "http://127.0.0.1:%d" % site.port


def acct(*options, user=None, env=None):
    switch = ["setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups"] if user else []
    return subprocess.run(switch + [ACCT] + list(options), capture_output=True, text=True,
                          env=dict(os.environ, TZ="Europe/Berlin", **(env or {})))


def from_store_and_api(site, *options):
    return (acct("--store.path=" + site.store, *options),
            acct("--server=unix:" + site.socket, *options))


def without_age(p):
    return re.sub(r"the last import was \w+ ago", "the last import was some time ago", p.stderr)


def not_imported(site):
    """A job that is unknown may not be imported yet: the message has the time of the last import."""
    db = sqlite3.connect(site.store)
    complete = db.execute("SELECT min(t) FROM (SELECT max(to_sec) AS t FROM covered GROUP BY cluster)").fetchone()[0]
    db.close()
    for what in (["report", "99999999"], ["99999999"]):
        before = time.time()
        for p in (acct(*what, "--store.path=" + site.store), acct(*what, "--server=unix:" + site.socket)):
            m = re.search(r"no job found; the last import was (\w+) ago", p.stderr)
            ages = {text_of(int(t) - complete) for t in range(int(before) - 1, int(time.time()) + 2)}
            check(m and m[1] in ages, "%s: no job, with the age of the import" % what[0], p.stderr, *ages)


def until_now(site):
    """The time of a running job counts until now if its cluster was imported just now, from store and API."""
    form = "--format=key,elapsed_seconds,cpu_allocated_seconds,cpus,start_ms,suspended_seconds"
    options = ["--state=running", "--output=json", form]
    imported = {j["key"]: j for j in json.loads(from_store_and_api(site, *options)[0].stdout)}
    age = sqlite3.connect(site.store).execute("SELECT max(to_sec) FROM covered").fetchone()[0] - int(time.time())
    site.age_imports(age)
    before = int(time.time())
    for name, p in zip(("store", "API"), from_store_and_api(site, *options)):
        bad = []
        for job in json.loads(p.stdout):
            was = imported[job["key"]]
            begin = job["start_ms"] // 1000 + (job["suspended_seconds"] or 0)
            least, most = before - begin, int(time.time()) - begin
            more = job["elapsed_seconds"] - was["elapsed_seconds"]
            if not (was["elapsed_seconds"] < least <= job["elapsed_seconds"] <= most
                    and job["cpu_allocated_seconds"] == was["cpu_allocated_seconds"] + more * job["cpus"]):
                bad.append((was, job))
        check(not bad and len(imported) > 2, "%s: running jobs have their time until now" % name, bad[:3], len(imported))
    site.age_imports(3600)
    site.url = "http://127.0.0.1:%d" % site.port


def text_of(sec):
    """A duration in the largest unit without a fraction."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if sec and sec % size == 0:
            return "%d%s" % (sec // size, unit)
    return "%ds" % sec


def selections(site):
    """Store and API give the same rows for each selection and format, over several pages."""
    chosen = [
        (), (ALL,), (ALL, "--limit=16"), ("--user=" + USER, ALL), ("--user=user1, " + USER, ALL),
        (ALL, "--state=failed,TIMEOUT"), (ALL, "--state=ended"), (ALL, "--state=all"), ("--state=running,pending",), ("--state=PD",),
        (ALL, "--node=n05"), (ALL, "--node=n[01-04,17],n20"), (ALL, "-N", "n[25-29]"), (ALL, "--node=none"),
        (ALL, "--partition=none"), ("--job=%s, %s" % tuple(site.ids),), ("4000",),
        ("4000_[1-99,1000-2000]",),
        (str(site.ids[0]), ALL), (str(site.ids[0]), "--until=2001-01-01"),
        ("--since=%d-01-01" % 1971, "--until=2001-01-01"), ("--cluster=fake", "--since=2d"),
    ]
    for zone in ("", "Z"):
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(site.mid) if not zone
                           else time.gmtime(site.mid)) + zone
        chosen += [("--since=" + at,), (ALL, "--until=" + at)]
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    rows = 0
    for options in chosen:
        store, api = from_store_and_api(site, *options)
        rows += store.stdout.count("\n")
        check((store.stdout, without_age(store), store.returncode)
              == (api.stdout, without_age(api), api.returncode),
              "the same table: " + " ".join(options), store, api)
    check(rows > 200, "the selections find jobs", rows)
    for form in ("list", "csv", "json", "table --format=all", "csv --no-header"):
        store, api = from_store_and_api(site, ALL, *("--output=" + form).split())
        check(store.stdout == api.stdout and store.stdout.count("\n") > 50 and not api.returncode,
              "the same output: " + form, store.stderr, api.stderr)
    table = from_store_and_api(site, ALL, "--format=JobID,Timelimit")[1].stdout
    check("unlimited" in table, "a job without a time limit is unlimited", table)


def keys(p):
    return [r["key"] for r in json.loads(p.stdout)] if p.returncode == 0 else p


def groups(site):
    """The report of a time by account, user and application: from store and API the same, and its groups add up."""
    for by in "account", "user", "application":
        p = [acct("report", ALL, "--node=n[00-29]", "--by=" + by, "--output=json", source)
             for source in ("--store.path=" + site.store, "--server=unix:" + site.socket)]
        check(p[0].returncode == 0 and p[0].stdout == p[1].stdout, "report by " + by, *p)
        got = json.loads(p[0].stdout)
        rows = got[by + "s"]
        same((sum(r["jobs"] for r in rows), round(sum(r["core_hours"] for r in rows), 1)),
             (got["total"]["jobs"], round(got["total"]["core_hours"], 1)), "groups by %s add up" % by)
        check(all(by in r and "cpu_coverage" in r for r in rows), "each with the part that is known", rows[:2])
    text = acct("report", ALL, "--by=application", "--store.path=" + site.store).stdout
    check("Applications" in text and "not recognised" in text and "known" in text, "as text", text)
    p = acct("report", ALL, "--by=colour", "--store.path=" + site.store)
    check(p.returncode != 0 and "by: " in p.stderr and "account" in p.stderr, "an unknown group is refused", p)
    p = acct(ALL, "--node=n[5-", "--store.path=" + site.store)
    check(p.returncode == 1 and p.stderr.endswith("node: 'n[5-' is not a list of nodes, such as n[101-104,107]\n"),
          "a wrong list of nodes is refused", p)


def users(site):
    form = ("--format=key", "--output=json", ALL)
    store, server = "--store.path=" + site.store, "--server=unix:" + site.socket
    own, every = keys(acct(store, "--user=" + USER, *form)), keys(acct(store, *form))
    check(0 < len(own) < len(every), "--user selects the jobs of one user", own)
    same(keys(acct(server, *form)), every, "root sees all jobs through the socket")
    same(keys(acct(server, *form, user=USER)), own, "a user sees only their own")
    same(keys(acct(server, "--user=user1", *form, user=USER)), [], "batchjob_acct cannot select other users")
    same(keys(acct(server, "--job=%s" % site.other, *form, user=USER)), [], "batchjob_acct cannot name other users")
    p = acct(store, user=USER)
    check(p.returncode == 1 and "Permission denied" in p.stderr, "an ordinary user cannot read the store", p)
    p = acct("--store.path=" + site.store, server, *form)
    same(keys(p), every, "the store takes precedence")
    token = site.file("token", site.token + "\n")
    same(keys(acct("--server=" + site.url + "/", "--token-file=" + token, *form)), own,
         "a token over HTTP")
    same(keys(acct("--server=" + site.url, "--token-file=~/token", *form,
                   env={"HOME": site.folder})), own, "a token in the home directory")
    conf = site.file("acct.yml", "server: %s\ntoken-file: %s\n" % (site.url, token))
    same(keys(acct("--config.file=" + conf, *form)), own, "options from a file")
    if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode:
        skip("options from /etc/batchjob/acct.yml", "no mount namespaces")
        return
    etc = os.path.join(site.folder, "etc")
    p = subprocess.run(
        ["unshare", "--mount", "sh", "-c", "mkdir $0 && cp -a /etc/passwd $0 && mkdir -p $0/batchjob"
         " && cp $1 $0/batchjob/acct.yml && mount --bind $0 /etc && shift && exec \"$@\"",
         etc, conf, ACCT] + list(form), capture_output=True, text=True)
    same(keys(p), own, "options from /etc/batchjob/acct.yml")


def refusals(site):
    token = site.file("wrong", "bj_00000000_" + "0" * 48 + "\n")
    public = site.file("public", site.token, 0o644)
    conf = site.file("two.yml", "serve: x\n")
    for options, words in (
            (("--server=" + site.url,), (site.url + "/api/v1/site: http: status 403: ",)),
            (("--server=" + site.url, "--token-file=" + token), ("status 403: ",)),
            (("--server=" + site.url, "--token-file=" + public), ("token-file: ", public)),
            (("--server=" + site.url, "--token-file=/none"), ("token-file: ", "/none")),
            (("--server=unix:/none.sock",), ("cannot connect to /none.sock: No such file or directory",)),
            (("--server=unix:none.sock",), ("server: ", "absolute path")),
            (("--server=ftp://host",), ("server: ",)),
            (("--server=" + site.url + "/metrics?",), ("metrics", )),
            (("--server=unix:" + site.socket, "--state=odd"), ("status 400: Unknown state 'odd'",)),
            (("--config.file=" + conf,), (conf + ":1:", "serve"))):
        p = acct("--format=JobID", *options)
        check(p.returncode == 1 and not p.stdout and all(w in p.stderr for w in words),
              "refused: " + " ".join(options).replace(site.folder, "").replace(
                  str(site.port), "PORT"), p.stderr)
    p = acct()
    check(p.returncode == 1 and "set server in /etc/batchjob/acct.yml" in p.stderr
          or os.path.exists("/var/lib/batchjob/stats.db"),
          "without a store the error names the server", p.stderr)


sys.exit(run(set_up, selections, until_now, not_imported, groups, users, refusals, count=60, days=20))
