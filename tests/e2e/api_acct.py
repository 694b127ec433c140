#!/usr/bin/env python3
"""batchjob_acct prints the same jobs from the store and from the API, and through
the API only those that the user may see.  TAP."""
import json
import os
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
                                  " array_job_id IS NULL ORDER BY at DESC LIMIT 6")]
    db.execute("UPDATE job SET time_limit = 9223372036854775807 WHERE id = ?", ids[:1])
    db.execute("UPDATE job SET time_limit = NULL WHERE id = ?", ids[1:2])
    db.execute("UPDATE job SET array_job_id = 4000, array_task = id WHERE id IN (?, ?)", ids[2:4])
    site.ids = [i for i, in db.execute("SELECT jobid FROM job WHERE id IN (?, ?)", ids[4:6])]
    site.mid, = db.execute("SELECT at FROM job ORDER BY at LIMIT 1 OFFSET 30").fetchone()
    site.other, = db.execute("SELECT jobid FROM job WHERE user <> (SELECT id FROM user WHERE"
                             " name = ?) LIMIT 1", (USER,)).fetchone()
    db.commit()
    db.close()
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


def selections(site):
    """Store and API give the same rows for each selection and format, over several pages."""
    chosen = [
        (), (ALL,), (ALL, "--limit=16"), ("--user=" + USER, ALL), ("--user=user1, " + USER, ALL),
        (ALL, "--state=failed,TIMEOUT"), ("--state=running,pending",), ("--state=PD",),
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
        check((store.stdout, store.stderr, store.returncode)
              == (api.stdout, api.stderr, api.returncode),
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
            (("--server=" + site.url,), (site.url + "/api/v1/jobs: http: status 403: ",)),
            (("--server=" + site.url, "--token-file=" + token), ("status 403: ",)),
            (("--server=" + site.url, "--token-file=" + public), ("token-file: ", public)),
            (("--server=" + site.url, "--token-file=/none"), ("token-file: ", "/none")),
            (("--server=unix:/none.sock",), ("cannot connect to unix:/none.sock: ",)),
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


sys.exit(run(set_up, selections, users, refusals, count=60, days=20))
