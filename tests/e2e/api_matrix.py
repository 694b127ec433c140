#!/usr/bin/env python3
"""Every endpoint by every kind of proof for every kind of person: whatever is
asked for, nothing foreign is in the answer; and without a proof, or with two,
there is none.  TAP."""
import collections
import os
import pwd
import re
import sqlite3
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import SERVER, basic, bcrypt, check, run, same, user  # noqa: E402

PEOPLE = ["user3", "user2", "newcomer", "boss"]  # user2 coordinates acct1
GRAFANA = basic("grafana", "s3cret")


def begin(site):
    web = site.file("web.yml", "basic_auth_users:\n  grafana: %s\n" % bcrypt("s3cret")
                    + "".join("  %s: %s\n" % (p, bcrypt("pw-" + p)) for p in PEOPLE))
    lines, site.token = "", {}
    for p in PEOPLE:
        made = subprocess.run([SERVER, "make-token", p, "2999-01-01"], capture_output=True)
        lines += made.stdout.decode()
        site.token[p] = made.stderr.decode().strip()
    site.socket = os.path.join(site.folder, "api.sock")
    own = pwd.getpwuid(os.getuid()).pw_name
    site.options = ["--web.config.file=" + web, "--access.token-file=" + site.file("tokens", lines),
                    "--access.admins=boss", "--access.coordinators=acct1: user2",
                    "--web.unix-socket=" + site.socket, "--access.proxy-users=" + own,
                    "--query.max-rows=10000", "--access.burst=1000000"]
    mark(site)
    site.start(*site.options)
    doc = site.ask("/api/v1/openapi.json").json
    site.paths = {p: [x["name"] for x in item["get"]["parameters"] if x["in"] == "query"]
                  for p, item in doc["paths"].items()}
    check(len(site.paths) > 14, "endpoints are described", sorted(site.paths))


def mark(site):
    """Each job has a name, a directory, a comment and findings that tell whose
    it is."""
    db = sqlite3.connect(site.store)
    for job, owner, account in db.execute(
            "SELECT j.id, u.name, a.name FROM job AS j JOIN user AS u ON u.id = j.user JOIN account"
            " AS a ON a.id = j.account").fetchall():
        text = "mark-%s-%s-" % (owner, account)
        db.execute("INSERT OR IGNORE INTO jobname(text) VALUES(?)", (text,))
        db.execute("UPDATE job SET name = (SELECT id FROM jobname WHERE text = ?), leaf = ?"
                   " WHERE id = ?", (text, text, job))
        db.execute("INSERT INTO job_more(job, comment) VALUES(?, ?) ON CONFLICT DO UPDATE SET"
                   " comment = excluded.comment", (job, text))
        db.execute("INSERT OR IGNORE INTO finding_rule(name, severity, condition, text)"
                   " VALUES(?, 'info', '1', ?)", (text, text))
        db.execute("INSERT OR REPLACE INTO job_finding SELECT ?, id, 1, 2 FROM finding_rule WHERE"
                   " name = ?", (job, text))
    db.commit()
    site.all = db.execute(
        "SELECT (SELECT name FROM cluster) || ':' || j.raw_id || ':' || j.submit, u.name, a.name,"
        " CAST(j.raw_id AS TEXT) FROM job AS j JOIN user AS u ON u.id = j.user JOIN account AS a"
        " ON a.id = j.account WHERE j.\"end\" IS NOT NULL").fetchall()
    site.owner = {k: (u, a) for k, u, a, _ in site.all}
    db.close()


def may_see(who, owner, account):
    return who in (owner, "boss") or (who == "user2" and account == "acct1")


def foreign(site, who, text):
    """What of an answer is none of his business."""
    text = urllib.parse.unquote(text)
    bad = [m for m in set(re.findall(r"mark-(\w+)-(\w+)-", text)) if not may_see(who, *m)]
    bad += [k for k in set(re.findall(r"fake:\d+:\d+", text))
            if k in site.owner and not may_see(who, *site.owner[k])]
    users = {u for u, a in site.owner.values() if may_see(who, u, a)} | {who}
    accounts = {a for u, a in site.owner.values() if may_see(who, u, a)} | (
        {"acct1"} if who == "user2" else set())
    bad += [u for u in set(re.findall(r"\buser\d+\b", text)) - users]
    bad += [a for a in set(re.findall(r"\bacct\d+\b", text)) - accounts]
    return bad


def proofs(site):
    """How a person can prove who he is; calls that ask."""
    def with_headers(*headers, unix=None):
        return lambda path, **more: site.ask(path, *headers, unix=unix, **more)
    return {
        "proxy": lambda p: with_headers(GRAFANA, user(p)),
        "password": lambda p: with_headers(basic(p, "pw-" + p)),
        "token": lambda p: with_headers(("Authorization", "Bearer " + site.token[p])),
        "socket": lambda p: with_headers(user(p), unix=site.socket),
        "spoofing": lambda p: with_headers(
            GRAFANA, user(p), ("X-Remote-User", "boss"), ("X-WEBAUTH-USER", "boss"),
            ("X-Forwarded-User", "boss"), ("X-Grafana-Users", "boss"), ("X_Grafana_User", "boss"),
            ("Connection", "X-Remote-User, close"), ("Cookie", "user=boss")),
    }


def questions(site):
    """Paths to GET: everything that there is, asked for what is not one's own."""
    targets = {}
    for who in PEOPLE[:2]:
        for mine in (True, False):
            for key, owner, account, _ in site.all:
                if may_see(who, owner, account) == mine and (mine or owner != "user3"):
                    targets[who, mine] = key
                    break
    keys = sorted(set(targets.values())) + [next(k for k, _, a, _ in site.all if a == "acct1")]
    wide = [{}, {"user": "*"}, {"user": "user0,user1,user2,user3,user4,user5"},
            {"user": "{user7,user8}"}, {"account": "acct0,acct1,acct2"}, {"var-user": "user5"},
            {"group_by": "user,account"}, {"group_by": "account,day"}, {"state": "all"},
            {"node": "n01,n02,n03"}, {"name": "mark"}, {"mine": "false"},
            {"job": keys[0]}, {"job": keys[-1]}, {"job": keys[0].split(":")[1]},
            {"cursor": "9999999999.99999"}, {"total": "true", "limit": "3"}]
    out = collections.OrderedDict()
    for path, params in site.paths.items():
        some = [w for w in wide if all(k.replace("var-", "") in params for k in w)]
        for w in some:
            w = dict(w, **({"from": "0"} if "from" in params else {}))
            for key in keys if "{" in path else [None]:
                real = path.replace("{job}", urllib.parse.quote(key or "", safe=":"))
                out.setdefault(path, []).append(real + "?" + urllib.parse.urlencode(w))
    for w in wide[:6]:
        out.setdefault("/api/jobs", []).append("/api/jobs?from=0&" + urllib.parse.urlencode(w))
    out["/api/accounts"] = ["/api/accounts", "/api/accounts?user=user5"]
    out["/jobs"] = ["/jobs?from=0&limit=500", "/jobs?from=0&user=*", "/jobs?from=0&name=mark"]
    out["/jobs/*"] = ["/jobs/" + k for k in keys] + ["/jobs/%s/curve.svg" % k for k in keys]
    out["/usage"] = ["/usage?from=0&group_by=" + g for g in ("user", "account", "user,account")]
    return out


def posts(site):
    time = {"range": {"from": "2000-01-01T00:00:00.000Z", "to": "2100-01-01T00:00:00.000Z"}}
    payloads = [{}, {"user": "*", "limit": 500}, {"user": ["user5", "user6"]},
                {"account": "acct0", "fields": "key,user,name"}, {"group_by": "user,account"}]
    out = {"query": [dict(time, targets=[{"refId": "A", "target": t, "payload": p}])
                     for t in ("jobs", "usage", "core_hours") for p in payloads]}
    out["query"].append(dict(time, targets=[{"refId": "A", "target": "jobs"}],
                             filters=[{"key": "user", "operator": "=", "value": "user5"}]))
    out["annotations"] = [dict(time, annotation={"query": q}) for q in (
        "", '{"user":"*","limit":500}', '{"user":"user5"}', '{"account":"acct0"}')]
    words = ["users", "accounts", "partitions", "clusters"]
    out["variable"] = [{"payload": {"target": w}} for w in words]
    out["search"] = [{"target": w} for w in words] + [{}]
    out["metric-payload-options"] = [{"metric": "jobs", "name": w} for w in words]
    out["options"] = out["metric-payload-options"]
    out["tag-values"] = [{"key": w[:-1]} for w in words]
    out["tag-keys"] = out["metrics"] = [{}]
    return out


def shown(body):
    """Without what a page repeats of the question."""
    text = body.decode("utf-8", "replace")
    return re.sub(r'value="[^"]*"|href="jobs\?[^"]*"', "", text)


def everything(site):
    seen = collections.Counter()
    for kind, of in proofs(site).items():
        for who in PEOPLE:
            ask, n, bad, odd = of(who), 0, [], []
            for path, urls in questions(site).items():
                for url in urls:
                    a = ask(url)
                    n += 1
                    seen[path, who] += len(re.findall(rb"mark-|\"jobid\":", a.body))
                    leak = foreign(site, who, shown(a.body))
                    if leak:
                        bad.append((url, leak[:4]))
                    if a.status not in (200, 400, 404, 409):
                        odd.append((url, a.status))
            for name, bodies in posts(site).items():
                for body in bodies:
                    a = ask("/api/simpod/" + name, method="POST", body=body)
                    n += 1
                    leak = foreign(site, who, shown(a.body))
                    if leak:
                        bad.append((name, body, leak[:4]))
                    if a.status not in (200, 400):
                        odd.append((name, body, a.status))
            same(bad, [], "%s by %s: %d answers, nothing foreign" % (who, kind, n))
            same(odd[:5], [], "and all of them are answers")
    for path in ("/api/v1/jobs", "/api/v1/findings", "/jobs", "/api/jobs"):
        check(seen[path, "user3"] > 0, "%s had something to show" % path)
    theirs = site.ask("/api/v1/jobs?from=0&limit=9", GRAFANA, user("boss")).body.decode()
    check(foreign(site, "newcomer", theirs), "what is foreign would be seen")
    check(seen["/api/v1/jobs", "boss"] > 2 * seen["/api/v1/jobs", "user3"], "an admin sees more")


def nobody(site):
    """Without a proof, with half a one, with two."""
    bad = []
    cases = [("none", [], {403, 401}), ("a header alone", [user("boss")], {403, 401}),
             ("a proxy without a user", [GRAFANA], {403}),
             ("a user dropped on the way", [GRAFANA, ("Connection", "X-Grafana-User")], {403}),
             ("two users", [GRAFANA, user("user3"), user("boss")], {400}),
             ("one user twice", [GRAFANA, user("user3"), user("user3")], {400}),
             ("users joined", [GRAFANA, user("user3,boss")], {400}),
             ("a macro", [GRAFANA, user("${__user.login}")], {400}),
             ("a password for another", [basic("user3", "pw-user3"), user("boss")], {403}),
             ("a token for another", [("Authorization", "Bearer " + site.token["user3"]),
                                      user("boss")], {403}),
             ("two proofs", [GRAFANA, ("Authorization", "Bearer " + site.token["boss"]),
                             user("boss")], {400})]
    open_paths = {"/api/v1/openapi.json"}
    for what, headers, statuses in cases:
        bad = []
        for path, urls in questions(site).items():
            a = site.ask(urls[0], *headers)
            if path in open_paths:
                continue
            if a.status not in statuses or b"mark-" in a.body or b"fake:" in a.body:
                bad.append((urls[0], a.status))
        for name, bodies in posts(site).items():
            a = site.ask("/api/simpod/" + name, *headers, method="POST", body=bodies[0])
            if a.status not in statuses or b"mark-" in a.body:
                bad.append((name, a.status))
        same(bad, [], "no endpoint answers to %s" % what)


def same_silence(site):
    """Someone else's job and none at all: not a byte differs, but for the name
    that was asked for."""
    theirs = next(k for k, u, a, _ in site.all if u not in ("user3", "user2") and a != "acct1")
    none = "fake:%s:%s" % (theirs.split(":")[1], int(theirs.split(":")[2]) + 1)
    for path in [p for p in site.paths if "{job}" in p] + ["/jobs/{job}", "/jobs/{job}/curve.svg"]:
        got = [site.ask(path.replace("{job}", k), GRAFANA, user("user3")) for k in (theirs, none)]
        same((got[0].status, got[0].body), (got[1].status, got[1].body), "%s: the same" % path)


sys.exit(run(begin, everything, nobody, same_silence, count=1200, days=20))
