#include "sched/duration.h"

#include "sched/job.h"
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

/* Up to four numbers, with what follows each of them. */
struct fields {
    uint64_t v[4];
    unsigned n;
    bool day;
    uint64_t usec;
};

static int cut_fields(struct bj_slice s, struct fields *f)
{
    for (;;) {
        if (f->n == 4 || !bj_slice_number(&s, &f->v[f->n]))
            return -EINVAL;
        f->n++;
        if (s.n == 0)
            return 0;
        if (s.p[0] == '.')
            return fraction(s, &f->usec);
        if (s.p[0] == '-' && f->n == 1)
            f->day = true;
        else if (s.p[0] != ':')
            return -EINVAL;
        s.p++;
        s.n--;
    }
}

int bj_duration_parse(struct bj_slice s, uint64_t *ret_usec)
{
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
    /* With a day the fields count from the left, without from the right. */
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
    int r = bj_duration_parse(s, &usec);
    if (r == 0)
        *ret_sec = usec >= BJ_UNLIMITED ? usec : usec / 1000000;
    return r;
}
