/* Partitions of jobs by month, with a real PostgreSQL server: created when
 * needed, dropped when all their jobs are old. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/tables/job_month.h"
#include "statsdb/tables/retention.h"
#include "tests/unit/statsdb/test_server.h"

#include <errno.h>

/* 2026-01-10, 2026-02-10, 2026-03-10 */
enum { JANUARY = 1768003200, FEBRUARY = 1770681600, MARCH = 1773100800 };

static struct bj_store *open_store(void)
{
    struct bj_store *s = NULL;
    struct bj_err err = {0};
    if (bj_store_open(&(struct bj_store_options){.path = empty_server()}, &s,
                      &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

/* Store a job; a time of 0 is unknown. */
static void put(struct bj_upsert *u, const char *jobid, uint64_t submit,
                uint64_t start, uint64_t end)
{
    struct bj_sched_job j;
    struct bj_job_step step;
    bj_sched_job_init(&j);
    bj_job_step_init(&step);
    j.jobid = bj_slice_str(jobid);
    j.user = BJ_SLICE("ada");
    j.submit_sec = submit ? submit : BJ_ABSENT;
    j.start_sec = start ? start : BJ_ABSENT;
    j.end_sec = end ? end : BJ_ABSENT;
    j.state = end     ? BJ_STATE_COMPLETED
              : start ? BJ_STATE_RUNNING
                      : BJ_STATE_PENDING;
    j.comment = BJ_SLICE("c");
    step.step_id = BJ_SLICE("batch");
    step.state = j.state;
    j.step = &step;
    j.steps = 1;
    upsert_job(u, &j);
}

/* The bounds were computed by a script. */
static void test_month_of(void **state)
{
    static const struct {
        int64_t number;
        int month;
    } cases[] = {
        {0, 0},
        {4294967295, 0},
        {4294967296, 1},
        {3524195901033676800, 313}, /* 2026-01-01 */
        {3524195901033676799, 312},
        {3535699541439283200, 314}, /* 2026-02-01 */
        {3535699541439283199, 313},
        {INT64_MAX, 817},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(bj_month_of(cases[i].number), cases[i].month);
}

static const char partitions[] =
    "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_class AS c"
    " JOIN pg_inherits AS i ON i.inhrelid = c.oid WHERE c.relkind = 'r' AND"
    " i.inhparent = 'step'::regclass ORDER BY 1";

static void test_created(void **state)
{
    (void)state;
    NEED_SERVER;
    struct bj_store *s = open_store();
    struct bj_upsert *u = upsert_open(s);
    expect(s, partitions, "");
    put(u, "1", JANUARY, JANUARY + 10, JANUARY + 20);
    put(u, "2", FEBRUARY, 0, 0);
    put(u, "3", 0, FEBRUARY, 0);
    put(u, "4", UINT64_C(5000000000), 0, 0);
    put(u, "5", JANUARY + 1, JANUARY + 2, JANUARY + 3);
    expect(s, partitions,
           "step_2026_01|FOR VALUES FROM ('3524195901033676800') TO"
           " ('3535699541439283200')\n"
           "step_2026_02|FOR VALUES FROM ('3535699541439283200') TO"
           " ('3546089926321766400')\n"
           "step_2068_01|FOR VALUES FROM ('9216642475936972800') TO"
           " (MAXVALUE)\n"
           "step_unknown|FOR VALUES FROM (MINVALUE) TO ('4294967296')\n");
    expect(s,
           "SELECT tableoid::regclass::text, count(*) FROM job GROUP BY 1"
           " ORDER BY 1",
           "job_2026_01|2\njob_2026_02|1\njob_2068_01|1\njob_unknown|1\n");
    /* All tables of jobs have the same partitions, those of records none. */
    expect(s,
           "SELECT n, count(*) FROM (SELECT count(*) AS n FROM pg_inherits AS i"
           " JOIN pg_class AS c ON c.oid = i.inhparent AND c.relkind = 'p'"
           " GROUP BY c.oid) AS t GROUP BY n ORDER BY n",
           "4|11\n");
    bj_upsert_free(u);
    bj_store_close(s);
}

static void ahead(struct bj_store *s, int64_t now_sec)
{
    struct bj_err err = {0};
    assert_int_equal(bj_store_begin(s, &err), 0);
    assert_int_equal(bj_job_months_ahead(bj_store_db(s), now_sec, &err), 0);
    assert_int_equal(bj_store_commit(s, &err), 0);
}

static void test_ahead(void **state)
{
    (void)state;
    NEED_SERVER;
    struct bj_store *s = open_store();
    ahead(s, JANUARY - 15 * 86400);
    ahead(s, JANUARY - 15 * 86400);
    expect(s,
           "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent ="
           " 'job'::regclass ORDER BY 1",
           "job_2025_12\njob_2026_01\njob_2026_02\n");
    bj_store_close(s);
}

/* The time range of a month only grows. */
static void test_times(void **state)
{
    static const char times[] =
        "SELECT month, at_from, at_upto, nullif(end_upto, 9223372036854775807)"
        " FROM job_month ORDER BY month";
    (void)state;
    NEED_SERVER;
    struct bj_store *s = open_store();
    struct bj_upsert *u = upsert_open(s);
    put(u, "1", JANUARY, 0, 0);
    expect(s, times, "313|1768003200|1768003200|\n");
    put(u, "1", JANUARY, FEBRUARY, 0);
    put(u, "2", JANUARY, JANUARY + 10, JANUARY + 20);
    put(u, "2", JANUARY, JANUARY + 5, JANUARY + 20);
    put(u, "3", FEBRUARY, FEBRUARY + 1, FEBRUARY + 2);
    expect(s, times,
           "313|1768003200|1770681600|\n"
           "314|1770681601|1770681601|1770681602\n");
    /* The latest end is determined when no job is open. */
    ahead(s, MARCH);
    expect(s, times,
           "313|1768003200|1770681600|\n"
           "314|1770681601|1770681601|1770681602\n");
    put(u, "1", JANUARY, FEBRUARY, FEBRUARY + 9);
    ahead(s, JANUARY);
    expect(s, times,
           "313|1768003200|1770681600|\n"
           "314|1770681601|1770681601|1770681602\n");
    ahead(s, MARCH);
    expect(s, times,
           "313|1768003200|1770681600|1770681609\n"
           "314|1770681601|1770681601|1770681602\n");
    bj_upsert_free(u);
    bj_store_close(s);
}

static int remove_before(struct bj_store *s, int64_t sec, bool *more)
{
    struct bj_err err = {0};
    int r = bj_retention_step(s, sec, 100, more, &err);
    if (r < 0)
        fail_msg("%s", err.msg);
    return r;
}

static const char left[] =
    "SELECT (SELECT string_agg(inhrelid::regclass::text, ' ' ORDER BY "
    "inhrelid::regclass::text) FROM"
    " pg_inherits WHERE inhparent = 'step'::regclass), (SELECT"
    " string_agg(jobid, ' ' ORDER BY jobid) FROM job), (SELECT count(*) FROM"
    " step), (SELECT count(*) FROM job_more), (SELECT count(*) FROM"
    " derive_todo), (SELECT sum(jobs_ended) FROM rollup_day)";

static void test_retention(void **state)
{
    bool more;
    (void)state;
    NEED_SERVER;
    struct bj_store *s = open_store();
    struct bj_upsert *u = upsert_open(s);
    put(u, "1", JANUARY, JANUARY + 10, JANUARY + 20);
    put(u, "2", JANUARY, JANUARY + 10, JANUARY + 30);
    put(u, "3", FEBRUARY, FEBRUARY + 10, FEBRUARY + 20);
    put(u, "4", FEBRUARY, FEBRUARY + 10, MARCH + 20);
    put(u, "5", 0, JANUARY, JANUARY + 20);
    expect(s, left,
           "step_2026_01 step_2026_02 step_unknown|1 2 3 4 5|5|5|5|5\n");
    /* One of two jobs of January is old, so that its partition stays. */
    assert_int_equal(remove_before(s, JANUARY + 25, &more), 2);
    assert_false(more);
    expect(s, left, "step_2026_01 step_2026_02 step_unknown|2 3 4|3|3|3|5\n");
    /* January is dropped as a whole; one job of February is not old. */
    assert_int_equal(remove_before(s, MARCH, &more), 1);
    assert_true(more);
    expect(s, left, "step_2026_02 step_unknown|3 4|2|2|2|5\n");
    assert_int_equal(remove_before(s, MARCH, &more), 1);
    assert_false(more);
    expect(s, left, "step_2026_02 step_unknown|4|1|1|1|5\n");
    /* A removed job is not imported again; a job that ended later is. */
    put(u, "1", JANUARY, JANUARY + 10, JANUARY + 20);
    expect(s, left, "step_2026_02 step_unknown|4|1|1|1|5\n");
    put(u, "6", JANUARY, JANUARY + 10, MARCH + 20);
    expect(s, left, "step_2026_01 step_2026_02 step_unknown|4 6|2|2|2|6\n");
    /* An open job keeps its partition. */
    put(u, "7", FEBRUARY, FEBRUARY + 10, 0);
    assert_int_equal(remove_before(s, MARCH + 40 * 86400, &more), 1);
    assert_int_equal(remove_before(s, MARCH + 40 * 86400, &more), 1);
    expect(s, left, "step_2026_02 step_unknown|7|1|1|0|6\n");
    expect(s, "SELECT month FROM job_month ORDER BY month", "0\n314\n");
    bj_upsert_free(u);
    bj_store_close(s);
}

/* While a long query runs, partitions can be created, but not dropped. */
static void test_readers(void **state)
{
    bool more;
    struct bj_err err = {0};
    (void)state;
    NEED_SERVER;
    struct bj_store *s = open_store();
    struct bj_upsert *u = upsert_open(s);
    put(u, "1", JANUARY, JANUARY + 10, JANUARY + 20);
    struct bj_db *reader = db_open(server.url);
    db_exec(reader, "BEGIN; DO $$ BEGIN PERFORM count(*) FROM job; END $$");
    put(u, "2", FEBRUARY, FEBRUARY + 10, FEBRUARY + 20);
    expect(s, left, "step_2026_01 step_2026_02|1 2|2|2|2|2\n");
    assert_int_equal(bj_retention_step(s, FEBRUARY, 100, &more, &err), -EBUSY);
    expect(s, left, "step_2026_01 step_2026_02|1 2|2|2|2|2\n");
    db_exec(reader, "COMMIT");
    assert_int_equal(remove_before(s, FEBRUARY, &more), 1);
    expect(s, left, "step_2026_02|2|1|1|1|2\n");
    bj_db_close(reader);
    bj_upsert_free(u);
    bj_store_close(s);
}

/* Requirements for distribution over servers: each unique key of a partitioned
 * table contains the partition column, no foreign key refers to the table, and
 * no sequence numbers its rows. */
static void test_schema(void **state)
{
    (void)state;
    NEED_SERVER;
    struct bj_store *s = open_store();
    expect(s,
           "SELECT i.indexrelid::regclass FROM pg_partitioned_table AS p JOIN"
           " pg_index AS i ON i.indrelid = p.partrelid AND i.indisunique WHERE"
           " NOT i.indkey::int[] @> ARRAY[p.partattrs[0]::int]",
           "");
    expect(s, "SELECT conname FROM pg_constraint WHERE contype = 'f'", "");
    expect(s,
           "SELECT c.relname FROM pg_partitioned_table AS p JOIN pg_class AS c"
           " ON c.oid = p.partrelid JOIN pg_attribute AS a ON a.attrelid ="
           " c.oid WHERE NOT a.attisdropped AND (a.attidentity <> '' OR"
           " pg_get_serial_sequence(c.relname, a.attname) IS NOT NULL)",
           "");
    /* Each is partitioned by the number of the job, or of the final record. */
    expect(s,
           "SELECT DISTINCT a.attname FROM pg_partitioned_table AS p JOIN"
           " pg_attribute AS a ON a.attrelid = p.partrelid AND a.attnum ="
           " p.partattrs[0] ORDER BY 1",
           "id\njob\nrecord\n");
    bj_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_month_of),  cmocka_unit_test(test_created),
        cmocka_unit_test(test_ahead),     cmocka_unit_test(test_times),
        cmocka_unit_test(test_retention), cmocka_unit_test(test_readers),
        cmocka_unit_test(test_schema),
    };
    return cmocka_run_group_tests_name("statsdb_job_month", tests, start, stop);
}
