#!/usr/bin/env python3
"""How batchjob_stats_db receives final records of nodes over TLS: records a second
and memory with a few persistent connections, and with 10,000 nodes that connect at
once after a day.  Certificates have P-256 keys.

  receiver.py BUILD [NODES [DAY]]

DAY: records that each node has kept, in requests of 50.  STORE_ENGINE=postgresql: the
store is in a server that this program starts."""
import os
import re
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests/e2e")]
import postgres  # noqa: E402
import tls_lib  # noqa: E402

O = os.path.abspath(sys.argv[1])
NODES = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
DAY = int(sys.argv[3]) if len(sys.argv) > 3 else 50
TOKEN = "the-token-of-any-node"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Receiver:
    def __init__(self, folder, *more):
        self.folder, self.port = folder, free_port()
        self.pg = postgres.Server() if os.environ.get("STORE_ENGINE") == "postgresql" else None
        self.store = self.pg.url() if self.pg else folder + "/stats.db"
        for name, text in (
                ("alpha.yml", "name: alpha\nqstat:\n  command: /bin/true\n"),
                ("tokens", "* %s\n" % TOKEN),
                ("tls.yml", "tls_server_config:\n  cert_file: server.pem\n"
                 "  key_file: server.key\n")):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
            os.chmod(os.path.join(folder, name), 0o600)
        self.p = subprocess.Popen(
            [O + "/batchjob_stats_db", "--store.path=" + self.store,
             "--cluster.file=%s/alpha.yml" % folder, "--record.token-file=%s/tokens" % folder,
             "--record.config.file=%s/tls.yml" % folder,
             "--record.listen-address=127.0.0.1:%d" % self.port, *more],
            stderr=open(folder + "/log", "w"))
        end = time.monotonic() + 60
        while "receiving records" not in open(folder + "/log").read():
            if time.monotonic() > end:
                sys.exit("no receiver")
            time.sleep(0.05)

    def memory(self, what="VmHWM"):
        with open("/proc/%d/status" % self.p.pid) as f:
            return int(re.search(what + r":\s+(\d+)", f.read()).group(1)) / 1024

    def cpu(self):
        with open("/proc/%d/stat" % self.p.pid) as f:
            v = f.read().rsplit(")", 1)[1].split()
        return (int(v[11]) + int(v[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, nodes, batches, records, keep=0):
        """Seconds, handshakes, repeated requests, connections held at the end."""
        before = self.cpu()
        p = subprocess.run([O + "/bench/records_load", str(self.port), self.folder + "/ca.pem",
                            TOKEN, str(nodes), str(batches), str(records), str(keep)],
                           capture_output=True, text=True)
        if p.returncode:
            sys.exit(p.stderr)
        v = p.stdout.split()
        return float(v[0]), int(v[1]), int(v[2]), int(v[3]), self.cpu() - before

    def rows(self):
        if self.pg:
            return int(self.pg.sql("SELECT count(*) FROM node_record"))
        db = sqlite3.connect(self.store)
        try:
            return db.execute("SELECT count(*) FROM node_record").fetchone()[0]
        finally:
            db.close()

    def end(self):
        self.p.terminate()
        self.p.wait()
        if self.pg:
            self.pg.close()


def certificates(folder):
    tls_lib.ca(folder, "ca", tls_lib.EC)
    tls_lib.cert(folder, "server", "ca", "/CN=localhost", "subjectAltName=DNS:localhost",
                 key=tls_lib.EC)


def main():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for what, nodes, batches, records, more in (
            ("8 connections that stay, 500 records a request", 8, 50, 500, ()),
            ("256 connections that stay, 50 records a request", 256, 16, 50, ()),
            ("%d nodes at once, %d records each" % (NODES, DAY), NODES, max(DAY // 50, 1),
             min(DAY, 50), ())):
        folder = tempfile.mkdtemp(prefix="bj-bench.")
        certificates(folder)
        r = Receiver(folder, *more)
        total = nodes * batches * records
        sec, hands, again, held, cpu = r.load(nodes, batches, records, 3)
        assert r.rows() == total, (r.rows(), total)
        print("%s: %d records in %.1f s, %.0f a second, %.0f for a second of CPU time; %d "
              "handshakes, %d repeated requests, %d connections held 3 s later; at most "
              "%.0f MiB resident" % (what, total, sec, total / sec, total / cpu, hands, again,
                                     held, r.memory()), flush=True)
        r.end()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
