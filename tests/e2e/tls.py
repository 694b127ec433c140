#!/usr/bin/env python3
"""TLS of batchjob_exporter, batchjob_stats_server and batchjob_stats_db, with curl and openssl as
clients: versions, client certificates, passwords, certificates that change while
connections are open, handshakes that are never completed.  TAP."""
import concurrent.futures
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import O, SERVER, TOP, bcrypt, check, plan, same, skip  # noqa: E402
import prom_lib  # noqa: E402
import tls_lib  # noqa: E402

EXPORTER = os.path.abspath(os.path.join(TOP, O, "batchjob_exporter"))
STORE = os.path.abspath(os.path.join(TOP, O, "batchjob_stats_db"))
ALL = {"exporter": "/health", "server": "/api/v1/me", "store": "/metrics"}
GOOD = {"exporter": 200, "server": 403, "store": 200}
folder = tempfile.mkdtemp(prefix="bj-tls-")


def path(name):
    return os.path.join(folder, name)


def write(name, text):
    tls_lib.write(folder, name, text)


def openssl(*args, data=None):
    return tls_lib.openssl(folder, *args, data=data)


def ca(name):
    tls_lib.ca(folder, name)


def cert(name, by, subject, ext, days=10):
    tls_lib.cert(folder, name, by, subject, ext, days)


class Program:
    running = []

    def __init__(self, kind, web, *options, files=None):
        self.kind = kind
        self.log = path(kind + ".log")
        write("web.yml", web)
        args = {"exporter": [EXPORTER, "--path.cgroupfs=" + folder, "--no-collector.energy",
                             "--no-collector.gpu"],
                "server": [SERVER, "--store.path=" + path("none.db")],
                "store": [STORE, "--store.path=" + path("own.db"),
                          "--cluster.file=" + path("alpha.yml")]}[kind]
        write("alpha.yml", "name: alpha\npbs:\n  accounting: %s\n" % folder)
        with open(self.log, "wb") as log:
            self.p = subprocess.Popen(
                args + ["--web.listen-address=127.0.0.1:0", "--web.config.file=" + path("web.yml")]
                + list(options), stderr=log, cwd="/")
        Program.running.append(self.p)
        for _ in range(1200):
            got = re.search(r"listening on 127\.0\.0\.1:(\d+)", self.text())
            if got:
                self.port = int(got.group(1))
                return
            if self.p.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(kind + " does not start: " + self.text())

    def text(self):
        with open(self.log) as f:
            return f.read()

    def logs(self, what, times=1, seconds=300):
        for _ in range(seconds * 20):
            if self.text().count(what) >= times:
                return True
            time.sleep(0.05)
        return False

    def rss(self):
        with open("/proc/%d/statm" % self.p.pid) as f:
            return int(f.read().split()[1]) * 4096 / 2**20

    def curl(self, *options, path=None, scheme="https"):
        """Return the HTTP status, or 0 without a response."""
        p = subprocess.run(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", "ca.pem",
             "--max-time", "60"] + list(options) +
            ["%s://localhost:%d%s" % (scheme, self.port, path or ALL[self.kind])],
            cwd=folder, capture_output=True, timeout=300)
        return int(p.stdout or b"0")

    def client(self, name):
        return self.curl("--cert", name + ".pem", "--key", name + ".key")

    def serial(self):
        """Return the serial number of the certificate that a new connection gets."""
        _, out, _ = openssl("s_client", "-connect", "127.0.0.1:%d" % self.port, data=b"")
        return openssl("x509", "-noout", "-serial", data=out.encode())[1].strip()

    def reload(self):
        """Make the program read its files again.  batchjob_stats_db checks them at a request, at most
        once a second; the others do the same, and also on SIGHUP, at once."""
        if self.kind == "store":
            time.sleep(1.2)
            self.serial()
        else:
            self.p.send_signal(signal.SIGHUP)

    def stop(self):
        self.p.send_signal(signal.SIGTERM)
        rc = self.p.wait(300)
        text = self.text()
        check(rc == 0 and "ERROR: " not in text and "runtime error" not in text,
              "%s ends without an error" % self.kind, rc, text[-600:])


SERVING = "tls_server_config:\n  cert_file: own.pem\n  key_file: own.key\n"
MUTUAL = SERVING + "  client_auth_type: %s\n  client_ca_file: ca.pem\n"


def make_files():
    ca("ca")
    ca("foreign")
    server = "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth"
    client = "extendedKeyUsage=clientAuth\nsubjectAltName=%s"
    cert("own", "ca", "/CN=localhost", server)
    cert("own2", "ca", "/CN=localhost", server)
    cert("grafana", "ca", "/O=x/CN=grafana-host", client % "DNS:grafana.example")
    cert("alice", "ca", "/O=hpc/CN=alice", client % "email:alice@hpc.example")
    cert("two", "ca", "/O=hpc/CN=two", client % "email:a@hpc.example,email:b@hpc.example")
    cert("odd", "ca", "/CN=al ice", client % "email:x@else.example")
    cert("ended", "ca", "/CN=alice", client % "email:alice@hpc.example", -1)
    cert("stranger", "foreign", "/CN=alice", client % "email:alice@hpc.example")
    cert("aserver", "ca", "/CN=alice",
         "extendedKeyUsage=serverAuth\nsubjectAltName=email:alice@hpc.example")


def versions(kind):
    p = Program(kind, SERVING)
    good = GOOD[kind]
    same(p.curl(), good, "%s accepts TLS" % kind)
    same(p.curl("--tlsv1.2", "--tls-max", "1.2"), good, "TLS 1.2 is accepted")
    same(p.curl("--tlsv1.3"), good, "TLS 1.3 is accepted")
    same(p.curl("--tls-max", "1.1"), 0, "TLS 1.1 is refused")
    same(p.curl("--tls-max", "1.2", "--ciphers", "AES128-SHA:AES128-GCM-SHA256"), 0,
         "a key exchange without forward secrecy is refused")
    same(p.curl(scheme="http"), 0, "plain HTTP is refused")
    check(p.rss() < 20 or "san" in O, "TLS needs less than 20 MiB", p.rss())
    p.stop()
    p = Program(kind, SERVING + "  min_version: TLS13\n  curve_preferences: [CurveP384]\n")
    same([p.curl("--tls-max", "1.2"), p.curl()], [0, good], "min_version is respected")
    out = openssl("s_client", "-connect", "127.0.0.1:%d" % p.port, data=b"")[1]
    check("secp384r1" in out or "P-384" in out, "curve_preferences is respected", out[-600:])
    p.stop()


def expiry(kind):
    """The metrics show when the first certificate of the chain expires, also after a reload."""
    name = "batchjob_%stls_certificate_expiry_timestamp_seconds" % {
        "exporter": "", "store": "stats_", "server": "api_"}[kind]
    keep = {n: open(path(n)).read() for n in ("own.pem", "own.key")}
    cert("long", "ca", "/CN=localhost", "subjectAltName=DNS:localhost", 60)

    def page(scheme, *options):
        return subprocess.run(
            ["curl", "-sk"] + list(options) + ["%s://localhost:%d/metrics" % (scheme, p.port)],
            capture_output=True, text=True, timeout=300).stdout

    def ends(pem):
        out = openssl("x509", "-noout", "-enddate", "-in", pem)[1]
        return ssl.cert_time_to_seconds(out.strip().partition("=")[2])

    def expiry_times(text):
        return [int(v) for v in re.findall("^%s ([0-9]+)$" % name, text, re.M)]

    p = Program(kind, SERVING)
    same(expiry_times(page("https")), [ends("own.pem")], "%s shows when its certificate expires" % kind)
    if kind == "exporter":
        text = page("https", "-H", "Accept: application/openmetrics-text")
        check(expiry_times(text) == [ends("own.pem")] and text.endswith("\n# EOF\n"),
              "OpenMetrics shows when the certificate expires",
              text[-300:])
    write("own.pem", open(path("long.pem")).read() + open(path("ca.pem")).read())
    write("own.key", open(path("long.key")).read())
    p.reload()
    check(p.logs("reloaded"), "a chain of certificates is loaded")
    same(expiry_times(page("https")), [ends("ca.pem")], "of a chain the first expiry is shown")
    write("web.yml", "")
    time.sleep(1.2)
    p.reload()
    check(p.logs("reloaded", 2), "TLS is switched off by a reload")
    same(expiry_times(page("http")), [], "without TLS there is no expiry metric")
    p.stop()
    for n, text in keep.items():
        write(n, text)


def clients(kind):
    good = GOOD[kind]
    p = Program(kind, MUTUAL % "RequireAndVerifyClientCert")
    same([p.client("alice"), p.curl(), p.client("ended"), p.client("stranger"),
          p.client("aserver")], [good, 0, 0, 0, 0],
         "%s: a client without a valid certificate is refused" % kind)
    p.stop()
    p = Program(kind, MUTUAL % "RequireAndVerifyClientCert" +
                "  client_allowed_sans: [grafana.example]\n")
    same([p.client("grafana"), p.client("alice")], [good, 0], "client_allowed_sans is respected")
    p.stop()
    p = Program(kind, MUTUAL % "VerifyClientCertIfGiven")
    same([p.client("alice"), p.curl(), p.client("ended"), p.client("stranger")],
         [good, good, 0, 0], "VerifyClientCertIfGiven also accepts clients without a certificate")
    p.stop()
    p = Program(kind, SERVING + "  client_auth_type: RequireAnyClientCert\n")
    same([p.client("alice"), p.curl(), p.client("stranger")], [good, 0, good],
         "RequireAnyClientCert accepts a certificate of any CA")
    p.stop()


def identities():
    """The server authenticates users by verified client certificates."""
    p = Program("server", MUTUAL % "VerifyClientCertIfGiven",
                "--access.certificates=dns:grafana.example grafana",
                "--access.certificates=email:*@hpc.example *",
                "--access.certificates=cn:al* *")

    def me(name, *more):
        q = subprocess.run(
            ["curl", "-s", "--cacert", "ca.pem", "--cert", name + ".pem", "--key", name + ".key"]
            + list(more) + ["https://localhost:%d/api/v1/me" % p.port], cwd=folder,
            capture_output=True, timeout=300)
        got = re.search(r'"user":"([^"]*)"', q.stdout.decode())
        return got.group(1) if got else None
    user = "X-Grafana-User: bob"
    same(me("alice"), "alice", "a certificate identifies a user")
    same(me("alice", "-H", user), None, "a user with a certificate cannot name another user")
    same(me("alice", "-H", "X-Grafana-User: alice"), "alice", "a user with a certificate may name the same user")
    same(me("grafana", "-H", user), "bob", "a proxy's certificate may name other users")
    same(me("grafana"), None, "a proxy's certificate without a user is refused")
    same(me("grafana", "-H", user, "-H", user), None, "a proxy's certificate with two users is refused")
    same(me("grafana", "-H", user, "-H", "Connection: X-Grafana-User"), "bob",
         "a Connection header does not remove the user")
    same(me("two"), None, "a certificate that matches two users identifies no user")
    same(me("odd"), None, "a certificate without a valid user name identifies no user")
    same(me("alice", "-H", "Authorization: Bearer bj_00000000_x"), None,
         "wrong credentials are refused even with a certificate")
    p.stop()
    p = Program("server", SERVING + "  client_auth_type: RequireAnyClientCert\n",
                "--access.certificates=email:*@hpc.example *")
    same(me("alice"), None, "a certificate that is not verified identifies no user")
    p.stop()
    p = Program("server", MUTUAL % "VerifyClientCertIfGiven",
                "--access.certificates=cn:* *")
    write("other.pem", open(path("ca.pem")).read())
    c = connect(p, "alice")
    same(fetch(c, "/api/v1/me")[0], 200, "a connection with a certificate is accepted")
    write("web.yml", (MUTUAL % "VerifyClientCertIfGiven").replace("ca.pem", "foreign.pem"))
    p.p.send_signal(signal.SIGHUP)
    check(p.logs("reloaded"), "a reload replaces the CA")
    same(fetch(c, "/api/v1/me")[0], 403, "an open connection loses its identity with the CA")
    p.stop()


def connect(p, name=None):
    context = ssl.create_default_context(cafile=path("ca.pem"))
    if name:
        context.load_cert_chain(path(name + ".pem"), path(name + ".key"))
    c = http.client.HTTPSConnection("localhost", p.port, timeout=300, context=context)
    c.connect()
    return c


def fetch(c, what):
    c.request("GET", what)
    r = c.getresponse()
    return r.status, r.read()


def passwords():
    web = SERVING + "basic_auth_users:\n  prom: '%s'\n" % bcrypt("s3cret")
    for kind in "exporter", "store":
        p = Program(kind, web)
        same([p.curl(), p.curl("-u", "prom:wrong"), p.curl("-u", "nobody:s3cret"),
              p.curl("-u", "prom:s3cret"), p.curl("-u", "prom:s3cret", path="/metrics"),
              p.curl(path="/metrics"), p.curl(path="/nothing")],
             [401, 401, 401, 200, 200, 401, 401], kind + ": only the right name and password are accepted")
        got, rounds = set(), 0
        with concurrent.futures.ThreadPoolExecutor(16) as pool:  # one guess after the other may be slow anyway
            while 429 not in got and rounds < 20:
                got |= set(pool.map(lambda i: p.curl("-u", "prom:guess%d" % i), range(48)))
                rounds += 1
        check(got == {401, 429}, "guesses are slowed down", got)
        same(p.curl("-u", "prom:s3cret"), 200, "a client that has authenticated is never delayed")
        p.stop()
        p = Program(kind, web)
        for i in range(30):
            p.curl("-u", "prom:guess%d" % i)
        same(p.curl("-u", "prom:s3cret", "--interface", "127.0.9.1"), 200,
             "guesses since the start do not keep a client of another network out")
        p.stop()
    bad = subprocess.run([STORE, "check-config", "--web.config.file=" + path("bad.yml")],
                         capture_output=True, text=True)
    check(bad.returncode == 1 and path("bad.yml") in bad.stderr, "the error of check-config names the file",
          bad.stderr)
    p = Program("exporter", "rate_limit:\n  interval: 10s\n  burst: 3\n")
    got = [p.curl(scheme="http") for _ in range(5)]
    same(got, [200, 200, 200, 429, 429], "rate_limit of the exporter")
    p.stop()
    p = Program("server", "rate_limit:\n  interval: 10s\n  burst: 3\n"
                "http_server_config:\n  headers:\n    X-Frame-Options: deny\n",
                "--access.trust-loopback")
    got = [p.curl("-H", "X-Grafana-User: a", scheme="http") for _ in range(5)]
    same(got, [200, 200, 200, 429, 429], "rate_limit of the server")
    q = subprocess.run(["curl", "-si", "http://localhost:%d/health" % p.port],
                       capture_output=True, text=True)
    check("X-Frame-Options: deny" in q.stdout, "http_server_config.headers are sent", q.stdout)
    p.stop()


def rotation(kind):
    p = Program(kind, SERVING)
    keep = {n: open(path(n)).read() for n in ("own.pem", "own.key", "own2.pem", "own2.key")}
    old, c = p.serial(), connect(p)
    good = fetch(c, ALL[kind])[0]
    write("own.pem", keep["own2.pem"])
    time.sleep(1.2)
    same(p.serial(), old, "%s: a certificate without its new key is not loaded" % kind)
    check(p.logs("the old configuration stays"), "the log reports the certificate without its key")
    time.sleep(1.2)
    same((p.serial(), p.text().count("the old configuration stays")), (old, 1), "the message is logged once")
    write("own.key", keep["own2.key"])
    time.sleep(1.2)
    p.serial()
    new = p.serial()
    check(new and new != old, "certificate and key are loaded without a restart", old, new)
    same(fetch(c, ALL[kind])[0], good, "an open connection continues after the change")
    write("web.yml", SERVING + "  nonsense: 1\n")
    p.reload()
    check(p.logs("nonsense"), "an invalid configuration is logged")
    same((p.serial(), fetch(c, ALL[kind])[0]), (new, good), "an invalid configuration changes nothing")
    write("web.yml", SERVING)
    write("own.pem", keep["own.pem"])
    write("own.key", keep["own.key"])
    p.reload()
    for _ in range(600):
        if p.serial() == old:
            break
        time.sleep(0.05)
    same(p.serial(), old, "a restored certificate is loaded")
    same_state = True
    for _ in range(20 if kind != "store" else 1):  # many times, during requests
        write("own.pem", keep["own2.pem"])
        write("own.key", keep["own2.key"])
        p.reload()
        same_state = fetch(c, ALL[kind])[0] == good and fetch(connect(p), ALL[kind])[0] == good
        write("own.pem", keep["own.pem"])
        write("own.key", keep["own.key"])
        p.reload()
        if not same_state:
            break
    check(same_state, "no request fails during changes of certificates")
    p.stop()
    write("own.pem", keep["own.pem"])
    write("own.key", keep["own.key"])


def hello():
    """Return the ClientHello of a TLS client."""
    a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
    o = ssl.create_default_context().wrap_bio(a, b, server_hostname="localhost")
    try:
        o.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return b.read()


def half_open(kind):
    """Handshakes that stop at several points neither block other clients nor outlive the deadline."""
    first = hello()

    def begin(p, count):
        socks = []
        for i in range(count):
            s = socket.create_connection(("127.0.0.1", p.port), timeout=300)
            s.sendall((b"", first[:1], first[:40], first[:-1], first,
                       b"GET / HTTP/1.1\r\n\r\n")[i % 6])
            socks.append(s)
        return socks

    # With a deadline that no handshake reaches.
    p = Program(kind, SERVING, "--web.request-timeout=10m", "--web.max-requests=100")
    good = p.curl()
    socks = begin(p, 150)
    same([p.curl() for _ in range(5)], [good] * 5,
         "%s responds while 150 handshakes are half-open" % kind)
    for s in socks:
        s.close()
    p.stop()
    p = Program(kind, SERVING, "--web.request-timeout=2s", "--web.max-requests=100")
    socks = begin(p, 150)
    memory, gone, end = p.rss(), 0, time.monotonic() + 300
    while time.monotonic() < end and gone < len(socks):
        for s in socks:
            try:
                s.send(b"\x16", socket.MSG_DONTWAIT)  # single bytes do not extend the deadline
            except OSError:
                pass
        gone = 0
        for s in socks:
            s.setblocking(False)
            try:
                while s.recv(4096):
                    pass
                gone += 1
            except BlockingIOError:
                pass
            except OSError:
                gone += 1
        time.sleep(0.2)
    same(gone, len(socks), "%s: half-open handshakes end at the deadline" % kind)
    if "asan" not in O and "tsan" not in O:
        check(memory < 20, "%s: half-open handshakes need less than 20 MiB" % kind, memory)
    for s in socks:
        s.close()
    for _ in range(3):  # a client that requests renegotiation
        subprocess.run(["openssl", "s_client", "-tls1_2", "-connect", "127.0.0.1:%d" % p.port],
                       input=b"R\nGET / HTTP/1.1\r\n\r\n", capture_output=True, timeout=300)
    same(p.curl(), good, "renegotiation does no harm")
    p.stop()


def switched_on(kind):
    """A reload switches TLS on without closing the listening socket."""
    p = Program(kind, "")
    good = p.curl(scheme="http")
    check(good in (200, 403), "%s without TLS" % kind, good)
    write("web.yml", SERVING)
    p.reload()
    for _ in range(600):
        if p.curl() == good:
            break
        time.sleep(0.05)
    same((p.curl(), p.curl(scheme="http")), (good, 0), "a reload switches TLS on")
    p.stop()


class ExamplePrometheus(prom_lib.Prometheus):
    """A Prometheus with the lines for TLS of examples/prometheus.yml."""
    def prepare(self):
        with open(os.path.join(TOP, "examples/prometheus.yml")) as f:
            text = f.read()
        begin = text.index("    # scheme: https")
        end = text.index("  # The exporter of one host")
        text = text[:begin] + text[begin:end].replace("    # ", "    ") + text[end:]
        text = text.replace("/etc/prometheus", self.folder).replace("30s", "1s")
        with open(self.folder + "/conf.yml", "w") as f:
            f.write(text)
        shutil.copy(os.path.join(TOP, "examples/alerts.yml"), self.folder)
        for source, name in (("ca.pem", "ca.pem"), ("alice.pem", "client.pem"),
                             ("alice.key", "client.key"), ("password", "password")):
            shutil.copy(path(source), self.folder + "/batchjob-" + name)
        with open(self.folder + "/batchjob-nodes.json", "w") as f:
            json.dump([{"targets": ["localhost:%d" % self.exporter]}], f)


def scraped_by_prometheus():
    """The commented lines of examples/prometheus.yml scrape an exporter with TLS, client
    certificates and passwords."""
    p = Program("exporter", MUTUAL % "RequireAndVerifyClientCert" +
                "basic_auth_users:\n  prometheus: %s\n" % bcrypt("secret"))
    same(p.curl("--cert", "alice.pem", "--key", "alice.key", path="/metrics"), 401,
         "the exporter requires a password")
    write("password", "secret\n")
    ExamplePrometheus.exporter = p.port
    prometheus = ExamplePrometheus()
    if not shutil.which("prometheus"):
        skip("Prometheus scrapes an exporter with TLS", prometheus.failure)
    elif check(not prometheus.failure, "Prometheus starts with the lines for TLS of the example",
               prometheus.failure):
        check(prom_lib.wait_for(lambda: prometheus.query('up{job="batchjob"} == 1')),
              "Prometheus scrapes an exporter with TLS, client certificate and password",
              prometheus.get("/api/v1/targets"))
    prometheus.stop()
    p.stop()


def main():
    for tool in ("curl", "openssl"):
        if not shutil.which(tool):
            print("1..0 # SKIP %s is not installed" % tool)
            return 0
    kinds = [k for k, f in (("exporter", EXPORTER), ("server", SERVER),
                                ("store", STORE)) if os.access(f, os.X_OK)]
    try:
        make_files()
        for kind in kinds:
            for part in (versions, expiry, clients, rotation, half_open,
                         switched_on):
                if kind != "store" or part != half_open:  # only the others have options for that
                    part(kind)
        if len(kinds) == 3:
            identities()
            passwords()
            scraped_by_prometheus()
    finally:
        for p in Program.running:
            if p.poll() is None:
                p.kill()
        shutil.rmtree(folder)
    return plan()


sys.exit(main())
