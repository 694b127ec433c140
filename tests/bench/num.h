/* Numbers from command lines and kernel files, for the benchmarks; shares no
 * code with the measured programs. */
#ifndef BJ_TESTS_BENCH_NUM_H
#define BJ_TESTS_BENCH_NUM_H

#include <stdint.h>

/* The decimal number that *s starts with (0 when none); *s moves after it. */
static inline uint64_t bench_number(const char **s)
{
    uint64_t v = 0;
    const char *p = *s;
    for (; *p >= '0' && *p <= '9'; p++)
        v = v * 10 + (uint64_t)(*p - '0');
    *s = p;
    return v;
}

static inline uint64_t bench_u64(const char *s)
{
    return bench_number(&s);
}

#endif
