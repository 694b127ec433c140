#include "sched/duration.h"

#include "sched/job.h"
#include "sched/number.h"
#include "sched/word.h"

#include <errno.h>

static const struct {
    struct bj_slice word;
    uint64_t value;
} words[] = {
    {BJ_WORD("UNLIMITED"), BJ_UNLIMITED},
    {BJ_WORD("Partition_Limit"), BJ_ABSENT},
    {BJ_WORD("INVALID"), BJ_ABSENT},
    {BJ_WORD("Unknown"), BJ_ABSENT},
    {BJ_WORD("None"), BJ_ABSENT},
    {BJ_WORD("N/A"), BJ_ABSENT},
    {BJ_WORD("INFINITE"), BJ_UNLIMITED},
    {BJ_WORD("NOT_SET"), BJ_ABSENT},
};

static int from_word(struct bj_slice s, uint64_t *ret)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (bj_slice_eq(s, words[i].word)) {
            *ret = words[i].value;
            return 0;
        }
    }
    return -EINVAL;
}

/* ".456" as microseconds, all of s. */
static int fraction(struct bj_slice s, uint64_t *ret)
{
    uint64_t v = 0, weight = 100000;
    if (s.n < 2)
        return -EINVAL;
    for (size_t i = 1; i < s.n; i++) {
        const unsigned d = (unsigned char)(s.p[i] - '0');
        if (d > 9)
            return -EINVAL;
        v += weight * d;
        weight /= 10;
    }
    *ret = v;
    return 0;
}

/* Up to four numbers, and the character after each. */
struct fields {
    uint64_t v[4];
    unsigned n;
    bool day;
    uint64_t usec;
};

static int cut_fields(struct bj_slice s, struct fields *f)
{
    const char *p = s.p;
    const char *const end = s.p + s.n;
    for (;;) {
        const char *behind = bj_digits_at(p, end, &f->v[f->n]);
        if (behind == p)
            return -EINVAL;
        f->n++;
        if (behind == end)
            return 0;
        if (*behind == '.')
            return fraction((struct bj_slice){behind, (size_t)(end - behind)},
                            &f->usec);
        if (*behind == '-' && f->n == 1)
            f->day = true;
        else if (*behind != ':')
            return behind - p == 18 ? -ERANGE : -EINVAL;
        if (f->n == 4)
            return -EINVAL;
        p = behind + 1;
    }
}

/* The common forms "HH:MM:SS" and "MM:SS.mmm"; false for all others. */
static bool common(const char *p, size_t n, uint64_t *ret)
{
    if ((n != 8 && n != 9) || p[2] != ':' || p[5] != (n == 8 ? ':' : '.'))
        return false;
    const unsigned a = bj_two_digits(p), b = bj_two_digits(p + 3);
    const unsigned c = bj_two_digits(p + 6);
    const unsigned d = n == 9 ? (unsigned char)(p[8] - '0') : 0;
    if (a > 99 || b > 99 || c > 99 || d > 9)
        return false;
    *ret = n == 8 ? (a * 3600 + b * 60 + c) * (uint64_t)1000000
                  : (a * 60 + b) * (uint64_t)1000000 + c * 10000 + d * 1000;
    return true;
}

int bj_elapsed_parse(struct bj_slice s, uint64_t *ret_usec)
{
    if (common(s.p, s.n, ret_usec))
        return 0;
    if (s.n == 0) {
        *ret_usec = BJ_ABSENT;
        return 0;
    }
    if ((unsigned char)(s.p[0] - '0') > 9)
        return from_word(s, ret_usec);
    struct fields f = {.n = 0};
    int r = cut_fields(s, &f);
    if (r < 0)
        return r;
    if (f.n > 3 && !f.day)
        return -EINVAL;
    /* With a day the fields count from the left, else from the right. */
    static const uint64_t weights[] = {86400, 3600, 60, 1};
    const unsigned first = f.day ? 0 : 4 - f.n;
    uint64_t sec = 0, part, usec;
    for (unsigned i = 0; i < f.n; i++)
        if (__builtin_mul_overflow(f.v[i], weights[first + i], &part) ||
            __builtin_add_overflow(sec, part, &sec))
            return -ERANGE;
    if (__builtin_mul_overflow(sec, 1000000u, &usec) ||
        __builtin_add_overflow(usec, f.usec, &usec) || usec >= BJ_UNLIMITED)
        return -ERANGE;
    *ret_usec = usec;
    return 0;
}

int bj_duration_sec(struct bj_slice s, uint64_t *ret_sec)
{
    uint64_t usec;
    int r = bj_elapsed_parse(s, &usec);
    if (r == 0)
        *ret_sec = usec >= BJ_UNLIMITED ? usec : usec / 1000000;
    return r;
}
