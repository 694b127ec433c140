#!/usr/bin/env python3
"""The API on a read replica of PostgreSQL: it shows how far the replica is behind,
pages go on at any server, and a query that the replica ends is repeated.  TAP.

    store_replica.py [BIN]     BIN: folder of initdb and postgres of another version"""
import os
import re
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
import postgres  # noqa: E402
from api_lib import IMPORTER, Site, user  # noqa: E402
from tap import check, plan, same  # noqa: E402

BOSS = user("boss")
JOBS = "/api/v1/jobs?from=0&limit=5"
ALONE = ["--access.trust-loopback", "--access.admins=boss", "--query.max-rows=100000", "--query.timeout=20s"]


def wait_for(what, seconds=60):
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def lag(site):
    return site.ask(JOBS, BOSS).json["meta"].get("replica_lag_seconds", "none")


def metric(site):
    found = re.search(rb"^batchjob_api_replica_lag_seconds (\d+)$", site.ask("/metrics").body, re.M)
    return int(found.group(1)) if found else None


class Pair:
    """A primary and its replica, with a server of the API on each."""

    def __init__(self, programs):
        # Replaying ends queries at once: the default waits for 30 s.
        self.primary = postgres.Server(*programs, settings=["max_wal_senders=4", "wal_level=replica"])
        self.sites = []
        self.replica = None
        try:
            self.site = self.another()
            self.site.fill()
            self.other = self.another()
            p = subprocess.run([IMPORTER, "copy", "--from=" + self.site.store, "--to=" + self.primary.url()],
                               capture_output=True, check=False)
            same((p.returncode, p.stderr), (0, b""), "the primary is filled")
            self.primary.sql("CREATE SCHEMA test; CREATE TABLE test.churn(a int)")
            self.replica = postgres.Replica(self.primary, ["max_standby_streaming_delay=0"])
            self.site.served, self.other.served = self.replica.url, self.primary.url
        except BaseException:
            self.close()
            raise

    def another(self):
        site = Site(count=600, days=8)
        site.postgres = None
        self.sites.append(site)
        return site

    def change(self):
        """Write, and return the position of that."""
        self.primary.sql("INSERT INTO test.churn VALUES(1)")
        return self.primary.sql("SELECT pg_current_wal_insert_lsn()").strip()

    def has(self, position, function="pg_last_wal_replay_lsn"):
        return self.replica.sql("SELECT %s() >= '%s'" % (function, position)).strip() == "t"

    def close(self):
        for site in self.sites:
            site.done()
        for server in (self.replica, self.primary):
            if server:
                server.close()


def streams(pair):
    """Nothing is written for a while: the replica is not behind."""
    here = pair.change()
    check(wait_for(lambda: pair.has(here)), "the replica gets what the primary writes")
    age = "SELECT now() - pg_last_xact_replay_timestamp() > interval '2 s'"
    check(wait_for(lambda: pair.replica.sql(age).strip() == "t"), "then nothing is written")
    pair.site.start(*ALONE)
    pair.other.start(*ALONE)
    same(pair.site.ask(JOBS, BOSS).json["meta"]["rows"], 5, "a server reads the replica")
    same((lag(pair.site), lag(pair.other)), (0, "none"), "it is not behind; a server on the primary does not say so")
    same((metric(pair.site), metric(pair.other)), (0, None), "nor does its metric")
    for path in ("/api/v1/usage?from=0", "/api/v1/users", "/api/v1/findings?from=0"):
        same(pair.site.ask(path, BOSS).json["meta"]["replica_lag_seconds"], 0, path.split("?")[0] + " says it, too")
    check("behind" not in pair.site.ask("/jobs", BOSS).body.decode(), "pages do not mention it")
    check("meta" not in pair.site.ask("/api/jobs?from=0", BOSS).json, "the original's documents stay as they are")


def paused(pair):
    """Replaying stops, and the lag grows with time."""
    pair.replica.sql("SELECT pg_wal_replay_pause()")
    begin = time.monotonic()
    pair.primary.sql("UPDATE cluster SET system = 'later'")
    here = pair.change()
    check(wait_for(lambda: pair.has(here, "pg_last_wal_receive_lsn")), "the replica receives, but does not replay")
    check(wait_for(lambda: lag(pair.site) not in (0, "none")), "the server says that it is behind")
    first, took = lag(pair.site), time.monotonic() - begin
    # at most since it was last seen without lag, 5 s before at most
    check(1 <= first <= took + 7, "by the right time", first, took)
    check(wait_for(lambda: lag(pair.site) > first), "the time grows")
    same(pair.site.ask("/api/v1/clusters", BOSS).data[0]["batch_system"], "slurm", "it shows the old state")
    same(pair.other.ask("/api/v1/clusters", BOSS).data[0]["batch_system"], "later", "the primary the new one")
    check(re.search(r"a copy of the data that is \d+ s behind", pair.site.ask("/jobs", BOSS).body.decode()),
          "pages say it")
    header = pair.site.ask(JOBS + "&format=csv", BOSS).headers["X-Replica-Lag-Seconds"]
    check(header is not None and int(header) >= first, "CSV has it in a header", header)
    check(metric(pair.site) >= first, "the metric has it")
    check(pair.site.ask("/health").data[0]["replica_lag_seconds"] >= first, "and /health, with status 200")
    a = pair.site.ask("/api/v1/mail", BOSS, ("Content-Type", "application/x-www-form-urlencoded"), method="POST",
                      body=b"choice=off")
    same(a.status, 503, "a replica stores no choice of mails")
    pair.replica.sql("SELECT pg_wal_replay_resume()")
    check(wait_for(lambda: lag(pair.site) == 0), "it has caught up")
    same(pair.site.ask("/api/v1/clusters", BOSS).data[0]["batch_system"], "later", "and shows the new state")


def cut(pair):
    """Without its primary a replica has all that it received, but may lack the rest."""
    pair.primary.kill()
    check(wait_for(lambda: lag(pair.site) not in (0, "none")), "the primary has gone: the server says for how long")
    pair.primary.start()
    check(wait_for(lambda: lag(pair.site) == 0), "it is there again")


def pages(pair):
    """Each page from the other server."""
    for path, key in (("/api/v1/jobs?from=0&limit=37&fields=key", "key"), ("/api/v1/findings?from=0&limit=11", "key")):
        servers, rows, cursor, n = [pair.site, pair.other], [], "", 0
        while cursor is not None and n < 200:
            a = servers[n % 2].ask(path + cursor, BOSS).json
            rows += [tuple(sorted(map(str, r.items()))) for r in a["data"]]
            cursor = "&cursor=" + a["meta"]["next"] if a["meta"]["next"] else None
            n += 1
        whole = pair.site.ask(re.sub("limit=[0-9]+", "limit=100000", path), BOSS).data
        same(rows, [tuple(sorted(map(str, r.items()))) for r in whole],
             "%d pages of %s from two servers" % (n, path.split("?")[0]))
        check(n > 3 and whole[0][key], "there were pages", n)


def conflicts(pair):
    """Old rows are removed while they are read: the replica ends the queries."""
    def count():
        return int(pair.replica.sql("SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = 'store'"))
    path = "/api/v1/jobs?from=0&limit=100000"
    want = pair.other.ask(path, BOSS).data
    check(len(want) > 500, "all jobs with all fields", len(want))
    odd, before, rounds = [], count(), 0
    while count() < before + 5 and rounds < 60:
        rounds += 1
        some = threading.Event()

        def read():
            for _ in range(6):
                a = pair.site.ask(path, BOSS)
                if a.status != 200 or a.data != want:
                    odd.append(a)
                some.set()
        threads = [threading.Thread(target=read) for _ in range(4)]
        for t in threads:
            t.start()
        some.wait()
        # Once for each round: a request meets at most one.  The last commit sends what VACUUM has written.
        pair.primary.sql("DELETE FROM test.churn;\nVACUUM (TRUNCATE off) test.churn;\nINSERT INTO test.churn VALUES(1);")
        for t in threads:
            t.join()
    print("# %d conflicts in %d rounds" % (count() - before, rounds))
    check(count() >= before + 5, "the replica ends queries", count())
    check(not odd, "they are repeated: no request fails", len(odd), *odd[:3])


def main():
    try:
        pair = Pair(sys.argv[1:2])
    except postgres.Missing as e:
        print("1..0 # SKIP %s: not installed" % e)
        return 0
    try:
        for part in (streams, paused, cut, pages, conflicts):
            part(pair)
    finally:
        pair.close()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
