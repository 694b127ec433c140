/* Slurm's accounting as a source: sacct, for a time window. */
#ifndef BJ_STATSDB_SOURCE_SACCT_H
#define BJ_STATSDB_SOURCE_SACCT_H

#include "base/err.h"
#include "sched/sacct.h"
#include "statsdb/conf.h"
#include "statsdb/upsert.h"
#include "statsdb/window.h"

#include <stdatomic.h>
#include <stdbool.h>

struct bj_source_sacct;

enum { BJ_SOURCE_STEPS = 1000 }; /* stored per job; sums include all */

/* Context of a request. Callbacks may be NULL. */
struct bj_source_run {
    struct bj_upsert *upsert;
    uint64_t batch_lines; /* per transaction; 0: all in one */
    const atomic_bool *stop;
    void *ctx;
    /* Reports committed data; called between transactions. */
    void (*progress)(void *ctx, const struct bj_sacct_counts *counts);
    /* Reports a line or field that cannot be read. */
    void (*bad)(void *ctx, const struct bj_sacct_bad *bad);
};

/* For sources: make room for more lines in the open transaction. If it contains
 * batch_lines, commit it, call progress (may be NULL) with the counts, and
 * begin the next one. *lines: lines in the open transaction. */
int bj_source_room(const struct bj_source_run *run, uint64_t *lines,
                   uint64_t more, const struct bj_sacct_counts *counts,
                   struct bj_err *err);

/* Receiver of jobs from a reader of sacct's format. */
struct bj_source_sink {
    const struct bj_source_run *run;
    struct bj_slice cluster;
    struct bj_sacct *reader; /* owned by the caller */
    uint64_t lines;          /* of the open transaction */
};

/* Callbacks of struct bj_sacct_conf, with a bj_source_sink as ctx. */
int bj_source_take_job(void *sink, const struct bj_sched_job *job,
                       struct bj_err *err);
void bj_source_take_bad(void *sink, const struct bj_sacct_bad *bad);

/* conf must outlive it. */
int bj_source_sacct_new(const struct bj_cluster_conf *conf,
                        struct bj_source_sacct **ret, struct bj_err *err);
void bj_source_sacct_free(struct bj_source_sacct *s);

/* Request a window and store the reply. On success a transaction with the last
 * data is still open: the caller writes the covered period and commits. On
 * failure the last transaction was rolled back; earlier ones are valid but
 * incomplete. Errors are those of base/command.h, sacct.h and upsert.h. */
int bj_source_sacct_run(struct bj_source_sacct *s,
                        const struct bj_window *window,
                        const struct bj_source_run *run,
                        struct bj_sacct_counts *ret, struct bj_err *err);

#endif
