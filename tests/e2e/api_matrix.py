#!/usr/bin/env python3
"""Every endpoint with every kind of credentials for every kind of user: no response
contains data of other users; missing, wrong or double credentials are refused.  TAP."""
import collections
import copy
import os
import pwd
import re
import sqlite3
import ssl
import subprocess
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import SERVER, basic, bcrypt, check, run, same, user  # noqa: E402
import tls_lib  # noqa: E402
from gate_lib import ScriptedPrometheus, FilledPrometheus  # noqa: E402

USERS = ["user3", "user2", "newcomer", "boss"]  # user2 coordinates acct1
MONTH = time.strftime("%Y-%m")
OWN = pwd.getpwuid(os.getuid()).pw_name
GRAFANA = basic("grafana", "s3cret")
FEW = 12  # all kinds of credentials but one send only every 12th request to an endpoint
LONG = os.environ.get("BJ_TEST_LONG")

# All endpoints that need credentials.  The author of a new one makes requests()
# or posts() request data of other users from it.
ENDPOINTS = {
    "get": ["/accounts/{account}", "/api/accounts", "/api/jobs", "/api/v1/accounts", "/api/v1/applications",
            "/api/v1/clusters", "/api/v1/constants", "/api/v1/emission-factors", "/api/v1/findings", "/api/v1/jobs",
            "/api/v1/jobs/{job}", "/api/v1/jobs/{job}/charts", "/api/v1/jobs/{job}/emissions", "/api/v1/jobs/{job}/energy",
            "/api/v1/jobs/{job}/findings", "/api/v1/jobs/{job}/plot.png", "/api/v1/jobs/{job}/report",
            "/api/v1/jobs/{job}/report.pdf", "/api/v1/jobs/{job}/script", "/api/v1/jobs/{job}/series", "/api/v1/jobs/{job}/steps",
            "/api/v1/jobs/{job}/usage", "/api/v1/mail", "/api/v1/me", "/api/v1/series", "/api/v1/site", "/api/v1/storage",
            "/api/v1/usage", "/api/v1/users", "/api/v1/users/{user}", "/cluster", "/compare", "/find", "/findings",
            "/gpus", "/home", "/jobs", "/jobs/{job}", "/jobs/{job}/curve.svg", "/mail", "/mail/{job}", "/management",
            "/nodes", "/nodes/{node}",
            "/pdf/{job}", "/pie/{job}/", "/plot/{job}/{metric}"] + [
            "/prometheus/api/v1/" + n for n in (
                "format_query", "label/{name}/values", "labels", "metadata", "query", "query_exemplars",
                "query_range", "series", "status/buildinfo")] + ["/queue", "/support", "/usage", "/users/{user}", "/{job}"],
    "post": ["/api/simpod/" + n for n in (
        "annotations", "metric-payload-options", "metrics", "options", "query", "search",
        "tag-keys", "tag-values", "variable")] + ["/api/v1/mail", "/mail"] + ["/prometheus/api/v1/" + n for n in (
            "format_query", "labels", "query", "query_exemplars", "query_range", "series")]}
OPEN = ["/", "/api", "/api/health", "/api/simpod", "/api/v1", "/api/v1/openapi.json", "/health",
        "/metrics", "/static/icon.svg", "/static/pages.js", "/static/style.css"]


def make_token(user_name, until):
    p = subprocess.run([SERVER, "make-token", user_name, until], capture_output=True, text=True)
    return p.stderr.strip(), p.stdout


def set_up(site):
    web = site.file("web.yml", "basic_auth_users:\n  grafana: %s\n" % bcrypt("s3cret")
                    + "".join("  %s: %s\n" % (p, bcrypt("pw-" + p)) for p in USERS))
    site.token, lines = {}, ""
    for name, user_name, until in [(p, p, "2999-01-01") for p in USERS] + [
            ("expired", "user3", "2998-01-01"), ("revoked", "user3", "never")]:
        site.token[name], line = make_token(user_name, until)
        lines += "" if name == "revoked" else line.replace("2998", "2020")
    tokens = site.file("tokens", lines + line)
    site.socket = os.path.join(site.folder, "api.sock")
    mark(site)
    site.rules = ["--access.admins=boss", "--access.coordinators=acct1: user2",
                  "--query.max-rows=10000", "--access.rate=100000"]
    site.prom = prometheus(site)
    site.rules += ["--gate.enabled", "--prometheus.url=" + site.prom.url]
    site.options = site.rules + ["--web.config.file=" + web, "--access.token-file=" + tokens,
                                 "--web.unix-socket=" + site.socket,
                                 "--access.proxy-users=" + OWN]
    site.roles = {"boss": "admin", "user2": {"acct1"}}
    site.start(*site.options)
    a = site.fetch("/api/v1/me", bearer(site, "revoked"))
    same(a.status, 200, "a token works until it is revoked")
    site.file("tokens", lines)
    site.reload()
    describe(site)
    secure(site)


def prometheus(site):
    """A Prometheus with series of all jobs; where it is not installed, a server without series."""
    series = [("batchjob_job_cpus", dict(user=u, account=a, jobid=j, mark="mark-%s-%s-" % (u, a)),
               [(site.now - 60, 1)]) for u, a, j in sorted({(u, a, j) for _, u, a, j in site.all})]
    prom = FilledPrometheus(series)
    if prom.failure:
        prom.stop()
        prom = ScriptedPrometheus()
        prom.reply = lambda h: h.send()
    return prom


def describe(site):
    """The OpenAPI document has exactly ENDPOINTS and OPEN; OPEN show no data of jobs."""
    doc = site.fetch("/api/v1/openapi.json").json
    of = {(m, p): op for p, item in doc["paths"].items() for m, op in item.items()}
    for method, paths in ENDPOINTS.items():
        same(sorted(p for m, p in of if m == method and of[m, p].get("security") != []), paths,
             "all endpoints are tested with " + method)
    same(sorted(p for m, p in of if of[m, p].get("security") == []), OPEN, "only the listed endpoints need no credentials")
    site.paths = {p: [x["name"] for x in op["parameters"] if x["in"] == "query"]
                  for (m, p), op in of.items() if m == "get" and p not in OPEN}
    bad = [p for p in OPEN if re.search(rb"mark-|fake:|\buser\d|\bacct\d", site.fetch(p).body)]
    same(bad, [], "open endpoints show no data of jobs")


def secure(site):
    """Start a second server over the same store, with mutual TLS."""
    folder, key = site.folder, tls_lib.EC
    tls_lib.ca(folder, "ca", key)
    tls_lib.cert(folder, "own", "ca", "/CN=localhost",
                 "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth", key=key)
    names = dict({p: "email:%s@hpc.example" % p for p in USERS}, grafana="dns:grafana.example",
                 two="email:user3@hpc.example,email:boss@hpc.example", odd="email:boss@else.example")
    site.tls = {}
    for name, san in names.items():
        tls_lib.cert(folder, name, "ca", "/CN=boss", "extendedKeyUsage=clientAuth\n"
                     "subjectAltName=" + re.sub("(?<!^)(email|dns):", r"\1:", san).replace(
                         "dns:", "DNS:"), key=key)
    for name in list(names) + ["none"]:
        site.tls[name] = ssl.create_default_context(cafile=os.path.join(folder, "ca.pem"))
        if name != "none":
            site.tls[name].load_cert_chain(os.path.join(folder, name + ".pem"),
                                           os.path.join(folder, name + ".key"))
    web = site.file("tls.yml", "tls_server_config:\n  cert_file: own.pem\n  key_file: own.key\n"
                    "  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: ca.pem\n")
    site.secure = copy.copy(site)
    site.secure.server, site.secure.log = None, os.path.join(folder, "log-tls")
    site.secure.start(*site.rules, "--web.config.file=" + web,
                      "--access.certificates=dns:grafana.example grafana",
                      "--access.certificates=email:*@hpc.example *")


def bearer(site, name):
    return ("Authorization", "Bearer " + site.token[name])


def mark(site):
    """Put the owner and account of each job into its name, directory, comment, application
    and a finding."""
    db = sqlite3.connect(site.store)
    db.execute("UPDATE user SET name = ? WHERE name = 'user5'", (OWN,))
    for job, owner, account in db.execute(
            "SELECT j.id, u.name, a.name FROM job AS j JOIN user AS u ON u.id = j.user JOIN account"
            " AS a ON a.id = j.account").fetchall():
        text = "mark-%s-%s-" % (owner, account)
        db.execute("INSERT OR IGNORE INTO jobname(text) VALUES(?)", (text,))
        db.execute("UPDATE job SET name = (SELECT id FROM jobname WHERE text = ?), work_dir = ?"
                   " WHERE id = ?", (text, text, job))
        db.execute("INSERT INTO job_more(job, comment) VALUES(?, ?) ON CONFLICT DO UPDATE SET"
                   " comment = excluded.comment", (job, text))
        db.execute("INSERT OR IGNORE INTO word(text) VALUES(?)", (text,))
        db.execute("INSERT INTO job_use(job, sources, counted_cpu_sec, counted_start, counted_end, application,"
                   " application_by) SELECT ?, 0, 0, 0, 0, id, 3 FROM word WHERE text = ? ON CONFLICT DO UPDATE SET"
                   " application = excluded.application", (job, text))
        db.execute("INSERT OR IGNORE INTO finding_rule(name, severity, condition, text)"
                   " VALUES(?, 'info', '1', ?)", (text, text))
        db.execute("INSERT OR REPLACE INTO job_finding(job, rule, value, threshold)"
                       " SELECT ?, id, 1, 2 FROM finding_rule WHERE"
                   " name = ?", (job, text))
    db.commit()
    site.all = db.execute(
        "SELECT (SELECT name FROM cluster) || ':' || j.jobid || ':' || j.submit, u.name, a.name,"
        " CAST(j.jobid AS TEXT) FROM job AS j JOIN user AS u ON u.id = j.user JOIN account AS a"
        " ON a.id = j.account WHERE j.\"end\" IS NOT NULL").fetchall()
    site.owner = {k: (u, a) for k, u, a, _ in site.all}
    site.pairs = set(site.owner.values())
    db.close()


def may_see(site, user_name, owner, account):
    role = site.roles.get(user_name, set())
    return role == "admin" or user_name == owner or account in role


def foreign(site, user_name, text):
    """Texts, keys and names in a response that the user may not see."""
    text = urllib.parse.unquote(text)
    bad = [m for m in set(re.findall(r"mark-(\w+)-(\w+)-", text)) if not may_see(site, user_name, *m)]
    bad += [k for k in set(re.findall(r"fake:\d+:\d+", text))
            if k in site.owner and not may_see(site, user_name, *site.owner[k])]
    seen = [pair for pair in site.pairs if may_see(site, user_name, *pair)]
    users, accounts = {u for u, _ in seen} | {user_name}, {a for _, a in seen}
    role = site.roles.get(user_name, set())
    accounts |= role if role != "admin" else set()
    bad += [u for u in set(re.findall(r"\buser\d+\b", text)) - users]
    bad += [a for a in set(re.findall(r"\bacct\d+\b", text)) - accounts]
    return bad


def with_headers(site, *headers, **how):
    return lambda path, *own, **more: site.fetch(path, *headers, *own, **how, **more)


def credentials(site):
    """{kind of credentials: function of a user that returns a function to send requests}."""
    spoofed = [("X-Remote-User", "boss"), ("X-WEBAUTH-USER", "boss"), ("X-Forwarded-User", "boss"),
               ("X-Grafana-Users", "boss"), ("X_Grafana_User", "boss"),
               ("Connection", "X-Remote-User, close"), ("Cookie", "user=boss")]
    return {
        "proxy": lambda p: with_headers(site, GRAFANA, user(p)),
        "password": lambda p: with_headers(site, basic(p, "pw-" + p)),
        "token": lambda p: with_headers(site, bearer(site, p)),
        "socket of a proxy": lambda p: with_headers(site, user(p), unix=site.socket),
        "spoofing": lambda p: with_headers(site, GRAFANA, user(p), *spoofed),
        "certificate": lambda p: with_headers(site.secure, *spoofed, tls=site.tls[p]),
        "certificate of a proxy": lambda p: with_headers(site.secure, user(p),
                                                         tls=site.tls["grafana"]),
    }


def requests(site):
    """{endpoint: URLs to GET}, with parameters that request data of other users."""
    targets = {}
    for user_name in USERS[:2]:
        for mine in (True, False):
            for key, owner, account, _ in site.all:
                if may_see(site, user_name, owner, account) == mine and (mine or owner != "user3"):
                    targets[user_name, mine] = key
                    break
    keys = sorted(set(targets.values())) + [next(k for k, _, a, _ in site.all if a == "acct1")]
    wide = [{}, {"user": "*"}, {"user": "user0,user1,user2,user3,user4," + OWN},
            {"user": "{user7,user8}"}, {"account": "acct0,acct1,acct2"}, {"var-user": OWN},
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
    for w in wide[:6]:  # the original API ignores unknown parameters
        out["/api/jobs"].append("/api/jobs?from=0&" + urllib.parse.urlencode(w))
    out["/api/accounts"].append("/api/accounts?user=user4")
    query, gate = {"query": '{mark!=""}', "match[]": '{mark!=""}', "time": site.now}, "/prometheus/api/v1/"
    ranged = dict(query, start=site.now - 120, end=site.now, step=60)
    for name in ("query", "query_exemplars", "query_range", "series", "labels", "metadata",
                 "format_query", "status/buildinfo"):
        out[gate + name] = [gate + name + "?" + urllib.parse.urlencode(
            dict(ranged if "range" in name or "exem" in name else query, **more)) for more in (
                {}, {"query": "batchjob_job_cpus"}, {"query": 'sum by (mark)({user=~".*"} or {mark!=""})'},
                {"match[]": '{user="%s"}' % OWN, "user": "boss"}, {"query": '{user!="%s"}' % OWN})]
    out[gate + "label/{name}/values"] = [gate + "label/%s/values" % n for n in ("mark", "user", "account", "jobid")]
    for path in "/api/v1/jobs/{job}/report.pdf", "/pdf/{job}", "/pie/{job}/":
        del out[path][len(keys):]  # drawing takes time
    out["/api/v1/jobs/{job}/plot.png"] = ["/api/v1/jobs/%s/plot.png?metric=cpus_usable" % k for k in keys]
    out["/plot/{job}/{metric}"] = ["/plot/%s/cpus_usable" % k for k in keys]
    out["/api/v1/users/{user}"] = ["/api/v1/users/user%d" % i for i in range(9)]
    out["/users/{user}"] = ["/users/user%d" % i for i in range(5)]
    out["/accounts/{account}"] = ["/accounts/acct%d" % i for i in range(3)]
    out["/nodes/{node}"] = ["/nodes/n%02d" % i for i in range(5)]
    out["/accounts/{account}"] += ["/accounts/acct%d?month=%s%s" % (i, MONTH, more) for i in range(3) for more in ("", "&format=csv")]
    out["/{job}"] = ["/" + k.split(":")[1] for k in keys]
    out["/jobs"] += ["/jobs?from=0&limit=500", "/jobs?from=0&user=*", "/jobs?from=0&name=mark"]
    out["/usage"] += ["/usage?from=0&group_by=" + g for g in ("user", "account", "user,account")]
    return out


def posts(site):
    """{endpoint: bodies to POST}: JSON, or forms as bytes."""
    time = {"range": {"from": "2000-01-01T00:00:00.000Z", "to": "2100-01-01T00:00:00.000Z"}}
    payloads = [{}, {"user": "*", "limit": 500}, {"user": ["user4", "user6"]},
                {"account": "acct0", "fields": "key,user,name"}, {"group_by": "user,account"}]
    out = {"query": [dict(time, targets=[{"refId": "A", "target": t, "payload": p}])
                     for t in ("jobs", "usage", "core_hours") for p in payloads]}
    out["query"].append(dict(time, targets=[{"refId": "A", "target": "jobs"}],
                             filters=[{"key": "user", "operator": "=", "value": "user4"}]))
    out["annotations"] = [dict(time, annotation={"query": q}) for q in (
        "", '{"user":"*","limit":500}', '{"user":"user4"}', '{"account":"acct0"}')]
    words = ["users", "accounts", "partitions", "clusters"]
    out["variable"] = [{"payload": {"target": w}} for w in words]
    out["search"] = [{"target": w} for w in words] + [{}]
    out["metric-payload-options"] = [{"metric": "jobs", "name": w} for w in words]
    out["options"] = out["metric-payload-options"]
    out["tag-values"] = [{"key": w[:-1]} for w in words]
    out["tag-keys"] = out["metrics"] = [{}]
    out = {"/api/simpod/" + name: bodies for name, bodies in out.items()}
    gets = requests(site)
    for path in ENDPOINTS["post"]:
        if path not in out:
            out[path] = [url.partition("?")[2].encode() for url in gets[path]]
    return out


def post(fetch, path, body):
    form = [("Content-Type", "application/x-www-form-urlencoded")] if isinstance(body, bytes) else []
    return fetch(path, *form, method="POST", body=body)


def without_echo(body, url):
    """A response without what a page repeats from the request, such as links to bills of the same account."""
    text = re.sub(r'href="\.\.%s\?month=[0-9-]*"' % re.escape(url.partition("?")[0]), "", body.decode("utf-8", "replace"))
    return re.sub(r'value="[^"]*"|href="(?:../)?(?:jobs|usage|findings)\?[^"]*"|<h1>.*?</h1>|<title>.*?</title>|'
                  r'<ul class="chips screen">.*?</ul>|<p class="small screen">.*?</p>',
                  "", text)


def sweep(site, user_name, kind, fetch, seen, few, every=1):
    """Send each endpoint every `every`-th request, as one user with one kind of credentials.
    Count the jobs in all responses in seen, those of every FEW-th request in few."""
    n, bad, odd = 0, [], []
    for path, urls in requests(site).items():
        for i, url in enumerate(urls):
            if i % every:
                continue
            a = fetch(url)
            n += 1
            jobs = len(re.findall(rb"mark-|\"jobid\":", a.body))
            seen[path, user_name] += jobs
            if i % FEW == 0:
                few[path, user_name] += jobs
            leak = foreign(site, user_name, without_echo(a.body, url))
            if leak:
                bad.append((url, leak[:4]))
            # A coordinator sees a job, but not its script.
            more = {"/find": (303, 400), "/{job}": (303, 400), "/api/v1/jobs/{job}/script": (400, 403, 404)}
            if a.status not in more.get(path, (200, 400, 404, 409)):
                odd.append((url, a.status))
    for name, bodies in posts(site).items():
        for body in bodies[::every]:
            a = post(fetch, name, body)
            n += 1
            leak = foreign(site, user_name, without_echo(a.body, name))
            if leak:
                bad.append((name, body, leak[:4]))
            if a.status not in (200, 400):
                odd.append((name, body, a.status))
    same(bad, [], "%s by %s: %d responses without data of other users" % (user_name, kind, n))
    same(odd[:5], [], "all requests have an expected status")


def everything(site):
    same(sorted(requests(site)), ENDPOINTS["get"], "there is a request for each endpoint")
    same(sorted(posts(site)), ENDPOINTS["post"], "there is a body for each POST")
    totals, seen_by_proxy = set(), collections.Counter()
    for kind, of in credentials(site).items():
        seen, few = collections.Counter(), collections.Counter()
        for user_name in USERS:
            # A response depends on the user, not on the kind of credentials: one kind sends all requests.
            sweep(site, user_name, kind, of(user_name), seen, few, 1 if LONG or kind == "proxy" else FEW)
        totals.add(tuple(sorted(few.items())))
        seen_by_proxy = seen_by_proxy or seen
    seen = seen_by_proxy
    same(len(totals), 1, "all kinds of credentials show the same number of jobs")
    for path in ("/api/v1/jobs", "/api/v1/findings", "/jobs", "/api/jobs"):
        check(seen[path, "user3"] > 0, "%s shows jobs" % path)
    theirs = site.fetch("/api/v1/jobs?from=0&limit=9", GRAFANA, user("boss")).body.decode()
    check(foreign(site, "newcomer", theirs), "the test notices jobs of other users")
    check(seen["/api/v1/jobs", "boss"] > 2 * seen["/api/v1/jobs", "user3"], "an admin sees more")


def refused(site, what, statuses, fetch):
    """Every endpoint refuses these credentials."""
    bad = []
    for path, urls in requests(site).items():
        a = fetch(urls[0])
        if a.status not in statuses or b"mark-" in a.body or b"fake:" in a.body:
            bad.append((urls[0], a.status))
    for name, bodies in posts(site).items():
        a = post(fetch, name, bodies[0])
        if a.status not in statuses or b"mark-" in a.body:
            bad.append((name, a.status))
    same(bad, [], "all endpoints refuse %s" % what)


def invalid_credentials(site):
    """Missing, incomplete, wrong or double credentials are refused."""
    wrong = site.token["user3"][:-4] + "0000"
    # Pages send status 401, so that a browser asks for a password.
    for what, headers, statuses in [
            ("no credentials", [], {403, 401}), ("a header alone", [user("boss")], {403, 401}),
            ("a proxy without a user", [GRAFANA], {403, 401}),
            ("a user header dropped as hop-by-hop", [GRAFANA, ("Connection", "X-Grafana-User")], {403, 401}),
            ("two users", [GRAFANA, user("user3"), user("boss")], {400}),
            ("one user twice", [GRAFANA, user("user3"), user("user3")], {400}),
            ("two users in one header", [GRAFANA, user("user3,boss")], {400}),
            ("a macro of Grafana", [GRAFANA, user("${__user.login}")], {400}),
            ("a password, and another user's name", [basic("user3", "pw-user3"), user("boss")], {403, 401}),
            ("a token, and another user's name", [bearer(site, "user3"), user("boss")], {403}),
            ("an expired token", [bearer(site, "expired")], {403}),
            ("a revoked token", [bearer(site, "revoked")], {403, 429}),
            ("a wrong token", [("Authorization", "Bearer " + wrong)], {403, 429}),
            ("a wrong password", [basic("user3", "pw-boss")], {403, 401, 429}),
            ("a password of an unknown user", [basic("nobody", "pw-user3")], {403, 401, 429}),
            ("two kinds of credentials", [GRAFANA, bearer(site, "boss"), user("boss")], {400})]:
        refused(site, what, statuses, with_headers(site, *headers))
    for what, name, headers, statuses in [
            ("no certificate", "none", [user("boss")], {403}),
            ("a certificate that no rule matches", "odd", [user("boss")], {403}),
            ("a certificate of two users", "two", [user("boss")], {403}),
            ("a certificate, and another user's name", "user3", [user("boss")], {403}),
            ("a proxy's certificate alone", "grafana", [], {403}),
            ("a proxy's certificate and two users", "grafana", [user("user3"), user("boss")], {400}),
            ("a certificate and a wrong token", "boss", [bearer(site, "boss")], {403, 429})]:
        refused(site, what, statuses, with_headers(site.secure, *headers, tls=site.tls[name]))


def same_as_missing(site):
    """A job of another user and one that does not exist give the same response,
    byte for byte."""
    theirs = next(k for k, u, a, _ in site.all if u not in ("user3", "user2") and a != "acct1")
    none = "fake:%s:%s" % (theirs.split(":")[1], int(theirs.split(":")[2]) + 1)
    for path in [p for p in site.paths if "{job}" in p] + ["/jobs/{job}", "/jobs/{job}/curve.svg"]:
        got = [site.fetch(path.replace("{job}", k), GRAFANA, user("user3")) for k in (theirs, none)]
        same((got[0].status, got[0].body), (got[1].status, got[1].body),
             "%s: another user's job looks like one that does not exist" % path)


def peers(site):
    """On the Unix socket the kernel identifies the client; here it is this user, in every role."""
    options = [o for o in site.options if not o.startswith("--access.proxy-users")]
    for what, role, rule in (("a user", set(), "--access.rate=0"),
                             ("a coordinator", {"acct1"}, "--access.coordinators=acct1: " + OWN),
                             ("an admin", "admin", "--access.admins=" + OWN)):
        site.roles, seen = {OWN: role}, collections.Counter()
        site.start(*options, rule)
        sweep(site, OWN, "the socket as " + what, with_headers(site, unix=site.socket), seen, seen.copy(),
              1 if LONG else FEW)
        check(seen["/api/v1/jobs", OWN] > 0, "the socket shows jobs of the peer")
        refused(site, "another user's name on the socket", {403, 401},
                with_headers(site, user("boss"), unix=site.socket))
        refused(site, "two names on the socket", {400},
                with_headers(site, user(OWN), user("boss"), unix=site.socket))


def end(site):
    site.prom.stop()
    same((site.secure.stop(), site.stop()), (0, 0), "both servers end with status 0")
    for log in (site.log, site.secure.log):
        with open(log) as f:
            text = f.read()
        check("ERROR: " not in text and "runtime error" not in text
              and "ThreadSanitizer" not in text, "no sanitizer reports an error", text[-600:])


sys.exit(run(set_up, everything, invalid_credentials, same_as_missing, peers, end, count=1200, days=20))
