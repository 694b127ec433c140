#!/usr/bin/env python3
"""Tables of pages that the script may sort: which they are, and in which order it puts their rows.  TAP."""
import contextlib
import html
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import check, run, same, skip  # noqa: E402
from page_lib import each_kind, fetch, set_up  # noqa: E402

# The first titles of the tables of each kind; "-": the order of the rows says something, or there are more on another page.
TABLES = {
    "start": ["User", "User"], "jobs": ["Job", "-Job"], "job": ["-", "-GPU", "-Node", "-Time", "-Time", "-Time", "-Time", "-"],
    "queue": ["Waits for", "Partition", "-Wait", "Account", "User", "Job"], "findings": ["Severity", "Severity"],
    "usage": ["Account"], "user": ["Severity", "Account", "Month"], "account": ["User", "Month"],
    "bill": ["-Item", "User"], "nodes": ["Node", "Node"], "node": ["Job"],
    "support": ["User", "Severity", "Node"], "management": ["Account", "Month", "Application"], "own": ["Job"]}
LIST = "/jobs?from=2000-01-01&state=oom&state=timeout&limit=500"
FIELDS = {"Elapsed": "elapsed_seconds", "CPUs": "cpus", "Started": "start", "CPU efficiency": "cpu_efficiency_percent"}
CLICK = """<pre id="out"></pre><script>
onload = () => {
  const ret = {}, ids = () => [...document.querySelectorAll('table[data-sort] tbody tr')].map(r => r.querySelector('a').href);
  for (const b of document.querySelectorAll('table[data-sort] thead button')) {
    const of = ret[b.textContent] = [];
    for (let i = 0; i < 2; i++) { b.click(); of.push([b.parentNode.getAttribute('aria-sort'), ids()]); }
  }
  document.getElementById('out').textContent = JSON.stringify(ret);
};</script></body>"""


def tables(text):
    return [("" if "data-sort" in attributes else "-") + re.sub("<.*?>", "", head).strip() for attributes, head in
            re.findall(r"<table([^>]*)>.*?<(?:th|td)[^>]*>(.*?)</t[hd]>", text, re.S)]


def shown(v, field):
    """A value with the digits that pages show: the order of equal ones is open."""
    return float("%.2g" % v) if v is not None and field.endswith("percent") else v


def marked(site):
    """The pages mark the tables that are whole lists."""
    found = {kind: tables(a.body.decode()) for kind, a in each_kind(site)}
    found["own"] = tables(fetch(site, "/home").body.decode())
    for kind, expected in TABLES.items():
        same(found[kind], expected, kind + ": tables that can be sorted")


def without_gpus(site):
    """On a site where jobs held no GPUs no card is about them."""
    with contextlib.closing(sqlite3.connect(site.store)) as db, db:
        db.execute("UPDATE rollup_usage SET gpu_sec = 0")
    site.refresh()
    body = fetch(site, "/home", "boss").body.decode()
    check("most unused CPU hours" in body and "unused GPU hours" not in body, "no users with unused GPU hours")


def sort(site):
    """The script sorts by values, not by their texts; what is not known is last."""
    if not shutil.which("chromium"):
        skip("sorting by the script", "chromium is not installed")
        return
    text = re.sub(r'(href|src)="static/', r'\1="', fetch(site, LIST, "boss").body.decode())
    jobs = {j["key"]: j for j in fetch(site, "/api/v1" + LIST + "&fields=key&fields=" + "&fields=".join(FIELDS.values()), "boss").data}
    path = site.file("sort.html", text.replace("</body>", CLICK), 0o644)
    site.file("pages.js", site.fetch("/static/pages.js").body.decode(), 0o644)
    p = subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                        "--user-data-dir=" + os.path.join(site.folder, "chromium"), "--dump-dom", "file://" + path],
                       capture_output=True, text=True, timeout=300, check=False)
    out = re.search('<pre id="out">(.*?)</pre>', p.stdout, re.S)
    clicked = json.loads(html.unescape(out[1])) if out and out[1] else {}
    check(len(jobs) > 20, "a list that is one page", len(jobs), tables(text))
    for title, field in FIELDS.items():
        for direction, links in clicked.get(title, [["none", []]]):
            of = [shown(jobs[urllib.parse.unquote(re.search("jobs/(.*)", i)[1])][field], field) for i in links]
            known = sorted((v for v in of if v is not None), reverse=direction == "descending")
            same(of, known + [None] * (len(jobs) - len(known)), "%s, %s" % (title, direction))
        same([d for d, _ in clicked.get(title, [])], ["descending", "ascending"], title + ": the directions of two clicks")


def pages(site):
    marked(site)
    sort(site)
    without_gpus(site)


sys.exit(run(set_up, pages, count=1500, days=40, wide=True))
