/* Numbers in Slurm's JSON that are not JSON: before 24.11 it writes Infinity,
 * -Infinity and NaN, which RFC 8259 does not allow. */
#ifndef BJ_SCHED_SLURMJSON_FIX_H
#define BJ_SCHED_SLURMJSON_FIX_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>

/* Zero-initialise for each document. */
struct bj_slurmjson_fix {
    bool string, escape, minus;
    char word[12];
    size_t n;
};

/* Pass on a piece of a document, cut anywhere, with null in place of such words
 * and all else unchanged.  A negative return of the sink ends it. */
int bj_slurmjson_fix(struct bj_slurmjson_fix *f, struct bj_slice piece,
                     int (*sink)(void *ctx, struct bj_slice piece,
                                 struct bj_err *err),
                     void *ctx, struct bj_err *err);

#endif
