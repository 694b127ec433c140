/* Output to a file. */
#ifndef BJ_ACCT_FILE_H
#define BJ_ACCT_FILE_H

#include "base/err.h"

#include <stdio.h>

/* Replace the file at path by the output of print.  If print or writing fails,
 * the old file stays. */
int bj_acct_to_file(const char *path,
                    int (*print)(void *ctx, FILE *to, struct bj_err *err),
                    void *ctx, struct bj_err *err);

#endif
