#!/usr/bin/env python3
"""Copies of a store to PostgreSQL and back: killed at random moments while the store
changes, a copy continues and ends equal.  Also --proof, check and backup with
PostgreSQL.  TAP.

    store_copy.py [SEED]"""
import csv
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
import postgres  # noqa: E402
from api_lib import IMPORTER, SERVER, TOP, O, Site  # noqa: E402
from tap import check, plan, same  # noqa: E402

ACCT = os.path.abspath(os.path.join(TOP, O, "batchjob_acct"))


def run(*args):
    return subprocess.run(args, capture_output=True, timeout=300, check=False)


def start_copy(a, b, *options):
    return subprocess.Popen([IMPORTER, "copy", "--from=" + a, "--to=" + b, *options], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def exported(store):
    p = run(IMPORTER, "export", "--store.path=" + store)
    return p.returncode, p.stdout


def touch(site, rng):
    """Change a job in the store, to write it during a copy."""
    db = sqlite3.connect(site.store, timeout=300)
    with db:
        db.execute("UPDATE job SET priority = ?1 WHERE id = (SELECT id FROM job ORDER BY id LIMIT 1 OFFSET ?2)",
                   (rng.randrange(1 << 40), rng.randrange(db.execute("SELECT count(*) FROM job").fetchone()[0])))


def add_records(site):
    """Insert final records, as if nodes had sent them."""
    db = sqlite3.connect(site.store)
    host, = db.execute("SELECT min(id) FROM host").fetchone()
    for i, start in enumerate([0] + [site.now - n * 40000 for n in range(1, 20)]):
        record = db.execute('INSERT INTO node_record(cluster, jobid, host, slurm_node, start, "end", cpu_usec)'
                            " VALUES(1, ?, ?, '', ?, ?, ?)", (1001 + i, host, start, site.now, 7 * i)).lastrowid
        db.execute("INSERT INTO node_device(record, device, read_bytes) VALUES(?, 'sda', ?)", (record, 9 * i))
    db.commit()
    db.close()


def kill_until_done(site, a, b, rng):
    """Kill copies, each of which may run a little longer than the one before, until one ends by itself."""
    limit, killed, rc, err = 0, 0, -9, b""
    # the server may not have noticed yet that its client was killed
    while rc == -9 or b"another process" in err:
        p = start_copy(a, b)
        try:
            _, err = p.communicate(timeout=rng.uniform(0, limit))
        except subprocess.TimeoutExpired:
            if a == site.store:
                touch(site, rng)
            p.kill()
            _, err = p.communicate()
        rc = p.returncode
        killed += rc == -9
        limit = limit * 1.15 + 0.01
    # or the copy was killed when it had written all
    check(rc == 0 or b"has jobs already" in err, "the copy ends after it was killed %d times" % killed, err)
    if a == site.store:  # the last state of the store
        p = start_copy(a, b, "--update")
        _, err = p.communicate()
        check(p.returncode == 0, "--update makes the copy equal again", err)


def wait_for_result(pg, sql, what):
    until = time.monotonic() + 300
    while pg.sql(sql).strip() != what:
        if time.monotonic() > until:
            sys.exit("%s is not %s" % (sql, what))


def kill_before_end(site, pg):
    """Kill a copy to an empty store when it has written the jobs, and waits for a locked table."""
    empty = os.path.join(site.folder, "empty.yml")
    with open(empty, "w", encoding="ascii") as f:
        f.write("name: fake\nqstat:\n  command: /bin/true\n")
    p = run(IMPORTER, "--once", "--cluster.file=" + empty, "--store.path=" + pg.url())
    check(p.returncode == 0, "an empty store is created", p.stderr)
    with pg.session() as lock:
        lock.stdin.write(b"BEGIN; LOCK TABLE rollup_usage;\n\\echo locked\n")
        lock.stdin.flush()
        check(lock.stdout.readline() == b"locked\n", "a table of the empty store is locked")
        p = start_copy(site.store, pg.url())
        wait_for_result(pg, "SELECT count(*) FROM pg_locks WHERE NOT granted", "1")
        p.kill()
        p.communicate()
        lock.stdin.close()
    wait_for_result(pg, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'", "1")


def unfinished_copy(site, pg):
    """Other programs refuse a store when the copy to it has not ended."""
    kill_before_end(site, pg)
    store = "--store.path=" + pg.url()
    cluster = "--cluster.file=" + os.path.join(site.folder, "fake.yml")
    for program in ([ACCT, "-S", "30d"], [IMPORTER, "--once", cluster], [IMPORTER, "export"]):
        p = run(*program, store)
        check(p.returncode == 1 and b"has not finished" in p.stderr,
              os.path.basename(program[0]) + " %s refuses the unfinished store" % program[1], p.stderr)
    p = subprocess.Popen([SERVER, "--web.listen-address=127.0.0.1:0", store], stderr=subprocess.PIPE)
    end = threading.Timer(60, p.kill)
    end.start()
    check(any(b"has not finished" in line for line in p.stderr), "the API server waits until the copy has ended")
    end.cancel()
    p.kill()
    p.communicate()


def count_and_sum(db, table, where="", *values):
    """Return the number of rows and the sum of all integers, without jobid: its type differs between the engines."""
    columns = [c for c, in db.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", (table,)) if c != "jobid"]
    rows = db.execute('SELECT "%s" FROM "%s" %s' % ('", "'.join(columns), table, where), values).fetchall()
    return len(rows), sum(v for row in rows for v in row if isinstance(v, int)) % (1 << 64)


def check_proof(back, proof):
    """The file of --proof has the numbers of rows and the sums that are computed here."""
    db = sqlite3.connect(back)
    with open(proof, encoding="ascii") as f:
        found = {(r["table"], r["day"]): (int(r["rows"]), int(r["sum"])) for r in csv.DictReader(f)}
    want = {(table, ""): count_and_sum(db, table) for table in ("rollup_usage", "user", "hosts", "factor")}
    for first, key, at, others in (("job", "job", "submit", ("step", "job_more", "job_use", "job_finding")),
                                   ("node_record", "record", "start", ("node_device", "node_gpu"))):
        day = "CASE WHEN %s <= 946684800 THEN 'unknown' ELSE date(%s, 'unixepoch') END" % (at, at)
        days = [d for d, in db.execute("SELECT DISTINCT %s FROM %s" % (day, first))]
        check(days, "there are rows of " + first)
        for table in (first, *others):
            where = "WHERE %s IN (SELECT id FROM %s WHERE %s = ?)" % ("id" if table == first else key, first, day)
            want.update({(table, d): count_and_sum(db, table, where, d) for d in days})
    same({k: v for k, v in found.items() if k in want and v != want[k]}, {},
         "%d sums of the proof are right" % len(want))
    same([k for k in want if k not in found], [], "no sum is missing")
    same({k for k, v in found.items() if k[0] == "job" and k not in want}, set(), "the days are those of the jobs")


def consistent(pg):
    p = run(IMPORTER, "check", "--store.path=" + pg.url())
    check(p.returncode == 0 and b"consistent" in p.stdout, "check succeeds on PostgreSQL", p.stderr)
    gone = pg.sql("DELETE FROM state WHERE id = 4 RETURNING name").strip()
    p = run(IMPORTER, "check", "--store.path=" + pg.url())
    check(p.returncode == 1 and b"table job has the state 4, which table state lacks" in p.stderr,
          "check finds a missing row", p.stderr)
    pg.sql("INSERT INTO state(id, name) VALUES(4, '%s')" % gone.split("\n", maxsplit=1)[0])
    same(run(IMPORTER, "check", "--store.path=" + pg.url()).returncode, 0, "check succeeds when the row is back")


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 30)
    print("# seed %d" % seed)
    rng = random.Random(seed)
    pg = postgres.server()
    site = Site(count=900, days=12)
    site.postgres = None
    back, proof = (os.path.join(site.folder, name) for name in ("back.db", "proof.csv"))
    try:
        site.fill()
        site.add_measurements("1010")
        add_records(site)
        unfinished_copy(site, pg)
        kill_until_done(site, site.store, pg.url(), rng)
        kill_until_done(site, pg.url(), back, rng)
        here, there, again = exported(site.store), exported(pg.url()), exported(back)
        check(here[0] == 0 and len(here[1]) > 100000 and here == there, "PostgreSQL has the same jobs")
        check(here == again, "the file that is copied from PostgreSQL has the same jobs")
        same(run(IMPORTER, "check", "--store.path=" + back).returncode, 0, "that file is consistent")
        p = start_copy(pg.url(), back, "--update", "--proof=" + proof)
        out, err = p.communicate()
        check(p.returncode == 0 and b" rows equal, 0 of them written" in out, "--update finds nothing to write", err)
        check_proof(back, proof)
        consistent(pg)
        other = os.path.join(site.folder, "backup.db")
        p = run(IMPORTER, "backup", other, "--store.path=" + pg.url())
        check(p.returncode == 0 and exported(other) == here,
              "a backup of PostgreSQL is a file with the same jobs", p.stderr)
        p = run(IMPORTER, "backup", other, "--store.path=" + pg.url())
        check(p.returncode == 1 and b"has jobs already" in p.stderr, "the backup is not overwritten", p.stderr)
    finally:
        site.clean_up()
        pg.close()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
