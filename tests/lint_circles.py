#!/usr/bin/env python3
"""Print every circle between files of the product.

    tests/lint_circles.py BUILD [-v]

Two kinds of circle: headers that include each other, and sources that call
each other's functions (from the symbols of BUILD's object files), directly or
through others.  -v prints the edges and the symbols that cause them.
"""
import os
import re
import subprocess
import sys

ROOMS = "base sched carbon promql core collectd-plugin standalone store statsdb report mail notify acct apiserver".split()
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def circles(graph):
    """Tarjan's strongly connected components of more than one node."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for to in graph[node]:
            if to not in index:
                visit(to)
                low[node] = min(low[node], low[to])
            elif to in stack:
                low[node] = min(low[node], index[to])
        if low[node] == index[node]:
            ring = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(ring) > 1:
                found.append(sorted(ring))

    for node in graph:
        if node not in index:
            visit(node)
    return sorted(found)


def files_below(top, suffix):
    return sorted(os.path.join(folder, name) for room in ROOMS
                  for folder, _, names in os.walk(os.path.join(top, room))
                  for name in names if name.endswith(suffix))


def header_graph():
    headers = {os.path.relpath(f) for f in files_below(".", ".h")}
    graph = {}
    for header in headers:
        with open(header, encoding="utf-8") as text:
            graph[header] = {i: [] for i in INCLUDE.findall(text.read()) if i in headers}
    return graph


def symbol_graph(build):
    """Source -> {source: [symbols]}, without the name main, which several programs define."""
    defined = {}
    paths = {path: os.path.relpath(path, build)[:-2] + ".c" for path in files_below(build, ".o")}
    # Ignore objects whose source was renamed or removed.
    paths = {path: source for path, source in paths.items() if os.path.exists(source)}
    if not paths:
        return {}
    wanted = {source: set() for source in paths.values()}
    for line in subprocess.run(["nm", "-A", "-P", *paths], check=True, text=True,
                               capture_output=True).stdout.splitlines():
        path, name, kind = line.split()[:3]
        source = paths[path.rstrip(":")]
        if kind == "U":
            wanted[source].add(name)
        elif kind.isupper() and name != "main":
            defined.setdefault(name, source)
    graph = {source: {} for source in wanted}
    for source, names in wanted.items():
        for name in sorted(names):
            owner = defined.get(name)
            if owner and owner != source:
                graph[source].setdefault(owner, []).append(name)
    return graph


def report(what, graph, verbose):
    rings = circles(graph)
    for ring in rings:
        print(f"{what} of {len(ring)} files: {' '.join(ring)}")
        for source in ring if verbose else ():
            for to in ring:
                if to in graph[source]:
                    print(f"    {source} needs {to} {' '.join(graph[source][to])}")
    return bool(rings)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.setrecursionlimit(10000)
    verbose = "-v" in sys.argv
    symbols = symbol_graph(sys.argv[1])
    if not symbols:
        sys.exit(f"{sys.argv[1]} has no object files: build first")
    bad = report("headers include each other, circle", header_graph(), verbose)
    bad |= report("sources need each other, circle", symbols, verbose)
    sys.exit(bad)


if __name__ == "__main__":
    main()
