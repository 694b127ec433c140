/* What the steps of a Slurm job used, folded into the job: inside of sched/. */
#ifndef BJ_SCHED_STEP_SUM_H
#define BJ_SCHED_STEP_SUM_H

#include "sched/job.h"

struct bj_step_sum {
    struct bj_sched_usage sum; /* times and I/O added up, the largest memory */
    uint64_t energy[3]; /* of the extern, the batch, and numbered steps */
};

void bj_step_sum_begin(struct bj_step_sum *f);
void bj_step_sum_add(struct bj_step_sum *f, const struct bj_job_step *step);

/* Put it into the job's use.  What the job says itself of time and energy
 * counts, except where it says nothing (or 0 of time). */
void bj_step_sum_end(const struct bj_step_sum *f, struct bj_sched_usage *use);

#endif
