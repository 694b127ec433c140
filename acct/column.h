/* The columns that batchjob_acct shows. */
#ifndef BJ_ACCT_COLUMN_H
#define BJ_ACCT_COLUMN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "statsdb/job/job_column.h"

enum { BJ_ACCT_COLUMNS_MAX = 128 }; /* in one table */

/* Find the columns for a list of names; an entry may hold several names with
 * commas between.  "all" selects all columns that have a title.  Stores *ret_n
 * columns in ret.  -EINVAL: a name is unknown; the message contains it. */
int bj_acct_format(const struct bj_strv *names,
                   const struct bj_job_column *ret[BJ_ACCT_COLUMNS_MAX],
                   unsigned *ret_n, struct bj_err *err);

/* Append the heading of a column in tables; times name the reader's zone:
 * "Start (Europe/Paris)". */
void bj_acct_title(struct bj_buf *out, const struct bj_job_column *c);

/* Append one line for each column, for --help. */
void bj_acct_columns_help(struct bj_buf *out);

#endif
