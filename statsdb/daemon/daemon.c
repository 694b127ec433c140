#include "statsdb/daemon/daemon.h"

#include "base/log.h"
#include "statsdb/daemon/daemon_impl.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static int add_source(struct bj_daemon *d, size_t i, struct bj_err *err)
{
    struct bj_daemon_source *s = &d->source[i];
    s->daemon = d;
    s->conf = &d->conf->cluster[i];
    d->report[i].name = s->conf->name;
    s->rules =
        (struct bj_window_rules){.overlap_sec = SEC(s->conf->overlap_usec),
                                 .slice_sec = SEC(s->conf->slice_usec),
                                 .interval_sec = SEC(s->conf->interval_usec)};
    s->progress = (struct bj_progress){.name = s->conf->name,
                                       .terminal = isatty(STDERR_FILENO) == 1};
    int r = bj_cluster_has_rest(s->conf)
                ? bj_source_rest_new(s->conf, &s->rest, err)
            : bj_cluster_has_mariadb(s->conf)
                ? bj_source_mariadb_new(s->conf, &s->mariadb, err)
                : bj_source_sacct_new(s->conf, &s->sacct, err);
    for (int k = BJ_SNAPSHOT_COMMANDS; r == 0 && k < BJ_SNAPSHOTS; k++)
        if (bj_daemon_has_snapshot(s, k))
            r = bj_source_follow_new(
                k == BJ_SNAPSHOT_PBS_FILES ? BJ_FOLLOW_PBS : BJ_FOLLOW_LSF,
                s->conf->name, s->conf->snapshot[k].command, d->store,
                &s->snapshot[k].follow, err);
    return r < 0 ? r
                 : bj_covered_read(d->store, s->conf->name,
                                   bj_daemon_covered_name(s), &s->covered, err);
}

static void free_source(struct bj_daemon_source *s)
{
    bj_source_sacct_free(s->sacct);
    bj_source_rest_free(s->rest);
    bj_source_mariadb_free(s->mariadb);
    for (int k = 0; k < BJ_SNAPSHOTS; k++)
        bj_source_follow_free(s->snapshot[k].follow);
}

static bool all_finished(const struct bj_daemon *d)
{
    for (size_t i = 0; i < d->conf->clusters; i++)
        for (int k = 0; k < BJ_SNAPSHOTS; k++)
            if (bj_daemon_has_snapshot(&d->source[i], k) &&
                !d->source[i].snapshot[k].imported)
                return false;
    for (size_t i = 0; i < d->conf->clusters; i++)
        if (bj_cluster_has_windows(d->source[i].conf) && !d->source[i].finished)
            return false;
    return true;
}

/* Sleep until a source or a task is due or the daemon is woken. With --once a
 * finished source is never due again. */
static void sleep_until_due(struct bj_daemon *d)
{
    const bool once = bj_daemon_single(d);
    uint64_t now = bj_clock_boot_usec(), next = now + 60ull * 1000000;
    for (size_t i = 0; i < d->conf->clusters; i++) {
        const struct bj_daemon_source *s = &d->source[i];
        if (bj_cluster_has_windows(s->conf) && !(once && s->finished) &&
            s->due_usec < next)
            next = s->due_usec;
        for (int k = 0; k < BJ_SNAPSHOTS; k++)
            if (bj_daemon_has_snapshot(s, k) &&
                !(once && s->snapshot[k].imported) &&
                s->snapshot[k].due_usec < next)
                next = s->snapshot[k].due_usec;
    }
    if (bj_daemon_report_file(d) && d->report_due_usec < next)
        next = d->report_due_usec;
    if (d->records_due_usec < next)
        next = d->records_due_usec;
    if (d->conf->retention_usec > 0 && d->old_due_usec < next)
        next = d->old_due_usec;
    if (d->work && bj_work_due(d->work) < next)
        next = bj_work_due(d->work);
    struct pollfd fd = {.fd = d->stop->wake_fd, .events = POLLIN};
    poll(&fd, 1, next > now ? (int)((next - now) / 1000 + 1) : 0);
}

/* Import from the sources of one cluster that are due. */
static int import_cluster(struct bj_daemon *d, struct bj_daemon_source *s,
                          struct bj_err *err)
{
    bool due = bj_cluster_has_windows(s->conf) &&
               s->due_usec <= bj_clock_boot_usec() &&
               !(bj_daemon_single(d) && s->finished) &&
               !atomic_load(&d->stop->now);
    int r = due ? bj_daemon_import(d, s, err) : 0;
    if (bj_daemon_store_failed(r))
        return r;
    struct bj_err why = {0};
    int e = bj_daemon_import_snapshots(d, s, &why);
    return e < 0 ? bj_err_copy(err, e, &why) : r;
}

/* Work other than requests to schedulers. */
static int maintain(struct bj_daemon *d, struct bj_err *err)
{
    struct bj_err why = {0};
    int r = bj_daemon_collect(d, err), e = 0;
    if (r == 0)
        r = bj_daemon_months(d, err);
    if (!bj_daemon_store_failed(r) || r == -ENOSPC)
        e = bj_daemon_remove_old(d, &why);
    if (e < 0) {
        bj_log(BJ_LOG_ERROR, &why, "old jobs could not be removed");
        d->old_due_usec = bj_clock_boot_usec() + 3600ull * 1000000;
    }
    if (!d->work || bj_daemon_store_failed(r) || atomic_load(&d->stop->now))
        return r;
    why = (struct bj_err){0};
    e = bj_work_step(d->work, &why);
    return e < 0 ? bj_err_copy(err, e, &why) : r;
}

static int loop(struct bj_daemon *d, struct bj_err *err)
{
    int last = 0;
    while (!atomic_load(&d->stop->now)) {
        for (size_t i = 0; i <= d->conf->clusters; i++) {
            struct bj_err why = {0};
            bool maintenance = i == d->conf->clusters;
            int r = maintenance ? maintain(d, &why)
                                : import_cluster(d, &d->source[i], &why);
            if (r < 0)
                last = bj_err_copy(err, r, &why);
            if (r < 0 && !maintenance)
                bj_err_wrap(err, r, "%s", d->source[i].conf->name);
            if (bj_daemon_store_failed(r) && r != -ENOSPC)
                return r;
        }
        bool end = bj_daemon_single(d) && all_finished(d) &&
                   (!d->work || bj_work_idle(d->work));
        d->web_due_usec =
            0; /* update the page now: nothing changes until the next round */
        bj_daemon_report(d, end);
        if (end)
            return last;
        sleep_until_due(d);
    }
    return 0;
}

int bj_daemon_run(const struct bj_statsdb_conf *conf, struct bj_store *store,
                  int64_t since_sec, struct bj_daemon_stop *stop,
                  struct bj_err *err)
{
    struct bj_daemon d = {
        .conf = conf, .store = store, .stop = stop, .since_sec = since_sec};
    d.source = calloc(conf->clusters ? conf->clusters : 1, sizeof(*d.source));
    d.report = calloc(conf->clusters ? conf->clusters : 1, sizeof(*d.report));
    int r = d.source && d.report ? bj_upsert_new(store, &d.upsert, err)
                                 : bj_err_set(err, -ENOMEM, "sources");
    if (r == 0)
        r = bj_records_new(store, &d.records, err);
    for (size_t i = 0; r == 0 && i < conf->clusters; i++)
        r = add_source(&d, i, err);
    if (r == 0 && !conf->dry_run)
        r = bj_work_new(conf, store, &stop->now, &d.work, err);
    if (r == 0 && conf->listen.n > 0 && !conf->dry_run)
        r = bj_metrics_http_new(&conf->listen, conf->web_file, &d.web, err);
    if (r == 0 && conf->receiver.listen.n > 0 && !bj_daemon_single(&d))
        r = bj_receiver_new(conf, store, &d.receiver, err);
    if (r == 0)
        r = bj_running_new(conf, store, &stop->now, !bj_daemon_single(&d),
                           &d.running, err);
    if (r == 0) {
        bj_daemon_report(&d, true); /* the first request may take long */
        r = loop(&d, err);
        if (r == 0 && d.running && bj_daemon_single(&d)) {
            r = bj_running_round(d.running, err);
            bj_daemon_report(&d, true);
        }
    }
    bj_store_rollback(store); /* the receiver may wait for the turn to write */
    bj_running_free(d.running);
    bj_receiver_free(d.receiver);
    bj_metrics_http_free(d.web);
    for (size_t i = 0; d.source && i < conf->clusters; i++)
        free_source(&d.source[i]);
    bj_work_free(d.work);
    bj_records_free(d.records);
    bj_upsert_free(d.upsert);
    free(d.report);
    free(d.source);
    return r;
}
