#!/usr/bin/python3
"""Scrape the URLs in turn until SIGTERM, or for a number of seconds; then print
"N scrapes, M bad" and the reasons.

  hammer.py [-t SECONDS] [-p PAUSE] URL...

A scrape is bad if there is no response within 60 s, the status is not 200, the strict
parser prom.py refuses the page, or a series occurs twice.  Exit 1 after a bad scrape."""
import argparse
import os
import signal
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prom  # noqa: E402


def scrape(url, path):
    with urllib.request.urlopen(url, timeout=300) as r:
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
                    why = scrape(url, f.name)
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
