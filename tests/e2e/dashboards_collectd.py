#!/usr/bin/env python3
"""List the panels of examples/grafana/prometheus without data in a Prometheus that
scrapes collectd, although it has all metrics of their queries.

  dashboards_collectd.py PROMETHEUS_URL JOBID [RATE_INTERVAL]

Prints one panel per line, then "N queries have data"."""
import glob
import json
import os
import re
import sys
import urllib.parse
import urllib.request

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
url, jobid = sys.argv[1:3]
rate = sys.argv[3] if len(sys.argv) > 3 else "10s"
values = {"node": ".*", "user": ".*", "cluster": ".*", "jobid": jobid,
          "__rate_interval": rate, "__range": rate}


def query(expr):
    path = "/api/v1/query?" + urllib.parse.urlencode({"query": expr})
    with urllib.request.urlopen(url + path, timeout=300) as reply:
        return json.load(reply)["data"]["result"]


present = {r["metric"]["__name__"] for r in query('count by (__name__) ({__name__=~"batchjob_.+"})')}
good = 0
for path in sorted(glob.glob(TOP + "/examples/grafana/prometheus/*.json")):
    with open(path) as f:
        board = json.load(f)
    for panel in board["panels"]:
        for target in panel["targets"]:
            expr = re.sub(r"\$(\w+)", lambda m: values[m.group(1)], target["expr"])
            if not set(re.findall(r"batchjob_\w+", expr)) <= present:
                continue
            if query(expr):
                good += 1
            else:
                print("%s: %s: %s" % (os.path.basename(path), panel["title"], expr))
print("%d queries have data" % good)
