/* What to write into the next request, in the words of its scheduler, and how
 * amounts are rounded (docs/reports.md). */
#ifndef BJ_REPORT_REQUEST_H
#define BJ_REPORT_REQUEST_H

#include "base/buf.h"

#include <stdint.h>

enum bj_request {
    BJ_REQUEST_MEMORY,         /* bytes of each node */
    BJ_REQUEST_MEMORY_PER_CPU, /* bytes */
    BJ_REQUEST_MEMORY_PER_GPU, /* bytes */
    BJ_REQUEST_TIME,           /* seconds */
    BJ_REQUEST_CPUS,           /* of a task */
    BJ_REQUEST_TASKS,
    BJ_REQUEST_NODES,
    BJ_REQUEST_GPUS,
};

/* Memory to request for a peak: 1.2 times as much, rounded up. */
int64_t bj_request_memory(int64_t peak_bytes);

/* Memory rounded up to what people write. */
int64_t bj_request_round_memory(int64_t bytes);

/* Time rounded up to what people write, at least ten minutes. */
int64_t bj_request_round_time(int64_t sec);

/* Append the option ("--mem=6G", "-l walltime=02:00:00"), and the line for the
 * job script ("#SBATCH --mem=6G").  false: the scheduler has no word for it.
 * System: "slurm", "pbs", "lsf"; anything else is taken for Slurm. */
bool bj_request_option(struct bj_slice system, enum bj_request what,
                       int64_t amount, struct bj_buf *option,
                       struct bj_buf *line);

#endif
