#!/usr/bin/env python3
"""Entity tags and compressed responses of batchjob_stats_server.  TAP."""
import gzip
import http.client
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api_lib import basic, bcrypt, check, run, same, user  # noqa: E402
from ports import free_port  # noqa: E402

JOBS = "/api/v1/jobs?from=0&to=4000000000&limit=200"  # a fixed "to", as it is in the response
GZIP = ("Accept-Encoding", "gzip")
OUTSIDE = "192.0.2.10"  # RFC 5737: no real host has it


def tags(site):
    site.start("--access.trust-loopback", "--access.admins=boss")
    for path in (JOBS, JOBS + "&format=csv", "/jobs?from=0&to=2999-01-01", "/api/v1/openapi.json"):
        first = site.fetch(path, user("boss"))
        tag = first.headers["ETag"]
        check(first.status == 200 and tag, path + " has an ETag", first)
        same(first.headers["Cache-Control"], "private, no-cache", path + ": caches must revalidate it")
        for known in (tag, tag[2:], '"x", ' + tag):
            again = site.fetch(path, user("boss"), ("If-None-Match", known))
            same((again.status, again.body, again.headers["ETag"]), (304, b"", tag),
                 path + ": 304 for a client with %s" % known.replace(tag[2:], "TAG"))
        other = site.fetch(path, user("boss"), ("If-None-Match", 'W/"0000000000000000"'))
        same((other.status, other.body), (200, first.body), path + ": 200 for another tag")
    of_user, of_admin = (site.fetch(JOBS, user(u)).headers["ETag"] for u in ("user0", "boss"))
    check(of_user != of_admin, "another user's response has another tag", of_user)
    same(site.fetch(JOBS, user("user0"), ("If-None-Match", of_admin)).status, 200,
         "a tag of another user's response is not valid")
    bad = site.fetch("/api/v1/jobs?from=x", user("boss"))
    same((bad.status, bad.headers["ETag"], bad.headers["Cache-Control"]), (400, None, "no-store"),
         "an error has no tag")
    same(site.fetch(JOBS, user("boss"), GZIP).headers["Content-Encoding"], None,
         "a client on this machine gets no compressed response")


def fetch(port, path, *headers):
    c = http.client.HTTPConnection(OUTSIDE, port, timeout=300)
    try:
        c.request("GET", path, headers=dict(headers))
        r = c.getresponse()
        return r, r.read()
    finally:
        c.close()


def compressed(site):
    if "ISOLATED" not in os.environ:
        check(True, "compressed responses # SKIP not in a private network namespace")
        return
    subprocess.run(["ip", "address", "replace", OUTSIDE + "/32", "dev", "lo"], check=True)
    web = site.file("web.yml", "basic_auth_users:\n  user0: %s\n" % bcrypt("s3cret"))
    port = free_port()
    site.start("--web.config.file=" + web, "--web.listen-address=%s:%d" % (OUTSIDE, port))
    credentials = basic("user0", "s3cret")
    for path in (JOBS, JOBS + "&format=csv", "/jobs?from=0&to=2999-01-01", "/api/v1/openapi.json"):
        plain, text = fetch(port, path, credentials)
        same((plain.status, plain.headers["Content-Encoding"], plain.headers["Vary"]),
             (200, None, "Accept-Encoding"), path + " without Accept-Encoding")
        r, packed = fetch(port, path, credentials, GZIP)
        same((r.headers["Content-Encoding"], r.headers["ETag"]), ("gzip", plain.headers["ETag"]),
             path + " is compressed and has the same tag")
        same(gzip.decompress(packed), text, path + " is the same text")
        check(len(packed) < len(text) / 2, path + " is less than half as long",
              (len(packed), len(text)))
    for refusal in ("gzip;q=0", "identity, gzip;q=0.5", "br"):
        r, body = fetch(port, JOBS, credentials, ("Accept-Encoding", refusal))
        same(r.headers["Content-Encoding"], None, "not compressed for " + refusal)
    r, body = fetch(port, "/api/v1/me", credentials, GZIP)
    same(r.headers["Content-Encoding"], None, "a short response is not compressed")


sys.exit(run(tags, compressed, count=400, days=10))
