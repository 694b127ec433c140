/* Runs that Slurm resized while they ran: `scontrol update` or --mem-update
 * released nodes or memory.
 *
 * Slurm 26.05 then ends the record of the run (state RESIZING) and begins
 * another one, with the same jobid, an SLUID of its own, the time of the change
 * as submit, eligible and start time, and the SLUID of the first record as
 * OriginalSLUID.  All steps stay with the first record, also those that start
 * or end later, and so does their CPU time; the others have none.  The first
 * record shows the resources after the last change (but not after a requeue),
 * the others what they had: what a run had is at least what its steps of that
 * time got.
 *
 * This joins the records of one run to one.  Only answers with all of them will
 * do: an answer for a period lacks the earlier ones.
 *
 * Source: Slurm 26.05.3, recorded. */
#ifndef BJ_SCHED_CHAIN_H
#define BJ_SCHED_CHAIN_H

#include "base/err.h"
#include "sched/job.h"

struct bj_chain; /* records of any number of runs */

/* Is it one of several records of a run? */
bool bj_chain_is_part(const struct bj_sched_job *job);

struct bj_chain *bj_chain_new(void);    /* NULL: no memory */
void bj_chain_free(struct bj_chain *c); /* NULL is fine */

/* Add a record, which is copied, with its texts.  -ENOMEM */
int bj_chain_add(struct bj_chain *c, const struct bj_sched_job *job,
                 struct bj_err *err);

/* Pass each run to a callback, as one record, and forget all.  Its ids, owner,
 * submit and start time are those of the first record; state and end those of
 * the last; its amounts of CPUs, nodes, GPUs and memory the largest; what it
 * had when is in size.  A negative return of the callback ends it; -ENOMEM. */
int bj_chain_take(struct bj_chain *c,
                  int (*take)(void *ctx, const struct bj_sched_job *job,
                              struct bj_err *err),
                  void *ctx, struct bj_err *err);

#endif
