/* Shared by the two sources of LSF.  Private to sched/lsf. */
#ifndef BJ_SCHED_LSF_JOB_H
#define BJ_SCHED_LSF_JOB_H

#include "base/buf.h"
#include "base/slice.h"
#include "sched/job.h"

#include <stdbool.h>
#include <stdint.h>

/* The state of a job that LSF calls EXIT, from the reason: the name in the
 * output of bjobs ("TERM_OWNER: job killed by owner"), or the number in
 * lsb.acct.  Failed for all other reasons. */
enum bj_job_state bj_lsf_reason(struct bj_slice text);
enum bj_job_state bj_lsf_reason_number(uint64_t n);
const char *bj_lsf_reason_name(uint64_t n); /* "TERM_OWNER"; NULL: none */

/* "2 Mbytes", "1.2 Gbytes", "512 M" as bytes; 0 or -errno. */
int bj_lsf_size(struct bj_slice s, uint64_t *ret);

/* Set jobid and array of a job: "123[4]" for task 4, "123" for 0.  The text
 * goes into text, which must not move while the job is in use. */
void bj_lsf_id(struct bj_sched_job *job, uint64_t id, uint64_t index,
               char text[static 48]);

#endif
