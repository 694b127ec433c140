#include "apiserver/out.h"

#include "base/digits.h"
#include "base/stamp.h"
#include "base/text.h"

#include <string.h>

static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Bytes that can stand in a JSON string as they are. */
static size_t plain(struct bj_slice s)
{
    size_t n = 0;
    while (n < s.n && is_plain(s.p[n]))
        n++;
    return n;
}

static void put_escape(struct bj_buf *b, char c)
{
    if (c == '"' || c == '\\')
        bj_buf_printf(b, "\\%c", c);
    else if (c == '\n')
        bj_buf_str(b, "\\n");
    else if (c == '\t')
        bj_buf_str(b, "\\t");
    else
        bj_buf_printf(b, "\\u%04x", (unsigned)(unsigned char)c);
}

/* One character that is not plain, cleaned; returns its bytes. */
static size_t put_odd(struct bj_buf *b, struct bj_slice s)
{
    char clean[16];
    unsigned char c = (unsigned char)s.p[0];
    if (c < 0x20 || c == '"' || c == '\\') {
        put_escape(b, (char)c);
        return 1;
    }
    /* All that is not ASCII up to the next byte that is, in one go, so that
     * what is cut in pieces is no character. */
    size_t n = 1;
    while (n < s.n && n < 4 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n++;
    size_t len = bj_text_clean((struct bj_slice){s.p, n}, clean, sizeof(clean));
    bj_buf_put(b, clean, len);
    return n;
}

void bj_out_text(struct bj_buf *b, struct bj_slice s)
{
    bj_buf_put(b, "\"", 1);
    while (s.n > 0) {
        size_t n = plain(s);
        bj_buf_put(b, s.p, n);
        if (n < s.n)
            n += put_odd(b, (struct bj_slice){s.p + n, s.n - n});
        s.p += n;
        s.n -= n;
    }
    bj_buf_put(b, "\"", 1);
}

/* Would a spreadsheet compute what begins so? */
static bool is_formula(struct bj_slice s)
{
    while (s.n > 0 && s.p[0] == ' ') {
        s.p++;
        s.n--;
    }
    return s.n > 0 && memchr("=+-@\t\r", s.p[0], 6);
}

/* Plain bytes.  Where a comma is in numbers, a semicolon is between cells,
 * whatever the quotes. */
static void put_within(struct bj_buf *b, struct bj_slice s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bj_buf_put(b, s.p + i, 1);
        if (s.p[i] == ';' &&
            is_formula((struct bj_slice){s.p + i + 1, s.n - i - 1}))
            bj_buf_put(b, "'", 1);
    }
}

void bj_out_csv(struct bj_buf *b, struct bj_slice s)
{
    bool formula = is_formula(s), quote = formula;
    for (size_t i = 0; i < s.n && !quote; i++)
        quote = plain((struct bj_slice){s.p + i, 1}) == 0 ||
                memchr(" ,;", s.p[i], 3);
    if (!quote) {
        bj_buf_slice(b, s);
        return;
    }
    bj_buf_str(b, formula ? "\"'" : "\"");
    while (s.n > 0) {
        size_t n = plain(s);
        put_within(b, s, n);
        if (n < s.n && s.p[n] == '"') {
            bj_buf_str(b, "\"\"");
            n++;
        } else if (n < s.n && (unsigned char)s.p[n] < 0x7f) {
            /* line ends are allowed within quotes, the rest helps nobody */
            bj_buf_put(b, s.p[n] == '\n' || s.p[n] == '\\' ? s.p + n : "?", 1);
            n++;
        } else if (n < s.n) {
            n += put_odd(b, (struct bj_slice){s.p + n, s.n - n});
        }
        s.p += n;
        s.n -= n;
    }
    bj_buf_str(b, "\"");
}

/* --- tables ----------------------------------------------------------------
 */

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

void bj_rows_begin(struct bj_rows *r, struct bj_buf *to, enum bj_shape shape,
                   const char *const *key, unsigned keys)
{
    *r = (struct bj_rows){.to = to, .shape = shape, .keys = keys};
    for (unsigned i = 0; i < keys && i < BJ_ROW_KEYS; i++)
        set_head(&r->head[i], i > 0, shape == BJ_SHAPE_OBJECTS, key[i]);
    if (shape != BJ_SHAPE_CSV) {
        bj_buf_str(to, "[");
        return;
    }
    for (unsigned i = 0; i < keys; i++)
        bj_buf_printf(to, "%s%s", i ? "," : "", key[i]);
    bj_buf_str(to, "\r\n");
}

void bj_rows_end(struct bj_rows *r)
{
    if (r->shape != BJ_SHAPE_CSV)
        bj_buf_str(r->to, "]");
}

void bj_row_begin(struct bj_rows *r)
{
    static const char *const open[] = {[BJ_SHAPE_OBJECTS] = ",{",
                                       [BJ_SHAPE_CSV] = "",
                                       [BJ_SHAPE_ARRAYS] = ",["};
    r->at = 0;
    if (r->shape != BJ_SHAPE_CSV)
        bj_buf_str(r->to, open[r->shape] + (r->n == 0));
    r->n++;
}

void bj_row_end(struct bj_rows *r)
{
    static const char *const end[] = {[BJ_SHAPE_OBJECTS] = "}",
                                      [BJ_SHAPE_CSV] = "\r\n",
                                      [BJ_SHAPE_ARRAYS] = "]"};
    bj_buf_str(r->to, end[r->shape]);
}

/* Where the next value goes, with room for so many bytes; NULL when there is
 * no memory. */
static inline char *open_value(struct bj_rows *r, size_t room)
{
    if (!bj_buf_room(r->to, sizeof(struct bj_head) + room))
        return NULL;
    const struct bj_head *h = &r->head[r->at];
    char *p = r->to->p + r->to->len;
    r->at++;
    /* All of it, which is much faster than what there is of it. */
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

void bj_put_null(struct bj_rows *r)
{
    put_plain(r, "null", r->shape == BJ_SHAPE_CSV ? 0 : 4);
}

/* A JSON string that needs no care. */
static void put_quoted(struct bj_rows *r, struct bj_slice s)
{
    char *p = open_value(r, s.n + 2);
    if (!p)
        return;
    *p++ = '"';
    memcpy(p, s.p, s.n);
    p += s.n;
    *p++ = '"';
    close_value(r, p);
}

void bj_put_text(struct bj_rows *r, struct bj_slice s)
{
    if (!s.p) {
        bj_put_null(r);
        return;
    }
    if (r->shape != BJ_SHAPE_CSV && plain(s) == s.n) {
        put_quoted(r, s);
        return;
    }
    put_plain(r, "", 0);
    if (r->shape == BJ_SHAPE_CSV)
        bj_out_csv(r->to, s);
    else
        bj_out_text(r->to, s);
}

void bj_put_number(struct bj_rows *r, struct bj_slice s)
{
    if (!s.p)
        bj_put_null(r);
    else
        put_plain(r, s.p, s.n);
}

void bj_put_int(struct bj_rows *r, int64_t v)
{
    char *p = open_value(r, BJ_DIGITS_ROOM);
    if (p)
        close_value(r, bj_digits_i64(p, v));
}

void bj_put_fixed(struct bj_rows *r, int64_t v, unsigned digits)
{
    put_plain(r, "-", v < 0);
    bj_buf_fixed(r->to, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v, digits);
}

void bj_put_bool(struct bj_rows *r, bool v)
{
    put_plain(r, v ? "true" : "false", v ? 4 : 5);
}

/* A date with the 'T' behind it.  Times that follow each other are often of one
 * day. */
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
