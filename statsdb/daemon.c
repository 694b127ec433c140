#include "statsdb/daemon.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/stamp.h"
#include "base/text.h"
#include "statsdb/covered.h"
#include "statsdb/progress.h"
#include "statsdb/record.h"
#include "statsdb/report.h"
#include "statsdb/retention.h"
#include "statsdb/source_follow.h"
#include "statsdb/source_rest.h"
#include "statsdb/source_sacct.h"
#include "statsdb/source_snapshot.h"
#include "statsdb/upsert.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define SEC(usec) ((int64_t)((usec) / 1000000))

enum {
    PATIENCE_SEC = 60, /* after the first failure; doubles */
    PATIENCE_MAX_SEC = 3600,
    SLICE_MIN_SEC = 900, /* shortest question after timeouts */
    OLD_JOBS = 2000,     /* removed in one transaction */
    SHRINK_PAGES = 2000,
    RECORDS = 1000, /* of a directory, in one transaction */
    RECORDS_SEC = 20,
    REPORT_SEC = 15,
    BAD_TOLD = 5 /* of one answer, in the log */
};

/* A command that tells of all jobs at once, or files that are followed. */
struct snapshot {
    struct bj_source_follow *follow; /* NULL: a command */
    uint64_t due_usec;
    unsigned failures;
    bool asked;
};

/* One cluster. */
struct source {
    struct snapshot snapshot[BJ_SNAPSHOTS];
    const struct bj_cluster_conf *conf;
    struct bj_source_sacct *sacct;
    struct bj_source_rest *rest; /* NULL: sacct is asked */
    struct bj_covered covered;
    struct bj_window_rules rules;
    struct bj_progress progress;
    uint64_t due_usec; /* boot clock */
    unsigned failures; /* in a row */
    unsigned bad;      /* of this answer */
    uint64_t lines;    /* of this answer, told to progress */
    bool asked_new;    /* since the start */
    bool finished;     /* once: there is nothing left to ask */
};

struct daemon {
    const struct bj_statsdb_conf *conf;
    struct bj_store *store;
    struct bj_upsert *upsert;
    struct bj_daemon_stop *stop;
    struct source *source;
    struct bj_records *records;
    uint64_t records_due_usec, old_due_usec; /* when they are looked for */
    uint64_t report_due_usec;
    uint64_t removed_jobs;
    struct bj_report_cluster *report; /* in the order of the sources */
    int64_t since_sec;
};

static int64_t wall_sec(void)
{
    return SEC(bj_clock_wall_usec());
}

static bool single(const struct daemon *d)
{
    return d->conf->once || d->conf->dry_run;
}

/* --- one question ----------------------------------------------------------
 */

static void on_progress(void *ctx, const struct bj_sacct_counts *counts)
{
    struct source *s = ctx;
    uint64_t lines = counts->lines - s->lines;
    s->lines = counts->lines;
    bj_progress_add(&s->progress, lines, bj_window_done(&s->rules, &s->covered),
                    bj_clock_boot_usec());
}

static void on_bad(void *ctx, const struct bj_sacct_bad *bad)
{
    struct source *s = ctx;
    char job[64], field[64], value[96];
    if (++s->bad > BAD_TOLD)
        return;
    bj_progress_clear(&s->progress);
    bj_text_clean(bad->job, job, sizeof(job));
    bj_text_clean(bad->field, field, sizeof(field));
    bj_text_clean(bad->value, value, sizeof(value));
    bj_log(BJ_LOG_WARN, NULL, "%s: line %llu, job %s: %s '%s' is not %s; %s",
           s->conf->name, (unsigned long long)bad->line, job, field, value,
           bad->expected,
           bad->line_left_out ? "line left out" : "field left out");
}

static void tell(const struct source *s, const struct bj_window *w,
                 const struct bj_sacct_counts *n,
                 const struct bj_upsert_counts *was,
                 const struct bj_upsert_counts *now)
{
    char from[BJ_STAMP_MAX], to[BJ_STAMP_MAX];
    bj_stamp_text(w->start_sec * 1000000, 0, 0, from);
    bj_stamp_text(w->end_sec * 1000000, 0, 0, to);
    bj_log(s->progress.terminal ? BJ_LOG_DEBUG : BJ_LOG_INFO, NULL,
           "%s: %s to %s: %llu jobs, %llu steps; %llu jobs new, %llu changed, "
           "%llu lines bad",
           s->conf->name, from, to, (unsigned long long)n->jobs,
           (unsigned long long)n->steps,
           (unsigned long long)(now->jobs_new - was->jobs_new),
           (unsigned long long)(now->jobs_changed - was->jobs_changed),
           (unsigned long long)n->bad_lines);
}

static void count(struct bj_report_cluster *r, const struct bj_sacct_counts *n)
{
    r->questions++;
    r->lines += n->lines;
    r->bad_lines += n->bad_lines;
    r->bad_fields += n->bad_fields;
    r->success_sec = wall_sec();
}

static const char *covered_name(const struct source *s)
{
    return s->rest ? "slurmrestd" : "sacct";
}

/* Ask, and note with the last of the answer how far that leads. */
static int ask(struct daemon *d, struct source *s, const struct bj_window *w,
               struct bj_err *err)
{
    bool dry = d->conf->dry_run;
    struct bj_source_run run = {.upsert = d->upsert,
                                .batch_lines = dry ? 0 : d->conf->batch_lines,
                                .stop = &d->stop->now,
                                .ctx = s,
                                .progress = on_progress,
                                .bad = on_bad};
    struct bj_upsert_counts was = *bj_upsert_counts(d->upsert);
    struct bj_sacct_counts n;
    s->bad = 0;
    s->lines = 0;
    int r = s->rest ? bj_source_rest_run(s->rest, w, &run, &n, err)
                    : bj_source_sacct_run(s->sacct, w, &run, &n, err);
    if (r < 0)
        return r;
    if (!dry)
        r = bj_covered_write(d->store, s->conf->name, covered_name(s),
                             &w->after, err);
    if (r == 0 && !dry)
        r = bj_upsert_commit(d->upsert, err);
    if (r < 0 || dry)
        bj_upsert_rollback(d->upsert);
    if (r < 0)
        return r;
    s->covered = w->after;
    count(&d->report[s - d->source], &n);
    on_progress(s, &n);
    if (s->bad > BAD_TOLD)
        bj_log(BJ_LOG_WARN, NULL, "%s: %u more like that", s->conf->name,
               s->bad - BAD_TOLD);
    tell(s, w, &n, &was, bj_upsert_counts(d->upsert));
    return 0;
}

/* --- when ------------------------------------------------------------------
 */

/* The next question comes after a rest at least as long as the last one took,
 * so that the scheduler's database has half of its time to itself. */
static void plan(struct daemon *d, struct source *s, const struct bj_window *w,
                 uint64_t began_usec)
{
    uint64_t now = bj_clock_boot_usec(), rest = s->conf->pause_usec;
    bool back = !w->backfill && w->end_sec < s->covered.to_sec;
    if (now - began_usec > rest)
        rest = now - began_usec;
    struct bj_window next;
    int64_t wall = wall_sec();
    s->rules.interval_sec = SEC(s->conf->interval_usec);
    if (back || !bj_window_next(&s->rules, &s->covered, wall, &next)) {
        s->finished = true;
        rest = s->conf->interval_usec;
    }
    if (d->conf->dry_run)
        s->finished = true;
    s->due_usec = now + rest;
}

/* Failures of the store concern all; those of a source only itself. */
static bool of_the_store(int code)
{
    return code == -ENOSPC || code == -EIO || code == -EBADMSG ||
           code == -EROFS || code == -ENOMEM;
}

/* Seconds to wait after one failure more. */
static uint64_t patience(unsigned *failures)
{
    uint64_t wait = PATIENCE_SEC;
    for (unsigned i = 0; i < *failures && wait < PATIENCE_MAX_SEC; i++)
        wait *= 2;
    if (*failures < UINT_MAX)
        ++*failures;
    return wait > PATIENCE_MAX_SEC ? PATIENCE_MAX_SEC : wait;
}

static void put_off(const struct daemon *d, struct source *s,
                    const struct bj_err *err)
{
    uint64_t wait = patience(&s->failures);
    s->due_usec = bj_clock_boot_usec() + wait * 1000000;
    /* A question that takes too long may be too large. */
    if (err->code == -ETIMEDOUT && s->rules.slice_sec > SLICE_MIN_SEC)
        s->rules.slice_sec /= 2;
    if (!single(d))
        bj_log(BJ_LOG_ERROR, err, "%s: will be asked again in %llu s",
               s->conf->name, (unsigned long long)wait);
}

static int visit(struct daemon *d, struct source *s, struct bj_err *err)
{
    struct bj_window w;
    int64_t now = wall_sec();
    uint64_t began = bj_clock_boot_usec();
    /* Who says --once wants what is new, however little time has passed. */
    s->rules.interval_sec =
        single(d) && !s->asked_new ? 1 : SEC(s->conf->interval_usec);
    s->rules.since_sec =
        d->since_sec ? d->since_sec : now - SEC(s->conf->history_usec);
    /* What would be removed at once is not asked for. */
    if (d->conf->retention_usec > 0 &&
        s->rules.since_sec < now - SEC(d->conf->retention_usec))
        s->rules.since_sec = now - SEC(d->conf->retention_usec);
    if (!bj_window_next(&s->rules, &s->covered, now, &w)) {
        s->finished = true;
        s->due_usec = began + s->conf->pause_usec + 1000000;
        return 0;
    }
    int r = ask(d, s, &w, err);
    bj_progress_clear(&s->progress);
    if (r < 0) {
        if (atomic_load(&d->stop->now))
            return 0;
        d->report[s - d->source].fault[bj_report_fault(r)]++;
        put_off(d, s, err);
        s->finished = true;
        return r;
    }
    s->failures = 0;
    s->asked_new = s->asked_new || !w.backfill;
    if (s->rules.slice_sec < SEC(s->conf->slice_usec))
        s->rules.slice_sec += s->rules.slice_sec / 4;
    plan(d, s, &w, began);
    return 0;
}

/* --- snapshots -------------------------------------------------------------
 */

static int take_snapshot(struct daemon *d, struct source *s,
                         enum bj_snapshot_kind kind, struct bj_err *err)
{
    bool dry = d->conf->dry_run;
    struct bj_source_follow *follow = s->snapshot[kind].follow;
    struct bj_source_run run = {.upsert = d->upsert,
                                .store = d->store,
                                .batch_lines = dry ? 0 : d->conf->batch_lines,
                                .stop = &d->stop->now,
                                .ctx = s,
                                .bad = on_bad};
    struct bj_upsert_counts was = *bj_upsert_counts(d->upsert);
    struct bj_sacct_counts n;
    s->bad = 0;
    int r = follow ? bj_source_follow_run(follow, &run, dry, &n, err)
                   : bj_source_snapshot_run(kind, s->conf, &run, &n, err);
    if (r == 0 && !dry && !follow)
        r = bj_upsert_commit(d->upsert, err);
    if (!follow && (r < 0 || dry))
        bj_upsert_rollback(d->upsert);
    if (r < 0)
        return r;
    const struct bj_upsert_counts *now = bj_upsert_counts(d->upsert);
    count(&d->report[s - d->source], &n);
    bj_log(follow && n.bytes == 0 ? BJ_LOG_DEBUG : BJ_LOG_INFO, NULL,
           "%s: %llu jobs; %llu new, %llu changed, %llu left out",
           s->conf->name, (unsigned long long)n.jobs,
           (unsigned long long)(now->jobs_new - was.jobs_new),
           (unsigned long long)(now->jobs_changed - was.jobs_changed),
           (unsigned long long)n.bad_lines);
    return 0;
}

static bool has_snapshot(const struct source *s, int kind)
{
    const char *command = s->conf->snapshot[kind].command;
    return command && command[0];
}

/* Ask those that are due. */
static int visit_snapshots(struct daemon *d, struct source *s,
                           struct bj_err *err)
{
    int last = 0;
    for (int kind = 0; kind < BJ_SNAPSHOTS; kind++) {
        struct snapshot *snap = &s->snapshot[kind];
        if (!has_snapshot(s, kind) || snap->due_usec > bj_clock_boot_usec() ||
            (single(d) && snap->asked) || atomic_load(&d->stop->now))
            continue;
        int r = take_snapshot(d, s, (enum bj_snapshot_kind)kind, err);
        uint64_t wait = s->conf->snapshot[kind].interval_usec;
        snap->asked = true;
        if (r == 0) {
            snap->failures = 0;
        } else if (!atomic_load(&d->stop->now)) {
            last = r;
            wait = patience(&snap->failures) * 1000000;
            d->report[s - d->source].fault[bj_report_fault(r)]++;
            if (!single(d))
                bj_log(BJ_LOG_ERROR, err, "%s: will be asked again in %llu s",
                       s->conf->name, (unsigned long long)(wait / 1000000));
        }
        snap->due_usec = bj_clock_boot_usec() + wait;
    }
    return last;
}

/* --- records of nodes ------------------------------------------------------
 */

/* All that lie in a directory. */
static int collect_dir(struct daemon *d, size_t i, const char *dir,
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
            bj_log(BJ_LOG_WARN, &why, "%s: %llu files are no records", dir,
                   (unsigned long long)n.bad);
        d->report[i].records += n.taken;
        d->report[i].bad_records += n.bad;
        if (n.taken > 0)
            bj_log(BJ_LOG_DEBUG, NULL, "%s: %llu records", dir,
                   (unsigned long long)n.taken);
    } while (r == RECORDS && !atomic_load(&d->stop->now));
    return r < 0 ? r : 0;
}

static int collect(struct daemon *d, struct bj_err *err)
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
            bj_log(BJ_LOG_ERROR, &why, "%s: records stay", c->name);
            last = bj_err_set(err, r, "%s", why.msg);
        }
    }
    d->records_due_usec = now + RECORDS_SEC * 1000000ull;
    return last;
}

/* --- old jobs --------------------------------------------------------------
 */

/* A little at a time, so that questions are not kept waiting. */
static int remove_old(struct daemon *d, struct bj_err *err)
{
    uint64_t now = bj_clock_boot_usec();
    if (d->conf->retention_usec == 0 || d->conf->dry_run ||
        now < d->old_due_usec)
        return 0;
    int64_t before = wall_sec() - SEC(d->conf->retention_usec);
    int n = bj_retention_step(d->store, before, OLD_JOBS, err);
    if (n < 0)
        return n;
    d->removed_jobs += (uint64_t)n;
    if (n > 0)
        bj_log(BJ_LOG_INFO, NULL, "%d old jobs removed", n);
    d->old_due_usec = now + (n > 0 ? 1000000 : 3600ull * 1000000);
    return bj_retention_shrink(d->store, SHRINK_PAGES, err);
}

/* --- how it goes -----------------------------------------------------------
 */

static void report(struct daemon *d)
{
    const char *path = d->conf->metrics_file;
    uint64_t now = bj_clock_boot_usec();
    if (!path || !path[0] || now < d->report_due_usec)
        return;
    const struct bj_upsert_counts *c = bj_upsert_counts(d->upsert);
    struct bj_report r = {.cluster = d->report,
                          .clusters = d->conf->clusters,
                          .jobs_new = c->jobs_new,
                          .jobs_changed = c->jobs_changed,
                          .jobs_same = c->jobs_same,
                          .steps_new = c->steps_new,
                          .steps_changed = c->steps_changed,
                          .steps_same = c->steps_same,
                          .removed_jobs = d->removed_jobs,
                          .store_bytes = bj_store_bytes(d->store),
                          .wal_bytes = bj_store_wal_bytes(d->store)};
    for (size_t i = 0; i < d->conf->clusters; i++) {
        d->report[i].from_sec = d->source[i].covered.from_sec;
        d->report[i].to_sec = d->source[i].covered.to_sec;
    }
    struct bj_err err = {0};
    if (bj_report_save(&r, path, &err) < 0)
        bj_log(BJ_LOG_WARN, &err, "metrics.file");
    d->report_due_usec = now + REPORT_SEC * 1000000ull;
}

/* --- rounds ----------------------------------------------------------------
 */

static int add_source(struct daemon *d, size_t i, struct bj_err *err)
{
    struct source *s = &d->source[i];
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
                : bj_source_sacct_new(s->conf, &s->sacct, err);
    for (int k = BJ_SNAPSHOT_COMMANDS; r == 0 && k < BJ_SNAPSHOTS; k++)
        if (has_snapshot(s, k))
            r = bj_source_follow_new(
                k == BJ_SNAPSHOT_PBS_FILES ? BJ_FOLLOW_PBS : BJ_FOLLOW_LSF,
                s->conf->name, s->conf->snapshot[k].command, d->store,
                &s->snapshot[k].follow, err);
    return r < 0 ? r
                 : bj_covered_read(d->store, s->conf->name, covered_name(s),
                                   &s->covered, err);
}

static void free_source(struct source *s)
{
    bj_source_sacct_free(s->sacct);
    bj_source_rest_free(s->rest);
    for (int k = 0; k < BJ_SNAPSHOTS; k++)
        bj_source_follow_free(s->snapshot[k].follow);
}

static bool all_finished(const struct daemon *d)
{
    for (size_t i = 0; i < d->conf->clusters; i++)
        for (int k = 0; k < BJ_SNAPSHOTS; k++)
            if (has_snapshot(&d->source[i], k) &&
                !d->source[i].snapshot[k].asked)
                return false;
    for (size_t i = 0; i < d->conf->clusters; i++)
        if (bj_cluster_has_windows(d->source[i].conf) && !d->source[i].finished)
            return false;
    return true;
}

/* Sleep until something is due or somebody wakes us. */
static void wait_for(struct daemon *d)
{
    uint64_t now = bj_clock_boot_usec(), next = now + 60ull * 1000000;
    for (size_t i = 0; i < d->conf->clusters; i++) {
        const struct source *s = &d->source[i];
        if (bj_cluster_has_windows(s->conf) && s->due_usec < next)
            next = s->due_usec;
        for (int k = 0; k < BJ_SNAPSHOTS; k++)
            if (has_snapshot(s, k) && s->snapshot[k].due_usec < next)
                next = s->snapshot[k].due_usec;
    }
    if (d->conf->metrics_file && d->conf->metrics_file[0] &&
        d->report_due_usec < next)
        next = d->report_due_usec;
    if (d->records_due_usec < next)
        next = d->records_due_usec;
    if (d->conf->retention_usec > 0 && d->old_due_usec < next)
        next = d->old_due_usec;
    struct pollfd fd = {.fd = d->stop->wake_fd, .events = POLLIN};
    poll(&fd, 1, next > now ? (int)((next - now) / 1000 + 1) : 0);
}

/* Ask the sources of one cluster that are due. */
static int visit_cluster(struct daemon *d, struct source *s, struct bj_err *err)
{
    bool due = bj_cluster_has_windows(s->conf) &&
               s->due_usec <= bj_clock_boot_usec() &&
               !(single(d) && s->finished) && !atomic_load(&d->stop->now);
    int r = due ? visit(d, s, err) : 0;
    if (of_the_store(r))
        return r;
    struct bj_err why = {0};
    int e = visit_snapshots(d, s, &why);
    return e < 0 ? bj_err_set(err, e, "%s", why.msg) : r;
}

/* What is to be done besides asking. */
static int keep_house(struct daemon *d, struct bj_err *err)
{
    struct bj_err why = {0};
    int r = collect(d, err), e = 0;
    if (!of_the_store(r) || r == -ENOSPC)
        e = remove_old(d, &why);
    if (e < 0) {
        bj_log(BJ_LOG_ERROR, &why, "old jobs stay");
        d->old_due_usec = bj_clock_boot_usec() + 3600ull * 1000000;
    }
    return r;
}

static int loop(struct daemon *d, struct bj_err *err)
{
    int last = 0;
    while (!atomic_load(&d->stop->now)) {
        for (size_t i = 0; i <= d->conf->clusters; i++) {
            struct bj_err why = {0};
            bool house = i == d->conf->clusters;
            int r = house ? keep_house(d, &why)
                          : visit_cluster(d, &d->source[i], &why);
            if (r < 0)
                last = bj_err_set(err, r, "%s%s%s",
                                  house ? "" : d->source[i].conf->name,
                                  house ? "" : ": ", why.msg);
            if (of_the_store(r) && r != -ENOSPC)
                return r;
        }
        bool end = single(d) && all_finished(d);
        if (end)
            d->report_due_usec = 0;
        report(d);
        if (end)
            return last;
        wait_for(d);
    }
    return 0;
}

int bj_daemon_run(const struct bj_statsdb_conf *conf, struct bj_store *store,
                  int64_t since_sec, struct bj_daemon_stop *stop,
                  struct bj_err *err)
{
    struct daemon d = {
        .conf = conf, .store = store, .stop = stop, .since_sec = since_sec};
    d.source = calloc(conf->clusters ? conf->clusters : 1, sizeof(*d.source));
    d.report = calloc(conf->clusters ? conf->clusters : 1, sizeof(*d.report));
    int r = d.source && d.report ? bj_upsert_new(store, &d.upsert, err)
                                 : bj_err_set(err, -ENOMEM, "sources");
    if (r == 0)
        r = bj_records_new(store, &d.records, err);
    for (size_t i = 0; r == 0 && i < conf->clusters; i++)
        r = add_source(&d, i, err);
    if (r == 0)
        r = loop(&d, err);
    for (size_t i = 0; d.source && i < conf->clusters; i++)
        free_source(&d.source[i]);
    bj_records_free(d.records);
    bj_upsert_free(d.upsert);
    free(d.report);
    free(d.source);
    return r;
}
