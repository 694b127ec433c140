/* Adds up the usage of the steps of a Slurm job: of those in an answer, and of
 * those that a store has. */
#ifndef BJ_SCHED_STEP_SUM_H
#define BJ_SCHED_STEP_SUM_H

#include "sched/job.h"

struct bj_step_sum {
    struct bj_sched_usage sum; /* sums of times and I/O, the largest memory */
    unsigned steps;
    uint64_t energy[3]; /* of the extern, the batch, and the numbered steps */
};

void bj_step_sum_begin(struct bj_step_sum *f);

/* Add the use of a step.  CPU time, energy and I/O of a step that has not ended
 * become absent. */
void bj_step_sum_add(struct bj_step_sum *f, struct bj_job_step *step);

/* Set the job's use to that of its steps, all of one answer; the job's own CPU
 * time counts where its steps have none, its own energy always, and a CPU time
 * of 0 without any step is absent.  CPU time, energy and I/O of a job that has
 * not ended are absent. */
void bj_step_sum_end(const struct bj_step_sum *f, struct bj_sched_job *job);

/* Complete the job's use, which may be that of some of its steps, as an answer
 * for a period lacks the steps outside of it: f has all known steps.  The
 * larger value counts. */
void bj_step_sum_complete(const struct bj_step_sum *f,
                          struct bj_sched_job *job);

#endif
