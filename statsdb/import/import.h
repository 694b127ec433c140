/* Imports the data of other programs into the store. */
#ifndef BJ_STATSDB_IMPORT_IMPORT_H
#define BJ_STATSDB_IMPORT_IMPORT_H

#include "base/err.h"
#include "statsdb/tables/store.h"

#include <stdatomic.h>
#include <stdint.h>

struct bj_import_counts {
    uint64_t rows;  /* rows read */
    uint64_t taken; /* of these: jobs added to the store */
    uint64_t known; /* left unchanged */
    uint64_t bad;   /* skipped because they could not be read */
};

struct bj_import {
    struct bj_store *store; /* opened for writing */
    const atomic_bool *stop;
    /* Receives the number of a skipped row, and the reason. */
    void (*bad)(void *ctx, int64_t row, const char *why);
    void *ctx;
};

/* Import the table "jobs" of the SQLite file of batchjob_monitoring and of
 * CEEMS before 0.3. It contains sacct's text with times in local time (TZ); if
 * a time is ambiguous in autumn, the elapsed time decides. A job that the store
 * already has is not changed, because the scheduler's data are more complete:
 * such a job has the same jobid, or array job and task, and the same submit,
 * start or end. Array tasks in that table have only the id "123_4".
 * -EINVAL: no such table, missing columns, or no cluster. -EINTR: stopped;
 * imported jobs stay, and the import may be repeated.
 *
 * Source: batchjob_monitoring 2023-12, pkg/jobstats/base.go and db.go. */
int bj_import_original(const struct bj_import *im, const char *path,
                       const char *cluster, struct bj_import_counts *ret,
                       struct bj_err *err);

/* Import the summaries that jobstats wrote into the comments of jobs
 * (sched/jobstats.h). They become the measured values of jobs without values
 * from Prometheus, and efficiencies are derived from them. */
int bj_import_jobstats(const struct bj_import *im, struct bj_import_counts *ret,
                       struct bj_err *err);

#endif
