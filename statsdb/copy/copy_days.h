/* The jobs, or final records, of each day in a store that is copied, as ranges
 * of their numbers.
 *
 * The day is the UTC day of the time that the row's number in PostgreSQL
 * contains (statsdb/tables/month.h), so it is the same in both engines and
 * never changes.  Day 0 has the rows without a time. */
#ifndef BJ_STATSDB_COPY_COPY_DAYS_H
#define BJ_STATSDB_COPY_COPY_DAYS_H

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

#endif
