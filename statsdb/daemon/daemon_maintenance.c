#include "statsdb/daemon/daemon_impl.h"

#include "base/log.h"
#include "statsdb/tables/job_month.h"
#include "statsdb/tables/job_number.h"
#include "statsdb/tables/record_month.h"
#include "statsdb/tables/retention.h"
#include "store/db.h"

enum {
    OLD_JOBS = 2000, /* jobs removed in one transaction */
    SHRINK_PAGES = 2000,
    RECORDS = 1000, /* records of a directory in one transaction */
    RECORDS_SEC = 20,
    REPORT_SEC = 15,
    WEB_SEC = 1 /* during a request */
};

#define HOUR_USEC (3600ull * 1000000)

/* --- final records ------------------------------------------------------
 */

/* Import all records of a directory. */
static int collect_dir(struct bj_daemon *d, size_t i, const char *dir,
                       struct bj_err *err)
{
    const struct bj_cluster_conf *c = &d->conf->cluster[i];
    struct bj_records_counts n;
    struct bj_err why;
    int r;
    do {
        why = (struct bj_err){0};
        r = bj_records_collect(d->records, bj_slice_str(c->name), dir, RECORDS,
                               &n, &why, err);
        if (n.bad > 0)
            bj_log(BJ_LOG_WARN, &why, "%s: %llu files are not valid records",
                   dir, (unsigned long long)n.bad);
        d->report[i].records += n.taken;
        d->report[i].bad_records += n.bad;
        if (n.taken > 0)
            bj_log(BJ_LOG_DEBUG, NULL, "%s: %llu records", dir,
                   (unsigned long long)n.taken);
    } while (r == RECORDS && !atomic_load(&d->stop->now));
    return r < 0 ? r : 0;
}

int bj_daemon_collect(struct bj_daemon *d, struct bj_err *err)
{
    uint64_t now = bj_clock_boot_usec();
    int last = 0;
    if (d->conf->dry_run || now < d->records_due_usec)
        return 0;
    for (size_t i = 0; i < d->conf->clusters; i++) {
        const struct bj_cluster_conf *c = &d->conf->cluster[i];
        for (size_t k = 0; k < c->records.n; k++) {
            struct bj_err why = {0};
            int r = collect_dir(d, i, c->records.v[k], &why);
            if (r == 0)
                continue;
            bj_log(BJ_LOG_ERROR, &why, "%s: records were not imported",
                   c->name);
            last = bj_err_copy(err, r, &why);
        }
    }
    d->records_due_usec = now + RECORDS_SEC * 1000000ull;
    return last;
}

/* --- old jobs --------------------------------------------------------------
 */

/* Removes a few jobs at a time, so that requests do not wait. */
int bj_daemon_remove_old(struct bj_daemon *d, struct bj_err *err)
{
    uint64_t now = bj_clock_boot_usec();
    if (d->conf->retention_usec == 0 || d->conf->dry_run ||
        now < d->old_due_usec)
        return 0;
    int64_t before = bj_daemon_wall_sec() - SEC(d->conf->retention_usec);
    bool more = false;
    int n = bj_retention_step(d->store, before, OLD_JOBS, &more, err);
    if (n < 0)
        return n;
    d->removed_jobs += (uint64_t)n;
    if (n > 0)
        bj_log(BJ_LOG_INFO, NULL, "%d old jobs removed", n);
    d->old_due_usec = now + (more ? 1000000 : HOUR_USEC);
    return bj_retention_shrink(d->store, SHRINK_PAGES, err);
}

/* --- partitions ------------------------------------------------------------
 */

/* Makes partitions before an import needs them. */
int bj_daemon_months(struct bj_daemon *d, struct bj_err *err)
{
    uint64_t now = bj_clock_boot_usec();
    if (d->conf->dry_run || now < d->months_due_usec ||
        !bj_job_numbers_follow(bj_store_db(d->store)))
        return 0;
    d->months_due_usec = now + HOUR_USEC;
    int r = bj_store_begin(d->store, err);
    if (r == 0)
        r = bj_job_months_ahead(bj_store_db(d->store), bj_daemon_wall_sec(),
                                err);
    if (r == 0)
        r = bj_record_months_ahead(bj_store_db(d->store), bj_daemon_wall_sec(),
                                   err);
    if (r == 0)
        r = bj_store_commit(d->store, err);
    if (r < 0)
        bj_store_rollback(d->store);
    return r;
}

/* --- metrics of the program ---------------------------------------------
 */

static struct bj_metrics_values report_of(struct bj_daemon *d)
{
    const struct bj_upsert_counts *c = bj_upsert_counts(d->upsert);
    for (size_t i = 0; i < d->conf->clusters; i++) {
        d->report[i].from_sec = d->source[i].covered.from_sec;
        d->report[i].to_sec = d->source[i].covered.to_sec;
    }
    struct bj_metrics_values r = {
        .cluster = d->report,
        .clusters = d->conf->clusters,
        .jobs_new = c->jobs_new,
        .jobs_changed = c->jobs_changed,
        .jobs_same = c->jobs_same,
        .steps_new = c->steps_new,
        .steps_changed = c->steps_changed,
        .steps_same = c->steps_same,
        .removed_jobs = d->removed_jobs,
        .store_bytes = bj_db_bytes(bj_store_db(d->store)),
        .wal_bytes = bj_db_log_bytes(bj_store_db(d->store))};
    if (d->work)
        bj_work_report(d->work, &r, d->report);
    if (d->receiver)
        bj_receiver_report(d->receiver, &r);
    return r;
}

void bj_daemon_report(struct bj_daemon *d, bool now)
{
    const char *path = bj_daemon_report_file(d);
    uint64_t clock = bj_clock_boot_usec();
    bool file = path && (now || clock >= d->report_due_usec);
    bool web = d->web && (now || clock >= d->web_due_usec);
    if (!file && !web)
        return;
    struct bj_metrics_values r = report_of(d);
    struct bj_err err = {0};
    struct bj_buf running = {0}, refused = {0};
    if (d->work)
        bj_work_refused_page(d->work, &refused);
    r.refused = (struct bj_slice){refused.p, refused.len};
    if (d->running)
        bj_running_page(d->running, &running);
    r.running = (struct bj_slice){running.p, running.len};
    if (file && bj_metrics_save(&r, path, &err) < 0)
        bj_log(BJ_LOG_WARN, &err, "metrics.file");
    if (file)
        d->report_due_usec = clock + REPORT_SEC * 1000000ull;
    if (web) {
        struct bj_buf page = {0};
        bj_metrics_page(&r, &page);
        bj_metrics_http_put(d->web, &page);
        d->web_due_usec = clock + WEB_SEC * 1000000ull;
    }
    bj_buf_free(&running);
    bj_buf_free(&refused);
}
