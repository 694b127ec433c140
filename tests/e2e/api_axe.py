#!/usr/bin/env python3
"""Every kind of page in Chromium with axe-core: no violations, no scrolling sideways, at 1400 pixels with the
script of the pages and at 390 without it, light and dark.  TAP."""
import fcntl
import html
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import O, TOP, check, run, same, skip, user  # noqa: E402
from page_lib import FakePrometheus, GRAFANA, set_up  # noqa: E402

AXE = "axe-core@4.14.1"
RUN = """<script src="axe.min.js"></script><script>
axe.run(document, {resultTypes: ['violations']}).then(r => parent.postMessage(JSON.stringify([document.title + ' @' + %d,
  r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 160)).slice(0, 3).join(' | ')),
  r.passes.length, document.documentElement.scrollWidth, innerWidth]), '*'))</script></body>"""
ALL = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>all</title></head><body><pre id="out"></pre><script>
let got = []; onmessage = e => { got.push(e.data); document.getElementById('out').textContent = got.join('\\n') }</script>%s</body></html>"""


def install():
    """Return the path of axe-core's script, or None, and why it is missing."""
    folder = os.path.abspath(os.path.join(TOP, O, AXE.replace("@", "-")))
    path = os.path.join(folder, "package/axe.min.js")
    if not shutil.which("npm") or not shutil.which("chromium"):
        return None, "npm or chromium is not installed"
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            p = subprocess.run(["npm", "pack", "--silent", "--fetch-timeout=30000", "--fetch-retries=1", AXE], cwd=folder,
                               capture_output=True, text=True, timeout=200, check=False)
            if p.returncode != 0:
                return None, "npm's registry cannot be reached"
            subprocess.run(["tar", "xzf", p.stdout.split()[-1]], cwd=folder, check=True)
    return path, None


def kinds(site):
    """The paths of one page of each kind."""
    month = time.strftime("%Y-%m", time.gmtime(site.now))
    node, = site.db().execute("SELECT name FROM host LIMIT 1").fetchone()
    running, = site.db().execute("SELECT c.name || ':' || j.jobid || ':' || j.submit FROM job AS j JOIN cluster AS c ON c.id = j.cluster"
                                 " WHERE \"end\" IS NULL AND start IS NOT NULL LIMIT 1").fetchone()
    keys = [j["key"] for j in site.own_jobs[:2]]
    return {"start": "/home", "jobs": "/jobs?from=2000-01-01", "job": "/jobs/" + site.key, "running": "/jobs/" + running,
            "compare": "/compare?job=" + "&job=".join(keys), "queue": "/queue", "findings": "/findings?from=2000-01-01",
            "usage": "/usage?from=2000-01-01", "user": "/users/user3", "account": "/accounts/acct1",
            "bill": "/accounts/acct1?month=" + month, "cluster": "/cluster", "gpus": "/gpus", "nodes": "/nodes",
            "node": "/nodes/" + node, "support": "/support", "management": "/management?month=" + month,
            "year": "/management?from=2000-01-01", "mail": "/mail", "refused": "/jobs/0"}


def pages(site):
    axe, why = install()
    if why:
        skip("axe-core", why)
        return
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
    shutil.copy(axe, os.path.join(site.folder, "axe.min.js"))
    for name in "style.css", "pages.js", "icon.svg":
        site.file(name, site.fetch("/static/" + name).body.decode(), 0o644)
    frames, wanted = "", set()
    for kind, path in kinds(site).items():
        a = site.fetch(path, GRAFANA, user("user3" if kind == "mail" else "boss"), ("Accept", "text/html"))
        text = re.sub(r'(href|src)="(?:\.\./)*static/', r'\1="', a.body.decode())
        title = html.unescape(re.search("<title>(.*?)</title>", text)[1])
        check(a.status == (404 if kind == "refused" else 200) and title.strip(), "%s: status and title" % kind, a.status, title)
        for width in 1400, 390:
            one = text if width == 1400 else re.sub(r"<script src=[^>]*></script>", "", text)
            site.file("%s-%d.html" % (kind, width), one.replace("</body>", RUN % width), 0o644)
            frames += '<iframe title="%s" width="%d" height="900" src="%s-%d.html"></iframe>' % (kind, width, kind, width)
            wanted.add("%s @%d" % (title, width))
    site.file("all.html", ALL % frames, 0o644)
    for scheme, number in ("light", 1), ("dark", 0):
        p = subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                            "--allow-file-access-from-files", "--user-data-dir=" + os.path.join(site.folder, "chromium"),
                            "--window-size=1500,1000", "--blink-settings=preferredColorScheme=%d" % number,
                            "--virtual-time-budget=300000", "--dump-dom", "file://" + os.path.join(site.folder, "all.html")],
                           capture_output=True, text=True, timeout=400, check=False)
        out = re.search('<pre id="out">(.*?)</pre>', p.stdout, re.S)
        results = [json.loads(line) for line in html.unescape(out[1] if out else "").splitlines()]
        same({r[0] for r in results}, wanted, scheme + ": axe-core has looked at each page")
        for name, violations, passes, _, _ in sorted(results):
            check(passes > 5 and not violations, "%s, %s: no violations" % (name, scheme), passes, *violations)
        if scheme == "light":
            same({r[0]: (r[3], r[4]) for r in results if r[3] > r[4]}, {}, "no page scrolls sideways")


sys.exit(run(set_up, pages, count=1500, days=40))
