#!/usr/bin/env python3
"""Every kind of page in Chromium with axe-core: no violations, no scrolling sideways, at 1400 pixels light with the
script of the pages and at 390 dark without it.  BJ_TEST_LONG: also the other two.  TAP."""
import html
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import check, run, same, skip  # noqa: E402
from page_lib import AXE, each_kind, npm_package, set_up  # noqa: E402

LONG = bool(os.environ.get("BJ_TEST_LONG"))
LOOKS = [(1400, "light"), (390, "dark")] + ([(1400, "dark"), (390, "light")] if LONG else [])
RUN = """<script src="axe.min.js"></script><script>
axe.run(document, {resultTypes: ['violations']}).then(r => parent.postMessage(JSON.stringify([document.title + ' @' + %d,
  r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 160)).slice(0, 3).join(' | ')),
  r.passes.length, document.documentElement.scrollWidth, innerWidth]), '*'))</script></body>"""
ALL = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>all</title></head><body><pre id="out"></pre><script>
let got = []; onmessage = e => { got.push(e.data); document.getElementById('out').textContent = got.join('\\n') }</script>%s</body></html>"""


def pages(site):
    package, why = npm_package(AXE)
    if not shutil.which("chromium"):
        package, why = None, "chromium is not installed"
    if why:
        skip("axe-core", why)
        return
    shutil.copy(os.path.join(package, "axe.min.js"), os.path.join(site.folder, "axe.min.js"))
    frames, wanted = {"light": "", "dark": ""}, {"light": set(), "dark": set()}
    for kind, a in each_kind(site):
        text = re.sub(r'(href|src)="(?:\.\./)*static/', r'\1="', a.body.decode())
        title = html.unescape(re.search("<title>(.*?)</title>", text)[1])
        check(a.status == (404 if kind == "refused" else 200) and title.strip(), "%s: status and title" % kind, a.status, title)
        for width, scheme in LOOKS:
            one = text if width == 1400 else re.sub(r"<script src=[^>]*></script>", "", text)
            site.file("%s-%d.html" % (kind, width), one.replace("</body>", RUN % width), 0o644)
            frames[scheme] += '<iframe title="%s" width="%d" height="900" src="%s-%d.html"></iframe>' % (kind, width, kind, width)
            wanted[scheme].add("%s @%d" % (title, width))
    for name in "style.css", "pages.js", "icon.svg":
        site.file(name, site.fetch("/static/" + name).body.decode(), 0o644)
    for scheme, number in ("light", 1), ("dark", 0):
        site.file("all.html", ALL % frames[scheme], 0o644)
        p = subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                            "--allow-file-access-from-files", "--user-data-dir=" + os.path.join(site.folder, "chromium"),
                            "--window-size=1500,1000", "--blink-settings=preferredColorScheme=%d" % number,
                            "--virtual-time-budget=300000", "--dump-dom", "file://" + os.path.join(site.folder, "all.html")],
                           capture_output=True, text=True, timeout=400, check=False)
        out = re.search('<pre id="out">(.*?)</pre>', p.stdout, re.S)
        results = [json.loads(line) for line in html.unescape(out[1] if out else "").splitlines()]
        same({r[0] for r in results}, wanted[scheme], scheme + ": axe-core has looked at each page")
        for name, violations, passes, _, _ in sorted(results):
            check(passes > 5 and not violations, "%s, %s: no violations" % (name, scheme), passes, *violations)
        same({r[0]: (r[3], r[4]) for r in results if r[3] > r[4]}, {}, scheme + ": no page scrolls sideways")


sys.exit(run(set_up, pages, count=1500, days=40, wide=True))
