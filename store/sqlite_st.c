/* Statements of SQLite. */
#include "store/sqlite_impl.h"

#include <stdlib.h>

static inline struct sqlite3_stmt *handle(struct bj_st *st)
{
    return ((struct bj_sqlite_st *)st)->st;
}

int bj_sqlite_prepare(struct bj_db *db, const char *sql, struct bj_st **ret,
                      struct bj_err *err)
{
    struct sqlite3 *to = bj_sqlite_of(db)->db;
    struct bj_sqlite_st *st = malloc(sizeof(*st));
    *ret = NULL;
    if (!st)
        return bj_err_set(err, -ENOMEM, "prepare");
    int rc = sqlite3_prepare_v3(to, sql, -1, SQLITE_PREPARE_PERSISTENT, &st->st,
                                NULL);
    if (rc != SQLITE_OK) {
        free(st);
        return bj_sqlite_fail(to, rc, err, "prepare");
    }
    st->base = (struct bj_st){db->engine, db, sqlite3_sql(st->st)};
    *ret = &st->base;
    return 0;
}

void bj_sqlite_finalize(struct bj_st *st)
{
    sqlite3_finalize(handle(st));
    free(st);
}

int bj_sqlite_row(struct bj_st *st, struct bj_err *err)
{
    int rc = sqlite3_step(handle(st));
    if (rc == SQLITE_ROW)
        return 1;
    int r = rc == SQLITE_DONE
                ? 0
                : bj_sqlite_fail(bj_sqlite_of(st->db)->db, rc, err, "");
    sqlite3_reset(handle(st));
    return r;
}

int bj_sqlite_insert(struct bj_st *st, int64_t *ret_id, struct bj_err *err)
{
    struct sqlite3 *db = bj_sqlite_of(st->db)->db;
    int r = bj_sqlite_row(st, err);
    if (r < 0)
        return r;
    if (sqlite3_changes64(db) == 0)
        return 0;
    *ret_id = sqlite3_last_insert_rowid(db);
    return 1;
}

void bj_sqlite_reset(struct bj_st *st)
{
    sqlite3_reset(handle(st));
}

void bj_sqlite_clear(struct bj_st *st)
{
    sqlite3_clear_bindings(handle(st));
}

int bj_sqlite_parameters(struct bj_st *st)
{
    return sqlite3_bind_parameter_count(handle(st));
}

void bj_sqlite_bind_null(struct bj_st *st, int at)
{
    sqlite3_bind_null(handle(st), at);
}

void bj_sqlite_bind_i64(struct bj_st *st, int at, int64_t v)
{
    sqlite3_bind_int64(handle(st), at, v);
}

void bj_sqlite_bind_f64(struct bj_st *st, int at, double v)
{
    sqlite3_bind_double(handle(st), at, v);
}

void bj_sqlite_bind_text(struct bj_st *st, int at, struct bj_slice s)
{
    sqlite3_bind_text64(handle(st), at, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8);
}

int bj_sqlite_columns(struct bj_st *st)
{
    return sqlite3_column_count(handle(st));
}

const char *bj_sqlite_column_name(struct bj_st *st, int col)
{
    return sqlite3_column_name(handle(st), col);
}

void bj_sqlite_value(struct sqlite3_value *v, struct bj_value *ret)
{
    const int type = sqlite3_value_type(v);
    if (type == SQLITE_INTEGER) {
        ret->type = BJ_TYPE_INTEGER;
        ret->i64 = sqlite3_value_int64(v);
    } else if (type == SQLITE_NULL) {
        ret->type = BJ_TYPE_NULL;
    } else if (type == SQLITE_FLOAT) {
        ret->type = BJ_TYPE_REAL;
        ret->f64 = sqlite3_value_double(v);
    } else {
        ret->type = BJ_TYPE_TEXT;
        ret->text.p = (const char *)sqlite3_value_text(v);
        ret->text.n = (size_t)sqlite3_value_bytes(v);
    }
}

void bj_sqlite_get(struct bj_st *st, int col, unsigned n, struct bj_value *ret)
{
    struct sqlite3_stmt *from = handle(st);
    for (unsigned i = 0; i < n; i++)
        bj_sqlite_value(sqlite3_column_value(from, col + (int)i), &ret[i]);
}

int64_t bj_sqlite_get_i64(struct bj_st *st, int col)
{
    struct sqlite3_value *v = sqlite3_column_value(handle(st), col);
    return sqlite3_value_type(v) == SQLITE_NULL ? BJ_SQL_NULL
                                                : sqlite3_value_int64(v);
}

double bj_sqlite_get_f64(struct bj_st *st, int col)
{
    return sqlite3_column_double(handle(st), col);
}

struct bj_slice bj_sqlite_get_text(struct bj_st *st, int col)
{
    const char *p = (const char *)sqlite3_column_text(handle(st), col);
    return (struct bj_slice){p, (size_t)sqlite3_column_bytes(handle(st), col)};
}
