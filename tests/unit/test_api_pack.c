/* Rows of SQLite as one value. */
#include "apiserver/pack.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those above */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

enum { VALUES = 9 };

/* What SQL makes of "bj_pack(...)" and what has to come out. */
static const char expr[] =
    "bj_pack(1, NULL, -9223372036854775808, -9223372036854775807,"
    " 9223372036854775807, '', 'text', x'00414200', 2.5)";

static const struct {
    int64_t number;
    const char *text;
    size_t n;
} want[VALUES] = {{1, NULL, 0},
                  {BJ_SQL_NULL, NULL, 0},
                  /* the store has no such number: it is its NULL */
                  {INT64_MIN, NULL, 0},
                  {BJ_SQL_TEXT, "-9223372036854775807", 20},
                  {INT64_MAX, NULL, 0},
                  {BJ_SQL_TEXT, "", 0},
                  {BJ_SQL_TEXT, "text", 4},
                  {BJ_SQL_TEXT, "\0AB", 4},
                  {BJ_SQL_TEXT, "2.5", 3}};

static struct sqlite3 *open_db(void)
{
    struct sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(bj_pack_install(db), SQLITE_OK);
    return db;
}

static struct sqlite3_stmt *ask(struct sqlite3 *db, const char *sql)
{
    struct sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    return st;
}

static struct bj_slice blob_of(struct sqlite3_stmt *st)
{
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    const char *p = sqlite3_column_blob(st, 0);
    return (struct bj_slice){p, (size_t)sqlite3_column_bytes(st, 0)};
}

static void test_values(void **state)
{
    struct sqlite3 *db = open_db();
    int64_t number[VALUES];
    struct bj_slice text[VALUES];
    char sql[300];
    (void)state;
    snprintf(sql, sizeof(sql), "SELECT %s", expr);
    struct sqlite3_stmt *st = ask(db, sql);
    struct bj_slice blob = blob_of(st);
    assert_true(bj_pack_read(blob, VALUES, number, text));
    for (size_t i = 0; i < VALUES; i++) {
        assert_true(number[i] == want[i].number);
        if (number[i] != BJ_SQL_TEXT)
            continue;
        assert_int_equal(text[i].n, want[i].n);
        assert_memory_equal(text[i].p, want[i].text, want[i].n);
    }
    /* Neither a part of it, nor more or fewer values than there are. */
    for (size_t n = 0; n < blob.n; n++)
        assert_false(
            bj_pack_read((struct bj_slice){blob.p, n}, VALUES, number, text));
    assert_false(bj_pack_read(blob, VALUES - 1, number, text));
    sqlite3_finalize(st);
    sqlite3_close(db);
}

/* Where SQLite sorts, it makes all rows first: each is as it was made. */
static void test_sorted(void **state)
{
    struct sqlite3 *db = open_db();
    (void)state;
    struct sqlite3_stmt *st =
        ask(db, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c"
                " WHERE n < 500) SELECT bj_pack(n, 'row ' || n) FROM c ORDER BY"
                " -n");
    for (int64_t n = 500; n > 0; n--) {
        int64_t number[2];
        struct bj_slice text[2];
        char row[20];
        int len = snprintf(row, sizeof(row), "row %d", (int)n);
        assert_true(bj_pack_read(blob_of(st), 2, number, text));
        assert_true(number[0] == n);
        assert_int_equal(text[1].n, len);
        assert_memory_equal(text[1].p, row, (size_t)len);
    }
    sqlite3_finalize(st);
    sqlite3_close(db);
}

/* As many values as are promised, and what happens with more. */
static void test_many(void **state)
{
    struct sqlite3 *db = open_db();
    (void)state;
    for (unsigned n = BJ_PACK_VALUES; n <= BJ_PACK_VALUES + 1; n++) {
        int64_t number[BJ_PACK_VALUES + 1];
        struct bj_slice text[BJ_PACK_VALUES + 1];
        struct bj_buf sql = {0};
        bj_buf_str(&sql, "SELECT bj_pack(0");
        for (unsigned i = 1; i < n; i++)
            bj_buf_str(&sql, ",7");
        bj_buf_put(&sql, ")", 2);
        struct sqlite3_stmt *st = ask(db, sql.p);
        bj_buf_free(&sql);
        if (n > BJ_PACK_VALUES)
            assert_int_equal(sqlite3_step(st), SQLITE_TOOBIG);
        else
            assert_true(bj_pack_read(blob_of(st), n, number, text));
        sqlite3_finalize(st);
    }
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
