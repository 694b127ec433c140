"""A node with real jobs (api_node.sh) and a real Prometheus that scrapes it,
for the tests of the API."""
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from ports import free_port

HERE = os.path.dirname(os.path.abspath(__file__))


def wait_for(condition, seconds=300):
    """Call condition() until its result is true, and return that; None after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = condition()
        if got:
            return got
        time.sleep(0.2)
    return None


class Node:
    """A node with jobs: (id, uid, user, account).  If it cannot start, `failure` is the reason."""

    def __init__(self, cluster, jobs):
        self.p = subprocess.Popen(
            [os.path.join(HERE, "api_node.sh"), cluster] + [" ".join(map(str, j)) for j in jobs],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.failure = None
        for line in self.p.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "url":
                self.url = rest
                return
            if word == "none":
                self.failure = rest
                break
        self.failure = self.failure or "the node does not start"

    def stop(self):
        self.p.stdin.close()
        self.p.stdout.read()
        self.p.wait(300)


class Prometheus:
    program, ready = "prometheus", "/-/ready"
    options = ("--config.file={0}/conf.yml", "--storage.tsdb.path={0}/data", "--log.level=warn",
               "--web.listen-address={1}")

    def __init__(self, *targets):
        self.folder = tempfile.mkdtemp(prefix="bj-prom-")
        self.url = None
        self.failure = None if shutil.which(self.program) else self.program + " is not installed"
        if self.failure:
            return
        port = free_port()
        with open(self.folder + "/conf.yml", "w") as f:
            json.dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [
                {"job_name": "batchjob", "static_configs": [
                    {"targets": [t.split("//")[1] for t in targets]}]}]}, f)
        self.prepare()
        with open(self.folder + "/log", "w") as log:
            self.p = subprocess.Popen(
                [self.program] + [o.format(self.folder, "127.0.0.1:%d" % port)
                                  for o in self.options], stderr=log, stdout=log)
        self.url = "http://127.0.0.1:%d" % port
        if not wait_for(lambda: self.get(self.ready), 300):
            self.failure = self.program + " does not start: " + open(self.folder + "/log").read()[-300:]

    def prepare(self):
        """Subclasses write files to the folder here, before the server starts."""

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=300) as r:
                return r.read()
        except (OSError, urllib.error.HTTPError):
            return None

    def query(self, promql):
        r = self.get("/api/v1/query?" + urllib.parse.urlencode({"query": promql}))
        return json.loads(r)["data"]["result"] if r else None

    def suspend(self):
        """Stop the process: it does not respond, but its connections stay open."""
        self.p.send_signal(signal.SIGSTOP)
        def stopped():
            with open("/proc/%d/stat" % self.p.pid) as f:
                return f.read().rpartition(")")[2].split()[0] in "Tt"
        wait_for(stopped)

    def resume(self):
        self.p.send_signal(signal.SIGCONT)

    def stop(self):
        if self.url:
            self.p.send_signal(signal.SIGCONT)
            self.p.terminate()
            self.p.wait(300)
        self.url = None
        shutil.rmtree(self.folder, ignore_errors=True)


class VictoriaMetrics(Prometheus):
    program, ready = "victoria-metrics", "/health"
    options = ("-promscrape.config={0}/conf.yml", "-storageDataPath={0}/data",
               "-httpListenAddr={1}", "-search.latencyOffset=1s", "-loggerLevel=WARN")


class Simulated(http.server.BaseHTTPRequestHandler):
    """A simulated Prometheus server whose exporters have the label cluster="alpha"."""
    def do_POST(self):
        body = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.answer(body["query"][0])

    def do_GET(self):
        self.answer(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["query"][0])

    def answer(self, query):
        found = re.search('cluster="([^"]*)"', query)
        result = [{"metric": {"cluster": "alpha"} if "by (cluster)" in query else {}, "value": [time.time(), "12"]}]
        body = json.dumps({"status": "success", "data": {
            "resultType": "vector", "result": [] if found and found.group(1) != "alpha" else result}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def simulated():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Simulated)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
