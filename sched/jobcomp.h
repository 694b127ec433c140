/* Reading the record of a job that Slurm's jobcomp/elasticsearch sends when the
 * job ends: one JSON object. jobcomp/kafka of Slurm 25.05 and later sends the
 * same one, also when a job starts.
 *
 * The record has ids, owner, times, requested and allocated resources, state
 * and exit code, but no use and no canceller. Of jobs that were cancelled
 * while they waited it has more than sacct, which does not list those that were
 * never eligible.
 *
 * Source: Slurm 22.05 (recorded), src/plugins/jobcomp/common. */
#ifndef BJ_SCHED_JOBCOMP_H
#define BJ_SCHED_JOBCOMP_H

#include "base/arena.h"
#include "base/err.h"
#include "sched/sacct.h"

/* What a record is. */
enum bj_jobcomp_kind {
    BJ_JOBCOMP_JOB,
    BJ_JOBCOMP_SIZE, /* of a job that continues with another size: it has the
                        start and end of the size before, not of the job */
};

/* Read a record. The texts of *ret lie in the arena and in text. cluster is
 * that of a record without one. bad receives fields that could not be read,
 * which stay absent; it may be NULL. *ret is marked as a snapshot
 * (sched/job.h), as accounting knows more. *ret_script is the batch script,
 * {NULL, 0} if the record has none.
 * Returns a bj_jobcomp_kind; -EINVAL: not JSON, or without a jobid or a state;
 * -EFBIG: more than 1000 values; -ENOMEM. */
int bj_jobcomp_read(struct bj_arena *a, struct bj_slice text,
                    struct bj_slice cluster,
                    void (*bad)(void *ctx, const struct bj_sacct_bad *bad),
                    void *ctx, struct bj_sched_job *ret,
                    struct bj_slice *ret_script, struct bj_err *err);

#endif
