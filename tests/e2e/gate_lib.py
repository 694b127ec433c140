"""For tests of the PromQL gate: a Prometheus with given series, a simulated Prometheus
whose replies a test defines, and requests of a user."""
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request

from api_lib import Site, basic, bcrypt
from ports import free_port
from prom_lib import wait_for

GRAFANA = basic("grafana", "s3cret")
API = "/prometheus/api/v1/"


def form(**parameters):
    """URL-encoded parameters; m stands for match[]."""
    return urllib.parse.urlencode({"match[]" if k == "m" else k: v
                                   for k, v in parameters.items()}, doseq=True)


class FilledPrometheus:
    """A Prometheus server with series (name, labels, [(time, value)])."""
    program, ready = "prometheus", "/-/ready"
    options = ("--config.file={0}/conf.yml", "--storage.tsdb.path={0}/data", "--log.level=warn",
               "--storage.tsdb.retention.time=100y", "--web.listen-address={1}")

    def __init__(self, series):
        self.folder = tempfile.mkdtemp(prefix="bj-gate-")
        self.url = None
        self.failure = None if shutil.which(self.program) else self.program + " is not installed"
        if self.failure:
            return
        self.write(series)
        port = free_port()
        with open(self.folder + "/log", "w") as log:
            self.p = subprocess.Popen(
                [self.program] + [o.format(self.folder, "127.0.0.1:%d" % port)
                                  for o in self.options], stderr=log, stdout=log)
        self.url = "http://127.0.0.1:%d" % port
        if not wait_for(lambda: self.get(self.ready), 300):
            self.failure = self.program + " does not start: " + open(self.folder + "/log").read()[-300:]
        self.load()

    def write(self, series):
        with open(self.folder + "/in", "w") as f:
            for name in sorted({s[0] for s in series}):
                f.write("# TYPE %s gauge\n" % name)
                for n, labels, values in series:
                    for t, v in values if n == name else ():
                        f.write("%s{%s} %s %d\n" % (
                            n, ",".join('%s="%s"' % i for i in labels.items()), v, t))
            f.write("# EOF\n")
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", self.folder + "/in",
                        self.folder + "/data"], check=True, stdout=subprocess.DEVNULL)
        with open(self.folder + "/conf.yml", "w") as f:
            f.write("{}")

    def load(self):
        pass

    def get(self, path, body=None):
        try:
            with urllib.request.urlopen(self.url + path, body, timeout=300) as r:
                return r.read() or b" "
        except (OSError, urllib.error.HTTPError):
            return None

    def stop(self):
        if self.url:
            self.p.terminate()
            self.p.wait(300)
        shutil.rmtree(self.folder, ignore_errors=True)


class FilledVictoriaMetrics(FilledPrometheus):
    program, ready = "victoria-metrics", "/health"
    options = ("-storageDataPath={0}/data", "-httpListenAddr={1}", "-retentionPeriod=100y",
               "-search.latencyOffset=0s", "-loggerLevel=WARN", "-memory.allowedBytes=64MB")

    def write(self, series):
        self.lines = ["%s{%s} %s %d000" % (n, ",".join('%s="%s"' % i for i in labels.items()), v, t)
                      for n, labels, values in series for t, v in values]

    def load(self):
        assert self.get("/api/v1/import/prometheus", "\n".join(self.lines).encode())
        assert self.get("/internal/force_flush")


class ScriptedPrometheus:
    """A simulated Prometheus server: the test sets reply(handler), which writes the replies.
    received: the requests, without the gate's health checks, which get the status "health"."""

    def __init__(self):
        prometheus = self
        self.received, self.reply, self.client_disconnected = [], None, threading.Event()
        self.health, self.stopped = 200, False

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if prometheus.stopped:
                    self.connection.shutdown(2)
                    self.close_connection = True
                    return
                if self.path.endswith("/status/buildinfo"):
                    return self.send(prometheus.health)
                prometheus.received.append((self.command, self.path, dict(self.headers), body.decode()))
                try:
                    prometheus.reply(self)
                except OSError:
                    prometheus.client_disconnected.set()
                    self.close_connection = True

            do_POST = do_GET

            def send(self, status=200, body=b'{"status":"success","data":[]}',
                     type="application/json", **headers):
                self.send_response(status)
                self.send_header("Content-Type", type)
                self.send_header("Content-Length", str(len(body)))
                for k, v in headers.items():
                    self.send_header(k.replace("_", "-"), v)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *a):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *a: None  # clients may disconnect
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.stopped = True  # open connections end at their next request
        self.server.shutdown()
        self.server.server_close()


class Gate(Site):
    """batchjob_stats_server with a gate; user2 coordinates acct1, boss is an admin."""

    def __init__(self):
        super().__init__(30, 2)
        self.fill()
        self.web = self.file("web.yml", "basic_auth_users:\n  grafana: %s\n" % bcrypt("s3cret"))

    def start_with_prometheus(self, url, *options):
        self.start_with_options(["--prometheus.url=" + url, *options])

    def start_with_options(self, options):
        self.start("--web.config.file=" + self.web, "--gate.enabled",
                   "--access.admins=boss", "--access.coordinators=acct1: user2", *options)

    def get(self, user, path, *headers, **parameters):
        return self.fetch(API + path + ("?" + form(**parameters) if parameters else ""), GRAFANA,
                          ("X-Grafana-User", user), *headers)

    def post(self, user, path, *headers, body=None, url="", **parameters):
        return self.fetch(API + path + url, GRAFANA, ("X-Grafana-User", user),
                          ("Content-Type", "application/x-www-form-urlencoded"), *headers,
                          method="POST", body=(form(**parameters) if body is None else body).encode())
