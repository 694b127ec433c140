/* Runs of PBS's jobs told apart.
 *
 * A job that PBS runs again keeps its id and submit time, which would be one
 * row for all its runs.  So the store is given the submit time plus a second
 * for each run before: the n-th run of a job has the key (cluster, id, submit +
 * n - 1).  Which run a record is about follows from its start where a run with
 * that start is known; else from run_count, where the record has it; else it is
 * the one that goes on, or the next one when the last was requeued.  So records
 * may be read again in any order, from accounting files and from qstat.
 *
 * Source: OpenPBS, src/server/accounting.c: run_count is in records E and R,
 * not in S, Q, D and A; the last two have no times either. */
#ifndef BJ_STATSDB_PBS_RUN_H
#define BJ_STATSDB_PBS_RUN_H

#include "base/err.h"
#include "sched/job.h"
#include "statsdb/store.h"
#include "statsdb/upsert.h"

struct bj_pbs_runs;

/* For the store's writer, which must outlive it. */
int bj_pbs_runs_new(struct bj_store *s, struct bj_pbs_runs **ret,
                    struct bj_err *err);
void bj_pbs_runs_free(struct bj_pbs_runs *r); /* NULL is fine */

/* Give a record the submit time of its run's key; u, in whose transaction this
 * is, has to put it before the next one is placed.  The cluster is the
 * record's, or the given one where it has none.  A record without submit time
 * gets that of the last run of its id, if that has not ended or ended at the
 * same time.
 *
 * Returns 1 when a run before this one has not ended, as far as is known: then
 * *left says that it was requeued, and is to be put, too. */
int bj_pbs_runs_place(struct bj_pbs_runs *r, struct bj_upsert *u,
                      struct bj_slice cluster, struct bj_sched_job *job,
                      struct bj_sched_job *left, struct bj_err *err);

#endif
