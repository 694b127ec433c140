#include "apiserver/frame/out.h"

#include "base/csv.h"
#include "base/digits.h"
#include "base/json.h"
#include "base/stamp.h"

#include <string.h>

static void set_head(struct bj_head *h, bool comma, bool named, const char *key)
{
    char *p = h->text;
    if (comma)
        *p++ = ',';
    if (named) {
        size_t n = strnlen(key, BJ_KEY_MAX);
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
    *r = (struct bj_rows){
        .to = out->to, .shape = out->shape, .cells = out->cells, .keys = keys};
    if (r->cells) {
        bj_cells_begin(r->cells, key, keys);
        return;
    }
    for (unsigned i = 0; i < keys && i < BJ_ROW_KEYS; i++)
        set_head(&r->head[i], i > 0, r->shape == BJ_SHAPE_OBJECTS, key[i]);
    if (r->shape == BJ_SHAPE_CSV)
        begin_csv(r->to, key, keys);
    else
        bj_buf_str(r->to, "[");
}

void bj_rows_end(struct bj_rows *r)
{
    if (!r->cells && r->shape != BJ_SHAPE_CSV)
        bj_buf_str(r->to, "]");
}

void bj_row_begin(struct bj_rows *r)
{
    static const char *const open[] = {[BJ_SHAPE_OBJECTS] = ",{",
                                       [BJ_SHAPE_CSV] = "",
                                       [BJ_SHAPE_ARRAYS] = ",["};
    r->at = 0;
    if (!r->cells && r->shape != BJ_SHAPE_CSV)
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
static bool put_cell(struct bj_rows *r, enum bj_cell_kind kind, int64_t number,
                     unsigned digits)
{
    if (r->cells)
        bj_cells_put(
            r->cells,
            (struct bj_cell){.kind = kind, .digits = digits, .number = number});
    return r->cells != NULL;
}

void bj_put_null(struct bj_rows *r)
{
    if (put_cell(r, BJ_CELL_NULL, 0, 0))
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
    if (put_cell(r, BJ_CELL_NUMBER, v, 0))
        return;
    char *p = open_value(r, BJ_DIGITS_ROOM);
    if (p)
        close_value(r, bj_digits_i64(p, v));
}

void bj_put_fixed(struct bj_rows *r, int64_t v, unsigned digits)
{
    if (put_cell(r, BJ_CELL_NUMBER, v, digits))
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
    if (!put_cell(r, BJ_CELL_BOOL, v, 0))
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
    if (put_cell(r, BJ_CELL_TIME, sec, 0))
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
