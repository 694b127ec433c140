/* Digits within a longer text. */
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

/* The two digits at p; 100 and more when they are not digits. */
static inline unsigned bj_two_digits(const char *p)
{
    const unsigned a = (unsigned char)(p[0] - '0');
    const unsigned b = (unsigned char)(p[1] - '0');
    return a > 9 || b > 9 ? 100 : 10 * a + b;
}

#endif
