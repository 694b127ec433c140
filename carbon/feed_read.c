/* The results of a feed: current factors, history, status. */
#include "base/absent.h"
#include "carbon/feed_priv.h"

#define SECOND 1000000u

bool bj_carbon_feed_holds(const struct bj_carbon_feed *feed, size_t i,
                          uint64_t wall_sec)
{
    enum bj_factor_from from;
    for (unsigned k = 0; k < BJ_FACTOR_KINDS; k++)
        if (bj_points_at(&feed->points[i], (enum bj_factor_kind)k, wall_sec,
                         &from))
            return true;
    return false;
}

/* --- one factor -----------------------------------------------------------*/

static struct bj_factor make(const struct bj_carbon_slot *s,
                             const struct bj_carbon_point *p,
                             enum bj_factor_from from)
{
    struct bj_factor f = {.provider = s->provider->name,
                          .kind = (enum bj_factor_kind)p->kind,
                          .from = from,
                          .mg_per_kwh = p->mg_per_kwh,
                          .start_sec = p->start_sec,
                          .end_sec = p->start_sec + p->len_sec,
                          .estimated = p->estimated,
                          .fetched_sec = p->fetched_sec};
    memcpy(f.zone, s->zone, sizeof(f.zone));
    memcpy(f.country, s->country, sizeof(f.country));
    return f;
}

static bool from_points(const struct bj_carbon_feed *feed, size_t i,
                        enum bj_factor_kind kind, uint64_t now_sec,
                        struct bj_factor *ret)
{
    const struct bj_points *points = &feed->points[i];
    enum bj_factor_from from;
    const struct bj_carbon_point *p =
        bj_points_at(points, kind, now_sec, &from);
    struct bj_carbon_point profile;
    if (!p) {
        if (!bj_points_profile(points, kind, now_sec, &profile))
            return false;
        p = &profile;
        from = BJ_FACTOR_PROFILE;
    }
    *ret = make(&feed->plan.v[i], p, from);
    return true;
}

/* The factor of a kind of slot i for a time. */
static bool factor_of(const struct bj_carbon_feed *feed, size_t i,
                      enum bj_factor_kind kind, uint64_t now_sec,
                      struct bj_factor *ret)
{
    const struct bj_carbon_plan *plan = &feed->plan;
    switch (plan->v[i].provider->source) {
    case BJ_CARBON_TABLE:
        return kind == BJ_FACTOR_LIFECYCLE &&
               bj_carbon_country_factor(plan->country, ret);
    case BJ_CARBON_CONSTANT:
        if (kind == plan->constant.kind)
            *ret = plan->constant;
        return kind == plan->constant.kind;
    default:
        return from_points(feed, i, kind, now_sec, ret);
    }
}

/* --- all factors -----------------------------------------------------------*/

size_t bj_carbon_feed_factors(struct bj_carbon_feed *feed, uint64_t wall_sec,
                              struct bj_factor *out, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&feed->lock);
    for (size_t i = 0; i < feed->plan.n; i++)
        for (unsigned k = 0; k < BJ_FACTOR_KINDS; k++)
            if (n < max &&
                factor_of(feed, i, (enum bj_factor_kind)k, wall_sec, &out[n]))
                n++;
    pthread_mutex_unlock(&feed->lock);
    return n;
}

size_t bj_carbon_feed_history(struct bj_carbon_feed *feed, uint64_t from_sec,
                              uint64_t to_sec, struct bj_factor *out,
                              size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&feed->lock);
    for (size_t i = 0; i < feed->plan.n; i++)
        for (size_t k = 0; k < feed->points[i].n; k++) {
            const struct bj_carbon_point *p = &feed->points[i].v[k];
            if (p->start_sec < from_sec || p->start_sec >= to_sec)
                continue;
            if (n < max)
                out[n] = make(&feed->plan.v[i], p,
                              p->len_sec > BJ_FACTOR_LIVE_SEC ? BJ_FACTOR_STATED
                                                              : BJ_FACTOR_LIVE);
            n++;
        }
    pthread_mutex_unlock(&feed->lock);
    return n;
}

static uint64_t age(const struct bj_points *p, uint64_t now_sec)
{
    for (size_t i = p->n; i > 0; i--)
        if (p->v[i - 1].start_sec <= now_sec)
            return now_sec - p->v[i - 1].start_sec;
    return BJ_ABSENT;
}

size_t bj_carbon_feed_status(struct bj_carbon_feed *feed, uint64_t wall_sec,
                             struct bj_carbon_feed_status *out, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&feed->lock);
    for (; n < feed->plan.n && n < max; n++) {
        out[n] = feed->slot[n].status;
        out[n].age_sec = age(&feed->points[n], wall_sec);
    }
    pthread_mutex_unlock(&feed->lock);
    return n;
}
