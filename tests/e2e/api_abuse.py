#!/usr/bin/env python3
"""batchjob_stats_server among strangers: slow and broken requests, rubbish in
every parameter, a store that changes, goes and comes.  TAP."""
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


def begin(site):
    web = site.file("web.yml", "basic_auth_users:\n  grafana: %s\n" % bcrypt("s3cret"))
    site.start("--web.config.file=" + web, "--access.admins=boss", "--web.request-timeout=10m",
               "--web.max-requests=50")
    site.ask("/api/v1/me", GRAFANA, user("boss"))
    site.keys = {"fake:%s:%s" % (j["JobIDRaw"], j["Submit"]): j["User"] for j in site.told()}


def rss(site):
    with open("/proc/%d/statm" % site.server.pid) as f:
        return int(f.read().split()[1]) * 4096 / 2**20


def alive(site, what):
    a = site.ask("/api/v1/jobs?limit=3&from=2000-01-01&fields=key", GRAFANA, user("user3"))
    check(a.status == 200 and len(a.data) == 3
          and all(site.keys[r["key"]] == "user3" for r in a.data), what, a)


def rubbish(site):
    """In every parameter of every path, as an ordinary user."""
    odd, leaks = [], []
    for path in ("/api/v1/jobs", "/api/v1/jobs/1", "/api/v1/usage", "/api/v1/users",
                 "/api/v1/accounts", "/api/jobs", "/api/accounts"):
        for name in PARAMS:
            for text in RUBBISH:
                value = text if "%" in text else urllib.parse.quote(text)
                a = site.ask("%s?from=0&%s=%s" % (path, name, value), GRAFANA, user("user3"))
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
        a = site.ask(path, user("boss"))
        if a.status not in (400, 403, 404, 414, 431):
            bad.append((path[:40], a))
    check(not bad, "no odd path works without credentials", *bad)


def noise(site):
    """Bytes that are no requests, and requests with some bytes changed."""
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
    check(not odd, "300 broken requests get an answer or none", *odd[:3])
    alive(site, "requests succeed afterwards")


def slow(site):
    """Many that send a byte now and then do not disturb one that does not."""
    socks, stop = [], threading.Event()

    def connect():
        try:
            s = socket.create_connection(("127.0.0.1", site.port), timeout=60)
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
    got = [site.ask("/api/v1/me", GRAFANA, user("user3")).status for _ in range(30)]
    stop.set()
    thread.join()
    for s in socks:
        s.close()
    same(set(got), {200}, "a client is answered beside 500 that send a byte now and then")


def bodies(site):
    big = site.ask("/api/v1/jobs", GRAFANA, user("user3"), method="POST", body=b"x" * 100000)
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
    """A store that is written, replaced and taken away costs no error."""
    bad, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            a = site.ask("/api/v1/jobs?from=0&limit=50&fields=key,user,state", GRAFANA,
                         user("user3"))
            b = site.ask("/api/v1/usage?from=0&group_by=day", GRAFANA, user("boss"))
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
        """Does the server answer from the newest store?"""
        for _ in range(1200):
            a = site.ask("/api/v1/jobs?from=0&limit=1&fields=priority", GRAFANA, user("user3"))
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
    same(site.ask("/health").status, 200, "the server is healthy")


def no_store(site):
    """Without one there is an answer, and with one there is another."""
    away = site.store + ".away"
    shutil.move(site.store, away)
    for tail in ("-wal", "-shm"):
        if os.path.exists(site.store + tail):
            os.unlink(site.store + tail)
    site.start("--access.trust-loopback")
    a = site.ask("/api/v1/jobs", user("user3"))
    check(a.status == 503 and a.json["error"].endswith("."), "without a store the status is 503", a)
    same((site.ask("/health").status, site.ask("/api/v1/me", user("x")).status), (503, 200),
         "/health reports it, and what needs no store works")
    check("the store cannot be read; requests get status 503" in open(site.log).read(),
          "without a store the log says so at the start")
    a = site.ask("/jobs", user("user3"))
    check(a.status == 503 and a.headers["Content-Type"].startswith("text/html")
          and b"cannot be read" in a.body, "a web page without a store has status 503", a)
    with open(site.store, "w") as f:
        f.write("this is not a database" * 100)
    same(site.ask("/api/v1/jobs", user("user3")).status, 503, "a file that is not a database has status 503")
    check("damaged or not a store" in site.ask("/health").json["error"], "/health names the reason",
          site.ask("/health"))
    os.unlink(site.store)
    shutil.copy(away, site.store)
    db = sqlite3.connect(site.store)
    for version, why in ((99, "newer version"), (0, "must run once")):
        db.execute("PRAGMA user_version = %d" % version)
        db.commit()
        a = site.ask("/health")
        check(a.status == 503 and why in a.json["error"], "of another version: " + why, a)
    db.close()
    for tail in ("", "-wal", "-shm"):
        if os.path.exists(site.store + tail):
            os.unlink(site.store + tail)
    shutil.move(away, site.store)
    same(site.ask("/api/v1/jobs", user("user3")).status, 200, "requests succeed once there is a store")


def bounded(site):
    """Long answers and many of them leave no memory behind."""
    site.start("--access.trust-loopback", "--access.admins=boss", "--query.max-rows=100000")
    for i in range(150):
        site.ask("/api/v1/jobs?from=0&limit=100000", user("boss"))
    if "san" not in os.environ.get("O", ""):
        check(rss(site) < 20, "memory stays below 20 MiB", rss(site))
    same(site.stop(), 0, "the server ends with status 0")
    with open(site.log) as f:
        text = f.read()
    check("ERROR: " not in text and "runtime error" not in text
          and "ThreadSanitizer" not in text, "no sanitizer reports an error",
          text[-600:])


def stand(site, path, count):
    """Readers that ask for something long and take nothing; what the kernel takes in for them
    is less than four of that."""
    socks = []
    for _ in range(count):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", site.port))
        s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nX-Grafana-User: boss\r\n\r\n" % path * 4)
        socks.append(s)
    time.sleep(1)
    return socks


def answers(site):
    """The answer of a client that repeats its request until it is answered."""
    got, end = [], time.monotonic() + 60
    while 200 not in got and time.monotonic() < end:
        got.append(site.ask("/api/v1/me", user("boss")).status)
        time.sleep(0.2)
    return got


def crowd(site):
    """Who finds all room taken waits until those that stand still have to go."""
    site.start("--access.trust-loopback", "--access.admins=boss", "--web.max-bytes=1M")
    socks = stand(site, b"/api/v1/jobs?from=0&limit=2000", 8)
    got = answers(site)
    check(200 in got and b"\nbatchjob_api_refused_total 0\n" in site.ask("/metrics").body,
          "readers that take nothing cause no refusal", got)
    for s in socks:
        s.close()


def standing(site):
    """Many that ask for long lists and read nothing hold a bounded memory."""
    site.start("--access.trust-loopback", "--access.admins=boss", "--query.max-rows=100000")
    socks = stand(site, b"/api/v1/jobs?from=0&limit=100000", 100)
    time.sleep(1.5)
    got = answers(site)
    if "san" not in os.environ.get("O", ""):
        check(rss(site) < 60, "readers that take nothing need little memory", rss(site))
    check(200 in got, "readers that take nothing do not block others", got)
    for s in socks:
        s.close()


def late(site):
    site.start("--access.trust-loopback", "--access.admins=boss", "--query.timeout=10ms",
               "--query.max-rows=100000")
    got = [site.ask("/api/v1/jobs?from=0&limit=100000&name=zzz%d&total=1" % i, user("boss"))
           for i in range(3)]
    check(all(a.status in (200, 503) for a in got) and site.ask("/health").status == 200,
          "a query that takes too long ends", got)


sys.exit(run(begin, rubbish, paths, noise, slow, bodies, changing, no_store, crowd, standing, late,
             bounded,
             count=1500, days=30))
