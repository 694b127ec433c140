#include "statsdb/import/window.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool nothing_yet(const struct bj_covered *c)
{
    return c->from_sec >= c->to_sec;
}

/* The first window: the newest slice. */
static void window_first(const struct bj_window_rules *rules, int64_t now,
                         struct bj_window *ret)
{
    int64_t start = larger(rules->since_sec, now - rules->slice_sec);
    start = smaller(start, now - 1);
    *ret = (struct bj_window){start, now, {start, now}, false};
}

/* After a long pause several slices may be missing; import them in
 * chronological order, so that the covered period stays continuous. */
static void newer(const struct bj_window_rules *rules,
                  const struct bj_covered *c, int64_t now,
                  struct bj_window *ret)
{
    int64_t end = smaller(now, c->to_sec + rules->slice_sec);
    int64_t start = smaller(c->to_sec, now) - rules->overlap_sec;
    /* A clock that was ahead covered times that had not been yet. */
    *ret = (struct bj_window){
        start, end, {end < c->from_sec ? start : c->from_sec, end}, false};
}

static void older(const struct bj_window_rules *rules,
                  const struct bj_covered *c, struct bj_window *ret)
{
    int64_t start = larger(rules->since_sec, c->from_sec - rules->slice_sec);
    *ret = (struct bj_window){start, c->from_sec, {start, c->to_sec}, true};
}

bool bj_window_next(const struct bj_window_rules *rules,
                    const struct bj_covered *covered, int64_t now_sec,
                    struct bj_window *ret)
{
    if (nothing_yet(covered)) {
        window_first(rules, now_sec, ret);
        return true;
    }
    int64_t ago = now_sec - covered->to_sec;
    if (ago >= rules->interval_sec || ago < 0) {
        newer(rules, covered, now_sec, ret);
        return true;
    }
    if (covered->from_sec > rules->since_sec) {
        older(rules, covered, ret);
        return true;
    }
    return false;
}

bool bj_window_bulk(const struct bj_window_rules *rules,
                    const struct bj_window *w)
{
    enum { HOUR = 3600 };
    return w->backfill || w->end_sec - w->start_sec >
                              rules->overlap_sec + rules->interval_sec + HOUR;
}

unsigned bj_window_done(const struct bj_window_rules *rules,
                        const struct bj_covered *covered)
{
    if (nothing_yet(covered))
        return 0;
    if (covered->from_sec <= rules->since_sec)
        return 1000;
    return (unsigned)((covered->to_sec - covered->from_sec) * 1000 /
                      (covered->to_sec - rules->since_sec));
}
