/* A job as batchjob_acct prints it: the values of the chosen columns. */
#ifndef BJ_ACCT_ROW_H
#define BJ_ACCT_ROW_H

#include "base/err.h"
#include "statsdb/job/job_read.h"

struct bj_acct_row {
    /* Read the value of selected column i.  0 or an error. */
    int (*value)(void *ctx, unsigned i, struct bj_job_value *ret,
                 struct bj_err *err);
    void *ctx;
};

#endif
