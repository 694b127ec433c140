"""Helpers of the end-to-end tests of the API: a store that the importer fills
from a simulated cluster, the server, HTTP requests down to raw bytes.  TAP."""
import base64
import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
import postgres  # noqa: E402
import statsdb_sacct  # noqa: E402
from tap import check, plan, rounded, same, skip  # noqa: E402,F401

O = os.environ.get("O", "build")
TOP = os.path.abspath(os.path.join(HERE, "../.."))
SERVER = os.path.abspath(os.path.join(TOP, O, "batchjob_stats_server"))
IMPORTER = os.path.abspath(os.path.join(TOP, O, "batchjob_stats_db"))


# A host on which job j ran.
HOST = ("coalesce((SELECT min(h.name) FROM host AS h JOIN hosts_host AS o ON o.host = h.id WHERE o.hosts = j.hosts), "
        "'n01')")


class Response:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        def refuse(word):
            raise ValueError("%s is not JSON" % word)
        return json.loads(self.body, parse_constant=refuse)

    @property
    def data(self):
        return self.json["data"]

    def __repr__(self):
        return "%d %r" % (self.status, self.body[:300])


def basic(name, password):
    return ("Authorization", "Basic " + base64.b64encode(
        ("%s:%s" % (name, password)).encode()).decode())


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=300)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(300)
        self.sock.connect(self.path)


class Site:
    """A folder with the store of a simulated cluster, and the server that reads it."""

    def __init__(self, count=1500, days=20, seed=7, **more):
        self.folder = tempfile.mkdtemp(prefix="bj-api-")
        os.chmod(self.folder, 0o755)
        self.store = os.path.join(self.folder, "stats.db")
        # With this engine the server reads a copy of the store in PostgreSQL.
        self.postgres = postgres.Server() if os.environ.get("STORE_ENGINE") == "postgresql" else None
        self.now = int(time.time())
        self.simulation = dict(seed=seed, now=self.now, count=count, days=days, **more)
        self.server = None
        self.port = 0
        self.log = os.path.join(self.folder, "log")

    def file(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def fill(self):
        sacct = os.path.join(self.folder, "sacct")
        shutil.copy(os.path.join(HERE, "statsdb_sacct.py"), sacct)
        os.chmod(sacct, 0o755)
        self.file("sacct.env", json.dumps(self.simulation))
        days = self.simulation["days"]
        cluster = self.file("fake.yml", "name: fake\nsacct:\n  command: %s\n  history: %dd\n"
                            "  slice: %dd\n  pause: 0s\n" % (sacct, days + 1, days + 1))
        p = subprocess.run([IMPORTER, "--once", "--store.path=" + self.store,
                            "--cluster.file=" + cluster], capture_output=True, timeout=300)
        if p.returncode != 0:
            raise RuntimeError(p.stderr.decode()[-600:])

    def simulated_jobs(self):
        """The jobs of the simulated cluster; each run of a requeued job is an entry."""
        return [lines[0] for _, _, lines in statsdb_sacct.jobs(
            self.simulation["seed"], self.now, self.simulation["count"], self.simulation["days"])]

    def store_to_serve(self):
        """The store that the server reads: the SQLite file, or a new copy in PostgreSQL."""
        if not self.postgres:
            return self.store
        self.postgres.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public;")
        p = subprocess.run([IMPORTER, "copy", "--from=" + self.store, "--to=" + self.postgres.url()],
                           capture_output=True, timeout=300)
        if p.returncode != 0:
            raise RuntimeError(p.stderr.decode()[-600:])
        return self.postgres.url()

    def start(self, *options):
        self.stop()
        self.started = options
        store = self.store_to_serve()
        with open(self.log, "wb") as log:
            self.server = subprocess.Popen(
                [SERVER, "--web.listen-address=127.0.0.1:0", "--store.path=" + store,
                 "--access.rate=0"]
                # Not the preset, which a busy machine may exceed.
                + ([] if any(o.startswith("--query.timeout") for o in options) else ["--query.timeout=60s"])
                + list(options), stderr=log)
        for _ in range(1200):
            with open(self.log) as f:
                for line in f:
                    if "listening on 127.0.0.1:" in line:
                        self.port = int(line.split("127.0.0.1:")[1].split('"')[0])
                        return
            if self.server.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError("the server does not start: " + open(self.log).read()[-600:])

    def stop(self):
        if not self.server:
            return 0
        if self.server.poll() is None:
            self.server.send_signal(signal.SIGTERM)
        rc = self.server.wait(300)
        self.server = None
        return rc

    def reload(self):
        before = open(self.log).read().count("reload")
        self.server.send_signal(signal.SIGHUP)
        for _ in range(1200):
            if open(self.log).read().count("reload") > before:
                return
            time.sleep(0.05)
        raise RuntimeError("the server does not reload: " + open(self.log).read()[-600:])

    def fetch(self, path, *headers, method="GET", body=None, unix=None, tls=None, source=None):
        """Send one request on a new connection, from the address source; headers are
        (name, value) pairs."""
        c = (UnixConnection(unix) if unix
             else http.client.HTTPSConnection("127.0.0.1", self.port, timeout=300, context=tls)
             if tls else http.client.HTTPConnection("127.0.0.1", self.port, timeout=300,
                                             source_address=source and (source, 0)))
        try:
            c.putrequest(method, path, skip_accept_encoding=True)
            for name, value in headers:
                c.putheader(name, value)
            if body is not None:
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                c.putheader("Content-Length", str(len(body)))
            c.endheaders(body)
            r = c.getresponse()
            return Response(r.status, r.headers, r.read())
        finally:
            c.close()

    def raw(self, data, wait=60):
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as s:
            s.sendall(data)
            out = b""
            try:
                while True:
                    piece = s.recv(65536)
                    if not piece:
                        break
                    out += piece
            except OSError:
                pass
            return out

    def db(self):
        return sqlite3.connect("file:%s?mode=ro" % self.store, uri=True)

    def import_records(self, store):
        """Import a final record of one node for each ended job into a store; return their number."""
        os.makedirs(os.path.join(self.folder, "spool"), exist_ok=True)
        rows = self.db().execute("SELECT jobid, start, \"end\", " + HOST + " FROM job AS j WHERE \"end\" > start").fetchall()
        for i, (job, start, end, host) in enumerate(rows):
            self.file("spool/%d.json" % i, json.dumps({
                "format": 1, "cluster": "fake", "host": host, "jobid": str(job), "start": start, "end": end,
                "cpu_usec": (end - start) * 1000000, "energy_policy": "usage", "energy_uj": {"usage": {"cpu": end}},
                "devices": {"sda": {"read_bytes": job}}, "gpus": {"GPU-%d" % i: {"held_usec": job}}}), 0o640)
        self.derive_records(store)
        return len(rows)

    def derive_records(self, store):
        """Import the records in the spool, and derive the values of their jobs."""
        cluster = self.file("records.yml", "name: fake\nqstat:\n  command: /bin/true\nrecords:\n  dir: [%s/spool]\n"
                            % self.folder)
        p = subprocess.run([IMPORTER, "--once", "--store.path=" + store, "--cluster.file=" + cluster],
                           capture_output=True, timeout=300)
        if p.returncode != 0:
            raise RuntimeError(p.stderr.decode()[-600:])

    def add_measurements(self, name):
        """Write invented measurements of the first ended job with this id
        directly into the store; return the key of the job."""
        db = sqlite3.connect(self.store)
        job, assoc, cpus, start, end = db.execute(
            "SELECT j.id, a.id, j.cpus, j.start, j.\"end\" FROM job AS j JOIN assoc AS a ON"
            " a.cluster = j.cluster AND a.account = j.account AND a.user = j.user AND"
            " a.partition = j.partition WHERE j.jobid = ? AND j.\"end\" IS NOT NULL"
            " ORDER BY j.id", (int(name),)).fetchone()
        t = time.gmtime(start)
        day = (t.tm_year * 12 + t.tm_mon - 1) << 37 | assoc << 5 | t.tm_mday
        def word(text):
            db.execute("INSERT OR IGNORE INTO word(text) VALUES(?)", (text,))
            return db.execute("SELECT id FROM word WHERE text = ?", (text,)).fetchone()[0]
        for table in ("job_use", "job_grams", "job_finding", "finding_rule", "factor",
                      "rollup_energy", "rollup_grams"):
            db.execute("DELETE FROM " + table)  # known figures only
        db.execute(
            "INSERT INTO job_use(job, sources, cpu_efficiency_ppm, cpu_efficiency_source,"
            " memory_efficiency_ppm, memory_efficiency_source, gpu_efficiency_ppm, gpus_seen, gpus_unused,"
            " gpu_held_usec, gpu_idle_usec, gpu_memory_peak_bytes, memory_charged_peak_bytes, energy_source, energy_policy,"
            " energy_uj, energy_cpu_uj, energy_gpu_uj, energy_other_uj, energy_used_uj,"
            " energy_reserved_uj, counted_assoc, counted_cpu_sec, counted_start, counted_end,"
            " application, application_by)"
            " VALUES(?, 0, 723456, 1, 500000, 2, 30000, 2, 1, 7200000000, 7000000000, 4096, 8192, 1, ?,"
            " 7200000000, 3600000000, 1800000000, 1800000000, 7000000000, 7400000000, ?, ?, ?, ?, ?, 1)",
            (job, word("hybrid"), assoc, cpus * (end - start), start, end, word("gromacs")))
        db.execute("INSERT OR IGNORE INTO factor_source(cluster, provider, kind, zone, country,"
                   " rank) VALUES(NULL, 'rte', 'average_direct', 'FR', 'FRA', 1)")
        sources = dict(db.execute("SELECT provider, id FROM factor_source WHERE kind <> 'marginal'"))
        for source, mg in ((sources["rte"], 50000), (sources["best"], 50000)):
            db.execute("INSERT OR REPLACE INTO job_grams VALUES(?, ?, ?, 7200000000, 1)",
                       (job, source, mg * 2))
            db.execute("INSERT OR REPLACE INTO factor VALUES(?, ?, ?, ?, 0, 1, ?)",
                       (source, start - start % 3600, end + 3600, mg, end))
            for of in (day, day & ~31):  # and of the month
                db.execute("INSERT OR REPLACE INTO rollup_grams(id, source, micrograms, covered_mj)"
                           " VALUES(?, ?, ?, 7200000)", (of, source, mg * 2))
        for of in (day, day & ~31):
            db.execute("INSERT OR REPLACE INTO rollup_energy(id, jobs, cpu_sec, energy_mj,"
                       " energy_used_mj, energy_reserved_mj, gpu_sec, gpu_used_msec)"
                       " VALUES(?, 1, 60, 7200000, 7000000, 7400000, 3600, 900000)", (of,))
        for rule, severity, text in (("gpu_unused", "warning", "{value} of its GPUs did nothing."),
                                     ("low_cpu", "info", "Used {value} %, not {threshold} %.")):
            db.execute("INSERT OR IGNORE INTO finding_rule(name, severity, condition, text)"
                       " VALUES(?, ?, 'x > 1', ?)", (rule, severity, text))
            db.execute("INSERT OR REPLACE INTO job_finding(job, rule, value, threshold)"
                       " SELECT ?, id, 1.5, 25 FROM finding_rule"
                       " WHERE name = ?", (job, rule))
        db.commit()
        key = db.execute("SELECT c.name || ':' || j.jobid || ':' || j.submit FROM job AS j JOIN"
                         " cluster AS c ON c.id = j.cluster WHERE j.id = ?", (job,)).fetchone()[0]
        db.close()
        self.refresh()
        return key

    def age_imports(self, sec=3600):
        """Make the imports older: batchjob_acct then shows running jobs as they were imported, not until now."""
        db = sqlite3.connect(self.store)
        db.execute("UPDATE covered SET to_sec = to_sec - ?", (sec,))
        db.commit()
        db.close()
        self.refresh()

    def refresh(self):
        """Restart a server that reads a copy, after a change of the store."""
        if self.postgres and self.server:
            self.start(*self.started)

    def clean_up(self):
        self.stop()
        if self.postgres:
            self.postgres.close()
        shutil.rmtree(self.folder)


def bcrypt(password):
    """Hash a password with bcrypt; with openssl and SHA-512 where Python has no
    module crypt."""
    try:
        import crypt
    except ImportError:
        return subprocess.run(["openssl", "passwd", "-6", password], check=True,
                              capture_output=True, text=True).stdout.strip()
    return crypt.crypt(password, crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))


def endpoints_with_rows(doc):
    """{path: description of its GET} of an OpenAPI document, for paths that return rows."""
    return {path: methods["get"] for path, methods in doc["paths"].items()
            if "text/csv" in methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})}


def user(name):
    return ("X-Grafana-User", name)


def run(*parts, **site):
    """Fill one site, and call each part with it."""
    for program in (SERVER, IMPORTER):
        if not os.access(program, os.X_OK):
            print("1..0 # SKIP %s was not built: SQLite is not installed" % program)
            return 0
    s = Site(**site)
    try:
        s.fill()
        for part in parts:
            part(s)
    finally:
        s.clean_up()
    return plan()
