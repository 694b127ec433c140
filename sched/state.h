/* Job states, and their names in each scheduler. */
#ifndef BJ_SCHED_STATE_H
#define BJ_SCHED_STATE_H

#include "base/slice.h"
#include "sched/job.h"

#include <stdbool.h>
#include <stdint.h>

/* "pending", "running", ..., "unknown": for databases, JSON and people.
 * "unknown" for any other value. */
const char *bj_state_name(enum bj_job_state state);

/* The state of that name; unknown for other names. */
enum bj_job_state bj_state_from_name(struct bj_slice name);

/* This run has ended. */
static inline bool bj_state_ended(enum bj_job_state state)
{
    return state >= BJ_STATE_COMPLETED && state < BJ_STATES;
}

/* It waits, runs or is suspended; false for unknown states. */
static inline bool bj_state_is_open(enum bj_job_state state)
{
    return state >= BJ_STATE_PENDING && state <= BJ_STATE_SUSPENDED;
}

/* A state as Slurm prints it: a base state or the flag that hides it, in full
 * ("OUT_OF_MEMORY") or compact ("OOM", "CD"), truncated by a narrow column
 * ("CANCELLED+" or "OUT_OF_ME+"), with the canceller ("CANCELLED by 1000"), or
 * several joined by '+' or ',' ("PENDING+REQUEUED", as in JSON), where a flag
 * with more meaning than its base state counts.  *ret_uid (may be NULL) gets
 * the canceller's uid, and is unchanged without one.  Source: Slurm,
 * src/common/slurm_protocol_defs.c, job_state_string(). */
enum bj_job_state bj_state_slurm(struct bj_slice text, uint64_t *ret_uid);

/* A state as people write it: "completed", or Slurm's name, in lower or upper
 * case. BJ_STATES when it is neither. */
enum bj_job_state bj_state_from_people(struct bj_slice text);

/* PBS: the letter of job_state (B E F H M Q R S T U W X), for an ended job
 * together with its Exit_status (INT64_MIN: none, the state is unknown).
 * Sources: qstat(1B); OpenPBS, src/include/job.h, JOB_EXEC_*. */
enum bj_job_state bj_state_pbs(char letter, int64_t exit_status);

/* The same for a job of Torque that ended.  Source: Torque, pbs_job.h,
 * JOB_EXEC_*. */
enum bj_job_state bj_state_torque_exit(int64_t exit_status);

/* LSF: the name of stat as bjobs prints it (PEND PROV PSUSP RUN USUSP SSUSP
 * DONE EXIT WAIT ZOMBI UNKWN), and the number in lsb.acct (64, 32, ...).
 * Source: LSF, lsbatch.h, JOB_STAT_*. */
enum bj_job_state bj_state_lsf(struct bj_slice name);
enum bj_job_state bj_state_lsf_number(uint64_t jstatus);

#endif
