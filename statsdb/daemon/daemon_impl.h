/* Shared by daemon*.c only. */
#ifndef BJ_STATSDB_DAEMON_DAEMON_IMPL_H
#define BJ_STATSDB_DAEMON_DAEMON_IMPL_H

#include "base/clock.h"
#include "statsdb/daemon/daemon.h"
#include "statsdb/daemon/progress.h"
#include "statsdb/daemon/work.h"
#include "statsdb/import/covered.h"
#include "statsdb/import/upsert.h"
#include "statsdb/metrics/metrics_http.h"
#include "statsdb/metrics/metrics_page.h"
#include "statsdb/record/receiver.h"
#include "statsdb/record/record.h"
#include "statsdb/running/running.h"
#include "statsdb/source/source_follow.h"
#include "statsdb/source/source_mariadb.h"
#include "statsdb/source/source_rest.h"
#include "statsdb/source/source_sacct.h"

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
    struct bj_metrics_http *web;  /* NULL: no HTTP */
    struct bj_receiver *receiver; /* NULL: none */
    struct bj_running *running;   /* NULL: running jobs are not evaluated */
    uint64_t removed_jobs;
    struct bj_metrics_cluster *report; /* in the order of the sources */
    int64_t since_sec;
};

static inline int64_t bj_daemon_wall_sec(void)
{
    return SEC(bj_clock_wall_usec());
}

static inline bool bj_daemon_single(const struct bj_daemon *d)
{
    return d->conf->once || d->conf->dry_run;
}

/* The file of metrics.file, or NULL. */
static inline const char *bj_daemon_report_file(const struct bj_daemon *d)
{
    const char *path = d->conf->metrics_file;
    return path && path[0] && !d->conf->dry_run ? path : NULL;
}

/* Is it an error of the store, which stops all sources? */
static inline bool bj_daemon_store_failed(int code)
{
    return code == -ENOSPC || code == -EIO || code == -EBADMSG ||
           code == -EROFS || code == -ENOMEM || code == -ENOLINK;
}

/* Name of the source in the table covered. */
static inline const char *
bj_daemon_covered_name(const struct bj_daemon_source *s)
{
    return s->rest ? "slurmrestd" : s->mariadb ? "mariadb" : "sacct";
}

/* --- daemon_request.c: requests for time windows ------------------------
 */

/* Import the next window of a cluster. A failure is counted, logged and tried
 * again later. */
int bj_daemon_import(struct bj_daemon *d, struct bj_daemon_source *s,
                     struct bj_err *err);

/* Log a line that cannot be read, the first few of a reply; ctx is the source.
 */
void bj_daemon_on_bad(void *ctx, const struct bj_sacct_bad *bad);

/* Count a reply. */
void bj_daemon_count(struct bj_metrics_cluster *r,
                     const struct bj_sacct_counts *n);

/* --- daemon_snapshot.c: commands that report all jobs, and files ----------*/

bool bj_daemon_has_snapshot(const struct bj_daemon_source *s, int kind);

/* Import from the commands and files that are due. */
int bj_daemon_import_snapshots(struct bj_daemon *d, struct bj_daemon_source *s,
                               struct bj_err *err);

/* --- daemon_maintenance.c: records, retention and metrics ---------------
 */

/* Import final records of nodes, when due. */
int bj_daemon_collect(struct bj_daemon *d, struct bj_err *err);

/* Make the partitions of the next months, when due. */
int bj_daemon_months(struct bj_daemon *d, struct bj_err *err);

/* Remove some old jobs, when due. */
int bj_daemon_remove_old(struct bj_daemon *d, struct bj_err *err);

/* Write the program's metrics to the file and the HTTP page, when due; with
 * now: at once. */
void bj_daemon_report(struct bj_daemon *d, bool now);

#endif
