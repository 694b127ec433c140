#!/usr/bin/env python3
"""Tables of jobs and of final records can be spread over several PostgreSQL servers:
their partitions are in three databases ("places"), which a fourth one reads through
postgres_fdw.  The id of a job or record determines the place of all its rows, a
statement with an id is sent to that place only, and each place enforces its own
keys.  TAP."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
import postgres  # noqa: E402
from api_lib import IMPORTER, Site  # noqa: E402
from tap import check, plan, same  # noqa: E402

PLACES = 3
# Groups of tables: the first one is partitioned by its id, the others by the column that names the group.
GROUPS = {"job": ("job", "step", "job_more", "job_use", "job_grams", "job_finding", "job_bin", "job_prom",
                  "job_prom_energy", "job_part", "job_size"),
          "record": ("node_record", "node_energy", "node_device", "node_gpu")}
TABLES = sum(GROUPS.values(), ())

# Rows for tables that are empty in this store.
MORE = """INSERT INTO job_more(job) SELECT id FROM job ON CONFLICT DO NOTHING;
    INSERT INTO job_use(job, sources, counted_cpu_sec, counted_start, counted_end) SELECT id, 0, 0, at, at FROM job
    ON CONFLICT DO NOTHING;
    INSERT INTO job_finding(job, rule, value) SELECT id, 1, at FROM job ON CONFLICT DO NOTHING;
    INSERT INTO job_bin(job, start, microjoules) SELECT id, 0, at FROM job ON CONFLICT DO NOTHING;
    INSERT INTO job_prom(job, queried_sec, outcome) SELECT id, at, 1 FROM job ON CONFLICT DO NOTHING;
    INSERT INTO job_prom_energy(job, component, microjoules) SELECT id, 1, at FROM job ON CONFLICT DO NOTHING;
    INSERT INTO job_part(job, node, gpu, since, upto) SELECT id, 'n1', '', at, at FROM job ON CONFLICT DO NOTHING;
    INSERT INTO job_size(job, number, start) SELECT id, 0, at FROM job ON CONFLICT DO NOTHING;
    INSERT INTO job_grams(job, source, micrograms, covered_uj, estimated) SELECT id, 1, at, 1, 0 FROM job
    ON CONFLICT DO NOTHING;"""


def partition_column(table):
    return next("id" if table == group[0] else column for column, group in GROUPS.items() if table in group)


def make_places(pg, source):
    """Create the databases with the tables of the program, but without jobs."""
    for i in range(PLACES):
        pg.sql("CREATE DATABASE place%d" % i, "postgres")
        p = subprocess.run([IMPORTER, "copy", "--from=" + source, "--to=" + pg.url("place%d" % i)],
                           capture_output=True, timeout=300, check=False)
        check(p.returncode == 0, "tables are created in place %d" % i, p.stderr)
        for column in GROUPS:
            make_months(pg, column, "place%d" % i)
        pg.sql("TRUNCATE " + ", ".join(TABLES), "place%d" % i)
        # Without triggers: the lists of jobs to derive are in the database of the writer.
        pg.sql("DROP FUNCTION job_new, job_changed, job_end_changed, job_ended, record_new, record_changed"
               " CASCADE", "place%d" % i)


def make_months(pg, column, base):
    """Create the partitions of the store that are missing."""
    for month, bounds in months_of(pg, column):
        for table in GROUPS[column]:
            pg.sql("CREATE TABLE IF NOT EXISTS %s_%s PARTITION OF %s %s" % (table, month, table, bounds), base)


def months_of(pg, column):
    """Return name and bounds of each partition of a group."""
    table = GROUPS[column][0]
    lines = pg.sql("SELECT substring(c.relname FROM %d), pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits AS i JOIN"
                   " pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = '%s'::regclass ORDER BY 1"
                   % (len(table) + 2, table))
    return [line.split("|") for line in lines.split("\n")[:-1]]


def spread(pg, months):
    """Create the same tables in the schema spread, with their partitions in the places.  A
    parent of foreign tables cannot have unique indexes: the places have them."""
    sql = ["CREATE EXTENSION postgres_fdw; CREATE SCHEMA spread;"]
    for i in range(PLACES):
        sql.append("CREATE SERVER place%d FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', dbname 'place%d');"
                   "CREATE USER MAPPING FOR %s SERVER place%d OPTIONS (user '%s');"
                   % (i, pg.folder, i, postgres.USER, i, postgres.USER))
    for table in TABLES:
        sql.append("CREATE TABLE spread.%s (LIKE public.%s INCLUDING GENERATED) PARTITION BY RANGE (%s);"
                   % (table, table, partition_column(table)))
        for i, (month, bounds) in enumerate(months[table]):
            sql.append("CREATE FOREIGN TABLE spread.%s_%s PARTITION OF spread.%s %s SERVER place%d OPTIONS (schema_name"
                       " 'public', table_name '%s_%s');" % (table, month, table, bounds, i % PLACES, table, month))
    pg.sql("\n".join(sql))


def fill(pg):
    for table in TABLES:
        columns = pg.sql("SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid"
                         " = '%s'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''" % table).strip()
        pg.sql("INSERT INTO spread.%s(%s) SELECT %s FROM public.%s" % (table, columns, columns, table))


def rows(pg, table, base="store"):
    """Return the number of rows, and the sum of their hashes."""
    return pg.sql("SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM %s AS t" % table, base).strip()


def months_read(pg, sql):
    """Return the months of the partitions that a statement is sent to, and its plan."""
    text = pg.sql("EXPLAIN (VERBOSE, COSTS OFF) " + sql)
    tables = set(re.findall(r"(?:Foreign \w+ on|Remote SQL: .*? public\.)[^\n]*?((?:job|step|node)\w*_(?:\d{4}_\d\d|unknown))", text))
    return {t[-7:] for t in tables}, text


def main():
    pg = postgres.server()
    site = Site(count=600, days=100)
    site.postgres = None
    try:
        site.fill()
        site.add_measurements("1010")
        p = subprocess.run([IMPORTER, "copy", "--from=" + site.store, "--to=" + pg.url()], capture_output=True,
                           timeout=300, check=False)
        check(p.returncode == 0, "the store is copied to PostgreSQL", p.stderr)
        count = site.import_records(pg.url())
        same(rows(pg, "node_record").split("|")[0], str(count), "the records are imported")
        pg.sql(MORE)
        make_places(pg, site.store)
        months = {table: months_of(pg, column) for column, group in GROUPS.items() for table in group}
        for group in GROUPS.values():
            check(len(months[group[0]]) > PLACES, "more months than places", months[group[0]])
        spread(pg, months)
        fill(pg)
        routed(pg, months)
        rows_together(pg)
        to_one_place(pg, "job", OF_JOB)
        to_one_place(pg, "node_record", OF_RECORD)
        keys(pg)
        same_rows(pg)
    finally:
        site.clean_up()
        pg.close()
    return plan()


def routed(pg, months):
    for table in TABLES:
        here = [rows(pg, "%s_%s" % (table, m)) for m, _ in months[table]]
        there = [rows(pg, "%s_%s" % (table, m), "place%d" % (i % PLACES)) for i, (m, _) in enumerate(months[table])]
        same(there, here, "each row of %s is in the partition of its month, in one place" % table)
        check(int(rows(pg, table).split("|")[0]) > 100, "%s has rows" % table)
    for table in ("job", "node_record"):
        used = [int(rows(pg, table, "place%d" % i).split("|")[0]) for i in range(PLACES)]
        check(min(used) > 0 and sum(used) == int(rows(pg, table).split("|")[0]), "all places have rows of " + table, used)


def rows_together(pg):
    """All rows of a job or record are in one place."""
    for column, group in GROUPS.items():
        for table in group[1:]:
            lost = [pg.sql("SELECT count(*) FROM %s AS t WHERE NOT EXISTS (SELECT 1 FROM %s WHERE id = t.%s)"
                           % (table, group[0], column), "place%d" % i).strip() for i in range(PLACES)]
            same(lost, ["0"] * PLACES, "rows of %s are in the place of their row of %s" % (table, group[0]))


def to_one_place(pg, table, statements):
    number, month = pg.sql("SELECT id, right(tableoid::regclass::text, 7) FROM %s ORDER BY id OFFSET 200 LIMIT 1"
                           % table).strip().split("|")
    for sql in statements:
        found, text = months_read(pg, sql % number)
        check(found == {month}, "sent to one place: " + sql, found, text)


OF_JOB = ("SELECT * FROM spread.job WHERE id = %s", "SELECT * FROM spread.step WHERE job = %s",
          "SELECT * FROM spread.job AS j JOIN spread.step AS s ON s.job = j.id WHERE j.id = %s",
          "SELECT * FROM spread.job AS j LEFT JOIN spread.job_use AS u ON u.job = j.id WHERE j.id = %s",
          "UPDATE spread.job SET priority = 1 WHERE id = %s", "DELETE FROM spread.step WHERE job = %s")
OF_RECORD = ("SELECT * FROM spread.node_record WHERE id = %s",
             "SELECT * FROM spread.node_record AS n JOIN spread.node_gpu AS g ON g.record = n.id WHERE n.id = %s",
             "UPDATE spread.node_record SET cpus = 1 WHERE id = %s", "DELETE FROM spread.node_energy WHERE record = %s")


def keys(pg):
    """A second row with the same key is refused by its place."""
    for table, columns in (("job", "state, cluster, jobid, submit, id"),
                           ("node_record", "cluster, jobid, host, slurm_node, start, \"end\", id")):
        try:
            pg.sql("INSERT INTO spread.%s(%s) SELECT %s FROM public.%s LIMIT 1" % (table, columns, columns, table))
            check(False, "a row of %s is stored twice" % table)
        except RuntimeError as e:
            check("duplicate key" in str(e) and "_pkey" in str(e), "a row of %s is not stored twice" % table, str(e))


def same_rows(pg):
    for table in TABLES:
        same(rows(pg, "spread." + table), rows(pg, "public." + table), "all rows of %s are read" % table)
    list_of = ("SELECT id, jobid, at FROM %s.job AS j WHERE \"user\" = (SELECT id FROM \"user\" ORDER BY id OFFSET 3 LIMIT 1)"
               " AND at > 0 ORDER BY at DESC, id DESC LIMIT 20")
    here, there = pg.sql(list_of % "public"), pg.sql(list_of % "spread")
    check(here == there and here.count("\n") > 5, "a user's newest jobs are the same", here, there)


if __name__ == "__main__":
    sys.exit(main())
