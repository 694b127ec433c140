#!/usr/bin/python3
"""Treat the exporter's HTTP server as badly as a network can.

  http_abuse.py [EXPORTER]     default: $O/batchjob_exporter

Starts the program on free loopback ports with no jobs to look at.  Works with a
sanitizer build too.  Results are TAP; exit 1 when something failed."""
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

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
OPENMETRICS = ("application/openmetrics-text;version=1.0.0,"
               "application/openmetrics-text;version=0.0.1;q=0.75,"
               "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
count, failures = 0, 0
scratch = tempfile.mkdtemp(prefix="bj-http.")


# --- results -----------------------------------------------------------------

def result(ok, name, why=""):
    global count, failures
    count += 1
    failures += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}", flush=True)
    if not ok and why != "":
        for line in str(why).splitlines()[:30]:
            print(f"# {line}")
    return ok


def is_(got, want, name):
    return result(got == want, name, f"got {got!r}, want {want!r}")


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {why}", flush=True)


# --- the program -------------------------------------------------------------

class Exporter:
    """A running exporter; .port is where it listens first."""

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
             # What this machine has is not the server's.
             "--no-collector.energy", "--no-collector.gpu", *options],
            stderr=self.log, stdout=self.log, preexec_fn=limit,
            env={**os.environ, **(env or {})})
        self.pid = self.proc.pid
        end = time.monotonic() + 60
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

    def connect(self, receive=None, timeout=10):
        s = socket.socket()
        if receive:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        s.settimeout(timeout)
        s.connect(("127.0.0.1", self.port))
        return s

    def ask(self, data, timeout=10):
        """Send data on a new connection; all that comes until it is closed."""
        with contextlib.closing(self.connect(timeout=timeout)) as s:
            s.sendall(data)
            return drain(s)

    def request(self, path="/metrics", method="GET", body=b"", **headers):
        """One request: status, headers in lower case, body."""
        lines = "".join(f"{k.replace('_', '-')}: {v}\r\n"
                        for k, v in headers.items())
        answer = self.ask(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{lines}"
                          "Connection: close\r\n\r\n".encode() + body)
        head, _, rest = answer.partition(b"\r\n\r\n")
        first, *fields = head.decode("latin-1").split("\r\n")
        fields = {k.lower(): v for k, v in (f.split(": ", 1) for f in fields)}
        return int(first.split()[1]) if first else 0, fields, rest

    def value(self, name):
        page = self.request()[2].decode()
        found = re.search(rf"^{name} (\S+)$", page, re.M)
        return float(found.group(1)) if found else None

    def good(self, seconds, name):
        """A scrape is answered in that time."""
        begin = time.monotonic()
        try:
            status, _, page = self.request()
        except OSError as e:
            return result(False, name, e)
        took = time.monotonic() - begin
        return result(status == 200 and b"batchjob_build_info" in page and
                      took < seconds, name, f"status {status}, {took:.2f} s")

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

    def settle(self, want_fds, seconds=10):
        end = time.monotonic() + seconds
        while self.fds() > want_fds and time.monotonic() < end:
            time.sleep(0.05)
        return self.fds()

    def stop(self, name=None):
        """SIGTERM; the exit status must be 0 in 15 seconds."""
        begin = time.monotonic()
        self.proc.terminate()
        try:
            rc = self.proc.wait(20)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            rc = self.proc.wait()
        took = time.monotonic() - begin
        log = open(self.log.name).read()
        ok = rc == 0 and took < 15 and "ERROR: " not in log
        if name or not ok:
            result(ok, name or "ends cleanly", f"code {rc}, {took:.1f} s\n{log}")


def answer(s):
    """One answer on a connection that stays open."""
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
    """Connections that ask for far more than they ever read."""
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
    result(status == 200 and "text/html" in head["content-type"] and
           b'href="/metrics"' in body, "the landing page links the metrics")
    is_(e.request("/health")[::2], (200, b"ok\n"), "/health is ok")
    status, head, page = e.request()
    is_((status, head["content-type"]),
        (200, "text/plain; version=0.0.4; charset=utf-8"), "plain text by default")
    status, head, page = e.request(Accept=OPENMETRICS)
    result("application/openmetrics-text; version=1.0.0" in head["content-type"]
           and page.endswith(b"\n# EOF\n"), "OpenMetrics for Prometheus", head)
    status, head, packed = e.request(Accept_Encoding="gzip")
    result(head.get("content-encoding") == "gzip" and
           b"batchjob_build_info" in gzip.decompress(packed),
           "a packed page for who accepts it", head)
    if shutil.which("promtool"):
        p = subprocess.run(["promtool", "check", "metrics"], input=e.request()[2],
                           capture_output=True)
        is_((p.returncode, p.stdout + p.stderr), (0, b""),
            "promtool has nothing to say")
    else:
        skip("promtool has nothing to say", "promtool is not installed")
    paths = {"//metrics": 404, "/./metrics": 404, "/x/../metrics": 404,
             "/%2fmetrics": 400, "/metrics%00": 400, "/metric%73": 200,
             "/metric%2573": 404, "/%zz": 400, "/metrics?a=b": 200,
             "http://x/metrics": 200, "/metrics/": 404, "/" + "a" * 5000: 404}
    for path, want in paths.items():
        is_(e.request(path)[0], want, f"{path[:40]} is {want}")


def test_methods(e):
    before = e.value("batchjob_sampler_passes_total")
    for _ in range(5):
        status, _, body = e.request(method="HEAD")
    result(status == 200 and body == b"", "HEAD has no body", (status, body))
    is_(e.value("batchjob_sampler_passes_total"), before + 1,
        "HEAD starts no pass")
    status, head, _ = e.request(method="POST", body=b"x", Content_Length=1)
    is_((status, head.get("allow")), (405, "GET, HEAD"), "POST is refused")
    is_(e.request(method="DELETE")[0], 405, "DELETE is refused")
    is_(e.request("/none", method="POST")[0], 404, "an unknown path is 404")
    is_(e.request(body=b"x" * 100, Content_Length=100)[0], 200,
        "a short body of GET is passed over")
    is_(e.request(Content_Length=10 ** 6)[0], 413, "a long body is refused")
    is_(e.request(Content_Length=10 ** 30)[0] in (0, 400, 413), True,
        "an absurd length is refused")
    is_(e.request(Transfer_Encoding="chunked")[0], 411,
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
    is_(answered, [], "malformed requests are not answered with 200")
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
        result(b" 200 " not in answer[:20], f"{name}: refused", answer[:80])
    e.good(10, "a scrape after all that")


def test_pipelined(e):
    data = e.ask(GET * 19 + GET.replace(b"x\r\n", b"x\r\nConnection: close\r\n"))
    is_(data.count(b"HTTP/1.1 200 OK"), 20, "20 requests sent at once, 20 answers")


def test_half_open(e):
    held = []
    for i in range(200):
        s = e.connect()
        s.send([b"", b"G", b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-A:"][i % 3])
        held.append(s)
    e.good(2, "a scrape beside 200 half-open connections (64 are allowed)")
    result(e.fds() < 64 + 60, "no more connections than allowed", e.fds())
    close_all(held)


def test_deadline(e):
    """The request timeout is 2 s; a byte every 0.2 s does not move it, or it would
    take over 20 s."""
    begin = time.monotonic()
    s = e.connect()
    try:
        for byte in GET * 10:
            s.send(bytes([byte]) if byte != 10 else b"a")
            if select.select([s], [], [], 0.2)[0] and not s.recv(1):
                break
    except OSError:
        pass
    took = time.monotonic() - begin
    result(1.9 < took < 15, "a trickling request is cut off at the deadline",
           f"{took:.1f} s")
    s.close()
    # The same on a connection that has had an answer.
    s = e.connect()
    s.send(GET)
    answer(s)
    begin = time.monotonic()
    s.send(b"GET /metrics HTTP/1.1\r\n")
    while time.monotonic() - begin < 20:
        if select.select([s], [], [], 0.2)[0]:
            break
        with contextlib.suppress(OSError):
            s.send(b"a")
    took = time.monotonic() - begin
    result(1.9 < took < 15, "a second request has the same deadline",
           f"{took:.1f} s")
    s.close()


def test_stalled(e):
    """16 responses may be in flight."""
    held = stalled(e, 8)
    e.good(10, "a scrape beside 8 readers that never read")
    held += stalled(e, 8)
    got = [e.request()[0] for _ in range(3)]
    status, head, _ = e.request()
    result(503 in got or status == 503, "more than 16 responses in flight: 503",
           (got, status))
    if status == 503:
        is_(head.get("retry-after"), "1", "a 503 says when to try again")
    is_(e.request("/health")[0], 200, "/health is answered all the same")
    end = time.monotonic() + 60
    while e.request()[0] != 200 and time.monotonic() < end:
        time.sleep(0.2)
    e.good(10, "a response that stands for two seconds gives way to a scrape")
    close_all(held)


def test_leaks(e):
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
    base = e.settle(0, 4)
    abuse(1000)
    e.good(10, "a scrape after 1,000 abusive connections")
    e.settle(base, 20)
    # Pages of files come and go with the page cache; a leak is not of them.  How
    # many responses stand at once is a matter of timing, and the heap keeps the
    # room of the most there were; a leak grows in every round.
    grown = []
    for _ in range(1 if e.sanitized else 8):
        before = e.status("RssAnon")
        abuse(1000)
        e.settle(base, 20)
        grown.append(e.status("RssAnon") - before)
        if len(grown) > 1 and grown[-1] <= 32:
            break
    e.good(10, f"a scrape after {len(grown)},000 more")
    result(e.settle(base, 20) <= base, "no descriptor is lost",
           (e.fds(), base))
    if e.sanitized:
        skip("memory stays where it was", "a sanitizer's memory grows")
    else:
        result(min(grown) <= 32, "memory stays where it was",
               f"more KiB in each round of 1,000 connections: {grown}")


def test_idle(program):
    e = Exporter(program)
    e.request()
    time.sleep(1)
    before = e.switches()
    time.sleep(10)
    is_(e.switches() - before, 0, "an idle exporter sleeps: 0 wake-ups in 10 s")
    with contextlib.closing(e.connect()) as s:
        s.send(GET)
        answer(s)
        time.sleep(1)
        before = e.switches()
        time.sleep(3)
        is_(e.switches() - before, 0, "and so with an idle connection: 0 in 3 s")
    e.stop()


def test_few_files(program):
    e = Exporter(program, nofile=40)
    held = [e.connect() for _ in range(100)]
    time.sleep(0.5)
    e.good(10, "a scrape when descriptors run out")
    before = e.cpu()
    time.sleep(2)
    used = e.cpu() - before
    result(used < 0.3, "running out of descriptors does not spin", f"{used} s")
    close_all(held)
    e.stop()


def test_addresses(program):
    listen = ["127.0.0.1:0", ":0"]
    with contextlib.suppress(OSError):
        with contextlib.closing(socket.socket(socket.AF_INET6)) as s:
            s.bind(("::1", 0))
            listen.append("[::1]:0")
    e = Exporter(program, listen=listen)
    is_(len(set(e.ports)), len(listen), "every address gets a port of its own")
    answers = []
    for a, port in zip(listen, e.ports):
        host = "::1" if a[0] == "[" else "127.0.0.1"
        with contextlib.closing(socket.create_connection((host, port))) as s:
            s.sendall(GET.replace(b"x\r\n", b"x\r\nConnection: close\r\n"))
            answers.append(drain(s)[:15])
    is_(answers, [b"HTTP/1.1 200 OK"] * len(listen), "all addresses answer")
    p = subprocess.run([program, f"--web.listen-address=127.0.0.1:{e.port}"],
                       capture_output=True, timeout=60)
    result(p.returncode == 1 and b"Address already in use" in p.stderr,
           "an address that is taken is an error", p.stderr.decode())
    e.stop()


def test_systemd(program):
    path = os.path.join(scratch, "notify")
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as s:
        s.bind(path)
        s.settimeout(30)
        e = Exporter(program, env={"NOTIFY_SOCKET": path,
                                   "WATCHDOG_USEC": "1000000"})
        got = [s.recv(100) for _ in range(3)]
        is_(got, [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"],
            "systemd receives READY and WATCHDOG")
        e.stop()
        got = [b"WATCHDOG=1"]
        while got[-1] == b"WATCHDOG=1":
            got.append(s.recv(100))
        is_(got[-1], b"STOPPING=1", "and that we stop")


def test_sampling(program):
    begin = time.monotonic()
    e = Exporter(program, "--sample.interval=100ms", "--sample.max-age=1h")
    n = 0
    while n < 5 and time.monotonic() - begin < 30:
        time.sleep(0.1)
        n = e.value("batchjob_sampler_passes_total")
    took = time.monotonic() - begin
    result(5 <= n <= took / 0.1 + 2, "looks at its own pace", (n, took))
    e.stop()
    e = Exporter(program, "--sample.max-age=1h")
    got = [e.value("batchjob_sampler_passes_total") for _ in range(3)]
    is_(got, [1, 1, 1], "a pass younger than max-age is served again")
    e.stop()


def test_stop(program):
    e = Exporter(program)
    os.kill(e.pid, signal.SIGHUP)
    e.good(10, "SIGHUP is survived")
    done = threading.Event()

    def load():
        while not done.is_set():
            with contextlib.suppress(OSError, ValueError, IndexError):
                e.request()
    threads = [threading.Thread(target=load) for _ in range(4)]
    for t in threads:
        t.start()
    held = stalled(e, 10) + [e.connect() for _ in range(20)]
    e.stop("SIGTERM under load: ends with 0 in 5 s")
    done.set()
    for t in threads:
        t.join()
    close_all(held)


def main():
    program = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        TOP, os.environ.get("O", "build"), "batchjob_exporter"))
    e = Exporter(program, "--web.max-connections=64", "--web.max-requests=16",
                 "--web.request-timeout=2s")
    for test in (test_routes, test_methods, test_malformed, test_pipelined,
                 test_half_open, test_deadline, test_stalled, test_leaks):
        test(e)
    e.stop("SIGTERM ends it")
    for test in (test_idle, test_few_files, test_addresses, test_systemd, test_sampling,
                 test_stop):
        test(program)


if __name__ == "__main__":
    try:
        main()
        complete = True
    except Exception as problem:  # a crash of the exporter shows up as one
        complete = result(False, "ran to its end", repr(problem))
    print(f"1..{count}")
    shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(1 if failures else 0)
