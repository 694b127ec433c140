/* The numbers of jobs and final records in a copy: the engines number them
 * differently (statsdb/tables/job_number.h, statsdb/tables/record_number.h). */
#ifndef BJ_STATSDB_COPY_COPY_NUMBERS_H
#define BJ_STATSDB_COPY_COPY_NUMBERS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_db;
struct bj_copy_numbers;

/* Read the jobs and records of a store and assign to each its number in the
 * copy: the existing one, or a new one.  *ret is NULL if both engines number
 * them in the same way. */
int bj_copy_numbers_new(struct bj_db *from, struct bj_db *to,
                        struct bj_copy_numbers **ret, struct bj_err *err);
void bj_copy_numbers_free(struct bj_copy_numbers *n); /* NULL is fine */

/* Does a column contain numbers of jobs or final records? */
bool bj_copy_numbers_in(const char *table, const char *column);

/* Replace a value of such a column by the number in the copy.  A number that
 * refers to no job or record stays. */
int bj_copy_numbers_of(struct bj_copy_numbers *n, const char *table,
                       const char *column, int64_t *v, struct bj_err *err);

/* The rows of a table that must have more rows in the copy than in the store,
 * as a subquery; NULL for other tables. */
const char *bj_copy_numbers_rows(const struct bj_copy_numbers *n,
                                 const char *table);

#endif
