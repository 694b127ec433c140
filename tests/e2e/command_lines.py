#!/usr/bin/env python3
"""Command lines and options that documents show are accepted by the programs, and the help's
form of each list option can be pasted.  TAP."""
import glob
import os
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from tap import check, plan  # noqa: E402

TOP = os.path.join(HERE, "../..")
BUILD = os.path.join(TOP, os.environ.get("O", "build"))
PROGRAMS = ("batchjob_exporter", "batchjob_snmp", "batchjob_stats_db", "batchjob_stats_server", "batchjob_acct")
# What docs write for a value of the reader's: FILE, NAME=..., TEXT.
OPEN = re.compile(r"\.\.\.|\b[A-Z]{3,}\b|=[A-Z]$|^[A-Z]+$")


def options(program):
    out = subprocess.run([os.path.join(BUILD, program), "--help=all"], stdout=subprocess.PIPE,
                         check=True).stdout.decode()
    out = out.split("\nIn the YAML file")[0]
    return set(re.findall(r"^      --(?:\[no-\])?([a-z][a-z0-9.-]*)", out, re.M)), out


def blocks(text):
    """Lines of code blocks, with continued lines joined."""
    lines, fenced = [], False
    for line in text.replace("\\\n", " ").split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            lines.append(line.strip())
    return lines


def words(line):
    try:
        found = shlex.split(line, comments=True)
    except ValueError:
        return []
    found = [w for w in found if not re.match(r"^[0-9]?>|^</?", w)]
    return found


def command(line):
    """The program and its arguments in a line of a document, or None."""
    found = words(line)
    while found and (re.match(r"^[A-Z_]+=", found[0]) or found[0] == "sudo"):
        found = found[1:]
    if found[:2] == ["runuser", "-u"]:
        found = found[found.index("--") + 1:] if "--" in found else []
    if not found:
        return None
    if os.path.basename(found[0]) in PROGRAMS:
        return os.path.basename(found[0]), found[1:]
    if found[0].startswith("--"):
        return "batchjob_exporter", found
    return None


def shown():
    """(place, program, arguments) of each command line in the documents."""
    known = options("batchjob_exporter")[0]
    for path in sorted(glob.glob(os.path.join(TOP, "docs/*.md")) +
                       glob.glob(os.path.join(TOP, "examples/*.md")) +
                       [os.path.join(TOP, "README.md")]):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
        for line in blocks(text) + [s.replace("\\|", "|") for s in spans]:
            one = command(line)
            if one is None:
                continue
            program, args = one
            name = re.match(r"--(?:no-)?([a-z][a-z0-9.-]*)(?:=|$)", args[0]) if args else None
            if line.startswith("--") and not (name and name.group(1) in known):
                continue  # an option of another program
            yield os.path.relpath(path, TOP), program, args


def accepts(program, args):
    # with --version the program reads its options and nothing else
    if program != "batchjob_acct" and "--as" in args or args[:1] == ["make-token"]:
        return 0, ""  # other options; prints a token
    kept = []
    for a in args:
        if OPEN.search(a) and a.startswith("--"):
            continue
        if a in ("|", "&&"):
            break
        kept.append(a)
    r = subprocess.run([os.path.join(BUILD, program)] + kept + ["--version"], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=300)
    out = r.stdout.decode(errors="replace")
    if out.strip().endswith("needs a value") and kept[-1].startswith("--"):
        return 0, out  # only the name of an option
    return r.returncode, out


def main():
    seen, wrong, lists = set(), [], []
    for place, program, args in shown():
        key = (program, tuple(args))
        if key in seen:
            continue
        seen.add(key)
        rc, out = accepts(program, args)
        if rc:
            wrong.append("%s: %s %s: %s" % (place, program, " ".join(args), out.strip()))
    check(not wrong, "%d command lines of the documents are accepted" % len(seen), *wrong)
    check(len(seen) > 60, "the documents have command lines")
    for program in PROGRAMS:
        for text in re.findall(r"^      (--\S+) \.\.\.", options(program)[1], re.M):
            if '="' not in text:
                continue
            lists.append(text)
            rc, out = accepts(program, shlex.split(text))
            check(rc == 0, "%s accepts %s, as its help prints it" % (program, text), out)
    check(len(lists) > 2, "there are options that are lists with defaults")
    return plan()


if __name__ == "__main__":
    sys.exit(main())
