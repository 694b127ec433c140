#include "promql/literal.h"

#include "base/buf.h"

#include <errno.h>

static bool literal_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
    if (literal_is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copy a number without underscores; an underscore must be between two digits,
 * or between a prefix and a digit. */
static int without_underscores(struct bj_slice s, char *dst, size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '_') {
            dst[n++] = s.p[i];
            continue;
        }
        bool prefix = i == 2 && s.p[0] == '0' && (s.p[1] | 0x20) == 'x';
        bool hex = s.n > 2 && s.p[0] == '0' && (s.p[1] | 0x20) == 'x';
        if (i == 0 || i + 1 == s.n || hex_digit(s.p[i + 1]) < 0 ||
            (!prefix && hex_digit(s.p[i - 1]) < 0) ||
            (!hex &&
             (!literal_is_digit(s.p[i - 1]) || !literal_is_digit(s.p[i + 1]))))
            return -EINVAL;
    }
    *ret_n = n;
    return 0;
}

static int parse_integer(struct bj_slice digits, unsigned base,
                         struct bj_arena *arena, struct bj_slice *ret)
{
    uint64_t v = 0;
    if (digits.n == 0)
        return -EINVAL;
    for (size_t i = 0; i < digits.n; i++) {
        int d = hex_digit(digits.p[i]);
        if (d < 0 || (unsigned)d >= base)
            return -EINVAL;
        if (v > ((uint64_t)INT64_MAX - (unsigned)d) / base)
            return -ERANGE;
        v = v * base + (unsigned)d;
    }
    char buf[20], *end = buf + sizeof buf, *p = bj_u64_backwards(end, v);
    *ret = bj_arena_copy(arena, (struct bj_slice){p, (size_t)(end - p)});
    return 0;
}

static bool all(struct bj_slice s, char last)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > last)
            return false;
    return s.n > 0;
}

/* A decimal number in pieces. */
struct decimal {
    struct bj_slice before, after; /* digits before and after the point */
    struct bj_slice exponent;      /* digits, without leading zeros */
    bool negative;                 /* the exponent */
};

static struct bj_slice cut_digits(struct bj_slice *s)
{
    struct bj_slice d = {s->p, 0};
    while (s->n > 0 && literal_is_digit(*s->p)) {
        s->p++;
        s->n--;
        d.n++;
    }
    return d;
}

static struct bj_slice cut_zeros(struct bj_slice s)
{
    while (s.n > 0 && *s.p == '0') {
        s.p++;
        s.n--;
    }
    return s;
}

static bool cut_char(struct bj_slice *s, char c)
{
    if (s->n == 0 || *s->p != c)
        return false;
    s->p++;
    s->n--;
    return true;
}

static int decimal(struct bj_slice s, struct decimal *d)
{
    *d = (struct decimal){0};
    d->before = cut_digits(&s);
    if (cut_char(&s, '.'))
        d->after = cut_digits(&s);
    if (d->before.n + d->after.n == 0)
        return -EINVAL;
    if (cut_char(&s, 'e') || cut_char(&s, 'E')) {
        d->negative = cut_char(&s, '-');
        if (!d->negative)
            (void)cut_char(&s, '+');
        d->exponent = cut_digits(&s);
        if (d->exponent.n == 0)
            return -EINVAL;
        d->exponent = cut_zeros(d->exponent);
    }
    d->before = cut_zeros(d->before);
    while (d->after.n > 0 && d->after.p[d->after.n - 1] == '0')
        d->after.n--;
    return s.n == 0 ? 0 : -EINVAL;
}

/* Is the value at most 10^308?  The few larger doubles are refused, too. */
static bool in_range(const struct decimal *d)
{
    uint64_t e = 0;
    size_t zeros = d->after.n - cut_zeros(d->after).n;
    if (d->before.n == 0 && d->after.n == zeros)
        return true;
    if (bj_slice_u64(d->exponent, &e) != 0 && d->exponent.n > 0)
        e = UINT32_MAX;
    if (e > UINT32_MAX)
        e = UINT32_MAX;
    int64_t digits = d->before.n > 0 ? (int64_t)d->before.n : -(int64_t)zeros;
    return digits + (d->negative ? -(int64_t)e : (int64_t)e) <= 308;
}

int bj_promql_number(struct bj_slice s, struct bj_arena *arena,
                     struct bj_slice *ret)
{
    if (s.n > 400)
        return -ERANGE;
    char text[400];
    size_t n = 0;
    if (without_underscores(s, text, &n))
        return -EINVAL;
    struct bj_slice t = {text, n};
    if (n > 2 && text[0] == '0' && (text[1] | 0x20) == 'x')
        return parse_integer((struct bj_slice){text + 2, n - 2}, 16, arena,
                             ret);
    if (n > 1 && text[0] == '0' && all(t, '7'))
        return parse_integer(t, 8, arena, ret);
    struct decimal d;
    if (decimal(t, &d))
        return -EINVAL;
    if (!in_range(&d))
        return -ERANGE;
    char out[420];
    struct bj_slice pieces[] = {
        d.before.n ? d.before : BJ_SLICE("0"),
        d.after.n ? BJ_SLICE(".") : BJ_SLICE(""),
        d.after,
        d.exponent.n ? (d.negative ? BJ_SLICE("e-") : BJ_SLICE("e"))
                     : BJ_SLICE(""),
        d.exponent,
    };
    size_t m = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        if (pieces[i].n > 0)
            memcpy(out + m, pieces[i].p, pieces[i].n);
        m += pieces[i].n;
    }
    *ret = bj_arena_copy(arena, (struct bj_slice){out, m});
    return 0;
}

/* Maximum of Go's time.Duration, which has nanoseconds in 64 bits. */
#define DURATION_MAX_MS (INT64_MAX / 1000000)

static int literal_seconds(struct bj_slice s, int64_t *ret_ms)
{
    struct bj_arena arena = {0};
    struct bj_slice plain = {0};
    struct decimal d;
    uint64_t v = 0;
    int e = bj_promql_number(s, &arena, &plain);
    if (e == 0)
        e = decimal(plain, &d);
    if (e == 0 && (d.exponent.n > 0 || d.after.n > 3))
        e = -EINVAL;
    if (e == 0 && d.before.n > 0)
        e = bj_slice_u64(d.before, &v);
    if (e == 0 && v > (uint64_t)DURATION_MAX_MS / 1000 - 1)
        e = -ERANGE;
    for (size_t i = 0; e == 0 && i < 3; i++)
        v = v * 10 + (i < d.after.n ? (unsigned)(d.after.p[i] - '0') : 0);
    bj_arena_free(&arena);
    if (e == 0)
        *ret_ms = (int64_t)v;
    return e;
}

int bj_promql_duration(struct bj_slice s, int64_t *ret_ms)
{
    static const struct {
        char name[3];
        unsigned char n;
        int64_t ms;
    } units[] = {{"y", 1, 31536000000}, {"w", 1, 604800000}, {"d", 1, 86400000},
                 {"h", 1, 3600000},     {"m", 1, 60000},     {"s", 1, 1000},
                 {"ms", 2, 1}};
    const size_t count = sizeof units / sizeof *units;
    size_t next = 0;
    int64_t sum = 0;
    if (s.n == 0 || literal_is_digit(s.p[s.n - 1]) || s.p[s.n - 1] == '.')
        return literal_seconds(s, ret_ms);
    while (s.n > 0) {
        uint64_t v;
        struct bj_slice digits = cut_digits(&s);
        if (digits.n == 0)
            return -EINVAL;
        if (bj_slice_u64(digits, &v) || v > (uint64_t)DURATION_MAX_MS)
            return -ERANGE;
        struct bj_slice unit = {s.p, 0};
        for (; s.n > 0 && !literal_is_digit(*s.p); s.p++, s.n--)
            unit.n++;
        while (next < count && !(unit.n == units[next].n &&
                                 memcmp(unit.p, units[next].name, unit.n) == 0))
            next++;
        if (next == count)
            return -EINVAL;
        if ((int64_t)v > (DURATION_MAX_MS - sum) / units[next].ms)
            return -ERANGE;
        sum += (int64_t)v * units[next++].ms;
    }
    *ret_ms = sum;
    return 0;
}

unsigned bj_promql_utf8_len(struct bj_slice s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    if (s.n == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    unsigned n = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || s.n < n)
        return 0;
    for (unsigned i = 1; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) ||
        (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return n;
}

bool bj_promql_utf8(struct bj_slice s)
{
    for (unsigned n; s.n > 0; s.p += n, s.n -= n)
        if ((n = bj_promql_utf8_len(s)) == 0)
            return false;
    return true;
}

static size_t put_utf8(char *dst, uint32_t c)
{
    if (c < 0x80) {
        dst[0] = (char)c;
        return 1;
    }
    unsigned n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (unsigned i = n; i-- > 1; c >>= 6)
        dst[i] = (char)(0x80 | (c & 0x3F));
    dst[0] = (char)((0xF00u >> n & 0xFF) | c);
    return n;
}

/* Read a number with this many digits in base 8 or 16 at the start of s. */
static bool fixed_digits(struct bj_slice *s, unsigned digits, unsigned base,
                         uint32_t *ret)
{
    uint32_t v = 0;
    if (s->n < digits)
        return false;
    for (unsigned i = 0; i < digits; i++) {
        int d = hex_digit(s->p[i]);
        if (d < 0 || (unsigned)d >= base)
            return false;
        v = v * base + (unsigned)d;
    }
    s->p += digits;
    s->n -= digits;
    *ret = v;
    return true;
}

/* Decode the characters after a backslash; returns the number of bytes written,
 * 0 if they are wrong. */
static size_t escape(struct bj_slice *s, char quote, char *dst)
{
    static const char from[] = "abfnrtv\\", to[] = "\a\b\f\n\r\t\v\\";
    if (s->n == 0 || *s->p == '\0')
        return 0;
    char c = *s->p;
    const char *simple = strchr(from, c);
    uint32_t v;
    if (simple || c == quote) {
        s->p++;
        s->n--;
        *dst = simple ? to[simple - from] : quote;
        return 1;
    }
    if (c >= '0' && c <= '7') {
        if (!fixed_digits(s, 3, 8, &v) || v > 255)
            return 0;
        *dst = (char)v;
        return 1;
    }
    s->p++;
    s->n--;
    if (c == 'x') {
        if (!fixed_digits(s, 2, 16, &v))
            return 0;
        *dst = (char)v;
        return 1;
    }
    if ((c != 'u' && c != 'U') || !fixed_digits(s, c == 'u' ? 4 : 8, 16, &v) ||
        v > 0x10FFFF || (v >= 0xD800 && v < 0xE000))
        return 0;
    return put_utf8(dst, v);
}

int bj_promql_string(struct bj_slice quoted, struct bj_arena *arena,
                     struct bj_slice *ret)
{
    if (quoted.n < 2)
        return -EINVAL;
    char quote = quoted.p[0];
    struct bj_slice s = {quoted.p + 1, quoted.n - 2};
    if (quote == '`' || !memchr(s.p, '\\', s.n)) {
        *ret = bj_arena_copy(arena, s);
        return 0;
    }
    char *dst = bj_arena_alloc(arena, s.n + 1);
    size_t n = 0;
    if (!dst)
        return -ENOMEM;
    while (s.n > 0) {
        char c = *s.p++;
        s.n--;
        if (c != '\\') {
            dst[n++] = c;
            continue;
        }
        /* an escape sequence is never shorter than its bytes */
        size_t m = escape(&s, quote, dst + n);
        if (m == 0)
            return -EINVAL;
        n += m;
    }
    *ret = (struct bj_slice){dst, n};
    return 0;
}
