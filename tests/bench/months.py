#!/usr/bin/env python3
"""What a query of a user's last 30 days costs in stores of PostgreSQL with 1, 10 and 30
million invented jobs: 2, 20 and 60 months of half a million.

    tests/bench/months.py BUILD-FOLDER [JOBS-A-MONTH [MONTHS...]]

The server generates the jobs (generate_series) without write-ahead log, so filling the
stores does not measure imports.  All stores are queried in turn; compare their medians, and
the pages that the server reads."""
import calendar
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
O = os.environ["O"] = sys.argv[1]
import postgres  # noqa: E402
from api_lib import IMPORTER, Site, user  # noqa: E402

SETTINGS = ["wal_level=minimal", "max_wal_senders=0", "shared_buffers=512MB", "maintenance_work_mem=256MB",
            "synchronous_commit=off"]
LAST = (2026, 10)
END = 1793491200  # 2026-11-01
USERS = 500
ROUNDS = 300
# A month of jobs at equal distances; each waits up to an hour and runs up to a day.
FILL = """BEGIN;
DO $$ DECLARE t text; BEGIN FOR t IN SELECT relname FROM pg_class WHERE relkind = 'p' LOOP
EXECUTE format('CREATE TABLE %%I (LIKE %%I INCLUDING DEFAULTS INCLUDING GENERATED)', t || '_%(name)s', t);
END LOOP; END $$;
INSERT INTO job_%(name)s(state, start, "end", elapsed, cpus, nodes, cpu_usec, memory_scheduler_peak_bytes, cluster,
 jobid, submit, "user", account, partition, qos, eligible, time_limit, memory_requested_bytes,
 memory_allocated_bytes, id, name, display_id, cpus_requested)
SELECT 4, submit + n %% 3600, submit + n %% 3600 + h %% 86400, h %% 86400, 1 + h %% 64, 1, (h %% 86400) * 1000000,
 h %% 64 << 30, 1, n::text, submit, 1 + h %% %(users)d, 1 + h %% 50, 1, 1, submit, 86400, 64::bigint << 30, 64::bigint << 30,
 ((submit - 946684800) << 32) | (1 << 26) | n, 1 + h %% 1000, n::text, 1 + h %% 64
FROM (SELECT n, %(from)d + n * %(span)d / %(jobs)d AS submit, abs(hashint8(n)::bigint) AS h
 FROM generate_series(0, %(jobs)d::bigint - 1) AS n) AS made;
DO $$ DECLARE t text; BEGIN FOR t IN SELECT relname FROM pg_class WHERE relkind = 'p' LOOP
EXECUTE format('ALTER TABLE %%I ATTACH PARTITION %%I FOR VALUES FROM (%(first)d) TO (%(last)d)', t, t || '_%(name)s');
END LOOP; END $$;
INSERT INTO job_month SELECT %(month)d, min(at), max(at), max("end") FROM job_%(name)s;
COMMIT; VACUUM ANALYZE job_%(name)s;
"""


def seconds(year, month):
    return calendar.timegm((year + (month - 1) // 12, (month - 1) % 12 + 1, 1, 0, 0, 0))


def fill(pg, base, jobs, months):
    pg.sql('CREATE DATABASE "%s"' % base, "postgres")
    url = pg.url(base)
    # creates the tables; imports nothing
    subprocess.run([IMPORTER, "--once", "--store.path=" + url, "--cluster.file=" + CLUSTER], capture_output=True,
                   check=False)
    pg.sql("""INSERT INTO cluster(id, name, system) VALUES(1, 'made', 'slurm');
        INSERT INTO "user" SELECT n, 'user' || n FROM generate_series(1, %d) AS n;
        INSERT INTO account SELECT n, 'acct' || n FROM generate_series(1, 50) AS n;
        INSERT INTO partition VALUES(1, 'p'); INSERT INTO qos VALUES(1, 'q');
        INSERT INTO jobname SELECT n, 'name' || n FROM generate_series(1, 1000) AS n;""" % USERS, base)
    for i in range(months):
        month = LAST[0] * 12 + LAST[1] - 1 - i
        year, m = month // 12, month % 12 + 1
        begin, end = seconds(year, m), seconds(year, m + 1)
        pg.sql(FILL % {"name": "%d_%02d" % (year, m), "from": begin, "span": end - begin, "jobs": jobs,
                       "users": USERS, "month": month - 2000 * 12 + 1,
                       "first": (begin - 946684800) << 32, "last": (end - 946684800) << 32}, base)


def pages(pg, base):
    """Pages that the server has read so far, from its cache or not."""
    return int(pg.sql("SELECT pg_stat_clear_snapshot(); SELECT blks_hit + blks_read FROM pg_stat_database WHERE"
                      " datname = '%s'" % base).split()[-1])


def measure(pg, sizes):
    sites = {}
    for months in sizes:
        site = sites[months] = Site()
        site.store_to_serve = lambda months=months: pg.url("store%d" % months)
        site.start("--access.trust-loopback", "--web.threads=1")
    times = {months: [] for months in sizes}
    path = "/api/v1/jobs?limit=100&from=%d&to=%d" % (END - 30 * 86400, END)
    rows = set()
    for n in range(-20, ROUNDS):
        if n == 0:
            time.sleep(2)  # the server updates its counters with a delay
            before = {months: pages(pg, "store%d" % months) for months in sizes}
        for months in sizes:
            begin = time.monotonic()
            rows.add(len(sites[months].fetch(path, user("user%d" % (n % USERS + 1))).data))
            times[months].append(time.monotonic() - begin)
    for site in sites.values():
        site.clean_up()
    time.sleep(2)
    first = None
    for months in sizes:
        median = statistics.median(times[months][20:]) * 1000
        read = (pages(pg, "store%d" % months) - before[months]) / ROUNDS
        first = first or (median, read)
        print("%3d months: median %.2f ms (%.2f), %d pages (%.2f)"
              % (months, median, median / first[0], read, read / first[1]))
    print("rows: %s; the ratios in brackets are to be at most 1.3" % sorted(rows))


def main():
    global CLUSTER
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 500000
    sizes = [int(n) for n in sys.argv[3:]] or [2, 20, 60]
    with tempfile.TemporaryDirectory() as folder, postgres.Server(settings=SETTINGS) as pg:
        CLUSTER = os.path.join(folder, "made.yml")
        with open(CLUSTER, "w", encoding="utf-8") as f:
            f.write("name: made\nsacct:\n  command: /bin/false\n")
        for months in sizes:
            begin = time.monotonic()
            fill(pg, "store%d" % months, jobs, months)
            print("%d months: filled in %d s" % (months, time.monotonic() - begin), flush=True)
        measure(pg, sizes)


if __name__ == "__main__":
    main()
