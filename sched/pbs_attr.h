/* Attributes of PBS jobs from both sources.  Private to sched/pbs. */
#ifndef BJ_SCHED_PBS_ATTR_H
#define BJ_SCHED_PBS_ATTR_H

#include "base/slice.h"
#include "sched/hostlist.h"
#include "sched/job.h"

#include <stdint.h>

/* The values of attributes. */
struct bj_pbs_row {
    struct bj_sched_job job;
    struct bj_slice state; /* letter of job_state */
    int64_t exit_status;   /* INT64_MIN: none */
    uint64_t substate, qtime_sec, modified_sec, run_count;
    uint64_t gpus_requested, accelerators_requested;
    uint64_t cpu_limit_usec;   /* of the whole job */
    struct bj_slice requestor; /* who deleted it: "root@server" */
    struct bj_slice diagnosis; /* what the cgroup hook found */
    struct bj_slice owner;     /* "anna@login1" */
    struct bj_slice exec_host, exec_vnode;
    struct bj_slice tasks; /* of an array: "Queued:5 Running:1 Exiting:0 ..." */
    struct bj_slice waiting; /* its tasks that wait: "1-9:2,12"; "-": none */
    struct bj_slice hold;    /* "u", "so"; "n": none */
    struct bj_slice depend;
};

void bj_pbs_row_init(struct bj_pbs_row *row);

/* Read one attribute; key is "Job_Name", "Resource_List.ncpus" as in qstat and
 * the accounting files.  Unknown ones are skipped.  Returns NULL, or what was
 * expected instead of value. */
const char *bj_pbs_attr(struct bj_pbs_row *row, struct bj_slice key,
                        struct bj_slice value);

/* Set everything that needs more than one attribute, except the state.  id is
 * the job's; its list of nodes is in fold.  -ENOMEM */
int bj_pbs_settle(struct bj_pbs_row *row, struct bj_slice id,
                  struct bj_hostfold *fold);

/* "7[]": the array itself.  Its tasks are jobs, the array is not.  Call it
 * after bj_pbs_settle. */
static inline bool bj_pbs_is_array(const struct bj_pbs_row *row)
{
    return row->job.array_job != BJ_ABSENT && row->job.array_task == BJ_ABSENT;
}

/* The state of a job that ended: a failed one may have been killed at a limit,
 * which its exit status does not say. */
enum bj_job_state bj_pbs_killed(const struct bj_pbs_row *row,
                                enum bj_job_state state);

#endif
