/* The option that a misspelt name was meant to be. */
#include "base/opt.h"

#include "base/text.h"

#include <stdio.h>

enum { NAME_MAX_BYTES = 64 };

/* The first parts of a name, as many as parts; a part ends at a dot. */
static struct bj_slice first_parts(const char *name, size_t parts)
{
    size_t n = 0;
    for (; name[n]; n++)
        if (name[n] == '.' && --parts == 0)
            break;
    return (struct bj_slice){name, n};
}

static size_t count_parts(struct bj_slice s)
{
    size_t parts = 1;
    for (size_t i = 0; i < s.n; i++)
        parts += s.p[i] == '.';
    return parts;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Characters to insert, delete, replace or swap with the next one to get from a
 * to b (optimal string alignment).  Both have at most NAME_MAX_BYTES. */
static unsigned distance(struct bj_slice a, struct bj_slice b)
{
    unsigned row[3][NAME_MAX_BYTES + 1];
    for (size_t j = 0; j <= b.n; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned *now = row[i % 3];
        const unsigned *before = row[(i - 1) % 3], *older = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b.n; j++) {
            now[j] = least(before[j - 1] + (a.p[i - 1] != b.p[j - 1]),
                           least(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] &&
                a.p[i - 2] == b.p[j - 1])
                now[j] = least(now[j], older[j - 2] + 1);
        }
    }
    return row[a.n % 3][b.n];
}

/* The most similar name so far. */
struct best {
    unsigned distance;
    struct bj_slice name;
};

static struct best begin(struct bj_slice name)
{
    return (struct best){.distance = 2 + (unsigned)name.n / 8};
}

static void compare(struct best *best, struct bj_slice name, struct bj_slice s)
{
    if (name.n > NAME_MAX_BYTES || s.n > NAME_MAX_BYTES)
        return;
    unsigned d = distance(name, s);
    if (d < best->distance && 2 * d < s.n)
        *best = (struct best){d, s};
}

static const char *show(const struct best *best,
                        char buf[static BJ_OPT_SUGGESTION])
{
    buf[0] = '\0';
    if (best->name.n > 0)
        snprintf(buf, BJ_OPT_SUGGESTION, "; did you mean '%.*s'?",
                 (int)best->name.n, best->name.p);
    return buf;
}

const char *bj_suggest(struct bj_slice name,
                       const char *(*at)(const void *ctx, size_t i),
                       const void *ctx, char buf[static BJ_OPT_SUGGESTION])
{
    struct best best = begin(name);
    const char *s;
    for (size_t i = 0; (s = at(ctx, i)) != NULL; i++)
        compare(&best, name, bj_slice_str(s));
    return show(&best, buf);
}

const char *bj_suggest_or_list(struct bj_slice name,
                               const char *(*at)(const void *ctx, size_t i),
                               const void *ctx, char *buf, size_t cap)
{
    char like[BJ_OPT_SUGGESTION], shown[48];
    const char *s;
    bj_suggest(name, at, ctx, like);
    bj_text_clean(name, shown, sizeof(shown));
    int len = snprintf(buf, cap, "'%s' is unknown%s", shown, like);
    for (size_t i = 0; !like[0] && (s = at(ctx, i)) && (size_t)len < cap; i++)
        len += snprintf(buf + len, cap - (size_t)len, "%s%s",
                        i ? ", " : "; expected ", s);
    return buf;
}

const char *bj_opt_suggest(const struct bj_optset *sets, size_t n,
                           struct bj_slice name,
                           char buf[static BJ_OPT_SUGGESTION])
{
    const size_t parts = count_parts(name);
    struct best best = begin(name);
    for (size_t i = 0; i < n; i++)
        for (const struct bj_opt *o = sets[i].opts; o->name; o++)
            compare(&best, name, first_parts(o->name, parts));
    return show(&best, buf);
}
