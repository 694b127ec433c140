/* Helpers for the tests of the store. */
#ifndef BJ_TESTS_UNIT_STATSDB_TEST_STATSDB_H
#define BJ_TESTS_UNIT_STATSDB_TEST_STATSDB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

#include "base/buf.h"
#include "statsdb/import/upsert.h"
#include "statsdb/tables/schema_sql.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct fixture {
    char dir[64];
    char path[80];
};

static inline void fixture_open(struct fixture *f)
{
    snprintf(f->dir, sizeof(f->dir), "/tmp/bj-statsdb-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->path, sizeof(f->path), "%.60s/store.db", f->dir);
}

static inline void fixture_close(struct fixture *f)
{
    static const char *const tails[] = {"", "-wal", "-shm", ".lock", ".copy"};
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        char name[128];
        snprintf(name, sizeof(name), "%s%s", f->path, tails[i]);
        unlink(name);
    }
    for (int version = 1; version < 20; version++) { /* before upgrades */
        char name[128];
        snprintf(name, sizeof(name), "%s.version-%d", f->path, version);
        unlink(name);
    }
    assert_int_equal(rmdir(f->dir), 0);
}

static inline struct bj_store *store_open_at(const char *path)
{
    struct bj_err err = {0};
    struct bj_store *s = NULL;
    if (bj_store_open(&(struct bj_store_options){.path = path}, &s, &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

/* Write an empty store.  Its tables are made once in a process, which takes
 * longer than most tests. */
static inline void store_make(const char *path)
{
    static char *bytes;
    static size_t n;
    FILE *f;
    if (!bytes) {
        bj_store_close(store_open_at(path));
        f = fopen(path, "r");
        assert_non_null(f);
        assert_int_equal(fseek(f, 0, SEEK_END), 0);
        n = (size_t)ftell(f);
        rewind(f);
        bytes = malloc(n);
        assert_int_equal(fread(bytes, 1, n, f), n);
    } else {
        f = fopen(path, "w");
        assert_non_null(f);
        assert_int_equal(fwrite(bytes, 1, n, f), n);
    }
    assert_int_equal(fclose(f), 0);
}

/* Open the store; if there is no file, make an empty one. */
static inline struct bj_store *store_open(const struct fixture *f)
{
    if (access(f->path, F_OK) < 0)
        store_make(f->path);
    return store_open_at(f->path);
}

static inline struct bj_upsert *upsert_open(struct bj_store *s)
{
    struct bj_err err = {0};
    struct bj_upsert *u = NULL;
    if (bj_upsert_new(s, &u, &err) < 0)
        fail_msg("%s", err.msg);
    return u;
}

/* Store a job in a transaction of its own. */
static inline void upsert_job(struct bj_upsert *u, const struct bj_sched_job *j)
{
    struct bj_err err = {0};
    int r = bj_upsert_begin(u, &err);
    if (r == 0)
        r = bj_upsert_job(u, BJ_SLICE("here"), j, &err);
    if (r == 0)
        r = bj_upsert_commit(u, &err);
    if (r < 0)
        fail_msg("%s", err.msg);
}

/* Open a database file with any content; create it if it is missing. */
static inline struct bj_db *db_open(const char *path)
{
    struct bj_db *db = NULL;
    struct bj_err err = {0};
    const struct bj_db_options opt = {.url = path, .create = true};
    if (bj_db_open(&opt, &db, &err) < 0)
        fail_msg("%s", err.msg);
    return db;
}

static inline void db_exec(struct bj_db *db, const char *sql)
{
    struct bj_err err = {0};
    if (bj_db_exec(db, sql, &err) < 0)
        fail_msg("%s: %s", sql, err.msg);
}

/* The rows of a query as text: '|' between columns, '\n' after each row. */
static inline char *query(struct bj_store *s, const char *sql)
{
    struct bj_buf out = {0};
    struct bj_err err = {0};
    struct bj_st *st;
    int r = bj_db_prepare(bj_store_db(s), sql, &st, &err);
    while (r == 0 && (r = bj_st_row(st, &err)) > 0) {
        for (int i = 0; i < bj_st_columns(st); i++) {
            struct bj_slice text = bj_st_get_text(st, i);
            bj_buf_str(&out, i ? "|" : "");
            bj_buf_slice(&out, text);
        }
        bj_buf_str(&out, "\n");
        r = 0;
    }
    if (r < 0)
        fail_msg("%s: %s", sql, err.msg);
    bj_st_finalize(st);
    bj_buf_put(&out, "", 1);
    return out.p;
}

static inline void expect(struct bj_store *s, const char *sql, const char *want)
{
    char *got = query(s, sql);
    assert_string_equal(got, want);
    free(got);
}

static inline int64_t number(struct bj_store *s, const char *sql)
{
    struct bj_err err = {0};
    int64_t v = 0;
    if (bj_db_int(bj_store_db(s), sql, &v, &err) < 0)
        fail_msg("%s: %s", sql, err.msg);
    return v;
}

/* The sums of a month are those of its days. */
#define DIFFERS(name)                                                          \
    " OR sum(CASE WHEN day > 0 THEN " name " ELSE -" name " END) <> 0"
#define MONTHS(table, key, sums)                                               \
    "SELECT id >> 5 FROM " table " GROUP BY id >> 5" key " HAVING 1 = 0" sums
static inline void expect_months(struct bj_store *s)
{
    expect(s, MONTHS("rollup_usage", "", BJ_USAGE_SUMS(DIFFERS)), "");
    expect(s, MONTHS("rollup_energy", "", BJ_ENERGY_SUMS(DIFFERS)), "");
    expect(s,
           MONTHS("rollup_grams", ", source",
                  DIFFERS("micrograms") DIFFERS("covered_mj")),
           "");
}
#undef MONTHS
#undef DIFFERS

#endif
