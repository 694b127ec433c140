/* A job as batchjob_acct prints it: the values of the chosen columns. */
#ifndef BJ_STATSDB_ACCT_ROW_H
#define BJ_STATSDB_ACCT_ROW_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_acct_value {
    bool known;
    int64_t number;       /* of a column that is not text; times in seconds */
    struct bj_slice text; /* good until the next call */
};

struct bj_acct_row {
    /* The value of chosen column i.  0 or an error. */
    int (*value)(void *ctx, unsigned i, struct bj_acct_value *ret,
                 struct bj_err *err);
    void *ctx;
};

#endif
