#!/usr/bin/env python3
"""Each allocation of a whole program fails once: a pass of the exporter and of the collectd plugin, passes of
batchjob_snmp with walks of a simulated AgentX master, an import, lists, reports and a PDF of batchjob_acct, requests
to the server.

  torture.py          40 random allocations of each program
  torture.py all      every allocation of each program; names: only of these
  torture.py NAME N   one run, "*", "+" as in torture.c; shows what the program prints

The programs are those of the build with sanitizers.  None may crash or leak.  A program that succeeds prints what it
prints without a failure, one that fails says that there is no memory; an import that failed is complete after the
next one, a server that refused a request answers the next one, and a sub-agent connects again."""
import http.client
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import agentx  # noqa: E402
import api_lib  # noqa: E402
from tap import check, plan  # noqa: E402

ROOT = os.path.join(HERE, "../..")
SAN = os.path.join(ROOT, os.environ.get("O", "build"), "san/torture")
TREE = os.path.join(ROOT, "tests/fixtures/trees/v2-slurm")
SANITIZER = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=99:abort_on_error=0:quarantine_size_mb=8:malloc_context_size=12",
             "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=99",
             # libyaml 0.2.5 leaks when memory runs out.
             "LSAN_OPTIONS": "suppressions=%s:print_suppressions=0" % os.path.join(HERE, "torture.supp")}
NO_MEMORY = re.compile(r"memory", re.IGNORECASE)
ERRORS = re.compile(r"^batchjob_(collector|meter|gpu\w*)_errors_total\S* [1-9]", re.MULTILINE)
RANDOM, WORKERS, PATIENCE = int(os.environ.get("N", 40)), 2, 300


class Bad(Exception):
    """A run that broke the rules."""


def environment(at, folder):
    """The variables of a run; at None or "none*": nothing fails."""
    env = dict(os.environ, **SANITIZER)
    env["BJ_TORTURE"] = "1000000000" if at is None else at.replace("none", "1000000000")
    env["BJ_TORTURE_COUNT"] = os.path.join(folder, "count")
    return env


def run(folder, at, *command):
    """Run a program to its end; return its status, output and messages."""
    p = subprocess.run([os.path.join(SAN, command[0])] + list(command[1:]), capture_output=True, timeout=PATIENCE,
                       env=environment(at, folder), stdin=subprocess.DEVNULL)
    out, err = p.stdout, p.stderr.decode(errors="replace")
    sane(p.returncode, err)
    return p.returncode, out, err


def sane(rc, err):
    if rc < 0 or rc == 99 or "Sanitizer" in err or "runtime error" in err:
        raise Bad("status %d\n%s" % (rc, err[-6000:]))
    if rc not in (0, 1):
        raise Bad("status %d: %s" % (rc, err[-2000:]))


def expect(rc, got, want, err):
    """A program that ended with status 0 printed what it should, another one says why."""
    if rc == 0 and got != want:
        raise Bad("another output: %r\nnot %r\n%s" % (got[:1500], want[:1500], err[-1500:]))
    if rc != 0 and not NO_MEMORY.search(err):
        raise Bad("a message about something else: %r" % err[-1500:])


# --- programs that end by themselves ---------------------------------------------------------------------------------

class Command:
    """A command of batchjob_acct."""
    own = True  # only allocations of its own code, since Pango ends the program

    def __init__(self, site, *words):
        self.words = ("batchjob_acct",) + words + ("--store.path=" + site.store, "--utc")
        self.want = None

    def __call__(self, folder, at):
        rc, out, err = run(folder, at, *self.words)
        if self.want is None:
            self.want = out
        expect(rc, out, self.want, err)
        return rc


class Pdf(Command):
    def __call__(self, folder, at):
        rc, out, err = run(folder, at, *self.words)
        if self.want is None:
            self.want = out
        whole = out[:5] == b"%PDF-" and out.rstrip()[-5:] == b"%%EOF"
        if rc == 0 and not (whole and abs(len(out) - len(self.want)) < 10):
            raise Bad("%d bytes of PDF, not %d: %s" % (len(out), len(self.want), err[-1500:]))
        expect(rc, b"", b"", err)
        return rc


class Plugin:
    own = True
    want = None

    def __call__(self, folder, at):
        rc, out, err = run(folder, at, "plugin", TREE)
        lines = steady(out.decode().splitlines())
        if self.want is None:
            self.want = lines
        if not lines <= self.want:
            raise Bad("other values: %s" % sorted(lines - self.want)[:5])
        if lines != self.want and not NO_MEMORY.search(err):
            raise Bad("no message, and without %s\n%s" % (sorted(self.want - lines)[:5], err[-1500:]))
        return rc


def steady(lines):
    """Values of jobs, which do not depend on the time of the pass."""
    return {l for l in lines if re.match(r"batchjob-|batchjob_job_", l) and "age" not in l}


class Import:
    """An import of accounting, then, if it failed, another one."""
    own = False
    want = None

    def __init__(self, site):
        # The same jobs for each period, without the start of Python.
        fast = site.file("fast_sacct", """#!/bin/sh
cd %s || exit
for a; do case $a in --helpformat) exec cat help ;; --delimiter=*) d=${a#*=} ;; --format=*) f=$a ;; esac; done
[ -s jobs ] || ./sacct "$f" --delimiter=@D@ --starttime=2000-01-01T00:00:00 --endtime=2100-01-01T00:00:00 >jobs
exec sed "s/@D@/$d/g" jobs
""" % site.folder, 0o755)
        with open(os.path.join(site.folder, "help"), "wb") as f:
            f.write(subprocess.run([os.path.join(site.folder, "sacct"), "--helpformat"], capture_output=True).stdout)
        self.cluster = site.file("torture.yml", "name: fake\nsacct:\n  command: %s\n  history: 4d\n  slice: 4d\n"
                                 "  pause: 0s\n" % fast)

    def __call__(self, folder, at):
        store = ["--store.path=" + os.path.join(folder, "stats.db")]
        command = ["batchjob_stats_db", "--once", "--cluster.file=" + self.cluster, "--log.level=warn"] + store
        for f in os.listdir(folder):
            if f.startswith("stats.db"):
                os.remove(os.path.join(folder, f))
        rc, _, err = run(folder, at, *command)
        if rc != 0 and not NO_MEMORY.search(err):
            raise Bad("a message about something else: %r" % err[-1500:])
        if rc != 0:
            os.replace(os.path.join(folder, "count"), os.path.join(folder, "count.first"))
            again, _, more = run(folder, None, *command)
            os.replace(os.path.join(folder, "count.first"), os.path.join(folder, "count"))
            if again != 0:
                raise Bad("the next import fails: %s\nafter: %s" % (more[-1500:], err[-1500:]))
        p = subprocess.run([os.path.join(ROOT, os.environ.get("O", "build"), "batchjob_stats_db"), "export"] + store,
                           capture_output=True, timeout=PATIENCE)
        if p.returncode != 0:
            raise Bad("export: " + p.stderr.decode()[-1500:])
        if self.want is None:
            self.want = p.stdout
        expect(0, p.stdout, self.want, err)
        return rc


# --- servers ---------------------------------------------------------------------------------------------------------

class Server:
    """A server from its start to its end, with requests for several paths."""
    own = True

    def __init__(self, words, paths, headers, lines=lambda text: text):
        self.words, self.paths, self.headers, self.lines, self.want = words, paths, headers, lines, {}

    def start(self, folder, at):
        log = open(os.path.join(folder, "log"), "w+b")
        p = subprocess.Popen([os.path.join(SAN, self.words[0])] + self.words[1:], stderr=log, stdout=log,
                             env=environment(at, folder), stdin=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while p.poll() is None and time.monotonic() < end:
            log.seek(0)
            m = re.search(rb"listening on 127\.0\.0\.1:(\d+)", log.read())
            if m:
                return p, log, int(m.group(1))
            time.sleep(0.01)
        return p, log, None

    def ask(self, port, path):
        """The status of a response, what is compared, and its text; 0: the connection was closed."""
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            c.request("GET", path, headers=self.headers)
            r = c.getresponse()
            page = r.read().decode()
            return r.status, self.lines(page), page
        except (OSError, http.client.HTTPException):
            return 0, None, ""
        finally:
            c.close()

    def __call__(self, folder, at):
        p, log, port = self.start(folder, at)
        bad = None
        try:
            if port:
                bad = self.ask_all(port, at is not None and "+" in at)
                p.send_signal(signal.SIGTERM)
            rc = p.wait(PATIENCE)
        finally:
            if p.poll() is None:
                p.kill()
                p.wait()
            log.seek(0)
            err = log.read().decode(errors="replace")
            log.close()
        sane(rc, err)
        if bad:
            raise Bad("%s\n%s" % (bad, err[-2000:]))
        if not port and not NO_MEMORY.search(err):
            raise Bad("a message about something else: %r" % err[-1500:])
        return rc

    def ask_all(self, port, forever):
        """Request each path twice; return what is wrong with the responses, or None.  After the one failure, which may
        be in any of them, the same request gets the right response."""
        failures = 0
        for path in self.paths:
            right = 0
            while right < 2:
                status, text, page = self.ask(port, path)
                want = self.want.setdefault(path, text)
                if status == 200 and text == want:
                    right += 1
                    continue
                failures += 1
                if forever and failures % 3 == 0:
                    break
                # A page of the exporter may lack values that could not be read, and then counts errors.
                if status == 200 and not (isinstance(text, set) and text < want and ERRORS.search(page)):
                    return "%s: another response, %s" % (path, differ(text, want))
                if status not in (200, 500, 503, 0):
                    return "%s: status %d" % (path, status)
                if failures > 1 and not forever:
                    return "%s: status %d, the second failure, %s" % (path, status, differ(text or "", want))
        return None


def differ(got, want):
    if isinstance(got, set):
        return "more %s, less %s" % (sorted(got - want)[:5], sorted(want - got)[:5])
    at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
    return "%d bytes, not %d, from %r, not %r" % (len(got), len(want), got[at:at + 80], want[at:at + 80])


def exporter():
    return Server(["batchjob_exporter", "--web.listen-address=127.0.0.1:0", "--path.cgroupfs=" + TREE,
                   "--no-collector.energy", "--energy.state-file="], ["/metrics"], {},
                  lambda text: steady(text.splitlines()))


def api(site, job):
    return Server(["batchjob_stats_server", "--web.listen-address=127.0.0.1:0", "--store.path=" + site.store,
                   "--access.trust-loopback", "--access.admins=boss", "--query.timeout=60s"],
                  ["/api/v1/jobs?from=0", "/api/v1/jobs/%s/report" % job, "/api/v1/jobs/%s" % job, "/jobs?from=0"],
                  {"X-Grafana-User": "boss"}, without_now)


def without_now(text):
    """Replace times of the last hour, such as the end of a period until now."""
    now = time.time()
    return re.sub(r"\b1\d{9}(?=\d{3}\b|\b)", lambda m: "NOW" if now - 3600 < int(m[0]) < now + 60 else m[0], text)


class SubAgent:
    """batchjob_snmp until a master has walked all values of jobs twice.  Each walk has values of these only, and a
    sub-agent that has lost the connection connects again."""
    own = True
    want = None
    base = agentx.ids("1.3.6.1.4.1.8072.9999.9999.9010")

    def __call__(self, folder, at):
        master = agentx.Master(os.path.join(folder, "agentx"))
        words = ["batchjob_snmp", "--path.cgroupfs=" + TREE, "--no-collector.energy", "--energy.state-file=",
                 "--sample.interval=0.2", "--agentx.socket=" + master.path]
        log = open(os.path.join(folder, "log"), "w+b")
        p = subprocess.Popen([os.path.join(SAN, words[0])] + words[1:], stderr=log, stdout=log,
                             env=environment(at, folder), stdin=subprocess.DEVNULL)
        try:
            bad = self.walks(p, master, at)
            if p.poll() is None:
                p.send_signal(signal.SIGTERM)
            rc = p.wait(PATIENCE)
        finally:
            if p.poll() is None:
                p.kill()
                p.wait()
            master.close()
            log.seek(0)
            err = log.read().decode(errors="replace")
            log.close()
        sane(rc, err)
        if bad or (rc != 0 and not NO_MEMORY.search(err)):
            raise Bad("%s\n%s" % (bad or "a message about something else", err[-2000:]))
        return rc

    def walks(self, p, master, at):
        """What is wrong with the walks, or None.  Where all further allocations fail, three that are incomplete are
        enough.  Without a failure they show what is right."""
        forever = at is not None and "+" in at
        right = incomplete = 0
        end = time.monotonic() + PATIENCE
        peer = None
        try:
            while right < (2 if at else 6) and not (forever and incomplete >= 3):
                if time.monotonic() > end:
                    return "no complete walk in %d s" % PATIENCE
                try:
                    peer = peer or self.connect(p, master)
                    if not peer:
                        return None  # it has ended
                    got = {(k, v) for part in (3, 4) for k, v in peer.walk(self.base + (part,)).items()}
                except (OSError, ValueError) as e:
                    if isinstance(e, ValueError):
                        return "a malformed reply: %s" % e
                    if peer:
                        peer.close()
                    peer, got = None, set()
                if at is None and got:
                    right, self.want = right if got == self.want else 0, got
                if not got <= (self.want or set()):
                    return "other values: %s" % sorted(got - self.want)[:5]
                right, incomplete = (right + 1, incomplete) if got and got == self.want else (0, incomplete + 1)
        finally:
            if peer:
                peer.close()
        return None

    @staticmethod
    def connect(p, master):
        """Wait for the sub-agent; None: it has ended."""
        master.socket.settimeout(0.2)
        while p.poll() is None:
            try:
                peer = master.accept()
            except socket.timeout:
                continue
            try:
                peer.welcome()
                return peer
            except OSError:
                peer.close()
                raise
        return None


# --- rounds ----------------------------------------------------------------------------------------------------------

def numbers(case, folder, every):
    """The allocations that fail, one run each."""
    case(folder, None)
    with open(os.path.join(folder, "count")) as f:
        own = int(f.read())
    kinds = [("", own), ("+", own)]
    if not case.own:
        case(folder, "none*")
        with open(os.path.join(folder, "count")) as f:
            kinds.append(("*", int(f.read())))
    if every:
        return [str(n) + kind for kind, count in kinds for n in range(count)]
    return [str(n) + kind for kind, count in kinds
            for n in sorted(random.sample(range(count), min(count, RANDOM // len(kinds))))]


def torture(name, case, folder, every):
    bad, failed, todo = [], 0, None
    try:
        todo = numbers(case, folder, every)
    except (Bad, OSError, subprocess.TimeoutExpired) as e:
        check(False, name + ": without a failure", e)
        return
    lock, total = threading.Lock(), len(todo)

    def work(place):
        nonlocal failed
        os.makedirs(place, exist_ok=True)
        while True:
            with lock:
                if not todo:
                    return
                at = todo.pop()
            try:
                rc = case(place, at)
                with lock:
                    failed += rc != 0
            except Exception as e:
                with lock:
                    bad.append("torture.py %s '%s': %s %s" % (name, at, "" if isinstance(e, Bad) else type(e).__name__, e))

    threads = [threading.Thread(target=work, args=(os.path.join(folder, str(i)),)) for i in range(WORKERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(not bad, "%s: without memory it fails or is right" % name, "%d of %d" % (len(bad), total), *bad[:6])
    print("# %s: %d runs, %d failed with a message" % (name, total, failed))


def main():
    every, names = "all" in sys.argv[1:2], [a for a in sys.argv[1:] if a != "all"]
    folder = tempfile.mkdtemp(prefix="bj-torture-")
    site = api_lib.Site(count=12, days=2, wide=True)
    try:
        site.fill()
        job = site.db().execute("SELECT 'fake:' || jobid || ':' || submit FROM job WHERE \"end\" > start"
                                " ORDER BY id").fetchone()[0]
        cases = {"exporter": exporter(), "plugin": Plugin(), "snmp": SubAgent(), "import": Import(site),
                 "acct": Command(site, "--since=30d", "--format=all", "--output=csv"),
                 "report": Command(site, "report", job), "pdf": Pdf(site, "report", job, "--format=pdf"),
                 "server": api(site, job)}
        if len(names) == 2 and names[1] not in cases:
            cases[names[0]](folder, None)
            print("status %d" % cases[names[0]](folder, names[1]))
            return 0
        for name, case in cases.items():
            if not names or name in names:
                begin = time.monotonic()
                torture(name, case, folder, every)
                print("# %.1f s" % (time.monotonic() - begin))
        return plan()
    finally:
        site.clean_up()
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
