/* Attributes of PBS jobs, from wherever they come: inside of sched/pbs. */
#ifndef BJ_SCHED_PBS_ATTR_H
#define BJ_SCHED_PBS_ATTR_H

#include "base/slice.h"
#include "sched/job.h"

#include <stdint.h>

/* What attributes are read into. */
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

/* Read one attribute; key is "Job_Name", "Resource_List.ncpus" as qstat and the
 * accounting files call them.  Those that nobody knows are passed over.
 * Returns NULL, or what was expected where value is no such thing. */
const char *bj_pbs_attr(struct bj_pbs_row *row, struct bj_slice key,
                        struct bj_slice value);

/* Everything that takes more than one attribute, but for the state. id is the
 * job's. */
void bj_pbs_settle(struct bj_pbs_row *row, struct bj_slice id);

#endif
