/* Reads columns of jobs from the store, by the jobs' numbers. */
#ifndef BJ_STATSDB_JOB_JOB_READ_H
#define BJ_STATSDB_JOB_JOB_READ_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/job/job_column.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_db;

struct bj_job_value {
    bool known;
    int64_t number;       /* if the column is not text; times in seconds */
    struct bj_slice text; /* valid until the next call */
};

struct bj_job_read;

/* db and column must outlive *ret. */
int bj_job_read_new(struct bj_db *db, const struct bj_job_column *const *column,
                    unsigned columns, struct bj_job_read **ret,
                    struct bj_err *err);
void bj_job_read_free(struct bj_job_read *r); /* NULL is fine */

/* Read a job: 1, or 0 if none has that number. */
int bj_job_read_row(struct bj_job_read *r, int64_t job, struct bj_err *err);

/* Return the value of selected column i of that job. */
int bj_job_read_value(struct bj_job_read *r, unsigned i,
                      struct bj_job_value *ret, struct bj_err *err);

#endif
