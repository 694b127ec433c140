/* Removing what is old, and giving its room back. */
#ifndef BJ_STATSDB_RETENTION_H
#define BJ_STATSDB_RETENTION_H

#include "base/err.h"
#include "statsdb/store.h"

#include <stdbool.h>
#include <stdint.h>

/* Remove jobs that ended before a time, with their steps, and records of nodes,
 * at most so many of each, in one transaction of its own.  Their daily sums are
 * kept; so that they are not counted again, such jobs are not taken any more.
 * Returns how many jobs were removed; *ret_more: there may be more to remove,
 * of either. */
int bj_retention_step(struct bj_store *s, int64_t before_sec, unsigned max,
                      bool *ret_more, struct bj_err *err);

/* Give at most so many free pages at the end of the file back to the file
 * system. */
int bj_retention_shrink(struct bj_store *s, unsigned pages, struct bj_err *err);

#endif
