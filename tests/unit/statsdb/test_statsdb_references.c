/* No row refers to a missing one: SQLite checks each transaction, except in
 * bulk mode. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/tables/retention.h"

#include <errno.h>

static int job(struct bj_upsert *u, unsigned id, const char *name,
               enum bj_job_state state, struct bj_err *err)
{
    char raw[24];
    struct bj_sched_job j;
    struct bj_job_step step;
    bj_sched_job_init(&j);
    bj_job_step_init(&step);
    snprintf(raw, sizeof(raw), "%u", id);
    j.jobid = bj_slice_str(raw);
    j.user = j.account = j.name = j.nodelist = j.reason = bj_slice_str(name);
    j.work_dir = BJ_SLICE("/home/x/y");
    j.uid = 1000;
    j.submit_sec = 1000 + id;
    j.start_sec = 1010 + id;
    j.end_sec = 1100 + id;
    j.state = state;
    j.comment = BJ_SLICE("c");
    step.step_id = BJ_SLICE("batch");
    step.name = bj_slice_str(name);
    step.state = BJ_STATE_COMPLETED;
    j.step = &step;
    j.steps = 1;
    return bj_upsert_job(u, BJ_SLICE("here"), &j, err);
}

/* Store a job in a transaction of its own. */
static int put(struct bj_upsert *u, unsigned id, const char *name,
               struct bj_err *err)
{
    *err = (struct bj_err){0};
    int r = bj_upsert_begin(u, err);
    if (r == 0)
        r = job(u, id, name, BJ_STATE_COMPLETED, err);
    if (r == 0)
        r = bj_upsert_commit(u, err);
    if (r < 0)
        bj_upsert_rollback(u);
    return r;
}

/* Remove rows that the program expects. */
static void remove_rows(struct bj_store *s, const char *sql)
{
    struct bj_err err = {0};
    bool was = number(s, "PRAGMA foreign_keys");
    assert_int_equal(bj_db_references(bj_store_db(s), false, &err), 0);
    assert_int_equal(bj_db_exec(bj_store_db(s), sql, &err), 0);
    assert_int_equal(bj_db_references(bj_store_db(s), was, &err), 0);
}

static const struct {
    const char *table, *remove;
} missing[] = {
    {"user", "DELETE FROM user WHERE name = 'ada'"},
    {"account", "DELETE FROM account WHERE name = 'ada'"},
    {"jobname", "DELETE FROM jobname WHERE text = 'ada'"},
    {"hosts", "DELETE FROM hosts WHERE text = 'ada'"},
    {"word", "DELETE FROM word WHERE text = 'ada'"},
    {"owner", "DELETE FROM owner"},
    {"assoc", "DELETE FROM assoc"},
};

/* A missing row is an error, nothing of the transaction is kept, and the next
 * transaction adds the row again. */
static void test_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
        struct fixture f;
        struct bj_err err = {0};
        fixture_open(&f);
        struct bj_store *s = store_open(&f);
        struct bj_upsert *u = upsert_open(s);
        assert_int_equal(put(u, 1, "ada", &err), 0);
        remove_rows(s,
                    "DELETE FROM step; DELETE FROM job_more; DELETE FROM "
                    "job; DELETE FROM rollup_usage; DELETE FROM derive_todo");
        if (strcmp(missing[i].table, "assoc") != 0)
            remove_rows(s, "DELETE FROM assoc");
        remove_rows(s, missing[i].remove);
        int r = put(u, 2, "ada", &err);
        print_message("# %s: %s\n", missing[i].table, err.msg);
        assert_int_equal(r, -EEXIST);
        assert_int_equal(number(s, "SELECT count(*) FROM job"), 0);
        assert_int_equal(put(u, 2, "ada", &err), 0);
        assert_int_equal(number(s, "SELECT count(*) FROM job"), 1);
        assert_int_equal(bj_db_check(bj_store_db(s), &err), 0);
        bj_upsert_free(u);
        bj_store_close(s);
        fixture_close(&f);
    }
}

/* All states have a row; a state without one is refused. */
static void test_states(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    for (unsigned i = 0; i < BJ_STATES; i++)
        assert_int_equal(job(u, i + 1, "ada", (enum bj_job_state)i, &err), 0);
    assert_int_equal(bj_upsert_commit(u, &err), 0);
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    int r = job(u, 99, "ada", BJ_STATES, &err);
    assert_int_equal(r < 0 ? r : bj_upsert_commit(u, &err), -EEXIST);
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

/* SQLite checks references again after bulk mode, even if bulk mode was not
 * switched off. */
static void test_checks_after_bulk(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    assert_int_equal(number(s, "PRAGMA foreign_keys"), 1);
    assert_int_equal(bj_upsert_bulk(u, true, &err), 0);
    assert_int_equal(number(s, "PRAGMA foreign_keys"), 0);
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    assert_int_equal(bj_upsert_bulk(u, false, &err), -EBUSY);
    bj_upsert_free(u);
    assert_int_equal(number(s, "PRAGMA foreign_keys"), 1);
    assert_int_equal(
        bj_db_exec(bj_store_db(s),
                   "INSERT INTO step(job, slot, state) VALUES(1, 1, 4)", &err),
        -EEXIST);
    bool more;
    assert_int_equal(bj_retention_step(s, 1, 10, &more, &err), 0);
    assert_int_equal(number(s, "PRAGMA foreign_keys"), 1);
    bj_store_close(s);
    fixture_close(&f);
}

/* Retention removes no row that another row refers to: a row of an unknown
 * table, or a step. */
static void test_retention(void **state)
{
    static const char *const tables[][2] = {
        {"CREATE TABLE later(job INT NOT NULL REFERENCES job)",
         "INSERT INTO later SELECT id FROM job WHERE jobid = 2"},
        {"CREATE TABLE later(record INT NOT NULL REFERENCES node_record)",
         "INSERT INTO host(name) VALUES('n');"
         "INSERT INTO node_record(cluster, jobid, host, slurm_node, start,"
         " \"end\") VALUES(1, 2, 1, 'n', 1000, 1010);"
         "INSERT INTO later SELECT id FROM node_record"},
        {"CREATE TRIGGER later AFTER DELETE ON step BEGIN INSERT INTO step(job,"
         " slot, state) VALUES(old.job, old.slot + 1, 4); END",
         "SELECT 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        struct fixture f;
        struct bj_err err = {0};
        fixture_open(&f);
        struct bj_store *s = store_open(&f);
        struct bj_upsert *u = upsert_open(s);
        for (unsigned k = 1; k <= 3; k++)
            assert_int_equal(put(u, k, "ada", &err), 0);
        for (int k = 0; k < 2; k++)
            assert_int_equal(bj_db_exec(bj_store_db(s), tables[i][k], &err), 0);
        bool more;
        assert_int_equal(bj_retention_step(s, 5000, 10, &more, &err), -EEXIST);
        assert_non_null(strstr(err.msg, "still refers to them"));
        assert_int_equal(number(s, "SELECT count(*) FROM job"), 3);
        assert_int_equal(number(s, "SELECT count(*) FROM step"), 3);
        assert_int_equal(number(s, "PRAGMA foreign_keys"), 1);
        assert_int_equal(bj_db_check(bj_store_db(s), &err), 0);
        bj_upsert_free(u);
        bj_store_close(s);
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_checks_after_bulk),
        cmocka_unit_test(test_retention),
    };
    return cmocka_run_group_tests_name("statsdb_references", tests, NULL, NULL);
}
