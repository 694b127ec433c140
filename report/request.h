/* Options for the next request, in the scheduler's syntax, and rounding of
 * amounts (docs/reports.md). */
#ifndef BJ_REPORT_REQUEST_H
#define BJ_REPORT_REQUEST_H

#include "base/buf.h"

#include <stdint.h>

enum bj_request {
    BJ_REQUEST_MEMORY,         /* bytes per node */
    BJ_REQUEST_MEMORY_PER_CPU, /* bytes */
    BJ_REQUEST_MEMORY_PER_GPU, /* bytes */
    BJ_REQUEST_TIME,           /* seconds */
    BJ_REQUEST_CPUS,           /* CPUs of a task */
    BJ_REQUEST_TASKS,
    BJ_REQUEST_NODES,
    BJ_REQUEST_GPUS,
};

/* Memory to request for a peak: 1.2 times the peak, rounded up. */
int64_t bj_request_memory(int64_t peak_bytes);

/* Round memory up to a number that people would write. */
int64_t bj_request_round_memory(int64_t bytes);

/* Round a time up to a number that people would write, at least ten minutes. */
int64_t bj_request_round_time(int64_t sec);

/* Append the option ("--mem=6G", "-l walltime=02:00:00"), and the line for the
 * job script ("#SBATCH --mem=6G").  false: the scheduler has no such option.
 * system: "slurm", "pbs", "lsf"; any other value means Slurm. */
bool bj_request_option(struct bj_slice system, enum bj_request what,
                       int64_t amount, struct bj_buf *option,
                       struct bj_buf *line);

#endif
