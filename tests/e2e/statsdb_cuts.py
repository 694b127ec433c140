#!/usr/bin/python3
"""Ten months of Slurm's own database (MariaDB), imported in any cutting, order and overlap of
windows, gives the same store as one query: in SQLite, in PostgreSQL that gathers jobs, and
in PostgreSQL that stores them one by one (as small imports do).  TAP.

  statsdb_cuts.py SOCKET PORT PASSWORD-FILE [SEED]

The server on SOCKET has the tables of the cluster alpha and its views, and the user
batchjob may read them (statsdb_mariadb.sh)."""
import os
import random
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import store_lib  # noqa: E402
from tap import check, plan, skip  # noqa: E402

SOCKET, PORT, PASSWORD = sys.argv[1:4]
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
R = random.Random(SEED)
DAY, JOBS, TRIES = 86400, 60, 4
ROUNDS = 3
NOW = int(time.time())
STATES = {"completed": 3, "failed": 5, "timeout": 6, "oom": 11}


def sql(text):
    subprocess.run(["mariadb", "--no-defaults", "--skip-ssl", "--socket=" + SOCKET, "--user=root", "slurm_acct_db"],
                   input=text.encode(), check=True)


def length():
    """Most last some hours, some months."""
    return 1 + R.randrange(R.choice([100, 20000, 400000, 90 * DAY]))


def make_job(n):
    """Rows of the tables, and the CPU time of all steps in microseconds (None: not known)."""
    submit = NOW - R.randrange(DAY, 300 * DAY)
    start = submit + length()
    end = min(start + length(), NOW - 3600)
    started = start < end and R.random() > 0.15
    state = R.choice(list(STATES.values())) if started else 4
    job = (f"INSERT INTO alpha_job_table(job_db_inx, id_job, job_name, id_assoc, account, cpus_req, id_resv, id_wckey,"
           f" id_user, id_group, het_job_id, het_job_offset, state_reason_prev, nodes_alloc, `partition`, priority,"
           f" state, time_submit, time_eligible, time_start, time_end, tres_alloc, nodelist, kill_requid) VALUES"
           f" ({n}, {1000 + n // 3 if n % 3 else 5000 + n}, 'job{n}', 7, 'physics', 2, 0, 0, 1000, 100, 0, 4294967294,"
           f" 0, {int(started)}, 'long', 5, {state}, {submit}, {submit}, {start if started else 0},"
           f" {end if started else min(start, NOW - 3600)}, '{'1=2,2=512,4=1' if started else ''}',"
           f" '{'n1' if started else ''}', {'4294967294' if started else '1000'});\n")
    usec = 0
    for k in range(R.randrange(6) if started else 0):
        a = R.randint(start, end)
        b = R.randint(a, end)
        if k < 1:
            a, b = start, end
        measured = R.random() > 0.1
        user, system, memory = (R.randrange(10 ** 10), R.randrange(10 ** 9), R.randrange(1, 10 ** 9)) if measured else (0, 0, 0)
        usec += user + system
        job += (f"INSERT INTO alpha_step_table(job_db_inx, id_step, nodelist, nodes_alloc, state, step_name, task_cnt,"
                f" task_dist, time_start, time_end, user_sec, user_usec, sys_sec, sys_usec, tres_alloc,"
                f" tres_usage_in_max, tres_usage_in_tot) VALUES ({n}, {-5 if k == 0 else k - 1}, 'n1', 1, 3, 's{k}', 1,"
                f" 0, {a}, {b}, {user // 10 ** 6}, {user % 10 ** 6}, {system // 10 ** 6}, {system % 10 ** 6},"
                f" '1=2,2=512,4=1', '{'2=%d' % memory if measured else ''}', '{'2=%d' % memory if measured else ''}');\n")
    return job, usec or None


def run(store, directory, slice_sec, history):
    conf = os.path.join(directory, "alpha.yml")
    with open(conf, "w", encoding="ascii") as f:
        f.write(f"name: alpha\nmariadb:\n  database: batchjob_alpha\n  host: 127.0.0.1\n  port: {PORT}\n"
                f"  password-file: {PASSWORD}\nsacct:\n  history: {history}s\n  slice: {slice_sec}s\n  pause: 0s\n")
    out = subprocess.run([store_lib.O + "/batchjob_stats_db", "run", "--once", "--store.path=" + store.url,
                          "--cluster.file=" + conf], capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit("batchjob_stats_db: " + out.stderr)


def dump(store):
    rows = []
    for text in (
            "SELECT * FROM job_v ORDER BY jobid, submit_sec",
            "SELECT s.*, j.jobid, j.submit_sec FROM step_v AS s JOIN job_v AS j ON j.id = s.job"
            " ORDER BY j.jobid, j.submit_sec, s.step_id",
            "SELECT 0, d.month, d.day, d.jobs_started, d.jobs_ended, d.jobs_completed, d.jobs_failed, d.jobs_cancelled,"
            " d.jobs_timeout, d.jobs_oom, d.wait_sec, d.elapsed_sec, d.node_sec, d.cpu_sec, d.mem_mib_sec,"
            " d.cpu_used_msec, d.cpu_unknown_sec FROM rollup_day AS d ORDER BY d.month, d.day"):
        rows += [tuple(map(str, r[1:])) for r in store.rows(text)]
    return rows


def cut(store, directory):
    """Import it in windows: before each round, the store forgets what it has covered, or believes that it
    has covered some other time."""
    for i in range(TRIES):
        if i > 0:
            a = R.randint(NOW - 310 * DAY, NOW)
            b = R.randint(a, NOW)
            store.rows("UPDATE covered SET from_sec = %d, to_sec = %d" % (a, b))
        # The daemon queries one window in a second.
        run(store, directory, R.randint(40, 300) * DAY + R.randrange(DAY), R.randint(5, 310) * DAY + R.randrange(DAY))
    store.rows("DELETE FROM covered")
    run(store, directory, R.randint(60, 200) * DAY + R.randrange(DAY), 365 * DAY)


def main():
    print("# seed", SEED)
    text, want = "DELETE FROM alpha_step_table; DELETE FROM alpha_job_table;\n", {}
    for n in range(1, JOBS + 1):
        rows, usec = make_job(n)
        text += rows
        want[f"job{n}"] = usec
    sql(text)
    with tempfile.TemporaryDirectory() as directory:
        one = store_lib.File(directory + "/one.db")
        run(one, directory, 366 * DAY, 365 * DAY)
        rows = dump(one)
        got = dict(one.rows("SELECT name, cpu_usec FROM job_v"))
        check(got == want, f"one query: {JOBS} jobs have the CPU time of all of their steps",
              *[f"{k}: {got.get(k)}, want {v}" for k, v in want.items() if got.get(k) != v])
        check(one.rows("SELECT count(*) FROM step_v")[0][0] > JOBS, "there are more steps than jobs")
        for n in range(ROUNDS):
            cuts = store_lib.File(f"{directory}/cuts{n}.db")
            cut(cuts, directory)
            new = dump(cuts)
            check(new == rows, f"SQLite: windows of any order and overlap give the store of one query ({n + 1})",
                  *sorted(map(str, set(new) ^ set(rows)))[:6])
        try:
            server = store_lib.Postgres(directory + "/none.db")
        except store_lib.postgres.Missing as e:
            skip("PostgreSQL", "not installed: %s" % e)
            return
        try:
            run(server, directory, 366 * DAY, 365 * DAY)
            whole = dump(server)
            check(len(whole) == len(rows), "PostgreSQL: one query gives as many rows as in SQLite",
                  "%d, %d" % (len(whole), len(rows)))
            for n in range(ROUNDS):
                other = store_lib.Postgres(directory + "/none.db")
                try:
                    cut(other, directory)
                    new = dump(other)
                finally:
                    other.close()
                check(new == whole, f"PostgreSQL: windows of any order and overlap give the store of one query ({n + 1})",
                      *sorted(map(str, set(new) ^ set(whole)))[:6])
        finally:
            server.close()


main()
sys.exit(plan())
