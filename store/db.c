#include "store/db.h"

#include "store/postgres_sql.h"

#include <stdlib.h>
#include <string.h>

void bj_db_close(struct bj_db *db)
{
    if (db)
        db->engine->close(db);
}

/* --- names ---------------------------------------------------------------- */

static size_t name_length(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

/* The number of a name in a list, which gets it if it lacks it. */
static int number_of(struct bj_buf *names, const char *name, size_t n)
{
    int number = 1;
    for (size_t at = 0; at < names->len; number++) {
        const char *known = names->p + at;
        const size_t len = strlen(known);
        if (len == n && memcmp(known, name, n) == 0)
            return number;
        at += len + 1;
    }
    bj_buf_put(names, name, n);
    bj_buf_put(names, "", 1);
    return number;
}

/* Write the text of a statement with numbers for the names of its parameters:
 * "?1" for ":job".  -EINVAL: it has both. */
static int number_names(const char *sql, struct bj_buf *text,
                        struct bj_buf *names)
{
    bool numbered = false;
    while (*sql) {
        const char *end = bj_sql_skip(sql);
        const size_t n = *sql == ':' ? name_length(sql + 1) : 0;
        if (end == sql && n > 0) {
            bj_buf_printf(text, "?%d", number_of(names, sql + 1, n));
            sql += n + 1;
            continue;
        }
        numbered = numbered || *sql == '?';
        if (end == sql) /* "::type" is a cast */
            end += sql[0] == ':' && sql[1] == ':' ? 2 : 1;
        bj_buf_put(text, sql, (size_t)(end - sql));
        sql = end;
    }
    bj_buf_put(text, "", 1);
    bj_buf_put(names, "", 1);
    return text->failed || names->failed ? -ENOMEM
           : numbered && names->len > 1  ? -EINVAL
                                         : 0;
}

int bj_db_prepare(struct bj_db *db, const char *sql, struct bj_st **ret,
                  struct bj_err *err)
{
    struct bj_buf text = {0}, names = {0};
    *ret = NULL;
    if (!strchr(sql, ':'))
        return db->engine->prepare(db, sql, ret, err);
    int r = number_names(sql, &text, &names);
    if (r < 0)
        bj_err_set(err, r, "prepare: names of %.100s", sql);
    else
        r = db->engine->prepare(db, text.p, ret, err);
    if (r == 0)
        (*ret)->name = (*ret)->names = names.p;
    else
        bj_buf_free(&names);
    bj_buf_free(&text);
    return r;
}

void bj_st_finalize(struct bj_st *st)
{
    if (!st)
        return;
    free(st->names);
    st->engine->finalize(st);
}

int bj_st_no_name(const struct bj_st *st, struct bj_err *err)
{
    return bj_err_set(err, -EPROTO, "no '%s' in: %.200s", st->unknown, st->sql);
}

/* Most callers bind all parameters, and read all columns, in their order: start
 * with the name that follows the last one. */
int bj_st_param(struct bj_st *st, const char *name)
{
    for (int round = 0; st->names && round < 2; round++) {
        for (; *st->name; st->name += strlen(st->name) + 1) {
            st->number++;
            if (strcmp(st->name, name) == 0) {
                st->name += strlen(st->name) + 1;
                return st->number;
            }
        }
        st->name = st->names;
        st->number = 0;
    }
    st->unknown = name;
    return 0;
}

int bj_st_column(struct bj_st *st, const char *name)
{
    const int n = bj_st_columns(st);
    for (int i = 0; i < n; i++) {
        const int at = (st->column + i) % n;
        if (strcmp(bj_st_column_name(st, at), name) == 0) {
            st->column = at + 1;
            return at;
        }
    }
    st->unknown = name;
    return -1;
}

int bj_db_prepare_buf(struct bj_db *db, struct bj_buf *sql, struct bj_st **ret,
                      struct bj_err *err)
{
    bj_buf_put(sql, "", 1);
    int r = sql->failed ? bj_err_set(err, -ENOMEM, "statement")
                        : bj_db_prepare(db, sql->p, ret, err);
    bj_buf_free(sql);
    return r;
}

int bj_db_int(struct bj_db *db, const char *sql, int64_t *ret,
              struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    r = bj_st_int(st, ret, err);
    if (r == 0)
        r = bj_err_set(err, -ENOENT, "no row from: %s", sql);
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

bool bj_jobid_number(struct bj_slice s, int64_t *ret)
{
    uint64_t v;
    bool plain = s.n > 0 && s.n < 19 && (s.p[0] != '0' || s.n == 1) &&
                 bj_slice_u64(s, &v) == 0;
    if (plain)
        *ret = (int64_t)v;
    return plain;
}

void bj_st_bind_jobid(struct bj_st *st, int at, struct bj_slice s)
{
    int64_t v;
    if (st->engine->dialect == BJ_DIALECT_SQLITE && bj_jobid_number(s, &v))
        bj_st_bind_i64(st, at, v);
    else
        bj_st_bind_filled(st, at, s);
}

void bj_st_bind_jobid_number(struct bj_st *st, int at, int64_t v)
{
    /* PostgreSQL sends a number as text if text was bound before. */
    if (st->engine->dialect == BJ_DIALECT_POSTGRESQL)
        bj_st_bind_text(st, at, BJ_SLICE(""));
    bj_st_bind_i64(st, at, v);
}

int bj_st_int(struct bj_st *st, int64_t *ret, struct bj_err *err)
{
    int r = bj_st_row(st, err);
    if (r <= 0)
        return r;
    *ret = bj_st_get_i64(st, 0);
    bj_st_reset(st);
    return 1;
}
