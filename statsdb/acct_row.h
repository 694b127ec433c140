/* The rows that batchjob_acct shows: values of jobs, read from the store. */
#ifndef BJ_STATSDB_ACCT_ROW_H
#define BJ_STATSDB_ACCT_ROW_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/job_column.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;
struct bj_acct_row;

/* Reads these columns, which must outlive it. */
int bj_acct_row_new(struct sqlite3 *db,
                    const struct bj_job_column *const *column, unsigned columns,
                    struct bj_acct_row **ret, struct bj_err *err);
void bj_acct_row_free(struct bj_acct_row *r); /* NULL is fine */

/* Read the job with this number in the store: 1, 0 when it was removed, or an
 * error. */
int bj_acct_row_read(struct bj_acct_row *r, int64_t id, struct bj_err *err);

struct bj_acct_value {
    bool known;
    int64_t number;       /* where the column is no text */
    struct bj_slice text; /* good until the next call */
};

/* Column i of that job.  0 or an error. */
int bj_acct_row_value(struct bj_acct_row *r, unsigned i,
                      struct bj_acct_value *ret, struct bj_err *err);

#endif
