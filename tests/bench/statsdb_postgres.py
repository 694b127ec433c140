#!/usr/bin/env python3
"""What an import into PostgreSQL costs the importing program, compared with a minimal
loader by COPY (statsdb_floor.c). Starts a server of its own.

    statsdb_postgres.py BUILD TEXT [LINES]     LINES: 30000

TEXT is the output of statsdb_gen.  Instructions are those of user space between
LINES / 3 and LINES lines, counted by valgrind; requests are those that the server logs."""
import os
import re
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests"))
import postgres  # noqa: E402

REQUEST = re.compile(r"LOG:  (statement|execute )")


def say(what, figure, limit=""):
    print("%-58s %14s   %s" % (what, figure, limit), flush=True)


class Bench:
    def __init__(self, server, folder):
        self.server, self.folder, self.n = server, folder, 0

    def database(self):
        self.n += 1
        self.server.sql('CREATE DATABASE bench%d' % self.n, "postgres")
        return self.server.url("bench%d" % self.n)

    def command(self, build, name, path):
        program = [os.path.join(build, "bench", name), self.database(), path]
        return program + ["bulk"] if name == "statsdb_load" else program

    def instructions(self, command):
        p = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                            *command], check=True, capture_output=True, text=True)
        return int(re.search(r"refs: *([\d,]+)", p.stderr)[1].replace(",", ""))

    def requests(self, command):
        """Requests that the server logs, and seconds."""
        with open(os.path.join(self.server.folder, "log"), errors="replace") as log:
            log.seek(0, os.SEEK_END)
            begin = time.monotonic()
            subprocess.run(command, check=True, capture_output=True)
            took = time.monotonic() - begin
            return sum(1 for line in log if REQUEST.search(line)), took


def jobs(path):
    with open(path) as f:
        return sum("." not in line.split("|", 2)[1] for line in f) - 1


def log_all():
    """A server that logs all requests."""
    return postgres.Server(settings=["log_min_messages=log", "log_statement=all"])


def main():
    build, source = sys.argv[1:3]
    total = int(sys.argv[3]) if len(sys.argv) > 3 else 30000
    folder = tempfile.mkdtemp(prefix="bj-bench-")
    parts = []
    for lines in (total // 3, total):
        parts.append(os.path.join(folder, "text%d" % lines))
        with open(source) as f, open(parts[-1], "w") as to:
            to.writelines(next(f) for _ in range(lines + 1))
    count = jobs(parts[1]) - jobs(parts[0])
    with log_all() as server:
        bench, cost = Bench(server, folder), {}
        for name in ("statsdb_floor", "statsdb_load"):
            few, many = (bench.instructions(bench.command(build, name, p)) for p in parts)
            cost[name] = (many - few) / count
            commands = [bench.command(build, name, p) for p in parts]
            some, all_ = (bench.requests(c) for c in commands)
            print("%s: %.0f instructions and %.0f us a job, %.0f requests for 1,000 jobs" % (
                name, cost[name], (all_[1] - some[1]) / count * 1e6,
                (all_[0] - some[0]) / count * 1000))
        with open(parts[1]) as f:
            text = f.read()
        for what, word in (("the same jobs again", "FAILED"), ("with another state", "TIMEOUT")):
            with open(parts[1], "w") as f:
                f.write(text.replace("FAILED", word))
            again = bench.requests(commands[1])
            print("%s: %.0f us a job, %.0f requests for 1,000 jobs" % (
                what, again[1] / jobs(parts[1]) * 1e6, again[0] / jobs(parts[1]) * 1000))
        say("PostgreSQL, instructions over the bare loader's",
            "%.2f" % (cost["statsdb_load"] / cost["statsdb_floor"]), "at most 2.5")
    for path in parts:
        os.unlink(path)
    os.rmdir(folder)


if __name__ == "__main__":
    try:
        main()
    except postgres.Missing as e:
        print("# %s" % e)
