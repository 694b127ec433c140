#!/usr/bin/env python3
"""Check the project's English.

    tests/lint_text.py words FILE...      banned phrases (tests/lint_words.txt)
    tests/lint_text.py help PROGRAM...    the texts of --help
    tests/lint_text.py metrics FILE...    the meanings in docs/metrics.md
    tests/lint_text.py names FILE...      metrics in FILEs that docs/metrics.md lacks

Prints FILE:LINE: violation; the exit status is 1 if there is any.
"""
import os
import re
import subprocess
import sys

LONGEST = 30  # words in a sentence of --help or HELP
TEXT_COLUMN = 32  # column of an option's text in --help
WORDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lint_words.txt")


def banned():
    with open(WORDS, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines
                if line.strip() and not line.startswith("#")]
    return [(re.compile(pattern, re.I), instead) for pattern, instead in rows]


BANNED = banned()


def phrases(where, text):
    for pattern, instead in BANNED:
        for match in pattern.finditer(text):
            yield f'{where}: "{match.group(0)}"; write: {instead}'


def check_words(paths):
    # grep(1) finds the few files with violations faster than this program.
    either = "|".join(f"(?:{pattern.pattern})" for pattern, _ in BANNED)
    found = subprocess.run(["grep", "-laiP", "-e", either, "--", *paths, os.devnull],
                           text=True, capture_output=True)
    if found.returncode > 1:
        sys.exit(found.stderr)
    for path in found.stdout.splitlines():
        with open(path, encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                yield from phrases(f"{path}:{number}", line)


def sentences(text):
    return re.split(r"(?<=[a-z)\"0-9][.;:?])\s+(?=[A-Z0-9(])", text)


def check_text(where, text):
    yield from phrases(where, text)
    if not re.match(r'[A-Z0-9"(/]', text):
        yield f"{where}: does not start with a capital: {text[:60]}"
    if not text.endswith("."):
        yield f"{where}: does not end with a full stop: ...{text[-60:]}"
    for sentence in sentences(text):
        count = len(sentence.split())
        if count > LONGEST:
            yield f"{where}: a sentence of {count} words: {sentence[:60]}..."


def options(text):
    """(name, help) of each option of a --help page."""
    name, parts = None, []
    for line in text.splitlines() + [""]:
        start = re.match(r" {2,6}(?:-\w, )?--(\S+)", line)
        if start or not line.startswith(" " * TEXT_COLUMN):
            if name:
                # Without the texts that the option framework adds.
                whole = re.sub(r" \(default: [^)]*\)$| One of: [^.]*\.$", "",
                               " ".join(parts))
                yield name, whole
            name, parts = None, []
        if start:
            name = start.group(1)
            line = line[TEXT_COLUMN:] if line[TEXT_COLUMN - 2:TEXT_COLUMN] == "  " else ""
        if name and line.strip():
            parts.append(line.strip())


def check_help(programs):
    for program in programs:
        for argument in ("--help=all", "--help"):
            page = subprocess.run([program, argument], text=True, capture_output=True,
                                  timeout=60, check=False)
            if page.returncode == 0:
                break
        else:
            yield f"{program} --help: exit status {page.returncode}"
            continue
        seen = 0
        for name, text in options(page.stdout):
            seen += 1
            yield from check_text(f"{os.path.basename(program)} --{name}", text)
        if not seen:
            yield f"{program} --help: no options found in its output"


def check_metrics(paths):
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                cells = line.strip().strip("|").split(" | ")
                if line.startswith("| `") and len(cells) >= 3:
                    yield from check_text(f"{path}:{number}", cells[-1].strip())


def check_names(paths):
    with open("docs/metrics.md", encoding="utf-8") as page:
        known = set(re.findall(r"`(batchjob_[a-z0-9_]+)`", page.read()))
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                for name in re.findall(r"\bbatchjob_(?:job|node|gpu)_[a-z0-9_]*[a-z0-9]\b(?!_)", line):
                    if name not in known:
                        yield f"{path}:{number}: there is no metric {name}"


CHECKS = {"words": check_words, "help": check_help, "metrics": check_metrics,
          "names": check_names}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    bad = list(CHECKS[sys.argv[1]](sys.argv[2:]))
    print("\n".join(bad))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
