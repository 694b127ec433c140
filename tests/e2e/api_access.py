#!/usr/bin/env python3
"""Authentication by batchjob_stats_server: all kinds of credentials, valid and invalid.  TAP."""
import os
import pwd
import re
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prom_lib  # noqa: E402
from api_lib import HERE, SERVER, basic, bcrypt, check, run, same, user  # noqa: E402

ME = "/api/v1/me"
GRAFANA = basic("grafana", "s3cret")


def configure(site, *more):
    web = site.file("web.yml", "basic_auth_users:\n  grafana: %s\n  bob: %s\n"
                    % (bcrypt("s3cret"), bcrypt("b0b")))
    p = subprocess.run([SERVER, "make-token", "carol", "2999-01-01"], capture_output=True)
    old = subprocess.run([SERVER, "make-token", "carol", "never"], capture_output=True)
    site.token, site.expired = p.stderr.decode().strip(), old.stderr.decode().strip()
    tokens = site.file("tokens", "# for scripts\n" + p.stdout.decode()
                       + old.stdout.decode().replace("never", "2020-01-01"))
    access = site.file("access", "admin root-of-all\ncoordinator acct1 user2 bob # his\n")
    site.socket = os.path.join(site.folder, "api.sock")
    site.options = ["--web.config.file=" + web, "--access.token-file=" + tokens,
                    "--access.file=" + access, "--access.admins=boss second",
                    "--access.coordinators=acct0: user1 user2",
                    "--web.unix-socket=" + site.socket] + list(more)
    site.start(*site.options)


def user_of(response):
    return response.data[0]["user"] if response.status == 200 else None


def credentials(site):
    configure(site)
    bearer = ("Authorization", "Bearer " + site.token)
    good = [
        ("a proxy with a header", [GRAFANA, user("alice")], "alice"),
        ("a proxy, header in another case", [GRAFANA, ("x-gRAFANA-uSER", "al.ice-2")],
         "al.ice-2"),
        ("a user's name and password", [basic("bob", "b0b")], "bob"),
        ("a user's password, and a header with the same name", [basic("bob", "b0b"), user("bob")], "bob"),
        ("a token", [bearer], "carol"),
        ("a token, scheme in small letters", [("Authorization", "bearer " + site.token)], "carol"),
        ("a token, and a header with the same name", [bearer, user("carol")], "carol"),
    ]
    for what, headers, name in good:
        same(user_of(site.fetch(ME, *headers)), name, what)
    bad = [
        ("no credentials", [], 403),
        ("a header alone", [user("alice")], 403),
        ("a proxy without a header", [GRAFANA], 403),
        ("a proxy whose header was dropped as hop-by-hop",
         [GRAFANA, ("Connection", "X-Grafana-User")], 403),
        ("a proxy with two headers", [GRAFANA, user("alice"), user("root")], 400),
        ("a proxy with the same header twice", [GRAFANA, user("alice"), user("alice")], 400),
        ("a proxy with two names in one header", [GRAFANA, user("alice, root")], 400),
        ("a proxy with an empty header", [GRAFANA, user("")], 400),
        ("a proxy with a macro that was not replaced", [GRAFANA, user("${__user.login}")], 400),
        ("a proxy with a name of another alphabet", [GRAFANA, user("\xe4lice")], 400),
        ("a name with a blank", [GRAFANA, user("al ice")], 400),
        ("a name with a quote", [GRAFANA, user("alice'--")], 400),
        ("a name that is too long", [GRAFANA, user("a" * 64)], 400),
        ("a password, and another user's name in the header", [basic("bob", "b0b"), user("alice")], 403),
        ("a token, and another user's name in the header", [bearer, user("alice")], 403),
        ("a wrong password", [basic("grafana", "wrong"), user("alice")], 403),
        ("an empty password", [basic("grafana", ""), user("alice")], 403),
        ("an unknown user", [basic("nobody", "s3cret"), user("alice")], 403),
        ("two kinds of credentials", [GRAFANA, bearer, user("alice")], 400),
        ("another scheme", [("Authorization", "Digest x"), user("alice")], 403),
        ("invalid base64", [("Authorization", "Basic ???"), user("alice")], 403),
        ("no scheme", [("Authorization", ""), user("alice")], 403),
        ("an expired token", [("Authorization", "Bearer " + site.expired)], 403),
        ("a changed token", [("Authorization", "Bearer " + site.token[:-1] + "!")], 403),
        ("an unknown token", [("Authorization", "Bearer bj_00000000_" + "0" * 48)], 403),
        ("other identity headers", [("X-Remote-User", "alice"), ("X-WEBAUTH-USER", "alice"),
                                    ("X-DS-Authorization", GRAFANA[1])], 403),
    ]
    for what, headers, status in bad:
        time.sleep(0.3)  # stays below the limit of failed logins
        a = site.fetch(ME, *headers)
        check(a.status == status and a.json["status"] == "error" and a.json["error"].endswith("."),
              "%s: %d" % (what, status), a)
        check("WWW-Authenticate" not in a.headers, "%s: no header WWW-Authenticate" % what)


def protected_endpoints(site):
    """Each endpoint that needs credentials, as (path, method, body)."""
    doc = site.fetch("/api/v1/openapi.json").json
    keys = [j for j in site.simulated_jobs() if j["User"] == "user3"]
    key = "fake:%s:%s" % (keys[0]["JobIDRaw"], keys[0]["Submit"])
    # A path of one part is a job where it is its id.
    found = [("/" + keys[0]["JobIDRaw"] if p == "/{job}" else p.replace("{job}", key), "GET", None)
             for p, of in doc["paths"].items()
             if "get" in of and of["get"].get("security") != []]
    body = {"range": {"from": "2020-01-01T00:00:00Z", "to": "2040-01-01T00:00:00Z"},
            "targets": [{"refId": "A", "target": "jobs"}], "payload": {"target": "users"},
            "key": "user", "annotation": {"query": "jobs"}}
    found += [("/api/simpod/" + n, "POST", body) for n in
              ("query", "search", "metrics", "variable", "tag-keys", "tag-values", "annotations",
               "metric-payload-options")]
    return found


def matrix(site):
    """No endpoint accepts invalid credentials; with valid ones no endpoint shows data of other
    users."""
    bearer = ("Authorization", "Bearer " + site.token)
    invalid = {
        "no credentials": [],
        "a header alone": [user("user3")],
        "two headers": [GRAFANA, user("user3"), user("boss")],
        "two headers, one empty": [GRAFANA, user("user3"), user("")],
        "two names in one header": [GRAFANA, user("user3,boss")],
        "a proxy without a header": [GRAFANA],
        "a hop-by-hop header, dropped": [GRAFANA, ("Connection", "close, X-Grafana-User")],
        "a password, and another user's name": [basic("bob", "b0b"), user("user3")],
        "a token, and another user's name": [bearer, user("boss")],
        "an expired token": [("Authorization", "Bearer " + site.expired)],
        "other identity headers": [("X-Remote-User", "boss"), ("X-Forwarded-User", "boss"),
                                   ("X-WEBAUTH-USER", "boss"), ("X-Grafana-Id", "boss"),
                                   ("X-DS-Authorization", GRAFANA[1])],
    }
    paths, mine = protected_endpoints(site), ("user3", {"user3"}, [GRAFANA, user("user3")], None)
    check(len(paths) > 20, "there are paths to test", paths)
    for what, headers in invalid.items():
        odd = []
        for path, method, body in paths:
            for more in ("", "?user=boss&X-Grafana-User=boss"):
                a = site.fetch(path + more, *headers, method=method, body=body)
                if a.status not in (400, 401, 403) or b"fake:" in a.body:
                    odd.append((path, a))
        check(not odd, "%s: every endpoint refuses it" % what, *odd[:3])
    a = site.fetch(ME, user("boss"), unix=site.socket)
    same(a.status, 403, "another user's name over the socket is refused")
    own = pwd.getpwuid(os.getuid()).pw_name
    for name, sees, headers, unix in (
            mine, ("bob", {"bob"}, [basic("bob", "b0b")], None), ("carol", {"carol"}, [bearer],
                                                                  None),
            (own, {own}, [], site.socket),
            ("user4", {"user4"}, [GRAFANA, user("user4"), ("Connection", "X-Other")], None)):
        odd = []
        for path, method, body in paths:
            a = site.fetch(path, *headers, method=method, body=body, unix=unix)
            if a.status >= 500 and a.status != 503 or a.status in (401, 403):
                odd.append((path, a))
            others = set(re.findall(rb"\buser\d+\b", a.body)) - {s.encode() for s in sees}
            if a.status == 200 and name != "bob" and others:
                odd.append((path, others, a))
        check(not odd, "%s gets no data of other users from any endpoint" % name, *odd[:3])


def roles(site):
    def me(name):
        return site.fetch(ME, GRAFANA, user(name)).data[0]
    for name, admin, accounts in (
            ("boss", True, ""), ("second", True, ""), ("root-of-all", True, ""),
            ("user1", False, "acct0"), ("user2", False, "acct0,acct1"), ("bob", False, "acct1"),
            ("his", False, ""), ("user", False, ""), ("user11", False, "")):
        got = me(name)
        check(got["admin"] is admin and ",".join(sorted(got["accounts"].split(","))) == accounts,
              "%s is %s" % (name, "admin" if admin else accounts or "a user"), got)


def peers(site):
    own = pwd.getpwuid(os.getuid()).pw_name
    same(user_of(site.fetch(ME, unix=site.socket)), own, "over a Unix socket the user is that of the client's process")
    same(site.fetch(ME, user("alice"), unix=site.socket).status, 403,
         "a peer over the socket cannot name another user")
    same(user_of(site.fetch(ME, GRAFANA, user("alice"), unix=site.socket)), "alice",
         "a proxy's password works over the socket, too")
    site.start(*site.options, "--access.proxy-users=" + own)
    same(user_of(site.fetch(ME, user("alice"), unix=site.socket)), "alice",
         "a proxy on the socket needs no password")
    same(site.fetch(ME, unix=site.socket).status, 403, "a proxy over the socket names the user in a header")


def other_header(site):
    """With access.proxy-header, only that header names the user."""
    site.start(*site.options, "--access.proxy-header=X-Remote-User")

    def remote(name):
        return ("X-Remote-User", name)
    same(user_of(site.fetch(ME, GRAFANA, remote("alice"))), "alice", "a proxy names the user in another header")
    same(user_of(site.fetch(ME, GRAFANA, remote("alice"), user("root"))), "alice", "the former one names nobody")
    for what, headers, status in (
            ("the former header alone", [GRAFANA, user("alice")], 403),
            ("two of them", [GRAFANA, remote("alice"), remote("root")], 400),
            ("an invalid name in it", [GRAFANA, remote("alice, root")], 400),
            ("it alone, without credentials", [remote("alice")], 403),
            ("a password, and another name in it", [basic("bob", "b0b"), remote("alice")], 403)):
        same(site.fetch(ME, *headers).status, status, "%s: %d" % (what, status))
    same(user_of(site.fetch(ME, basic("bob", "b0b"), user("alice"))), "bob", "a user may send the former one, which is ignored")


def frames(site):
    """Pages are shown in frames only by the sites of web.frame-ancestors."""
    def policy():
        return dict(site.fetch("/jobs", basic("bob", "b0b")).headers)["Content-Security-Policy"].split("; ")[-1]
    site.start(*site.options)
    same(policy(), "frame-ancestors 'none'", "nobody may show a page in a frame")
    site.start(*site.options, "--web.frame-ancestors=https://ondemand.example.org",
               "--web.frame-ancestors=https://b.example.org:8443")
    same(policy(), "frame-ancestors https://ondemand.example.org https://b.example.org:8443", "except the listed sites")
    for option, value in (("web.frame-ancestors", "*"), ("web.frame-ancestors", "https://x.org; script-src *"),
                          ("web.frame-ancestors", "https://x.org/path"), ("access.proxy-header", "Authorization"),
                          ("access.proxy-header", "X-A: b"), ("access.proxy-header", "")):
        p = subprocess.run([SERVER, "check-config", "--store.path=" + site.store,
                            "--%s=%s" % (option, value)], capture_output=True, text=True, timeout=300, check=False)
        check(p.returncode != 0 and option in p.stderr, "%s '%s' is refused" % (option, value), p.stderr)


def loopback(site):
    site.start("--access.trust-loopback")
    same(user_of(site.fetch(ME, user("alice"))), "alice", "--access.trust-loopback accepts a header without credentials")
    same(site.fetch(ME).status, 403, "a proxy over loopback needs the header")
    same(site.fetch(ME, basic("grafana", "x"), user("alice")).status, 403,
         "wrong credentials are refused even over loopback")


def flood(site):
    """Password guesses are limited; other clients are not."""
    configure(site)
    same(user_of(site.fetch(ME, GRAFANA, user("alice"))), "alice", "Grafana has logged in")
    begin = time.time()
    got = [site.fetch(ME, basic("grafana", "guess%d" % i), user("alice")).status
           for i in range(60)]
    took = time.time() - begin
    check(set(got) == {403, 429} and got.count(403) <= 11 + 2 * took, "after ten guesses, two per second are checked",
          got, took)
    same(user_of(site.fetch(ME, GRAFANA, user("alice"))), "alice", "a client that has authenticated is never delayed")
    same(user_of(site.fetch(ME, basic("bob", "b0b"), source="127.0.9.1")), "bob",
         "a user of another network signs in for the first time during guesses")
    for i in range(60):
        site.fetch(ME, basic("bob", "guess%d" % i), source="127.0.%d.1" % (20 + i % 6))
    site.reload()
    same(user_of(site.fetch(ME, basic("bob", "b0b"), source="127.0.20.1")), "bob",
         "after a reload and guesses of his name, a user who has signed in still is")


def reloads(site):
    with open(os.path.join(site.folder, "access"), "a") as f:
        f.write("admin alice\n")
    same(site.fetch(ME, GRAFANA, user("alice")).data[0]["admin"], False, "before the reload the user is not an admin")
    site.reload()
    same(site.fetch(ME, GRAFANA, user("alice")).data[0]["admin"], True, "after SIGHUP the user is an admin")
    with open(os.path.join(site.folder, "access"), "a") as f:
        f.write("emperor alice\n")
    site.reload()
    check("access:" in open(site.log).read() and "the old options stay" in open(site.log).read(),
          "the log names the file with a wrong line; the old options stay")
    same(site.fetch(ME, GRAFANA, user("alice")).data[0]["admin"], True, "an error in the access file keeps the old rules")
    same(site.fetch("/metrics").body.count(b"batchjob_api_config_reload_success 0"), 1,
         "/metrics shows the failed reload")
    site.file("tokens", "")
    site.file("access", "admin boss\n")
    site.reload()
    same(site.fetch(ME, ("Authorization", "Bearer " + site.token), source="127.0.8.1").status, 403,
         "a token is revoked by removing its line")
    conf = site.file("server.yml", "web:\n  max-bytes: 4M\n")
    site.start(*site.options, "--config.file=" + conf)
    site.file("server.yml", "web:\n  max-bytes: 5M\n")
    site.reload()
    check("reload: web.max-bytes cannot change without a restart" in open(site.log).read(),
          "an option that cannot change at a reload is named")


def check_config(site):
    """check-config reads the files and opens the store; the example starts as it is."""
    def result(*options):
        p = subprocess.run([SERVER, "check-config", *options], capture_output=True, text=True, timeout=300)
        return p.returncode, p.stdout + p.stderr
    configure(site)
    good = [o for o in site.options if "=" in o] + ["--store.path=" + site.store]
    code, text = result(*good)
    check(code == 0 and ": fine for user id" in text, "check-config accepts a configuration, beside the server", text)
    example = ["--config.file=" + os.path.join(HERE, "../../examples/stats_server.yml"), "--store.path=" + site.store,
               "--web.unix-socket=" + os.path.join(site.folder, "other.sock")]
    same(result(*example)[0], 0, "check-config accepts examples/stats_server.yml")
    for option, words in (("--web.config.file=/none/web.yml", "web.config.file: "),
                          ("--access.token-file=/none/tokens", "/none/tokens"),
                          ("--access.file=/none/access", "/none/access"),
                          ("--access.admins=@no-such-group", "no-such-group"),
                          ("--faculty.file=/none/faculties", "faculty.file: open /none/faculties"),
                          ("--web.unix-socket=/none/api.sock", "web.unix-socket: /none"),
                          ("--store.path=/none/stats.db", "store.path: "),
                          ("--store.path=" + os.path.join(HERE, "api_lib.py"), "store.path: "),
                          ("--web.treads=4", "web.treads")):
        code, text = result(*good, option)
        check(code == 1 and words in text, "check-config refuses " + option, text)
    online(site, lambda *options: result("--online", *good, *options))


def online(site, result):
    """--online listens, and queries Prometheus; each mistake has a message."""
    prom = prom_lib.simulated()
    url = "http://127.0.0.1:%d" % prom.server_port
    with socket.create_server(("127.0.0.1", 0)) as used:
        address = "127.0.0.1:%d" % used.getsockname()[1]
        code, text = result("--web.listen-address=" + address)
        check(code == 0 and address + " is in use: by this service if it runs" in text, "an address in use is noted", text)
    closed = address
    for options, words in (
            (["--web.listen-address=192.0.2.1:9020"], "web.listen-address: "),
            (["--prometheus.url=http://" + closed], "connect"),
            (["--prometheus.url=http://PROMETHEUS:9090"], "prometheus.url: the host in capitals is a placeholder"),
            (["--prometheus.url=" + url, "--prometheus.match=cluster=Alpha"],
             "no series of batchjob_exporter has cluster=\"Alpha\"; the server's label cluster has 'alpha'")):
        code, text = result(*options)
        check(code == 1 and words in text, "check-config --online refuses " + " ".join(options), text)
    for match in "alpha", "%c":
        code, text = result("--prometheus.url=" + url, "--prometheus.match=cluster=" + match)
        check(code == 0 and "Prometheus has 12 series" in text, "Prometheus has series, match " + match, text)
    prom.shutdown()
    prom.server_close()


def wrong_files(site):
    cases = [
        ("web", "basic_auth_users:\n  a: plain\n", "web:2:"),
        ("web", "tls_server_config:\n  cert_file: x\n", "web:2:"),
        ("web", "basic_auth_users:\n  a: [1]\n", "web:2:"),
        ("web", "- a\n", "web:1:"),
        ("web", "a: {", "web:"),
        ("tok", "x y z\n", "tok:1:"),
        ("tok", "\n12345678 $5$x$abc alice tomorrow\n", "tok:2:"),
        ("acc", "admin @no-such-group-here\n", "acc:1:"),
        ("acc", "\n\nadmin a'b\n", "acc:3:"),
        ("acc", "coordinator\n", "acc:1:"),
        ("acc", "# all\nadmn ada\n",
         "acc:2: expected: admin USER, or coordinator ACCOUNT USER; not 'admn'; did you mean 'admin'?"),
        ("fac", "# ACCOUNT FACULTY\nphys Science\nbad\n", "fac:3: expected: ACCOUNT FACULTY; not 'bad'\""),
        ("fac", "phys:\tFaculty of Science\n",
         "fac:1: expected: ACCOUNT FACULTY; not 'phys:'; did you mean 'phys'?"),
        ("fac", "\nphys=Science\r\n", "fac:2: expected: ACCOUNT FACULTY; not 'phys=Science'; did you mean 'phys Science'?"),
    ]
    option = {"web": "--web.config.file=", "tok": "--access.token-file=",
              "acc": "--access.file=", "fac": "--faculty.file="}
    for name, text, where in cases:
        path = site.file(name, text)
        p = subprocess.run([SERVER, "--web.listen-address=127.0.0.1:0", option[name] + path],
                           capture_output=True, timeout=300)
        check(p.returncode == 1 and where in p.stderr.decode(), "%r is refused at %s"
              % (text[:30], where), p.stderr)
    path = site.file("tok", "", 0o666)
    p = subprocess.run([SERVER, "--web.listen-address=127.0.0.1:0",
                        "--access.token-file=" + path], capture_output=True, timeout=300)
    check(p.returncode == 1, "a token file that others may write is refused", p.stderr)


def make_token(site):
    for end in ("2027-13-01", "tomorrow", "", "2027-01-01 10:00", "2027-01-01\n", "2020-01-01"):
        p = subprocess.run([SERVER, "make-token", "carol", end], capture_output=True, text=True)
        same((p.returncode, p.stdout), (1, ""), "make-token refuses the end %r" % end)
        check("'%s'" % end.replace("\n", "?") in p.stderr, "the error names the wrong end", p.stderr)
    p = subprocess.run([SERVER, "make-token", "a b"], capture_output=True, text=True)
    check(p.returncode == 1 and "'a b'" in p.stderr and "name" in p.stderr, "make-token refuses an invalid user name", p)
    p = subprocess.run([SERVER, "make-token", "carol", "never"], capture_output=True)
    same((p.returncode, p.stdout.split()[2:]), (0, [b"carol", b"never"]), "make-token makes a token that never expires")


def logged_peer(site):
    site.fetch(ME, unix=site.socket)
    check('client="unix:%d" method="GET"' % os.getuid() in open(site.log).read(),
          "the log has the uid of a client on the socket")


def stops(site):
    same(site.stop(), 0, "SIGTERM ends the server with status 0")
    check(not os.path.exists(site.socket), "the server removes its socket")


sys.exit(run(credentials, matrix, roles, peers, other_header, frames, loopback, flood, reloads,
             check_config, wrong_files, make_token, logged_peer, stops, count=20, days=2))
