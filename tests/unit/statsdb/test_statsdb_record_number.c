/* Final records in a real PostgreSQL server: their numbers, partitions by the
 * month of their start, and removal. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/record/record.h"
#include "statsdb/tables/fragment.h"
#include "statsdb/tables/record_month.h"
#include "statsdb/tables/record_rows.h"
#include "statsdb/tables/retention.h"
#include "tests/unit/statsdb/test_server.h"

#include <errno.h>

enum { START = 1767225600 }; /* 2026-01-01 */
/* 2026-01-10, 2026-02-10, 2026-03-10 */
enum { JANUARY = 1768003200, FEBRUARY = 1770681600, MARCH = 1773100800 };

/* Two job ids with the same hash on the first host of the first cluster (found
 * by a script). */
enum { ONE = 132063, OTHER = 144095 };

/* Computed by a script. h is FNV-1a of cluster and host (8 bytes each, the
 * lowest one first), jobid, one unit 256, slurm_node; the number is (start -
 * 946684800) << 32 | the lower 32 bits of (h ^ h >> 32). */
static void test_number(void **state)
{
    static const struct {
        struct bj_record_key key;
        int64_t number;
    } cases[] = {
        {{1, 1, START, {"4711", 4}, {"", 0}}, INT64_C(3524195901566049697)},
        {{2, 1, START, {"4711", 4}, {"", 0}}, INT64_C(3524195901783541633)},
        {{1, 2, START, {"4711", 4}, {"", 0}}, INT64_C(3524195903560635449)},
        {{1, 1, START, {"4712", 4}, {"", 0}}, INT64_C(3524195901564638874)},
        {{1, 1, START, {"4711", 4}, {"n1", 2}}, INT64_C(3524195902763507776)},
        {{1, 1, START, {"4711n", 5}, {"1", 1}}, INT64_C(3524195903185318518)},
        {{1, 1, 0, {"4711", 4}, {"", 0}}, 532372897},
        {{1, 1, 946684799, {"4711", 4}, {"", 0}}, 532372897},
        {{1, 1, 946684801, {"4711", 4}, {"", 0}}, 4827340193},
        {{1, 1, INT64_C(1) << 40, {"4711", 4}, {"", 0}},
         INT64_C(9223372033092181409)},
        {{300, 70000, START, {"1[].pbs", 7}, {"a", 1}},
         INT64_C(3524195904301751074)},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (bj_record_number_of(&cases[i].key) != cases[i].number)
            fail_msg("case %zu", i);
}

/* --- a store in PostgreSQL -------------------------------------------------
 */

struct record_store {
    struct bj_store *s;
    struct bj_records *r;
};

static void record_store_open(struct record_store *w)
{
    struct bj_err err = {0};
    if (bj_store_open(&(struct bj_store_options){.path = empty_server()}, &w->s,
                      &err) < 0 ||
        bj_records_new(w->s, &w->r, &err) < 0)
        fail_msg("%s", err.msg);
}

static void record_store_close(struct record_store *w)
{
    bj_records_free(w->r);
    bj_store_close(w->s);
}

static void begin(struct record_store *w)
{
    assert_int_equal(bj_records_begin(w->r, NULL), 0);
}

static void commit(struct record_store *w)
{
    struct bj_err err = {0};
    if (bj_records_commit(w->r, &err) < 0)
        fail_msg("%s", err.msg);
}

/* Add a record to the transaction; start 0: unknown. */
static void add(struct record_store *w, int jobid, int64_t start, int64_t end,
                const char *rest)
{
    char text[600], begins[40] = "";
    struct bj_err err = {0};
    if (start)
        snprintf(begins, sizeof(begins), ",\"start\":%lld", (long long)start);
    snprintf(text, sizeof(text),
             "{\"format\":1,\"cluster\":\"here\",\"host\":\"n1\",\"jobid\":"
             "\"%d\"%s,\"end\":%lld%s}",
             jobid, begins, (long long)end, rest);
    if (bj_record_put(w->r, BJ_SLICE(""), "x", bj_slice_str(text), &err) < 0)
        fail_msg("%s", err.msg);
}

static void put(struct record_store *w, int jobid, int64_t start, int64_t end,
                const char *rest)
{
    begin(w);
    add(w, jobid, start, end, rest);
    commit(w);
}

static const char numbers[] =
    "SELECT id - 3524195904447079311, jobid, cpus FROM node_record ORDER BY id";

/* If the number of a record is taken, the record gets the next one and keeps
 * it. */
static void test_taken(void **state)
{
    struct record_store w;
    (void)state;
    NEED_SERVER;
    record_store_open(&w);
    put(&w, ONE, START, START + 20, "");
    put(&w, OTHER, START, START + 30, ",\"cpus\":4");
    expect(w.s, numbers, "0|132063|\n1|144095|4\n");
    put(&w, OTHER, START, START + 30, ",\"uid\":7");
    put(&w, ONE, START, START + 20, ",\"cpus\":2");
    expect(w.s, numbers, "0|132063|2\n1|144095|4\n");
    /* It keeps that number when its own becomes free. */
    assert_int_equal(bj_db_exec(bj_store_db(w.s),
                                "DELETE FROM node_record WHERE cpus = 2", NULL),
                     0);
    put(&w, OTHER, START, START + 30, ",\"cpus\":5");
    expect(w.s, numbers, "1|144095|5\n");
    record_store_close(&w);
}

static const char rest[] =
    ",\"energy_uj\":{\"usage\":{\"cpu\":5,\"dram\":6,\"cpu\":7}},"
    "\"devices\":{\"sda\":{\"read_bytes\":8}},\"gpus\":{\"GPU-1\":{\"index\":"
    "\"\",\"model\":\"A\",\"held_usec\":9,\"estimated\":true}}";

/* Rows of energy, devices and GPUs are written with their record, and updated
 * if it is reported again. */
static void test_rows(void **state)
{
    static const char energy[] =
        "SELECT r.jobid, c.text, microjoules FROM node_energy JOIN word AS c ON"
        " c.id = component JOIN node_record AS r ON r.id = record ORDER BY 1, "
        "2";
    struct record_store w;
    (void)state;
    NEED_SERVER;
    record_store_open(&w);
    begin(&w);
    add(&w, 1, JANUARY, JANUARY + 9, rest);
    add(&w, 2, 0, JANUARY + 9, rest);
    add(&w, 1, JANUARY, JANUARY + 9,
        ",\"energy_uj\":{\"usage\":{\"dram\":60}},\"devices\":{\"sda\":{}}");
    commit(&w);
    expect(w.s, energy, "1|cpu|7\n1|dram|60\n2|cpu|7\n2|dram|6\n");
    expect(w.s,
           "SELECT r.jobid, device, d.read_bytes FROM node_device AS d JOIN"
           " node_record AS r ON r.id = record ORDER BY 1",
           "1|sda|\n2|sda|8\n");
    expect(w.s,
           "SELECT DISTINCT gpu, \"index\", m.text, held_usec, idle_usec,"
           " estimated FROM node_gpu JOIN word AS m ON m.id = model",
           "GPU-1||A|9||1\n");
    put(&w, 2, 0, JANUARY + 9, ",\"energy_uj\":{\"usage\":{\"cpu\":70}}");
    expect(w.s, energy, "1|cpu|7\n1|dram|60\n2|cpu|70\n2|dram|6\n");
    expect(w.s,
           "SELECT DISTINCT tableoid::regclass::text FROM node_gpu ORDER BY 1",
           "node_gpu_2026_01\nnode_gpu_unknown\n");
    record_store_close(&w);
}

/* More rows than one statement writes. */
static void test_many(void **state)
{
    struct record_store w;
    (void)state;
    NEED_SERVER;
    record_store_open(&w);
    begin(&w);
    for (int i = 1; i <= 2600; i++)
        add(&w, i, JANUARY, JANUARY + i, rest);
    commit(&w);
    expect(w.s,
           "SELECT count(*), count(DISTINCT record), sum(microjoules) FROM"
           " node_energy",
           "5200|2600|33800\n");
    record_store_close(&w);
}

static void test_rolled_back(void **state)
{
    static const char rows[] =
        "SELECT (SELECT count(*) FROM node_record), (SELECT count(*) FROM"
        " node_energy), (SELECT count(*) FROM pg_inherits WHERE inhparent ="
        " 'node_record'::regclass)";
    struct record_store w;
    (void)state;
    NEED_SERVER;
    record_store_open(&w);
    begin(&w);
    add(&w, 1, JANUARY, JANUARY + 9, rest);
    bj_records_rollback(w.r);
    begin(&w);
    commit(&w);
    expect(w.s, rows, "0|0|0\n");
    put(&w, 2, JANUARY, JANUARY + 9, rest);
    expect(w.s, rows, "1|2|1\n");
    record_store_close(&w);
}

/* --- months ----------------------------------------------------------------
 */

/* The months for which the tables have partitions. */
static const char months[] =
    "SELECT DISTINCT string_agg(substring(c.relname FROM '\\d.*|unknown'), ' '"
    " ORDER BY c.relname) FROM pg_inherits AS i JOIN pg_class AS c ON c.oid ="
    " i.inhrelid AND c.relkind = 'r' WHERE i.inhparent IN"
    " ('node_record'::regclass, 'node_energy'::regclass,"
    " 'node_device'::regclass, 'node_gpu'::regclass) GROUP BY i.inhparent";

static void test_created(void **state)
{
    struct record_store w;
    (void)state;
    NEED_SERVER;
    record_store_open(&w);
    put(&w, 1, JANUARY, JANUARY + 20, rest);
    put(&w, 2, FEBRUARY, MARCH, rest);
    put(&w, 3, 0, MARCH, rest);
    expect(w.s, months, "2026_01 2026_02 unknown\n");
    expect(w.s,
           "SELECT tableoid::regclass::text, string_agg(jobid, ' ') FROM"
           " node_record GROUP BY 1 ORDER BY 1",
           "node_record_2026_01|1\nnode_record_2026_02|2\n"
           "node_record_unknown|3\n");
    begin(&w);
    assert_int_equal(bj_record_months_ahead(bj_store_db(w.s), MARCH, NULL), 0);
    commit(&w);
    expect(w.s, months, "2026_01 2026_02 2026_03 2026_04 2026_05 unknown\n");
    record_store_close(&w);
}

static void remove_before(struct record_store *w, int64_t sec, bool more)
{
    struct bj_err err = {0};
    bool got;
    if (bj_retention_step(w->s, sec, 100, &got, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(got, more);
}

static const char left[] =
    "SELECT (SELECT string_agg(jobid, ' ' ORDER BY jobid) FROM node_record),"
    " (SELECT count(*) FROM node_energy), (SELECT count(*) FROM node_device),"
    " (SELECT count(*) FROM node_gpu), (SELECT count(*) FROM derive_record)";

static void test_retention(void **state)
{
    struct record_store w;
    (void)state;
    NEED_SERVER;
    record_store_open(&w);
    put(&w, 1, JANUARY, JANUARY + 20, rest);
    put(&w, 2, JANUARY, JANUARY + 30, rest);
    put(&w, 3, FEBRUARY, FEBRUARY + 20, rest);
    put(&w, 4, FEBRUARY, MARCH + 20, rest);
    put(&w, 5, 0, JANUARY + 20, rest);
    expect(w.s, left, "1 2 3 4 5|10|5|5|5\n");
    /* One of two records of January is old, so that its partition stays. */
    remove_before(&w, JANUARY + 25, false);
    expect(w.s, left, "2 3 4|6|3|3|3\n");
    expect(w.s, months, "2026_01 2026_02 unknown\n");
    /* January is dropped as a whole; one record of February is not old. */
    remove_before(&w, MARCH, true);
    expect(w.s, left, "3 4|4|2|2|2\n");
    expect(w.s, months, "2026_02 unknown\n");
    remove_before(&w, MARCH, false);
    expect(w.s, left, "4|2|1|1|1\n");
    expect(w.s, months, "2026_02 unknown\n");
    /* A dropped month is created again. */
    put(&w, 6, JANUARY, MARCH + 30, rest);
    expect(w.s, left, "4 6|4|2|2|2\n");
    remove_before(&w, MARCH + 40 * 86400, true);
    remove_before(&w, MARCH + 40 * 86400, true);
    remove_before(&w, MARCH + 40 * 86400, false);
    expect(w.s, left, "|0|0|0|0\n");
    expect(w.s, months, "unknown\n");
    record_store_close(&w);
}

/* While a query runs, partitions can be created, but not dropped. */
static void test_readers(void **state)
{
    struct record_store w;
    struct bj_err err = {0};
    bool more;
    (void)state;
    NEED_SERVER;
    record_store_open(&w);
    put(&w, 1, JANUARY, JANUARY + 20, rest);
    struct bj_db *reader = db_open(server.url);
    db_exec(reader,
            "BEGIN; DO $$ BEGIN PERFORM count(*) FROM node_record; END $$");
    put(&w, 2, FEBRUARY, FEBRUARY + 20, rest);
    assert_int_equal(bj_retention_step(w.s, FEBRUARY, 100, &more, &err),
                     -EBUSY);
    expect(w.s, left, "1 2|4|2|2|2\n");
    db_exec(reader, "COMMIT");
    remove_before(&w, FEBRUARY, true);
    expect(w.s, left, "2|2|1|1|1\n");
    bj_db_close(reader);
    record_store_close(&w);
}

/* --- records of a job ------------------------------------------------------
 */

static void put_job(struct record_store *w, const char *jobid, uint64_t submit,
                    uint64_t start, uint64_t end)
{
    struct bj_err err = {0};
    struct bj_sched_job j;
    struct bj_upsert *u = upsert_open(w->s);
    bj_sched_job_init(&j);
    j.jobid = bj_slice_str(jobid);
    j.submit_sec = submit;
    j.start_sec = start;
    j.end_sec = end;
    j.state = BJ_STATE_COMPLETED;
    if (bj_upsert_begin(u, &err) < 0 ||
        bj_upsert_job(u, BJ_SLICE("here"), &j, &err) < 0 ||
        bj_upsert_commit(u, &err) < 0)
        fail_msg("%s", err.msg);
    bj_upsert_free(u);
}

/* The start of a record is at most a day before the submit time or after the
 * end of its job, as clocks may differ; a resized job, which has a later submit
 * time, also has earlier records. */
static void test_of_job(void **state)
{
    static const char starts[] =
        "SELECT j.jobid, string_agg(CAST(n.start - 1768003200 AS text), ' '"
        " ORDER BY n.start) FROM job AS j JOIN node_record AS n "
        "ON " BJ_SQL_RECORD_OF("n", "j") " GROUP BY 1 ORDER BY 1";
    static const int64_t at[] = {0,
                                 JANUARY - 40 * 86400,
                                 JANUARY - 86401,
                                 JANUARY - 86400,
                                 JANUARY + 10,
                                 JANUARY + 1000 + 86399,
                                 JANUARY + 1000 + 86400};
    struct record_store w;
    (void)state;
    NEED_SERVER;
    record_store_open(&w);
    put_job(&w, "1", JANUARY, JANUARY + 10, JANUARY + 1000);
    put_job(&w, "2", JANUARY, JANUARY, JANUARY + 1000);
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        put(&w, 1, at[i], JANUARY + 1000, "");
        put(&w, 2, at[i], JANUARY + 1000, "");
    }
    put_job(&w, "4", 0, JANUARY + 10, JANUARY + 1000);
    put(&w, 4, JANUARY + 10, JANUARY + 1000, "");
    expect(w.s, starts,
           "1|-1768003200 -86400 10 87399\n"
           "2|-1768003200 -3456000 -86401 -86400 10 87399\n"
           "4|10\n");
    record_store_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number),      cmocka_unit_test(test_taken),
        cmocka_unit_test(test_rows),        cmocka_unit_test(test_many),
        cmocka_unit_test(test_rolled_back), cmocka_unit_test(test_created),
        cmocka_unit_test(test_retention),   cmocka_unit_test(test_readers),
        cmocka_unit_test(test_of_job),
    };
    return cmocka_run_group_tests_name("statsdb_record_number", tests, start,
                                       stop);
}
