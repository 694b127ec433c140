/* Numbers of jobs: how they are computed, and, with a real PostgreSQL server,
 * that each is unique and a job keeps it. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/tables/job_number.h"
#include "tests/unit/statsdb/test_server.h"

enum { SUBMIT = 1767225600 }; /* 2026-01-01 */

/* Two job ids with the same hash (found by a script). */
#define ONE BJ_SLICE("6213[].pbs")
#define OTHER BJ_SLICE("9880[].pbs")

/* Computed by a script: (submit - 946684800) << 32 | cluster << 26 | id, where
 * the id may be 26 bits of FNV-1a, with its upper bits folded in. */
static void test_number(void **state)
{
    static const struct {
        const char *jobid;
        int64_t cluster, submit, number;
    } cases[] = {
        {"4711", 5, SUBMIT, 3524195901369225831},
        {"4711", 69, SUBMIT, 3524195901369225831},
        {"67108863", 5, SUBMIT, 3524195901436329983},
        {"67108864", 5, SUBMIT, 3524195901418366921},
        {"1", 1, 0, 67108865},
        {"1", 1, 946684799, 67108865},
        {"1", 1, 946684800, 67108865},
        {"1", 1, 946684801, 4362076161},
        {"1", 1, INT64_C(1) << 40, 9223372032626917377},
        {"007", 0, 0, 47920169},
        {"12[3].pbs", 0, 0, 18546867},
        {"6213[].pbs", 0, 0, 37977313},
        {"9880[].pbs", 0, 0, 37977313},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (bj_job_number_of(cases[i].cluster, bj_slice_str(cases[i].jobid),
                             cases[i].submit) != cases[i].number)
            fail_msg("%s", cases[i].jobid);
}

/* The next number belongs to the same second. */
static void test_next(void **state)
{
    (void)state;
    assert_true(bj_job_number_next(0) == 1);
    assert_true(bj_job_number_next(4294967294) == 4294967295);
    assert_true(bj_job_number_next(4294967295) == 0);
    assert_true(bj_job_number_next(INT64_MAX) == INT64_MAX - 4294967295);
}

/* --- a store in PostgreSQL -------------------------------------------------
 */

static struct bj_store *open_store(void)
{
    struct bj_store *s = NULL;
    struct bj_err err = {0};
    if (bj_store_open(&(struct bj_store_options){.path = empty_server()}, &s,
                      &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

/* Store a job; end_sec 0: it has not ended. */
static void put_sluid(struct bj_upsert *u, struct bj_slice jobid,
                      struct bj_slice sluid, uint64_t submit_sec,
                      uint64_t end_sec)
{
    struct bj_sched_job j;
    bj_sched_job_init(&j);
    j.jobid = jobid;
    j.sluid = sluid;
    j.user = BJ_SLICE("ada");
    j.submit_sec = submit_sec;
    j.start_sec = SUBMIT + 10;
    j.state = end_sec ? BJ_STATE_COMPLETED : BJ_STATE_RUNNING;
    if (end_sec)
        j.end_sec = end_sec;
    upsert_job(u, &j);
}

/* Store a job that was submitted at SUBMIT, without a SLUID. */
static void put(struct bj_upsert *u, struct bj_slice jobid, uint64_t end_sec)
{
    put_sluid(u, jobid, BJ_SLICE(""), SUBMIT, end_sec);
}

static const char numbers[] =
    "SELECT id - (SELECT min(id) FROM job), jobid FROM job ORDER BY id";

/* If the number of a job is taken, the job gets the next one and keeps it. */
static void test_taken(void **state)
{
    struct bj_err err = {0};
    (void)state;
    NEED_SERVER;
    struct bj_store *s = open_store();
    struct bj_upsert *u = upsert_open(s);
    put(u, ONE, SUBMIT + 20);
    put(u, OTHER, SUBMIT + 20);
    expect(s, numbers, "0|6213[].pbs\n1|9880[].pbs\n");
    put(u, OTHER, SUBMIT + 30);
    put(u, ONE, SUBMIT + 30);
    expect(s, numbers, "0|6213[].pbs\n1|9880[].pbs\n");
    expect(s, "SELECT \"end\", count(*) FROM job GROUP BY 1", "1767225630|2\n");
    /* It keeps that number when its own becomes free. */
    assert_int_equal(bj_db_exec(bj_store_db(s),
                                "DELETE FROM job WHERE jobid = '6213[].pbs'",
                                &err),
                     0);
    put(u, BJ_SLICE("1"), SUBMIT + 20);
    put(u, OTHER, SUBMIT + 40);
    expect(s, "SELECT jobid, \"end\" FROM job ORDER BY jobid",
           "1|1767225620\n9880[].pbs|1767225640\n");
    assert_int_equal(bj_upsert_counts(u)->jobs_new, 3);
    bj_upsert_free(u);
    bj_store_close(s);
}

/* A job that is found by its SLUID keeps the submit time that its number
 * contains, so that it is found by its key. */
static void test_sluid(void **state)
{
    static const struct bj_slice sluid = {"s1234567890123", 14};
    (void)state;
    NEED_SERVER;
    struct bj_store *s = open_store();
    struct bj_upsert *u = upsert_open(s);
    put_sluid(u, BJ_SLICE("5"), sluid, SUBMIT, 0);
    put_sluid(u, BJ_SLICE("5"), sluid, SUBMIT + 100, SUBMIT + 200);
    expect(s, "SELECT submit, \"end\", id >> 32 FROM job",
           "1767225600|1767225800|820540800\n");
    bj_upsert_free(u);
    bj_store_close(s);
}

/* Ended jobs are listed to be derived, whatever their number. */
static void test_listed(void **state)
{
    (void)state;
    NEED_SERVER;
    struct bj_store *s = open_store();
    struct bj_upsert *u = upsert_open(s);
    static const char listed[] = "SELECT jobid FROM job JOIN derive_todo AS d"
                                 " ON d.job = id ORDER BY jobid";
    put(u, BJ_SLICE("9"), SUBMIT + 20);
    put(u, BJ_SLICE("3"), 0);
    expect(s, listed, "9\n");
    put(u, BJ_SLICE("3"), SUBMIT + 20);
    expect(s, listed, "3\n9\n");
    bj_upsert_free(u);
    bj_store_close(s);
}

/* --- references ------------------------------------------------------------
 */

/* Each column that refers to jobs is named "job". */
static void test_columns(void **state)
{
    struct fixture f;
    (void)state;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    expect(s,
           "SELECT t.name, k.\"from\" FROM sqlite_schema AS t,"
           " pragma_foreign_key_list(t.name) AS k WHERE t.type = 'table' AND"
           " k.\"table\" = 'job' AND k.\"from\" != 'job'",
           "");
    bj_store_close(s);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number), cmocka_unit_test(test_next),
        cmocka_unit_test(test_taken),  cmocka_unit_test(test_sluid),
        cmocka_unit_test(test_listed), cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests_name("statsdb_job_number", tests, start,
                                       stop);
}
