#!/usr/bin/env python3
"""The API on a real read replica of PostgreSQL: responses show the lag of the replica,
any server can return the next page, and a query that the replica cancels is repeated.
TAP.

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


def wait_for(what, seconds=300):
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def lag(site):
    return site.fetch(JOBS, BOSS).json["meta"].get("replica_lag_seconds", "none")


def metric(site):
    found = re.search(rb"^batchjob_api_replica_lag_seconds (\d+)$", site.fetch("/metrics").body, re.M)
    return int(found.group(1)) if found else None


class Pair:
    """A primary and its replica, with a server of the API on each."""

    def __init__(self, programs):
        # The replica's max_standby_streaming_delay=0 cancels queries at once, instead of after 30 s.
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
            self.site.store_to_serve, self.other.store_to_serve = self.replica.url, self.primary.url
        except BaseException:
            self.close()
            raise

    def another(self):
        site = Site(count=600, days=8)
        site.postgres = None
        self.sites.append(site)
        return site

    def change(self):
        """Write to the primary, and return the position in its log."""
        self.primary.sql("INSERT INTO test.churn VALUES(1)")
        return self.primary.sql("SELECT pg_current_wal_insert_lsn()").strip()

    def has(self, position, function="pg_last_wal_replay_lsn"):
        return self.replica.sql("SELECT %s() >= '%s'" % (function, position)).strip() == "t"

    def close(self):
        for site in self.sites:
            site.clean_up()
        for server in (self.replica, self.primary):
            if server:
                server.close()


def streams(pair):
    """While nothing is written the lag is 0."""
    here = pair.change()
    check(wait_for(lambda: pair.has(here)), "the replica gets what the primary writes")
    age = "SELECT now() - pg_last_xact_replay_timestamp() > interval '2 s'"
    check(wait_for(lambda: pair.replica.sql(age).strip() == "t"), "nothing is written for 2 s")
    pair.site.start(*ALONE)
    pair.other.start(*ALONE)
    same(pair.site.fetch(JOBS, BOSS).json["meta"]["rows"], 5, "a server reads the replica")
    same((lag(pair.site), lag(pair.other)), (0, "none"),
         "the lag of the replica is 0; a server on the primary reports none")
    same((metric(pair.site), metric(pair.other)), (0, None), "only the server on the replica has the metric of the lag")
    for path in ("/api/v1/usage?from=0", "/api/v1/users", "/api/v1/findings?from=0"):
        same(pair.site.fetch(path, BOSS).json["meta"]["replica_lag_seconds"], 0, path.split("?")[0] + " has the lag")
    check("behind" not in pair.site.fetch("/jobs", BOSS).body.decode(), "web pages do not mention a lag of 0")
    check("meta" not in pair.site.fetch("/api/jobs?from=0", BOSS).json,
          "documents in the format of the original have no lag")


def paused(pair):
    """When replay is paused, the lag grows."""
    pair.replica.sql("SELECT pg_wal_replay_pause()")
    begin = time.monotonic()
    pair.primary.sql("UPDATE cluster SET system = 'later'")
    here = pair.change()
    check(wait_for(lambda: pair.has(here, "pg_last_wal_receive_lsn")), "the replica receives, but does not replay")
    check(wait_for(lambda: lag(pair.site) not in (0, "none")), "the server reports a lag")
    first, took = lag(pair.site), time.monotonic() - begin
    # the lag counts from the last check without lag, at most 5 s earlier
    check(1 <= first <= took + 7, "the lag is right", first, took)
    check(wait_for(lambda: lag(pair.site) > first), "the lag grows")
    same(pair.site.fetch("/api/v1/clusters", BOSS).data[0]["batch_system"], "slurm",
         "the server on the replica shows the old value")
    same(pair.other.fetch("/api/v1/clusters", BOSS).data[0]["batch_system"], "later",
         "the server on the primary shows the new value")
    check(re.search(r"a copy of the data that is \d+ s behind", pair.site.fetch("/jobs", BOSS).body.decode()),
          "web pages show the lag")
    header = pair.site.fetch(JOBS + "&format=csv", BOSS).headers["X-Replica-Lag-Seconds"]
    check(header is not None and int(header) >= first, "a response in CSV has the lag in a header", header)
    check(metric(pair.site) >= first, "the metric shows the lag")
    check(pair.site.fetch("/health").data[0]["replica_lag_seconds"] >= first, "/health shows the lag, with status 200")
    a = pair.site.fetch("/api/v1/mail", BOSS, ("Content-Type", "application/x-www-form-urlencoded"), method="POST",
                        body=b"choice=off")
    same(a.status, 503, "a replica stores no choice of mails")
    pair.replica.sql("SELECT pg_wal_replay_resume()")
    check(wait_for(lambda: lag(pair.site) == 0), "the replica has caught up")
    same(pair.site.fetch("/api/v1/clusters", BOSS).data[0]["batch_system"], "later",
         "the server on the replica shows the new value")


def primary_down(pair):
    """Without the primary there is a lag, because the replica may lack the last changes."""
    pair.primary.kill()
    check(wait_for(lambda: lag(pair.site) not in (0, "none")), "the server reports a lag while the primary is down")
    pair.primary.start()
    check(wait_for(lambda: lag(pair.site) == 0), "the lag is 0 when the primary is back")


def pages(pair):
    """Pages from two servers in turn are those of one server."""
    for path, key in (("/api/v1/jobs?from=0&limit=37&fields=key", "key"), ("/api/v1/findings?from=0&limit=11", "key")):
        servers, rows, cursor, n = [pair.site, pair.other], [], "", 0
        while cursor is not None and n < 200:
            a = servers[n % 2].fetch(path + cursor, BOSS).json
            rows += [tuple(sorted(map(str, r.items()))) for r in a["data"]]
            cursor = "&cursor=" + a["meta"]["next"] if a["meta"]["next"] else None
            n += 1
        whole = pair.site.fetch(re.sub("limit=[0-9]+", "limit=100000", path), BOSS).data
        same(rows, [tuple(sorted(map(str, r.items()))) for r in whole],
             "%d pages of %s from two servers" % (n, path.split("?")[0]))
        check(n > 3 and whole[0][key], "there are several pages", n)


def conflicts(pair):
    """The replica cancels queries because rows that they read are removed; they are repeated."""
    def count():
        return int(pair.replica.sql("SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = 'store'"))
    path = "/api/v1/jobs?from=0&limit=100000"
    want = pair.other.fetch(path, BOSS).data
    check(len(want) > 500, "the primary returns all jobs with all fields", len(want))
    odd, before, rounds = [], count(), 0
    while count() < before + 5 and rounds < 60:
        rounds += 1
        some = threading.Event()

        def read():
            for _ in range(6):
                a = pair.site.fetch(path, BOSS)
                if a.status != 200 or a.data != want:
                    odd.append(a)
                some.set()
        threads = [threading.Thread(target=read) for _ in range(4)]
        for t in threads:
            t.start()
        some.wait()
        # Once in each round, so that a request has at most one conflict.  The last commit sends VACUUM's changes.
        pair.primary.sql("DELETE FROM test.churn;\nVACUUM (TRUNCATE off) test.churn;\nINSERT INTO test.churn VALUES(1);")
        for t in threads:
            t.join()
    print("# %d conflicts in %d rounds" % (count() - before, rounds))
    check(count() >= before + 5, "the replica cancels queries", count())
    check(not odd, "cancelled queries are repeated: no request fails", len(odd), *odd[:3])


def main():
    try:
        pair = Pair(sys.argv[1:2])
    except postgres.Missing as e:
        print("1..0 # SKIP %s: not installed" % e)
        return 0
    try:
        for part in (streams, paused, primary_down, pages, conflicts):
            part(pair)
    finally:
        pair.close()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
