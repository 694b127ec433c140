/* Distinguishes the runs of PBS' jobs.
 *
 * A job that PBS runs again keeps its id and submit time, which is one row for
 * all its runs. So each run gets the submit time plus a second for each earlier
 * run: the n-th run of a job has the key (cluster, jobid, submit + n - 1). The
 * run of a record follows from its start if a run with that start is known;
 * else from run_count, if the record has it; else it is the run that has not
 * ended, or the next one if the last was requeued. So records may be read again
 * in any order, from accounting files and from qstat.
 *
 * Source: OpenPBS, src/server/accounting.c: run_count is in records E and R,
 * not in S, Q, D and A; the last two have no times either. */
#ifndef BJ_STATSDB_PBS_RUN_H
#define BJ_STATSDB_PBS_RUN_H

#include "base/err.h"
#include "sched/job.h"
#include "statsdb/store.h"

struct bj_pbs_runs;

/* For the store's writer, which must outlive it. */
int bj_pbs_runs_new(struct bj_store *s, struct bj_pbs_runs **ret,
                    struct bj_err *err);
void bj_pbs_runs_free(struct bj_pbs_runs *r); /* NULL is fine */

/* Set the submit time of a record to that of its run's key. Store the record
 * before the next one is placed. The cluster is the record's, or the given one
 * if it has none. A record without submit time gets that of the last run of its
 * id, if that run has not ended or ended at the same time.
 *
 * Returns 1 if an earlier run has no reported end: *left is then a record that
 * it was requeued; store that, too. */
int bj_pbs_runs_place(struct bj_pbs_runs *r, struct bj_slice cluster,
                      struct bj_sched_job *job, struct bj_sched_job *left,
                      struct bj_err *err);

#endif
