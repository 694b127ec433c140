#include "store/db.h"

#include <stddef.h>

/* The last one takes every other URL: a path. */
static const struct bj_engine *const engines[] = {
    &bj_engine_sqlite,
};

int bj_db_open(const struct bj_db_options *opt, struct bj_db **ret,
               struct bj_err *err)
{
    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
        if (engines[i]->is_for(opt->url))
            return engines[i]->open(opt, ret, err);
    return bj_err_set(err, -EINVAL, "%s: no engine for it", opt->url);
}

void bj_db_close(struct bj_db *db)
{
    if (db)
        db->engine->close(db);
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

int bj_st_int(struct bj_st *st, int64_t *ret, struct bj_err *err)
{
    int r = bj_st_row(st, err);
    if (r <= 0)
        return r;
    *ret = bj_st_get_i64(st, 0);
    bj_st_reset(st);
    return 1;
}
