#include "store/sql_build.h"

#include "base/array.h"
#include "store/db.h"

#include <stdlib.h>

void bj_sql_build_free(struct bj_sql_build *b)
{
    bj_buf_free(&b->sql);
    free(b->value);
    *b = (struct bj_sql_build){.value = NULL};
}

void bj_sql_build_add(struct bj_sql_build *b, const char *sql)
{
    bj_buf_str(&b->sql, sql);
}

static void sql_build_value(struct bj_sql_build *b, struct bj_slice text,
                            int64_t number)
{
    b->full = b->full || b->values == BJ_SQL_BUILD_VALUES;
    if (b->full)
        return;
    if (!BJ_GROW(b->value, b->values + 1, b->room)) {
        b->sql.failed = true;
        return;
    }
    b->value[b->values++] = (struct bj_sql_value){text, number, false};
    bj_buf_str(&b->sql, "?");
}

void bj_sql_build_int(struct bj_sql_build *b, int64_t v)
{
    sql_build_value(b, (struct bj_slice){0}, v);
}

void bj_sql_build_text(struct bj_sql_build *b, struct bj_slice s)
{
    sql_build_value(b, (struct bj_slice){s.p ? s.p : "", s.n}, 0);
}

void bj_sql_build_jobid(struct bj_sql_build *b, struct bj_slice s)
{
    unsigned before = b->values;
    bj_sql_build_text(b, s);
    if (b->values > before)
        b->value[before].jobid = true;
}

int bj_sql_build_end(struct bj_sql_build *b, struct bj_err *err)
{
    bj_buf_put(&b->sql, "", 1);
    if (b->full)
        return bj_err_set(err, -E2BIG, "query: more than %d values",
                          BJ_SQL_BUILD_VALUES);
    return b->sql.failed ? bj_err_set(err, -ENOMEM, "query") : 0;
}

void bj_sql_build_bind(const struct bj_sql_build *b, struct bj_st *st)
{
    for (unsigned i = 0; i < b->values; i++) {
        const struct bj_sql_value *v = &b->value[i];
        if (v->jobid)
            bj_st_bind_jobid(st, (int)i + 1, v->text);
        else if (v->text.p)
            bj_st_bind_text(st, (int)i + 1, v->text);
        else
            bj_st_bind_i64(st, (int)i + 1, v->number);
    }
}
