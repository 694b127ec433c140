#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "carbon/plan.h"
#include "statsdb/daemon/work_impl.h"
#include "statsdb/import/covered.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    QUARTER = 900,
    DAYS_AT_ONCE = 30 * 86400, /* 2880 points of a series */
    RANK_PROM = 100            /* after all providers */
};

/* --- providers ----------------------------------------------------------
 */

/* Like bj_fetch, but it ends when the program stops. */
static int fetch(void *ctx, const struct bj_fetch_request *req,
                 struct bj_fetch_reply *reply, struct bj_err *err)
{
    struct bj_work *w = ctx;
    struct bj_fetch_request copy = *req;
    copy.abort = w->stop;
    return bj_fetch(w->fetch, &copy, reply, err);
}

int bj_work_feed_new(struct bj_work *w, struct bj_err *err)
{
    const struct bj_carbon_net net = {w, fetch};
    struct bj_carbon_plan plan;
    if (!bj_carbon_wanted(&w->conf->carbon))
        return 0;
    int r = bj_carbon_plan(&w->conf->carbon, &plan, err);
    if (r < 0 || plan.n == 0)
        return r;
    r = bj_fetch_new(&w->fetch, err);
    if (r < 0)
        return r;
    uint64_t seed = bj_clock_wall_usec() ^ (uint64_t)getpid() << 32;
    return bj_carbon_feed_new(&w->conf->carbon, &net, seed, &w->feed, err);
}

static int put_all(struct bj_work *w, const struct bj_factor *f, size_t n,
                   bool standing, struct bj_err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        struct bj_factor one = f[i];
        bool year =
            one.from == BJ_FACTOR_YEAR || one.from == BJ_FACTOR_CONSTANT;
        if (standing && !year && one.from != BJ_FACTOR_PROFILE)
            continue; /* the factor is part of the history */
        if (year)     /* the last year is used for all times */
            one.start_sec = one.end_sec = 0;
        int rank = 0;
        for (size_t k = 0; k < w->conf->carbon.providers.n; k++)
            if (strcmp(w->conf->carbon.providers.v[k], one.provider) == 0)
                rank = (int)k;
        r = bj_factors_put(w->factors, BJ_SQL_NULL, rank, &one, err);
    }
    return r;
}

/* Store the factors of the providers. */
static int take_feed(struct bj_work *w, uint64_t wall, struct bj_err *err)
{
    struct bj_factor now[BJ_CARBON_FEED_FACTORS];
    size_t n = bj_carbon_feed_history(w->feed, 0, UINT64_MAX, NULL, 0);
    struct bj_factor *all = calloc(n ? n : 1, sizeof(*all));
    if (!all)
        return bj_err_set(err, -ENOMEM, "factors");
    size_t had = bj_carbon_feed_history(w->feed, 0, UINT64_MAX, all, n);
    int r = put_all(w, all, had < n ? had : n, false, err);
    free(all);
    if (r == 0)
        r = put_all(
            w, now,
            bj_carbon_feed_factors(w->feed, wall, now, BJ_CARBON_FEED_FACTORS),
            true, err);
    return r;
}

/* End a transaction with factors. */
static int finish(struct bj_work *w, int r, struct bj_err *err)
{
    int64_t again = r == 0 ? bj_factors_flush(w->factors, err) : 0;
    r = again < 0 ? (int)again : r;
    if (r == 0)
        r = bj_store_commit(w->store, err);
    if (r < 0) {
        bj_store_rollback(w->store);
        bj_factors_drop(w->factors);
        return bj_err_wrap(err, r, "factors");
    }
    if (again > 0) {
        bj_log(BJ_LOG_DEBUG, NULL, "factors have changed for %lld jobs",
               (long long)again);
        w->derive_due_usec = 0;
    }
    bj_derive_forget(w->derive);
    return 0;
}

int bj_work_feed(struct bj_work *w, struct bj_err *err)
{
    struct bj_err why = {0};
    struct bj_carbon_now now = {.boot_usec = bj_clock_boot_usec(),
                                .wall_sec = bj_clock_wall_usec() / 1000000};
    uint64_t due = bj_carbon_feed_step(w->feed, now, &why);
    if (why.code && !atomic_load(w->stop))
        bj_log(BJ_LOG_WARN, &why, "emissions");
    /* The next request may be due at once; the file is checked each minute. */
    w->feed_due_usec = due;
    w->fed = due > now.boot_usec + 1000000;
    int r = bj_store_begin(w->store, err);
    if (r < 0)
        return r;
    return finish(w, take_feed(w, now.wall_sec, err), err);
}

/* --- from Prometheus -------------------------------------------------------
 */

/* Series of stated and of estimated factors. */
#define FACTOR "batchjob_emission_factor_grams_per_kwh"
#define ESTIMATED                                                              \
    " on (instance, provider, kind, country)"                                  \
    " (batchjob_emission_factor_estimated == 1)"
static const char *const queries[2] = {
    "max by (provider, kind, country) (" FACTOR " unless" ESTIMATED ")",
    "max by (provider, kind, country) (" FACTOR " and" ESTIMATED ")",
};

/* Collect samples first, so that no transaction waits for the network. */
struct sample {
    struct bj_factor f;
    char provider[BJ_ZONE_MAX];
};

struct samples {
    bool estimated;
    uint64_t fetched_sec;
    struct sample *v;
    size_t n, cap;
};

enum { FACTORS_MAX = 200000 };

static int keep(struct samples *t, const struct sample *one, struct bj_err *err)
{
    if (t->n == FACTORS_MAX)
        return bj_err_set(err, -EFBIG, "more than %d factors", FACTORS_MAX);
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 1024;
        struct sample *v = reallocarray(t->v, cap, sizeof(*v));
        if (!v)
            return bj_err_set(err, -ENOMEM, "factors");
        t->v = v;
        t->cap = cap;
    }
    t->v[t->n++] = *one;
    return 0;
}

static int rank_of(struct bj_slice provider)
{
    int i = 0;
    while (bj_carbon_providers[i].name &&
           !bj_slice_eq(provider, bj_slice_str(bj_carbon_providers[i].name)))
        i++;
    return RANK_PROM + i;
}

static int on_factors(void *ctx, const struct bj_json *metric,
                      const struct bj_json *values, struct bj_err *err)
{
    struct samples *t = ctx;
    struct bj_slice provider = bj_json_text(bj_json_get(metric, "provider"));
    struct bj_slice country = bj_json_text(bj_json_get(metric, "country"));
    struct sample one = {
        .f = {.estimated = t->estimated, .fetched_sec = t->fetched_sec}};
    struct bj_factor *f = &one.f;
    if (provider.n == 0 ||
        bj_factor_kind_parse(bj_json_text(bj_json_get(metric, "kind")),
                             &f->kind) < 0)
        return 0;
    bj_text_clean(provider, one.provider, sizeof(one.provider));
    bj_text_clean(country, f->zone, sizeof(f->zone));
    if (country.n == 2)
        bj_text_clean(country, f->country, sizeof(f->country));
    bool year = bj_slice_eq(provider, BJ_SLICE("table"));
    bool constant = bj_slice_eq(provider, BJ_SLICE("constant"));
    f->from = year       ? BJ_FACTOR_YEAR
              : constant ? BJ_FACTOR_CONSTANT
                         : BJ_FACTOR_LIVE;
    int r = 0;
    BJ_JSON_EACH(pair, values)
    {
        int64_t mg, at;
        if (r < 0 || bj_prom_value(pair, 3, &mg, &at) < 0 || at < 0 ||
            bj_factor_check(mg, &f->mg_per_kwh) < 0)
            continue;
        f->start_sec = year || constant ? 0 : (uint64_t)at;
        f->end_sec = year || constant ? 0 : f->start_sec + QUARTER;
        r = keep(t, &one, err);
    }
    return r;
}

static int put_result(struct bj_work *w, int64_t cluster, struct samples *t,
                      struct bj_err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->n; i++) {
        t->v[i].f.provider = t->v[i].provider;
        r = bj_factors_put(w->factors, cluster,
                           rank_of(bj_slice_str(t->v[i].provider)), &t->v[i].f,
                           err);
    }
    return r;
}

static int query_factors(const struct bj_work_prom *p, int64_t from, int64_t to,
                         struct samples *t, struct bj_err *err)
{
    const struct bj_prom_sink sink = {t, on_factors};
    int r = 0;
    for (int i = 0; r == 0 && i < 2; i++) {
        t->estimated = i == 1;
        r = bj_prom_range(p->factors, queries[i], from, to, QUARTER, &sink,
                          err);
    }
    return r;
}

/* Read one period: the newest, or the next one since the last. */
int bj_work_prom_factors(struct bj_work *w, struct bj_work_prom *p,
                         int64_t now_sec, struct bj_err *err)
{
    static const char source[] = "prometheus-factors";
    struct bj_covered c;
    int64_t oldest = now_sec - (int64_t)(p->conf->prom.history_usec / 1000000);
    struct samples t = {.fetched_sec = (uint64_t)now_sec};
    int64_t cluster = bj_work_cluster(w, p->conf->name);
    int r = bj_covered_read(w->store, p->conf->name, source, &c, err);
    if (r < 0 || cluster == 0)
        return r; /* the cluster has no job yet */
    int64_t from = c.to_sec > oldest ? c.to_sec : oldest;
    from = from / QUARTER * QUARTER;
    int64_t to = now_sec / QUARTER * QUARTER;
    if (to - from > DAYS_AT_ONCE)
        to = from + DAYS_AT_ONCE;
    p->factors_done = to <= from;
    if (p->factors_done)
        return 0;
    r = query_factors(p, from, to - QUARTER, &t, err);
    if (r == 0)
        r = bj_store_begin(w->store, err);
    if (r < 0) {
        free(t.v);
        return r;
    }
    c.from_sec = c.to_sec > 0 ? c.from_sec : from;
    c.to_sec = to;
    r = put_result(w, cluster, &t, err);
    free(t.v);
    if (r == 0)
        r = bj_covered_write(w->store, p->conf->name, source, &c, err);
    return finish(w, r, err);
}
