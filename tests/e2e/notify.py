#!/usr/bin/env python3
"""Notifications of batchjob_stats_db: Debian's Alertmanager and a server that records requests.
Findings are rows of the store; a server of the test answers like Prometheus.  To let time pass, the
tests change the times in the store.  TAP."""
import base64
import hmac
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import measured  # noqa: E402
import store_lib  # noqa: E402
from ports import free_port  # noqa: E402
from prom_lib import wait_for  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

TOP = os.path.abspath(os.path.join(HERE, "../.."))
O = os.path.join(TOP, os.environ.get("O", "build"))
NOW = int(time.time())
HOSTILE = "@channel <!here> [x](https://evil.example) `a` *b* <b>&amp;\n\u202e"

# --- servers -------------------------------------------------------------------------------------


class Recorder:
    """Records requests, and answers each with the next of its answers, the last one again and
    again: a status, (status, headers), "hang" or "cut"."""

    def __init__(self):
        recorder = self
        self.requests, self.answers, self.released = [], [200], threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                recorder.requests.append((self.path, dict(self.headers), body))
                answer = recorder.answers.pop(0) if len(recorder.answers) > 1 else recorder.answers[0]
                if answer == "hang":
                    recorder.released.wait(300)
                    answer = "cut"
                if answer == "cut":
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                text = b"no hook at " + self.path.encode() if status >= 400 else b"ok"
                text = headers["X-Body"].encode() if "X-Body" in headers else text
                self.send_response(status)
                for k, v in headers.items():
                    self.send_header(k, v)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_PUT = do_POST

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self):
        taken, self.requests = self.requests, []
        return taken

    def alerts(self):
        """The alerts of all requests since the last call."""
        return [a for _, _, body in self.take() for a in json.loads(body)]

    def stop(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


class Prometheus:
    """Answers queries whose text contains a key of .series with those series: (labels, value)."""

    def __init__(self):
        prom = self
        self.series = {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                found = [v for k, v in prom.series.items() if k in form["query"][0]]
                if None in found:
                    self.send_error(503)
                    return
                text = json.dumps({"status": "success", "data": {"resultType": "vector", "result": [
                    {"metric": m, "value": [NOW, str(v)]} for rows in found for m, v in rows]}}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


CONFIG = """route:
  receiver: nobody
  group_by: [cluster, rule]
receivers:
- name: nobody
inhibit_rules:
- source_matchers: [alertname="BatchjobNodeOut"]
  target_matchers: [alertname="BatchjobFinding"]
  equal: [cluster, node]
"""


class Alertmanager:
    program = "prometheus-alertmanager"

    def __init__(self, folder):
        with open(folder + "/alertmanager.yml", "w") as f:
            f.write(CONFIG)
        port = free_port()
        self.url, self.log = "http://127.0.0.1:%d" % port, open(folder + "/alertmanager.log", "w")
        self.p = subprocess.Popen(
            [self.program, "--config.file=%s/alertmanager.yml" % folder, "--storage.path=%s/alertmanager" % folder,
             "--web.listen-address=127.0.0.1:%d" % port, "--cluster.listen-address="],
            stdout=self.log, stderr=self.log)

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=300) as r:
                return r.read()
        except OSError:
            return None

    def alerts(self):
        return json.loads(self.get("/api/v2/alerts"))

    def amtool(self, *words):
        return subprocess.run(["amtool", "--alertmanager.url=" + self.url, *words], capture_output=True, text=True,
                              check=False)

    def stop(self):
        self.p.terminate()
        self.p.wait(300)
        self.log.close()


# --- the site ------------------------------------------------------------------------------------


def job(jobid, **more):
    row = {"JobIDRaw": str(jobid), "JobID": str(jobid), "Cluster": "alpha", "User": "anna", "Account": "phys",
           "Partition": "gpu", "State": "RUNNING", "Submit": str(NOW - 7300), "Start": str(NOW - 7200),
           "End": "Unknown", "ElapsedRaw": "7200", "AllocCPUS": "4", "NNodes": "1", "NodeList": "n1",
           "AllocTRES": "cpu=4,mem=8G,node=1", "JobName": HOSTILE.replace("\n", " ")}
    row.update(more)
    return row


JOBS = [job(101), job(102, NNodes="2", NodeList="n[2-3]", AllocTRES="cpu=4,mem=8G,node=2", Account="chem"),
        *(job(300 + i, JobID="300_%d" % i) for i in range(1, 41))]
# What sacct of the tests has beside the columns of measured.SACCT.
SACCT = measured.SACCT.replace("TotalCPU", "TotalCPU NodeList JobName")


class Site:
    def __init__(self, folder, prom):
        self.folder, self.database = folder, store_lib.store(folder + "/stats.db")
        self.rows = self.database.rows
        self.write("sacct", SACCT % (JOBS,), 0o755)
        self.write("alpha.yml", "name: alpha\nsacct:\n  command: %s/sacct\n  pause: 0s\n  history: 1d\n"
                   "prometheus:\n  url: %s\n" % (folder, prom.url))
        self.targets = []
        self.run("--once", targets=False)
        self.rows("INSERT INTO running_state(cluster, at) VALUES('alpha', %d)" % NOW)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def target(self, name, **options):
        options = {k.replace("_", "-"): v for k, v in options.items()}
        self.targets.append(self.write("target-%s.yml" % name, json.dumps({"name": name, **options})))

    def conf(self, targets=True, **more):
        return self.write("site.yml", json.dumps({
            "store": {"path": self.database.url}, "cluster": {"file": self.folder + "/alpha.yml"},
            "metrics": {"file": self.folder + "/page.prom"}, "running": {"findings": False},
            "notify": {"target-file": self.targets if targets else [], "url": "https://stats.example.org/",
                       "interval": "10s", **more}}))

    def run(self, *words, targets=True, **more):
        return subprocess.run([O + "/batchjob_stats_db", *words, "--config.file=" + self.conf(targets, **more)],
                              capture_output=True, text=True, timeout=300, check=False)

    def round(self, **more):
        p = self.run("--once", **more)
        if p.returncode:
            check(False, "a round succeeds", p.stderr[-1500:])
        return p.stderr

    def find(self, jobid, rule="site_serial", severity="warning", text="Only 1 of the CPUs of the job was busy."):
        """A finding on a running job."""
        self.rows("INSERT INTO finding_rule(name, severity, condition, text, advice, url) SELECT '%s', '%s', '', '%s',"
                  " 'Ask for 1 CPU.', 'https://wiki.example.org/serial' WHERE NOT EXISTS (SELECT 1 FROM finding_rule"
                  " WHERE name = '%s')" % (rule, severity, text, rule))
        where = "FROM job AS j WHERE CAST(j.jobid AS INTEGER) = %d" % jobid
        self.rows("INSERT INTO job_finding(job, rule, value, threshold) SELECT j.id, (SELECT max(id) FROM finding_rule"
                  " WHERE name = '%s'), 1, 1 %s" % (rule, where))
        self.rows("INSERT INTO running_finding(job, rule, since, seen) SELECT j.id, '%s', %d, %d %s"
                  % (rule, NOW - 3600, NOW, where))

    def clear(self, jobid):
        for table in ("job_finding", "running_finding"):
            self.rows("DELETE FROM %s WHERE job IN (SELECT id FROM job WHERE CAST(jobid AS INTEGER) = %d)"
                      % (table, jobid))

    def all_parts(self):
        """All nodes of all jobs are known."""
        self.rows("INSERT INTO job_part(job, node, gpu, since, upto) SELECT j.id, h.name, '', %d, %d FROM job AS j JOIN"
                  " hosts_host AS o ON o.hosts = j.hosts JOIN host AS h ON h.id = o.host WHERE NOT EXISTS (SELECT 1"
                  " FROM job_part AS p WHERE p.job = j.id AND p.node = h.name)" % (NOW - 600, NOW))

    def page(self):
        with open(self.folder + "/page.prom") as f:
            return f.read()


def seconds(stamp):
    return time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone


# --- tests ---------------------------------------------------------------------------------------


def alertmanager(site, prom, real, recorder):
    """Every Alertmanager gets each alert with its labels, again in each round, and its end."""
    site.find(101)
    site.find(102, "site_idle", "info", "The job is idle.")
    prom.series = {"batchjob_cluster_node_nodes": [({"node": "n9", "state": "down", "flags": "drain"}, 1),
                                                   ({"node": "n1", "state": "allocated"}, 1),
                                                   ({"node": "n7", "state": "idle", "flags": "cloud+powered_down"}, 1),
                                                   ({"node": "n8", "state": "maint", "flags": ""}, 1)],
                   "reason_node_info": [({"node": "n9", "reason": "PSU <failed>"}, 1)],
                   "batchjob_gpu_health": [({"instance": "n2:9415", "index": "3"}, 5),
                                           ({"instance": "n2:9415", "index": "4"}, 0)]}
    site.target("site", kind="alertmanager", url=[real.url, recorder.url], label=["team=hpc"])
    site.round()
    got = {(a["labels"]["alertname"], a["labels"].get("jobid")): a for a in recorder.alerts()}
    same(sorted(got, key=str), [("BatchjobFinding", "101"), ("BatchjobGpuUnfit", None), ("BatchjobNodeOut", None)],
         "findings, nodes and GPUs are alerts; a finding below the severity of the target is not")
    a = got["BatchjobFinding", "101"]
    same(a["labels"], {"alertname": "BatchjobFinding", "cluster": "alpha", "severity": "warning", "jobid": "101",
                       "rule": "site_serial", "node": "n1", "partition": "gpu", "account": "phys", "team": "hpc"},
         "labels of a finding; names of users are not shown")
    same(a["annotations"], {"summary": "Job 101: Only 1 of the CPUs of the job was busy.",
                            "description": "Ask for 1 CPU.", "runbook_url": "https://wiki.example.org/serial"},
         "annotations of a finding")
    check(a["generatorURL"].startswith("https://stats.example.org/jobs/alpha%3A101%3A") or
          a["generatorURL"].startswith("https://stats.example.org/jobs/alpha:101:"), "it links to the job", a)
    same(seconds(a["startsAt"]), NOW - 3600, "it starts with the finding")
    check(25 <= seconds(a["endsAt"]) - time.time() <= 30, "it ends unless it is repeated", a["endsAt"])
    same((got["BatchjobNodeOut", None]["annotations"]["summary"], got["BatchjobNodeOut", None]["annotations"]
          ["description"]), ("Node n9: The node is out of service: down+drain", "PSU <failed>"), "a node with its reason")
    gpu = got["BatchjobGpuUnfit", None]
    same((gpu["labels"]["node"], gpu["labels"]["gpu"], gpu["labels"]["severity"]), ("n2", "3", "critical"), "a GPU")

    if real.p:
        same(sorted(a["labels"]["alertname"] for a in real.alerts()),
             ["BatchjobFinding", "BatchjobGpuUnfit", "BatchjobNodeOut"], "Alertmanager has them")
        p = real.amtool("alert", "query", "jobid=101", "team=hpc", "--output=json")
        same([x["labels"]["jobid"] for x in json.loads(p.stdout)], ["101"], "amtool finds an alert by its labels")
        real.amtool("silence", "add", "jobid=101", "--comment=known", "--author=test")
        check(wait_for(lambda: [x["status"]["state"] for x in real.alerts() if x["labels"].get("jobid") == "101"]
                       == ["suppressed"], 60), "a silence suppresses it", real.alerts())

    # The node of the job fails.
    prom.series["batchjob_cluster_node_nodes"][1] = ({"node": "n1", "state": "down", "flags": "not_responding"}, 1)
    site.find(301)
    site.round()
    again = recorder.alerts()
    same([seconds(x["startsAt"]) for x in again if x["labels"].get("jobid") == "101"], [NOW - 3600],
         "each round repeats an alert with the same start")
    if real.p:
        check(wait_for(lambda: [x["status"]["inhibitedBy"] != [] for x in real.alerts()
                                if x["labels"].get("jobid") == "300"] == [True], 60),
              "the node's alert inhibits that of a job on it", real.alerts())
    site.clear(301)

    # It ends.
    site.all_parts()
    site.clear(101)
    prom.series["batchjob_gpu_health"][0] = ({"instance": "n2:9415", "index": "3"}, 0)
    prom.series["batchjob_cluster_node_nodes"] = [({"node": "n9", "state": "idle"}, 1), ({"node": "n1", "state": "idle"}, 1)]
    site.round()
    same({seconds(x["endsAt"]) <= time.time() for x in recorder.alerts()}, {True}, "the end is posted")
    if real.p:
        check(wait_for(lambda: real.alerts() == [], 60), "Alertmanager has no alert any more", real.alerts())
    site.round()
    check(len(recorder.alerts()) == 5, "the end is repeated, since a member may have missed it")
    site.rows("UPDATE notify_alert SET ended = ended - 1000")
    site.round()
    same(recorder.alerts(), [], "nothing is posted when nothing is wrong")
    site.round()
    same(site.rows("SELECT count(*) FROM notify_alert WHERE ended IS NOT NULL")[0][0], 0, "ended alerts are forgotten")


def unknown(site, prom, recorder):
    """What is not known ends no alert."""
    site.find(101)
    prom.series = {"batchjob_cluster_node_nodes": [({"node": "n9", "state": "down"}, 1)],
                   "batchjob_gpu_health": [({"instance": "n2:9415", "index": "3"}, 4)]}
    site.round()
    recorder.take()
    lasting = lambda: sorted(a["labels"]["alertname"] for a in recorder.alerts()  # noqa: E731
                             if seconds(a["endsAt"]) > time.time())
    three = ["BatchjobFinding", "BatchjobGpuUnfit", "BatchjobNodeOut"]
    prom.series = {"batchjob": None}
    log = site.round()
    same(lasting(), three, "without Prometheus, alerts of nodes and GPUs last")
    check("notify: nodes and GPUs" in log, "the log names the reason", log)
    prom.series = {}
    site.round()
    same(lasting(), three, "without series, too")
    site.clear(101)
    site.rows("UPDATE running_state SET at = at - 7200")
    site.round()
    same(lasting(), three, "a finding lasts when the running jobs were not evaluated")
    site.rows("UPDATE running_state SET at = %d" % time.time())
    site.rows("DELETE FROM job_part WHERE job = (SELECT id FROM job WHERE CAST(jobid AS INTEGER) = 101)")
    site.round()
    same(lasting(), three, "and when a node of the job is not known")
    site.rows("UPDATE notify_alert SET seen = seen - 90000 WHERE kind <> 'finding'")
    site.round()
    same(lasting(), three[:1], "an alert ends when nothing was known of it for a day")
    site.all_parts()
    site.round()
    same(lasting(), [], "the finding ends when it is known to have ended")
    site.rows("DELETE FROM notify_alert")


def arrays_and_people(site, recorder):
    """The tasks of an array are one alert; names are shown where the site wants it."""
    for i in range(1, 41):
        site.find(300 + i)
    site.round()
    a, = recorder.alerts()
    same((a["labels"]["jobid"], a["annotations"]["tasks"], a["annotations"]["summary"], "node" in a["labels"]),
         ("300", "40", "Job 300, 40 tasks: Only 1 of the CPUs of the job was busy.", False), "an array is one alert")
    site.targets.clear()
    site.target("chem", kind="alertmanager", url=[recorder.url + "/am/"], account=["chem"], severity="info", users=True)
    site.round()
    (path, _, body), = recorder.take()
    a, = json.loads(body)
    same(path, "/am/api/v2/alerts", "the path of an Alertmanager behind a proxy")
    same((a["labels"]["jobid"], a["labels"]["user"], "node" in a["labels"]), ("102", "anna", False),
         "a target of one account, with users")
    same(a["annotations"]["job_name"], HOSTILE.replace("\n", " "), "a hostile name is data")
    same(site.run("rename", "user", "anna", "hanna").returncode, 0, "a user gets another name")
    same(site.rows("SELECT count(*) FROM notify_alert WHERE user = 'anna'")[0][0], 0, "the old name is in no alert")
    same(site.run("rename", "user", "hanna", "anna").returncode, 0, "and the first one again")
    site.targets.clear()
    site.target("nobody", kind="alertmanager", url=[recorder.url], cluster=["beta"])
    site.round()
    same(recorder.take(), [], "a target of another cluster gets nothing")
    site.targets.clear()


def late(site, recorder):
    """A late import is an alert, and no other kind of event goes to its target."""
    site.targets.clear()
    site.target("late", kind="alertmanager", url=[recorder.url], event=["import"])
    site.write("sacct", "#!/bin/sh\nexit 1\n", 0o755)
    recorder.take()
    site.run("--once")
    same(recorder.alerts(), [], "an import that fails once is not late")
    site.rows("UPDATE covered SET to_sec = to_sec - 10000")
    site.run("--once")
    a, = recorder.alerts()
    same((a["labels"]["alertname"], a["labels"]["cluster"], a["annotations"]["summary"]),
         ("BatchjobImportLate", "alpha", "Cluster alpha: Accounting is late: no import has succeeded since then."),
         "a late import is an alert")
    check(9900 < time.time() - seconds(a["startsAt"]) < 20000, "since the last import", a["startsAt"])
    site.write("sacct", SACCT % (JOBS,), 0o755)
    site.round()
    ends = [seconds(a["endsAt"]) - time.time() for a in recorder.alerts()]
    check(len(ends) == 1 and ends[0] <= 0, "it ends with the next import", ends)


def waiting(site, target):
    return site.rows("SELECT name, tries, state, error, body FROM notify_message WHERE target = '%s' AND state ="
                     " 'waiting' ORDER BY id" % target)


def due_now(site):
    site.rows("UPDATE notify_message SET due = due - 100000 WHERE state = 'waiting'")


def signed(headers, body, key):
    """Is the signature of Standard Webhooks right?"""
    text = b"%s.%s.%s" % (headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body)
    return headers["webhook-signature"] == "v1," + base64.b64encode(hmac.digest(key, text, "sha256")).decode()


def webhook(site, prom, recorder):
    """Events in CloudEvents, signed, at least once, in order."""
    prom.series = {}
    site.all_parts()
    for jobid in (101, 102, *range(301, 341)):
        site.clear(jobid)
    site.rows("DELETE FROM notify_alert")
    site.rows("UPDATE running_state SET at = %d" % time.time())
    site.targets.clear()
    key = b"0123456789abcdef"
    hook = "/hooks/s3cr3t-k3y-of-the-hook"
    site.target("hook", kind="webhook", url_file=site.write("hook.url", recorder.url + hook + "\n", 0o600),
                secret_file=site.write("hook.key", "whsec_" + base64.b64encode(key).decode() + "\n", 0o600), users=True)
    recorder.answers = [204]
    recorder.take()
    site.round()
    same(recorder.take(), [], "nothing is wrong: no request")
    site.find(101)
    site.round()
    (path, headers, body), = recorder.take()
    event = json.loads(body)
    data = event.pop("data")
    same((path, headers["Content-Type"]), (hook, "application/cloudevents+json"), "an event is posted to the hook")
    same(event, {"specversion": "1.0", "id": headers["Idempotency-Key"], "source": "/batchjob/alpha",
                 "type": "org.batchjob.finding.started", "subject": "101",
                 "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW - 3600)),
                 "datacontenttype": "application/json"}, "the attributes of the event")
    page = data.pop("page")
    same(data, {"cluster": "alpha", "severity": "warning", "finding": "site_serial", "jobid": "101", "node": "n1",
                "partition": "gpu", "account": "phys", "user": "anna", "name": HOSTILE.replace("\n", " "),
                "text": "Only 1 of the CPUs of the job was busy.", "advice": "Ask for 1 CPU.",
                "url": "https://wiki.example.org/serial", "since": NOW - 3600,
                "summary": "Job 101: Only 1 of the CPUs of the job was busy."}, "the data of the event")
    check(page.startswith("https://stats.example.org/jobs/"), "a link to the job", page)
    check(signed(headers, body, key), "the signature is right", headers)
    check(not signed(headers, body + b" ", key), "another body has another one")
    site.round()
    same(recorder.take(), [], "an event is sent once")

    # It ends, begins again, and ends.
    site.clear(101)
    site.round()
    same(recorder.take(), [], "an end may be a gap")
    site.find(101)
    site.round()
    site.clear(101)
    site.round()
    same(recorder.take(), [], "what begins again within five minutes is the same")
    site.rows("UPDATE notify_alert SET ended = ended - 400")
    site.round()
    (_, _, body), = recorder.take()
    same((json.loads(body)["type"], json.loads(body)["data"]["end"] < time.time()),
         ("org.batchjob.finding.ended", True), "the end is an event")

    # The program is killed before it has read the answer.
    site.find(101)
    recorder.answers = ["hang"]
    with open(os.devnull, "w") as out:
        p = subprocess.Popen([O + "/batchjob_stats_db", "--once", "--config.file=" + site.conf()], stderr=out, stdout=out)
        check(wait_for(lambda: recorder.requests, 300), "an event is being sent")
        p.kill()
        p.wait()
    (_, headers, body), = recorder.take()
    recorder.answers = [200]
    site.round()
    same([(h["webhook-id"], b) for _, h, b in recorder.take()], [(headers["webhook-id"], body)],
         "after a kill it is sent again, with the same id")
    site.clear(101)
    site.round()
    site.rows("UPDATE notify_alert SET ended = ended - 400 WHERE ended IS NOT NULL")
    site.round()
    recorder.take()

    # Answers.  Each round is a start of the program.
    site.find(101)
    site.find(102, "site_other")
    recorder.answers = [(429, {"Retry-After": "3000"})]
    log = site.round()
    first = recorder.take()
    same(len(first), 1, "while one message waits, later ones wait, too")
    (ident, tries, state, error, _), = waiting(site, "hook")[:1]
    same((ident, tries, len(waiting(site, "hook"))), (first[0][1]["Idempotency-Key"], 1, 2), "they wait in the store")
    left, = site.rows("SELECT due - %d FROM notify_message WHERE tries = 1 AND state = 'waiting'" % time.time())
    check(2900 < left[0] <= 3000, "429: as long as Retry-After says", left)
    check("status 429" in log and "...hook" in log and "status 429" in error, "log and store name the reason", log, error)
    site.round()
    same(recorder.take(), [], "not earlier")
    for answer in (500, "cut", 503, 408):
        recorder.answers = [answer]
        due_now(site)
        log += site.round()
        (_, headers, body), = recorder.take()
        same((headers["webhook-id"], body == first[0][2]), (ident, True), "%s: tried again with the same id" % answer)
    left, = site.rows("SELECT max(due) - %d FROM notify_message WHERE tries > 1 AND state = 'waiting'" % time.time())
    check(150 <= left[0] <= 220, "waits grow, with a random part", left)
    check(signed(headers, body, key), "it is signed again")
    recorder.answers = [200]
    due_now(site)
    log += site.round()
    same([json.loads(b)["subject"] for _, _, b in recorder.take()], ["101", "102"], "then both are sent, in order")
    same(waiting(site, "hook"), [], "nothing waits")
    site.clear(101)
    site.round()
    site.rows("UPDATE notify_alert SET ended = ended - 400 WHERE ended IS NOT NULL")
    recorder.answers = [404]
    log += site.round()
    row, = site.rows("SELECT state, error, body FROM notify_message WHERE state = 'failed'")
    check(row[0] == "failed" and "status 404" in row[1] and row[2] is None, "404 is final", row)
    check('batchjob_stats_notify_lost_total{target="hook"} 1\n' in site.page(), "and counted")
    check("no hook" not in row[1], "an answer that repeats the address is not kept", row)
    recorder.answers = [(302, {"Location": recorder.url + "/elsewhere"}), 200]
    site.find(101)
    recorder.take()
    log += site.round()
    same([p for p, _, _ in recorder.take()], [hook], "a redirect is not followed")
    site.rows("UPDATE notify_alert SET told = NULL WHERE kind = 'finding'")
    recorder.answers = [500]
    log += site.round()
    site.rows("UPDATE notify_message SET at = at - 90000 WHERE state = 'waiting'")
    recorder.take()
    log += site.round()
    same((recorder.take(), waiting(site, "hook")), ([], []), "after a day a message is given up")
    check("waited for a day" in log, "the log says so", log)
    texts = log + site.page() + site.run("check-config").stdout
    check("s3cr3t" not in texts and base64.b64encode(key).decode() not in texts, "no log shows a secret", texts)
    shown = site.run("check-config").stdout
    check("target hook: webhook, %s/...hook\n" % recorder.url in shown, "check-config shows host and last characters", shown)
    check("s3cr3t" not in str(site.rows("SELECT * FROM notify_message")), "nor does the store")
    recorder.answers = [200]


BREAK = "\u200b"
SUMMARY = "Only 1 of the CPUs of the job was busy."
ABOUT = "(alpha, account phys, user anna, name "
PAGE = "https://stats.example.org/jobs/alpha%%3A101%%3A%d" % (NOW - 7300)
MORE = "https://wiki.example.org/serial"
REASON = "@all see [x](http://evil.example) <!channel> www.evil.example"
# The message about the finding of job 101 and about node n9, in each kind.
MARKDOWN = {
    # kind: (name of the job, reason of the node)
    "mattermost": ("`@{0}channel <!here> [x](https:{0}//evil.example) a *b* <b>&amp; `",
                   r"@{0}all see \[x\]\(http:{0}//evil.example\) \<\!channel\> www{0}.evil.example"),
    "teams": (r"@{0}channel \<\!here\> \[x\]\(https:{0}//evil.example\) \`a\` \*b\* \<b\>&amp; ",
              r"@{0}all see \[x\]\(http:{0}//evil.example\) \<\!channel\> www{0}.evil.example"),
}


def chat_bodies():
    """The texts of a message, by kind, written down from the markup of each kind."""
    for kind, (name, reason) in MARKDOWN.items():
        yield kind, ["**Warning**: Job 101: %s %s%s) Ask for 1 CPU. [page](%s) [more](%s)" % (
            SUMMARY, ABOUT, name.format(BREAK), PAGE, MORE),
            "**Warning**: Node n9: The node is out of service: down (alpha) %s [page](https://stats.example.org/nodes/n9)"
            % reason.format(BREAK)]
    yield "slack", ["*Warning*: Job 101: %s %s`@{0}channel &lt;!here&gt; [x](https:{0}//evil.example) a *b* &lt;b&gt;"
                    "&amp;amp; `) Ask for 1 CPU. <%s|page> <%s|more>".replace("{0}", BREAK) % (SUMMARY, ABOUT, PAGE, MORE),
                    "*Warning*: Node n9: The node is out of service: down (alpha) @{0}all see [x](http:{0}//evil.example)"
                    " &lt;!channel&gt; www{0}.evil.example <https://stats.example.org/nodes/n9|page>".replace("{0}", BREAK)]
    yield "html", ["<b>Warning</b>: Job 101: %s %s@{0}channel &lt;!here&gt; [x](https:{0}//evil.example) `a` *b* &lt;b&gt;"
                   "&amp;amp; ) Ask for 1 CPU. <a href=\"%s\">page</a> <a href=\"%s\">more</a>".replace("{0}", BREAK)
                   % (SUMMARY, ABOUT, PAGE, MORE),
                   "<b>Warning</b>: Node n9: The node is out of service: down (alpha) @{0}all see [x](http:{0}//evil.example)"
                   " &lt;!channel&gt; www{0}.evil.example <a href=\"https://stats.example.org/nodes/n9\">page</a>"
                   .replace("{0}", BREAK)]
    yield "plain", ["Warning: Job 101: %s %s@{0}channel <!here> [x](https:{0}//evil.example) `a` *b* <b>&amp; ) Ask for 1"
                    " CPU. %s %s".replace("{0}", BREAK) % (SUMMARY, ABOUT, PAGE, MORE),
                    "Warning: Node n9: The node is out of service: down (alpha) @{0}all see [x](http:{0}//evil.example)"
                    " <!channel> www{0}.evil.example https://stats.example.org/nodes/n9".replace("{0}", BREAK)]


def chats(site, prom, recorder):
    """Each chat gets its own format; names of jobs and reasons of nodes are harmless in all."""
    site.targets.clear()
    site.clear(101)
    site.clear(102)
    for table in ("notify_alert", "notify_event", "notify_message"):
        site.rows("DELETE FROM " + table)
    for kind in ("mattermost", "slack", "teams"):
        site.target(kind, kind=kind, users=True, to="ops" if kind == "mattermost" else "",
                    url_file=site.write(kind + ".url", "%s/%s/k3y-of-it\n" % (recorder.url, kind), 0o600))
    token = site.write("matrix.token", "syt_t0ken\n", 0o600)
    site.target("matrix", kind="matrix", users=True, url=[recorder.url + "/matrix/"], to="!room:example.org", token_file=token)
    site.target("ntfy", kind="ntfy", users=True, url=[recorder.url + "/ntfy"], to="batchjob")
    site.find(101)
    prom.series = {"batchjob_cluster_node_nodes": [({"node": "n9", "state": "down"}, 1)],
                   "reason_node_info": [({"node": "n9", "reason": REASON}, 1)]}
    site.round()
    got = {path.split("/")[1]: (path, headers, json.loads(body)) for path, headers, body in recorder.take()}
    same(sorted(got), ["matrix", "mattermost", "ntfy", "slack", "teams"], "each chat gets one message")
    want = dict(chat_bodies())
    same(got["mattermost"][2], {"text": "\n\n".join(want["mattermost"]), "channel": "ops"}, "Mattermost")
    same(got["slack"][2], {"text": "\n".join(want["slack"]), "blocks": [
        {"type": "section", "text": {"type": "mrkdwn", "text": line, "verbatim": True}} for line in want["slack"]]}, "Slack")
    same(got["teams"][2], {"type": "message", "attachments": [
        {"contentType": "application/vnd.microsoft.card.adaptive", "content": {
            "type": "AdaptiveCard", "version": "1.4",
            "body": [{"type": "TextBlock", "text": line, "wrap": True} for line in want["teams"]]}}]}, "Teams")
    path, headers, body = got["matrix"]
    same((path, headers["Authorization"]), ("/matrix/_matrix/client/v3/rooms/%21room%3Aexample.org/send/m.room.message/"
                                            + headers["Idempotency-Key"], "Bearer syt_t0ken"), "the request to Matrix")
    same(body, {"msgtype": "m.notice", "body": "\n".join(want["plain"]), "format": "org.matrix.custom.html",
                "formatted_body": "<br>".join(want["html"]), "m.mentions": {}}, "Matrix")
    same(got["ntfy"][2], {"topic": "batchjob", "title": "Batch jobs: 2 notifications", "priority": 3,
                          "message": "\n".join(want["plain"])}, "ntfy")

    # Matrix asks to wait in its own words.
    site.targets[:] = [t for t in site.targets if "matrix" in t]
    recorder.answers = [(429, {"X-Body": '{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":1500500}'})]
    site.clear(101)
    site.round()
    site.rows("UPDATE notify_alert SET ended = ended - 400 WHERE ended IS NOT NULL")
    site.round()
    left, = site.rows("SELECT due - %d FROM notify_message WHERE state = 'waiting'" % time.time())
    check(1450 < left[0] <= 1501, "Matrix: as long as retry_after_ms says", left)
    recorder.answers = [200]
    due_now(site)
    recorder.take()
    site.round()
    (_, _, body), = recorder.take()
    same(json.loads(body)["body"], "Ended: Job 101: %s %s@{0}channel <!here> [x](https:{0}//evil.example) `a` *b* <b>&amp; )"
         " %s".replace("{0}", BREAK) % (SUMMARY, ABOUT, PAGE), "an end is short")


def digests(site, prom, recorder):
    """What begins together, or beyond the messages of an hour, is one message."""
    site.targets.clear()
    site.rows("DELETE FROM notify_alert")
    site.rows("DELETE FROM notify_message")
    site.target("few", kind="mattermost", per_hour=2, ended=False,
                url_file=site.write("few.url", recorder.url + "/few/k3y-of-it\n", 0o600))
    prom.series = {"batchjob_cluster_node_nodes": [({"node": "n%d" % i, "state": "down"}, 1) for i in range(100, 125)]}
    recorder.take()
    site.round()
    (_, _, body), = recorder.take()
    lines = json.loads(body)["text"].split("\n\n")
    same((len(lines), lines[-1]), (21, "and 5 more"), "25 nodes are one message with 20 of them")
    names = [re.search("Node (n[0-9]+)", line).group(1) for line in lines[:-1]]
    same(names, ["n%d" % i for i in range(100, 120)], "each once")
    for node in ("n200", "n201", "n202"):
        prom.series["batchjob_cluster_node_nodes"].append(({"node": node, "state": "down"}, 1))
        site.round()
    (_, _, body), = recorder.take()
    check("n200" in json.loads(body)["text"], "the second message of the hour", body)
    check('batchjob_stats_notify_waiting{target="few"} 2\n' in site.page(), "then events wait", site.page()[-600:])
    site.rows("UPDATE notify_message SET at = at - 3700")
    site.round()
    (_, _, body), = recorder.take()
    same(re.findall("Node (n[0-9]+)", json.loads(body)["text"]), ["n201", "n202"], "in the next hour they are one message")
    check("anna" not in str(body) and "user" not in str(body), "names are not shown")


def refused(site, prom, recorder):
    """Targets are checked, and check-config shows no secret."""
    secret = site.write("secret", "tok3n-of-the-site\n", 0o600)
    for what, want, options in (
            ("no kind", "kind: required", {"url": [recorder.url]}),
            ("no address", "url: required", {"kind": "alertmanager"}),
            ("an unknown kind", "alertmanager", {"kind": "pager", "url": [recorder.url]}),
            ("not an address", "expected http", {"kind": "alertmanager", "url": ["ftp://x"]}),
            ("http to another host", "allow-http", {"kind": "alertmanager", "url": ["http://am.example.org"]}),
            ("a bad label", "NAME=VALUE", {"kind": "alertmanager", "url": [recorder.url], "label": ["a-b=c"]}),
            ("a webhook with two addresses", "only one", {"kind": "webhook", "url": [recorder.url] * 2}),
            ("a webhook without address", "url: required", {"kind": "webhook"}),
            ("labels of a webhook", "label:", {"kind": "webhook", "url": [recorder.url], "label": ["a=b"]}),
            ("Alertmanager with a key", "secret-file", {"kind": "alertmanager", "url": [recorder.url],
                                                        "secret-file": secret}),
            ("a hook that is no secret", "a secret", {"kind": "slack", "url": [recorder.url]}),
            ("Matrix without token", "token-file: required", {"kind": "matrix", "url": [recorder.url], "to": "!r:x"}),
            ("ntfy without topic", "to: required", {"kind": "ntfy", "url": [recorder.url]}),
            ("a file without address", "url-file", {"kind": "webhook", "url-file": secret}),
            ("an unknown event", "finding", {"kind": "alertmanager", "url": [recorder.url], "event": ["jobs"]}),
            ("a secret that others can read", "password-file",
             {"kind": "alertmanager", "url": [recorder.url], "user": "a",
              "password-file": site.write("open", "x\n", 0o644)})):
        site.targets.clear()
        site.target("bad", **options)
        p = site.run("check-config")
        check(p.returncode != 0 and want in p.stderr, "%s is refused" % what, p.stdout + p.stderr)
    for name in sorted(os.listdir(TOP + "/examples/notify")):
        with open(os.path.join(TOP, "examples/notify", name), encoding="utf-8") as f:
            text = f.read()
        text = re.sub("/etc/batchjob/[a-z]+.url", site.write("example.url", "https://chat.example.org/h/k3y\n", 0o600), text)
        text = re.sub("/etc/batchjob/[a-z.]+", secret, text)
        # Also with each option that is a comment.
        every = re.sub(r"(?m)^# (users|account|cluster|ended|event|per-hour|user|password-file|to):", r"\1:", text)
        for how, content in (("as it is", text), ("with all options", every)):
            site.targets[:] = [site.write("example.yml", content)]
            p = site.run("check-config")
            check(p.returncode == 0 and "example.org" in p.stdout, "examples/notify/%s is accepted %s" % (name, how), p.stderr)
    site.targets.clear()
    site.target("good", kind="alertmanager", url=["http://anna:pa55@127.0.0.1:9/"], token_file=secret)
    p = site.run("check-config")
    check(p.returncode == 0 and "target good: alertmanager, http://127.0.0.1:9/\n" in p.stdout,
          "check-config shows the host of a target", p.stdout + p.stderr)
    check("tok3n" not in p.stdout + p.stderr and "pa55" not in p.stdout + p.stderr, "and no secret", p.stdout)
    site.targets.clear()
    site.target("there", kind="alertmanager", url=[recorder.url])
    prom.series = {"batchjob_build_info": [({}, 2)]}
    recorder.answers = [401, 200]
    recorder.take()
    p = site.run("check-config", "--online")
    check(p.returncode != 0 and "target 'there'" in p.stderr and "status 401" in p.stderr,
          "check-config --online asks Alertmanager", p.stdout + p.stderr)
    same([b for _, _, b in recorder.take()], [b"[]"], "and posts no alert")
    site.targets.clear()
    site.target("good", kind="alertmanager", url=[recorder.url])
    site.targets *= 2
    check("used twice" in site.run("check-config").stderr, "a name that is used twice is refused")


def failures(site, recorder):
    """A target that fails is logged once in a run; a daemon ends while a target hangs."""
    site.targets.clear()
    site.target("first", kind="alertmanager", url=[recorder.url], severity="info",
                token_file=site.write("token", "s3cret-token\n", 0o600))
    recorder.answers = [500]
    log = site.round()
    check("target 'first'" in log and "status 500" in log, "a failure is logged", log)
    check("s3cret" not in log, "without the token", log)
    same(recorder.take()[0][1]["Authorization"], "Bearer s3cret-token", "the token is sent")
    check('batchjob_stats_notify_errors_total{target="first"} 1\n' in site.page() and
          'batchjob_stats_notify_requests_total{target="first"} 1\n' in site.page() and
          'batchjob_stats_notify_alerts{kind="finding"} 2\n' in site.page(), "metrics count it", site.page()[-900:])
    recorder.answers = ["cut"]
    check("target 'first'" in site.round(), "a connection that is cut is a failure")
    recorder.answers = ["hang"]
    recorder.take()
    with open(site.folder + "/daemon.log", "w") as out:
        p = subprocess.Popen([O + "/batchjob_stats_db", "run", "--config.file=" + site.conf()], stderr=out, stdout=out)
        check(wait_for(lambda: recorder.requests, 300), "the daemon posts")
        p.send_signal(signal.SIGTERM)
        try:
            same(p.wait(60), 0, "it ends while a target hangs")
        except subprocess.TimeoutExpired:
            check(False, "it ends while a target hangs")
            p.kill()
            p.wait()
    recorder.answers = [200]


class Missing:
    """No Alertmanager is installed."""
    p, url = None, "http://127.0.0.1:9"

    def stop(self):
        pass


def main():
    recorder, prom, database = Recorder(), Prometheus(), None
    with tempfile.TemporaryDirectory(prefix="bj-notify-") as folder:
        if shutil.which(Alertmanager.program):
            real = Alertmanager(folder)
        else:
            real = Missing()
            skip("alerts in Alertmanager", "not installed: prometheus-alertmanager")
        try:
            site = Site(folder, prom)
            database = site.database
            if real.p and not wait_for(lambda: real.get("/-/ready"), 300):
                check(False, "Alertmanager starts", open(folder + "/alertmanager.log").read()[-1500:])
                return plan()
            alertmanager(site, prom, real, recorder)
            unknown(site, prom, recorder)
            arrays_and_people(site, recorder)
            failures(site, recorder)
            webhook(site, prom, recorder)
            chats(site, prom, recorder)
            digests(site, prom, recorder)
            refused(site, prom, recorder)
            late(site, recorder)
        finally:
            real.stop()
            recorder.stop()
            prom.stop()
            if database:
                database.close()
    return plan()


sys.exit(main())
