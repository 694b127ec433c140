/* Helpers of the tests with PostgreSQL. */
#ifndef BJ_TESTS_UNIT_STORE_TEST_POSTGRES_H
#define BJ_TESTS_UNIT_STORE_TEST_POSTGRES_H

#include "store/db.h"
#include "store/postgres_conn.h"
#include "store/postgres_sql.h"
#include "tests/unit/statsdb/test_server.h"

#include <stdio.h>
#include <stdlib.h>

static inline struct bj_db *open_as(struct bj_db_options opt)
{
    struct bj_err err = {0};
    struct bj_db *db;
    opt.url = server.url;
    if (bj_db_open(&opt, &db, &err) < 0)
        fail_msg("open: %s", err.msg);
    return db;
}

static inline struct bj_db *open_db(void)
{
    return open_as((struct bj_db_options){.create = true});
}

static inline void exec(struct bj_db *db, const char *sql)
{
    struct bj_err err = {0};
    if (bj_db_exec(db, sql, &err) < 0)
        fail_msg("%s: %s", sql, err.msg);
}

static inline int64_t number(struct bj_db *db, const char *sql)
{
    struct bj_err err = {0};
    int64_t v = 0;
    if (bj_db_int(db, sql, &v, &err) < 0)
        fail_msg("%s: %s", sql, err.msg);
    return v;
}

static inline struct bj_st *prepare(struct bj_db *db, const char *sql)
{
    struct bj_err err = {0};
    struct bj_st *st;
    if (bj_db_prepare(db, sql, &st, &err) < 0)
        fail_msg("%s: %s", sql, err.msg);
    return st;
}

static inline int row(struct bj_st *st)
{
    struct bj_err err = {0};
    int r = bj_st_row(st, &err);
    if (r < 0)
        fail_msg("%s: %s", bj_st_sql(st), err.msg);
    return r;
}

static inline void assert_text(struct bj_slice s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    assert_memory_equal(s.p, expected, s.n);
    assert_int_equal(s.p[s.n], '\0');
}

#endif
