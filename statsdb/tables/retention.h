/* Removes old jobs and releases their disk space. */
#ifndef BJ_STATSDB_TABLES_RETENTION_H
#define BJ_STATSDB_TABLES_RETENTION_H

#include "base/err.h"
#include "statsdb/tables/store.h"

#include <stdbool.h>
#include <stdint.h>

/* Remove jobs that ended before a time, with their steps, and final records, at
 * most max of each, in one transaction; or, in PostgreSQL, the jobs or the
 * records of a whole month. Their daily sums stay; removed jobs are not
 * imported again, so that they are not counted twice. Returns the number of
 * jobs removed; *ret_more: there may be more to remove. */
int bj_retention_step(struct bj_store *s, int64_t before_sec, unsigned max,
                      bool *ret_more, struct bj_err *err);

/* Return at most this many free pages at the end of the file to the file
 * system. */
int bj_retention_shrink(struct bj_store *s, unsigned pages, struct bj_err *err);

#endif
