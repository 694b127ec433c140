#!/usr/bin/python3
"""Scrape one URL after the other, again and again, until SIGTERM or for a
number of seconds; then print "N scrapes, M bad" and what was bad.

  hammer.py [-t SECONDS] [-p PAUSE] URL...

Bad is: no answer in 10 s, a status that is not 200, a page that our strict
parser refuses, a series that is there twice.  Exit 1 when there was any."""
import argparse
import os
import signal
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prom  # noqa: E402


def look(url, path):
    with urllib.request.urlopen(url, timeout=60) as r:
        body = r.read()
        if r.status != 200:
            return f"status {r.status}"
    with open(path, "wb") as f:
        f.write(body)
    try:
        prom.unique_series(path)
    except SystemExit as e:
        return str(e)
    return None


def main():
    args = argparse.ArgumentParser()
    args.add_argument("-t", type=float, default=1e9)
    args.add_argument("-p", type=float, default=0.02)
    args.add_argument("url", nargs="+")
    args = args.parse_args()
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    end, n, bad = time.monotonic() + args.t, 0, []
    with tempfile.NamedTemporaryFile() as f:
        while not stop and time.monotonic() < end:
            for url in args.url:
                try:
                    why = look(url, f.name)
                except OSError as e:
                    why = str(e)
                n += 1
                if why:
                    bad.append(f"{url}: {why}")
            time.sleep(args.p)
    print(f"{n} scrapes, {len(bad)} bad")
    for why in bad[:20]:
        print(why)
    return 1 if bad or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
