#include "base/buf.h"

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

/* "000", "001" ... "999", four bytes each: three digits at a time take a third
 * of the divisions. */
#define TEN(d)                                                                 \
    d "0\0" d "1\0" d "2\0" d "3\0" d "4\0" d "5\0" d "6\0" d "7\0" d "8\0" d  \
      "9\0"
#define TENS(d)                                                                \
    TEN(d "0")                                                                 \
    TEN(d "1")                                                                 \
    TEN(d "2")                                                                 \
    TEN(d "3") TEN(d "4") TEN(d "5") TEN(d "6") TEN(d "7") TEN(d "8") TEN(d "9")
static const char triples[] = TENS("0") TENS("1") TENS("2") TENS("3") TENS("4")
    TENS("5") TENS("6") TENS("7") TENS("8") TENS("9");

enum { NUMBER_ROOM = 24, MILLION = 1000000 };

/* Six digits of v, with leading zeros; writes one byte more. */
static inline char *put_six(char *p, uint32_t v)
{
    memcpy(p, triples + v / 1000 * 4, 4);
    memcpy(p + 3, triples + v % 1000 * 4, 4);
    return p + 6;
}

/* v, below a million, without leading zeros. */
static inline char *put_first(char *p, uint32_t v)
{
    const uint32_t high = v >= 1000 ? v / 1000 : v;
    const unsigned zeros = (unsigned)(high < 10) + (unsigned)(high < 100);
    memcpy(p, triples + high * 4 + zeros, 4);
    p += 3 - zeros;
    if (v < 1000)
        return p;
    memcpy(p, triples + (v - high * 1000) * 4, 4);
    return p + 3;
}

static char *put_large(char *p, uint64_t v) __attribute__((noinline));

/* Write v at p and return its end; may write up to NUMBER_ROOM bytes. */
__attribute__((always_inline)) static inline char *put_u64(char *p, uint64_t v)
{
    if (v < MILLION)
        return put_first(p, (uint32_t)v);
    const uint64_t high = v / MILLION;
    p = high < MILLION ? put_first(p, (uint32_t)high) : put_large(p, high);
    return put_six(p, (uint32_t)(v - high * MILLION));
}

/* Rare, so not inline. */
static char *put_large(char *p, uint64_t v)
{
    return put_u64(p, v);
}

static inline char *cut_zeros(char *end)
{
    while (end[-1] == '0')
        end--;
    return end;
}

/* "." and the digits of part (not 0) / 10^digits without trailing zeros. */
static char *put_part(char *p, uint64_t part, unsigned digits)
{
    *p++ = '.';
    for (; digits > 6; digits -= 6) {
        uint64_t scale = power10[digits - 6];
        p = put_six(p, (uint32_t)(part / scale));
        part %= scale;
    }
    return cut_zeros(put_six(p, (uint32_t)(part * power10[6 - digits])));
}

char *bj_u64_backwards(char *end, uint64_t v)
{
    char text[NUMBER_ROOM];
    size_t n = (size_t)(put_u64(text, v) - text);
    return memcpy(end - n, text, n);
}

void bj_buf_u64(struct bj_buf *b, uint64_t v)
{
    if (bj_buf_room(b, NUMBER_ROOM))
        b->len = (size_t)(put_u64(b->p + b->len, v) - b->p);
}

/* Microseconds, by far the most common: division by constants is cheaper. */
static inline char *put_micro(char *p, uint64_t v)
{
    const uint64_t whole = v / MILLION;
    const uint32_t part = (uint32_t)(v - whole * MILLION);
    p = put_u64(p, whole);
    if (part == 0)
        return p;
    *p = '.';
    return cut_zeros(put_six(p + 1, part));
}

void bj_buf_fixed(struct bj_buf *b, uint64_t v, unsigned digits)
{
    if (!bj_buf_room(b, 2 * NUMBER_ROOM + 1))
        return;
    char *p = b->p + b->len;
    if (digits == 6) {
        p = put_micro(p, v);
    } else {
        const uint64_t part = v % power10[digits];
        p = put_u64(p, v / power10[digits]);
        if (part > 0)
            p = put_part(p, part, digits);
    }
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
