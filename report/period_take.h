/* Jobs of which the columns are read, into the report of a period. */
#ifndef BJ_REPORT_PERIOD_TAKE_H
#define BJ_REPORT_PERIOD_TAKE_H

#include "report/period.h"
#include "statsdb/job_read.h"

enum { BJ_PERIOD_COLUMNS = 21 };

/* The columns of a job that it needs. */
const struct bj_job_column *const *bj_period_columns(void);

/* Add a job, whose columns value() returns; its texts need to be good only
 * until the next call.  texts is scratch. */
int bj_period_take(struct bj_period *p, struct bj_buf *texts,
                   int (*value)(void *ctx, unsigned i, struct bj_job_value *ret,
                                struct bj_err *err),
                   void *ctx, struct bj_err *err);

#endif
