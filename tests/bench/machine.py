"""Start, scrape, measure and stop programs."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
         "stderr": subprocess.DEVNULL}


class CannotRun(Exception):
    """A requirement of the benchmark is missing or does not work."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(what, seconds, ready):
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise CannotRun("%s did not get ready in %d s" % (what, seconds))
        time.sleep(0.02)


def stop(process, seconds=20):
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Sleepers:
    """The processes of some jobs; lines is the output of sleepers."""

    def __init__(self, build, shape):
        self.process = subprocess.Popen(
            [build + "/bench/sleepers", str(shape.jobs), str(shape.steps),
             str(shape.threads), str(shape.users), str(shape.wake)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = []
        for line in self.process.stdout:
            if line == "ready\n":
                return
            self.lines.append(line)
        raise CannotRun("sleepers did not start")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Peer:
    """A process that serves GET /metrics on a port of 127.0.0.1."""

    def __init__(self, port, pid):
        self.port, self.pid = port, pid

    def scrape(self, build, scrapes=10, milliseconds=0, counter="",
               gzip=False, pause=0):
        """The JSON object that tests/bench/scrape.c prints."""
        argv = [build + "/bench/scrape", str(self.port), str(self.pid),
                str(scrapes), str(milliseconds), str(pause), counter]
        done = subprocess.run(argv + (["gzip"] if gzip else []),
                              capture_output=True, text=True)
        if done.returncode:
            raise CannotRun("scrape of %s: %s" % (argv[1], done.stderr))
        return json.loads(done.stdout)


class Server(Peer):
    """A program that this object starts, with a port of its own."""

    def __init__(self, argv, prefix=(), seconds=20):
        self.port = free_port()
        self.argv = [a.replace("@PORT@", str(self.port)) for a in argv]
        argv = list(prefix) + self.argv
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log)
        self.pid = self.process.pid
        try:
            wait_for(" ".join(self.argv), seconds, self.listens)
        except CannotRun as e:
            stop(self.process)
            self.log.seek(0)
            raise CannotRun("%s\n%s" % (e, self.log.read()[-2000:])) from None

    def listens(self):
        if self.process.poll() is not None:
            raise CannotRun("%s ended with status %d" %
                            (self.argv[0], self.process.returncode))
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def end(self):
        stop(self.process)
        self.log.close()


def status(pid, key):
    """A number of /proc/PID/status, in KiB if it has a unit."""
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    return 0


def times_scheduled(pid):
    """How often threads of the process were scheduled so far."""
    total = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, tid)) as f:
            total += int(f.read().split()[2])
    return total


def kernel_kib():
    """Unreclaimable kernel memory of the whole machine."""
    with open("/proc/meminfo") as f:
        for line in f:
            if line.startswith("SUnreclaim:"):
                return int(line.split()[1])
    return 0


def traced(server, build, scrapes, strace_args, pause=0):
    """The output of strace over some scrapes of a running server."""
    if not shutil.which("strace"):
        return None
    with tempfile.NamedTemporaryFile("r") as out:
        tracer = subprocess.Popen(["strace", "-f", "-o", out.name, "-p",
                                   str(server.pid)] + strace_args, **QUIET)
        try:
            wait_for("strace", 10, lambda: status(server.pid, "TracerPid"))
            time.sleep(0.3)
            # scrape adds three to warm up
            server.scrape(build, scrapes - 3, pause=pause)
            time.sleep(0.3)
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()
        return out.read()


def system_calls(server, build, pause=0, scrapes=6):
    """{name: calls a scrape}, without those of making a connection."""
    runs = []
    for n in (scrapes, 3 * scrapes):
        text = traced(server, build, n, ["-c"], pause)
        if text is None:
            return {}
        rows = re.findall(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?"
                          r"(\w+)$", text, re.M)
        runs.append({name: int(n) for n, name in rows if name != "total"})
    return {name: (n - runs[0].get(name, 0)) / (2 * scrapes)
            for name, n in runs[1].items()}


def forks(server, build, scrapes=10):
    """Processes and programs started during some scrapes."""
    text = traced(server, build, scrapes, ["-e", "trace=process"])
    if text is None:
        return None
    return len(re.findall(r"\b(?:v?fork|clone3?|execve)\(", text))


def callgrind(build, argv, scrapes):
    """(instructions, {function: instructions including its callees}) of a
    whole run with that many scrapes."""
    with tempfile.TemporaryDirectory() as tmp:
        out = tmp + "/out"
        server = Server(argv, ["valgrind", "--tool=callgrind", "-q",
                               "--callgrind-out-file=" + out], 60)
        try:
            server.scrape(build, scrapes - 3)
        finally:
            server.end()
        text = subprocess.run(["callgrind_annotate", "--inclusive=yes",
                               "--threshold=100", out], capture_output=True,
                              text=True).stdout
    total = re.search(r"^\s*([\d,]+) .*PROGRAM TOTALS", text, re.M)
    if not total:
        raise CannotRun("callgrind of %s gave nothing" % argv[0])
    number = lambda s: int(s.replace(",", ""))
    parts = {}
    for n, name in re.findall(r"^\s*([\d,]+) \([^)]*\)\s+\S*?:(\S+) ?.*$", text,
                              re.M):
        name = name.split("'")[0]
        parts[name] = max(parts.get(name, 0), number(n))
    return number(total.group(1)), parts


def program_instructions(argv):
    """Instructions of a program that ends by itself."""
    done = subprocess.run(["valgrind", "--tool=callgrind",
                           "--callgrind-out-file=/dev/null"] + argv,
                          capture_output=True, text=True)
    total = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not total:
        raise CannotRun("callgrind of %s: %s" % (argv[0], done.stderr[-500:]))
    return int(total.group(1))


def instructions(build, argv, few=10, many=30):
    """User-space instructions of one scrape, for the whole program and for each
    function: the difference of runs with few and many scrapes."""
    if not shutil.which("valgrind"):
        return None, {}
    a, a_parts = callgrind(build, argv, few)
    b, b_parts = callgrind(build, argv, many)
    parts = {f: (n - a_parts.get(f, 0)) / (many - few)
             for f, n in b_parts.items()}
    return (b - a) / (many - few), parts
