/* Reads columns from rows of the store: of any query, and of jobs by their
 * numbers. */
#ifndef BJ_STATSDB_JOB_JOB_READ_H
#define BJ_STATSDB_JOB_JOB_READ_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/job/job_column.h"
#include "statsdb/job/job_value.h"
#include "statsdb/job/rows.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_db;
struct bj_st;

enum { BJ_PICKED_VALUES = 2 * BJ_JOB_COLUMNS };

/* Selected columns, in order, and the SQL values that they need, each once. */
struct bj_picked {
    const struct bj_column *column[BJ_ROW_KEYS];
    const char *key[BJ_ROW_KEYS];                    /* their names */
    unsigned char value[BJ_ROW_KEYS][BJ_JOB_VALUES]; /* in sql */
    unsigned n;
    const char *sql[BJ_PICKED_VALUES];
    unsigned values;
    bool derived; /* some columns need BJ_JOB_FROM_USE */
};

/* Add a column; begin with n = values = 0 and derived false. */
void bj_picked_add(struct bj_picked *k, const struct bj_column *c);

/* Select all columns of a table, which ends with name NULL. */
void bj_picked_table(struct bj_picked *k, const struct bj_column *columns);

/* Append their SQL values, separated by commas. */
void bj_picked_sql(const struct bj_picked *k, struct bj_buf *sql);

/* Write the values of a row of which the first is value number first of st, as
 * a row; of raw only word, ctx and scratch are used.  0 or an error of the
 * store. */
int bj_picked_row(const struct bj_picked *k, struct bj_st *st, int first,
                  struct bj_job_raw *raw, struct bj_rows *rows,
                  struct bj_err *err);

/* Return the numbers of such a row's columns, which are not texts, or
 * BJ_SQL_NULL. */
void bj_picked_numbers(const struct bj_picked *k, struct bj_st *st, int first,
                       int64_t ret[BJ_ROW_KEYS]);

struct bj_job_read;

/* db must outlive *ret. */
int bj_job_read_new(struct bj_db *db, const struct bj_column *const *column,
                    unsigned columns, struct bj_job_read **ret,
                    struct bj_err *err);
void bj_job_read_free(struct bj_job_read *r); /* NULL is fine */

/* Read a job: 1, or 0 if none has that number. */
int bj_job_read_row(struct bj_job_read *r, int64_t job, struct bj_err *err);

/* Return the value of selected column i of that job. */
int bj_job_read_value(struct bj_job_read *r, unsigned i,
                      struct bj_job_value *ret, struct bj_err *err);

#endif
