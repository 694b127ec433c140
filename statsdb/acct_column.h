/* Which columns batchjob_acct shows. */
#ifndef BJ_STATSDB_ACCT_COLUMN_H
#define BJ_STATSDB_ACCT_COLUMN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "statsdb/job_column.h"

enum { BJ_ACCT_COLUMNS_MAX = 128 }; /* in one table */

/* The columns of a list of names, in which commas separate names, too; "all"
 * is all that have a title.  *ret_n of them go into ret.  -EINVAL says which
 * name is unknown. */
int bj_acct_format(const struct bj_strv *names,
                   const struct bj_job_column *ret[BJ_ACCT_COLUMNS_MAX],
                   unsigned *ret_n, struct bj_err *err);

/* The head of a column for people. */
const char *bj_acct_title(const struct bj_job_column *c);

/* A line for each column, for --help. */
void bj_acct_columns_help(struct bj_buf *out);

#endif
