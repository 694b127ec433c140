#include "statsdb/job/rows.h"

#include "base/csv.h"
#include "base/digits.h"
#include "base/json.h"
#include "base/stamp.h"

#include <stdio.h>
#include <string.h>

/* --- cells -----------------------------------------------------------------
 */

void bj_cells_free(struct bj_cells *c)
{
    bj_buf_free(&c->text);
}

void bj_cells_begin(struct bj_cells *c, const char *const *key, unsigned keys)
{
    c->key = key;
    c->keys = keys;
    c->n = 0;
    c->text.len = 0;
}

void bj_cells_put(struct bj_cells *c, struct bj_cell v)
{
    if (c->n < BJ_ROW_KEYS)
        c->cell[c->n++] = v;
    if (v.kind == BJ_CELL_TEXT)
        bj_buf_slice(&c->text, v.text);
}

void bj_cells_row(struct bj_cells *c)
{
    size_t at = 0;
    /* Set the pointers to the row's texts, because their buffer may have moved.
     */
    for (unsigned i = 0; i < c->n && !c->text.failed; i++)
        if (c->cell[i].kind == BJ_CELL_TEXT) {
            c->cell[i].text.p = c->text.p ? c->text.p + at : "";
            at += c->cell[i].text.n;
        }
    if (!c->text.failed)
        c->row(c->ctx, c);
    c->n = 0;
    c->text.len = 0;
}

/* Find the column of a key; c->keys: unknown. */
static unsigned cells_find(const struct bj_cells *c, const char *key)
{
    unsigned i = 0;
    while (i < c->keys && strcmp(c->key[i], key) != 0)
        i++;
    return i;
}

const struct bj_cell *bj_cells_get(const struct bj_cells *c, const char *key)
{
    unsigned i = cells_find(c, key);
    return i < c->n ? &c->cell[i] : NULL;
}

bool bj_cell_is_empty(const struct bj_cell *v)
{
    return !v || v->kind == BJ_CELL_NULL ||
           (v->kind == BJ_CELL_TEXT && v->text.n == 0);
}

void bj_cell_text(struct bj_buf *b, const struct bj_cell *v)
{
    char stamp[BJ_STAMP_MAX];
    switch (v->kind) {
    case BJ_CELL_NULL:
        break;
    case BJ_CELL_TEXT:
        bj_buf_slice(b, v->text);
        break;
    case BJ_CELL_NUMBER:
        bj_buf_str(b, v->number < 0 ? "-" : "");
        bj_buf_fixed(
            b, v->number < 0 ? ~(uint64_t)v->number + 1 : (uint64_t)v->number,
            v->digits);
        break;
    case BJ_CELL_TIME:
        bj_stamp_text(v->number * 1000000, 0, 0, stamp);
        bj_buf_str(b, stamp);
        break;
    case BJ_CELL_BOOL:
        bj_buf_str(b, v->number ? "true" : "false");
    }
}

/* --- rows ------------------------------------------------------------------
 */

static void set_head(struct bj_head *h, bool comma, bool named, const char *key)
{
    char *p = h->text;
    if (comma)
        *p++ = ',';
    if (named) {
        size_t n = strnlen(key, BJ_COLUMN_NAME);
        *p++ = '"';
        p = (char *)memcpy(p, key, n) + n;
        *p++ = '"';
        *p++ = ':';
    }
    h->n = (unsigned char)(p - h->text);
}

static void begin_csv(struct bj_buf *to, const char *const *key, unsigned keys)
{
    for (unsigned i = 0; i < keys; i++)
        bj_buf_printf(to, "%s%s", i ? "," : "", key[i]);
    bj_buf_str(to, "\r\n");
}

void bj_rows_begin(struct bj_rows *r, const struct bj_output *out,
                   const char *const *key, unsigned keys)
{
    *r = (struct bj_rows){.to = out->to,
                          .shape = out->shape,
                          .cells = out->cells,
                          .lines = out->lines,
                          .keys = keys};
    if (r->cells) {
        bj_cells_begin(r->cells, key, keys);
        return;
    }
    for (unsigned i = 0; i < keys && i < BJ_ROW_KEYS; i++)
        set_head(&r->head[i], i > 0, r->shape == BJ_SHAPE_OBJECTS, key[i]);
    if (r->shape == BJ_SHAPE_CSV && !out->no_names)
        begin_csv(r->to, key, keys);
    else if (r->shape != BJ_SHAPE_CSV)
        bj_buf_str(r->to, "[");
}

void bj_rows_end(struct bj_rows *r)
{
    if (r->lines && r->n > 0)
        bj_buf_str(r->to, "\n");
    if (!r->cells && r->shape != BJ_SHAPE_CSV)
        bj_buf_str(r->to, "]");
}

void bj_row_begin(struct bj_rows *r)
{
    static const char *const open[] = {[BJ_SHAPE_OBJECTS] = ",{",
                                       [BJ_SHAPE_CSV] = "",
                                       [BJ_SHAPE_ARRAYS] = ",["};
    static const char *const line[] = {[BJ_SHAPE_OBJECTS] = ",\n{",
                                       [BJ_SHAPE_CSV] = "",
                                       [BJ_SHAPE_ARRAYS] = ",\n["};
    r->at = 0;
    if (r->lines)
        bj_buf_str(r->to, line[r->shape] + (r->n == 0));
    else if (!r->cells && r->shape != BJ_SHAPE_CSV)
        bj_buf_str(r->to, open[r->shape] + (r->n == 0));
    r->n++;
}

void bj_row_end(struct bj_rows *r)
{
    static const char *const end[] = {[BJ_SHAPE_OBJECTS] = "}",
                                      [BJ_SHAPE_CSV] = "\r\n",
                                      [BJ_SHAPE_ARRAYS] = "]"};
    if (r->cells)
        bj_cells_row(r->cells);
    else
        bj_buf_str(r->to, end[r->shape]);
}

/* Begin the next value, and return a place with room for this many bytes; NULL:
 * out of memory. */
static inline char *open_value(struct bj_rows *r, size_t room)
{
    if (!bj_buf_room(r->to, sizeof(struct bj_head) + room))
        return NULL;
    const struct bj_head *h = &r->head[r->at];
    char *p = r->to->p + r->to->len;
    r->at++;
    /* A copy of fixed size is much faster than one of h->n bytes. */
    memcpy(p, h, sizeof(*h));
    return p + h->n;
}

static inline void close_value(struct bj_rows *r, const char *end)
{
    r->to->len = (size_t)(end - r->to->p);
}

static void put_plain(struct bj_rows *r, const char *text, size_t n)
{
    char *p = open_value(r, n);
    if (p)
        close_value(r, (char *)memcpy(p, text, n) + n);
}

/* True: the value was stored as a cell. */
static bool rows_put_cell(struct bj_rows *r, enum bj_cell_kind kind,
                          int64_t number, unsigned digits)
{
    if (r->cells)
        bj_cells_put(
            r->cells,
            (struct bj_cell){.kind = kind, .digits = digits, .number = number});
    return r->cells != NULL;
}

void bj_put_null(struct bj_rows *r)
{
    if (rows_put_cell(r, BJ_CELL_NULL, 0, 0))
        return;
    char *p = open_value(r, 4);
    if (p)
        close_value(r, (char *)memcpy(p, "null", 4) +
                           (r->shape == BJ_SHAPE_CSV ? 0 : 4));
}

void bj_put_text(struct bj_rows *r, struct bj_slice s)
{
    if (!s.p) {
        bj_put_null(r);
        return;
    }
    if (r->cells) {
        bj_cells_put(r->cells,
                     (struct bj_cell){.kind = BJ_CELL_TEXT, .text = s});
        return;
    }
    char *p = open_value(r, 0);
    if (!p)
        return;
    close_value(r, p);
    if (r->shape == BJ_SHAPE_CSV)
        bj_csv_text(r->to, s);
    else
        bj_json_string(r->to, s);
}

void bj_put_number(struct bj_rows *r, struct bj_slice s)
{
    if (!s.p || r->cells)
        bj_put_text(r, s);
    else
        put_plain(r, s.p, s.n);
}

void bj_put_int(struct bj_rows *r, int64_t v)
{
    if (rows_put_cell(r, BJ_CELL_NUMBER, v, 0))
        return;
    char *p = open_value(r, BJ_DIGITS_ROOM);
    if (p)
        close_value(r, bj_digits_i64(p, v));
}

void bj_put_fixed(struct bj_rows *r, int64_t v, unsigned digits)
{
    if (rows_put_cell(r, BJ_CELL_NUMBER, v, digits))
        return;
    char *p = open_value(r, 1);
    if (!p)
        return;
    *p = '-';
    close_value(r, p + (v < 0));
    bj_buf_fixed(r->to, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v, digits);
}

void bj_put_bool(struct bj_rows *r, bool v)
{
    if (!rows_put_cell(r, BJ_CELL_BOOL, v, 0))
        put_plain(r, v ? "true" : "false", v ? 4 : 5);
}

/* Return a date and 'T'. The last date is kept, because consecutive times are
 * often of the same day. */
static const char *date_of(struct bj_rows *r, int64_t days)
{
    if (r->days != days || !r->date[0]) {
        struct bj_civil c;
        bj_civil_from_days(days, &c);
        char *p =
            bj_digits_store(r->date, bj_digits_split((uint64_t)c.year), 4);
        *p++ = '-';
        p = bj_digits_store(p, bj_digits_split(c.month * 1000 + c.day), 3);
        p[-3] = '-';
        *p = 'T';
        r->days = days;
    }
    return r->date;
}

void bj_put_time(struct bj_rows *r, int64_t sec)
{
    /* the years 1 to 9999 */
    const int64_t first = -62135596800, last = 253402300799;
    const size_t quote = r->shape != BJ_SHAPE_CSV;
    sec = sec < first ? first : sec > last ? last : sec;
    if (rows_put_cell(r, BJ_CELL_TIME, sec, 0))
        return;
    int64_t days = sec >= 0 ? sec / 86400 : (sec - 86399) / 86400;
    unsigned rest = (unsigned)(sec - days * 86400);
    char *p = open_value(r, BJ_DIGITS_ROOM);
    if (!p)
        return;
    *p = '"';
    memcpy(p + quote, date_of(r, days), sizeof(r->date));
    p += quote + strlen("2026-11-20T");
    bj_digits_store(p,
                    bj_digits_split(rest / 3600 * 1000000 +
                                    rest / 60 % 60 * 1000 + rest % 60),
                    0);
    p[2] = p[5] = ':';
    memcpy(p + 8, "Z\"", 2);
    close_value(r, p + 9 + quote);
}

void bj_put_time_ms(struct bj_rows *r, int64_t sec)
{
    int64_t limit = INT64_MAX / 1000;
    bj_put_int(r, (sec > limit ? limit : sec < -limit ? -limit : sec) * 1000);
}

/* --- values ----------------------------------------------------------------
 */

static void put_link_end(struct bj_rows *r, int64_t sec)
{
    char text[BJ_DIGITS_ROOM];
    int64_t ms;
    if (__builtin_mul_overflow(sec, 1000, &ms))
        ms = 0;
    bj_put_text(
        r, (struct bj_slice){text, (size_t)(bj_digits_i64(text, ms) - text)});
}

static void put_real(struct bj_rows *r, double v)
{
    char text[40];
    int n = snprintf(text, sizeof(text), "%.15g", v);
    /* JSON has no inf and nan */
    bool fine = v - v == 0 && n > 0 && n < (int)sizeof(text);
    bj_put_number(r, fine ? (struct bj_slice){text, (size_t)n}
                          : (struct bj_slice){0});
}

void bj_put_kind(struct bj_rows *r, enum bj_value_kind kind, int64_t v)
{
    if (v == BJ_SQL_NULL || (kind == BJ_AS_LIMIT && v == INT64_MAX)) {
        bj_put_text(r, kind == BJ_AS_LINK_END ? BJ_SLICE("now")
                                              : (struct bj_slice){0});
        return;
    }
    switch (kind) {
    case BJ_AS_TENTHS:
    case BJ_AS_MILLI:
    case BJ_AS_PPM:
    case BJ_AS_MICRO:
        bj_put_fixed(r, v, bj_value_digits(kind));
        break;
    case BJ_AS_BOOL:
        bj_put_bool(r, v != 0);
        break;
    case BJ_AS_TIME:
        bj_put_time(r, v);
        break;
    case BJ_AS_TIME_MS:
        bj_put_time_ms(r, v);
        break;
    case BJ_AS_LINK_END:
        put_link_end(r, v);
        break;
    default:
        bj_put_int(r, v);
    }
}

void bj_put_value(struct bj_rows *r, enum bj_value_kind kind,
                  const struct bj_job_value *v)
{
    if (kind == BJ_AS_REAL && v->known)
        put_real(r, v->real);
    else if (!bj_job_is_text(kind) || !v->known)
        bj_put_kind(r, kind, v->known ? v->number : BJ_SQL_NULL);
    else if (kind == BJ_AS_WORD_INT)
        bj_put_number(r, v->text);
    else
        bj_put_text(r, v->text);
}

void bj_value_json(struct bj_buf *to, enum bj_value_kind kind,
                   const struct bj_job_value *v)
{
    struct bj_rows one;
    one.to = to;
    one.shape = BJ_SHAPE_OBJECTS;
    one.cells = NULL;
    one.at = 0;
    one.head[0] = (struct bj_head){"", 0};
    one.days = 0;
    one.date[0] = '\0';
    bj_put_value(&one, kind, v);
}
