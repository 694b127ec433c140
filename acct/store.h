/* batchjob_acct reads jobs from the store: all jobs, for users who can read the
 * file. */
#ifndef BJ_ACCT_STORE_H
#define BJ_ACCT_STORE_H

#include "acct/source.h"

/* Open the store for reading.  Errors are those of bj_store_open. */
int bj_acct_store_open(const char *path, bool any_filesystem,
                       struct bj_acct_source *ret, struct bj_err *err);

#endif
