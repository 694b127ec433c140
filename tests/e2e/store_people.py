#!/usr/bin/env python3
"""Users who query a store in PostgreSQL with SQL get the rows that the API shows to the
same user, for each job and in each view, and nothing else.  TAP.

    store_people.py [BIN]     BIN: folder of initdb and postgres of another version"""
import json
import os
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
import postgres  # noqa: E402
from api_lib import IMPORTER, SERVER, TOP, Site, user  # noqa: E402
from tap import check, plan, same  # noqa: E402

V1 = "/api/v1/"
# An admin, coordinators of one and of two accounts, users, a coordinator without jobs whose
# name must be quoted, and a user whose name differs from that of another one only in case.
USERS = ["boss", "user1", "user2", "user3", "user4", "al.ice-2", "USER3"]
RULES = ("admin boss\ncoordinator acct0 user1 user2\ncoordinator acct1 user2 boss\ncoordinator nothing user4\n"
         "coordinator acct2 al.ice-2\n")
VIEWS = ["job_v", "step_v", "job_size_v", "job_use_v", "job_grams_v", "job_finding_v", "job_energy_v", "factor_v", "rollup_month",
         "rollup_energy_month", "rollup_grams_month"]
# Columns of job_v and fields of the API with the same values.
FIELDS = {"cluster": "cluster", "jobid": "jobid", "display_id": "display_id", "user": "user", "account": "account",
          "partition": "partition", "name": "name", "state": "state", "nodelist": "nodelist", "cpus": "cpus",
          "elapsed_seconds": "elapsed_seconds", "work_dir": "work_dir"}


class SqlUser:
    """A user who connects as a login role."""

    def __init__(self, pg, name, database="batchjob"):
        self.pg, self.name, self.url = pg, name, pg.url(database, name)

    def run(self, text):
        """Run SQL text; return the output and the messages of the server."""
        p = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-f", "-", self.url], input=text, capture_output=True,
                           text=True, check=False,
                           env={"LC_ALL": "C", "PATH": self.pg.bin + ":/usr/bin:/bin", "HOME": "/nonexistent"})
        return p.stdout, p.stderr

    def rows(self, select):
        out, messages = self.run("SELECT row_to_json(r) FROM (%s) AS r" % select)
        if messages:
            raise RuntimeError("%s: %s" % (self.name, messages))
        return [json.loads(line) for line in out.splitlines()]


def job_key(row):
    return "%s:%s:%d" % (row["cluster"], row["jobid"], row["submit_sec"] or 0)


def add_records(store):
    """Energy of two nodes for each ended job, as if nodes had sent final records; one job gets an unknown user."""
    db = sqlite3.connect(store)
    db.executescript("""
        UPDATE job SET user = NULL WHERE id = (SELECT min(j.id) FROM job AS j JOIN account AS a ON a.id = j.account
            WHERE a.name = 'acct2');
        INSERT INTO host(name) VALUES('made-up1'), ('made-up2') ON CONFLICT DO NOTHING;
        INSERT INTO record_any_host(id) VALUES(1);
        INSERT INTO word(text) VALUES('usage'), ('cpu'), ('gpu') ON CONFLICT DO NOTHING;
        INSERT INTO node_record(cluster, jobid, host, slurm_node, start, "end") SELECT j.cluster, j.jobid, h.id,
            h.name, j.start, j."end" FROM job AS j, host AS h WHERE h.name LIKE 'made-up%' AND j.start > 0 AND
            j."end" IS NOT NULL;
        INSERT INTO node_energy SELECT r.id, p.id, c.id, 1000 * r.id + c.id FROM node_record AS r, word AS p,
            word AS c WHERE p.text = 'usage' AND c.text IN ('cpu', 'gpu')""")
    db.commit()
    energy = {}
    for key, component, uj in db.execute(
            "SELECT c.name || ':' || j.jobid || ':' || j.submit, w.text, sum(e.microjoules) FROM job AS j JOIN cluster"
            " AS c ON c.id = j.cluster JOIN node_record AS r ON r.cluster = j.cluster AND r.jobid = j.jobid AND"
            " r.start = j.start AND r.\"end\" = j.\"end\" JOIN node_energy AS e ON e.record = r.id JOIN word AS w ON"
            " w.id = e.component GROUP BY j.id, w.id"):
        energy[key, component] = uj
    db.close()
    return energy


# Tables that the last version of the store added.
ADDED = dict.fromkeys(("node_record", "job_prom", "job_use"), "suspended_usec memory_remote_ppm")
ADDED = {table: columns + " gpu_conflicts" * (table != "job_prom") for table, columns in ADDED.items()}


def set_up(site, pg):
    with open(os.path.join(TOP, "examples/postgresql.sql"), encoding="utf-8") as f:
        pg.sql(f.read(), "postgres")
    for name in USERS:
        pg.sql('CREATE ROLE "%s" LOGIN IN ROLE batchjob_people; ALTER ROLE "%s" SET search_path = people'
               % (name, name), "postgres")
    writer = pg.url("batchjob", "batchjob_writer")
    p = subprocess.run([IMPORTER, "copy", "--from=" + site.store, "--to=" + writer], capture_output=True, check=False)
    same((p.returncode, p.stderr), (0, b""), "the store is copied")
    pg.sql("ANALYZE", "batchjob")
    p = write_access(site, writer)
    check(p.returncode == 0 and p.stdout == b"7 access rules\n", "the access rules are written", p)
    # The API server reads the same access file.
    site.store_to_serve = lambda: pg.url("batchjob", "batchjob_reader")
    site.start("--access.trust-loopback", "--query.max-rows=100000", "--access.file=" + site.access)


def write_access(site, store):
    return subprocess.run([SERVER, "write-access", "--store.path=" + store, "--access.file=" + site.access],
                          capture_output=True, check=False)


def of_jobs(fetch):
    """Return the jobs that the API shows, and their parts: {(key, part): rows}."""
    jobs = fetch("jobs?from=0&limit=100000&fields=key,%s" % ",".join(FIELDS.values()))
    return jobs, {(j["key"], part): fetch("jobs/%s/%s" % (j["key"], part)) for j in jobs
                  for part in ("steps", "findings", "emissions", "energy")}


def same_parts(sql_user, keys, parts):
    """The views of parts of jobs have the same rows as the API.  Returns the rows of the views."""
    sql = {view: sql_user.rows("SELECT * FROM " + view) for view in VIEWS[1:7]}
    for view, part, here, there in (
            ("step_v", "steps", lambda r: (r["step_id"], r["name"]), lambda r: (r["step"], r["name"])),
            ("job_finding_v", "findings", lambda r: (r["name"], r["text"]), lambda r: (r["finding"], r["text"])),
            ("job_grams_v", "emissions", lambda r: (r["provider"], r["kind"], round(r["grams"], 6)),
             lambda r: (r["provider"], r["kind"], r["grams"]))):
        same(sorted((keys.get(r["job"]), *here(r)) for r in sql[view]),
             sorted((k, *there(r)) for (k, p), rows in parts.items() if p == part for r in rows),
             "%s: %s has the rows of the API" % (sql_user.name, view))
    same(sorted((keys.get(r["job"]), r["energy_uj"]) for r in sql["job_use_v"] if r["energy_uj"] is not None),
         sorted((k, round(r["joules"] * 1e6)) for (k, p), rows in parts.items() if p == "energy" for r in rows
                if r["component"] == "total"), sql_user.name + ": job_use_v has the energy of the API")
    check({keys.get(r["job"]) for r in sql["job_use_v"]} <= set(keys.values()),
          sql_user.name + ": job_use_v has no other jobs")
    return sql


def months(rows, *values):
    return sorted((r["account"], r["user"], r["partition"], *(r[v] for v in values)) for r in rows)


def same_sums(sql_user, fetch):
    usage = fetch("usage?from=0&group_by=account,user,partition,month")
    sums = sql_user.rows("SELECT * FROM rollup_month")
    same(months(sums, "jobs_started", "jobs_ended", "jobs_failed"),
         months(usage, "jobs_started", "jobs_ended", "jobs_failed"),
         sql_user.name + ": rollup_month has the sums of the API")
    known = [r for r in usage if r["energy_kwh"] is not None]
    same(sorted((r["user"], round(r["energy_mj"] / 3.6e9, 6)) for r in
                sql_user.rows("SELECT * FROM rollup_energy_month")),
         sorted((r["user"], round(r["energy_kwh"], 6)) for r in known),
         sql_user.name + ": rollup_energy_month has the energy of the API")
    same({r["user"] for r in sql_user.rows("SELECT * FROM rollup_grams_month")}, {r["user"] for r in known},
         sql_user.name + ": rollup_grams_month has the users of the API")
    own = {sql_user.name}
    same({r["user"] for r in sums} | own, {r["user"] for r in fetch("users")} | own, sql_user.name + ": the same users")


def matrix(site, pg, energy):
    """For each user, every view has the same rows as the API."""
    seen = {}
    for name in USERS:
        sql_user = SqlUser(pg, name)

        def fetch(path, of=name):
            a = site.fetch(V1 + path, user(of))
            if a.status != 200:
                raise RuntimeError("%s: %r" % (path, a))
            return a.data
        jobs, parts = of_jobs(fetch)
        rows = sql_user.rows("SELECT * FROM job_v")
        keys = {r["id"]: job_key(r) for r in rows}
        same(sorted(((job_key(r), *(str(r[c]) for c in FIELDS)) for r in rows)),
             sorted(((j["key"], *(str(j[f]) for f in FIELDS.values())) for j in jobs)),
             name + ": job_v has the jobs of the API")
        sql = same_parts(sql_user, keys, parts)
        same(sorted((keys.get(r["job"]), r["component"], r["policy"], r["microjoules"], r["nodes"])
                    for r in sql["job_energy_v"]),
             sorted((k, c, "usage", uj, 2) for (k, c), uj in energy.items() if k in keys.values()),
             name + ": job_energy_v has the energy of these jobs")
        same(len(sql_user.rows("SELECT * FROM factor_v")), len(SqlUser(pg, "batchjob").rows(
            "SELECT * FROM public.factor_v")), name + ": factor_v has all rows")
        same_sums(sql_user, fetch)
        seen[name] = len(rows)
    print("# jobs: %s" % seen)
    check(seen["boss"] > seen["user2"] > seen["user1"] > seen["al.ice-2"] > seen["user3"] > 0 == seen["USER3"],
          "users with more rights see more jobs", seen)
    same(seen["boss"], len(SqlUser(pg, "batchjob_reader").rows("SELECT id FROM job_v")), "an admin sees all jobs")


LEAK = """CREATE FUNCTION pg_temp.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$
    BEGIN RAISE NOTICE 'leaked %%', $1; RETURN true; END $$;
    SELECT count(*) FROM people.%s WHERE pg_temp.leak("user") AND pg_temp.leak("%s"::text)"""


def barriers(pg, sql_user):
    """Functions in the condition of a query get no rows of other users, however cheap they are for the planner."""
    pg.sql('GRANT TEMPORARY ON DATABASE batchjob TO "user3"', "batchjob")
    for view, column in (("job_v", "name"), ("rollup_month", "account")):
        messages = sql_user.run(LEAK % (view, column))[1]
        check("leaked user3" in messages, "%s: the function runs" % view, messages)
        same({line for line in messages.split("leaked ")[1:]
              if line.startswith("user") and not line.startswith("user3\n")},
             set(), "%s: a function of the user sees own rows only" % view)
    out, messages = sql_user.run("SELECT count(*) FROM job_v WHERE \"user\" <> 'user3' AND 1 / (id - id) = 1")
    same((out, messages), ("0\n", ""), "a condition that would fail is not evaluated on rows of other users")
    # The views keep using the tables and functions that they were created with.
    out, messages = sql_user.run(
        "CREATE TEMP TABLE job(id bigint); CREATE TEMP TABLE access_rule(\"user\" text, account text);"
        "INSERT INTO access_rule VALUES('user3', '');"
        "CREATE FUNCTION pg_temp.bj_sum(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';"
        "SET search_path = pg_temp, people; SELECT DISTINCT \"user\" FROM people.job_v")
    same((out, messages), ("user3\n", ""), "tables of the user do not replace those of the views")
    pg.sql('REVOKE TEMPORARY ON DATABASE batchjob FROM "user3"', "batchjob")
    out, messages = sql_user.run("EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM job_v; SELECT * FROM pg_stats WHERE schemaname IN"
                           " ('public', 'people')")
    check("cost=" in out and "user1" not in out and "user2" not in out and not messages,
          "plans and statistics have no values of other users", out, messages)


REFUSALS = ["permission denied", "must be owner", "must be superuser", "must be a superuser", "must be a member",
            "cannot ", "only roles with", "skipping", "no privileges were granted"]
DENIED = [
    "SELECT * FROM public.job", "SELECT * FROM public.job_v", "SELECT * FROM public.\"user\"",
    "SELECT * FROM public.jobname", "SELECT * FROM public.dir", "SELECT * FROM public.access_rule",
    "SELECT * FROM public.mail_sent", "COPY public.job TO STDOUT", "COPY (SELECT * FROM public.job) TO STDOUT",
    "COPY people.job_v TO PROGRAM 'cat'", "COPY (SELECT 1) TO '/tmp/never'", "TABLE public.step",
    "SELECT query_to_xml('SELECT * FROM public.job', true, false, '')", "SELECT * FROM people.job_v FOR UPDATE",
    "SELECT currval('public.jobname_id_seq')", "SELECT nextval('public.jobname_id_seq')",
    "SELECT last_value FROM public.jobname_id_seq", "SET ROLE batchjob_writer", "SET ROLE batchjob_reader",
    "SET ROLE user1", "SET SESSION AUTHORIZATION user1", "SET SESSION AUTHORIZATION boss",
    "INSERT INTO public.access_rule VALUES('user3', '')", "UPDATE people.job_v SET name = 'x'",
    "DELETE FROM people.factor_v", "CREATE TABLE people.x(a int)", "CREATE VIEW people.x AS SELECT 1",
    "CREATE OR REPLACE VIEW people.job_v AS SELECT 1", "CREATE TABLE public.x(a int)", "CREATE SCHEMA x",
    "CREATE TEMP TABLE x(a int)", "CREATE FUNCTION people.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "ALTER VIEW people.job_v RESET (security_barrier)", "ALTER VIEW people.job_v OWNER TO user3",
    "GRANT SELECT ON people.job_v TO PUBLIC", "DROP VIEW people.job_v", "SELECT lo_get(%(large)s)",
    "SELECT * FROM pg_largeobject", "SELECT * FROM pg_statistic", "SELECT pg_read_file('PG_VERSION')",
    "SELECT pg_terminate_backend(%(pid)s)", "ANALYZE VERBOSE public.job", "BEGIN; LOCK TABLE public.job",
]


def denied(pg, sql_user):
    """Statements that use anything but the views are refused."""
    writer = SqlUser(pg, "batchjob_writer")
    large = writer.run("SELECT lo_from_bytea(0, 'secret')")[0].strip()
    # a session of another user
    other = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", pg.url("batchjob", "batchjob_writer")],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PATH": pg.bin + ":/usr/bin"})
    other.stdin.write("SELECT pg_backend_pid(), 'secret words';\n")
    other.stdin.flush()
    pid = other.stdout.readline().split("|")[0]
    odd = []
    for sql in DENIED:
        out, messages = sql_user.run(sql % {"large": large, "pid": pid} if "%(" in sql else sql)
        if out or not any(w in messages for w in REFUSALS):
            odd.append((sql, out[:200], messages))
    check(not odd, "%d statements are refused" % len(DENIED), *odd)
    out = sql_user.run("SELECT query FROM pg_stat_activity")[0]
    check("secret words" not in out and "insufficient privilege" in out, "statements of other users are hidden", out)
    other.communicate()
    same(sql_user.run("SET row_security = off; SELECT DISTINCT \"user\" FROM job_v"), ("user3\n", ""),
         "a setting of the session changes nothing")
    same(sql_user.run("SET ROLE batchjob_people; SELECT count(*) FROM people.job_v"), ("0\n", ""),
         "the group role sees no job")
    same(sql_user.run("COPY (SELECT DISTINCT \"user\" FROM job_v) TO STDOUT"), ("user3\n", ""),
         "COPY of a view has own rows only")


def conditions(node, ran=True):
    """Return the conditions of all index scans that a plan executed."""
    ran = ran and node.get("Actual Loops", 0) > 0
    found = [node["Index Cond"]] if ran and "Index Cond" in node else []
    for child in node.get("Plans", []):
        found += conditions(child, ran)
    return found


def plans(pg):
    """The rows of a user and of accounts are found by index, not by reading all jobs."""
    for name, want in (("user3", (True, False)), ("user2", (True, True)), ("boss", (False, False))):
        out = SqlUser(pg, name).run("SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"
                                   " EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM people.job_v")[0]
        by = conditions(json.loads(out)[0]["Plan"])
        same((any(c.startswith('("user" = ') for c in by), "(account = ac.id)" in by), want,
             "%s: job_v uses the expected indexes of users and accounts" % name)


def rules(site, pg):
    """With a role that only reads, `rules` prints the same for a job as with the file."""
    keys = [r[0] for r in site.db().execute(
        "SELECT c.name || ':' || j.jobid || ':' || j.submit FROM job AS j JOIN cluster AS c ON c.id = j.cluster"
        " LEFT JOIN job_use AS u ON u.job = j.id WHERE j.\"end\" IS NOT NULL ORDER BY u.energy_uj DESC LIMIT 10")]
    outs = [[subprocess.run([IMPORTER, "rules", k, "--store.path=" + path], capture_output=True, check=False)
             for path in (site.store, pg.url("batchjob", "batchjob_reader"))] for k in keys]
    wrong = [(k, a, b) for k, (a, b) in zip(keys, outs) if b"Rules" not in a.stdout or a.stdout != b.stdout]
    check(len(keys) == 10 and not wrong, "rules of jobs are those from the file", *wrong[:1])


def changes(site, pg):
    """New access rules apply at once; a file with an error changes nothing."""
    writer, sql_user = pg.url("batchjob", "batchjob_writer"), SqlUser(pg, "user1")
    before = sql_user.run("SELECT count(*) FROM job_v")
    site.file("access", "admin boss\nemperor user1\n")
    p = write_access(site, writer)
    check(p.returncode == 1 and b"access:2:" in p.stderr, "the message names the file and line of an error", p)
    same(sql_user.run("SELECT count(*) FROM job_v"), before, "the old rules stay")
    site.file("access", "admin user1\n")
    same(write_access(site, writer).stdout, b"1 access rules\n", "rules are replaced")
    same(sql_user.run("SELECT count(DISTINCT \"user\") > 5 FROM job_v"), ("t\n", ""), "a user becomes an admin")
    same(SqlUser(pg, "boss").run("SELECT count(*) FROM job_v"), ("0\n", ""),
         "a user who is no longer an admin sees no job")
    p = write_access(site, pg.url("batchjob", "batchjob_reader"))
    check(p.returncode == 1 and b"no schema people" in p.stderr, "the reader's role cannot write rules", p)
    p = write_access(site, site.store)
    check(p.returncode == 1 and b"no schema people" in p.stderr, "a store in a file has no schema people", p)
    # In a schema that is created later, write-access creates the views.
    pg.sql("DROP SCHEMA people CASCADE", "batchjob")
    p = write_access(site, writer)
    check(p.returncode == 1 and b"no schema people" in p.stderr, "without the schema nothing is written", p)
    pg.sql("CREATE SCHEMA people AUTHORIZATION batchjob_writer; GRANT USAGE ON SCHEMA people TO batchjob_people; SET"
           " ROLE batchjob_writer; ALTER DEFAULT PRIVILEGES IN SCHEMA people GRANT SELECT ON TABLES TO batchjob_people",
           "batchjob")
    same(write_access(site, writer).returncode, 0, "with the schema the views are created")
    same({r["viewname"] for r in sql_user.rows("SELECT viewname FROM pg_views WHERE schemaname = 'people'")},
         set(VIEWS), "all views are created")
    # An upgrade creates the views again.
    pg.sql("".join("ALTER TABLE %s DROP COLUMN %s CASCADE;" % (table, column) for table, columns in ADDED.items()
                   for column in columns.split()) +
           "UPDATE store_meta SET version = version - 1", "batchjob")
    p = subprocess.run([IMPORTER, "--once", "--store.path=" + writer, "--cluster.file=" + os.path.join(
        site.folder, "fake.yml")], capture_output=True, check=False)
    check(p.returncode == 0, "an upgrade succeeds", p.stderr)
    rows = SqlUser(pg, "user3").rows("SELECT j.jobid, u.energy_uj FROM job_v AS j JOIN job_use_v AS u ON u.job = j.id")
    check(any(r["energy_uj"] for r in rows), "the views have rows after the upgrade", rows[:3])


def main():
    pg = postgres.server(*sys.argv[1:2])
    site = Site(count=300, days=6)
    site.postgres = None
    try:
        site.access = site.file("access", RULES)
        site.fill()
        site.add_measurements(next(j["JobIDRaw"] for j in site.simulated_jobs()
                                   if j["User"] == "user3" and j["End"] != "Unknown"))
        energy = add_records(site.store)
        set_up(site, pg)
        matrix(site, pg, energy)
        sql_user = SqlUser(pg, "user3")
        barriers(pg, sql_user)
        denied(pg, sql_user)
        plans(pg)
        rules(site, pg)
        changes(site, pg)
    finally:
        site.clean_up()
        pg.close()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
