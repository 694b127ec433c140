#!/usr/bin/env python3
"""The store in PostgreSQL: with the same input, responses are the same as with SQLite;
copies are equal in both directions; one of several writers leads; after a crash of the
server, an import restores what was lost.  TAP.

    store_postgres.py [BIN]     BIN: folder of initdb and postgres of another version"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
import postgres  # noqa: E402
from api_lib import IMPORTER, TOP, O, Site, user  # noqa: E402
from tap import check, plan, same, skip  # noqa: E402

ACCT = os.path.abspath(os.path.join(TOP, O, "batchjob_acct"))
BOSS = user("boss")
# Requests that read the store; they are sent to a server on each engine.
PATHS = ["/api/v1/" + p for p in (
    "jobs?from=0&limit=1000", "jobs?from=0&limit=7&total=1", "jobs?from=0&sort=elapsed_seconds&limit=20",
    "jobs?from=0&sort=cpu_efficiency_percent&limit=50", "jobs?from=0&user=user3,user5&limit=50",
    "jobs?from=0&account=acct1&state=failed,timeout&limit=50", "jobs?from=0&name=%25a%25&limit=50",
    "jobs?from=0&node=n07&limit=50", "jobs?from=0&finding=low_cpu&limit=50", "jobs?from=0&state=pending,running",
    "jobs?from=0&job=1001", "jobs?from=0&job=1001,1005", "jobs?from=0&job=1001%2B1", "jobs?from=0&gpu=1&limit=10",
    "jobs?from=0&format=csv&limit=100", "findings?from=0", "findings?from=0&user=user3",
    "usage?from=0", "usage?from=0&group_by=user", "usage?from=0&group_by=account,month", "usage?from=0&group_by=user,partition",
    "users", "accounts", "clusters", "constants", "emission-factors?from=0", "me", "storage")] + [
    "/", "/jobs?from=0", "/findings?from=0", "/usage?from=0", "/users/user3", "/accounts/acct1", "/queue",
    "/find?q=acct1", "/find?q=user3", "/find?q=1001", "/jobs?from=0&state=pending", "/jobs?from=0&account=acct1&name=a&limit=9",
    "/api/jobs?from=0", "/api/accounts"]
# Pages that depend on the time of the request: of these the links.
NOW = ["/home?mine=true", "/nodes", "/nodes/n07", "/support", "/management", "/cluster", "/gpus"]
WORDS = [["-S", "30d"], ["-S", "30d", "-o", "all"], ["-j", "1001"],
         ["-S", "30d", "-u", "user3"], ["-S", "30d", "-s", "failed"], ["usage"]]


def run(*args):
    return subprocess.run(args, capture_output=True, timeout=300, check=False)


def copy(a, b):
    p = run(IMPORTER, "copy", "--from=" + a, "--to=" + b)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def empty(pg):
    pg.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public;")


def without_numbers(body):
    """Remove the ids of jobs in cursors, which each engine assigns, and how long jobs have waited until now."""
    body = re.sub(rb'((?:"next": ?"|cursor=)\d+)\.\d+', rb"\1", body)
    return re.sub(rb'(data-l="(?:Longest|Has waited)">)[0-9:-]+', rb"\1", body)


def responses(site, store):
    """Return the responses of an API server on the store, by path."""
    site.store_to_serve = lambda: store
    site.start("--access.trust-loopback", "--access.admins=boss")
    # a fixed end, so that the time of the request does not matter
    times = "from=0&to=%d" % site.now
    keys = [j["key"] for j in site.fetch("/api/v1/jobs?from=0&limit=40&fields=key", BOSS).data]
    ret = {}
    for path in PATHS + ["/api/v1/jobs/%s%s" % (k, part) for k in keys
                         for part in ("", "/steps", "/findings", "/energy", "/emissions", "/report")]:
        a = site.fetch(path.replace("from=0", times), BOSS)
        ret[path] = (a.status, without_numbers(a.body))
        if "month" in path:  # rows of a month have no order
            ret[path] = (a.status, sorted(map(str, a.data)))
    for who in ("boss", "user3", "newcomer"):  # the rest of the page depends on the time
        a = site.fetch("/home", user(who))
        ret["/home of " + who] = (a.status, sorted(set(re.findall(rb'href="jobs/[^"]+"|do">.*?</section>', a.body))))
    for path in NOW:
        a = site.fetch(path, BOSS)
        ret[path] = (a.status, sorted(set(re.findall(rb'href="[^"]+"', a.body))))
    # page by page
    path, pages = "/api/v1/jobs?%s&limit=97&fields=key" % times, 0
    cursor = ""
    while cursor is not None and pages < 100:
        a = site.fetch(path + cursor, BOSS).json
        cursor = "&cursor=" + a["meta"]["next"] if a["meta"].get("next") else None
        ret["page %d" % pages] = without_numbers(json.dumps(a).encode())
        pages += 1
    site.stop()
    return ret


def same_responses(site, pg):
    """The copy back is used: it sorts jobs of the same second as PostgreSQL does."""
    back = os.path.join(site.folder, "back.db")
    here, there = responses(site, back), responses(site, pg.url())
    same([p for p in here if here[p] != there.get(p)], [], "%d responses are the same" % len(here))
    same([p for p in PATHS + NOW if here[p][0] != (303 if p.startswith("/find?") else 200) and "storage" not in p], [], "no response is an error")
    check(len(here) > 250, "the responses contain jobs", len(here))
    for words in WORDS:
        # The time of a running job grows: compare runs between which the file's output stayed the same.
        for _ in range(50):
            out = [run(ACCT, *words, "--store.path=" + s) for s in (back, pg.url(), back)]
            if out[0].stdout == out[2].stdout:
                break
        check(out[0].returncode == out[1].returncode == 0 and out[0].stdout == out[1].stdout and
              len(out[0].stdout) > 20, "batchjob_acct prints the same: " + " ".join(words), out)
    for form in ("csv", "jsonl"):
        out = [run(IMPORTER, "export", "--format=" + form, "--store.path=" + s).stdout for s in (back, pg.url())]
        check(out[0] == out[1] and len(out[0]) > 1000, "exports are the same: " + form)


def copies(site, pg):
    rc, out, err = copy(site.store, pg.url())
    check(rc == 0 and "job " in out, "a store is copied from SQLite to PostgreSQL", out, err)
    rc, _, err = copy(site.store, pg.url())
    check(rc == 1 and "has jobs already" in err, "a store with jobs is not overwritten", err)
    back = os.path.join(site.folder, "back.db")
    rc, _, err = copy(pg.url(), back)
    check(rc == 0, "the store is copied back to SQLite", err)
    same(run(IMPORTER, "check", "--store.path=" + back).returncode, 0, "the file is consistent")
    same(*[run(IMPORTER, "export", "--store.path=" + s).stdout for s in (site.store, back)],
         "the file has the same jobs")


def roles(site, pg):
    """With the roles of examples/postgresql.sql, the writer's creates the tables and the reader's only reads."""
    with open(os.path.join(TOP, "examples/postgresql.sql"), encoding="utf-8") as f:
        pg.sql(f.read(), "postgres")
    writer, reader = pg.url("batchjob", "batchjob_writer"), pg.url("batchjob", "batchjob_reader")
    rc, _, err = copy(site.store, writer)
    check(rc == 0, "the writer's role fills the store", err)
    site.store_to_serve = lambda: reader
    site.start("--access.trust-loopback", "--access.admins=boss")
    check(len(site.fetch("/api/v1/jobs?from=0", BOSS).data) > 10, "the reader's role reads")
    choose = lambda: site.fetch("/api/v1/mail", BOSS, ("Content-Type", "application/x-www-form-urlencoded"),  # noqa: E731
                                method="POST", body=b"choice=off").status
    same(choose(), 503, "the reader's role cannot store a choice of mails")
    pg.sql("GRANT INSERT, UPDATE ON mail_choice TO batchjob_reader", "batchjob")
    same((choose(), site.fetch("/api/v1/mail", BOSS).data["choice"]), (200, "off"), "with rights on mail_choice it can")
    site.stop()
    fake = "--cluster.file=" + os.path.join(site.folder, "fake.yml")
    p = run(IMPORTER, "--once", "--store.path=" + reader, fake)
    check(p.returncode == 1 and b"permission denied" in p.stderr, "the reader's role cannot import", p.stderr)
    p = run(ACCT, "-S", "30d", "--store.path=" + reader)
    check(p.returncode == 0 and len(p.stdout) > 100, "batchjob_acct works with the reader's role", p.stderr)
    pg.sql("CREATE ROLE stranger LOGIN", "postgres")
    p = run(ACCT, "-S", "30d", "--store.path=" + pg.url("batchjob", "stranger"))
    check(p.returncode == 1 and b"permission denied" in p.stderr, "other roles cannot read", p.stderr)
    p = run(ACCT, "-S", "30d", "--store.path=postgresql://u:secret@db.invalid/batchjob")
    check(p.returncode == 1 and b"secret" not in p.stderr, "errors do not show the password", p.stderr)


EXPLAINED = ("session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0",
             "auto_explain.log_analyze = on", "log_min_messages = 'log'", "enable_seqscan = off", "plan_cache_mode = force_%s_plan")


def plans(pg, site, path, kind):
    """Return how the plans of a request read partitions: the executed scans, and their tables."""
    for setting in EXPLAINED:
        pg.sql("ALTER DATABASE store SET " + (setting % kind if "%" in setting else setting))
    site.start("--access.trust-loopback", "--access.admins=boss", "--web.threads=1")
    with open(os.path.join(pg.folder, "log"), encoding="utf-8") as log:
        log.seek(0, 2)
        for _ in range(2):
            a = site.fetch(path, BOSS)
            check(a.status == 200, path, a)
        text = log.read()
    site.stop()
    return executed(text)


def executed(text):
    nodes = re.findall(r"(Seq Scan|Scan.*) on ((?:job|step|node)(?:_[a-z]+)*_(?:\d{4}_\d\d|unknown))\b(.*)", text)
    return {(scan, table) for scan, table, rest in nodes if "never executed" not in rest}


def records_needed(site, pg):
    """Queries for the records of a job read the partitions of its time, and that of records without a start."""
    count = site.import_records(pg.url())
    same(pg.sql("SELECT count(*), count(DISTINCT tableoid) > 3, (SELECT count(*) FROM job_use WHERE measured_nodes = 1) >"
                " 100, (SELECT count(*) FROM derive_record) FROM node_record"), "%d|t|t|0\n" % count,
         "records of several months are imported")
    # A job in the middle of a month.
    number, key, month = pg.sql(
        "SELECT j.id, c.name || ':' || j.jobid || ':' || j.submit, to_char(to_timestamp(j.submit), 'YYYY_MM') FROM job AS j"
        " JOIN cluster AS c ON c.id = j.cluster JOIN job_use AS u ON u.job = j.id WHERE u.measured_nodes = 1 AND"
        " extract(day FROM to_timestamp(j.submit)) BETWEEN 5 AND 25 AND j.\"end\" < j.submit + 86400 ORDER BY 1 LIMIT 1"
    ).strip().split("|")

    def all_of(found, what):
        found = {(scan, table) for scan, table in found if table.startswith("node_")}
        same(sorted(t for scan, t in found if scan == "Seq Scan"), [], "no table is read whole: " + what)
        names = {t for _, t in found}
        check("node_record_" + month in names and {t[-7:] for t in names} <= {month, "unknown"}, what, sorted(names))

    for kind in ("custom", "generic"):
        for path in ("/api/v1/jobs/%s/report" % key, "/api/v1/jobs/%s/usage" % key, "/api/v1/jobs?job=%s&fields=energy_measured_joules" % key):
            all_of(plans(pg, site, path, kind), "%s plan: %s" % (kind, path))
        for what in ("INSERT INTO derive_todo VALUES(%s)" % number,
                     "UPDATE node_record SET cpus = 3 WHERE jobid = (SELECT jobid FROM job WHERE id = %s) AND start = (SELECT"
                     " start FROM job WHERE id = %s)" % (number, number)):
            pg.sql(what)
            with open(os.path.join(pg.folder, "log"), encoding="utf-8") as log:
                log.seek(0, 2)
                site.derive_records(pg.url())
                text = log.read()
            same(pg.sql("SELECT (SELECT count(*) FROM derive_todo) + (SELECT count(*) FROM derive_record)"), "0\n",
                 "all jobs are derived")
            all_of(executed(text), "%s plan, derive after %s" % (kind, what.split()[0]))


def only_needed(pg):
    """Queries read only partitions that can have rows for them, and use indexes."""
    site = Site(count=600, days=100)
    site.postgres = None
    try:
        site.fill()
        empty(pg)
        rc, _, err = copy(site.store, pg.url())
        check(rc == 0, "jobs of four months are copied", err)
        site.store_to_serve = pg.url
        all_months = {m for m, in site.db().execute("SELECT DISTINCT strftime('%Y_%m', submit, 'unixepoch') FROM job")}
        upto = site.now - 60 * 86400
        since = upto - 10 * 86400
        longest = 86400  # duration of a job here, at most
        need = {m for m, in site.db().execute(
            "SELECT strftime('%Y_%m', submit, 'unixepoch') AS m FROM job GROUP BY m HAVING min(at) <= ?1 AND max(at) >= ?2"
            " AND max(coalesce(\"end\", 1 << 60)) >= ?3", (upto, since - longest, since))}
        check(len(all_months) >= 4 and 0 < len(need) < len(all_months) - 1, "some months are not needed", all_months, need)
        key, submit = site.db().execute(
            "SELECT 'fake:' || jobid || ':' || submit, strftime('%Y_%m', submit, 'unixepoch') FROM job ORDER BY id LIMIT 1"
            " OFFSET 200").fetchone()
        times = "from=%d&to=%d" % (since, upto)
        for path, months in (("/api/v1/jobs?user=user3&" + times, need), ("/api/v1/jobs?" + times, need),
                             ("/api/v1/jobs?user=user3,user5&limit=20&" + times, need),
                             ("/api/v1/findings?" + times, need), ("/api/v1/jobs/%s" % key, {submit}),
                             ("/api/v1/jobs/%s/steps" % key, {submit})):
            # a generic plan without a time would read such small tables whole
            for kind in ("custom", "generic") if "from=" in path else ("custom",):
                found = plans(pg, site, path, kind)
                same(sorted(name for scan, name in found if scan == "Seq Scan"), [], "no table is read whole: " + path)
                read = {name[-7:] for _, name in found if name != "node_record_unknown"}
                check(found and read <= months, "%s plan: only %s" % (kind, sorted(months)), sorted(found))
        records_needed(site, pg)
    finally:
        site.clean_up()
        for setting in EXPLAINED:
            pg.sql("ALTER DATABASE store RESET " + setting.split()[0])


def keys(pg):
    return pg.sql("SELECT c.name || ':' || j.jobid || ':' || j.submit FROM job AS j JOIN cluster AS c ON c.id ="
                  " j.cluster ORDER BY 1").split("\n")[:-1]


def wait_for(what, seconds=300):
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


class Daemon:
    def __init__(self, site, url, name, **env):
        self.name, self.log = name, os.path.join(site.folder, name)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [IMPORTER, "--store.path=" + url, "--cluster.file=" + os.path.join(site.folder, "fake.yml"),
                 "--store.batch-lines=100"], stderr=log, stdout=log, env=dict(os.environ, PGAPPNAME=name, **env))

    def says(self, text):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return text in f.read()

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.process.wait(300)


def leaders(site, pg):
    """When a writer is killed, another one continues, and no job is lost or doubled."""
    want = keys(pg)
    empty(pg)
    first = Daemon(site, pg.url(), "first")
    check(wait_for(lambda: first.says("jobs new")), "the first writer imports jobs", open(first.log).read()[-500:])
    second = Daemon(site, pg.url(), "second")
    check(wait_for(lambda: second.says("another process is writing it")), "the second writer waits")
    begin = time.monotonic()
    first.kill()
    check(wait_for(lambda: second.says("this process writes it now"), 30), "the second writer takes over",
          open(second.log).read()[-500:])
    check(time.monotonic() - begin < 30, "it takes over within 30 s")
    check(wait_for(lambda: keys(pg) == want), "every job is stored once", len(keys(pg)), len(want))
    # The connection is lost; the server crashes.
    pg.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'second'")
    pg.kill()
    systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    systemd.bind(os.path.join(site.folder, "notify"))
    systemd.settimeout(300)
    third = Daemon(site, pg.url(), "third", NOTIFY_SOCKET=systemd.getsockname())
    same(systemd.recv(64), b"READY=1", "a new process is ready for systemd without a server")
    check(wait_for(lambda: third.says("store: waiting")), "it waits for the server", open(third.log).read())
    pg.start()
    same(second.kill(signal.SIGTERM), 0, "SIGTERM ends the second writer")
    check(wait_for(lambda: third.says("this process writes it now"), 60), "it writes when the server responds",
          open(third.log).read()[-500:])
    same(third.kill(signal.SIGTERM), 0, "SIGTERM ends the third writer")
    systemd.close()
    p = run(IMPORTER, "--once", "--store.path=" + pg.url(), "--cluster.file=" + os.path.join(site.folder, "fake.yml"))
    check(p.returncode == 0 and keys(pg) == want, "after the crash every job is stored once", p.stderr[-300:])


def full_disk(site, pg):
    """A full disk of the server does not end the daemon, and no job is lost or doubled when there is room again."""
    what = "a full disk of the server"
    want = keys(pg)
    small = os.path.join(pg.folder, "small")
    os.mkdir(small)
    if os.environ.get("ISOLATED") != "1" or os.getuid() != 0 or run(
            "mount", "-t", "tmpfs", "-o", "size=16m", "small", small).returncode:
        skip(what, "not root in a name space that may mount")
        return
    try:
        shutil.chown(small, pg.user)
        os.chmod(small, 0o700)
        empty(pg)
        pg.sql("CREATE TABLESPACE small LOCATION '%s'; ALTER DATABASE store SET default_tablespace = small" % small)
        # An empty store, and then no more room.
        none = site.file("none.yml", "name: fake\nqstat:\n  command: /bin/true\n")
        p = run(IMPORTER, "--once", "--cluster.file=" + none, "--store.path=" + pg.url())
        same((p.returncode, keys(pg)), (0, []), "an empty store is created")
        filler = os.path.join(small, "filler")
        with open(filler, "wb", 0) as f:
            for size in (65536, 4096):
                try:
                    while f.write(bytes(size)) == size:
                        pass
                except OSError:
                    pass
        daemon = Daemon(site, pg.url(), "full")
        check(wait_for(lambda: daemon.says("No space left on device")), what + " is logged",
              open(daemon.log).read()[-500:])
        same((daemon.process.poll(), daemon.says("disk of PostgreSQL: ")), (None, True), what + ": the daemon runs, and says which disk")
        os.unlink(filler)
        check(wait_for(lambda: keys(pg) == want, 300), "when there is room again, every job is stored once",
              len(keys(pg)), len(want), open(daemon.log).read()[-500:])
        same(daemon.kill(signal.SIGTERM), 0, "SIGTERM ends it")
    finally:
        pg.sql("ALTER DATABASE store RESET default_tablespace")
        empty(pg)
        pg.sql("DROP TABLESPACE small")
        run("umount", small)
    p = run(IMPORTER, "--once", "--store.path=" + pg.url(), "--cluster.file=" + os.path.join(site.folder, "fake.yml"))
    same((p.returncode, keys(pg) == want), (0, True), "the jobs are in a store on another disk")


def main():
    pg = postgres.server(*sys.argv[1:2])
    site = Site(count=900, days=12)
    site.postgres = None
    try:
        site.fill()
        site.age_imports()
        site.add_measurements("1010")
        for part in (copies, same_responses, roles):
            part(site, pg)
        leaders(site, pg)
        full_disk(site, pg)
        only_needed(pg)
    finally:
        site.clean_up()
        pg.close()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
