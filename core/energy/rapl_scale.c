#include "core/energy/rapl_scale.h"

#include "base/absent.h"

#include <errno.h>

enum { PLACES = 64 };

/* A decimal number as 0.d0d1d2... times ten to the power of exponent, without
 * zeros at its ends. */
struct decimal {
    size_t n;
    unsigned char d[PLACES];
    int exponent;
};

static bool take_exponent(struct bj_slice *s, int *exponent)
{
    uint64_t v;
    if (s->n < 2 || (s->p[0] != 'e' && s->p[0] != 'E'))
        return s->n == 0;
    size_t sign = s->p[1] == '-' || s->p[1] == '+';
    bool minus = s->p[1] == '-';
    struct bj_slice rest = {s->p + 1 + sign, s->n - 1 - sign};
    if (bj_slice_u64(rest, &v) < 0 || v > PLACES)
        return false;
    *exponent += minus ? -(int)v : (int)v;
    return true;
}

static bool decimal_of(struct bj_slice s, struct decimal *ret)
{
    struct decimal x = {0};
    bool point = false, any = false;
    for (; s.n > 0; s.p++, s.n--) {
        unsigned d = (unsigned char)s.p[0] - (unsigned)'0';
        if (s.p[0] == '.' && !point) {
            point = true;
            continue;
        }
        if (d > 9)
            break;
        any = true;
        if (x.n == PLACES)
            return false;
        if (x.n > 0 || d > 0) {
            x.d[x.n++] = (unsigned char)d;
            x.exponent += !point;
        } else {
            x.exponent -= point;
        }
    }
    while (x.n > 0 && x.d[x.n - 1] == 0)
        x.n--;
    *ret = x;
    return any && x.n > 0 && take_exponent(&s, &ret->exponent);
}

/* Double 0.d0d1d2...; returns the carry before the point. */
static unsigned double_it(unsigned char *d, size_t n)
{
    unsigned carry = 0;
    while (n-- > 0) {
        unsigned v = 2u * d[n] + carry;
        d[n] = (unsigned char)(v % 10);
        carry = v / 10;
    }
    return carry;
}

/* 2^-k becomes 1 after k doublings. */
int bj_rapl_scale(struct bj_slice text, unsigned *ret_shift)
{
    struct decimal x;
    unsigned char d[2 * PLACES] = {0};
    static const unsigned char zero[2 * PLACES];
    if (!decimal_of(text, &x))
        return -EBADMSG;
    if (x.exponent == 1 && x.n == 1 && x.d[0] == 1) {
        *ret_shift = 0;
        return 0;
    }
    if (x.exponent > 0 || x.exponent < -PLACES)
        return -EBADMSG;
    memcpy(d + -x.exponent, x.d, x.n);
    for (unsigned k = 1; k <= BJ_RAPL_SHIFT_MAX; k++) {
        if (double_it(d, sizeof(d)) == 0)
            continue;
        if (memcmp(d, zero, sizeof(d)) != 0)
            return -EBADMSG;
        *ret_shift = k;
        return 0;
    }
    return -EBADMSG;
}

/* The remainder times a million fits into 64 bits, since 2^44 * 10^6 does.  The
 * whole count is converted each time, so rounding errors do not add up. */
int bj_rapl_uj(uint64_t count, unsigned shift, uint64_t *ret)
{
    uint64_t joules = count >> shift, uj;
    uint64_t rest = count & ((UINT64_C(1) << shift) - 1);
    if (__builtin_mul_overflow(joules, UINT64_C(1000000), &uj) ||
        __builtin_add_overflow(uj, rest * 1000000 >> shift, &uj) ||
        uj == BJ_ABSENT)
        return -ERANGE;
    *ret = uj;
    return 0;
}
