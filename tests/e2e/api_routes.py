#!/usr/bin/env python3
"""Each path of the server: the title of pages, methods that it refuses, names that nobody has, parameters that it
does not know.  The paths are those of the OpenAPI document.  TAP."""
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rpartition("/")[0])
from api_lib import check, run, same, user  # noqa: E402
from page_lib import GRAFANA, set_up  # noqa: E402

METHOD = "This path does not allow that method."
# What a path says about a name that nobody has.  Pages of a user, an account or a node are empty: jobs may come.
ABSENT = {"job": "The job does not exist, or you may not see it.", "user": "The user does not exist, or you may not see it."}
EMPTY = {"/users/{user}", "/accounts/{account}", "/nodes/{node}"}
NO_SERVER = "No Prometheus server is configured (prometheus.url)."
# Paths that ignore parameters: they answer health checks, other programs' clients, or always the same.
FREE = re.compile(r"/$|/health|/metrics|/api$|/api/v1$|/api/(health|accounts|jobs)$|/api/simpod|/api/v1/openapi.json|/static/"
                  r"|/prometheus/|/\{job\}$")


def said(a):
    """The sentence of a refusal, of a page or of JSON."""
    text = a.body.decode()
    if a.headers["Content-Type"].startswith("application/json"):
        return a.json["error"]
    return re.sub(r"&#39;", "'", re.search(r"<main.*?<p>(.*?)</p>", text, re.S).group(1))


def routes(site):
    who = GRAFANA, user("boss")
    paths = site.fetch("/api/v1/openapi.json").json["paths"]
    check(len(paths) >= 75, "the document has all paths", len(paths))
    pages = set()
    for path, methods in sorted(paths.items()):
        # Only a number is the job of a path of one part.
        real = "/9999999" if path == "/{job}" else re.sub(r"\{\w+\}", "nosuch9", path)
        if path == "/metrics":
            allow = "GET, HEAD"
        else:
            allow = ", ".join(["GET", "HEAD"] * ("get" in methods) + ["POST"] * ("post" in methods))
        gate = path.startswith("/prometheus/")
        for method in ("POST", "DELETE", "PUT"):
            if method.lower() in methods:
                continue
            a = site.fetch(real, *who, method=method, body=b"")
            same((a.status, said(a)), (405, METHOD), "%s %s is refused" % (method, path))
            if not gate:
                same(a.headers["Allow"], allow, "%s %s: Allow" % (method, path))
        if "get" not in methods or gate:
            continue
        a = site.fetch(real, *who)
        title = re.search(rb"<title>(.*?)</title>", a.body)
        if title:
            pages.add(title.group(1))
            same(a.body.count(b"<title>"), 1, path + " has one title")
            check(b'rel="icon"' in a.body, path + " has an icon")
        name = re.search(r"\{(job|user|account|node)\}", path)
        if path in ("/find", "/{job}"):
            same(a.status, 303, path + " leads on")
        elif name and path not in EMPTY:
            same((a.status, said(a) in (ABSENT[name.group(1)], NO_SERVER)), (404, True), path + ": nobody has this name")
        else:
            same(a.status, 200, path)
        a = site.fetch(real + "?nosuch=1", *who)
        if not FREE.match(path):
            check(a.status == 400 and said(a).startswith("Unknown parameter"), path + ": an unknown parameter", a.status, a.body[-300:])
        elif not name:
            same(a.status, 200, path + " ignores parameters")
    check(len(pages) >= 15, "pages have titles of their own", pages)
    same(said(site.fetch("/nosuch/path", *who)), "This path does not exist.", "a path that does not exist")


sys.exit(run(set_up, routes, count=300, days=10))
