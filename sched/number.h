/* Short numbers, of which an accounting line has dozens: the same as
 * bj_slice_u64, optimized for one to ten digits. */
#ifndef BJ_SCHED_NUMBER_H
#define BJ_SCHED_NUMBER_H

#include "base/slice.h"

#include <stdint.h>

/* The digits at p, at most 18; returns their end. */
static inline const char *bj_digits_at(const char *p, const char *end,
                                       uint64_t *ret)
{
    uint64_t v = 0;
    unsigned d;
    if (end - p > 18)
        end = p + 18;
    for (; p < end && (d = (unsigned char)(*p - '0')) <= 9; p++)
        v = v * 10 + d;
    *ret = v;
    return p;
}

/* All of s as a decimal number; 0, -EINVAL or -ERANGE. */
static inline int bj_number(struct bj_slice s, uint64_t *ret)
{
    uint64_t v;
    if (s.n == 0 || s.n > 18 || bj_digits_at(s.p, s.p + s.n, &v) < s.p + s.n)
        return bj_slice_u64(s, ret);
    *ret = v;
    return 0;
}

/* The two digits at p; 100 and more when they are not digits. */
static inline unsigned bj_two_digits(const char *p)
{
    const unsigned a = (unsigned char)(p[0] - '0');
    const unsigned b = (unsigned char)(p[1] - '0');
    return a > 9 || b > 9 ? 100 : 10 * a + b;
}

#endif
