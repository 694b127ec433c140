/* Putting records of jobs into the store, as often as one likes.
 *
 * A run is known by its SLUID where it has one, else by cluster, raw id and
 * submit time; a requeued job is several runs.  Values that a record lacks
 * stay as they were, and a record of a run that had not ended yet changes
 * nothing of one that has; so the same window read again changes no row.
 * Rollups follow in the same transaction. */
#ifndef BJ_STATSDB_UPSERT_H
#define BJ_STATSDB_UPSERT_H

#include "base/err.h"
#include "sched/job.h"
#include "statsdb/store.h"

#include <stdint.h>

struct bj_upsert;

/* What has been done since it was made, transactions that were rolled back
 * included. */
struct bj_upsert_counts {
    uint64_t jobs_new, jobs_changed, jobs_same;
    uint64_t jobs_removed; /* not taken: statsdb/retention.h */
    uint64_t steps_new, steps_changed, steps_same;
};

/* For the store's writer; the store must outlive it. */
int bj_upsert_new(struct bj_store *s, struct bj_upsert **ret,
                  struct bj_err *err);
void bj_upsert_free(struct bj_upsert *u); /* rolls back what is open */

/* A batch is a transaction.  When anything in it fails, roll it back: all of
 * it has then not happened.  -EEXIST: a row refers to one that is not there. */
int bj_upsert_begin(struct bj_upsert *u, struct bj_err *err);
int bj_upsert_commit(struct bj_upsert *u, struct bj_err *err);
void bj_upsert_rollback(struct bj_upsert *u);

/* Switch bulk mode, between two transactions: SQLite then does not check
 * foreign keys, which costs more than all the rest.  All numbers in a row come
 * from dictionaries, from which nothing is removed.  Switch it off again after
 * the load: nothing that is written through the connection is checked
 * meanwhile. */
int bj_upsert_bulk(struct bj_upsert *u, bool on, struct bj_err *err);

/* Put one job with its steps.  The cluster is the record's, or the given one
 * where the record has none.  -EINVAL: without a raw id. */
int bj_upsert_job(struct bj_upsert *u, struct bj_slice cluster,
                  const struct bj_sched_job *job, struct bj_err *err);

const struct bj_upsert_counts *bj_upsert_counts(const struct bj_upsert *u);

#endif
