#!/usr/bin/env python3
"""Several writers of one store in PostgreSQL: the leading one is ended repeatedly at
random moments, and in the end the store is equal to that of one undisturbed import:
no job, step or sum is lost or doubled.  TAP.

    store_leaders.py [SEED]"""
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
import postgres  # noqa: E402
from api_lib import IMPORTER, Site  # noqa: E402
from store_postgres import Daemon, empty, wait_for  # noqa: E402
from tap import check, plan, same  # noqa: E402

ROUNDS, WRITERS, KILLS = 4, 3, 4
# Rows with names instead of ids, which depend on the order of the import.
JOB = "c.name || ':' || CAST(j.jobid AS TEXT) || ':' || j.submit"
CONTENT = {
    "jobs": "SELECT %s, j.state, j.\"start\", j.\"end\", j.cpu_usec FROM job AS j JOIN cluster AS c ON c.id = j.cluster"
            % JOB,
    "steps": "SELECT %s, s.state, s.\"start\", s.\"end\", s.cpu_usec FROM step AS s JOIN job AS j ON j.id = s.job"
             " JOIN cluster AS c ON c.id = j.cluster" % JOB,
    "findings": "SELECT %s, r.name FROM job_finding AS f JOIN finding_rule AS r"
                " ON r.id = f.rule JOIN job AS j ON j.id = f.job JOIN cluster AS c ON c.id = j.cluster" % JOB,
    "sums": "SELECT a.account, u.name, p.name, r.month, r.day, r.jobs_started, r.jobs_ended, r.jobs_failed, r.cpu_sec,"
            " r.cpu_used_msec FROM rollup_day AS r JOIN (SELECT s.id, n.name AS account, s.\"user\", s.partition FROM"
            " assoc AS s JOIN account AS n ON n.id = s.account) AS a ON a.id = r.assoc JOIN \"user\" AS u ON u.id ="
            " a.\"user\" JOIN partition AS p ON p.id = a.partition",
}


def text(value):
    return "" if value is None else str(value)


def of_file(path, sql):
    db = sqlite3.connect(path)
    try:
        return sorted("|".join(map(text, row)) for row in db.execute(sql))
    finally:
        db.close()


def of_server(pg, sql):
    return sorted(pg.sql(sql).splitlines())


def leader_of(pg, running):
    """Return the running writer that holds the lock, or None."""
    names = pg.sql("SELECT DISTINCT a.application_name FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
                   " WHERE l.locktype = 'advisory' AND l.granted").splitlines()
    return next((d for d in running if d.name in names), None)


def end(pg, leader, how):
    if how == "stop":
        leader.kill(signal.SIGTERM)
        return
    if how == "cut":  # the server ends its connections first
        pg.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '%s'" % leader.name)
    leader.kill()


def once(site, store):
    """Import and derive everything; return how long it took."""
    begin = time.monotonic()
    p = subprocess.run([IMPORTER, "--once", "--store.path=" + store, "--store.batch-lines=100",
                        "--cluster.file=" + os.path.join(site.folder, "fake.yml")], capture_output=True, check=False)
    same(p.returncode, 0, "an undisturbed import succeeds")
    return time.monotonic() - begin


def disturb(site, pg, chance, seconds):
    """Start writers, and end each one that leads, within so many seconds; return those that still run."""
    running, ended = [], []
    for n in range(KILLS + WRITERS - 1):
        running.append(Daemon(site, pg.url(), "writer%d" % n))  # with a new log
        if len(running) < WRITERS:
            continue
        if not check(wait_for(lambda: leader_of(pg, running)), "one writer leads"):
            break
        leader = leader_of(pg, running)
        time.sleep(chance.uniform(0, seconds))
        how = chance.choice(["kill", "kill", "stop", "cut"])
        end(pg, leader, how)
        running.remove(leader)
        ended.append("%s %s" % (how, jobs(pg)))
    print("# ended, and jobs then: %s" % ", ".join(ended))
    return running


def jobs(pg):
    there = pg.sql("SELECT to_regclass('job') IS NOT NULL").strip() == "t"
    return pg.sql("SELECT count(*) FROM job").strip() if there else "0"


def disturbed_import(site, pg, chance, seconds):
    """Writers that are ended fill an empty store, which becomes equal to that of an undisturbed import."""
    empty(pg)
    running = disturb(site, pg, chance, seconds)
    try:
        want = of_file(site.store, CONTENT["jobs"])
        check(wait_for(lambda: of_server(pg, CONTENT["jobs"]) == want, 120), "every job is stored once")
    finally:
        for d in running:
            d.kill(signal.SIGTERM)
    once(site, pg.url())  # derive everything: one round of the daemon derives a part
    for name, sql in CONTENT.items():
        here, there = of_file(site.store, sql), of_server(pg, sql)
        check(here == there and len(here) > 10, "the %s are the same" % name, len(here), len(there),
              *sorted(set(here) ^ set(there))[:4])


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else int(time.time())
    print("# seed %d" % seed)
    pg = postgres.server()
    site = Site(count=4000, days=12)
    site.postgres = None
    try:
        site.fill()
        once(site, site.store)
        whole, chance = once(site, pg.url()), random.Random(seed)
        for _ in range(ROUNDS):
            disturbed_import(site, pg, chance, whole / 2)
    finally:
        site.clean_up()
        pg.close()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
