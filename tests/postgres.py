#!/usr/bin/python3
"""Start a private PostgreSQL server in a temporary directory, and end it.

    tests/postgres.py [BIN]    BIN: folder of initdb and postgres

It listens on a Unix socket only and runs as an ordinary user.  Prints "URL PID BIN"
when it is ready, or "none: reason" and exits with 77.  Then it reads commands:

    kill       end the server as a crash does; prints "killed"
    start      start it again; prints the line above
    sql TEXT   run statements as its superuser; prints "ok", or the error

At the end of the input it stops the server and removes the directory.  BJ_TEST_MEMORY: the
folder of the directory, otherwise that of temporary files."""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

USER = "batchjob"
DATABASE = "store"
SETTINGS = ["listen_addresses=", "fsync=off", "full_page_writes=off", "max_connections=40",
            "shared_buffers=32MB", "autovacuum_naptime=10min", "log_min_messages=fatal",
            "max_wal_size=4GB", "logging_collector=off"]


class Missing(Exception):
    """PostgreSQL is not installed."""


def folder_of_programs():
    """The folder of the newest installed version."""
    found = glob.glob("/usr/lib/postgresql/*/bin/postgres") + glob.glob("/usr/pgsql-*/bin/postgres")
    if not found and shutil.which("postgres"):
        found = [shutil.which("postgres")]
    if not found:
        raise Missing("PostgreSQL's server is not installed")
    return os.path.dirname(max(found, key=lambda p: [int(n) for n in
                                                     "".join(c if c.isdigit() else " " for c in p).split()]))


def user():
    """The user to run the server as if this is root, which initdb refuses; else None."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
            return name
        except KeyError:
            pass
    raise Missing("no user to run PostgreSQL as")


class Server:
    def __init__(self, programs=None, settings=()):
        self.bin = os.path.abspath(programs or folder_of_programs())
        self.user = user()
        self.settings = SETTINGS + list(settings)
        self.process = None
        self.folder = tempfile.mkdtemp(prefix="bjpg-", dir=os.environ.get("BJ_TEST_MEMORY") or None)
        self.data = os.path.join(self.folder, "data")
        self.log = open(os.path.join(self.folder, "log"), "w+", encoding="utf-8")
        try:
            if self.user:
                shutil.chown(self.folder, self.user)
            if not self.may_run():
                raise Missing("the user %s cannot run %s, so it is not installed for tests" % (self.user, self.bin))
            self.make()
        except BaseException:
            self.close()
            raise

    def make(self):
        p = self.run("initdb", "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "-N",
                     "--wal-segsize=1")
        if p.returncode != 0:
            raise RuntimeError("initdb: " + p.stdout[-500:])
        self.start()
        self.sql('CREATE DATABASE "%s"' % DATABASE, "postgres")

    def may_run(self):
        try:
            return self.run("postgres", "--version").returncode == 0
        except PermissionError:
            return False

    def run(self, program, *args, data=None):
        return subprocess.run([os.path.join(self.bin, program), *args], user=self.user, cwd=self.folder, input=data,
                              env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)

    def start(self):
        # -h '' and -k: only a socket, in a folder that others cannot enter.
        args = [os.path.join(self.bin, "postgres"), "-D", self.data, "-k", self.folder]
        for s in self.settings:
            args += ["-c", s]
        self.process = subprocess.Popen(args, user=self.user, cwd=self.folder, env={"LC_ALL": "C"},
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 60
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                raise RuntimeError("postgres does not start: " + self.log.read()[-500:])
            time.sleep(0.05)

    def is_ready(self):
        """Whether it accepts connections, by the last line of postmaster.pid."""
        try:
            with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as f:
                lines = f.read().split("\n")
        except FileNotFoundError:
            return False
        return lines[0] == str(self.process.pid) and len(lines) > 7 and lines[7].strip() == "ready"

    def url(self, database=DATABASE, role=USER):
        return "postgresql://%s@/%s?host=%s" % (role, database, self.folder)

    def line(self):
        return "%s %d %s" % (self.url(), self.process.pid, self.bin)

    def psql(self, run, database=DATABASE, **options):
        """run is subprocess.run or Popen."""
        return run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-", self.url(database)],
                   env={"LC_ALL": "C", "PATH": self.bin + ":/usr/bin:/bin", "HOME": "/nonexistent"}, **options)

    def sql(self, text, database=DATABASE):
        """Run statements as superuser and return their output."""
        p = self.psql(subprocess.run, database, input=text, capture_output=True, text=True, check=False)
        if p.returncode != 0:
            raise RuntimeError(p.stderr.strip())
        return p.stdout

    def session(self):
        """Start a psql that runs statements from its stdin."""
        return self.psql(subprocess.Popen, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def kill(self):
        """End the server and its children at once, as a crash does."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def stop(self):
        """Stop the server as an administrator does."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def close(self):
        for s in (signal.SIGTERM, signal.SIGINT):
            signal.signal(s, signal.SIG_IGN)
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def server(*args, **options):
    """Start a server; without PostgreSQL the test is skipped."""
    try:
        return Server(*args, **options)
    except Missing as e:
        print("1..0 # SKIP %s: not installed" % e)
        sys.exit(0)


class Replica(Server):
    """A replica that streams from another server, which is restarted to copy its files."""

    def __init__(self, primary, settings=()):
        self.primary = primary
        super().__init__(primary.bin, settings)

    def make(self):
        self.primary.stop()
        shutil.copytree(self.primary.data, self.data)
        self.primary.start()
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a", encoding="utf-8") as f:
            f.write("primary_conninfo = 'host=%s user=%s'\n" % (self.primary.folder, USER))
        open(os.path.join(self.data, "standby.signal"), "w", encoding="utf-8").close()
        if self.user:
            for folder, _, files in os.walk(self.data):
                for name in [".", *files]:
                    shutil.chown(os.path.join(folder, name), self.user)
        os.chmod(self.data, 0o700)
        self.start()


def say(line):
    print(line, flush=True)


def serve(server):
    say(server.line())
    for command in sys.stdin:
        command = command.strip()
        if command == "kill":
            server.kill()
            say("killed")
        elif command == "start":
            server.start()
            say(server.line())
        elif command.startswith("sql "):
            try:
                server.sql(command[4:])
                say("ok")
            except RuntimeError as e:
                say(str(e).replace("\n", " "))


def main():
    for s in (signal.SIGTERM, signal.SIGINT):
        signal.signal(s, lambda *_: sys.exit(1))
    try:
        with Server(*sys.argv[1:2]) as server:
            serve(server)
    except Missing as e:
        say("none: %s" % e)
        sys.exit(77)


if __name__ == "__main__":
    main()
