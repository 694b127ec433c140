/* Reads the rows of a table in one of the two stores of a copy, with values
 * converted so that equal rows have equal values. */
#ifndef BJ_STATSDB_COPY_COPY_ROWS_H
#define BJ_STATSDB_COPY_COPY_ROWS_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct bj_copy_days;
struct bj_copy_numbers;
struct bj_copy_rows;
struct bj_db;
struct bj_value;

enum { BJ_COPY_NAMES = 128, BJ_COPY_NAME_BYTES = 64 };

/* Names of tables, or of the columns of a table. */
struct bj_copy_names {
    int n;
    const char *list[BJ_COPY_NAMES];
    char name[BJ_COPY_NAMES][BJ_COPY_NAME_BYTES];
};

/* List the tables of a store; those whose rows triggers write come last. */
int bj_copy_tables(struct bj_db *db, struct bj_copy_names *ret,
                   struct bj_err *err);

/* Equal sums mean equal rows. */
struct bj_copy_sum {
    uint64_t rows;
    uint64_t sum;  /* of all integers, modulo 2^64 */
    uint64_t hash; /* sum of the rows' hashes */
};

struct bj_copy_from {
    struct bj_db *db, *to; /* the store to read, and the copy */
    const char *table;
    const char *key; /* the table's column with the number of the job or record,
                        or NULL */
    /* NULL: the numbers are those of the copy already */
    struct bj_copy_numbers *numbers;
    const atomic_bool *stop;
};

int bj_copy_rows_new(const struct bj_copy_from *from, struct bj_copy_rows **ret,
                     struct bj_err *err);
void bj_copy_rows_free(struct bj_copy_rows *r); /* NULL is fine */
const struct bj_copy_names *bj_copy_rows_columns(const struct bj_copy_rows *r);

/* Begin to read the rows of a day; all rows if there is no key. */
void bj_copy_rows_begin(struct bj_copy_rows *r, struct bj_copy_days *days,
                        int64_t day);

/* Read the next row: 1 with its values, or 0 at the end. -EINTR: stopped. */
int bj_copy_rows_next(struct bj_copy_rows *r, struct bj_value *ret,
                      struct bj_err *err);

/* The sum of the rows read since begin. */
struct bj_copy_sum bj_copy_rows_sum(const struct bj_copy_rows *r);

/* Begin, and read all rows. */
int bj_copy_rows_read(struct bj_copy_rows *r, struct bj_copy_days *days,
                      int64_t day, struct bj_copy_sum *ret, struct bj_err *err);

/* --- copy days ---*/

/* The jobs, or final records, of each day in a store that is copied, as ranges
 * of their numbers.
 *
 * The day is the UTC day of the time that the row's number in PostgreSQL
 * contains (statsdb/tables/month.h), so it is the same in both engines and
 * never changes.  Day 0 has the rows without a time. */

struct bj_db;
struct bj_copy_days;
struct bj_month_group;

/* The first number of a day in PostgreSQL. */
int64_t bj_copy_day_number(int64_t day);

/* Read the days of a store. */
int bj_copy_days_new(struct bj_db *db, const struct bj_month_group *g,
                     struct bj_copy_days **ret, struct bj_err *err);
void bj_copy_days_free(struct bj_copy_days *d); /* NULL is fine */

/* Find the first day with rows, beginning with this day: 1, or 0 if there is
 * none. */
int bj_copy_days_from(struct bj_copy_days *d, int64_t day, int64_t *ret,
                      struct bj_err *err);

/* begin selects a day; each call of range returns 1 with the first and last
 * number of its next range, or 0 at the end.  Rows of other days are never in
 * such a range. */
void bj_copy_days_begin(struct bj_copy_days *d, int64_t day);
int bj_copy_days_range(struct bj_copy_days *d, int64_t *ret_first,
                       int64_t *ret_last, struct bj_err *err);

/* Report that a row was added to the first table, or that the rows of a day
 * were removed. */
int bj_copy_days_add(struct bj_copy_days *d, int64_t day, int64_t number,
                     struct bj_err *err);
int bj_copy_days_drop(struct bj_copy_days *d, int64_t day, struct bj_err *err);

/* --- copy numbers ---*/

/* The numbers of jobs and final records in a copy: the engines number them
 * differently (statsdb/tables/job_number.h, statsdb/tables/record_number.h). */

struct bj_db;
struct bj_copy_numbers;

/* Read the jobs and records of a store and assign to each its number in the
 * copy: the existing one, or a new one.  *ret is NULL if both engines number
 * them in the same way. */
int bj_copy_numbers_new(struct bj_db *from, struct bj_db *to,
                        struct bj_copy_numbers **ret, struct bj_err *err);
void bj_copy_numbers_free(struct bj_copy_numbers *n); /* NULL is fine */

#endif
