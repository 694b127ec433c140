/* The known columns of sacct.  Private to sched/sacct. */
#ifndef BJ_SCHED_SACCT_COLUMN_H
#define BJ_SCHED_SACCT_COLUMN_H

#include "base/slice.h"
#include "sched/job.h"

#include <stdbool.h>
#include <stdint.h>

/* The values of a row; columns have offsets into it. */
struct bj_sacct_job_row {
    struct bj_sched_job job;
    struct bj_slice job_id, req_mem;
};

struct bj_sacct_step_row {
    struct bj_job_step step;
    struct bj_slice usage_in_max; /* for memory, without the column MaxRSS */
};

enum { BJ_SACCT_NOWHERE = 0xffff };

enum {
    /* only where the number is still absent: an earlier column has it in a
     * better form */
    BJ_SACCT_SPARE = 1,
    BJ_SACCT_NOT_REQUESTED = 2, /* sched/sacct_cmd.h does not request it */
};

struct bj_sacct_column {
    struct bj_slice name;
    /* Parse s, which is not empty, into *to.  0 or -errno. */
    int (*parse)(struct bj_slice s, void *to);
    const char *expected;
    uint16_t job, step; /* offsets into the rows; BJ_SACCT_NOWHERE */
    unsigned flags;
};

extern const struct bj_sacct_column bj_sacct_columns[];
extern const unsigned bj_sacct_columns_n;

/* Set everything that needs more than one column. */
void bj_sacct_settle_job(struct bj_sacct_job_row *row);
void bj_sacct_settle_step(struct bj_sacct_step_row *row);

#endif
