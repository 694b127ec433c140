/* Stores records of jobs; storing a record again changes nothing.
 *
 * A run is identified by its SLUID if it has one, else by cluster, jobid and
 * submit time; a requeued job is several runs, also in PBS
 * (statsdb/import/pbs_run.h). Stored values that a record lacks stay, and a
 * record of a run that had not ended changes no value of an ended run. Daily
 * sums are updated in the same transaction.
 *
 * For PostgreSQL jobs are gathered, and many of them are stored by a few
 * requests. After bj_upsert_job, a job cannot be read before bj_upsert_flush or
 * bj_upsert_commit has stored it; an error may concern jobs that were passed
 * earlier. */
#ifndef BJ_STATSDB_IMPORT_UPSERT_H
#define BJ_STATSDB_IMPORT_UPSERT_H

#include "base/err.h"
#include "sched/job.h"
#include "statsdb/tables/store.h"

#include <stdint.h>

struct bj_upsert;

/* Counts since bj_upsert_new, including transactions that were rolled back. */
struct bj_upsert_counts {
    uint64_t jobs_new, jobs_changed, jobs_same;
    uint64_t jobs_removed; /* not stored, because retention removed them */
    uint64_t jobs_known;   /* not stored, because of bj_upsert_only_new */
    uint64_t steps_new, steps_changed, steps_same;
};

/* For the store's writer; the store must outlive *ret. */
int bj_upsert_new(struct bj_store *s, struct bj_upsert **ret,
                  struct bj_err *err);
void bj_upsert_free(struct bj_upsert *u); /* rolls back an open transaction */

/* A batch is a transaction. If anything in it fails, roll it back: then nothing
 * has changed. -EEXIST: a row refers to a missing one. */
int bj_upsert_begin(struct bj_upsert *u, struct bj_err *err);
/* Like bj_upsert_begin, but the transaction begins with its first job, with the
 * commit, or with bj_upsert_ready(), which must precede other statements of the
 * batch. Until then other connections may write, while the scheduler prepares
 * its output. */
void bj_upsert_begin_later(struct bj_upsert *u);
int bj_upsert_ready(struct bj_upsert *u, struct bj_err *err);
int bj_upsert_commit(struct bj_upsert *u, struct bj_err *err);
void bj_upsert_rollback(struct bj_upsert *u);

/* Switch bulk mode, between two transactions: SQLite then does not check
 * foreign keys, which makes an import 1.4 times as fast. All numbers in a row
 * come from dictionaries, whose rows are never removed. Switch it off after the
 * import: no write of the connection is checked meanwhile. */
int bj_upsert_bulk(struct bj_upsert *u, bool on, struct bj_err *err);

/* Store many jobs together (the default) or each alone, between two
 * transactions. No effect with SQLite, which always stores each alone. */
void bj_upsert_gather(struct bj_upsert *u, bool on);

/* From now on, leave out jobs that the store has: jobs with the same jobid, or
 * array job and task, and the same submit, start or end. */
void bj_upsert_only_new(struct bj_upsert *u);

/* Store the gathered jobs; the counts then include them. */
int bj_upsert_flush(struct bj_upsert *u, struct bj_err *err);

/* Store one job with its steps. cluster is used if the record has none.
 * -EINVAL: the record has no jobid. */
int bj_upsert_job(struct bj_upsert *u, struct bj_slice cluster,
                  const struct bj_sched_job *job, struct bj_err *err);

const struct bj_upsert_counts *bj_upsert_counts(const struct bj_upsert *u);

#endif
