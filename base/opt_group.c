/* Options by group, for --help and the manual. */
#include "base/opt.h"

/* The word before the first dot; empty without a dot. */
static struct bj_slice prefix_of(const struct bj_opt *o)
{
    const char *dot = strchr(o->name, '.');
    return (struct bj_slice){o->name, dot ? (size_t)(dot - o->name) : 0};
}

/* Call fn for the options of a group; returns how many there are.  fn NULL:
 * only count. */
static size_t walk_group(const struct bj_optset *sets, size_t n,
                         struct bj_slice group, bj_opt_fn *fn, void *ctx)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (const struct bj_opt *o = sets[i].opts; o->name; o++) {
            if (!bj_slice_eq(prefix_of(o), group))
                continue;
            count++;
            if (fn)
                fn(ctx, group, o);
        }
    return count;
}

static bool is_first(const struct bj_optset *sets, const struct bj_opt *opt,
                     struct bj_slice group)
{
    for (;; sets++)
        for (const struct bj_opt *o = sets->opts; o->name; o++) {
            if (o == opt)
                return true;
            if (bj_slice_eq(prefix_of(o), group))
                return false;
        }
}

void bj_opt_walk(const struct bj_optset *sets, size_t n, bj_opt_fn *fn,
                 void *ctx)
{
    for (int general = 0; general < 2; general++)
        for (size_t i = 0; i < n; i++)
            for (const struct bj_opt *o = sets[i].opts; o->name; o++) {
                struct bj_slice group = prefix_of(o);
                bool alone =
                    group.n == 0 || walk_group(sets, n, group, NULL, NULL) == 1;
                if (alone && general)
                    fn(ctx, BJ_SLICE("general"), o);
                else if (!alone && !general && is_first(sets, o, group))
                    walk_group(sets, n, group, fn, ctx);
            }
}
