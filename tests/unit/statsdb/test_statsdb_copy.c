/* Copies of a store between SQLite and a real PostgreSQL server: a copy is
 * complete, continues after an interruption, and can be updated. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/copy/copy.h"
#include "statsdb/record/record.h"
#include "tests/unit/statsdb/test_server.h"

enum { SUBMIT = 1767225600, DAY = 86400 }; /* 2026-01-01 */

/* Two job ids with the same hash (found by a script). */
#define ONE BJ_SLICE("6213[].pbs")
#define OTHER BJ_SLICE("9880[].pbs")

/* --- stores ----------------------------------------------------------------
 */

static struct bj_store *open_store(const char *url)
{
    struct bj_store *s = NULL;
    struct bj_err err = {0};
    if (bj_store_open(&(struct bj_store_options){.path = url}, &s, &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

static void exec(const char *url, const char *sql)
{
    struct bj_store *s = open_store(url);
    db_exec(bj_store_db(s), sql);
    bj_store_close(s);
}

/* Check the rows of a query. The store is opened read-only, so that it remains
 * a copy. */
static void expect_in(const char *url, const char *sql, const char *text)
{
    struct bj_store *s = NULL;
    struct bj_err err = {0};
    const struct bj_store_options opt = {.path = url, .read_only = true};
    if (bj_store_open(&opt, &s, &err) < 0)
        fail_msg("%s", err.msg);
    expect(s, sql, text);
    bj_store_close(s);
}

/* Store a job with one step; end_sec 0: it has not ended. */
static void put(const char *url, struct bj_slice jobid, uint64_t submit_sec,
                uint64_t end_sec)
{
    struct bj_sched_job j;
    struct bj_job_step step;
    struct bj_store *s = open_store(url);
    struct bj_upsert *u = upsert_open(s);
    bj_sched_job_init(&j);
    bj_job_step_init(&step);
    j.jobid = jobid;
    j.user = BJ_SLICE("ada");
    j.submit_sec = submit_sec ? submit_sec : BJ_ABSENT;
    j.start_sec = submit_sec + 10;
    j.state = end_sec ? BJ_STATE_COMPLETED : BJ_STATE_RUNNING;
    if (end_sec)
        j.end_sec = end_sec;
    step.step_id = BJ_SLICE("batch");
    step.state = j.state;
    j.step = &step;
    j.steps = 1;
    upsert_job(u, &j);
    bj_upsert_free(u);
    bj_store_close(s);
}

/* Store a final record with a device; start 0: unknown. */
static void put_record(const char *url, int jobid, int64_t start, int64_t end)
{
    char text[300], begins[40] = "";
    struct bj_err err = {0};
    struct bj_store *s = open_store(url);
    struct bj_records *r = NULL;
    if (start)
        snprintf(begins, sizeof(begins), ",\"start\":%lld", (long long)start);
    snprintf(text, sizeof(text),
             "{\"format\":1,\"cluster\":\"here\",\"host\":\"n1\",\"jobid\":"
             "\"%d\"%s,\"end\":%lld,\"devices\":{\"sda\":{\"read_bytes\":"
             "%d}}}",
             jobid, begins, (long long)end, jobid);
    if (bj_records_new(s, &r, &err) < 0 || bj_records_begin(r, &err) < 0 ||
        bj_record_put(r, BJ_SLICE(""), "x", bj_slice_str(text), &err) < 0 ||
        bj_records_commit(r, &err) < 0)
        fail_msg("%s", err.msg);
    bj_records_free(r);
    bj_store_close(s);
}

/* --- copies ----------------------------------------------------------------
 */

struct run {
    int stop_after; /* stop after this many reports; 0: never */
    int reports, by_day, days, days_written, records_written;
    uint64_t jobs;
};

static int on_equal(void *ctx, const struct bj_copy_equal *e,
                    struct bj_err *err)
{
    struct run *r = ctx;
    r->by_day += e->day != BJ_SQL_NULL;
    if (strcmp(e->table, "job") == 0) {
        r->jobs += e->sum.rows;
        r->days++;
        r->days_written += e->written;
    }
    if (strcmp(e->table, "node_record") == 0)
        r->records_written += e->written ? (int)e->sum.rows : 0;
    return ++r->reports == r->stop_after ? bj_err_set(err, -EINTR, "enough")
                                         : 0;
}

static int copy(const char *from, const char *to, bool update, struct run *run)
{
    static const atomic_bool stop;
    struct bj_err err = {0};
    const struct bj_copy what = {.from = from,
                                 .to = to,
                                 .update = update,
                                 .stop = &stop,
                                 .equal = on_equal,
                                 .ctx = run};
    int r = bj_copy_store(&what, &err);
    if (r < 0 && r != -EINTR && r != -EEXIST)
        fail_msg("%s", err.msg);
    return r;
}

/* Jobs get the numbers of the other engine in all tables; jobs that were not
 * yet derived are still listed. */
static void test_copy(void **state)
{
    static const char numbers[] =
        "SELECT id - (SELECT min(id) FROM job), jobid FROM job ORDER BY id";
    static const char bins[] =
        "SELECT jobid, microjoules, id > 4294967296 FROM job JOIN job_bin ON"
        " job = id ORDER BY jobid";
    struct fixture f, g;
    (void)state;
    NEED_SERVER;
    fixture_open(&f);
    fixture_open(&g);
    const char *pg = empty_server();
    put(f.path, OTHER, SUBMIT, SUBMIT + 20);
    put(f.path, ONE, SUBMIT, SUBMIT + 20);
    put(f.path, BJ_SLICE("3"), SUBMIT, 0);
    exec(f.path, "UPDATE derive_state SET job_upto = 1;"
                 "INSERT INTO job_bin(job, start, microjoules) SELECT id, 0, id"
                 " FROM job");
    assert_int_equal(copy(f.path, pg, false, &(struct run){0}), 0);
    expect_in(pg, bins, "3|3|1\n6213[].pbs|2|1\n9880[].pbs|1|1\n");
    expect_in(pg, numbers, "0|3\n37977310|9880[].pbs\n37977311|6213[].pbs\n");
    expect_in(
        pg, "SELECT jobid FROM derive_todo JOIN job ON id = job ORDER BY jobid",
        "6213[].pbs\n");
    expect_in(pg, "SELECT job_upto FROM derive_state", "9223372036854775807\n");
    /* One job has not ended. */
    expect_in(pg, "SELECT month, at_from, at_upto, end_upto FROM job_month",
              "313|1767225610|1767225610|9223372036854775807\n");
    assert_int_equal(copy(pg, g.path, false, &(struct run){0}), 0);
    expect_in(g.path,
              "SELECT id, jobid, typeof(jobid), microjoules FROM job JOIN"
              " job_bin ON job = id ORDER BY id",
              "1|3|integer|3\n2|9880[].pbs|text|1\n3|6213[].pbs|text|2\n");
    expect_in(g.path, "SELECT job FROM derive_todo", "3\n");
    expect_in(g.path, "SELECT job_upto FROM derive_state", "3\n");
    fixture_close(&f);
    fixture_close(&g);
}

/* All jobs with their number of steps, in SQL of both engines. */
static const char all_jobs[] =
    "SELECT jobid, submit, j.\"end\", count(slot) FROM job AS j LEFT JOIN step"
    " ON job = id GROUP BY id, jobid, submit, j.\"end\" ORDER BY submit, jobid";

static void fill_days(const char *url)
{
    put(url, BJ_SLICE("1"), SUBMIT, SUBMIT + 20);
    put(url, BJ_SLICE("2"), SUBMIT + DAY - 1, SUBMIT + DAY);
    put(url, BJ_SLICE("5"), 0, SUBMIT + 30); /* without a submit time */
    put(url, BJ_SLICE("3"), SUBMIT + DAY, 0);
    put(url, BJ_SLICE("4"), SUBMIT + 40 * DAY, SUBMIT + 40 * DAY + 20);
    put_record(url, 4711, SUBMIT, SUBMIT + 20);
    put_record(url, 4712, SUBMIT, SUBMIT + 30);
    put_record(url, 2, SUBMIT + 40 * DAY, SUBMIT + 40 * DAY + 20);
    put_record(url, 5, 0, SUBMIT + 40);
}

static const char all_records[] =
    "SELECT jobid, start, \"end\", read_bytes FROM node_record JOIN node_device"
    " ON record = id ORDER BY start, jobid";
static const char records[] = "5|0|1767225640|5\n"
                              "4711|1767225600|1767225620|4711\n"
                              "4712|1767225600|1767225630|4712\n"
                              "2|1770681600|1770681620|2\n";
static const char record_numbers[] =
    "SELECT id, jobid FROM node_record ORDER BY"
    " id";

/* Other programs cannot open a copy that has not finished. */
static void expect_unfinished(const char *url)
{
    static const bool reads[] = {false, true};
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        struct bj_store *s = NULL;
        struct bj_err err = {0};
        const struct bj_store_options opt = {.path = url,
                                             .read_only = reads[i]};
        assert_int_equal(bj_store_open(&opt, &s, &err), -EINPROGRESS);
        assert_non_null(strstr(err.msg, "has not finished"));
    }
}

/* A copy that is interrupted after 1, 10, 19... reports (a day has nine) writes
 * nothing twice. */
static void interrupt(const char *from, const char *to)
{
    struct run run = {.stop_after = 1};
    int days_before = 0, records_before = 0;
    while (copy(from, to, false, &run) == -EINTR) {
        expect_unfinished(to);
        assert_in_range(run.days_written, 0, 1);
        days_before += run.days_written;
        records_before += run.records_written;
        run = (struct run){.stop_after = run.stop_after + 9};
    }
    assert_int_equal(days_before, 4);
    assert_int_equal(records_before + run.records_written, 4);
    assert_int_equal(run.days_written, 0);
    assert_int_equal(run.days, 4);
    assert_int_equal(run.jobs, 5);
    assert_true(run.reports > 40); /* tables and days */
}

static void test_interrupted(void **state)
{
    static const char jobs[] = "5|0|1767225630|1\n"
                               "1|1767225600|1767225620|1\n"
                               "2|1767311999|1767312000|1\n"
                               "3|1767312000||1\n"
                               "4|1770681600|1770681620|1\n";
    struct fixture f, g, h;
    (void)state;
    NEED_SERVER;
    fixture_open(&f);
    fixture_open(&g);
    fixture_open(&h);
    const char *pg = empty_server();
    fill_days(f.path);
    expect_in(f.path, all_jobs, jobs);
    interrupt(f.path, pg);
    expect_in(pg, all_jobs, jobs);
    expect_in(pg, all_records, records);
    /* computed by a script: test_statsdb_record_number.c */
    expect_in(pg,
              "SELECT id FROM node_record WHERE jobid = '4711' AND host = 1 AND"
              " cluster = 1",
              "3524195901566049697\n");
    expect_in(pg,
              "SELECT count(*) FROM derive_record JOIN node_record ON id ="
              " record",
              "4\n");
    interrupt(pg, g.path);
    expect_in(g.path, all_records, records);
    expect_in(g.path, record_numbers, "1|5\n2|4712\n3|4711\n4|2\n");
    expect_in(g.path, all_jobs, jobs);
    interrupt(f.path, h.path);
    expect_in(h.path, all_jobs, jobs);
    expect_in(h.path, "SELECT id, jobid FROM job ORDER BY id",
              "1|1\n2|2\n3|5\n4|3\n5|4\n");
    fixture_close(&f);
    fixture_close(&g);
    fixture_close(&h);
}

/* Change the original: a job ends, one is new, one is removed, one loses its
 * step. */
static void change(const char *url)
{
    put(url, BJ_SLICE("3"), SUBMIT + DAY, SUBMIT + DAY + 50);
    put(url, BJ_SLICE("9"), SUBMIT + 1, SUBMIT + 60);
    put_record(url, 9, SUBMIT + 1, SUBMIT + 60);
    exec(url, "UPDATE node_record SET \"end\" = \"end\" + 1 WHERE jobid = 2;"
              "DELETE FROM step WHERE job IN (SELECT id FROM job WHERE"
              " jobid = 4);"
              "DELETE FROM step WHERE job IN (SELECT id FROM job WHERE"
              " jobid = 5);"
              "DELETE FROM job WHERE jobid = 5");
}

static void update(const char *from, const char *to)
{
    static const char jobs[] = "1|1767225600|1767225620|1\n"
                               "9|1767225601|1767225660|1\n"
                               "2|1767311999|1767312000|1\n"
                               "3|1767312000|1767312050|1\n"
                               "4|1770681600|1770681620|0\n";
    struct run run = {0};
    assert_int_equal(copy(from, to, false, &run), -EEXIST);
    assert_int_equal(run.reports, 0);
    assert_int_equal(copy(from, to, true, &run), 0);
    assert_int_equal(run.days_written, 4); /* one of them is empty now */
    assert_int_equal(run.records_written, 4);
    expect_in(to, all_jobs, jobs);
    expect_in(to, all_records,
              "5|0|1767225640|5\n"
              "4711|1767225600|1767225620|4711\n"
              "4712|1767225600|1767225630|4712\n"
              "9|1767225601|1767225660|9\n"
              "2|1770681600|1770681621|2\n");
    run = (struct run){0};
    assert_int_equal(copy(from, to, true, &run), 0);
    assert_int_equal(run.days_written + run.records_written, 0);
    assert_int_equal(run.days, 3);
    /* A wrong value in the copy is corrected, too. */
    struct bj_db *db = db_open(to);
    db_exec(db, "UPDATE step SET cpus = 77 WHERE job IN (SELECT id FROM job"
                " WHERE CAST(jobid AS TEXT) = '2')");
    bj_db_close(db);
    run = (struct run){0};
    assert_int_equal(copy(from, to, true, &run), 0);
    assert_int_equal(run.days_written, 1);
    expect_in(to, "SELECT count(*) FROM step WHERE cpus = 77", "0\n");
    expect_in(to, all_jobs, jobs);
}

/* An update keeps the numbers of the jobs in the copy. */
static void test_update(void **state)
{
    struct fixture f, g;
    (void)state;
    NEED_SERVER;
    fixture_open(&f);
    fixture_open(&g);
    const char *pg = empty_server();
    fill_days(f.path);
    assert_int_equal(copy(f.path, pg, false, &(struct run){0}), 0);
    assert_int_equal(copy(pg, g.path, false, &(struct run){0}), 0);
    expect_in(g.path, "SELECT id, jobid FROM job ORDER BY id",
              "1|5\n2|1\n3|2\n4|3\n5|4\n");
    change(f.path);
    update(f.path, pg);
    update(pg, g.path);
    expect_in(g.path, "SELECT id, jobid FROM job ORDER BY id",
              "2|1\n3|2\n4|3\n5|4\n6|9\n");
    expect_in(g.path, record_numbers, "1|5\n2|4712\n3|4711\n4|2\n5|9\n");
    /* A copy that was written to, or a store that is not a copy, is not
     * overwritten. */
    put(g.path, BJ_SLICE("77"), SUBMIT, SUBMIT + 20);
    assert_int_equal(copy(pg, g.path, true, &(struct run){0}), -EEXIST);
    assert_int_equal(copy(pg, f.path, true, &(struct run){0}), -EEXIST);
    fixture_close(&f);
    fixture_close(&g);
}

/* Each table with partitions is copied by day, and no table is left out. */
static void test_tables(void **state)
{
    struct fixture f;
    (void)state;
    NEED_SERVER;
    fixture_open(&f);
    const char *pg = empty_server();
    put(f.path, BJ_SLICE("1"), SUBMIT, SUBMIT + 20);
    put_record(f.path, 1, SUBMIT, SUBMIT + 20);
    struct run run = {0};
    assert_int_equal(copy(f.path, pg, false, &run), 0);
    char text[64];
    snprintf(text, sizeof(text), "%d|%d\n", run.by_day, run.reports);
    /* without store_meta and job_month */
    expect_in(
        pg,
        "SELECT count(*) FILTER (WHERE relkind = 'p'), count(*) - 2 FROM"
        " pg_class WHERE relnamespace = 'public'::regnamespace AND relkind"
        " IN ('r', 'p') AND NOT relispartition",
        text);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests_name("statsdb_copy", tests, start, stop);
}
