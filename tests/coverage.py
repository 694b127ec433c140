#!/usr/bin/env python3
"""Lines and branches that the tests ran, by room, from a build with --coverage.

  coverage.py BUILD          print the table; status 1 if a room is below the limit
  coverage.py BUILD --write  also write it into docs/contributing.md
  coverage.py BUILD ROOM     print the lines of a room that no test ran"""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
DOCUMENT = os.path.join(ROOT, "docs/contributing.md")
LIMIT = 80  # percent of the lines
BEGIN, END = "<!-- measured: coverage -->\n", "<!-- end of coverage -->\n"


def rooms():
    """The rooms in tests/lint, the longest names first."""
    with open(os.path.join(ROOT, "tests/lint"), encoding="utf-8") as f:
        table = re.search(r"^room_table\(\).*?<<'END'\n(.*?)^END", f.read(), re.S | re.M).group(1)
    return sorted((line.split()[0] for line in table.splitlines()), key=lambda r: (-len(r), r))


def reports(build):
    """What gcov says of each object that ran."""
    for folder, _, files in os.walk(build):
        data = [os.path.join(folder, f) for f in files if f.endswith(".gcno")]
        if data and not folder.startswith((os.path.join(build, "tests"), os.path.join(build, "unit"))):
            out = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout"] + data, cwd=ROOT,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
            for line in out.splitlines():
                yield from json.loads(line)["files"]


def measure(build):
    """For each room the counts of lines and branches: those that ran, and all; and the lines that did not run."""
    names, counts, missed = rooms(), {}, {}
    lines = {}  # by file and number, since several objects may include a file
    for report in reports(build):
        name = os.path.relpath(os.path.join(ROOT, report["file"]), ROOT)
        for line in report["lines"]:
            old = lines.get((name, line["line_number"]), (0, []))
            branches = [b["count"] for b in line["branches"]]
            if len(old[1]) == len(branches):
                branches = [a + b for a, b in zip(old[1], branches)]
            lines[name, line["line_number"]] = (old[0] + line["count"], branches)
    for (name, number), (count, branches) in lines.items():
        room = next((r for r in names if name.startswith(r + "/")), None)
        # An object of a file that was removed may be left in the build.
        if not room or not name.endswith(".c") or not os.path.exists(os.path.join(ROOT, name)):
            continue
        c = counts.setdefault(room, [0, 0, 0, 0])
        c[0] += count > 0
        c[1] += 1
        c[2] += sum(b > 0 for b in branches)
        c[3] += len(branches)
        if not count:
            missed.setdefault(room, []).append((name, number))
    return counts, missed


def percent(n, of):
    return "%d %%" % (100 * n // of) if of else "-"


def table(counts):
    out = ["| Room | Lines | ran | Branches ran |", "|---|---|---|---|"]
    for room in sorted(counts):
        ran, of, taken, branches = counts[room]
        out.append("| `%s` | %d | %s | %s |" % (room, of, percent(ran, of), percent(taken, branches)))
    return "\n".join(out) + "\n"


def write(text):
    with open(DOCUMENT, encoding="utf-8") as f:
        old = f.read()
    begin, end = old.index(BEGIN) + len(BEGIN), old.index(END)
    with open(DOCUMENT, "w", encoding="utf-8") as f:
        f.write(old[:begin] + text + old[end:])


def main():
    build, more = sys.argv[1], sys.argv[2:]
    counts, missed = measure(build)
    if more and more[0] != "--write":
        for name, number in sorted(missed.get(more[0], [])):
            print("%s:%d" % (name, number))
        return 0
    print(table(counts), end="")
    if more:
        write(table(counts))
    low = sorted(r for r, c in counts.items() if 100 * c[0] < LIMIT * c[1])
    if low or not counts:
        print("below %d %%: %s" % (LIMIT, ", ".join(low)), file=sys.stderr)
    return int(bool(low) or not counts)


if __name__ == "__main__":
    sys.exit(main())
