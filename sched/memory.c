#include "sched/memory.h"

#include "sched/number.h"

#include <errno.h>

/* How often to multiply by the base; -1: not a unit letter. */
static int power_of(char c)
{
    switch (c) {
    case 'k':
    case 'K':
        return 1;
    case 'm':
    case 'M':
        return 2;
    case 'g':
    case 'G':
        return 3;
    case 't':
    case 'T':
        return 4;
    case 'p':
    case 'P':
        return 5;
    case 'e':
    case 'E':
    case '?':
        return 6;
    default:
        return -1;
    }
}

/* Cut the digits after a point off *s as millionths; Slurm and PBS print at
 * most six. */
static int cut_fraction(struct bj_slice *s, uint64_t *ret)
{
    uint64_t v = 0, weight = 100000;
    size_t i = 1;
    for (; i < s->n && (unsigned char)(s->p[i] - '0') <= 9; i++) {
        v += weight * (unsigned char)(s->p[i] - '0');
        weight /= 10;
    }
    if (i == 1)
        return -EINVAL;
    s->p += i;
    s->n -= i;
    *ret = v;
    return 0;
}

/* The unit in s, or unit without one. */
static int cut_unit(struct bj_slice s, uint64_t unit, uint64_t base,
                    uint64_t *ret)
{
    const int power = s.n > 0 ? power_of(s.p[0]) : 0;
    if (power > 0) {
        s.p++;
        s.n--;
        unit = 1ull << 10 * power;
        for (int i = 0; base != 1024 && i < power; i++)
            unit = i == 0 ? base : unit * base;
    }
    if (s.n == 1 && (s.p[0] == 'b' || s.p[0] == 'B'))
        unit = power > 0 ? unit : 1;
    else if (s.n == 1 && (s.p[0] == 'w' || s.p[0] == 'W'))
        unit = (power > 0 ? unit : 1) * 8;
    else if (s.n > 0)
        return -EINVAL;
    *ret = unit;
    return 0;
}

int bj_memory_scaled(struct bj_slice s, uint64_t unit, uint64_t base,
                     uint64_t *ret)
{
    uint64_t whole, millionths = 0, scale, bytes;
    if (s.n == 0)
        return -EINVAL;
    const char *behind = bj_digits_at(s.p, s.p + s.n, &whole);
    const size_t digits = (size_t)(behind - s.p);
    if (digits == 0)
        return -EINVAL;
    if (digits == 18 && !bj_slice_number(&s, &whole))
        return -ERANGE;
    if (digits < 18)
        s = (struct bj_slice){behind, s.n - digits};
    if (s.n > 0 && s.p[0] == '.') {
        int r = cut_fraction(&s, &millionths);
        if (r < 0)
            return r;
    }
    int r = cut_unit(s, unit, base, &scale);
    if (r < 0)
        return r;
    if (__builtin_mul_overflow(whole, scale, &bytes))
        return -ERANGE;
    if (millionths == 0) {
        *ret = bytes;
        return 0;
    }
    /* In two parts, since an exabyte times a million does not fit. */
    const uint64_t part =
        scale / 1000000 * millionths + scale % 1000000 * millionths / 1000000;
    if (__builtin_add_overflow(bytes, part, &bytes))
        return -ERANGE;
    *ret = bytes;
    return 0;
}

int bj_memory_parse(struct bj_slice s, uint64_t unit, uint64_t *ret)
{
    return bj_memory_scaled(s, unit, 1024, ret);
}

int bj_memory_request(struct bj_slice s, uint64_t *ret,
                      enum bj_memory_per *ret_per)
{
    enum bj_memory_per per = BJ_MEMORY_JOB;
    const char last = s.n > 1 ? s.p[s.n - 1] : 0;
    if (last == 'n' || last == 'c') {
        per = last == 'n' ? BJ_MEMORY_NODE : BJ_MEMORY_CPU;
        s.n--;
    }
    int r = bj_memory_parse(s, 1 << 20, ret);
    if (r == 0)
        *ret_per = per;
    return r;
}
