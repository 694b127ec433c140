#!/usr/bin/env python3
"""Every kind of page and the charts are valid HTML: the Nu Html Checker of the W3C.  TAP."""
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import check, run, same, skip  # noqa: E402
from page_lib import VNU, each_kind, npm_package, set_up  # noqa: E402

BROKEN = "<!DOCTYPE html><html lang=en><head><title>a</title></head><body><p><div></p><ul><td></ul></body></html>"


def errors(jar, *files):
    """Return {file: messages} of the checker."""
    p = subprocess.run(["java", "-Xss8m", "-XX:TieredStopAtLevel=1", "-jar", jar, "--format", "json", "--errors-only", *files],
                       capture_output=True, text=True, timeout=300, check=False)
    ret = {f: [] for f in files}
    for m in json.loads(p.stderr)["messages"]:
        ret[m["url"].removeprefix("file:")].append("%s: %s" % (m["message"], m.get("extract", "")))
    return ret


def pages(site):
    package, why = npm_package(VNU)
    if not shutil.which("java"):
        package, why = None, "java is not installed"
    if why:
        skip("the Nu Html Checker", why)
        return
    files = {}
    for kind, a in each_kind(site):
        files[site.file(kind + ".html", a.body.decode(), 0o644)] = kind
    broken = site.file("broken.html", BROKEN, 0o644)
    found = errors(package + "/build/dist/vnu.jar", broken, *files)
    check(len(found.pop(broken)) >= 2, "the checker finds errors")
    for path, messages in found.items():
        same(messages[:3], [], files[path] + ": valid HTML")


sys.exit(run(set_up, pages, count=1500, days=40, wide=True))
