/* The jobs of each day in a store that is copied, as ranges of their numbers.
 *
 * The day is that of the submit time in the number that a job has in PostgreSQL
 * (statsdb/job_number.h), in UTC, so that it is the same in both engines and
 * never changes; day 0 has the jobs without one. */
#ifndef BJ_STATSDB_COPY_DAYS_H
#define BJ_STATSDB_COPY_DAYS_H

#include "base/err.h"

#include <stdint.h>

struct bj_db;
struct bj_copy_days;

/* The first number that jobs of a day have in PostgreSQL. */
int64_t bj_copy_day_number(int64_t day);

/* Read the days of a store's jobs. */
int bj_copy_days_new(struct bj_db *db, struct bj_copy_days **ret,
                     struct bj_err *err);
void bj_copy_days_free(struct bj_copy_days *d); /* NULL is fine */

/* The first day with jobs from this one on: 1, or 0 without one. */
int bj_copy_days_from(struct bj_copy_days *d, int64_t day, int64_t *ret,
                      struct bj_err *err);

/* Go to the ranges of a day, then to the next range: 1 with its first and last
 * number, in which no other day has a job, or 0. */
void bj_copy_days_begin(struct bj_copy_days *d, int64_t day);
int bj_copy_days_range(struct bj_copy_days *d, int64_t *ret_first,
                       int64_t *ret_last, struct bj_err *err);

/* A job is added; all jobs of a day are removed. */
int bj_copy_days_add(struct bj_copy_days *d, int64_t day, int64_t number,
                     struct bj_err *err);
int bj_copy_days_drop(struct bj_copy_days *d, int64_t day, struct bj_err *err);

#endif
