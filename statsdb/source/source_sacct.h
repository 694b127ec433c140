/* Slurm's accounting as a source: sacct, for a time window. */
#ifndef BJ_STATSDB_SOURCE_SOURCE_SACCT_H
#define BJ_STATSDB_SOURCE_SOURCE_SACCT_H

#include "base/err.h"
#include "sched/sacct.h"
#include "statsdb/conf/conf.h"
#include "statsdb/import/upsert.h"
#include "statsdb/import/window.h"

#include <stdatomic.h>
#include <stdbool.h>

struct bj_source_sacct;

enum {
    BJ_SOURCE_STEPS = 1000, /* stored per job; sums include all */
    BJ_SOURCE_CLUSTER = 128 /* bytes of a name of a cluster */
};

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

/* Runs that were resized while they ran (sched/chain.h). The reply for a period
 * has their records of the period only, so these are not stored: the source
 * requests all records of these jobs afterwards. */
struct bj_source_chains {
    uint64_t *id; /* jobids */
    size_t ids, cap;
    struct bj_chain *chain; /* NULL: collect jobids; else records */
};

/* Is the record, of a reply for a period, one of several of its run, or the
 * reply one for jobids? 1: it was noted, do not store it. -ENOMEM. */
int bj_source_chain_take(struct bj_source_chains *c,
                         const struct bj_sched_job *job, struct bj_err *err);

/* Request the records of all noted jobs, some jobids at a time, and store their
 * runs. ask() requests jobids and passes the records to bj_source_chain_take().
 */
int bj_source_chains_run(struct bj_source_chains *c,
                         const struct bj_source_run *run,
                         struct bj_slice cluster,
                         int (*ask)(void *ctx, const uint64_t *id, size_t n,
                                    struct bj_err *err),
                         void *ctx, struct bj_err *err);
void bj_source_chains_free(struct bj_source_chains *c);

/* Receiver of jobs from a reader of sacct's format. */
struct bj_source_sink {
    const struct bj_source_run *run;
    struct bj_source_chains *chains; /* NULL: store each record */
    struct bj_slice cluster;
    struct bj_sacct *reader;      /* owned by the caller */
    uint64_t lines;               /* of the open transaction */
    char name[BJ_SOURCE_CLUSTER]; /* of the cluster, as the last job has it */
};

/* Callbacks of struct bj_sacct_conf, with a bj_source_sink as ctx. */
int bj_source_take_job(void *sink, const struct bj_sched_job *job,
                       struct bj_err *err);
void bj_source_take_bad(void *sink, const struct bj_sacct_bad *bad);

/* conf must outlive it. */
int bj_source_sacct_new(const struct bj_cluster_conf *conf,
                        struct bj_source_sacct **ret, struct bj_err *err);
void bj_source_sacct_free(struct bj_source_sacct *s);

/* The name that the cluster of the last reply has in the store; "" if there was
 * no job. */
const char *bj_source_sacct_cluster(const struct bj_source_sacct *s);

/* Request a window and store the reply. On success a transaction with the last
 * data is still open: the caller writes the covered period and commits. On
 * failure the last transaction was rolled back; earlier ones are valid but
 * incomplete. Errors are those of base/command.h, sacct.h and upsert.h. */
int bj_source_sacct_run(struct bj_source_sacct *s,
                        const struct bj_window *window,
                        const struct bj_source_run *run,
                        struct bj_sacct_counts *ret, struct bj_err *err);

#endif
