#include "apiserver/v1/table.h"

#include "apiserver/frame/state.h"
#include "base/digits.h"
#include "statsdb/tables/best.h"

#include <stdio.h>

void bj_table_select(struct bj_query *q, const struct bj_api_column *columns)
{
    for (const struct bj_api_column *k = columns; k->key; k++) {
        bj_query_sql(q, k == columns ? "" : ", ");
        bj_query_sql(q, k->sql);
    }
}

static void put_link_end(struct bj_rows *rows, int64_t sec)
{
    char text[BJ_DIGITS_ROOM];
    int64_t ms;
    if (__builtin_mul_overflow(sec, 1000, &ms))
        ms = 0;
    bj_put_text(rows, (struct bj_slice){
                          text, (size_t)(bj_digits_i64(text, ms) - text)});
}

static void put_real(struct bj_rows *rows, double v)
{
    char text[40];
    int n = snprintf(text, sizeof(text), "%.15g", v);
    /* JSON has no inf and nan */
    bool fine = v - v == 0 && n > 0 && n < (int)sizeof(text);
    bj_put_number(rows, fine ? (struct bj_slice){text, (size_t)n}
                             : (struct bj_slice){0});
}

void bj_table_number(enum bj_value_kind kind, struct bj_rows *rows, int64_t v)
{
    if (v == BJ_SQL_NULL || (kind == BJ_AS_LIMIT && v == INT64_MAX)) {
        bj_put_text(rows, kind == BJ_AS_LINK_END ? BJ_SLICE("now")
                                                 : (struct bj_slice){0});
        return;
    }
    switch (kind) {
    case BJ_AS_TENTHS:
    case BJ_AS_MILLI:
    case BJ_AS_PPM:
    case BJ_AS_MICRO:
        bj_put_fixed(rows, v, bj_value_digits(kind));
        break;
    case BJ_AS_BOOL:
        bj_put_bool(rows, v != 0);
        break;
    case BJ_AS_TIME:
        bj_put_time(rows, v);
        break;
    case BJ_AS_TIME_MS:
        bj_put_time_ms(rows, v);
        break;
    case BJ_AS_LINK_END:
        put_link_end(rows, v);
        break;
    default:
        bj_put_int(rows, v);
    }
}

static void put_source(struct bj_rows *rows, int64_t v)
{
    const char *name = bj_source_name(v);
    bj_put_text(rows, name ? bj_slice_str(name) : (struct bj_slice){0});
}

static void put_value(const struct bj_api_column *k, struct bj_rows *rows,
                      struct bj_st *st, int at)
{
    if (k->kind == BJ_AS_TEXT)
        bj_put_text(rows, bj_st_get_text(st, at));
    else if (k->kind == BJ_AS_SOURCE)
        put_source(rows, bj_st_get_i64(st, at));
    else if (k->kind == BJ_AS_REAL && bj_st_get_i64(st, at) != BJ_SQL_NULL)
        put_real(rows, bj_st_get_f64(st, at));
    else
        bj_table_number(k->kind, rows, bj_st_get_i64(st, at));
}

unsigned bj_table_keys(const struct bj_api_column *columns,
                       const char *ret[static BJ_API_COLUMNS])
{
    unsigned n = 0;
    for (; columns[n].key && n < BJ_API_COLUMNS; n++)
        ret[n] = columns[n].key;
    return n;
}

void bj_table_row(const struct bj_api_column *columns, unsigned n,
                  struct bj_rows *rows, struct bj_st *st)
{
    bj_row_begin(rows);
    for (unsigned i = 0; i < n; i++)
        put_value(&columns[i], rows, st, (int)i);
    bj_row_end(rows);
}

int bj_table_rows(struct bj_call *c, struct bj_query *q,
                  const struct bj_api_column *columns,
                  const struct bj_output *out, uint64_t max, bool *cut)
{
    const char *key[BJ_API_COLUMNS];
    unsigned n = bj_table_keys(columns, key);
    struct bj_st *st = NULL;
    struct bj_rows rows;
    int r = bj_query_open(q, c->reader, &st, &c->err);
    if (r < 0)
        return r;
    *cut = false;
    bj_rows_begin(&rows, out, key, n);
    while ((r = bj_st_row(st, &c->err)) > 0) {
        *cut = rows.n == max;
        if (*cut)
            break;
        bj_table_row(columns, n, &rows, st);
    }
    bj_rows_end(&rows);
    return r < 0 ? r : 0;
}

int bj_table_reply(struct bj_call *c, struct bj_query *q,
                   const struct bj_api_column *columns, uint64_t max)
{
    bool csv = bj_call_shape(c) == BJ_SHAPE_CSV, cut;
    if (csv)
        c->reply->type = "text/csv; charset=utf-8";
    else
        bj_call_open(c);
    const struct bj_output out = {
        .to = &c->reply->body, .shape = csv ? BJ_SHAPE_CSV : BJ_SHAPE_OBJECTS};
    int r = bj_table_rows(c, q, columns, &out, max, &cut);
    if (r == 0 && csv && cut)
        bj_call_header(c, "X-Cut", "true");
    if (r == 0 && !csv)
        bj_call_close(c, cut ? ",\"meta\":{\"cut\":true}"
                             : ",\"meta\":{\"cut\":false}");
    return r;
}
