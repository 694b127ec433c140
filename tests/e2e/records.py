#!/usr/bin/python3
"""Transfer of final records from batchjob_exporter to batchjob_stats_db: both are
killed repeatedly, the network is cut, the store is full, credentials are wrong;
each record must be in the store exactly once.  TAP; some seconds.

  records.py [RECORDS [KILLS]]"""
import json
import os
import random
import re
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import tls_lib  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

O = os.path.abspath(os.path.join(HERE, "../..", os.environ.get("O", "build")))
ARGS = sys.argv[1:] if __name__ == "__main__" else []
RECORDS = int(ARGS[0]) if ARGS else 4000
KILLS = int(ARGS[1]) if len(ARGS) > 1 else 12
HOST = os.uname().nodename
TOKEN = "token-of-the-node-" + "x" * 16


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write(path, text, mode=0o600):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def get(url):
    with urllib.request.urlopen(url, timeout=300) as response:
        return response.read().decode()


class Site:
    """batchjob_stats_db, which receives records, and an exporter, which sends them."""

    def __init__(self, folder):
        self.folder = folder
        self.spool = folder + "/spool"
        os.mkdir(self.spool, 0o750)
        self.port, self.web, self.metrics = free_port(), free_port(), free_port()
        self.number = self.cpu = 0
        self.server = self.node = None
        key = tls_lib.EC
        tls_lib.ca(folder, "ca", key)
        tls_lib.ca(folder, "foreign", key)
        tls_lib.cert(folder, "server", "ca", "/CN=server", "subjectAltName=IP:127.0.0.1", key=key)
        tls_lib.cert(folder, "node", "ca", "/CN=node", "subjectAltName=DNS:%s.site" %
                     HOST.split(".")[0] if "." not in HOST else "subjectAltName=DNS:" + HOST, key=key)
        tls_lib.cert(folder, "other", "ca", "/CN=other", "subjectAltName=DNS:other", key=key)
        tls_lib.cert(folder, "stranger", "foreign", "/CN=" + HOST,
                     "subjectAltName=DNS:" + HOST, key=key)
        write(folder + "/tls.yml", "tls_server_config:\n  cert_file: server.pem\n"
              "  key_file: server.key\n  client_ca_file: ca.pem\n"
              "  client_auth_type: VerifyClientCertIfGiven\n")
        write(folder + "/tokens", "%s %s\nother %s\n" % (HOST, TOKEN, TOKEN + "-of-another"))
        write(folder + "/token", TOKEN + "\n")
        write(folder + "/token-of-other", TOKEN + "-of-another\n")
        write(folder + "/token-of-none", TOKEN + "-of-none\n")
        write(folder + "/alpha.yml", "name: alpha\nqstat:\n  command: /bin/true\n")
        write(folder + "/site.yml", """store:
  path: %(f)s/stats.db
cluster:
  file: %(f)s/alpha.yml
record:
  listen-address: 127.0.0.1:%(p)d
  config:
    file: %(f)s/tls.yml
  token-file: %(f)s/tokens
""" % {"f": folder, "p": self.port})

    def serve(self, *more, files=None):
        def limit():
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        with open(self.folder + "/server.log", "a") as log:
            self.server = subprocess.Popen(
                [O + "/batchjob_stats_db", "--config.file=%s/site.yml" % self.folder,
                 "--web.listen-address=127.0.0.1:%d" % self.metrics, *more], stderr=log, preexec_fn=limit)

    def send(self, *more, cert="node", ca="ca"):
        """Start the exporter, with a client certificate or without one."""
        args = [O + "/batchjob_exporter", "--energy.state-file=", "--job.file-dir=",
                "--web.listen-address=127.0.0.1:%d" % self.web, "--record.dir=" + self.spool,
                "--record.url=https://127.0.0.1:%d" % self.port, "--record.send-interval=0.05",
                "--record.ca-file=%s/%s.pem" % (self.folder, ca)]
        if cert:
            args += ["--record.%s-file=%s/%s.%s" % (w, self.folder, cert, e)
                     for w, e in (("cert", "pem"), ("key", "key"))]
        with open(self.folder + "/node.log", "a") as log:
            self.node = subprocess.Popen(args + list(more), stderr=log)

    def stop(self, *which):
        for p in which or (self.node, self.server):
            if p and p.poll() is None:
                p.terminate()
                p.wait(timeout=300)

    def put(self, n, **more):
        """Write n records into the spool, as the exporter writes them."""
        for _ in range(n):
            self.number += 1
            cpu = random.randrange(1, 10**9)
            record = {"format": 1, "host": HOST, "jobid": str(self.number), "user": "anna",
                      "start": 1700000000, "end": 1700000000 + self.number, "cpu_usec": cpu,
                      "energy_uj": {"usage": {"cpu": cpu}}, "energy_policy": "usage", **more}
            path = "%s/%s.9.%d.json" % (self.spool, HOST, self.number)
            write(path + "~", json.dumps(record) + "\n", 0o640)
            os.rename(path + "~", path)
            self.cpu += 0 if more else cpu

    def files(self, end=".json"):
        return [f for f in os.listdir(self.spool) if f.endswith(end)]

    def sent(self, seconds=300):
        """Wait until the spool is empty."""
        return self.until(lambda: not self.files(), seconds)

    def until(self, what, seconds=300):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if what():
                    return True
            except (OSError, sqlite3.Error):
                pass
            time.sleep(0.02)
        return False

    def row(self, sql="SELECT count(*), sum(cpu_usec), (SELECT sum(microjoules) FROM node_energy)"
            " FROM node_record"):
        db = sqlite3.connect("file:%s/stats.db?mode=ro" % self.folder, uri=True, timeout=300)
        try:
            return db.execute(sql).fetchone()
        finally:
            db.close()

    def log(self, program="node"):
        with open("%s/%s.log" % (self.folder, program)) as f:
            return f.read()

    def value(self, name):
        found = re.search("^%s ([0-9.e+]+)$" % name, get("http://127.0.0.1:%d/metrics" % self.web),
                          re.M)
        return float(found.group(1)) if found else None

    def check_stored_once(self, what):
        good = self.sent()
        same((good, self.row()), (True, (self.number, self.cpu, self.cpu)), what)


def killed(site):
    """Records are written continuously; the exporter or the receiver is killed at any moment."""
    rnd = random.Random(5)
    site.serve()
    site.send()
    for k in range(KILLS):
        for _ in range(4):
            site.put(RECORDS // KILLS // 4)
            time.sleep(rnd.random() * 0.1)
        if rnd.random() < 0.5:
            site.node.kill()
            site.node.wait()
            site.send()
        else:
            site.server.kill()
            site.server.wait()
            time.sleep(rnd.random() * 0.3)
            site.serve()
    site.check_stored_once("%d records are in the store once after %d kills" % (site.number, KILLS))
    same(site.files(".bad"), [], "no record was refused")
    good = site.until(lambda: site.value("batchjob_sampler_records_waiting") == 0)
    check(good and site.value("batchjob_sampler_records_age_seconds") is None,
          "the exporter reports that no record waits")


def network_cut(site):
    """The network fails during a transfer, and no connection is closed."""
    if os.environ.get("ISOLATED") != "1" or os.getuid() != 0 or not shutil.which("ip"):
        skip("records survive a network cut", "not root in a network namespace with ip(8)")
        return
    site.put(2000)
    time.sleep(0.1)
    subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
    site.put(500)
    time.sleep(1)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    site.check_stored_once("records survive a network cut")


def store_full(site):
    """The store is full for a while."""
    site.stop(site.server)
    site.serve("--store.max-size=%d" % (os.path.getsize(site.folder + "/stats.db") + (1 << 16)))
    site.put(2000)
    good = site.until(lambda: "received records cannot be stored" in site.log("server") and
                      "could not be stored" in site.log())
    check(good and site.files(), "a full store refuses records, which stay on the node",
          site.log("server")[-500:], site.log()[-500:])
    site.stop()
    site.serve()
    site.send()
    site.check_stored_once("all records are in the store once after its limit is removed")


def wrong_credentials(site):
    """A client with wrong credentials writes nothing; its records stay in the spool."""
    site.stop(site.node)
    before = site.row()
    cases = (("an unknown token", dict(cert=None), "--record.token-file=%s/token-of-none",
              "status 401"),
             ("no credentials", dict(cert=None), "--log.level=info", "status 401"),
             ("the token of another host", dict(cert=None), "--record.token-file=%s/token-of-other",
              "is not that of '%s'" % HOST),
             ("the certificate of another host", dict(cert="other"), "--log.level=info",
              "is not that of '%s'" % HOST),
             ("a certificate of another CA", dict(cert="stranger"), "--log.level=info",
              "final records are not sent: POST"),
             ("a server with a certificate of another CA", dict(ca="foreign"), "--log.level=info",
              ": tls: "))
    for what, how, option, message in cases + (
            ("http:// to a port with TLS", {}, "--record.url=http://127.0.0.1:%d" % site.port,
             "does this port speak https://?"),):
        seen = len(site.log())
        site.send(option % site.folder if "%" in option else option, **how)
        good = site.until(lambda: message in site.log()[seen:] and
                          site.value("batchjob_sampler_records_send_success") == 0)
        site.stop(site.node)
        check(good and not site.files(), "%s: the exporter knows it without a record" % what, site.log()[seen:])
    site.put(3)
    for what, how, option, message in cases:
        seen = len(site.log())
        site.send(option % site.folder if "%" in option else option, **how)
        good = site.until(lambda: message in site.log()[seen:])
        site.stop(site.node)
        check(good and len(site.files()) == 3 and site.row() == before,
              "%s: nothing is stored, the records stay in the spool" % what, site.log()[seen:], site.files())
    site.send("--record.token-file=%s/token" % site.folder, cert=None)
    site.check_stored_once("with the token of this host the records are in the store once")


def malformed_record(site):
    """One bad record does not hold up the others."""
    write(site.spool + "/bad.json", '{"format":1,"host":"%s","jobid":"x","end":"soon"}\n' % HOST)
    site.put(5)
    site.check_stored_once("records next to a malformed one are in the store once")
    same(site.files(".bad"), ["bad.json.bad"], "the malformed record is kept as *.bad")
    check(site.until(lambda: site.value("batchjob_sampler_records_refused_total") == 1) and
          "end: expected a time in seconds" in site.log(),
          "the exporter counts the malformed record, and logs the wrong field", site.log()[-600:])
    page = get("http://127.0.0.1:%d/metrics" % site.metrics)
    check("batchjob_stats_received_requests_total" in page, "batchjob_stats_db counts requests")


def invalid_requests(site):
    """Invalid requests are refused, and silent clients do not block nodes."""
    import http.client
    import ssl
    context = ssl.create_default_context(cafile=site.folder + "/ca.pem")

    def post(body, headers, method="POST", path="/records"):
        c = http.client.HTTPSConnection("127.0.0.1", site.port, context=context, timeout=300)
        c.putrequest(method, path)
        for name, value in headers.items():
            c.putheader(name, value)
        c.endheaders()
        try:
            c.send(body)
        except OSError:
            pass # the response came before the body was read
        try:
            response = c.getresponse()
            return response.status, json.loads(response.read())
        finally:
            c.close()
    auth = {"Authorization": "Bearer " + TOKEN}
    line = json.dumps({"format": 1, "host": HOST, "jobid": "1", "end": 9}).encode()
    rows = site.row()
    for what, body, headers, status in (
            ("a body without a length", b"", {"Transfer-Encoding": "chunked"}, 411),
            ("a body of a gigabyte", b"", {"Content-Length": "1000000000"}, 413),
            ("too many records", b"{}\n" * 3000, {}, 413),
            ("an unknown content encoding", line, {"Content-Encoding": "br"}, 415),
            ("a body that is not gzip", line, {"Content-Encoding": "gzip"}, 400)):
        if "Transfer-Encoding" not in headers:
            headers = {"Content-Length": str(len(body)), **headers}
        got = post(body, {**auth, **headers})
        check(got[0] == status and got[1].get("error"), "%s: status %d" % (what, status), got)
    got = post(b"", {"Content-Length": "300000"})
    same(got[0], 401, "a client without credentials is refused before its body is read")
    same(site.row(), rows, "refused requests store nothing")
    # More silent clients than the server has connections.
    silent = [socket.create_connection(("127.0.0.1", site.port), timeout=300) for _ in range(300)]
    began = time.monotonic()
    got = None
    while not got and time.monotonic() - began < 60:
        try:
            got = post(line, {**auth, "Content-Length": str(len(line))})
        except OSError:  # those of its own address have just begun: as a node, it tries again
            time.sleep(0.2)
    check(got == (200, {"refused": [], "stored": 1}),
          "a node is served although silent clients of its address hold all connections", got)
    for s in silent:
        s.close()


def slow_clients(site):
    """Clients of one address that send a byte now and then do not delay a node, also when the server has no file
    descriptors left."""
    for what, files, count in (("", None, 800), (", without free descriptors", 60, 200)):
        site.stop()
        site.serve(files=files)
        check(site.until(lambda: get("http://127.0.0.1:%d/metrics" % site.metrics)), "the server has started" + what)
        slow = []
        for _ in range(count):
            s = socket.socket()
            s.bind(("127.0.0.77", 0))
            s.connect(("127.0.0.1", site.port))
            slow.append(s)

        sent = iter(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500))

        def trickle():
            byte = bytes((next(sent),))
            for s in slow:
                try:
                    s.send(byte, socket.MSG_DONTWAIT)
                except OSError:
                    pass
        trickle()
        rows = site.row()[0]
        site.put(20)
        began = time.monotonic()
        site.send()
        while site.files() and time.monotonic() - began < 60:
            trickle()
            time.sleep(0.2)
        took = time.monotonic() - began
        same((site.files(), site.row()[0]), ([], rows + 20),
             "%d slow clients do not keep a node from sending%s (%.1f s)" % (count, what, took))
        for s in slow:
            s.close()
    site.stop()
    site.serve()
    site.until(lambda: get("http://127.0.0.1:%d/metrics" % site.metrics))


def configuration(site):
    """check-config names the option that is wrong."""
    for args, message in (
            (["--record.token-file="], "clients cannot authenticate"),
            (["--record.token-file=/none"], "record.token-file"),
            (["--record.config.file=/none.yml"], "record.config.file: ")):
        if "auth" in message:
            args.append("--record.config.file=")
        p = subprocess.run([O + "/batchjob_stats_db", "check-config", *args, "--config.file=%s/site.yml" %
                            site.folder], capture_output=True, text=True, timeout=300)
        check(p.returncode == 1 and message in p.stderr, "check-config: " + message, p.stderr)
    p = subprocess.run([O + "/batchjob_stats_db", "check-config", "--config.file=%s/site.yml" %
                        site.folder], capture_output=True, text=True, timeout=300)
    same((p.returncode, p.stderr), (0, ""), "check-config accepts a correct configuration")
    p = subprocess.run([O + "/batchjob_exporter", "--record.url=http://x"], capture_output=True,
                       text=True, timeout=300)
    check(p.returncode == 1 and "record.url: set record.dir" in p.stderr,
          "record.url needs record.dir", p.stderr)
    for url, refused in (("http://db.example:9022", True), ("http://10.0.0.1:9022", True),
                         ("http://127.example:9022", True), ("http://[2001:db8::1]:9022", True),
                         ("https://db.example:9022", False), ("http://localhost:9022", False),
                         ("http://127.0.0.1:9022", False), ("http://[::1]:9022", False)):
        args = ["--record.url=" + url, "--record.dir=" + site.folder, "--record.token-file=/none",
                "--web.listen-address=nowhere.invalid:0"] # ends the program after its options
        p = subprocess.run([O + "/batchjob_exporter", *args], capture_output=True, text=True, timeout=300)
        same((p.returncode, "unencrypted" in p.stderr), (1, refused), "a token for " + url)
    p = subprocess.run([O + "/batchjob_exporter", *args[1:], "--record.url=http://db.example", "--record.allow-http"],
                       capture_output=True, text=True, timeout=300)
    same((p.returncode, "unencrypted" in p.stderr), (1, False), "record.allow-http")


def main():
    folder = tempfile.mkdtemp(prefix="bj-e2e.")
    site = Site(folder)
    try:
        killed(site)
        network_cut(site)
        store_full(site)
        wrong_credentials(site)
        malformed_record(site)
        slow_clients(site)
        invalid_requests(site)
        configuration(site)
    finally:
        site.stop()
        if os.environ.get("KEEP"):
            print("# kept " + folder)
        else:
            shutil.rmtree(folder)
    return plan()


if __name__ == "__main__":
    sys.exit(main())
