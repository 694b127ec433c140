#!/usr/bin/python3
"""Abuse of the exporter's HTTP server: malformed and slow requests, clients that do not
read, many connections, few descriptors.

  http_abuse.py [EXPORTER]     default: $O/batchjob_exporter

Starts the exporter on free loopback ports without jobs.  Also works with a
sanitizer build.  Results are TAP; exit 1 when something failed."""
import contextlib
import gzip
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from tap import check, plan, same, skip  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
OPENMETRICS = ("application/openmetrics-text;version=1.0.0,"
               "application/openmetrics-text;version=0.0.1;q=0.75,"
               "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
scratch = tempfile.mkdtemp(prefix="bj-http.")


# --- the program -------------------------------------------------------------

class Exporter:
    """A running exporter; .port is the port of its first address."""

    def __init__(self, program, *options, env=None, nofile=None,
                 listen=("127.0.0.1:0",)):
        self.log = tempfile.NamedTemporaryFile("w+", dir=scratch, delete=False)
        tree = os.path.join(scratch, "cgroup")
        os.makedirs(tree, exist_ok=True)

        def limit():
            if nofile:
                resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))
        self.proc = subprocess.Popen(
            [program, *(f"--web.listen-address={a}" for a in listen),
             f"--path.cgroupfs={tree}",
             # This test does not need the meters and GPUs of this machine.
             "--no-collector.energy", "--no-collector.gpu", *options],
            stderr=self.log, stdout=self.log, preexec_fn=limit,
            env={**os.environ, **(env or {})})
        self.pid = self.proc.pid
        end = time.monotonic() + 300
        self.ports = []
        while time.monotonic() < end and len(self.ports) < len(listen):
            self.ports = [int(p) for p in re.findall(
                r"listening on \S+:(\d+)", open(self.log.name).read())]
            if self.proc.poll() is not None:
                break
            time.sleep(0.02)
        if len(self.ports) < len(listen):
            raise RuntimeError("does not start:\n" + open(self.log.name).read())
        self.port = self.ports[0]
        libraries = open(f"/proc/{self.pid}/maps").read()
        self.sanitized = any(s in libraries for s in ("libasan", "libtsan"))

    def connect(self, receive=None, timeout=300):
        s = socket.socket()
        if receive:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        s.settimeout(timeout)
        s.connect(("127.0.0.1", self.port))
        return s

    def send_raw(self, data, timeout=300):
        """Send data on a new connection; return all that is received until it is closed."""
        with contextlib.closing(self.connect(timeout=timeout)) as s:
            s.sendall(data)
            return drain(s)

    def request(self, path="/metrics", method="GET", body=b"", **headers):
        """Send one request; return status, headers in lower case, body."""
        lines = "".join(f"{k.replace('_', '-')}: {v}\r\n"
                        for k, v in headers.items())
        answer = self.send_raw(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{lines}"
                               "Connection: close\r\n\r\n".encode() + body)
        head, _, rest = answer.partition(b"\r\n\r\n")
        first, *fields = head.decode("latin-1").split("\r\n")
        fields = {k.lower(): v for k, v in (f.split(": ", 1) for f in fields)}
        return int(first.split()[1]) if first else 0, fields, rest

    def value(self, name):
        page = self.request()[2].decode()
        found = re.search(rf"^{name} (\S+)$", page, re.M)
        return float(found.group(1)) if found else None

    def good(self, name):
        """Check that a scrape gets a page."""
        try:
            status, _, page = self.request()
        except OSError as e:
            return check(False, name, e)
        return check(status == 200 and b"batchjob_build_info" in page, name, status)

    def status(self, key):
        with open(f"/proc/{self.pid}/status") as f:
            return int(re.search(rf"^{key}:\s+(\d+)", f.read(), re.M).group(1))

    def fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def cpu(self):
        with open(f"/proc/{self.pid}/stat") as f:
            user, system = f.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def switches(self):
        n = 0
        for t in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{t}/status") as f:
                n += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)",
                                   f.read(), re.M).group(1))
        return n

    def still(self, value):
        """Wait until a value of the exporter has not changed for half a second; return it."""
        last, now = None, value()
        while now != last:
            time.sleep(0.5)
            last, now = now, value()
        return now

    def settle(self, want_fds):
        end = time.monotonic() + 300
        while self.fds() > want_fds and time.monotonic() < end:
            time.sleep(0.05)
        return self.fds()

    def stop(self, name=None):
        """Send SIGTERM and check that the exit status is 0."""
        self.proc.terminate()
        try:
            rc = self.proc.wait(300)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            rc = self.proc.wait()
        log = open(self.log.name).read()
        ok = rc == 0 and "ERROR: " not in log
        if name or not ok:
            check(ok, name or "ends cleanly", f"code {rc}\n{log}")


def answer(s):
    """Read one response on a connection that stays open."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += s.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head, re.I).group(1))
    while len(body) < length:
        body += s.recv(65536)


def drain(s):
    data = b""
    try:
        while True:
            more = s.recv(65536)
            if not more:
                return data
            data += more
    except ConnectionResetError:
        return data


def reset(s):
    """Close a connection with a reset."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def stalled(e, n):
    """Open n connections that send many requests and never read."""
    out = []
    for _ in range(n):
        s = e.connect(receive=4096)
        s.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            s.send(GET * 3000)
        out.append(s)
    time.sleep(0.5)
    return out


def close_all(sockets):
    for s in sockets:
        with contextlib.suppress(OSError):
            s.close()


# --- tests -------------------------------------------------------------------

def test_routes(e):
    status, head, body = e.request("/")
    check(status == 200 and "text/html" in head["content-type"] and
          b'href="/metrics"' in body, "the landing page links the metrics")
    same(e.request("/health")[::2], (200, b"ok\n"), "/health is ok")
    status, head, page = e.request()
    same((status, head["content-type"]),
         (200, "text/plain; version=0.0.4; charset=utf-8"), "plain text by default")
    status, head, page = e.request(Accept=OPENMETRICS)
    check("application/openmetrics-text; version=1.0.0" in head["content-type"]
          and page.endswith(b"\n# EOF\n"), "Prometheus gets OpenMetrics", head)
    status, head, packed = e.request(Accept_Encoding="gzip")
    check(head.get("content-encoding") == "gzip" and
          b"batchjob_build_info" in gzip.decompress(packed),
          "a client that accepts gzip gets a compressed page", head)
    if shutil.which("promtool"):
        p = subprocess.run(["promtool", "check", "metrics"], input=e.request()[2],
                           capture_output=True)
        same((p.returncode, p.stdout + p.stderr), (0, b""),
             "promtool finds no fault")
    else:
        skip("promtool finds no fault", "promtool is not installed")
    paths = {"//metrics": 404, "/./metrics": 404, "/x/../metrics": 404,
             "/%2fmetrics": 400, "/metrics%00": 400, "/metric%73": 200,
             "/metric%2573": 404, "/%zz": 400, "/metrics?a=b": 200,
             "http://x/metrics": 200, "/metrics/": 404, "/" + "a" * 5000: 404}
    for path, want in paths.items():
        same(e.request(path)[0], want, f"{path[:40]} gets status {want}")


def test_methods(e):
    before = e.value("batchjob_sampler_passes_total")
    for _ in range(5):
        status, _, body = e.request(method="HEAD")
    check(status == 200 and body == b"", "HEAD has no body", (status, body))
    same(e.value("batchjob_sampler_passes_total"), before + 1,
         "HEAD starts no pass")
    status, head, _ = e.request(method="POST", body=b"x", Content_Length=1)
    same((status, head.get("allow")), (405, "GET, HEAD"), "POST is refused")
    same(e.request(method="DELETE")[0], 405, "DELETE is refused")
    same(e.request("/none", method="POST")[0], 404, "an unknown path is 404")
    same(e.request(body=b"x" * 100, Content_Length=100)[0], 200,
         "a short body of GET is ignored")
    same(e.request(Content_Length=10 ** 6)[0], 413, "a long body is refused")
    same(e.request(Content_Length=10 ** 30)[0] in (0, 400, 413), True,
         "an absurd length is refused")
    same(e.request(Transfer_Encoding="chunked")[0], 411,
         "a body of unknown length is refused")


def test_malformed(e):
    bad = [b"\r\n" * 50, b"\0" * 500, b"GET\r\n\r\n", b"GET /metrics\r\n\r\n",
           b"GET / HTTP/9.9\r\n\r\n", b"GET /metrics HTTP/1.1\r\n\r\n",
           b"GET  /metrics  x HTTP/1.1\r\nHost: x\r\n\r\n",
           b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\xaa" * 300,
           b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\nHost\r\n\r\n",
           os.urandom(4096),
           b"GET / HTTP/1.1\nHost: x\nContent-Length: -1\n\n",
           b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]
    answered = []
    for data in bad:
        with contextlib.closing(e.connect()) as s:
            with contextlib.suppress(OSError):
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                if b" 200 " in drain(s).split(b"\r\n")[0]:
                    answered.append(data)
    same(answered, [], "malformed requests are not answered with 200")
    huge = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: " + b"a" * (1 << 20) + b"\r\n\r\n"
    many = b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 100000 + b"\r\n"
    for name, data in (("1 MB in one header", huge), ("100,000 headers", many),
                       ("1 MB of path", b"GET /" + b"a" * (1 << 20))):
        answer = b""
        with contextlib.closing(e.connect()) as s:
            with contextlib.suppress(OSError):
                s.sendall(data)
            with contextlib.suppress(OSError):
                answer = drain(s)
        check(b" 200 " not in answer[:20], f"{name}: refused", answer[:80])
    e.good("a scrape after malformed requests gets a page")


def test_pipelined(e):
    data = e.send_raw(GET * 19 + GET.replace(b"x\r\n", b"x\r\nConnection: close\r\n"))
    same(data.count(b"HTTP/1.1 200 OK"), 20, "20 requests sent at once get 20 responses")


def test_half_open(program):
    """Half-open connections, with a request timeout of 10 minutes."""
    e = Exporter(program, "--web.max-requests=16", "--web.request-timeout=10m")
    held = []
    for i in range(200):
        s = e.connect()
        s.send([b"", b"G", b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-A:"][i % 3])
        held.append(s)
    e.good("with 200 half-open connections, of which 64 are allowed, a scrape gets a page")
    check(e.fds() < 64 + 60, "no more connections are kept than allowed", e.fds())
    close_all(held)
    e.stop()


def trickle(s, most):
    """Send up to "most" bytes, one every 0.2 s; return the seconds, and whether the connection was
    closed."""
    begin, cut = time.monotonic(), False
    with contextlib.suppress(OSError):
        for _ in range(most):
            cut = cut or bool(select.select([s], [], [], 0.2)[0])
            if cut:
                break
            s.send(b"a")
    return time.monotonic() - begin, cut


def test_deadline(e):
    """The request timeout is 2 s; a byte every 0.2 s does not extend it."""
    s = e.connect()
    s.send(b"GET /metrics HTTP/1.1\r\n")
    took, cut = trickle(s, 500)
    check(took > 1.9 and cut, "a request that arrives byte by byte ends at the deadline", took)
    s.close()
    # The same on a connection that has had a response.
    s = e.connect()
    s.send(GET)
    answer(s)
    s.send(b"GET /metrics HTTP/1.1\r\n")
    took, cut = trickle(s, 500)
    check(took > 1.9 and cut, "a second request on a connection has the same deadline", took)
    s.close()


def test_stalled(e):
    """The limit is 16 responses in flight."""
    held = stalled(e, 8)
    e.good("with 8 clients that never read, a scrape gets a page")
    held += stalled(e, 8)
    got = [e.request()[0] for _ in range(3)]
    status, head, _ = e.request()
    check(503 in got or status == 503, "more than 16 responses in flight: 503",
          (got, status))
    if status == 503:
        same(head.get("retry-after"), "1", "a 503 has a Retry-After header")
    same(e.request("/health")[0], 200, "/health is still answered")
    end = time.monotonic() + 300
    while e.request()[0] != 200 and time.monotonic() < end:
        time.sleep(0.2)
    e.good("unread responses end after two seconds, and a scrape gets a page")
    close_all(held)


def test_leaks(e, base):
    def abuse(n):
        for i in range(n):
            s = e.connect()
            kind = i % 7
            with contextlib.suppress(OSError):
                s.setblocking(False)
                s.send([b"", b"GET /m", GET, GET * 50, b"\0" * 100,
                        GET[:-2] + b"X: " + b"y" * 20000,
                        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n"
                        ][kind])
            if i % 3:
                reset(s)
            else:
                s.close()
    abuse(1000)
    e.good("a scrape after 1,000 abusive connections gets a page")
    e.settle(base)
    # Anonymous memory only: file pages depend on the page cache.  The heap keeps the
    # memory of the most simultaneous responses, which depends on timing; a leak grows
    # in every round.
    grown = []
    for _ in range(1 if e.sanitized else 8):
        before = e.status("RssAnon")
        abuse(1000)
        e.settle(base)
        grown.append(e.status("RssAnon") - before)
        if len(grown) > 1 and grown[-1] <= 32:
            break
    e.good(f"a scrape after {len(grown)},000 more connections gets a page")
    check(e.settle(base) <= base, "no descriptor stays open",
          (e.fds(), base))
    if e.sanitized:
        skip("memory does not grow", "a sanitizer's memory grows")
    else:
        check(min(grown) <= 32, "memory does not grow",
              f"more KiB in each round of 1,000 connections: {grown}")


class Idle:
    """An exporter that gets no requests while the other tests run."""

    def __init__(self, program):
        self.e = Exporter(program)
        self.e.request()
        self.begin = time.monotonic()
        self.before = self.e.still(self.e.switches)

    def end(self):
        e = self.e
        time.sleep(max(0, self.begin + 10 - time.monotonic()))
        same(e.switches() - self.before, 0, "an idle exporter does not wake up")
        with contextlib.closing(e.connect()) as s:
            s.send(GET)
            answer(s)
            before = e.still(e.switches)
            time.sleep(3)
            same(e.switches() - before, 0, "an exporter with an idle connection does not wake up")
        e.stop()


def test_few_files(program):
    e = Exporter(program, nofile=40)
    held = [e.connect() for _ in range(100)]
    time.sleep(0.5)
    e.good("without free descriptors, a scrape gets a page")
    before, begin = e.cpu(), time.monotonic()
    time.sleep(2)
    used, took = e.cpu() - before, time.monotonic() - begin
    check(used < 0.15 * took, "an exporter without free descriptors does not use much CPU time",
          f"{used} s of CPU time in {took} s")
    close_all(held)
    e.stop()


def test_addresses(program):
    listen = ["127.0.0.1:0", ":0"]
    with contextlib.suppress(OSError):
        with contextlib.closing(socket.socket(socket.AF_INET6)) as s:
            s.bind(("::1", 0))
            listen.append("[::1]:0")
    e = Exporter(program, listen=listen)
    same(len(set(e.ports)), len(listen), "every address gets a port of its own")
    answers = []
    for a, port in zip(listen, e.ports):
        host = "::1" if a[0] == "[" else "127.0.0.1"
        with contextlib.closing(socket.create_connection((host, port))) as s:
            s.sendall(GET.replace(b"x\r\n", b"x\r\nConnection: close\r\n"))
            answers.append(drain(s)[:15])
    same(answers, [b"HTTP/1.1 200 OK"] * len(listen), "all addresses are served")
    p = subprocess.run([program, f"--web.listen-address=127.0.0.1:{e.port}"],
                       capture_output=True, timeout=300)
    check(p.returncode == 1 and b"Address already in use" in p.stderr,
          "an address that is in use is an error", p.stderr.decode())
    e.stop()


def test_systemd(program):
    path = os.path.join(scratch, "notify")
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as s:
        s.bind(path)
        s.settimeout(300)
        e = Exporter(program, env={"NOTIFY_SOCKET": path,
                                   "WATCHDOG_USEC": "1000000"})
        got = [s.recv(100) for _ in range(3)]
        same(got, [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"],
             "systemd receives READY and WATCHDOG")
        e.stop()
        got = [b"WATCHDOG=1"]
        while got[-1] == b"WATCHDOG=1":
            got.append(s.recv(100))
        same(got[-1], b"STOPPING=1", "systemd receives STOPPING")


def test_sampling(program):
    begin = time.monotonic()
    e = Exporter(program, "--sample.interval=100ms", "--sample.max-age=1h")
    n = 0
    while n < 5 and time.monotonic() - begin < 60:
        time.sleep(0.1)
        n = e.value("batchjob_sampler_passes_total")
    took = time.monotonic() - begin
    check(5 <= n <= took / 0.1 + 2, "passes follow sample.interval", (n, took))
    e.stop()
    e = Exporter(program, "--sample.max-age=1h")
    got = [e.value("batchjob_sampler_passes_total") for _ in range(3)]
    same(got, [1, 1, 1], "a pass younger than max-age is served again")
    e.stop()


def test_stop(program):
    e = Exporter(program)
    os.kill(e.pid, signal.SIGHUP)
    e.good("after SIGHUP, a scrape gets a page")
    done = threading.Event()

    def load():
        while not done.is_set():
            with contextlib.suppress(OSError, ValueError, IndexError):
                e.request()
    threads = [threading.Thread(target=load) for _ in range(4)]
    for t in threads:
        t.start()
    held = stalled(e, 10) + [e.connect() for _ in range(20)]
    e.stop("SIGTERM under load ends the exporter with status 0")
    done.set()
    for t in threads:
        t.join()
    close_all(held)


def main():
    program = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        TOP, os.environ.get("O", "build"), "batchjob_exporter"))
    e = Exporter(program, "--web.max-requests=16",
                 "--web.request-timeout=2s")
    e.request()
    base = e.still(e.fds)
    idle = Idle(program)
    for test in (test_routes, test_methods, test_malformed, test_pipelined, test_deadline,
                 test_stalled):
        test(e)
    test_leaks(e, base)
    e.stop("SIGTERM ends the exporter with status 0")
    for test in (test_half_open, test_few_files, test_addresses, test_systemd, test_sampling,
                 test_stop):
        test(program)
    idle.end()


if __name__ == "__main__":
    try:
        main()
    except Exception as problem:  # a crash of the exporter shows up as one
        check(False, "ran to its end", repr(problem))
    shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(plan())
