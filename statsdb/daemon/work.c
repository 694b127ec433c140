#include "statsdb/daemon/work.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/fetch.h"
#include "base/log.h"
#include "base/text.h"
#include "carbon/conf.h"
#include "carbon/feed.h"
#include "statsdb/daemon/retry.h"
#include "statsdb/derive/derive.h"
#include "statsdb/derive/factors.h"
#include "statsdb/derive/price.h"
#include "statsdb/import/covered.h"
#include "statsdb/measure/measure.h"
#include "statsdb/tables/application.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A Prometheus server. */
struct bj_work_prom {
    const struct bj_cluster_conf *conf;
    struct bj_measure *measure;
    struct bj_prom *factors; /* NULL: not used */
    uint64_t due_usec, factors_due_usec;
    unsigned failures, factors_failures;
    uint64_t errors;
    bool done, factors_done; /* with --once: factors were read */
};

struct bj_work {
    const struct bj_statsdb_conf *conf;
    struct bj_store *store;
    const atomic_bool *stop;
    struct bj_rules *rules;
    struct bj_applications *applications;
    struct bj_derive *derive;
    struct bj_factors *factors;
    struct bj_carbon_feed *feed; /* NULL: no providers */
    struct bj_fetch *fetch;
    uint64_t feed_due_usec;
    bool fed; /* with --once: the feed was read */
    struct bj_work_prom *prom;
    size_t proms;
    const char **prom_cluster; /* for derive, in the order of prom */
    int64_t *prom_history;
    uint64_t derive_due_usec, pue_due_usec;
    bool *pue_done; /* of each cluster */
    bool prices_done;
};

/* work_cluster.c: number of a cluster in the store; 0: the cluster has no job
 * yet. */
static int64_t bj_work_cluster(struct bj_work *w, const char *name)
{
    struct bj_st *st;
    int64_t id = 0;
    if (bj_db_prepare(bj_store_db(w->store),
                      "SELECT id FROM cluster WHERE name = ?1", &st, NULL) < 0)
        return 0;
    bj_st_bind_filled(st, 1, bj_slice_str(name));
    if (bj_st_row(st, NULL) > 0)
        id = bj_st_get_i64(st, 0);
    bj_st_finalize(st);
    return id;
}

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

/* work_factors.c: factors from providers, and from exporters through a
 * Prometheus server. */
static int work_feed_new(struct bj_work *w, struct bj_err *err)
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
static int work_finish(struct bj_work *w, int r, struct bj_err *err)
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

static int work_feed(struct bj_work *w, struct bj_err *err)
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
    return work_finish(w, take_feed(w, now.wall_sec, err), err);
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

static int work_keep(struct samples *t, const struct sample *one,
                     struct bj_err *err)
{
    if (t->n == FACTORS_MAX)
        return bj_err_set(err, -EFBIG, "more than %d factors", FACTORS_MAX);
    if (!BJ_GROW(t->v, t->n + 1, t->cap))
        return bj_err_set(err, -ENOMEM, "factors");
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
        r = work_keep(t, &one, err);
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

static int factors_between(const struct bj_work_prom *p, int64_t from,
                           int64_t to, struct samples *t, struct bj_err *err)
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
static int work_prom_factors(struct bj_work *w, struct bj_work_prom *p,
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
    r = factors_between(p, from, to - QUARTER, &t, err);
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
    return work_finish(w, r, err);
}

enum {
    JOBS = 1000, /* jobs derived in one transaction */
    SECOND = 1000000,
    NEW_JOBS_SEC = 10, /* between searches for new jobs */
    IDLE_SEC = 30,     /* between searches for jobs to query */
    FACTORS_SEC = 900
};

static int64_t wall_sec(void)
{
    return (int64_t)(bj_clock_wall_usec() / SECOND);
}

static bool has_prom(const struct bj_cluster_conf *c)
{
    return c->prom.url && c->prom.url[0];
}

int bj_work_check(const struct bj_statsdb_conf *conf, struct bj_err *err)
{
    struct bj_rules *rules = NULL;
    struct bj_applications *applications = NULL;
    int r =
        conf->findings ? bj_rules_load(conf->findings_file, &rules, err) : 0;
    bj_rules_free(rules);
    if (r == 0)
        r = bj_applications_load(conf->application_file, &applications, err);
    bj_applications_free(applications);
    struct bj_carbon_plan plan;
    if (r == 0 && bj_carbon_wanted(&conf->carbon))
        r = bj_carbon_plan(&conf->carbon, &plan, err);
    for (size_t i = 0; r == 0 && i < conf->clusters; i++) {
        r = bj_prom_check(&conf->cluster[i].prom, err);
        if (r == 0)
            r = bj_pue_check(&conf->cluster[i].pue, err);
        if (r < 0)
            bj_err_wrap(err, r, "%s", conf->cluster[i].name);
    }
    return r;
}

/* --- start -----------------------------------------------------------------
 */

/* Also query the existing jobs when a server is new. */
static int backlog(struct bj_work *w, struct bj_work_prom *p,
                   struct bj_err *err)
{
    struct bj_covered c;
    int64_t now = wall_sec();
    int r = bj_covered_read(w->store, p->conf->name, "prometheus", &c, err);
    if (r < 0 || c.to_sec > 0)
        return r;
    c = (struct bj_covered){now, now};
    r = bj_store_begin(w->store, err);
    if (r < 0)
        return r;
    r = bj_measure_backlog(
        p->measure, now - (int64_t)(p->conf->prom.history_usec / SECOND), err);
    if (r == 0)
        r = bj_covered_write(w->store, p->conf->name, "prometheus", &c, err);
    if (r == 0)
        r = bj_store_commit(w->store, err);
    if (r < 0)
        bj_store_rollback(w->store);
    return r;
}

static int add_prom(struct bj_work *w, const struct bj_cluster_conf *c,
                    struct bj_err *err)
{
    struct bj_work_prom *p = &w->prom[w->proms];
    p->conf = c;
    w->prom_cluster[w->proms] = c->name;
    w->prom_history[w->proms] = (int64_t)(c->prom.history_usec / SECOND);
    w->proms++;
    int r =
        bj_measure_new(w->store, &c->prom, c->name, w->stop, &p->measure, err);
    if (r == 0 && c->prom.factors)
        r = bj_prom_new(&c->prom, w->stop, &p->factors, err);
    return r < 0 ? r : backlog(w, p, err);
}

/* Views read whether hosts are checked. */
static int check_hosts(const struct bj_work *w, struct bj_err *err)
{
    int r = bj_store_begin(w->store, err);
    if (r < 0)
        return r;
    r = bj_db_exec(bj_store_db(w->store),
                   w->conf->record_check_hosts
                       ? "DELETE FROM record_any_host"
                       : "INSERT INTO record_any_host(id) VALUES(1)"
                         " ON CONFLICT DO NOTHING",
                   err);
    if (r == 0)
        r = bj_store_commit(w->store, err);
    if (r < 0)
        bj_store_rollback(w->store);
    return r;
}

static int work_start(struct bj_work *w, struct bj_err *err)
{
    const struct bj_statsdb_conf *conf = w->conf;
    int r = bj_work_check(conf, err);
    if (r == 0)
        r = bj_factors_new(w->store, &w->factors, err);
    for (size_t i = 0; r == 0 && i < conf->clusters; i++)
        if (has_prom(&conf->cluster[i]))
            r = add_prom(w, &conf->cluster[i], err);
    if (r == 0 && conf->findings)
        r = bj_rules_load(conf->findings_file, &w->rules, err);
    if (r == 0)
        r = bj_applications_load(conf->application_file, &w->applications, err);
    const struct bj_derive_options opt = {
        .rules = w->rules,
        .applications = w->applications,
        .findings_sec =
            wall_sec() - (int64_t)(conf->findings_history_usec / SECOND),
        .prom_cluster = w->prom_cluster,
        .prom_history_sec = w->prom_history,
        .prom_clusters = w->proms};
    if (r == 0)
        r = bj_derive_new(w->store, &opt, &w->derive, err);
    if (r == 0)
        r = check_hosts(w, err);
    return r < 0 ? r : work_feed_new(w, err);
}

int bj_work_new(const struct bj_statsdb_conf *conf, struct bj_store *store,
                const atomic_bool *stop, struct bj_work **ret,
                struct bj_err *err)
{
    struct bj_work *w = calloc(1, sizeof(*w));
    if (!w)
        return bj_err_set(err, -ENOMEM, "work");
    size_t n = conf->clusters + 1;
    w->conf = conf;
    w->store = store;
    w->stop = stop;
    w->prom = calloc(n, sizeof(*w->prom));
    w->prom_cluster = calloc(n, sizeof(*w->prom_cluster));
    w->prom_history = calloc(n, sizeof(*w->prom_history));
    w->pue_done = calloc(n, sizeof(*w->pue_done));
    int r = w->prom && w->prom_cluster && w->prom_history && w->pue_done
                ? work_start(w, err)
                : bj_err_set(err, -ENOMEM, "work");
    if (r < 0) {
        bj_work_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

const struct bj_applications *bj_work_applications(const struct bj_work *w)
{
    return w->applications;
}

void bj_work_free(struct bj_work *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->proms; i++) {
        bj_measure_free(w->prom[i].measure);
        bj_prom_free(w->prom[i].factors);
    }
    bj_carbon_feed_free(w->feed);
    bj_fetch_free(w->fetch);
    bj_derive_free(w->derive);
    bj_factors_free(w->factors);
    bj_rules_free(w->rules);
    bj_applications_free(w->applications);
    free(w->prom);
    free(w->prom_cluster);
    free(w->prom_history);
    free(w->pue_done);
    free(w);
}

/* --- steps --------------------------------------------------------------
 */

/* Store the PUE when the cluster exists. */
static int set_pue(struct bj_work *w, struct bj_err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < w->conf->clusters; i++) {
        const struct bj_cluster_conf *c = &w->conf->cluster[i];
        int64_t id = w->pue_done[i] ? 0 : bj_work_cluster(w, c->name);
        if (id == 0)
            continue;
        r = bj_store_begin(w->store, err);
        if (r < 0)
            return r;
        r = bj_factors_pue(w->factors, id, &c->pue, err);
        int64_t n = r == 0 ? bj_factors_flush(w->factors, err) : r;
        r = n < 0 ? (int)n : bj_store_commit(w->store, err);
        if (r < 0) {
            bj_store_rollback(w->store);
            bj_factors_drop(w->factors);
        }
        w->pue_done[i] = r == 0;
        bj_derive_forget(w->derive);
    }
    w->pue_due_usec = bj_clock_boot_usec() + 60ull * SECOND;
    return r;
}

static int derive(struct bj_work *w, struct bj_err *err)
{
    int n = bj_derive_step(w->derive, wall_sec(), JOBS, err);
    w->derive_due_usec =
        bj_clock_boot_usec() + (n > 0 ? 0 : NEW_JOBS_SEC * (uint64_t)SECOND);
    return n < 0 ? n : 0;
}

/* Retry a failing server later; its jobs wait. */
static uint64_t work_failed(struct bj_work *w, struct bj_work_prom *p,
                            unsigned *failures, const struct bj_err *why)
{
    uint64_t wait = bj_retry_sec(failures);
    p->errors++;
    if (!atomic_load(w->stop))
        bj_log(BJ_LOG_ERROR, why, "prometheus: next query in %llu s",
               (unsigned long long)wait);
    return bj_clock_boot_usec() + wait * SECOND;
}

static int query_jobs(struct bj_work *w, struct bj_work_prom *p,
                      struct bj_err *err)
{
    uint64_t began = bj_clock_boot_usec();
    int n = bj_measure_step(p->measure, wall_sec(), err);
    if (n < 0) {
        p->due_usec = work_failed(w, p, &p->failures, err);
        p->done = true;
        return n;
    }
    p->failures = 0;
    p->done = n == 0;
    uint64_t now = bj_clock_boot_usec();
    if (n > 0) {
        w->derive_due_usec = 0;
        bj_log(BJ_LOG_DEBUG, NULL, "%s: queried prometheus for %d jobs",
               p->conf->name, n);
    }
    /* Use the server for at most half of the time. */
    p->due_usec = now + (n > 0 ? now - began : IDLE_SEC * (uint64_t)SECOND);
    return 0;
}

static int query_factors(struct bj_work *w, struct bj_work_prom *p,
                         struct bj_err *err)
{
    int r = work_prom_factors(w, p, wall_sec(), err);
    if (r < 0) {
        p->factors_due_usec = work_failed(w, p, &p->factors_failures, err);
        p->factors_done = true;
        return r;
    }
    p->factors_failures = 0;
    uint64_t rest = p->factors_done ? FACTORS_SEC : 1;
    /* Without a job of the cluster, try again soon. */
    if (bj_work_cluster(w, p->conf->name) == 0) {
        rest = NEW_JOBS_SEC;
        p->factors_done = true;
    }
    p->factors_due_usec = bj_clock_boot_usec() + rest * SECOND;
    return 0;
}

static bool store_failed(int r)
{
    return r == -ENOSPC || r == -EIO || r == -EROFS || r == -ENOMEM ||
           r == -ENOLINK;
}

/* With --once a failed server is not queried again. */
static uint64_t jobs_due(const struct bj_work *w, const struct bj_work_prom *p)
{
    return w->conf->once && p->done && p->failures > 0 ? UINT64_MAX
                                                       : p->due_usec;
}

static uint64_t factors_due(const struct bj_work *w,
                            const struct bj_work_prom *p)
{
    return !p->factors || (w->conf->once && p->factors_failures > 0)
               ? UINT64_MAX
               : p->factors_due_usec;
}

static int step_prom(struct bj_work *w, struct bj_work_prom *p,
                     struct bj_err *err)
{
    uint64_t now = bj_clock_boot_usec();
    int r = 0, last = 0;
    if (jobs_due(w, p) <= now)
        r = last = query_jobs(w, p, err);
    if (!store_failed(r) && factors_due(w, p) <= now)
        r = query_factors(w, p, err);
    return r < 0 ? r : last;
}

/* After an error of the store, try again later; with --once no more. */
static int retry_later(struct bj_work *w, int r)
{
    uint64_t due = bj_clock_boot_usec() + NEW_JOBS_SEC * (uint64_t)SECOND;
    if (w->derive_due_usec < due)
        w->derive_due_usec = due;
    return r;
}

int bj_work_step(struct bj_work *w, struct bj_err *err)
{
    int last = 0, r = 0;
    if (w->feed && w->feed_due_usec <= bj_clock_boot_usec())
        r = work_feed(w, err);
    if (r == 0 && !w->prices_done)
        r = bj_prices_write(w->store, &w->conf->report, err);
    w->prices_done = r == 0 || w->prices_done;
    if (r == 0 && w->pue_due_usec <= bj_clock_boot_usec())
        r = set_pue(w, err);
    if (r == 0 && w->derive_due_usec <= bj_clock_boot_usec())
        r = derive(w, err);
    if (r < 0)
        return retry_later(w, r);
    for (size_t i = 0; i < w->proms && !atomic_load(w->stop); i++) {
        struct bj_err why = {0};
        r = step_prom(w, &w->prom[i], &why);
        if (r < 0 && (store_failed(r) || w->conf->once))
            last = bj_err_copy(err, r, &why);
        if (store_failed(r))
            return last;
    }
    return last;
}

uint64_t bj_work_due(const struct bj_work *w)
{
    uint64_t due = w->derive_due_usec;
    if (w->feed && w->feed_due_usec < due)
        due = w->feed_due_usec;
    for (size_t i = 0; i < w->proms; i++) {
        uint64_t jobs = jobs_due(w, &w->prom[i]);
        uint64_t factors = factors_due(w, &w->prom[i]);
        due = jobs < due ? jobs : due;
        due = factors < due ? factors : due;
    }
    return due;
}

bool bj_work_idle(const struct bj_work *w)
{
    bool idle =
        (!w->feed || w->fed) && w->derive_due_usec > bj_clock_boot_usec();
    for (size_t i = 0; i < w->proms; i++)
        idle = idle && w->prom[i].done &&
               (!w->prom[i].factors || w->prom[i].factors_done);
    return idle;
}

void bj_work_report(const struct bj_work *w, struct bj_metrics_values *r,
                    struct bj_metrics_cluster *cluster)
{
    const struct bj_derive_counts *d = bj_derive_counts(w->derive);
    r->derived_jobs = d->jobs;
    r->derived_changed = d->changed;
    for (size_t i = 0; i < w->proms; i++) {
        const struct bj_measure_counts *m =
            bj_measure_counts(w->prom[i].measure);
        struct bj_metrics_cluster *c =
            &cluster[w->prom[i].conf - w->conf->cluster];
        c->prom_queries = m->queries;
        c->prom_jobs = m->jobs;
        c->prom_no_data = m->no_data;
        c->prom_ambiguous = m->ambiguous;
        c->prom_errors = w->prom[i].errors;
    }
}

void bj_work_refused_page(const struct bj_work *w, struct bj_buf *out)
{
    bj_derive_refused_page(w->derive, out);
}
