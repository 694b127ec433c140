#include "base/buf.h"

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
        /* Without room left, whatever follows fails here again: nothing is
         * written behind a gap. */
        b->failed = true;
        b->cap = b->len;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
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

static const char pairs[] = "00010203040506070809"
                            "10111213141516171819"
                            "20212223242526272829"
                            "30313233343536373839"
                            "40414243444546474849"
                            "50515253545556575859"
                            "60616263646566676869"
                            "70717273747576777879"
                            "80818283848586878889"
                            "90919293949596979899";

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

/* Decimal digits of v; 1233/4096 is log10(2) closely enough for 64 bits. */
static inline unsigned digits_of(uint64_t v)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1);
    unsigned n = bits * 1233 >> 12;
    return n + (v >= power10[n]) + (v == 0);
}

static inline char *backwards(char *end, uint64_t v)
{
    while (v >= 100) {
        uint64_t q = v / 100;
        end -= 2;
        memcpy(end, pairs + (v - q * 100) * 2, 2);
        v = q;
    }
    if (v >= 10) {
        end -= 2;
        memcpy(end, pairs + v * 2, 2);
    } else {
        *--end = (char)('0' + v);
    }
    return end;
}

char *bj_u64_backwards(char *end, uint64_t v)
{
    return backwards(end, v);
}

void bj_buf_u64(struct bj_buf *b, uint64_t v)
{
    if (!bj_buf_room(b, 20))
        return;
    unsigned n = digits_of(v);
    backwards(b->p + b->len + n, v);
    b->len += n;
}

void bj_buf_fixed(struct bj_buf *b, uint64_t v, unsigned digits)
{
    /* Microseconds are by far the most common: a constant divides cheaper. */
    uint64_t scale = power10[digits];
    uint64_t whole = digits == 6 ? v / 1000000 : v / scale;
    uint64_t part = v - whole * scale;
    bj_buf_u64(b, whole);
    if (part == 0 || !bj_buf_room(b, 20))
        return;
    while (part % 100 == 0) {
        part /= 100;
        digits -= 2;
    }
    if (part % 10 == 0) {
        part /= 10;
        digits--;
    }
    char *p = b->p + b->len;
    *p = '.';
    char *first = backwards(p + 1 + digits, part);
    while (first > p + 1)
        *--first = '0';
    b->len += 1 + digits;
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
