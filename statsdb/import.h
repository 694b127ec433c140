/* What other programs have kept of jobs, taken into the store once. */
#ifndef BJ_STATSDB_IMPORT_H
#define BJ_STATSDB_IMPORT_H

#include "base/err.h"
#include "statsdb/store.h"

#include <stdatomic.h>
#include <stdint.h>

struct bj_import_counts {
    uint64_t rows;  /* that were looked at */
    uint64_t taken; /* of them: jobs that are in the store now because of it */
    uint64_t known; /* left as they were */
    uint64_t bad;   /* not understood and left out */
};

struct bj_import {
    struct bj_store *store; /* the writer's */
    const atomic_bool *stop;
    /* A row that was left out, and why. */
    void (*bad)(void *ctx, int64_t row, const char *why);
    void *ctx;
};

/* The table "jobs" of the SQLite file of batchjob_monitoring and of CEEMS
 * before 0.3, which kept sacct's text, times of day included: those are taken
 * for local time of this process (TZ), and where that is ambiguous in autumn
 * the elapsed time decides.  A job that the store has already is left alone,
 * because the scheduler reported more: by raw id, or array job and task, and
 * its submit, start or end.  Array tasks have no other id than "123_4" there.
 *   -EINVAL  no such table, columns that are missing, or no cluster
 *   -EINTR   stopped; what was taken stays, and may be imported again
 * Source: batchjob_monitoring 2023-12, pkg/jobstats/base.go and db.go. */
int bj_import_original(const struct bj_import *im, const char *path,
                       const char *cluster, struct bj_import_counts *ret,
                       struct bj_err *err);

/* jobstats' summaries in the comments of the store's jobs (sched/jobstats.h),
 * into what a Prometheus server told of them, where none has; so the jobs'
 * efficiencies are worked out of them. */
int bj_import_jobstats(const struct bj_import *im, struct bj_import_counts *ret,
                       struct bj_err *err);

#endif
