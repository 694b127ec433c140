/* Import of accounting files that grow, are renamed and created again, and
 * assignment of the lines of PBS to runs. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "tests/unit/statsdb/pbs_runs.h"

#include "sched/pbs.h"
#include "statsdb/job/job_name.h"
#include "statsdb/source/source_follow.h"
#include "store/sqlite_probe.h"
#include "tests/unit/lib/rounds.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

struct world {
    struct fixture f;
    char dir[96]; /* of the files */
    struct bj_store *s;
    struct bj_upsert *u;
    struct bj_source_follow *follow;
    enum bj_follow_kind kind;
    unsigned bad;
};

static void on_bad(void *ctx, const struct bj_sacct_bad *bad)
{
    struct world *w = ctx;
    assert_true(bad->file && strncmp(bad->file, w->dir, strlen(w->dir)) == 0);
    w->bad++;
}

static void path_of(const struct world *w, const char *name, char path[192])
{
    snprintf(path, 192, "%s/%s", w->dir, name);
}

static void add(const struct world *w, const char *name, const char *text)
{
    char path[192];
    path_of(w, name, path);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

static void drop(const struct world *w, const char *name)
{
    char path[192];
    path_of(w, name, path);
    unlink(path);
}

static void open_all(struct world *w)
{
    char path[192];
    struct bj_err err = {0};
    w->s = store_open(&w->f);
    w->u = upsert_open(w->s);
    /* The source keeps no pointer to name or path. */
    static const char *const base[] = {"", "/lsb.acct"};
    snprintf(path, sizeof(path), "%s%s", w->dir, base[w->kind]);
    if (bj_source_follow_new(w->kind, "c", path, w->s, &w->follow, &err) < 0)
        fail_msg("%s", err.msg);
}

static void close_all(struct world *w)
{
    bj_source_follow_free(w->follow);
    bj_upsert_free(w->u);
    bj_store_close(w->s);
}

static void world_open(struct world *w, enum bj_follow_kind kind)
{
    *w = (struct world){.kind = kind};
    setenv("TZ", "UTC", 1);
    tzset();
    fixture_open(&w->f);
    snprintf(w->dir, sizeof(w->dir), "%s/acct", w->f.dir);
    assert_int_equal(mkdir(w->dir, 0700), 0);
    open_all(w);
}

static void world_close(struct world *w)
{
    static const char *const names[] = {"20261119", "20261120",   "20261121",
                                        "lsb.acct", "lsb.acct.1", "lsb.acct.2"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        drop(w, names[i]);
    assert_int_equal(bj_db_check(bj_store_db(w->s), NULL), 0);
    close_all(w);
    assert_int_equal(rmdir(w->dir), 0);
    fixture_close(&w->f);
}

static uint64_t take_dry(struct world *w, bool dry)
{
    struct bj_err err = {0};
    struct bj_sacct_counts n;
    struct bj_source_run run = {.upsert = w->u, .ctx = w, .bad = on_bad};
    if (bj_source_follow_run(w->follow, &run, dry, &n, &err) < 0)
        fail_msg("%s", err.msg);
    return n.jobs;
}

static uint64_t take(struct world *w)
{
    return take_dry(w, false);
}

static const char all_runs[] =
    "SELECT jobid, submit, state, start, \"end\", restarts FROM job"
    " ORDER BY jobid, submit";

/* --- PBS -------------------------------------------------------------------
 */

/* Import a text that arrives in two parts, with a new source for the second
 * one, and then all of it again: the result does not depend on the cut. */
static void check_cut(const char *what, const char *text, const char *sql,
                      const char *want, size_t cut)
{
    struct world w;
    char head[2048];
    world_open(&w, BJ_FOLLOW_PBS);
    snprintf(head, sizeof(head), "%.*s", (int)cut, text);
    add(&w, "20261120", head);
    take(&w);
    close_all(&w);
    open_all(&w);
    add(&w, "20261120", text + cut);
    take(&w);
    char *got = query(w.s, sql);
    if (strcmp(got, want) != 0)
        fail_msg("%s, cut at %zu:\n%s", what, cut, got);
    free(got);
    assert_int_equal(take(&w), 0);
    /* Forget how far the file was read. */
    assert_int_equal(bj_db_exec(bj_store_db(w.s), "DELETE FROM covered", NULL),
                     0);
    close_all(&w);
    open_all(&w);
    assert_true(take(&w) > 0);
    got = query(w.s, sql);
    if (strcmp(got, want) != 0)
        fail_msg("%s, again after a cut at %zu:\n%s", what, cut, got);
    free(got);
    assert_int_equal(w.bad, 0);
    world_close(&w);
}

/* Cut before and after each newline, or alternately. */
static void check_cuts(const char *what, const char *text, const char *sql,
                       const char *want, unsigned *turn)
{
    const bool both = bj_rounds(1, 0);
    for (const char *p = text; p; p = strchr(p + 1, '\n')) {
        size_t cut = (size_t)(p - text);
        bool after = cut > 0 && (*turn)++ % 2;
        if (both || !after)
            check_cut(what, text, sql, want, cut);
        if (cut > 0 && (both || after))
            check_cut(what, text, sql, want, cut + 1);
    }
}

static void test_pbs_runs(void **state)
{
    (void)state;
    unsigned turn = 0;
    for (size_t i = 0; i < sizeof(pbs_cases) / sizeof(pbs_cases[0]); i++)
        check_cuts(pbs_cases[i].what, pbs_cases[i].text, all_runs,
                   pbs_cases[i].want, &turn);
}

/* --- released nodes: 12:00:00 is 1795176000 */

#define AT(time, type, id) "11/20/2026 12:0" time ";" type ";" id ".s;"
#define JOB_OF "user=anna ctime=1000 start=1795176000 "
#define ALL                                                                    \
    "exec_host=n1/0*2+n2/3*4 exec_vnode=(n1:ncpus=2:mem=200mb)+"               \
    "(n2:ncpus=4:ngpus=1:mem=400mb) Resource_List.ncpus=6 "                    \
    "Resource_List.mem=600mb "
#define SOME                                                                   \
    "exec_host=n1/0*2 exec_vnode=(n1:ncpus=2:mem=200mb) "                      \
    "Resource_List.ncpus=2 Resource_List.mem=200mb "
#define LEAST                                                                  \
    "exec_host=n1/0 exec_vnode=(n1:ncpus=1:mem=100mb) Resource_List.ncpus=1 "  \
    "Resource_List.mem=100mb "
#define USED(wall)                                                             \
    "resources_used.cput=00:02:00 resources_used.walltime=" wall " "
#define LAST(time, size, end, wall)                                            \
    AT(time, "e", "1")                                                         \
    JOB_OF size USED(wall) "\n" AT(time, "E", "1") JOB_OF ALL                  \
        "end=" end " Exit_status=0 run_count=1 " USED(wall) "\n"

static const char size_sql[] =
    "SELECT state, cpus, nodes, gpus, memory_requested_bytes >> 20,"
    " memory_allocated_bytes >> 20, (SELECT text FROM hosts WHERE id = hosts),"
    " elapsed, cpu_sec, node_sec, gpu_sec, memory_mib_sec,"
    " (SELECT sum(cpu_sec) || ' ' || sum(mem_mib_sec) FROM rollup_day) FROM job"
    " UNION ALL SELECT -z.number, z.cpus, z.nodes, z.gpus,"
    " z.memory_allocated_bytes >> 20, z.start - 1795176000, h.text, z.\"end\" -"
    " 1795176000, z.elapsed, 0, 0, 0, '' FROM job_size AS z JOIN hosts AS h ON"
    " h.id = z.hosts ORDER BY 1 DESC, 8";

static const struct {
    const char *what, *text, *want;
} size_cases[] = {
    {"nodes released once",
     AT("0:00", "S", "1") JOB_OF ALL "\n" AT("0:30", "u", "1")
         JOB_OF ALL USED("00:00:00") "\n" AT("0:30", "c", "1") JOB_OF SOME
     "\n" LAST("2:00", SOME, "1795176120", "00:02:00"),
     /* 6 CPUs for 30 s, 2 for 90 s */
     "4|6|2|1|600|600|n[1-2]|120|360|150|30|36000|360 36000\n"
     "0|6|2|1|600|0|n[1-2]|30|30|0|0|0|\n"
     "-1|2|1|0|200|30|n1|120|90|0|0|0|\n"},
    {"nodes released twice; PBS's run time is shorter than the clock's",
     AT("0:00", "S", "1") JOB_OF ALL "\n" AT("0:30", "u", "1") JOB_OF ALL
     "\n" AT("0:30", "c", "1") JOB_OF SOME "\n" AT("1:00", "u", "1") JOB_OF SOME
     "\n" AT("1:00", "c", "1") JOB_OF LEAST
     "\n" LAST("2:00", LEAST, "1795176120", "00:01:55"),
     /* 6 for 30 s, 2 for 30 s, 1 for 55 s */
     "4|6|2|1|600|600|n[1-2]|115|295|145|30|29500|295 29500\n"
     "0|6|2|1|600|0|n[1-2]|30|30|0|0|0|\n"
     "-1|2|1|0|200|30|n1|60|30|0|0|0|\n"
     "-2|1|1|0|100|60|n1|120|55|0|0|0|\n"},
    {"two changes in one second, and the end in the second of the last",
     AT("0:00", "S", "1") JOB_OF ALL "\n" AT("0:30", "u", "1") JOB_OF ALL
     "\n" AT("0:30", "c", "1") JOB_OF SOME "\n" AT("0:30", "u", "1") JOB_OF SOME
     "\n" AT("0:30", "c", "1") JOB_OF LEAST
     "\n" LAST("0:30", LEAST, "1795176030", "00:00:30"),
     "4|6|2|1|600|600|n[1-2]|30|180|60|30|18000|180 18000\n"
     "0|6|2|1|600|0|n[1-2]|30|30|0|0|0|\n"
     "-1|1|1|0|100|30|n1|30|0|0|0|0|\n"},
    {"the start of the run is not in the files",
     AT("0:30", "u", "1") JOB_OF ALL "\n" AT("0:30", "c", "1") JOB_OF SOME
     "\n" LAST("2:00", SOME, "1795176120", "00:02:00"),
     "4|6|2|1|600|600|n[1-2]|120|360|150|30|36000|360 36000\n"
     "0|6|2|1|600|0|n[1-2]|30|30|0|0|0|\n"
     "-1|2|1|0|200|30|n1|120|90|0|0|0|\n"},
    {"the run is requeued: PBS writes no record e, and R has the last size",
     AT("0:00", "S", "1") JOB_OF ALL "\n" AT("0:30", "u", "1") JOB_OF ALL
     "\n" AT("0:30", "c", "1") JOB_OF SOME "\n" AT("1:00", "R", "1") JOB_OF SOME
     "end=1795176060 Exit_status=-11 run_count=1 " USED("00:01:00") "\n",
     "11|6|2|1|600|600|n[1-2]|60|240|90|30|24000|240 24000\n"
     "0|6|2|1|600|0|n[1-2]|30|30|0|0|0|\n"
     "-1|2|1|0|200|30|n1|60|30|0|0|0|\n"},
    {"what the run had before is not known: no sums of it",
     AT("0:30", "c", "1") JOB_OF SOME
     "\n" LAST("2:00", SOME, "1795176120", "00:02:00"),
     "4|6|2|1|600|600|n[1-2]|120|||||720 72000\n"
     "0|2|1|0|200|30|n1|120||0|0|0|\n"},
};

static void test_pbs_sizes(void **state)
{
    (void)state;
    unsigned turn = 0;
    for (size_t i = 0; i < sizeof(size_cases) / sizeof(size_cases[0]); i++)
        check_cuts(size_cases[i].what, size_cases[i].text, size_sql,
                   size_cases[i].want, &turn);
}

/* What earlier records said of a job counts when the program was restarted
 * between: when it started, and for how long it was suspended. */
static void test_pbs_restart(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, BJ_FOLLOW_PBS);
    add(&w, "20261120",
        AT("0:00", "Q", "2") "user=anna ctime=1000\n" AT("0:00", "S", "1")
            JOB_OF "Resource_List.walltime=00:10:00\n" AT(
                "0:10", "z", "1") "\n" AT("0:20", "r", "1") "\n");
    take(&w);
    close_all(&w);
    open_all(&w);
    add(&w, "20261120",
        AT("0:30", "a", "1") "Resource_List.walltime=00:20:00\n" AT(
            "0:40", "z", "1") "\n" AT("0:50", "a",
                                      "2") "Resource_List.walltime=00:05:00\n");
    take(&w);
    expect(w.s,
           "SELECT jobid, state, suspended, time_limit FROM job ORDER BY jobid",
           "1.s|3|10|1200\n2.s|1||300\n");
    add(&w, "20261120", AT("1:00", "r", "1") "\n");
    take(&w);
    expect(w.s, "SELECT state, suspended FROM job WHERE jobid = '1.s'",
           "2|30\n");
    add(&w, "20261120", AT("1:10", "z", "1") "\n");
    take(&w);
    close_all(&w);
    open_all(&w); /* it is not known since when it is suspended */
    add(&w, "20261120", AT("1:20", "r", "1") "\n");
    take(&w);
    expect(w.s, "SELECT state, suspended FROM job WHERE jobid = '1.s'",
           "2|30\n");
    world_close(&w);
}

/* Until it ends, a job that released nodes runs with what it started with;
 * suspended time and an end by a requeue count. */
static void test_pbs_sizes_others(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, BJ_FOLLOW_PBS);
    add(&w, "20261120",
        AT("0:00", "S", "1") JOB_OF ALL "\n" AT("0:10", "z", "1") "\n" AT(
            "0:20", "r", "1") "\n" AT("0:30", "u", "1") JOB_OF ALL
        "\n" AT("0:30", "c", "1") JOB_OF SOME "\n");
    take(&w);
    expect(w.s, size_sql,
           "2|6|2|1|600|600|n[1-2]||||||0 0\n" /* elapsed is not known yet */
           "0|6|2|1|600|0|n[1-2]|30|20|0|0|0|\n"
           "-1|2|1|0|200|30|n1|||0|0|0|\n");
    add(&w, "20261120",
        AT("1:00", "R", "1") JOB_OF SOME
        "end=1795176060 Exit_status=-11 run_count=1 " USED("00:00:50") "\n");
    take(&w);
    /* 6 CPUs for 20 s, 2 for 30 s */
    expect(w.s, size_sql,
           "11|6|2|1|600|600|n[1-2]|50|180|70|20|18000|180 18000\n"
           "0|6|2|1|600|0|n[1-2]|30|20|0|0|0|\n"
           "-1|2|1|0|200|30|n1|60|30|0|0|0|\n");
    world_close(&w);
}

/* A run waits since the one before was requeued; its etime is that of the first
 * run. */
static void test_pbs_waits(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, BJ_FOLLOW_PBS);
    add(&w, "20261120",
        "11/20/2026 12:00:10;S;1.s;ctime=1000 etime=1100 start=1500\n"
        "11/20/2026 12:01:00;R;1.s;ctime=1000 etime=1100 start=1500 end=1900 "
        "Exit_status=-11 run_count=1\n"
        "11/20/2026 12:00:10;S;1.s;ctime=1000 etime=1100 start=1950\n");
    take(&w);
    expect(w.s, "SELECT start, eligible FROM job ORDER BY start",
           "1500|1100\n1950|1900\n");
    world_close(&w);
}

static char *slurp(const char *path)
{
    enum { MOST = 1 << 20 };
    FILE *f = fopen(path, "r");
    char *text = calloc(1, MOST);
    assert_non_null(f);
    assert_true(fread(text, 1, MOST - 1, f) > 0 && feof(f));
    fclose(f);
    return text;
}

static int put_job(void *ctx, const struct bj_sched_job *job,
                   struct bj_err *err)
{
    const struct world *w = ctx;
    return bj_upsert_job(w->u, BJ_SLICE("c"), job, err);
}

/* Store the jobs of a reply of qstat. */
static void take_qstat(struct world *w, const char *path)
{
    struct bj_err err = {0};
    struct bj_pbs_json *r;
    const struct bj_pbs_conf conf = {.ctx = w, .job = put_job};
    char *text = slurp(path);
    assert_int_equal(bj_pbs_json_new(&conf, &r, &err), 0);
    assert_int_equal(bj_upsert_begin(w->u, &err), 0);
    if (bj_pbs_json_feed(r, bj_slice_str(text), &err) < 0 ||
        bj_pbs_json_end(r, &err) < 0 || bj_upsert_commit(w->u, &err) < 0)
        fail_msg("%s: %s", path, err.msg);
    bj_pbs_json_free(r);
    free(text);
}

/* The nodes of these jobs, and what job 92 had when. */
static void check_nodes(const struct world *w)
{
    /* exec_host=pbshost/8+n2/1*3, pbshost/3*3+pbshost/4*3+pbshost/5; a waiting
     * job has chunks (nodect) only */
    expect(w->s,
           "SELECT DISTINCT nodelist, nodes FROM job_v WHERE start_sec > 0"
           " ORDER BY 1",
           "n2|1\nn2,pbshost|2\npbshost|1\n");
    expect(w->s, "SELECT name FROM host ORDER BY name", "n2\npbshost\n");
    expect(w->s,
           "SELECT count(*) > 0, count(nodelist), count(nodes) FROM job_v"
           " WHERE start_sec IS NULL",
           "1|0|0\n");
    /* Job 92: 4 CPUs on two nodes from 04:18:26 on, 1 CPU from 04:18:35 on;
     * PBS's run time is 45 s. */
    expect(w->s,
           "SELECT j.cpus, j.nodes, j.elapsed_seconds, j.cpu_sec, j.node_sec,"
           " j.memory_mib_sec, group_concat(z.nodelist || ' ' || z.cpus || ' '"
           " || z.elapsed_seconds, '; ') FROM job_v AS j JOIN job_size_v AS z"
           " ON z.job = j.id WHERE j.jobid = '92.pbshost'",
           "4|2|45|72|54|6300|n2,pbshost 4 9; pbshost 1 36\n");
    expect(w->s, "SELECT count(DISTINCT job) FROM job_size", "1\n");
}

/* What accounting says of the runs of jobs that ended; waiting jobs are in it
 * with their end, too. */
static const char openpbs_sql[] =
    "SELECT jobid, state, start, \"end\", elapsed, cpu_usec, cpus, nodes,"
    " memory_scheduler_peak_bytes, exit_code, exit_signal FROM job"
    " WHERE \"end\" IS NOT NULL ORDER BY jobid, submit";

/* The same recorded jobs, of which qstat was read before the accounting. */
static void check_qstat_first(const char *accounting, const char *want)
{
    struct world w;
    world_open(&w, BJ_FOLLOW_PBS);
    take_qstat(&w, "tests/fixtures/sched/openpbs-23.06/qstat-xt.json");
    add(&w, "20261120", accounting);
    take(&w);
    assert_int_equal(w.bad, 0);
    char *got = query(w.s, openpbs_sql);
    assert_string_equal(got, want);
    free(got);
    world_close(&w);
}

/* Job 2 was requeued, and deleted while it waited to run again; PBS gave job 48
 * up. */
static void check_deleted(const struct world *w)
{
    struct bj_err err = {0};
    int64_t newest = 0;
    char sql[80];
    expect(w->s,
           "SELECT state, \"user\", name, submit_sec, time_limit_seconds,"
           " tres_requested FROM job_v WHERE jobid = '2.pbshost' ORDER BY id",
           "requeued|alice|select|1795839004|600|1:ncpus=2:mem=300mb:ngpus=1\n"
           "cancelled|alice|select|1795839004|600|"
           "1:ncpus=2:mem=300mb:ngpus=1\n");
    /* the run that was deleted, not the one before */
    assert_int_equal(
        bj_job_name_find(bj_store_db(w->s), "2.pbshost", &newest, &err), 0);
    snprintf(sql, sizeof(sql), "SELECT state FROM job_v WHERE id = %lld",
             (long long)newest);
    expect(w->s, sql, "cancelled\n");
    expect(w->s, "SELECT state, reason FROM job_v WHERE jobid = '48.pbshost'",
           "cancelled|Job deleted as result of dependency on job "
           "47.pbshost\n");
}

/* Recorded from OpenPBS 23.06: accounts with quotes, newlines and records of
 * root, arrays, jobs that were requeued, deleted, suspended and killed.  What
 * qstat reports afterwards of jobs that have ended changes none of it. */
static void test_openpbs(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, BJ_FOLLOW_PBS);
    char *text = slurp("tests/fixtures/sched/openpbs-23.06/20261128");
    add(&w, "20261120", text);
    take(&w);
    assert_int_equal(w.bad, 0);
    char *before = query(w.s, openpbs_sql);
    take_qstat(&w, "tests/fixtures/sched/openpbs-23.06/qstat-xt.json");
    char *after = query(w.s, openpbs_sql);
    assert_string_equal(after, before);
    check_qstat_first(text, before);
    free(text);
    free(before);
    free(after);
    expect(w.s,
           "SELECT count(*) FROM job_v WHERE jobid LIKE '%[]%'"
           " OR jobid LIKE '999.%' OR \"user\" IN ('root', 'carol') AND"
           " account IS NOT NULL",
           "0\n");
    expect(w.s,
           "SELECT jobid, state, \"user\" FROM job_v WHERE jobid IN"
           " ('19.pbshost', '32[2].pbshost', '33.pbshost', '35.pbshost',"
           " '39.pbshost', '49.pbshost', '63.pbshost', '106.pbshost')"
           " ORDER BY submit_sec, jobid",
           "19.pbshost|completed|alice\n32[2].pbshost|cancelled|bob\n"
           "33.pbshost|cancelled|alice\n35.pbshost|timeout|carol\n"
           "39.pbshost|timeout|alice\n49.pbshost|cancelled|alice\n"
           "63.pbshost|completed|alice\n106.pbshost|completed|alice\n");
    check_deleted(&w);
    expect(w.s,
           "SELECT elapsed_seconds, suspended_seconds FROM job_v"
           " WHERE jobid = '46.pbshost'",
           "7|23\n");
    expect(w.s,
           "SELECT name, time_limit_seconds FROM job_v WHERE jobid ="
           " '55.pbshost'",
           "newname|1200\n");
    /* D records name who deleted: 27, one of them of an array */
    expect(w.s,
           "SELECT count(*) FROM job_v WHERE reason = 'deleted by "
           "root@pbshost'",
           "26\n");
    expect(w.s,
           "SELECT state, start_sec, end_sec FROM job_v"
           " WHERE jobid = '34.pbshost' ORDER BY start_sec",
           "requeued|1795839137|1795839157\n"
           "completed|1795839162|1795839183\n");
    check_nodes(&w);
    world_close(&w);
}

/* On days when clocks change, times before the change are in the old zone: jobs
 * deleted at half past midnight and at noon. */
static void test_zone(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, BJ_FOLLOW_PBS);
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    add(&w, "20261119",
        "03/29/2026 00:30:00;Q;1.s;queue=workq\n"
        "03/29/2026 12:00:00;D;1.s;requestor=anna@login1\n"
        "03/29/2026 00:30:00;D;2.s;requestor=anna@login1\n"
        "10/25/2026 00:30:00;D;3.s;requestor=anna@login1\n");
    assert_int_equal(take(&w), 4);
    /* 00:30 CET, 12:00 CEST; 00:30 CET; 00:30 CEST */
    expect(w.s, "SELECT jobid, submit, \"end\" FROM job ORDER BY jobid",
           "1.s|1774740600|1774778400\n2.s|0|1774740600\n3.s|0|1792881000\n");
    world_close(&w);
}

/* A line about a job finds earlier lines in the same transaction. */
static void test_same_transaction(void **state)
{
    char line[128];
    struct world w;
    (void)state;
    world_open(&w, BJ_FOLLOW_PBS);
    add(&w, "20261120", Q("1.s") S("1.s", "1500"));
    for (int i = 0; i < 600; i++) {
        snprintf(line, sizeof(line),
                 "11/20/2026 12:00:00;Q;9%03d.s;user=anna ctime=1000\n", i);
        add(&w, "20261120", line);
    }
    add(&w, "20261120",
        R("1.s", "1500", "1") S("1.s", "1950") E("1.s", "1950", "2500", "2"));
    assert_int_equal(take(&w), 605);
    expect(w.s,
           "SELECT jobid, submit, state, start, \"end\", restarts FROM job"
           " WHERE start > 0 ORDER BY submit",
           "1.s|1000|11|1500|1900|0\n1.s|1001|4|1950|2500|1\n");
    world_close(&w);
}

static void test_days(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, BJ_FOLLOW_PBS);
    add(&w, "20261121", E("2.s", "1500", "2000", "1"));
    add(&w, "20261120", Q("1.s") S("1.s", "1500") "cut o");
    add(&w, "2026112", "no such file\n");
    assert_int_equal(take_dry(&w, true), 3);
    assert_int_equal(number(w.s, "SELECT count(*) FROM job"), 0);
    assert_int_equal(number(w.s, "SELECT count(*) FROM covered"), 0);
    assert_int_equal(take(&w), 3);
    assert_int_equal(take(&w), 0);
    /* Deleted after midnight, while it ran. */
    add(&w, "20261121",
        D("1.s") "11/21/2026 00:00:01;E;1.s;ctime=1000 "
                 "start=1500 end=2600 Exit_status=271\n");
    assert_int_equal(take(&w), 2);
    expect(w.s, all_runs, "1.s|1000|6|1500|2600|\n2.s|1000|4|1500|2000|0\n");
    drop(&w, "2026112");
    world_close(&w);
}

static void test_files(void **state)
{
    struct world w;
    char from[192], to[192];
    (void)state;
    world_open(&w, BJ_FOLLOW_PBS);
    /* The file does not yet contain a whole line. */
    add(&w, "20261120", "11/20/2026 12:00:00;E;1.s;ctime=1000 start=15");
    assert_int_equal(take(&w), 0);
    add(&w, "20261120", "00 end=2000 Exit_status=0\n");
    assert_int_equal(take(&w), 1);
    /* The file is renamed, and a new one with its old name has bad lines, which
     * are skipped. */
    path_of(&w, "20261120", from);
    path_of(&w, "20261119", to);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(take(&w), 0);
    add(&w, "20261120", "rubbish\n\n;;;;\n" E("2.s", "1", "2", "1"));
    assert_int_equal(take(&w), 1);
    assert_int_equal(w.bad, 2);
    /* Another file of the same name. */
    drop(&w, "20261120");
    add(&w, "20261120", E("3.s", "1", "2", "1"));
    assert_int_equal(take(&w), 1);
    assert_int_equal(number(w.s, "SELECT count(*) FROM job"), 3);
    world_close(&w);
}

/* A line of 5 MiB is skipped; the lines before and after it are imported. */
static void test_long(void **state)
{
    struct world w;
    char *text = malloc(5 << 20);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', 5 << 20);
    text[(5 << 20) - 1] = '\0';
    world_open(&w, BJ_FOLLOW_PBS);
    add(&w, "20261120", E("1.s", "1", "2", "1"));
    add(&w, "20261120", text);
    assert_int_equal(take(&w), 1);
    add(&w, "20261120", "\n" E("2.s", "1", "2", "1"));
    assert_int_equal(take(&w), 1);
    assert_int_equal(take(&w), 0);
    assert_int_equal(number(w.s, "SELECT count(*) FROM job"), 2);
    free(text);
    world_close(&w);
}

/* --- LSF -------------------------------------------------------------------
 */

#define FINISH(id)                                                             \
    "\"JOB_FINISH\" \"10.1\" 1795173700 " id                                   \
    " 1001 33816579 4 1795170000 0 0 1795170100 \"anna\" \"normal\" "          \
    "\"span[hosts=1]\" \"\" \"\" \"login1\" \"proj/w\" \"\" \"out\" \"\" "     \
    "\"1795170000.123\" 0 1 \"hostA\" 64 60.0 \"run\" \"sleep 10\" "           \
    "143.250000 0.750001 0 0 -1 0 0 7 0 0 0 0 -1 0 0 0 1 2 -1 \"\" "           \
    "\"default\" 0 4 \"\" \"\" 0 1048576 2097152\n"

static void test_lsf(void **state)
{
    struct world w;
    char from[192], to[192];
    (void)state;
    world_open(&w, BJ_FOLLOW_LSF);
    add(&w, "lsb.acct.1", FINISH("1") FINISH("2"));
    add(&w, "lsb.acct", FINISH("3"));
    add(&w, "lsb.acct.bak", FINISH("9"));
    assert_int_equal(take(&w), 3);
    /* Lines written between the last import and the renaming are not lost. */
    add(&w, "lsb.acct", FINISH("4"));
    path_of(&w, "lsb.acct.1", from);
    path_of(&w, "lsb.acct.2", to);
    assert_int_equal(rename(from, to), 0);
    path_of(&w, "lsb.acct", from);
    path_of(&w, "lsb.acct.1", to);
    assert_int_equal(rename(from, to), 0);
    add(&w, "lsb.acct", "# a remark\n" FINISH("5"));
    assert_int_equal(take(&w), 2);
    assert_int_equal(take(&w), 0);
    expect(w.s, "SELECT jobid FROM job ORDER BY 1", "1\n2\n3\n4\n5\n");
    expect(w.s, "SELECT count(*), sum(to_sec > 0) FROM covered", "3|3\n");
    drop(&w, "lsb.acct.bak");
    world_close(&w);
}

/* --- killed ----------------------------------------------------------------
 */

static void write_many(const struct world *w, unsigned jobs, int padding)
{
    char path[192];
    path_of(w, "20261120", path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (unsigned i = 1; i <= jobs; i++) {
        fprintf(f, "11/20/2026 12:00:00;S;%u.s;user=u%u ctime=%u start=%u\n", i,
                i % 7, i, i + 10);
        bool again = i % 5 == 0;
        if (again)
            fprintf(f,
                    "11/20/2026 12:00:00;R;%u.s;user=u%u ctime=%u start=%u "
                    "end=%u Exit_status=-11 run_count=1\n",
                    i, i % 7, i, i + 10, i + 20);
        fprintf(f,
                "11/20/2026 12:00:00;E;%u.s;user=u%u ctime=%u start=%u "
                "end=%u Exit_status=0 resources_used.walltime=00:00:%d "
                "run_count=%d %0*d\n",
                i, i % 7, i, i + 10 + 20 * again, i + 50, again ? 20 : 40,
                1 + again, padding, 0);
    }
    assert_int_equal(fclose(f), 0);
}

/* The process is killed after so many transactions, and then so many calls of
 * on_steps(). */
static int commits_left, steps_left;

static void on_commit(void)
{
    commits_left--;
}

static void on_steps(void)
{
    if (commits_left <= 0 && steps_left-- <= 0)
        raise(SIGKILL);
}

/* Import in a child process; returns true if it ended by itself. */
static bool follow_for(struct world *w, int commits, int steps)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        open_all(w);
        commits_left = commits;
        steps_left = steps;
        bj_probe_commits(bj_store_db(w->s), on_commit);
        bj_probe_steps(bj_store_db(w->s), 50, on_steps);
        struct bj_sacct_counts n;
        struct bj_source_run run = {.upsert = w->u, .batch_lines = 100};
        _exit(bj_source_follow_run(w->follow, &run, false, &n, NULL) < 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
}

static void test_killed(void **state)
{
    /* Long lines, so that few jobs take several transactions of 2 MiB. */
    const int jobs = (int)bj_rounds(20000, 3000), runs = jobs + jobs / 5;
    struct world w;
    char want[80];
    int killed = 0;
    int64_t before = 0;
    bool done = false;
    (void)state;
    world_open(&w, BJ_FOLLOW_PBS);
    close_all(&w);
    write_many(&w, (unsigned)jobs, (int)bj_rounds(900, 2700));
    while (!done) {
        done = follow_for(&w, 1, killed * 997 % 3000);
        killed += !done;
        w.s = store_open(&w.f);
        int64_t now = number(w.s, "SELECT count(*) FROM job");
        assert_true(now >= before);
        before = now;
        bj_store_close(w.s);
    }
    print_message("# killed %d times\n", killed);
    assert_true(killed >= 3);
    open_all(&w);
    assert_int_equal(take(&w), 0);
    snprintf(want, sizeof(want), "%d|%d|%d|%d|%d\n", runs, jobs, jobs / 5, jobs,
             jobs * 38);
    expect(w.s,
           "SELECT count(*), sum(state = 4), sum(state = 11),"
           " count(DISTINCT jobid), sum(\"end\" - start) FROM job",
           want);
    /* Four of five jobs take 40 s, the others 10 s and 20 s. */
    assert_int_equal(number(w.s, "SELECT sum(elapsed_sec) FROM rollup_day"),
                     number(w.s, "SELECT sum(elapsed_seconds) FROM job_v"));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pbs_runs),
        cmocka_unit_test(test_pbs_waits),
        cmocka_unit_test(test_pbs_sizes),
        cmocka_unit_test(test_pbs_sizes_others),
        cmocka_unit_test(test_pbs_restart),
        cmocka_unit_test(test_openpbs),
        cmocka_unit_test(test_zone),
        cmocka_unit_test(test_same_transaction),
        cmocka_unit_test(test_days),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_lsf),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
