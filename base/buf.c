#include "base/buf.h"

#include "base/digits.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void bj_buf_free(struct bj_buf *b)
{
    free(b->p);
    *b = (struct bj_buf){0};
}

bool bj_buf_grow(struct bj_buf *b, size_t n)
{
    if (b->failed)
        return false;
    if (b->cap - b->len >= n)
        return true;
    size_t cap = b->cap < 256 ? 256 : b->cap;
    while (cap - b->len < n && cap <= SIZE_MAX / 4)
        cap *= 2;
    char *p = cap - b->len < n ? NULL : realloc(b->p, cap);
    if (!p) {
        /* No room is left, so every later write fails here too: there are no
         * gaps. */
        b->failed = true;
        b->cap = b->len;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void bj_buf_clean(struct bj_buf *b, struct bj_slice s)
{
    size_t cap = 3 * s.n + 1; /* U+FFFD has three bytes */
    if (s.n > 0 && bj_buf_room(b, cap))
        b->len += bj_text_clean(s, b->p + b->len, cap);
}

void bj_buf_trim(struct bj_buf *b)
{
    enum { WORTH = 256 * 1024 };
    char *p =
        b->cap - b->len < WORTH || b->len == 0 ? NULL : realloc(b->p, b->len);
    if (p) {
        b->p = p;
        b->cap = b->len;
    }
}

void bj_buf_str(struct bj_buf *b, const char *s)
{
    bj_buf_put(b, s, strlen(s));
}

void bj_buf_printf(struct bj_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    size_t room = b->cap - b->len;
    int n = vsnprintf(room > 0 ? b->p + b->len : NULL, room, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
        b->cap = b->len;
        return;
    }
    size_t len = (size_t)n;
    if (len >= room) {
        if (!bj_buf_grow(b, len + 1))
            return;
        va_start(ap, fmt);
        vsnprintf(b->p + b->len, len + 1, fmt, ap);
        va_end(ap);
    }
    b->len += len;
}

static const uint64_t power10[] = {
    1u,
    10u,
    100u,
    1000u,
    10000u,
    100000u,
    1000000u,
    10000000u,
    100000000u,
    1000000000u,
    10000000000u,
    100000000000u,
    1000000000000u,
    10000000000000u,
    100000000000000u,
    1000000000000000u,
    10000000000000000u,
    100000000000000000u,
    1000000000000000000u,
    10000000000000000000u,
};

char *bj_u64_backwards(char *end, uint64_t v)
{
    char text[BJ_DIGITS_ROOM];
    size_t n = (size_t)(bj_digits_u64(text, v) - text);
    return memcpy(end - n, text, n);
}

void bj_buf_u64(struct bj_buf *b, uint64_t v)
{
    if (bj_buf_room(b, BJ_DIGITS_ROOM))
        b->len = (size_t)(bj_digits_u64(b->p + b->len, v) - b->p);
}

/* v / 10^digits: the digits after the point are those of 10^digits + part,
 * whose first digit makes room for the point. */
static char *put_fixed(char *p, uint64_t v, unsigned digits)
{
    const uint64_t scale = power10[digits], part = v % scale;
    p = bj_digits_u64(p, v / scale);
    if (part == 0)
        return p;
    char *end = bj_digits_u64(p, scale + part);
    *p = '.';
    while (end[-1] == '0')
        end--;
    return end;
}

void bj_buf_fixed(struct bj_buf *b, uint64_t v, unsigned digits)
{
    if (!bj_buf_room(b, 2 * BJ_DIGITS_ROOM))
        return;
    char *p = b->p + b->len;
    p = digits == 6 ? bj_digits_micro(p, v) : put_fixed(p, v, digits);
    b->len = (size_t)(p - b->p);
}

void bj_buf_label(struct bj_buf *b, struct bj_slice s)
{
    size_t from = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c != '\\' && c != '"' && c != '\n')
            continue;
        char esc[2] = {'\\', c == '\n' ? 'n' : c};
        bj_buf_put(b, s.p + from, i - from);
        bj_buf_put(b, esc, 2);
        from = i + 1;
    }
    if (from < s.n)
        bj_buf_put(b, s.p + from, s.n - from);
}

/* --- base64 ----------------------------------------------------------------*/

void bj_base64_put(struct bj_buf *out, struct bj_slice s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs"
                                 "tuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)s.p;
    for (size_t i = 0; i < s.n; i += 3) {
        unsigned v = (unsigned)p[i] << 16 |
                     (i + 1 < s.n ? (unsigned)p[i + 1] << 8 : 0) |
                     (i + 2 < s.n ? (unsigned)p[i + 2] : 0);
        const char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
                              i + 1 < s.n ? digits[v >> 6 & 63] : '=',
                              i + 2 < s.n ? digits[v & 63] : '='};
        bj_buf_put(out, four, sizeof(four));
    }
}
