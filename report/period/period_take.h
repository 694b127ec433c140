/* Adds jobs to the report of a period, from columns of the jobs. */
#ifndef BJ_REPORT_PERIOD_PERIOD_TAKE_H
#define BJ_REPORT_PERIOD_PERIOD_TAKE_H

#include "report/period/period.h"
#include "statsdb/job/job_read.h"

enum { BJ_PERIOD_COLUMNS = 21 };

/* The columns of a job that bj_period_take needs. */
const struct bj_column *const *bj_period_columns(void);

/* Add a job.  value() returns its columns; texts need to be valid only until
 * the next call of value().  texts is scratch memory. */
int bj_period_take(struct bj_period *p, struct bj_buf *texts,
                   int (*value)(void *ctx, unsigned i, struct bj_job_value *ret,
                                struct bj_err *err),
                   void *ctx, struct bj_err *err);

#endif
