/* The numbers of jobs and final records in a copy: an engine does not number
 * them as another one does (statsdb/job_number.h, statsdb/record_number.h). */
#ifndef BJ_STATSDB_COPY_NUMBERS_H
#define BJ_STATSDB_COPY_NUMBERS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_db;
struct bj_copy_numbers;

/* Read the jobs and records of a store and give each its number in the copy:
 * the one that it has there already, or a new one.  *ret is NULL if the engines
 * are the same. */
int bj_copy_numbers_new(struct bj_db *from, struct bj_db *to,
                        struct bj_copy_numbers **ret, struct bj_err *err);
void bj_copy_numbers_free(struct bj_copy_numbers *n); /* NULL is fine */

/* Does a column hold such numbers? */
bool bj_copy_numbers_in(const char *table, const char *column);

/* Replace the value of such a column.  A number without a job or record stays.
 */
int bj_copy_numbers_of(struct bj_copy_numbers *n, const char *table,
                       const char *column, int64_t *v, struct bj_err *err);

/* What the copy's table has if it has more rows than the store's: a subquery;
 * else NULL. */
const char *bj_copy_numbers_rows(const struct bj_copy_numbers *n,
                                 const char *table);

#endif
