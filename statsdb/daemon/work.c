#include "statsdb/daemon/work.h"

#include "base/clock.h"
#include "base/log.h"
#include "statsdb/daemon/retry.h"
#include "statsdb/daemon/work_impl.h"
#include "statsdb/derive/price.h"
#include "statsdb/import/covered.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

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

static int start(struct bj_work *w, struct bj_err *err)
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
    return r < 0 ? r : bj_work_feed_new(w, err);
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
                ? start(w, err)
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
static uint64_t failed(struct bj_work *w, struct bj_work_prom *p,
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
        p->due_usec = failed(w, p, &p->failures, err);
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
    int r = bj_work_prom_factors(w, p, wall_sec(), err);
    if (r < 0) {
        p->factors_due_usec = failed(w, p, &p->factors_failures, err);
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
        r = bj_work_feed(w, err);
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
