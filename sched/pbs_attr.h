/* Attributes of PBS jobs from both sources.  Private to sched/pbs. */
#ifndef BJ_SCHED_PBS_ATTR_H
#define BJ_SCHED_PBS_ATTR_H

#include "base/slice.h"
#include "sched/job.h"

#include <stdint.h>

/* The values of attributes. */
struct bj_pbs_row {
    struct bj_sched_job job;
    struct bj_slice state; /* letter of job_state */
    int64_t exit_status;   /* INT64_MIN: none */
    uint64_t substate, qtime_sec, modified_sec, run_count;
    uint64_t gpus_requested;
    struct bj_slice owner; /* "anna@login1" */
    struct bj_slice exec_host, exec_vnode;
};

void bj_pbs_row_init(struct bj_pbs_row *row);

/* Read one attribute; key is "Job_Name", "Resource_List.ncpus" as in qstat and
 * the accounting files.  Unknown ones are skipped.  Returns NULL, or what was
 * expected instead of value. */
const char *bj_pbs_attr(struct bj_pbs_row *row, struct bj_slice key,
                        struct bj_slice value);

/* Set everything that needs more than one attribute, except the state.  id is
 * the job's. */
void bj_pbs_settle(struct bj_pbs_row *row, struct bj_slice id);

#endif
