#include "carbon/points.h"

#include "base/array.h"

#include <stdlib.h>

enum { HOUR_SEC = 3600, DAY_SEC = 86400 };

void bj_points_free(struct bj_points *p)
{
    free(p->v);
    *p = (struct bj_points){0};
}

/* The first point that is not before (start, kind). */
static size_t points_place(const struct bj_points *p, uint64_t start_sec,
                           unsigned kind)
{
    size_t lo = 0, hi = p->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct bj_carbon_point *m = &p->v[mid];
        if (m->start_sec < start_sec ||
            (m->start_sec == start_sec && m->kind < kind))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int points_grow(struct bj_points *p)
{
    if (p->n >= BJ_POINTS_MAX)
        return -E2BIG;
    return BJ_GROW(p->v, p->n + 1, p->cap) ? 0 : -ENOMEM;
}

int bj_points_add(struct bj_points *p, struct bj_carbon_point point)
{
    size_t i = points_place(p, point.start_sec, point.kind);
    struct bj_carbon_point *at = p->v ? p->v + i : NULL;
    if (at && i < p->n && at->start_sec == point.start_sec &&
        at->kind == point.kind) {
        if (at->estimated || !point.estimated)
            *at = point;
        return 0;
    }
    int r = points_grow(p);
    if (r < 0)
        return r;
    memmove(p->v + i + 1, p->v + i, (p->n - i) * sizeof(*p->v));
    p->v[i] = point;
    p->n++;
    return 0;
}

void bj_points_trim(struct bj_points *p, uint64_t from_sec, uint64_t to_sec)
{
    size_t first = points_place(p, from_sec, 0);
    size_t end = points_place(p, to_sec + 1, 0);
    if (first > 0 && first < end)
        memmove(p->v, p->v + first, (end - first) * sizeof(*p->v));
    p->n = end > first ? end - first : 0;
}

const struct bj_carbon_point *bj_points_at(const struct bj_points *p,
                                           enum bj_factor_kind kind,
                                           uint64_t now_sec,
                                           enum bj_factor_from *ret_from)
{
    for (size_t i = points_place(p, now_sec + 1, 0); i > 0; i--) {
        const struct bj_carbon_point *c = &p->v[i - 1];
        uint64_t age = now_sec - c->start_sec;
        if (c->kind != kind || (age >= c->len_sec && age >= BJ_FACTOR_LIVE_SEC))
            continue;
        *ret_from =
            age < BJ_FACTOR_LIVE_SEC ? BJ_FACTOR_LIVE : BJ_FACTOR_STATED;
        return c;
    }
    return NULL;
}

/* The mean of the points that began in the hour from start. */
static bool mean(const struct bj_points *p, enum bj_factor_kind kind,
                 uint64_t start_sec, struct bj_carbon_point *ret)
{
    uint64_t sum = 0, n = 0, fetched = 0;
    for (size_t i = points_place(p, start_sec, 0);
         i < p->n && p->v[i].start_sec < start_sec + HOUR_SEC; i++) {
        const struct bj_carbon_point *c = &p->v[i];
        if (c->kind != kind || c->len_sec > BJ_FACTOR_LIVE_SEC)
            continue;
        sum += c->mg_per_kwh;
        fetched = c->fetched_sec > fetched ? c->fetched_sec : fetched;
        n++;
    }
    if (n == 0)
        return false;
    *ret = (struct bj_carbon_point){.fetched_sec = fetched,
                                    .len_sec = HOUR_SEC,
                                    .mg_per_kwh = (uint32_t)((sum + n / 2) / n),
                                    .kind = (uint8_t)kind,
                                    .estimated = true};
    return true;
}

bool bj_points_profile(const struct bj_points *p, enum bj_factor_kind kind,
                       uint64_t now_sec, struct bj_carbon_point *ret)
{
    static const unsigned days_ago[] = {7, 1, 2, 3, 4, 5, 6, 8};
    uint64_t hour = now_sec - now_sec % HOUR_SEC;
    for (size_t i = 0; i < sizeof(days_ago) / sizeof(days_ago[0]); i++) {
        uint64_t back = (uint64_t)days_ago[i] * DAY_SEC;
        if (hour >= back && mean(p, kind, hour - back, ret)) {
            ret->start_sec = hour;
            return true;
        }
    }
    return false;
}
