#include "statsdb/daemon/daemon.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/stamp.h"
#include "base/text.h"
#include "notify/notify.h"
#include "statsdb/daemon/check.h"
#include "statsdb/daemon/progress.h"
#include "statsdb/daemon/retry.h"
#include "statsdb/daemon/work.h"
#include "statsdb/import/covered.h"
#include "statsdb/import/upsert.h"
#include "statsdb/metrics/metrics_http.h"
#include "statsdb/metrics/metrics_page.h"
#include "statsdb/record/receiver.h"
#include "statsdb/record/record.h"
#include "statsdb/running/running.h"
#include "statsdb/source/source_follow.h"
#include "statsdb/source/source_jobcomp.h"
#include "statsdb/source/source_mariadb.h"
#include "statsdb/source/source_rest.h"
#include "statsdb/source/source_sacct.h"
#include "statsdb/source/source_script.h"
#include "statsdb/source/source_snapshot.h"
#include "statsdb/tables/job_month.h"
#include "statsdb/tables/job_number.h"
#include "statsdb/tables/record_month.h"
#include "statsdb/tables/retention.h"
#include "store/db.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SEC(usec) ((int64_t)((usec) / 1000000))

enum { BJ_DAEMON_BAD_LOGGED = 5 /* lines of one reply that are logged */ };

/* A command that reports all jobs at once, or followed files. */
struct bj_daemon_snapshot {
    struct bj_source_follow *follow; /* NULL: a command */
    uint64_t due_usec;
    unsigned failures;
    bool imported;
};

/* One cluster. */
struct bj_daemon_source {
    struct bj_daemon_snapshot snapshot[BJ_SNAPSHOTS];
    struct bj_daemon *daemon;
    const struct bj_cluster_conf *conf;
    struct bj_source_sacct *sacct;
    struct bj_source_rest *rest; /* NULL: not used */
    /* NULL: not used; if both are NULL, sacct is used */
    struct bj_source_mariadb *mariadb;
    struct bj_covered covered;
    struct bj_window_rules rules;
    struct bj_progress progress;
    uint64_t due_usec;  /* boot clock */
    unsigned failures;  /* in a row */
    unsigned bad;       /* of this reply */
    uint64_t lines;     /* of this reply, reported to progress */
    bool requested_new; /* a window at the new end has been imported since the
                           start */
    bool named;         /* the cluster's name in the scheduler was checked */
    bool finished;      /* with --once: nothing is left to request */
};

struct bj_daemon {
    const struct bj_statsdb_conf *conf;
    struct bj_store *store;
    struct bj_upsert *upsert;
    struct bj_daemon_stop *stop;
    struct bj_daemon_source *source;
    struct bj_records *records;
    struct bj_work *work;                    /* NULL: dry run */
    uint64_t records_due_usec, old_due_usec; /* next import, next removal */
    uint64_t months_due_usec;                /* when partitions are made next */
    uint64_t report_due_usec, web_due_usec;
    struct bj_metrics_http *web;       /* NULL: no HTTP */
    struct bj_receiver *receiver;      /* NULL: none */
    struct bj_source_jobcomp *jobcomp; /* NULL: none */
    struct bj_running *running; /* NULL: running jobs are not evaluated */
    struct bj_notify *notify;   /* NULL: no targets */
    uint64_t removed_jobs;
    struct bj_metrics_cluster *report; /* in the order of the sources */
    int64_t since_sec;
    uint64_t began_usec; /* boot clock */
    int64_t began_sec;   /* wall clock at the same time */
    bool ahead;          /* the wall clock was set forwards since then */
};

static int64_t daemon_wall_sec(void)
{
    return SEC(bj_clock_wall_usec());
}

/* The wall clock, which may have been set forwards since the start: then the
 * time that has passed since, because jobs are not old for that. */
static int64_t daemon_passed_sec(struct bj_daemon *d)
{
    const int64_t wall = daemon_wall_sec();
    const int64_t most =
        d->began_sec + SEC(bj_clock_boot_usec() - d->began_usec) + 3600;
    const bool ahead = wall > most;
    if (ahead && !d->ahead)
        bj_log(BJ_LOG_WARN, NULL,
               "the clock was set forwards by more than an hour: until it is "
               "set back, or until a restart, old jobs are removed by the time "
               "that has passed since the start");
    d->ahead = ahead;
    return ahead ? most : wall;
}

static bool daemon_single(const struct bj_daemon *d)
{
    return d->conf->once || d->conf->dry_run;
}

/* The file of metrics.file, or NULL. */
static const char *daemon_report_file(const struct bj_daemon *d)
{
    const char *path = d->conf->metrics_file;
    return path && path[0] && !d->conf->dry_run ? path : NULL;
}

/* Is it an error of the store, which stops all sources? */
static bool daemon_store_failed(int code)
{
    return code == -ENOSPC || code == -EIO || code == -EBADMSG ||
           code == -EROFS || code == -ENOMEM || code == -ENOLINK;
}

/* Name of the source in the table covered. */
static const char *daemon_covered_name(const struct bj_daemon_source *s)
{
    return s->rest ? "slurmrestd" : s->mariadb ? "mariadb" : "sacct";
}

/* Write the program's metrics to the file and the HTTP page, when due; with
 * now: at once. */
static void daemon_report(struct bj_daemon *d, bool now);

enum {
    SLICE_MIN_SEC = 900, /* shortest window after timeouts */
};

/* --- one request --------------------------------------------------------
 */

static void daemon_on_progress(void *ctx, const struct bj_sacct_counts *counts)
{
    struct bj_daemon_source *s = ctx;
    uint64_t lines = counts->lines - s->lines;
    s->lines = counts->lines;
    bj_progress_add(&s->progress, lines, bj_window_done(&s->rules, &s->covered),
                    bj_clock_boot_usec());
    daemon_report(s->daemon, false);
}

/* Log a line that cannot be read, the first few of a reply; ctx is the source.
 */
static void daemon_on_bad(void *ctx, const struct bj_sacct_bad *bad)
{
    struct bj_daemon_source *s = ctx;
    char job[64], field[64], value[96], line[32];
    if (++s->bad > BJ_DAEMON_BAD_LOGGED)
        return;
    bj_progress_clear(&s->progress);
    bj_text_clean(bad->job, job, sizeof(job));
    bj_text_clean(bad->field, field, sizeof(field));
    bj_text_clean(bad->value, value, sizeof(value));
    snprintf(line, sizeof(line), "line %llu", (unsigned long long)bad->line);
    bj_log(BJ_LOG_WARN, NULL, "%s: %s, job %s: %s '%s' is not %s; %s",
           s->conf->name, bad->file ? bad->file : line, job, field, value,
           bad->expected,
           bad->line_left_out ? "line skipped" : "field skipped");
}

static void log_counts(const struct bj_daemon_source *s,
                       const struct bj_window *w,
                       const struct bj_sacct_counts *n,
                       const struct bj_upsert_counts *was,
                       const struct bj_upsert_counts *now)
{
    char from[BJ_STAMP_MAX], to[BJ_STAMP_MAX];
    uint64_t added = now->jobs_new - was->jobs_new;
    uint64_t changed = now->jobs_changed - was->jobs_changed;
    bool quiet = s->progress.terminal ||
                 (added == 0 && changed == 0 && n->bad_lines == 0);
    bj_stamp_text(w->start_sec * 1000000, 0, 0, from);
    bj_stamp_text(w->end_sec * 1000000, 0, 0, to);
    bj_log(quiet ? BJ_LOG_DEBUG : BJ_LOG_INFO, NULL,
           "%s: %s to %s: %llu jobs, %llu steps; %llu jobs new, %llu changed, "
           "%llu lines bad",
           s->conf->name, from, to, (unsigned long long)n->jobs,
           (unsigned long long)n->steps, (unsigned long long)added,
           (unsigned long long)changed, (unsigned long long)n->bad_lines);
}

/* Count a reply. */
static void daemon_count(struct bj_metrics_cluster *r,
                         const struct bj_sacct_counts *n)
{
    r->requests++;
    r->lines += n->lines;
    r->bad_lines += n->bad_lines;
    r->bad_fields += n->bad_fields;
    r->success_sec = daemon_wall_sec();
}

/* Prometheus, PUE and records without a cluster use the name in the
 * configuration. Warn if no job has that name. */
static void check_name(struct bj_daemon *d, struct bj_daemon_source *s)
{
    const struct bj_cluster_conf *c = s->conf;
    struct bj_st *st;
    s->named = true;
    bool by_name =
        (c->prom.url && c->prom.url[0]) || c->pue.n > 0 || c->records.n > 0;
    if (!by_name ||
        bj_db_prepare(bj_store_db(d->store),
                      "SELECT name FROM cluster WHERE NOT EXISTS (SELECT 1"
                      " FROM cluster WHERE name = ?1) ORDER BY id DESC LIMIT"
                      " 1",
                      &st, NULL) < 0)
        return;
    bj_st_bind_filled(st, 1, bj_slice_str(c->name));
    if (bj_st_row(st, NULL) > 0) {
        char name[64];
        bj_text_clean(bj_st_get_text(st, 0), name, sizeof(name));
        bj_log(BJ_LOG_WARN, NULL,
               "%s: the scheduler's name of the cluster is '%s': prometheus, "
               "pue, and "
               "records without a cluster use '%s' and match no jobs",
               c->name, name, c->name);
    }
    bj_st_finalize(st);
}

/* Read the batch scripts of new jobs.  If sacct fails, jobs that run, and those
 * without derived values, are requested again later. */
static int read_scripts(struct bj_daemon *d, struct bj_daemon_source *s,
                        struct bj_err *err)
{
    const char *name = bj_source_sacct_cluster(s->sacct);
    const uint64_t began = bj_clock_boot_usec();
    struct bj_err why = {0};
    size_t jobs = 0;
    int r = name[0] ? bj_source_scripts(s->conf, bj_slice_str(name), d->store,
                                        bj_work_applications(d->work),
                                        &d->stop->now, &jobs, &why)
                    : 0;
    if (r < 0 && daemon_store_failed(r)) {
        *err = why;
        return r;
    }
    if (r < 0)
        bj_log(BJ_LOG_WARN, &why, "%s", s->conf->name);
    else if (jobs > 0)
        bj_log(BJ_LOG_DEBUG, NULL, "%s: batch scripts of %zu jobs in %llu ms",
               s->conf->name, jobs,
               (unsigned long long)((bj_clock_boot_usec() - began) / 1000));
    return 0;
}

/* Import one window, and write the covered period in its last transaction. */
static int request_window(struct bj_daemon *d, struct bj_daemon_source *s,
                          const struct bj_window *w, struct bj_err *err)
{
    bool dry = d->conf->dry_run;
    struct bj_source_run run = {.upsert = d->upsert,
                                .batch_lines = dry ? 0 : d->conf->batch_lines,
                                .stop = &d->stop->now,
                                .ctx = s,
                                .progress = daemon_on_progress,
                                .bad = daemon_on_bad};
    struct bj_upsert_counts was = *bj_upsert_counts(d->upsert);
    struct bj_sacct_counts n;
    s->bad = 0;
    s->lines = 0;
    int r = s->rest      ? bj_source_rest_run(s->rest, w, &run, &n, err)
            : s->mariadb ? bj_source_mariadb_run(s->mariadb, w, &run, &n, err)
                         : bj_source_sacct_run(s->sacct, w, &run, &n, err);
    if (r < 0)
        return r;
    r = dry ? bj_upsert_flush(d->upsert, err) : bj_upsert_ready(d->upsert, err);
    if (r == 0 && !dry)
        r = bj_covered_write(d->store, s->conf->name, daemon_covered_name(s),
                             &w->after, err);
    if (r == 0 && !dry)
        r = bj_upsert_commit(d->upsert, err);
    if (r == 0 && d->conf->online)
        r = bj_check_seen(bj_store_db(d->store), s->conf->name, err);
    if (r < 0 || dry)
        bj_upsert_rollback(d->upsert);
    if (r < 0)
        return r;
    s->covered = w->after;
    daemon_count(&d->report[s - d->source], &n);
    daemon_on_progress(s, &n);
    if (s->bad > BJ_DAEMON_BAD_LOGGED)
        bj_log(BJ_LOG_WARN, NULL, "%s: %u more such lines", s->conf->name,
               s->bad - BJ_DAEMON_BAD_LOGGED);
    log_counts(s, w, &n, &was, bj_upsert_counts(d->upsert));
    if (!dry && !s->named && n.jobs > 0)
        check_name(d, s);
    return 0;
}

/* Import history in bulk mode. */
static int import_window(struct bj_daemon *d, struct bj_daemon_source *s,
                         const struct bj_window *w, struct bj_err *err)
{
    int r = bj_upsert_bulk(d->upsert, bj_window_bulk(&s->rules, w), err);
    if (r == 0)
        r = request_window(d, s, w, err);
    int off = bj_upsert_bulk(d->upsert, false, r < 0 ? NULL : err);
    if (r == 0)
        r = off;
    return r == 0 && s->sacct && s->conf->scripts && !d->conf->dry_run
               ? read_scripts(d, s, err)
               : r;
}

/* --- schedule -----------------------------------------------------------
 */

/* Pause at least as long as the last request took, so that the scheduler's
 * database is free for half of the time. */
static void schedule_next(struct bj_daemon *d, struct bj_daemon_source *s,
                          const struct bj_window *w, uint64_t began_usec)
{
    uint64_t now = bj_clock_boot_usec(), rest = s->conf->pause_usec;
    bool back = !w->backfill && w->end_sec < s->covered.to_sec;
    if (now - began_usec > rest)
        rest = now - began_usec;
    struct bj_window next;
    int64_t wall = daemon_wall_sec();
    s->rules.interval_sec = SEC(s->conf->interval_usec);
    if (back || !bj_window_next(&s->rules, &s->covered, wall, &next)) {
        s->finished = true;
        rest = s->conf->interval_usec;
    }
    if (d->conf->dry_run)
        s->finished = true;
    s->due_usec = now + rest;
}

static void retry_later(const struct bj_daemon *d, struct bj_daemon_source *s,
                        const struct bj_err *err)
{
    uint64_t wait = bj_retry_sec(&s->failures);
    s->due_usec = bj_clock_boot_usec() + wait * 1000000;
    /* A request that takes too long may be too large. */
    if (err->code == -ETIMEDOUT && s->rules.slice_sec > SLICE_MIN_SEC)
        s->rules.slice_sec /= 2;
    if (!daemon_single(d))
        bj_log(BJ_LOG_ERROR, err, "%s: next request in %llu s", s->conf->name,
               (unsigned long long)wait);
}

/* Import the next window of a cluster. A failure is counted, logged and tried
 * again later. */
static int daemon_import(struct bj_daemon *d, struct bj_daemon_source *s,
                         struct bj_err *err)
{
    struct bj_window w;
    int64_t now = daemon_wall_sec();
    uint64_t began = bj_clock_boot_usec();
    /* --once requests new jobs even if the interval has not passed. */
    s->rules.interval_sec =
        daemon_single(d) && !s->requested_new ? 1 : SEC(s->conf->interval_usec);
    s->rules.since_sec =
        d->since_sec ? d->since_sec : now - SEC(s->conf->history_usec);
    /* Do not request jobs that retention would remove at once. */
    if (d->conf->retention_usec > 0 &&
        s->rules.since_sec < now - SEC(d->conf->retention_usec))
        s->rules.since_sec = now - SEC(d->conf->retention_usec);
    if (!bj_window_next(&s->rules, &s->covered, now, &w)) {
        s->finished = true;
        s->due_usec = began + s->conf->pause_usec + 1000000;
        return 0;
    }
    int r = import_window(d, s, &w, err);
    bj_progress_clear(&s->progress);
    if (r < 0) {
        if (atomic_load(&d->stop->now))
            return 0;
        d->report[s - d->source].fault[bj_metrics_fault(r)]++;
        retry_later(d, s, err);
        s->finished = true;
        return r;
    }
    s->failures = 0;
    s->requested_new = s->requested_new || !w.backfill;
    if (s->rules.slice_sec < SEC(s->conf->slice_usec))
        s->rules.slice_sec += s->rules.slice_sec / 4;
    schedule_next(d, s, &w, began);
    return 0;
}

/* The time of the import shows how current the running jobs are. */
static int daemon_commit(struct bj_daemon *d, const struct bj_daemon_source *s,
                         enum bj_snapshot_kind kind, struct bj_err *err)
{
    const int64_t now = daemon_wall_sec();
    int r = bj_upsert_ready(d->upsert, err);
    if (r == 0)
        r = bj_covered_write(d->store, s->conf->name,
                             kind == BJ_SNAPSHOT_QSTAT ? "qstat" : "bjobs",
                             &(struct bj_covered){now, now}, err);
    return r < 0 ? r : bj_upsert_commit(d->upsert, err);
}

static int take_snapshot(struct bj_daemon *d, struct bj_daemon_source *s,
                         enum bj_snapshot_kind kind, struct bj_err *err)
{
    bool dry = d->conf->dry_run;
    struct bj_source_follow *follow = s->snapshot[kind].follow;
    struct bj_source_run run = {.upsert = d->upsert,
                                .batch_lines = dry ? 0 : d->conf->batch_lines,
                                .stop = &d->stop->now,
                                .ctx = s,
                                .bad = daemon_on_bad};
    struct bj_upsert_counts was = *bj_upsert_counts(d->upsert);
    struct bj_sacct_counts n;
    s->bad = 0;
    int r = follow ? bj_source_follow_run(follow, &run, dry, &n, err)
                   : bj_source_snapshot_run(kind, s->conf, &run, &n, err);
    if (r == 0 && !follow)
        r = dry ? bj_upsert_flush(d->upsert, err)
                : daemon_commit(d, s, kind, err);
    if (r == 0 && !follow && d->conf->online)
        r = bj_check_seen(bj_store_db(d->store), s->conf->name, err);
    if (!follow && (r < 0 || dry))
        bj_upsert_rollback(d->upsert);
    if (r < 0)
        return r;
    const struct bj_upsert_counts *now = bj_upsert_counts(d->upsert);
    daemon_count(&d->report[s - d->source], &n);
    bj_log(follow && n.bytes == 0 ? BJ_LOG_DEBUG : BJ_LOG_INFO, NULL,
           "%s: %llu jobs; %llu new, %llu changed, %llu skipped", s->conf->name,
           (unsigned long long)n.jobs,
           (unsigned long long)(now->jobs_new - was.jobs_new),
           (unsigned long long)(now->jobs_changed - was.jobs_changed),
           (unsigned long long)n.bad_lines);
    return 0;
}

static bool daemon_has_snapshot(const struct bj_daemon_source *s, int kind)
{
    const char *command = s->conf->snapshot[kind].command;
    return command && command[0];
}

/* Import from the commands and files that are due. */
static int daemon_import_snapshots(struct bj_daemon *d,
                                   struct bj_daemon_source *s,
                                   struct bj_err *err)
{
    int last = 0;
    for (int kind = 0; kind < BJ_SNAPSHOTS; kind++) {
        struct bj_daemon_snapshot *snap = &s->snapshot[kind];
        if (!daemon_has_snapshot(s, kind) ||
            snap->due_usec > bj_clock_boot_usec() ||
            (daemon_single(d) && snap->imported) || atomic_load(&d->stop->now))
            continue;
        int r = take_snapshot(d, s, (enum bj_snapshot_kind)kind, err);
        uint64_t wait = s->conf->snapshot[kind].interval_usec;
        snap->imported = true;
        if (r == 0) {
            snap->failures = 0;
        } else if (!atomic_load(&d->stop->now)) {
            last = r;
            wait = bj_retry_sec(&snap->failures) * 1000000;
            d->report[s - d->source].fault[bj_metrics_fault(r)]++;
            if (!daemon_single(d))
                bj_log(BJ_LOG_ERROR, err, "%s: next request in %llu s",
                       s->conf->name, (unsigned long long)(wait / 1000000));
        }
        snap->due_usec = bj_clock_boot_usec() + wait;
    }
    return last;
}

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

/* Import final records of nodes, when due. */
static int daemon_collect(struct bj_daemon *d, struct bj_err *err)
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
static int daemon_remove_old(struct bj_daemon *d, struct bj_err *err)
{
    uint64_t now = bj_clock_boot_usec();
    if (d->conf->retention_usec == 0 || d->conf->dry_run ||
        now < d->old_due_usec)
        return 0;
    int64_t before = daemon_passed_sec(d) - SEC(d->conf->retention_usec);
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
static int daemon_months(struct bj_daemon *d, struct bj_err *err)
{
    uint64_t now = bj_clock_boot_usec();
    if (d->conf->dry_run || now < d->months_due_usec ||
        !bj_job_numbers_follow(bj_store_db(d->store)))
        return 0;
    d->months_due_usec = now + HOUR_USEC;
    int r = bj_store_begin(d->store, err);
    if (r == 0)
        r = bj_job_months_ahead(bj_store_db(d->store), daemon_passed_sec(d),
                                err);
    if (r == 0)
        r = bj_record_months_ahead(bj_store_db(d->store), daemon_passed_sec(d),
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
    if (d->jobcomp) {
        const struct bj_source_jobcomp_counts n =
            bj_source_jobcomp_counts(d->jobcomp);
        r.jobcomp_stored = n.stored;
        r.jobcomp_malformed = n.malformed;
        r.jobcomp_denied = n.denied;
        r.jobcomp_failures = n.failures;
    }
    return r;
}

static void daemon_report(struct bj_daemon *d, bool now)
{
    const char *path = daemon_report_file(d);
    uint64_t clock = bj_clock_boot_usec();
    bool file = path && (now || clock >= d->report_due_usec);
    bool web = d->web && (now || clock >= d->web_due_usec);
    if (!file && !web)
        return;
    struct bj_metrics_values r = report_of(d);
    struct bj_err err = {0};
    struct bj_buf running = {0}, refused = {0}, notify = {0};
    if (d->work)
        bj_work_refused_page(d->work, &refused);
    r.refused = (struct bj_slice){refused.p, refused.len};
    if (d->running)
        bj_running_page(d->running, &running);
    r.running = (struct bj_slice){running.p, running.len};
    if (d->notify)
        bj_notify_page(d->notify, &notify);
    r.notify = (struct bj_slice){notify.p, notify.len};
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
    bj_buf_free(&notify);
    bj_buf_free(&refused);
}

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
        if (daemon_has_snapshot(s, k))
            r = bj_source_follow_new(
                k == BJ_SNAPSHOT_PBS_FILES ? BJ_FOLLOW_PBS : BJ_FOLLOW_LSF,
                s->conf->name, s->conf->snapshot[k].command, d->store,
                &s->snapshot[k].follow, err);
    return r < 0 ? r
                 : bj_covered_read(d->store, s->conf->name,
                                   daemon_covered_name(s), &s->covered, err);
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
            if (daemon_has_snapshot(&d->source[i], k) &&
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
    const bool once = daemon_single(d);
    uint64_t now = bj_clock_boot_usec(), next = now + 60ull * 1000000;
    for (size_t i = 0; i < d->conf->clusters; i++) {
        const struct bj_daemon_source *s = &d->source[i];
        if (bj_cluster_has_windows(s->conf) && !(once && s->finished) &&
            s->due_usec < next)
            next = s->due_usec;
        for (int k = 0; k < BJ_SNAPSHOTS; k++)
            if (daemon_has_snapshot(s, k) &&
                !(once && s->snapshot[k].imported) &&
                s->snapshot[k].due_usec < next)
                next = s->snapshot[k].due_usec;
    }
    if (daemon_report_file(d) && d->report_due_usec < next)
        next = d->report_due_usec;
    if (d->records_due_usec < next)
        next = d->records_due_usec;
    if (d->conf->retention_usec > 0 && d->old_due_usec < next)
        next = d->old_due_usec;
    if (d->work && bj_work_due(d->work) < next)
        next = bj_work_due(d->work);
    struct pollfd fd = {.fd = d->stop->wake_fd, .events = POLLIN};
    eventfd_t wakes;
    if (poll(&fd, 1, next > now ? (int)((next - now) / 1000 + 1) : 0) > 0)
        eventfd_read(d->stop->wake_fd, &wakes);
}

/* Wake the loop; from any thread. */
static void daemon_wake(void *ctx)
{
    const struct bj_daemon *d = ctx;
    eventfd_write(d->stop->wake_fd, 1);
}

/* Import from the sources of one cluster that are due. */
static int import_cluster(struct bj_daemon *d, struct bj_daemon_source *s,
                          struct bj_err *err)
{
    bool due = bj_cluster_has_windows(s->conf) &&
               s->due_usec <= bj_clock_boot_usec() &&
               !(daemon_single(d) && s->finished) &&
               !atomic_load(&d->stop->now);
    int r = due ? daemon_import(d, s, err) : 0;
    if (daemon_store_failed(r))
        return r;
    struct bj_err why = {0};
    int e = daemon_import_snapshots(d, s, &why);
    return e < 0 ? bj_err_copy(err, e, &why) : r;
}

/* Work other than requests to schedulers. */
static int maintain(struct bj_daemon *d, struct bj_err *err)
{
    struct bj_err why = {0};
    int r = d->jobcomp ? bj_source_jobcomp_run(d->jobcomp, err) : 0, e = 0;
    if (r == 0)
        r = daemon_collect(d, err);
    if (r == 0)
        r = daemon_months(d, err);
    if (!daemon_store_failed(r) || r == -ENOSPC)
        e = daemon_remove_old(d, &why);
    if (e < 0) {
        bj_log(BJ_LOG_ERROR, &why, "old jobs could not be removed");
        d->old_due_usec = bj_clock_boot_usec() + 3600ull * 1000000;
    }
    if (!d->work || daemon_store_failed(r) || atomic_load(&d->stop->now))
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
            if (daemon_store_failed(r) && r != -ENOSPC)
                return r;
        }
        bool end = daemon_single(d) && all_finished(d) &&
                   (!d->work || bj_work_idle(d->work));
        d->web_due_usec =
            0; /* update the page now: nothing changes until the next round */
        daemon_report(d, end);
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
    struct bj_daemon d = {.conf = conf,
                          .store = store,
                          .stop = stop,
                          .since_sec = since_sec,
                          .began_usec = bj_clock_boot_usec(),
                          .began_sec = daemon_wall_sec()};
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
    if (r == 0 && conf->receiver.listen.n > 0 && !daemon_single(&d))
        r = bj_receiver_new(conf, store, &d.receiver, err);
    if (r == 0 && conf->jobcomp.listen.n > 0 && !daemon_single(&d))
        r = bj_source_jobcomp_new(conf, store, d.upsert,
                                  bj_work_applications(d.work), daemon_wake, &d,
                                  &d.jobcomp, err);
    if (r == 0)
        r = bj_running_new(conf, store, &stop->now, !daemon_single(&d),
                           &d.running, err);
    if (r == 0)
        r = bj_notify_new(conf, store, &stop->now, !daemon_single(&d),
                          &d.notify, err);
    if (r == 0) {
        daemon_report(&d, true); /* the first request may take long */
        r = loop(&d, err);
        if (r == 0 && d.running && daemon_single(&d))
            r = bj_running_round(d.running, err);
        if (d.notify && daemon_single(&d) && !daemon_store_failed(r)) {
            struct bj_err why = {0};
            int e = bj_notify_round(d.notify, &why);
            r = r == 0 && e < 0 ? bj_err_copy(err, e, &why) : r;
        }
        if (r == 0 && daemon_single(&d))
            daemon_report(&d, true);
    }
    bj_store_rollback(store); /* the receiver may wait for the turn to write */
    bj_notify_free(d.notify);
    bj_running_free(d.running);
    bj_receiver_free(d.receiver);
    bj_source_jobcomp_free(d.jobcomp);
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
