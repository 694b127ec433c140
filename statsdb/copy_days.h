/* The jobs, or final records, of each day in a store that is copied, as ranges
 * of their numbers.
 *
 * The day is that of the time in the number that they have in PostgreSQL
 * (statsdb/month.h), in UTC, so that it is the same in both engines and never
 * changes; day 0 has those without one. */
#ifndef BJ_STATSDB_COPY_DAYS_H
#define BJ_STATSDB_COPY_DAYS_H

#include "base/err.h"

#include <stdint.h>

struct bj_db;
struct bj_copy_days;
struct bj_month_group;

/* The first number of a day in PostgreSQL. */
int64_t bj_copy_day_number(int64_t day);

/* Read the days of a store. */
int bj_copy_days_new(struct bj_db *db, const struct bj_month_group *g,
                     struct bj_copy_days **ret, struct bj_err *err);
void bj_copy_days_free(struct bj_copy_days *d); /* NULL is fine */

/* The first day with rows from this one on: 1, or 0 without one. */
int bj_copy_days_from(struct bj_copy_days *d, int64_t day, int64_t *ret,
                      struct bj_err *err);

/* Go to the ranges of a day, then to the next range: 1 with its first and last
 * number, in which no other day has a row, or 0. */
void bj_copy_days_begin(struct bj_copy_days *d, int64_t day);
int bj_copy_days_range(struct bj_copy_days *d, int64_t *ret_first,
                       int64_t *ret_last, struct bj_err *err);

/* A row of the first table is added; those of a day are removed. */
int bj_copy_days_add(struct bj_copy_days *d, int64_t day, int64_t number,
                     struct bj_err *err);
int bj_copy_days_drop(struct bj_copy_days *d, int64_t day, struct bj_err *err);

#endif
