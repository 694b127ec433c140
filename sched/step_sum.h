/* Adds up the usage of the steps of a Slurm job.  Private to sched/. */
#ifndef BJ_SCHED_STEP_SUM_H
#define BJ_SCHED_STEP_SUM_H

#include "sched/job.h"

struct bj_step_sum {
    struct bj_sched_usage sum; /* sums of times and I/O, the largest memory */
    uint64_t energy[3]; /* of the extern, the batch, and the numbered steps */
};

void bj_step_sum_begin(struct bj_step_sum *f);

/* Add the use of a step.  CPU time, energy and I/O of a step that has not ended
 * become absent. */
void bj_step_sum_add(struct bj_step_sum *f, struct bj_job_step *step);

/* Set the job's use.  Values of the job itself count, except where it has none
 * (or 0 time).  CPU time, energy and I/O of a job that has not ended are
 * absent. */
void bj_step_sum_end(const struct bj_step_sum *f, struct bj_sched_job *job);

#endif
