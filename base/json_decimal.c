#include "base/json.h"

#include <errno.h>

/* A number as written: the digits before and after the point, and by how many
 * digits the exponent moves the point to the right. */
struct decimal {
    bool minus;
    struct bj_slice whole, part;
    int64_t shift;
};

enum { SHIFT_MAX = 1000000 }; /* also for all larger shifts */

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

static struct bj_slice cut_digits(struct bj_slice *s)
{
    struct bj_slice d = {s->p, 0};
    while (d.n < s->n && is_digit(s->p[d.n]))
        d.n++;
    s->p += d.n;
    s->n -= d.n;
    return d;
}

static bool cut_char(struct bj_slice *s, char a, char b)
{
    if (s->n == 0 || (s->p[0] != a && s->p[0] != b))
        return false;
    s->p++;
    s->n--;
    return true;
}

static bool cut_sign(struct bj_slice *s)
{
    return cut_char(s, '-', '-') || (cut_char(s, '+', '+'), false);
}

/* Cut the exponent after the 'e'; false when it is not a number. */
static bool cut_exponent(struct bj_slice *s, int64_t *ret)
{
    bool minus = cut_sign(s);
    struct bj_slice digits = cut_digits(s);
    uint64_t e = SHIFT_MAX;
    if (digits.n == 0)
        return false;
    if (bj_slice_u64(digits, &e) < 0 || e > SHIFT_MAX)
        e = SHIFT_MAX;
    *ret = minus ? -(int64_t)e : (int64_t)e;
    return true;
}

static int take_apart(struct bj_slice s, struct decimal *ret)
{
    struct decimal d = {0};
    s = bj_slice_trim(s);
    if (s.n == 0)
        return -ENOENT;
    d.minus = cut_sign(&s);
    d.whole = cut_digits(&s);
    if (cut_char(&s, '.', '.'))
        d.part = cut_digits(&s);
    if (d.whole.n + d.part.n == 0)
        return -EINVAL;
    if (cut_char(&s, 'e', 'E') && !cut_exponent(&s, &d.shift))
        return -EINVAL;
    if (s.n > 0)
        return -EINVAL;
    *ret = d;
    return 0;
}

/* Digit i of whole and part in a row; 0 after the end. */
static unsigned digit(const struct decimal *d, int64_t i)
{
    size_t at = (size_t)i;
    if (i < 0)
        return 0;
    if (at < d->whole.n)
        return (unsigned)(d->whole.p[at] - '0');
    at -= d->whole.n;
    return at < d->part.n ? (unsigned)(d->part.p[at] - '0') : 0;
}

/* The number without its sign, times 10^digits.  Only the first digit that is
 * cut off decides on rounding. */
static int magnitude(const struct decimal *d, unsigned digits, uint64_t *ret)
{
    const int64_t have = (int64_t)(d->whole.n + d->part.n);
    const int64_t want = (int64_t)d->whole.n + d->shift + digits;
    int64_t i = 0;
    uint64_t v = 0;
    while (i < have && i < want && digit(d, i) == 0)
        i++;
    for (; i < want && (i < have || v > 0); i++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, digit(d, i), &v))
            return -ERANGE;
    if (digit(d, want) >= 5 && __builtin_add_overflow(v, 1, &v))
        return -ERANGE;
    *ret = v;
    return 0;
}

static int read_number(struct bj_slice text, unsigned digits, bool *ret_minus,
                       uint64_t *ret)
{
    struct decimal d;
    int r = take_apart(text, &d);
    if (r < 0)
        return r;
    *ret_minus = d.minus;
    return magnitude(&d, digits, ret);
}

int bj_decimal_u64(struct bj_slice text, unsigned digits, uint64_t *ret)
{
    bool minus;
    uint64_t v;
    int r = read_number(text, digits, &minus, &v);
    if (r < 0)
        return r;
    if (minus && v > 0)
        return -ERANGE;
    *ret = v;
    return 0;
}

int bj_decimal_i64(struct bj_slice text, unsigned digits, int64_t *ret)
{
    bool minus;
    uint64_t v;
    int r = read_number(text, digits, &minus, &v);
    if (r < 0)
        return r;
    if (v > (uint64_t)INT64_MAX + (minus ? 1 : 0))
        return -ERANGE;
    /* In two steps, since INT64_MIN has no positive counterpart. */
    *ret = minus && v > 0 ? -(int64_t)(v - 1) - 1 : (int64_t)v;
    return 0;
}
