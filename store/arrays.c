#include "store/arrays.h"

void bj_arrays_free(struct bj_arrays *a)
{
    for (unsigned i = 0; i < BJ_ARRAYS; i++)
        bj_buf_free(&a->column[i]);
    a->rows = 0;
}

void bj_arrays_clear(struct bj_arrays *a)
{
    for (unsigned i = 0; i < BJ_ARRAYS; i++)
        bj_buf_reset(&a->column[i]);
    a->rows = 0;
}

static struct bj_buf *arrays_next(struct bj_arrays *a, unsigned column)
{
    struct bj_buf *b = &a->column[column];
    bj_buf_put(b, b->len ? "," : "{", 1);
    return b;
}

void bj_arrays_i64(struct bj_arrays *a, unsigned column, int64_t v)
{
    struct bj_buf *b = arrays_next(a, column);
    if (v == BJ_SQL_NULL) {
        bj_buf_put(b, "NULL", 4);
        return;
    }
    bj_buf_put(b, "-", v < 0);
    bj_buf_u64(b, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void bj_arrays_text(struct bj_arrays *a, unsigned column, struct bj_slice s)
{
    struct bj_buf *b = arrays_next(a, column);
    if (!s.p) {
        bj_buf_put(b, "NULL", 4);
        return;
    }
    if (!bj_buf_room(b, 2 * s.n + 2))
        return;
    char *to = b->p + b->len;
    *to++ = '"';
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"' || s.p[i] == '\\')
            *to++ = '\\';
        *to++ = s.p[i];
    }
    *to++ = '"';
    b->len = (size_t)(to - b->p);
}

int bj_arrays_bind(struct bj_arrays *a, unsigned columns, struct bj_st *st,
                   struct bj_err *err)
{
    for (unsigned i = 0; i < columns; i++) {
        struct bj_buf *b = &a->column[i];
        bj_buf_put(b, "}", 1);
        if (b->failed)
            return bj_err_set(err, -ENOMEM, "rows");
        bj_st_bind_text(st, (int)i + 1, (struct bj_slice){b->p, b->len});
        b->len--; /* remove the NUL, because it may be bound again */
    }
    return 0;
}

int bj_arrays_run(struct bj_arrays *a, unsigned columns, struct bj_st *st,
                  struct bj_err *err)
{
    int r = bj_arrays_bind(a, columns, st, err);
    if (r == 0)
        r = bj_st_run(st, err);
    bj_arrays_clear(a);
    return r;
}

static bool arrays_read_number(struct bj_slice *text, int64_t *ret)
{
    uint64_t v;
    bool minus = text->n > 0 && text->p[0] == '-';
    text->p += minus;
    text->n -= minus;
    if (!bj_slice_number(text, &v))
        return false;
    text->p += text->n > 0; /* a comma */
    text->n -= text->n > 0;
    *ret = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

int bj_arrays_numbers(struct bj_arrays *a, unsigned columns, struct bj_st *st,
                      int64_t *ret, struct bj_err *err)
{
    unsigned n = 0;
    int r = bj_arrays_bind(a, columns, st, err);
    if (r == 0)
        r = bj_st_row(st, err);
    if (r > 0) {
        struct bj_slice text = bj_st_get_text(st, 0);
        while (n < a->rows && arrays_read_number(&text, &ret[n]))
            n++;
    }
    bj_st_reset(st);
    if (r >= 0)
        r = n == a->rows ? 0 : bj_err_set(err, -EPROTO, "too few numbers");
    bj_arrays_clear(a);
    return r;
}
