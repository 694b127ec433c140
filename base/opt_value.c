#include "base/opt_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

struct unit {
    const char *name;
    uint64_t n;
};

static const struct unit durations[] = {
    {"d", 86400000000u}, {"h", 3600000000u}, {"m", 60000000u},
    {"s", 1000000u},     {"ms", 1000u},      {"us", 1u},
};

static const struct unit sizes[] = {
    {"T", 1ull << 40}, {"G", 1ull << 30}, {"M", 1ull << 20},
    {"K", 1ull << 10}, {"", 1u},
};

#define SECOND (&durations[3])

enum {
    DURATIONS = sizeof(durations) / sizeof(durations[0]),
    SIZES = sizeof(sizes) / sizeof(sizes[0]),
};

static bool opt_value_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Cut a whole number off *s; -EINVAL or -ERANGE. */
static int opt_value_cut_number(struct bj_slice *s, uint64_t *ret)
{
    if (s->n == 0 || !opt_value_is_digit(s->p[0]))
        return -EINVAL;
    return bj_slice_number(s, ret) ? 0 : -ERANGE;
}

/* Cut ".digits" off *s if present: *part / *scale. */
static int cut_part(struct bj_slice *s, uint64_t *part, uint64_t *scale)
{
    *part = 0;
    *scale = 1;
    if (s->n == 0 || s->p[0] != '.')
        return 0;
    s->p++;
    s->n--;
    const char *first = s->p;
    int r = opt_value_cut_number(s, part);
    if (r < 0)
        return r;
    if (s->p - first > 6)
        return -EINVAL;
    for (const char *p = first; p < s->p; p++)
        *scale *= 10;
    return 0;
}

/* Cut a unit of the table off *s; without one it is seconds. */
static const struct unit *cut_unit(struct bj_slice *s)
{
    size_t n = 0;
    while (n < s->n && s->p[n] >= 'a' && s->p[n] <= 'z')
        n++;
    struct bj_slice name = {s->p, n};
    s->p += n;
    s->n -= n;
    for (size_t i = 0; i < DURATIONS; i++)
        if (bj_slice_eq(name, bj_slice_str(durations[i].name)))
            return &durations[i];
    return n == 0 && s->n == 0 ? SECOND : NULL;
}

/* whole + part / scale units, which must be a whole number. */
static int amount(uint64_t whole, uint64_t part, uint64_t scale, uint64_t unit,
                  uint64_t *ret)
{
    if (part * unit % scale != 0)
        return -EINVAL;
    uint64_t rest = part * unit / scale;
    if (whole > (UINT64_MAX - rest) / unit)
        return -ERANGE;
    *ret = whole * unit + rest;
    return 0;
}

int bj_duration_parse(struct bj_slice s, uint64_t *ret_usec)
{
    uint64_t sum = 0;
    const struct unit *last = NULL;
    do {
        uint64_t whole, part, scale, piece;
        int r = opt_value_cut_number(&s, &whole);
        if (r == 0)
            r = cut_part(&s, &part, &scale);
        if (r < 0)
            return r;
        bool bare = s.n == 0;
        const struct unit *u = cut_unit(&s);
        if (!u || (last && (bare || u <= last)))
            return -EINVAL;
        r = amount(whole, part, scale, u->n, &piece);
        if (r < 0)
            return r;
        if (piece > UINT64_MAX - sum)
            return -ERANGE;
        sum += piece;
        last = u;
    } while (s.n > 0);
    *ret_usec = sum;
    return 0;
}

int bj_size_parse(struct bj_slice s, uint64_t *ret_bytes)
{
    uint64_t v;
    int r = opt_value_cut_number(&s, &v);
    if (r < 0)
        return r;
    uint64_t unit = s.n == 0 ? 1 : 0;
    for (size_t i = 0; s.n > 0 && i < SIZES - 1; i++)
        if ((s.p[0] & ~0x20) == sizes[i].name[0])
            unit = sizes[i].n;
    if (unit == 0)
        return -EINVAL;
    if (s.n > 1 &&
        !bj_slice_eq((struct bj_slice){s.p + 1, s.n - 1}, BJ_SLICE("iB")))
        return -EINVAL;
    return amount(v, 0, 1, unit, ret_bytes);
}

static const char *opt_value_text(uint64_t v, const struct unit *units,
                                  size_t n, char *buf)
{
    size_t i = 0;
    while (i < n - 1 && v % units[i].n != 0)
        i++;
    snprintf(buf, BJ_AMOUNT_MAX, "%" PRIu64 "%s", v / units[i].n,
             units[i].name);
    return buf;
}

const char *bj_duration_text(uint64_t usec, char buf[static BJ_AMOUNT_MAX])
{
    return usec == 0 ? "0s" : opt_value_text(usec, durations, DURATIONS, buf);
}

const char *bj_size_text(uint64_t bytes, char buf[static BJ_AMOUNT_MAX])
{
    return bytes == 0 ? "0" : opt_value_text(bytes, sizes, SIZES, buf);
}
