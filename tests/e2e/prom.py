#!/usr/bin/python3
"""Read pages of metrics, for the end-to-end tests.

  prom.py value FILE NAME [LABEL=VALUE...]   values of the samples, one per line
  prom.py labels FILE NAME [LABEL=VALUE...]  their labels as JSON, one per line
  prom.py label FILE LABEL NAME [LABEL=VALUE...]   values of one label, sorted
  prom.py openmetrics FILE   parse it with the reference parser of OpenMetrics
  prom.py text FILE          parse it with the reference parser of the text format
  prom.py near WANT GOT REL ABS   is GOT within REL*WANT, or within ABS, of WANT?

The exit status is 1 if there is no such sample, the numbers are not near, or
the strict parser here cannot read the page."""
import json
import os
import re
import site
import sys

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def parse(path):
    """Yield the samples of a text page as (name, labels, value)."""
    with open(path, encoding="utf-8", errors="strict", newline="\n") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            m = NAME.match(line)
            if not m:
                sys.exit(f"{path}:{number}: no name: {line!r}")
            name, rest, labels = m.group(), line[m.end():], {}
            if rest.startswith("{"):
                rest = rest[1:]
                while not rest.startswith("}"):
                    m = LABEL.match(rest)
                    if not m or m.group(1) in labels:
                        sys.exit(f"{path}:{number}: bad label: {line!r}")
                    labels[m.group(1)] = re.sub(
                        r'\\["\\n]', lambda e: ESCAPES[e.group()], m.group(2))
                    rest = rest[m.end():].removeprefix(",")
                rest = rest[1:]
            yield name, labels, rest.split()[0]


def select(path, name, filters):
    want = dict(f.split("=", 1) for f in filters)
    return [(labels, value) for n, labels, value in parse(path)
            if n == name and all(labels.get(k) == v for k, v in want.items())]


def unique_series(path):
    seen = set()
    for name, labels, _ in parse(path):
        key = (name, tuple(sorted(labels.items())))
        if key in seen:
            sys.exit(f"{path}: twice: {key}")
        seen.add(key)
    return len(seen)


def openmetrics(path):
    from prometheus_client.openmetrics import parser
    with open(path, encoding="utf-8", newline="\n") as f:
        n = sum(len(fam.samples) for fam in
                parser.text_fd_to_metric_families(f))
    print(n)
    return 0 if n else 1


def text(path):
    from prometheus_client import parser
    with open(path, encoding="utf-8", newline="\n") as f:
        n = sum(len(fam.samples) for fam in
                parser.text_fd_to_metric_families(f))
    if n != unique_series(path):
        sys.exit(f"{path}: the reference parser sees {n} samples")
    print(n)
    return 0 if n else 1


def near(want, got, rel, absolute):
    want, got, rel, absolute = map(float, (want, got, rel, absolute))
    return 0 if abs(want - got) <= max(rel * abs(want), absolute) else 1


def main(args):
    command, args = args[0], args[1:]
    if command == "near":
        return near(*args)
    if command in ("openmetrics", "text"):
        site.main()  # not done by python -S: adds site-packages
        return globals()[command](args[0])
    if command == "label":
        rows = select(args[0], args[2], args[3:])
        lines = sorted({labels.get(args[1], "") for labels, _ in rows})
    else:
        rows = select(args[0], args[1], args[2:])
        lines = [value if command == "value" else json.dumps(labels,
                                                             sort_keys=True)
                 for labels, value in rows]
    for line in lines:
        print(line)
    sys.stdout.flush()
    return 0 if lines else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError: # the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except (IndexError, TypeError):
        sys.exit(__doc__)
