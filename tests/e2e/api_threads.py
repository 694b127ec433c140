#!/usr/bin/env python3
"""batchjob_stats_server with concurrent clients: slow queries of admins, limits of
users, reload and shutdown under load, clients that disconnect.  TAP."""
import http.client
import os
import signal
import socket
import sqlite3
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import check, run, same, user  # noqa: E402

ME = "/api/v1/me"
MINE = "/api/v1/jobs?from=0&limit=20&fields=key,user"
TRUST = ("--access.trust-loopback", "--access.admins=boss")


def rss(site):
    with open("/proc/%d/statm" % site.server.pid) as f:
        return int(f.read().split()[1]) * 4096 / 2**20


def grow(site):
    """Copy the jobs, so that a query over all of them takes a while."""
    db = sqlite3.connect(site.store)
    names = [r[1] for r in db.execute("PRAGMA table_info(job)")]
    key = "id" if "id" in names else names[0]
    most = db.execute("SELECT max(%s) FROM job" % key).fetchone()[0]
    back = 0
    for i in range(1, 120):
        back = i * 7
        select = ["%s + %d" % (n, i * most) if n == key else
                  "submit - %d" % back if n == "submit" else '"%s"' % n for n in names]
        try:
            db.execute('INSERT OR IGNORE INTO job ("%s") SELECT %s FROM job WHERE %s <= %d' % (
                '","'.join(names), ",".join(select), key, most))
        except sqlite3.Error as e:
            print("# " + str(e))
            break
    db.commit()
    n = db.execute("SELECT count(*) FROM job").fetchone()[0]
    db.close()
    print("# %d jobs" % n)


class Client(threading.Thread):
    """Repeats a request on one connection."""

    def __init__(self, site, path, user_name, stop):
        super().__init__()
        self.c = http.client.HTTPConnection("127.0.0.1", site.port, timeout=300)
        self.path, self.user_name, self.stop = path, user_name, stop
        self.count, self.bad = 0, []
        self.start()

    def run(self):
        while not self.stop.is_set():
            try:
                self.c.request("GET", self.path.replace("#", str(self.count)),
                               headers={"X-Grafana-User": self.user_name})
                r = self.c.getresponse()
                body = r.read()
                if r.status != 200 or b'"status":"success"' not in body:
                    self.bad.append((r.status, body[:200]))
            except (OSError, http.client.HTTPException) as e:
                if self.stop.is_set():
                    return
                self.bad.append(repr(e))
                self.c.close()
            self.count += 1


def together(site, what, enough):
    """Run a client for each (path, user) until the last one has `enough` responses."""
    stop = threading.Event()
    clients = [Client(site, path, user_name, stop) for path, user_name in what]
    while clients[-1].count < enough and clients[-1].is_alive():
        time.sleep(0.01)
    stop.set()
    for c in clients:
        c.join()
    return clients


def slow_admins(site):
    grow(site)
    site.start(*TRUST, "--query.timeout=100s", "--query.longest-job=3660d")
    slow = "/api/v1/jobs?from=0&limit=5000&node=no-node-has-this-name-#&total=1"
    for what, options in (("two threads", ()), ("four", ("--web.threads=4",))):
        site.start(*TRUST, "--query.timeout=100s", "--query.longest-job=3660d", *options)
        got = together(site, [(slow, "boss")] * 6 + [(ME, "user3")], 300)
        admins, users = sum(c.count for c in got[:6]), got[6].count
        check(users > 3 * admins and not got[6].bad and admins > 0,
              "slow queries of admins do not delay other users: " + what, admins, users,
              *[c.bad[:2] for c in got])
        check(not any(c.bad for c in got), "all slow queries are answered", *[c.bad[:2] for c in got])


def limits(site):
    site.start(*TRUST, "--access.rate=1")
    begin = time.monotonic()
    got = [site.fetch(ME, user("user3")) for _ in range(40)]
    codes, most = [a.status for a in got], 11 + time.monotonic() - begin
    check(codes[:10] == [200] * 10 and 429 in codes and codes.count(200) <= most,
          "a user has a limit of requests", codes, most)
    last = [a for a in got if a.status == 429][-1]
    check(int(last.headers["Retry-After"]) >= 1 and last.json["error"].endswith("."),
          "Retry-After says when to try again", last.headers, last)
    same(site.fetch(ME, user("user4")).status, 200, "another user has another limit")
    got = [site.fetch("/api/jobs", user("user3")).status for _ in range(20)]
    check(429 in got, "the limit of a user holds for all paths", got)
    before = rss(site)
    c = http.client.HTTPConnection("127.0.0.1", site.port, timeout=300)
    bad = 0
    for i in range(6000):
        c.request("GET", ME, headers={"X-Grafana-User": "u%d" % i})
        r = c.getresponse()
        r.read()
        bad += r.status != 200
    same(bad, 0, "each of 6000 users has a limit")
    check(rss(site) < before + 4 or "san" in os.environ.get("O", ""), "limits of 6000 users need little memory", before,
          rss(site))


def pipelined(site):
    """Pipelined requests are all answered, in order."""
    site.start(*TRUST)
    one = b"GET %s HTTP/1.1\r\nHost: x\r\nX-Grafana-User: user%d\r\n%s\r\n"
    data = b"".join(one % (ME.encode(), i, b"Connection: close\r\n" if i == 7 else b"")
                    for i in range(8))
    got = site.raw(data)
    same([b'"user":"user%d"' % i in got for i in range(8)], [True] * 8, "requests sent at once are all answered")
    check(got.index(b'"user0"') < got.index(b'"user7"'), "requests sent at once are answered in order")
    same(site.fetch(ME, user("a"), method="HEAD").body, b"", "HEAD has no body")


def disconnects(site):
    """Clients that disconnect before their response harm no others, and are logged."""
    site.start(*TRUST, "--query.longest-job=3660d")
    for i in range(200):
        s = socket.create_connection(("127.0.0.1", site.port))
        s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nX-Grafana-User: %s\r\n\r\n" % (
            MINE.encode(), b"boss" if i % 2 else b"user3"))
        if i % 3 == 0:
            s.shutdown(socket.SHUT_RDWR)
        s.close()
    for _ in range(60):  # their requests may still be in progress
        got = site.fetch(MINE, user("user3")).status
        if got != 503:
            break
        time.sleep(0.5)
    same(got, 200, "200 clients that leave do not harm others")
    site.start(*TRUST, "--query.timeout=100s", "--query.longest-job=3660d", "--web.threads=1")
    stop = threading.Event()
    slow = [Client(site, "/api/v1/jobs?from=0&limit=5000&node=no-node-has-this-name-#", "boss", stop)
            for _ in range(4)]
    for _ in range(600):  # queued after the slow requests
        with socket.create_connection(("127.0.0.1", site.port)) as s:
            s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nX-Grafana-User: user3\r\n\r\n" % MINE.encode())
        if "status=499" in open(site.log).read():
            break
        time.sleep(0.1)
    stop.set()
    for c in slow:
        c.join()
    check('endpoint="/api/v1/jobs" user="-" status=499' in open(site.log).read(),
          "a client that leaves while it waits has a line in the log")
    check(b'endpoint="/api/v1/jobs",code="4xx"}' in site.fetch("/metrics").body, "a client that leaves is counted")


def reloads(site):
    site.start(*TRUST)
    stop = threading.Event()
    clients = [Client(site, MINE, w, stop) for w in ("boss", "user3", "user4", "user5")]
    for _ in range(30):
        site.server.send_signal(signal.SIGHUP)
        time.sleep(0.05)
    stop.set()
    for c in clients:
        c.join()
    check(not any(c.bad for c in clients) and all(c.count for c in clients),
          "thirty reloads cost no request", *[c.bad[:2] for c in clients])


def ends(site):
    site.start(*TRUST)
    stop = threading.Event()
    clients = [Client(site, MINE, w, stop) for w in ("boss", "user3", "user4", "user5")]
    while not all(c.count for c in clients):
        time.sleep(0.01)
    stop.set()
    same(site.stop(), 0, "SIGTERM ends the server with status 0 under load")
    for c in clients:
        c.join()
    check(all(b[0] != 500 for c in clients for b in c.bad if isinstance(b, tuple)),
          "no client gets an error while the server ends", *[c.bad[:2] for c in clients])
    with open(site.log) as f:
        text = f.read()
    check("ERROR: " not in text and "ThreadSanitizer" not in text and "runtime error" not in text,
          "no sanitizer reports an error", text[-600:])


sys.exit(run(slow_admins, limits, pipelined, disconnects, reloads, ends, count=1500, days=30))
