/* Division of a source's reply into transactions. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/source/source_sacct.h"

struct calls {
    struct bj_db *db;
    unsigned n;
};

static void on_progress(void *ctx, const struct bj_sacct_counts *counts)
{
    struct calls *t = ctx;
    (void)counts;
    assert_false(bj_db_in_transaction(t->db)); /* called between transactions */
    t->n++;
}

/* 7 jobs of 3 lines each (the job and two steps): a job begins a new
 * transaction if the current one has at least batch_lines lines. */
static void check(uint64_t batch_lines, unsigned commits, uint64_t left)
{
    struct fixture f;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    struct calls calls = {.db = bj_store_db(s)};
    const struct bj_source_run run = {.upsert = u,
                                      .batch_lines = batch_lines,
                                      .ctx = &calls,
                                      .progress = on_progress};
    const struct bj_sacct_counts counts = {0};
    uint64_t lines = 0;
    assert_int_equal(bj_upsert_begin(u, NULL), 0);
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(bj_source_room(&run, &lines, 3, &counts, NULL), 0);
        assert_true(bj_db_in_transaction(calls.db));
    }
    assert_int_equal(calls.n, commits);
    assert_int_equal(lines, left);
    assert_int_equal(bj_upsert_commit(u, NULL), 0);
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

static void test_batches(void **state)
{
    (void)state;
    check(0, 0, 21);
    check(1, 6, 3);
    check(6, 3, 3);
    check(7, 2, 3);
    check(100, 0, 21);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
