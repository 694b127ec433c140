#!/usr/bin/python3
"""Compare pages of exporters that query one Slurm in different ways: TAP.

  cluster_ways.py URL WAY=URL...   the first reads the text of the commands
  cluster_ways.py nonsense PORT    a slurmrestd with a valid list of paths, but
                                   broken JSON in all other replies
"""
import collections
import http.server
import re
import sys
import tempfile
import time
import urllib.request

import prom

# Not compared: changes by itself, is about the queries, or is worded differently.
NOT_COMPARED = re.compile(r"batchjob_cluster_(source|controller|rpc|user_rpc|node_state)_"
                          r"|_memory_free_bytes$")
# Grows each second by the number of waiting jobs.
GROWS = re.compile(r"_wait(_max)?_seconds$")
OURS = re.compile(r"batchjob_(cluster|partition|reservation)_")
# The JSON of Slurm 22.05 has no submit host, and its slurmrestd no shares.
MISSING = {"json": ["batchjob_cluster_host_"],
           "socket": ["batchjob_cluster_host_", "batchjob_cluster_shares"],
           "tcp": ["batchjob_cluster_host_", "batchjob_cluster_shares"]}


def page(url):
    with urllib.request.urlopen(url + "/metrics", timeout=300) as r, \
            tempfile.NamedTemporaryFile() as f:
        f.write(r.read())
        f.flush()
        return {(n, tuple(sorted(l.items()))): float(v)
                for n, l, v in prom.parse(f.name) if OURS.match(n)}


def versions():
    """The version of Slurm, as (major, minor)."""
    import subprocess
    text = subprocess.run(["sinfo", "--version"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return tuple(int(x) for x in re.findall(r"\d+", text)[:2])


def differ(way, a, b):
    new = versions() >= (23, 2)
    missing = () if new else tuple(MISSING.get(way, []))
    bad = []
    for key in sorted(set(a) | set(b)):
        name = key[0]
        if name.startswith(missing) and key not in b:
            continue
        if NOT_COMPARED.search(name):
            if name.endswith("_free_bytes") and (key in a) != (key in b):
                bad.append(f"{key}: text {a.get(key)}, {way} {b.get(key)}")
            continue
        if GROWS.search(name) and key in a and key in b:
            if abs(a[key] - b[key]) <= 0.2 * max(a[key], b[key]) + 100:
                continue
        if a.get(key) != b.get(key):
            bad.append(f"{key}: text {a.get(key)}, {way} {b.get(key)}")
    return bad


def bad_lines(p):
    return {dict(k[1])["source"]: v for k, v in p.items()
            if k[0] == "batchjob_cluster_source_bad_lines_total" and v}


def controller(p):
    return {k[0]: v for k, v in p.items()
            if re.search("controller_jobs_(submitted|started|completed|failed)", k[0])}


def compare(url, ways):
    failures = 0
    for way, other in ways:
        for _ in range(8):  # until no value changes between the two pages
            a, b = page(url), page(other)
            bad = differ(way, a, b)
            if not bad:
                break
            time.sleep(2.5)
        families = collections.Counter(k[0] for k in b if not NOT_COMPARED.search(k[0]))
        failures += bool(bad) or len(families) < 50
        print("%sok - %s gives the same: %d figures of %d metrics" % (
            "not " if bad or len(families) < 50 else "", way,
            sum(families.values()), len(families)))
        for line in bad[:40]:
            print(f"  {line}")
        same = controller(a) == controller(b) and len(controller(b)) > 2
        failures += not same
        print("%sok - %s: the controller's counts of jobs" % ("" if same else "not ", way))
        if not same:
            print(f"  text {controller(a)}\n  {way} {controller(b)}")
        lines = bad_lines(b)
        failures += bool(lines)
        print("%sok - %s: no line of Slurm is invalid" % ("not " if lines else "", way))
        if lines:
            print(f"  {lines}")
    return failures


class Nonsense(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        text = b'{"jobs": [{"job_id": 1, "job_state": 7}, '
        if self.path == "/openapi/v3":
            text = b'{"paths": {"/slurm/v0.0.40/jobs": {}, "/slurmdb/v0.0.40/jobs": {}}}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


def main():
    if sys.argv[1] == "nonsense":
        http.server.ThreadingHTTPServer.allow_reuse_address = True
        http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])),
                                        Nonsense).serve_forever()
    sys.exit(compare(sys.argv[1], [w.split("=", 1) for w in sys.argv[2:]]) > 0)


main()
