/* What the store remembers between runs: the period read from each source, and
 * until when jobs were removed. */
#ifndef BJ_STATSDB_COVERED_H
#define BJ_STATSDB_COVERED_H

#include "base/err.h"
#include "statsdb/store.h"
#include "statsdb/window.h"

/* Period that was read from a source of a cluster; both 0: nothing. */
int bj_covered_read(struct bj_store *s, const char *cluster, const char *source,
                    struct bj_covered *ret, struct bj_err *err);

/* Write it, in the transaction that holds the last data of the period. */
int bj_covered_write(struct bj_store *s, const char *cluster,
                     const char *source, const struct bj_covered *covered,
                     struct bj_err *err);

/* Jobs that ended before this time were removed. They are not imported again,
 * because their sums remain. 0: none. */
int bj_removed_before(struct bj_store *s, int64_t *ret_sec, struct bj_err *err);

#endif
