/* Rows of PostgreSQL: values arrive as text, their types with the first row. */
#include "base/file.h"
#include "store/postgres_st.h"

#include <stdlib.h>

static void free_columns(struct bj_postgres_st *st)
{
    for (int i = 0; i < st->columns; i++)
        free(st->column_name[i]);
    free(st->column_name);
    free(st->column_type);
    free(st->field);
    st->column_name = NULL;
    st->column_type = NULL;
    st->field = NULL;
    st->columns = 0;
}

int bj_postgres_take_columns(struct bj_postgres_st *st,
                             const struct bj_pg_result *res, struct bj_err *err)
{
    const struct bj_libpq *lib = bj_postgres_of(st->base.db)->lib;
    int n = res ? lib->columns(res) : 0;
    free_columns(st);
    if (n == 0)
        return 0;
    st->column_name = calloc((size_t)n, sizeof(*st->column_name));
    st->column_type = calloc((size_t)n, sizeof(*st->column_type));
    st->field = calloc((size_t)n, sizeof(*st->field));
    st->columns = st->column_name ? n : 0;
    bool full = st->column_name && st->column_type && st->field;
    for (int i = 0; full && i < n; i++) {
        st->column_type[i] = lib->column_type(res, i);
        st->column_name[i] = strdup(lib->column_name(res, i));
        full = st->column_name[i] != NULL;
    }
    if (full)
        return 0;
    free_columns(st);
    return bj_err_set(err, -ENOMEM, "columns");
}

void bj_postgres_fields(struct bj_postgres_st *st, struct bj_pg_result *res)
{
    const struct bj_libpq *lib = bj_postgres_of(st->base.db)->lib;
    lib->clear(st->row);
    st->row = res;
    for (int i = 0; i < st->columns; i++) {
        bool null = lib->is_null(res, 0, i);
        st->field[i].p = null ? NULL : lib->value(res, 0, i);
        st->field[i].n = null ? 0 : lib->length(res, 0, i);
    }
}

void bj_postgres_keep_row(struct bj_postgres_st *st,
                          const struct bj_pg_result *res)
{
    const struct bj_libpq *lib = bj_postgres_of(st->base.db)->lib;
    for (int i = 0; i < st->columns; i++) {
        int n = lib->is_null(res, 0, i) ? -1 : lib->length(res, 0, i);
        bj_buf_put(&st->kept, &n, sizeof(n));
        if (n >= 0)
            bj_buf_put(&st->kept, lib->value(res, 0, i), (size_t)n + 1);
    }
}

bool bj_postgres_kept(struct bj_postgres_st *st)
{
    if (st->kept_at >= st->kept.len || st->kept.failed)
        return false;
    for (int i = 0; i < st->columns; i++) {
        const char *p = st->kept.p + st->kept_at;
        int n;
        memcpy(&n, p, sizeof(n));
        st->kept_at += sizeof(n) + (n < 0 ? 0 : (size_t)n + 1);
        st->field[i].p = n < 0 ? NULL : p + sizeof(n);
        st->field[i].n = n < 0 ? 0 : n;
    }
    return true;
}

int bj_postgres_columns(struct bj_st *of)
{
    struct bj_postgres_st *st = bj_postgres_st_of(of);
    if (st->columns == 0 && !st->ran)
        bj_postgres_describe(st, NULL);
    return st->columns;
}

const char *bj_postgres_column_name(struct bj_st *of, int col)
{
    struct bj_postgres_st *st = bj_postgres_st_of(of);
    return col >= 0 && col < bj_postgres_columns(of) ? st->column_name[col]
                                                     : NULL;
}

/* Parse a 64 bit integer. */
static bool get_integer(struct bj_slice s, int64_t *ret)
{
    bool minus = s.n > 0 && s.p[0] == '-';
    uint64_t v;
    if (minus) {
        s.p++;
        s.n--;
    }
    if (bj_slice_u64(s, &v) < 0 || v > (uint64_t)INT64_MAX + minus)
        return false;
    *ret = minus ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* Parse a number of PostgreSQL: an integer if it has no fraction and fits.
 * Programs use the C locale, so the decimal separator is a point. */
static void get_number(const struct bj_postgres_field *f, struct bj_value *ret)
{
    ret->type = BJ_TYPE_INTEGER;
    if (get_integer((struct bj_slice){f->p, (size_t)f->n}, &ret->i64))
        return;
    ret->type = BJ_TYPE_REAL;
    ret->f64 = strtod(f->p, NULL);
}

static void get_one(const struct bj_postgres_st *st, int col,
                    struct bj_value *ret)
{
    const struct bj_postgres_field *f = &st->field[col];
    if (!f->p) {
        ret->type = BJ_TYPE_NULL;
        return;
    }
    switch (st->column_type[col]) {
    case BJ_PG_BOOL:
        ret->type = BJ_TYPE_INTEGER;
        ret->i64 = *f->p == 't';
        break;
    case BJ_PG_INT2:
    case BJ_PG_INT4:
    case BJ_PG_INT8:
    case BJ_PG_OID:
    case BJ_PG_NUMERIC:
        get_number(f, ret);
        break;
    case BJ_PG_FLOAT4:
    case BJ_PG_FLOAT8:
        ret->type = BJ_TYPE_REAL;
        ret->f64 = strtod(f->p, NULL);
        break;
    default:
        ret->type = BJ_TYPE_TEXT;
        ret->text = (struct bj_slice){f->p, (size_t)f->n};
    }
}

void bj_postgres_get(struct bj_st *of, int col, unsigned n,
                     struct bj_value *ret)
{
    for (unsigned i = 0; i < n; i++)
        get_one(bj_postgres_st_of(of), col + (int)i, &ret[i]);
}

/* A text that is a number is converted, as in SQLite. */
int64_t bj_postgres_get_i64(struct bj_st *of, int col)
{
    struct bj_value v;
    get_one(bj_postgres_st_of(of), col, &v);
    if (v.type == BJ_TYPE_TEXT)
        get_number(&bj_postgres_st_of(of)->field[col], &v);
    if (v.type == BJ_TYPE_REAL)
        return v.f64 >= 9223372036854775808.0    ? INT64_MAX
               : v.f64 >= -9223372036854775808.0 ? (int64_t)v.f64
                                                 : INT64_MIN;
    return v.type == BJ_TYPE_INTEGER ? v.i64 : BJ_SQL_NULL;
}

double bj_postgres_get_f64(struct bj_st *of, int col)
{
    struct bj_value v;
    get_one(bj_postgres_st_of(of), col, &v);
    if (v.type == BJ_TYPE_TEXT)
        get_number(&bj_postgres_st_of(of)->field[col], &v);
    return v.type == BJ_TYPE_INTEGER ? (double)v.i64
           : v.type == BJ_TYPE_REAL  ? v.f64
                                     : 0;
}

struct bj_slice bj_postgres_get_text(struct bj_st *of, int col)
{
    const struct bj_postgres_st *st = bj_postgres_st_of(of);
    const struct bj_postgres_field *f = &st->field[col];
    if (f->p && st->column_type[col] == BJ_PG_BOOL)
        return *f->p == 't' ? BJ_SLICE("1") : BJ_SLICE("0");
    return (struct bj_slice){f->p, (size_t)f->n};
}
