#!/usr/bin/env python3
"""Users and accounts get other names, and a user's data is deleted, in a store of each engine:
the sums are those that this script adds up from the accounting file that it writes.  TAP."""
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import store_lib  # noqa: E402
from tap import check, plan, same  # noqa: E402

NOON = 1793793600  # 2026-11-04T12:00:00Z
DAY = 86400


def jobs():
    """(id, user, account, first day, seconds, CPUs) of jobs of one cluster and queue."""
    n = 100
    for user, account, days in (("ann", "physics", (0, 1, 2)), ("ben", "physics", (1, 2, 5)),
                                ("ben", "bio", (3,)), ("cleo", "physics", (0, 5))):
        for day in days:
            n += 1
            yield n, user, account, day, 600 + 10 * n, n % 3 + 1


def line(n, user, account, day, seconds, cpus):
    start = NOON + day * DAY
    at = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(start + seconds))
    hms = "%02d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)
    return ("%s;E;%d.srv;user=%s group=users account=\"%s\" project=_pbs_project_default jobname=of_%s queue=work"
            " ctime=%d qtime=%d etime=%d start=%d exec_host=n1/0*%d exec_vnode=(n1:ncpus=%d)"
            " Resource_List.ncpus=%d Resource_List.select=1:ncpus=%d session=1 end=%d Exit_status=0"
            " resources_used.cput=%s resources_used.mem=1000kb resources_used.ncpus=%d"
            " resources_used.walltime=%s run_count=1\n" % (
                at, n, user, account, user, start, start, start, start, cpus, cpus, cpus, cpus, start + seconds,
                hms, cpus, hms))


def expected(names):
    """{(user, account, day): [jobs, CPU seconds]} with other names."""
    sums = collections.defaultdict(lambda: [0, 0])
    for _, user, account, day, seconds, cpus in jobs():
        s = sums[names.get(user, user), names.get(account, account), day]
        s[0] += 1
        s[1] += seconds * cpus
    return {k: tuple(v) for k, v in sums.items()}


def stored(store):
    first = time.gmtime(NOON).tm_mday
    return {(user, account, day - first): (n, cpu) for user, account, day, n, cpu in store.rows(
        "SELECT u.name AS a1, c.name AS a2, r.day, sum(r.jobs_ended) AS a4, sum(r.cpu_sec) AS a5 FROM rollup_day AS r"
        " JOIN assoc AS a ON a.id = r.assoc JOIN user AS u ON u.id = a.user JOIN account AS c ON c.id = a.account"
        " GROUP BY u.name, c.name, r.day")}


def months(store):
    """The sums of months, and those of their days."""
    return [sorted(store.rows(
        "SELECT a.cluster, a.user, a.account, a.partition, r.month, sum(r.jobs_ended), sum(r.jobs_started), sum(r.cpu_sec),"
        " sum(r.cpu_used_msec) FROM %s AS r JOIN assoc AS a ON a.id = r.assoc GROUP BY a.cluster, a.user, a.account,"
        " a.partition, r.month" % table)) for table in ("rollup_month", "rollup_day")]


def owners(store):
    return sorted(tuple(r) for r in store.rows(
        "SELECT v.jobid, v.user, v.account FROM job_v AS v ORDER BY v.jobid"))


def want_owners(names):
    return sorted(("%d.srv" % n, names.get(user, user), names.get(account, account)) for n, user, account, *_ in jobs())


def main():
    folder = tempfile.mkdtemp(prefix="bj-rename-")
    os.mkdir(folder + "/accounting")
    with open(folder + "/accounting/20261104", "w") as f:
        f.writelines(sorted(line(*j) for j in jobs()))
    with open(folder + "/cluster.yml", "w") as f:
        f.write("name: hpc\npbs: {accounting: %s/accounting}\n" % folder)
    store = store_lib.store(folder + "/stats.db")

    def run(*words):
        return subprocess.run([store_lib.O + "/batchjob_stats_db", *words, "--store.path=" + store.url,
                               "--cluster.file=" + folder + "/cluster.yml"], capture_output=True, text=True, timeout=300)

    def renamed(words, names, what):
        p = run(*words)
        check(p.returncode == 0, " ".join(words), p.stderr)
        same(stored(store), expected(names), what + ": the daily sums")
        same(owners(store), want_owners(names), what + ": the jobs")
        same(*months(store), what + ": the monthly sums are those of the days")
    try:
        p = run("--once")
        check(p.returncode == 0, "the accounting file is imported", p.stderr)
        same(stored(store), expected({}), "the daily sums")
        names = {"ann": "dora"}
        renamed(["rename", "user", "ann", "dora"], names, "a name that the store did not have")
        names["ben"] = "dora"
        renamed(["rename", "user", "ben", "dora"], names, "a name that the store had")
        names["bio"] = "physics"
        renamed(["rename", "account", "bio", "physics"], names, "an account that the store had")
        for words, why in ((["rename", "user", "nobody", "x"], "no job has the user 'nobody'"),
                           (["rename", "user", "dora", "dora"], "expected another name"),
                           (["rename", "user", "dora"], "expected 'user OLD NEW'"),
                           (["rename", "queue", "a", "b"], "expected 'user OLD NEW'"),
                           (["delete-user", "nobody"], "no job has the user 'nobody'"),
                           (["delete-user"], "a user is required")):
            p = run(*words)
            check(p.returncode == 1 and why in p.stderr, "refused: " + " ".join(words), p.stderr)
        store.rows("INSERT INTO job_more(job, stdout_path, stderr_path, script_options, script_application)"
                   " SELECT id, '/home/x/out', '/home/x/err', '2 -n 1', 'x' FROM job WHERE true ON CONFLICT(job) DO UPDATE"
                   " SET stdout_path = excluded.stdout_path, stderr_path = excluded.stderr_path, script_options ="
                   " excluded.script_options, script_application = excluded.script_application")
        before = store.rows("SELECT count(*) FROM job_v WHERE user = 'dora' AND stdout_path IS NOT NULL")[0][0]
        check(before > 0, "jobs have paths of their output", before)
        names.update(ann="(deleted)", ben="(deleted)")
        renamed(["delete-user", "dora"], names, "a deleted user")
        same(store.rows("SELECT name, work_dir, uid FROM job_v WHERE user = '(deleted)' AND (name IS NOT NULL OR"
                        " work_dir IS NOT NULL OR uid IS NOT NULL OR stdout_path IS NOT NULL OR stderr_path IS NOT NULL)"), [], "nothing names the deleted user's jobs")
        same(store.rows("SELECT count(*) FROM job_more AS m JOIN job_v AS v ON v.id = m.job WHERE v.user = '(deleted)'"
                        " AND (m.script_options IS NOT NULL OR m.script_application IS NOT NULL)"), [(0,)],
             "nothing of a deleted user's scripts stays")
        same(sorted(r[0] for r in store.rows("SELECT text FROM jobname")), ["of_cleo"], "names of other users' jobs stay")
        p = run("check")
        check(p.returncode == 0, "the store is consistent", p.stderr)
    finally:
        store.close()
        shutil.rmtree(folder)
    return plan()


sys.exit(main())
