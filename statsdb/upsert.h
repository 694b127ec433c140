/* Stores records of jobs; repetition changes nothing.
 *
 * A run is identified by its SLUID if it has one, else by cluster, jobid and
 * submit time; a requeued job is several runs, also in PBS
 * (statsdb/pbs_run.h). Values missing in a record stay, and a record of a run
 * that had not ended changes nothing of an ended one. Daily sums are updated in
 * the same transaction.
 *
 * For PostgreSQL jobs are gathered, and many of them are stored by a few
 * requests. What follows bj_upsert_job may not read jobs before bj_upsert_flush
 * or bj_upsert_commit has stored them; errors may name a later job, or
 * several. */
#ifndef BJ_STATSDB_UPSERT_H
#define BJ_STATSDB_UPSERT_H

#include "base/err.h"
#include "sched/job.h"
#include "statsdb/store.h"

#include <stdint.h>

struct bj_upsert;

/* Counts since it was made, including transactions that were rolled back. */
struct bj_upsert_counts {
    uint64_t jobs_new, jobs_changed, jobs_same;
    uint64_t jobs_removed; /* not stored, because retention removed them */
    uint64_t jobs_known;   /* not stored, because of bj_upsert_only_new */
    uint64_t steps_new, steps_changed, steps_same;
};

/* For the store's writer; the store must outlive it. */
int bj_upsert_new(struct bj_store *s, struct bj_upsert **ret,
                  struct bj_err *err);
void bj_upsert_free(struct bj_upsert *u); /* rolls back an open transaction */

/* A batch is a transaction. If anything in it fails, roll it back: then nothing
 * has changed. -EEXIST: a row refers to a missing one. */
int bj_upsert_begin(struct bj_upsert *u, struct bj_err *err);
/* The same, but the transaction begins with its first job, with the commit, or
 * with bj_upsert_ready() before other statements of the batch: until then other
 * connections may write, while a scheduler prepares its answer. */
void bj_upsert_begin_later(struct bj_upsert *u);
int bj_upsert_ready(struct bj_upsert *u, struct bj_err *err);
int bj_upsert_commit(struct bj_upsert *u, struct bj_err *err);
void bj_upsert_rollback(struct bj_upsert *u);

/* Switch bulk mode, between two transactions: SQLite then does not check
 * foreign keys, which makes an import 1.4 times as fast. All numbers in a row
 * come from dictionaries, whose rows are never removed. Switch it off after the
 * import: no write of the connection is checked meanwhile. */
int bj_upsert_bulk(struct bj_upsert *u, bool on, struct bj_err *err);

/* Are jobs gathered? At first they are. Between two transactions; with SQLite
 * nothing changes. -ENOMEM. */
int bj_upsert_gather(struct bj_upsert *u, bool on, struct bj_err *err);

/* Leave out jobs that the store has: under the same jobid, or the same array
 * job and task, with the same submit, start or end. */
void bj_upsert_only_new(struct bj_upsert *u);

/* Store what was gathered; then the counts include it. */
int bj_upsert_flush(struct bj_upsert *u, struct bj_err *err);

/* Store one job with its steps. The cluster is the record's, or the given one
 * if it has none. -EINVAL: without a jobid. */
int bj_upsert_job(struct bj_upsert *u, struct bj_slice cluster,
                  const struct bj_sched_job *job, struct bj_err *err);

const struct bj_upsert_counts *bj_upsert_counts(const struct bj_upsert *u);

#endif
