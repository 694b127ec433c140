#!/usr/bin/env python3
"""The dashboards in examples/grafana: what they ask is answered, by columns of
one length, and their metrics exist.  TAP."""
import glob
import json
import os
import re
import sys
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import TOP, check, run, same, user  # noqa: E402

FOLDER = os.path.join(TOP, "examples/grafana")


def begin(site):
    site.start("--access.trust-loopback", "--access.admins=boss")
    site.key = site.ask("/api/v1/jobs?limit=1&from=0&state=ended&fields=key",
                        user("user3")).data[0]["key"]


def fill(text, site, all_value):
    """As Grafana and the plugin would: macros and variables."""
    values = {"user": all_value, "account": all_value, "partition": "*", "state": "all",
              "job": site.key, "id": site.key.split(":")[1]}
    text = text.replace("$__unixEpochFrom()", str(site.now - 30 * 86400))
    text = text.replace("$__unixEpochTo()", str(site.now))
    return re.sub(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)",
                  lambda m: values[m.group(1) or m.group(2)], text)


def ask(site, target, who, all_value):
    params = [(fill(k, site, all_value), fill(v, site, all_value)) for k, v in target["params"]]
    return site.ask("/api/v1%s?%s" % (target["urlPath"], urllib.parse.urlencode(params)),
                    user(who))


def column(rows, path):
    """What a JSONPath of the form $.data[*].key finds: missing keys are left out."""
    key = re.fullmatch(r"\$\.data\[\*\]\.(\w+)", path).group(1)
    return [r[key] for r in rows if key in r]


def look(site, where, target):
    for who, all_value in (("user3", "*"), ("user3", "$__all"), ("boss", "*"), ("newcomer", "")):
        a = ask(site, target, who, all_value)
        if a.status != 200:
            check(False, where, who, a)
            return
        lengths = {len(column(a.data, f["jsonPath"])) for f in target["fields"]}
        if lengths != {len(a.data)}:
            check(False, where + ": fields of one length", who, lengths)
            return
        for f in target["fields"]:
            kinds = {"number": (int, float), "time": (int, float), "string": str,
                     "boolean": bool}[f["type"]]
            values = column(a.data, f["jsonPath"])
            if not all(v is None or isinstance(v, kinds) for v in values):
                check(False, "%s: %s is %s" % (where, f["name"], f["type"]), values[:3])
                return
        if who == "user3" and not a.data:
            check(False, where + " has data")
            return
    check(target["cacheDurationSeconds"] == 0, where + " is answered")


def boards(site):
    metrics = set(re.findall(r"`(batchjob_\w+)`", open(os.path.join(TOP, "docs/metrics.md")).read()))
    uids = {}
    for path in sorted(glob.glob(FOLDER + "/*.json")):
        name = os.path.basename(path)
        with open(path) as f:
            board = json.load(f)
        uids[board["uid"]] = board
        same((board["id"], board["schemaVersion"] >= 36), (None, True), name + " can be imported")
        names = [v["name"] for v in board["templating"]["list"]]
        text = json.dumps(board["panels"])
        used = set(re.findall(r"\$\{?(\w+)", text)) - {"__unixEpochFrom", "__unixEpochTo", "__data",
                                                       "__rate_interval", "data"}
        check({u for u in used if not u.startswith("__")} <= set(names),
              name + " uses variables that it has", used - set(names))
        ids = [p["id"] for p in board["panels"]]
        same(len(set(ids)), len(ids), name + ": panels have numbers of their own")
        for v in board["templating"]["list"]:
            if v["type"] == "query":
                look(site, "%s: variable %s" % (name, v["name"]), v["query"])
        for p in board["panels"]:
            for t in p["targets"]:
                where = "%s: %s" % (name, p["title"])
                if "expr" in t:
                    unknown = set(re.findall(r"batchjob_\w+", t["expr"])) - metrics
                    check(not unknown and t["expr"].count('{jobid="$id"}')
                          == len(re.findall(r"batchjob_\w+", t["expr"])),
                          where + " asks for metrics of one job", unknown)
                else:
                    look(site, where, t)
    for board in uids.values():
        for uid in re.findall(r"/d/([\w-]+)/", json.dumps(board)):
            check(uid in uids, "%s links to a dashboard that is there" % board["title"], uid)


sys.exit(run(begin, boards, count=600, days=25))
