/* Splits job ids as schedulers print them. */
#ifndef BJ_SCHED_JOBID_H
#define BJ_SCHED_JOBID_H

#include "base/slice.h"

#include <stdint.h>

/* Slices point into the text.  Parts that the id does not have are BJ_ABSENT or
 * empty. */
struct bj_jobid {
    uint64_t number; /* at the start of the id: the job, or its array or het
                        leader */
    uint64_t task;   /* "123_4", "123[4]" */
    uint64_t offset; /* "123+1" */
    struct bj_slice tasks;  /* "123_[1-10%2]": "1-10%2"; PBS "123[]": "" */
    bool array;             /* an array, or a task of an array */
    struct bj_slice step;   /* "123.batch": "batch"; "123.0+1": "0" */
    struct bj_slice server; /* PBS "123[4].pbs.example.org" */
    struct bj_slice without_step; /* the id without its step */
};

/* Slurm: "123", "123_4", "123_[1-10%2]", "123+1", each optionally followed by
 * ".batch", ".extern", ".interactive", ".0" (and a het step's "+1", which is
 * skipped). A truncated list of tasks ("123_[1-5,...]") is accepted.  Source:
 * Slurm, slurm_get_selected_step_id() and src/sacct/print.c. */
int bj_jobid_slurm(struct bj_slice s, struct bj_jobid *ret);

/* PBS: "123", "123.server", "123[4].server", "123[].server", "123[1-5]".
 * Source: OpenPBS, pbs_job_identifier(7). */
int bj_jobid_pbs(struct bj_slice s, struct bj_jobid *ret);

/* Both: 0 or -EINVAL, also for numbers of 2^63 and more; *ret is unchanged on
 * failure.  Every byte of s must match the grammar. */

#endif
