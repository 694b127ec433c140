#include "base/slice.h"

#include <errno.h>

static bool slice_is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static inline bool slice_cut(struct bj_slice *rest, char sep,
                             struct bj_slice *ret)
{
    if (rest->n == 0)
        return false;
    const char *end = memchr(rest->p, sep, rest->n);
    size_t len = end ? (size_t)(end - rest->p) : rest->n;
    size_t step = end ? len + 1 : len;
    *ret = (struct bj_slice){rest->p, len};
    rest->p += step;
    rest->n -= step;
    return true;
}

bool bj_slice_line(struct bj_slice *rest, struct bj_slice *ret_line)
{
    return slice_cut(rest, '\n', ret_line);
}

bool bj_slice_word(struct bj_slice *rest, struct bj_slice *ret_word)
{
    if (rest->n == 0)
        return false;
    const char *p = rest->p;
    const char *const end = p + rest->n;
    while (p < end && slice_is_blank(*p))
        p++;
    const char *const word = p;
    while (p < end && !slice_is_blank(*p))
        p++;
    *rest = (struct bj_slice){p, (size_t)(end - p)};
    if (p == word)
        return false;
    *ret_word = (struct bj_slice){word, (size_t)(p - word)};
    return true;
}

bool bj_slice_field(struct bj_slice *rest, char sep, struct bj_slice *ret)
{
    return slice_cut(rest, sep, ret);
}

struct bj_slice bj_slice_trim(struct bj_slice s)
{
    while (s.n > 0 && slice_is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && slice_is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

int bj_slice_u64(struct bj_slice s, uint64_t *ret)
{
    if (s.n == 0)
        return -EINVAL;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)(s.p[i] - '0') > 9)
            return -EINVAL;
    return bj_slice_number(&s, ret) ? 0 : -ERANGE;
}

/* 19 digits always fit into 64 bits, so only the digits after them need a
 * check. */
bool bj_slice_number(struct bj_slice *s, uint64_t *ret)
{
    if (s->n == 0)
        return false;
    const char *p = s->p;
    const char *const end = p + s->n;
    const char *const safe = s->n > 19 ? p + 19 : end;
    uint64_t v = 0;
    unsigned d;
    while (p < safe && (d = (unsigned char)(*p - '0')) <= 9) {
        v = v * 10 + d;
        p++;
    }
    if (p == s->p)
        return false;
    while (p >= safe && p < end && (d = (unsigned char)(*p - '0')) <= 9) {
        if (v > (UINT64_MAX - d) / 10)
            return false;
        v = v * 10 + d;
        p++;
    }
    *s = (struct bj_slice){p, (size_t)(end - p)};
    *ret = v;
    return true;
}

/* Cut "a" or "a-b" off *rest. */
static int cut_range(struct bj_slice *rest, uint64_t *first, uint64_t *last)
{
    bool huge = rest->n > 0 && (unsigned char)(rest->p[0] - '0') <= 9;
    if (!bj_slice_number(rest, first))
        return huge ? -ERANGE : -EINVAL;
    *last = *first;
    if (rest->n == 0 || rest->p[0] != '-')
        return 0;
    rest->p++;
    rest->n--;
    huge = rest->n > 0 && (unsigned char)(rest->p[0] - '0') <= 9;
    if (!bj_slice_number(rest, last))
        return huge ? -ERANGE : -EINVAL;
    return *last < *first ? -EINVAL : 0;
}

int bj_slice_cpulist(struct bj_slice s, unsigned max, unsigned char *set)
{
    struct bj_slice rest = bj_slice_trim(s);
    uint64_t next = 0, count = 0;
    while (rest.n > 0) {
        uint64_t first, last;
        int r = cut_range(&rest, &first, &last);
        if (r < 0)
            return r;
        if (first < next)
            return -EINVAL;
        if (last >= max)
            return -ERANGE;
        for (uint64_t c = first; set && c <= last; c++)
            set[c / 8] = (unsigned char)(set[c / 8] | 1u << (c % 8));
        count += last - first + 1;
        next = last + 1;
        if (rest.n == 0)
            break;
        if (rest.p[0] != ',' || rest.n == 1)
            return -EINVAL;
        rest.p++;
        rest.n--;
    }
    return (int)count;
}
