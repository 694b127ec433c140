#!/usr/bin/env python3
"""batchjob_stats_server with slow and broken requests, rubbish in every
parameter, and a store that is written, replaced, removed and damaged.  TAP."""
import os
import random
import shutil
import socket
import sqlite3
import sys
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import basic, bcrypt, check, run, same, user  # noqa: E402

GRAFANA = basic("grafana", "s3cret")
PARAMS = ("user account partition cluster state node name job fields group_by from to limit"
          " cursor order total mine running").split()
RUBBISH = ["'", "\"", "' OR 1=1 --", "\") OR 1=1 --", "1; DROP TABLE job", "%00", "%ff%fe",
           "%", "_", "\\", "*", "{", "{}", "{,,,}", ",", ",,,,", "0", "-1", "1e999", "NaN", "null",
           "9223372036854775808", "99999999999999999999999", "now", "0.0",
           "9223372036854775807.9223372036854775807", "../../etc/passwd", "${x}", "x" * 3000,
           "a," * 150, "%F0%9F%98%80", "%0d%0aX-Grafana-User:%20boss", "+", "1970-01-01T24:00",
           "253402300799", "9999-12-31T23:59:59+23:59", "0001-01-01"]


def set_up(site):
    web = site.file("web.yml", "basic_auth_users:\n  grafana: %s\n" % bcrypt("s3cret"))
    site.start("--web.config.file=" + web, "--access.admins=boss", "--web.request-timeout=10m",
               "--web.max-requests=50")
    site.fetch("/api/v1/me", GRAFANA, user("boss"))
    site.keys = {"fake:%s:%s" % (j["JobIDRaw"], j["Submit"]): j["User"] for j in site.simulated_jobs()}


def rss(site):
    with open("/proc/%d/statm" % site.server.pid) as f:
        return int(f.read().split()[1]) * 4096 / 2**20


def alive(site, what):
    a = site.fetch("/api/v1/jobs?limit=3&from=2000-01-01&fields=key", GRAFANA, user("user3"))
    check(a.status == 200 and len(a.data) == 3
          and all(site.keys[r["key"]] == "user3" for r in a.data), what, a)


def rubbish(site):
    """Rubbish in any parameter of any path shows no job of another user."""
    odd, leaks = [], []
    for path in ("/api/v1/jobs", "/api/v1/jobs/1", "/api/v1/usage", "/api/v1/users",
                 "/api/v1/accounts", "/api/jobs", "/api/accounts"):
        for name in PARAMS:
            for text in RUBBISH:
                value = text if "%" in text else urllib.parse.quote(text)
                a = site.fetch("%s?from=0&%s=%s" % (path, name, value), GRAFANA, user("user3"))
                if a.status not in (200, 400, 404, 409, 414, 431):
                    odd.append((path, name, text[:30], a))
                if a.status == 200:
                    for row in a.data or []:
                        if row.get("user", "user3") not in ("user3", None):
                            leaks.append((path, name, text[:30], row))
    check(not odd, "rubbish is refused or finds nothing", *odd[:5])
    check(not leaks, "rubbish in parameters shows no job of another user", *leaks[:5])
    alive(site, "requests succeed afterwards")


def paths(site):
    bad = []
    for path in ("//api/v1/me", "/api/v1/../v1/me", "/api/v1/%6de", "/api/v1/me/", "/api%2fv1/me",
                 "/api/v1/jobs/%2e%2e/me", "/api/v1/jobs/a%00b", "/api/v1/jobs/", "/api/v2/jobs",
                 "/API/V1/ME", "/api/v1/jobs/" + "a" * 5000, "http://x/api/v1/me?user=boss"):
        a = site.fetch(path, user("boss"))
        if a.status not in (400, 403, 404, 414, 431):
            bad.append((path[:40], a))
    check(not bad, "no odd path works without credentials", *bad)


def noise(site):
    """A request with some bytes changed gets an HTTP response or none, and no jobs of others."""
    rnd = random.Random(5)
    whole = (b"GET /api/v1/jobs?user=user3&limit=2 HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n"
             b"X-Grafana-User: user3\r\n\r\n" % GRAFANA[1].encode())
    odd = []
    for i in range(300):
        data = bytearray(whole)
        for _ in range(rnd.randrange(1, 6)):
            at = rnd.randrange(len(data))
            kind = rnd.randrange(3)
            if kind == 0:
                data[at] = rnd.randrange(256)
            elif kind == 1:
                del data[at:at + rnd.randrange(1, 5)]
            else:
                data[at:at] = bytes(rnd.randrange(256) for _ in range(rnd.randrange(8)))
        got = site.raw(bytes(data), wait=0.05)
        if got and not got.startswith(b"HTTP/1.1"):
            odd.append((bytes(data), got))
        if b'"user":"user' in got.replace(b'"user":"user3"', b""):
            odd.append((bytes(data), got))
    check(not odd, "300 broken requests get an HTTP response or none", *odd[:3])
    alive(site, "requests succeed afterwards")


def slow(site):
    """500 slow clients do not delay another client."""
    socks, stop = [], threading.Event()

    def connect():
        try:
            s = socket.create_connection(("127.0.0.1", site.port), timeout=300)
            s.sendall(b"GET /api/v1/jobs HTTP/1.1\r\nX-")
            socks.append(s)
        except OSError:
            pass

    def trickle():
        while not stop.wait(0.2):
            for s in socks:
                try:
                    s.send(b"a", socket.MSG_DONTWAIT)
                except OSError:
                    pass
    for _ in range(500):
        connect()
    thread = threading.Thread(target=trickle)
    thread.start()
    got = [site.fetch("/api/v1/me", GRAFANA, user("user3")).status for _ in range(30)]
    stop.set()
    thread.join()
    for s in socks:
        s.close()
    same(set(got), {200}, "a client gets responses while 500 others send a byte now and then")


def bodies(site):
    big = site.fetch("/api/v1/jobs", GRAFANA, user("user3"), method="POST", body=b"x" * 100000)
    same(big.status, 413, "a long body is refused")
    with open(site.log, "rb") as log:
        line = log.read().splitlines()[-1]
    check(all(w in line for w in (b'"request"', b'client="127.0.0.1"', b'method="POST"',
                                  b"status=413")), "a refused body has a line in the log", line)
    got = site.raw(b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                   b"5\r\nhello\r\n0\r\n\r\n", 1)
    check(got.startswith(b"HTTP/1.1 411") and b'"status":"error"' in got,
          "a body of unknown length is refused, in JSON", got)


def changing(site):
    """No request fails while the store is written, replaced, restored or missing."""
    bad, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            a = site.fetch("/api/v1/jobs?from=0&limit=50&fields=key,user,state", GRAFANA,
                           user("user3"))
            b = site.fetch("/api/v1/usage?from=0&group_by=day", GRAFANA, user("boss"))
            if (a.status, b.status) != (200, 200) or {r["user"] for r in a.data} != {"user3"}:
                bad.append((a, b))
    threads = [threading.Thread(target=read) for _ in range(3)]
    for t in threads:
        t.start()
    for _ in range(3):
        db = sqlite3.connect(site.store)
        db.execute("DELETE FROM covered")
        db.execute("UPDATE job SET priority = ifnull(priority, 0) + 1")
        db.commit()
        db.close()
        site.fill()
    check(not bad, "no request fails while the store is written", *bad[:3])

    def seen(mark):
        """Wait until the server reads the store whose jobs have this priority."""
        for _ in range(1200):
            a = site.fetch("/api/v1/jobs?from=0&limit=1&fields=priority", GRAFANA, user("user3"))
            if a.status == 200 and a.data[0]["priority"] == mark:
                return True
            time.sleep(0.05)
        return False
    copy = site.store + ".new"
    for i in range(5):
        source, target = sqlite3.connect(site.store), sqlite3.connect(copy)
        source.backup(target)
        target.execute("UPDATE job SET priority = ?", (1000 + i,))
        target.commit()
        target.execute("PRAGMA journal_mode = WAL")
        target.close()
        source.close()
        for tail in ("-wal", "-shm"):
            if os.path.exists(site.store + tail):
                os.unlink(site.store + tail)
        os.rename(copy, site.store)
        time.sleep(0.2)
    check(not bad and seen(1004), "no request fails while the store is replaced", *bad[:3])
    for i in range(3):  # as "sqlite3 STORE .restore" does it
        source = sqlite3.connect(":memory:")
        target = sqlite3.connect(site.store)
        target.backup(source)
        source.execute("UPDATE job SET priority = ?", (2000 + i,))
        source.commit()
        source.backup(target)
        target.close()
        time.sleep(0.2)
    check(not bad and seen(2002), "no request fails while the store is restored in place", *bad[:3])
    os.rename(site.store, site.store + ".away")
    time.sleep(0.3)
    os.rename(site.store + ".away", site.store)
    time.sleep(0.2)
    check(not bad, "no request fails while the store is missing", *bad[:3])
    stop.set()
    for t in threads:
        t.join()
    same(site.fetch("/health").status, 200, "the server is healthy")


def no_store(site):
    """Without a valid store requests get status 503; with one they succeed again."""
    away = site.store + ".away"
    shutil.move(site.store, away)
    for tail in ("-wal", "-shm"):
        if os.path.exists(site.store + tail):
            os.unlink(site.store + tail)
    site.start("--access.trust-loopback")
    a = site.fetch("/api/v1/jobs", user("user3"))
    check(a.status == 503 and a.json["error"].endswith("."), "without a store the status is 503", a)
    same((site.fetch("/health").status, site.fetch("/api/v1/me", user("x")).status), (503, 200),
         "/health reports the missing store; a request that needs no store succeeds")
    check("the store cannot be read; requests get status 503" in open(site.log).read(),
          "the log reports the missing store at the start")
    a = site.fetch("/jobs", user("user3"))
    check(a.status == 503 and a.headers["Content-Type"].startswith("text/html")
          and b"cannot be read" in a.body, "a web page without a store has status 503", a)
    with open(site.store, "w") as f:
        f.write("this is not a database" * 100)
    same(site.fetch("/api/v1/jobs", user("user3")).status, 503, "a file that is not a database has status 503")
    check("damaged or not a store" in site.fetch("/health").json["error"], "/health names the reason",
          site.fetch("/health"))
    os.unlink(site.store)
    shutil.copy(away, site.store)
    db = sqlite3.connect(site.store)
    for version, why in ((99, "newer version"), (0, "must run once")):
        db.execute("PRAGMA user_version = %d" % version)
        db.commit()
        a = site.fetch("/health")
        check(a.status == 503 and why in a.json["error"], "a store of another version: " + why, a)
    db.close()
    for tail in ("", "-wal", "-shm"):
        if os.path.exists(site.store + tail):
            os.unlink(site.store + tail)
    shutil.move(away, site.store)
    same(site.fetch("/api/v1/jobs", user("user3")).status, 200, "requests succeed once there is a store")


def bounded(site):
    """Memory does not grow with 150 long responses."""
    site.start("--access.trust-loopback", "--access.admins=boss", "--query.max-rows=100000")
    for i in range(150):
        site.fetch("/api/v1/jobs?from=0&limit=100000", user("boss"))
    if "san" not in os.environ.get("O", ""):
        check(rss(site) < 20, "memory stays below 20 MiB", rss(site))
    same(site.stop(), 0, "the server ends with status 0")
    with open(site.log) as f:
        text = f.read()
    check("ERROR: " not in text and "runtime error" not in text
          and "ThreadSanitizer" not in text, "no sanitizer reports an error",
          text[-600:])


def stalled_clients(site, path, count):
    """Connections that request a long response four times and read nothing; their socket buffers
    hold less than four responses."""
    socks = []
    for _ in range(count):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", site.port))
        s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nX-Grafana-User: boss\r\n\r\n" % path * 4)
        socks.append(s)
    time.sleep(1)
    return socks


def statuses(site):
    """Repeat a request until status 200, at most 300 s; return all statuses."""
    got, end = [], time.monotonic() + 300
    while 200 not in got and time.monotonic() < end:
        got.append(site.fetch("/api/v1/me", user("boss")).status)
        time.sleep(0.2)
    return got


def stalled_limit(site):
    """While stalled clients occupy web.max-bytes, a request waits and is not refused."""
    site.start("--access.trust-loopback", "--access.admins=boss", "--web.max-bytes=1M")
    socks = stalled_clients(site, b"/api/v1/jobs?from=0&limit=2000", 8)
    got = statuses(site)
    check(200 in got and b"\nbatchjob_api_refused_total 0\n" in site.fetch("/metrics").body,
          "clients that read nothing cause no refusal", got)
    for s in socks:
        s.close()


def stalled_memory(site):
    """100 clients that request long lists and read nothing occupy little memory."""
    site.start("--access.trust-loopback", "--access.admins=boss", "--query.max-rows=100000")
    socks = stalled_clients(site, b"/api/v1/jobs?from=0&limit=100000", 100)
    time.sleep(1.5)
    got = statuses(site)
    if "san" not in os.environ.get("O", ""):
        check(rss(site) < 60, "clients that read nothing occupy little memory", rss(site))
    check(200 in got, "clients that read nothing do not block others", got)
    for s in socks:
        s.close()


def query_timeouts(site):
    site.start("--access.trust-loopback", "--access.admins=boss", "--query.timeout=10ms",
               "--query.max-rows=100000")
    got = [site.fetch("/api/v1/jobs?from=0&limit=100000&name=zzz%d&total=1" % i, user("boss"))
           for i in range(3)]
    check(all(a.status in (200, 503) for a in got) and site.fetch("/health").status == 200,
          "a query that takes too long ends", got)


sys.exit(run(set_up, rubbish, paths, noise, slow, bodies, changing, no_store, stalled_limit,
             stalled_memory, query_timeouts, bounded,
             count=1500, days=30))
