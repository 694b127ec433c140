#include "store/db.h"

#include <stddef.h>

void bj_db_close(struct bj_db *db)
{
    if (db)
        db->engine->close(db);
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
