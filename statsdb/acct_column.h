/* What batchjob_acct can show of a job. */
#ifndef BJ_STATSDB_ACCT_COLUMN_H
#define BJ_STATSDB_ACCT_COLUMN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"

#include <stdbool.h>

enum bj_acct_kind {
    BJ_ACCT_TEXT,
    BJ_ACCT_NAME,    /* text that may be cut to fit a line */
    BJ_ACCT_STATE,   /* text with a colour */
    BJ_ACCT_INT,     /* a count */
    BJ_ACCT_TIME,    /* seconds since 1970 */
    BJ_ACCT_SECONDS, /* a length of time; 2^63-1: unlimited */
    BJ_ACCT_CPU,     /* microseconds */
    BJ_ACCT_BYTES,
    BJ_ACCT_JOULES,
    BJ_ACCT_GRAMS, /* micrograms */
    BJ_ACCT_PERCENT,
};

struct bj_acct_column {
    const char *name; /* for people, near to sacct's */
    const char *key;  /* in CSV and JSON */
    enum bj_acct_kind kind;
    const char *sql;  /* over job j, job_v v and job_use u */
    const char *help; /* what it is, where the name does not say it */
};

enum { BJ_ACCT_COLUMNS_MAX = 128 }; /* in one table */

/* The columns of a list of names, in which commas separate names, too; case
 * does not matter, and "all" is all of them.  *ret_n of them go into ret.
 * -EINVAL names what is no column. */
int bj_acct_format(const struct bj_strv *names,
                   const struct bj_acct_column *ret[BJ_ACCT_COLUMNS_MAX],
                   unsigned *ret_n, struct bj_err *err);

/* The statement that gives these columns of the job with number ?1. */
void bj_acct_select(const struct bj_acct_column *const *columns, unsigned n,
                    struct bj_buf *sql);

/* A line for each column, for --help. */
void bj_acct_columns_help(struct bj_buf *out);

#endif
