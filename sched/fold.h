/* What the steps of a Slurm job used, folded into the job: inside of sched/. */
#ifndef BJ_SCHED_FOLD_H
#define BJ_SCHED_FOLD_H

#include "sched/job.h"

struct bj_fold {
    struct bj_job_use sum; /* times and I/O added up, the largest memory */
    uint64_t energy[3];    /* of the extern, the batch, and numbered steps */
};

void bj_fold_begin(struct bj_fold *f);
void bj_fold_step(struct bj_fold *f, const struct bj_job_step *step);

/* Put it into the job's use.  What the job says itself of time and energy
 * counts, except where it says nothing (or 0 of time). */
void bj_fold_end(const struct bj_fold *f, struct bj_job_use *use);

#endif
