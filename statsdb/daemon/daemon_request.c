#include "statsdb/daemon/daemon_impl.h"

#include "base/log.h"
#include "base/stamp.h"
#include "base/text.h"
#include "statsdb/daemon/check_online.h"
#include "statsdb/daemon/retry.h"
#include "statsdb/source/source_script.h"
#include "store/db.h"

#include <stdio.h>

enum {
    SLICE_MIN_SEC = 900, /* shortest window after timeouts */
};

/* --- one request --------------------------------------------------------
 */

static void on_progress(void *ctx, const struct bj_sacct_counts *counts)
{
    struct bj_daemon_source *s = ctx;
    uint64_t lines = counts->lines - s->lines;
    s->lines = counts->lines;
    bj_progress_add(&s->progress, lines, bj_window_done(&s->rules, &s->covered),
                    bj_clock_boot_usec());
    bj_daemon_report(s->daemon, false);
}

void bj_daemon_on_bad(void *ctx, const struct bj_sacct_bad *bad)
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

void bj_daemon_count(struct bj_metrics_cluster *r,
                     const struct bj_sacct_counts *n)
{
    r->requests++;
    r->lines += n->lines;
    r->bad_lines += n->bad_lines;
    r->bad_fields += n->bad_fields;
    r->success_sec = bj_daemon_wall_sec();
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
    if (r < 0 && bj_daemon_store_failed(r)) {
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
                                .progress = on_progress,
                                .bad = bj_daemon_on_bad};
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
        r = bj_covered_write(d->store, s->conf->name, bj_daemon_covered_name(s),
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
    bj_daemon_count(&d->report[s - d->source], &n);
    on_progress(s, &n);
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
    int64_t wall = bj_daemon_wall_sec();
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
    if (!bj_daemon_single(d))
        bj_log(BJ_LOG_ERROR, err, "%s: next request in %llu s", s->conf->name,
               (unsigned long long)wait);
}

int bj_daemon_import(struct bj_daemon *d, struct bj_daemon_source *s,
                     struct bj_err *err)
{
    struct bj_window w;
    int64_t now = bj_daemon_wall_sec();
    uint64_t began = bj_clock_boot_usec();
    /* --once requests new jobs even if the interval has not passed. */
    s->rules.interval_sec = bj_daemon_single(d) && !s->requested_new
                                ? 1
                                : SEC(s->conf->interval_usec);
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
