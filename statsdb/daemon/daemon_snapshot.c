#include "statsdb/daemon/daemon_impl.h"

#include "base/log.h"
#include "statsdb/daemon/check_online.h"
#include "statsdb/daemon/retry.h"
#include "statsdb/source/source_snapshot.h"

/* The time of the import shows how current the running jobs are. */
static int commit(struct bj_daemon *d, const struct bj_daemon_source *s,
                  enum bj_snapshot_kind kind, struct bj_err *err)
{
    const int64_t now = bj_daemon_wall_sec();
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
                                .bad = bj_daemon_on_bad};
    struct bj_upsert_counts was = *bj_upsert_counts(d->upsert);
    struct bj_sacct_counts n;
    s->bad = 0;
    int r = follow ? bj_source_follow_run(follow, &run, dry, &n, err)
                   : bj_source_snapshot_run(kind, s->conf, &run, &n, err);
    if (r == 0 && !follow)
        r = dry ? bj_upsert_flush(d->upsert, err) : commit(d, s, kind, err);
    if (r == 0 && !follow && d->conf->online)
        r = bj_check_seen(bj_store_db(d->store), s->conf->name, err);
    if (!follow && (r < 0 || dry))
        bj_upsert_rollback(d->upsert);
    if (r < 0)
        return r;
    const struct bj_upsert_counts *now = bj_upsert_counts(d->upsert);
    bj_daemon_count(&d->report[s - d->source], &n);
    bj_log(follow && n.bytes == 0 ? BJ_LOG_DEBUG : BJ_LOG_INFO, NULL,
           "%s: %llu jobs; %llu new, %llu changed, %llu skipped", s->conf->name,
           (unsigned long long)n.jobs,
           (unsigned long long)(now->jobs_new - was.jobs_new),
           (unsigned long long)(now->jobs_changed - was.jobs_changed),
           (unsigned long long)n.bad_lines);
    return 0;
}

bool bj_daemon_has_snapshot(const struct bj_daemon_source *s, int kind)
{
    const char *command = s->conf->snapshot[kind].command;
    return command && command[0];
}

int bj_daemon_import_snapshots(struct bj_daemon *d, struct bj_daemon_source *s,
                               struct bj_err *err)
{
    int last = 0;
    for (int kind = 0; kind < BJ_SNAPSHOTS; kind++) {
        struct bj_daemon_snapshot *snap = &s->snapshot[kind];
        if (!bj_daemon_has_snapshot(s, kind) ||
            snap->due_usec > bj_clock_boot_usec() ||
            (bj_daemon_single(d) && snap->imported) ||
            atomic_load(&d->stop->now))
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
            if (!bj_daemon_single(d))
                bj_log(BJ_LOG_ERROR, err, "%s: next request in %llu s",
                       s->conf->name, (unsigned long long)(wait / 1000000));
        }
        snap->due_usec = bj_clock_boot_usec() + wait;
    }
    return last;
}
