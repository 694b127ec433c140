/* What is remembered in the store between runs: how far each source has been
 * read, and up to when jobs have been removed. */
#ifndef BJ_STATSDB_COVERED_H
#define BJ_STATSDB_COVERED_H

#include "base/err.h"
#include "statsdb/store.h"
#include "statsdb/window.h"

/* How far a source of a cluster has been read; nothing: both 0. */
int bj_covered_read(struct bj_store *s, const char *cluster, const char *source,
                    struct bj_covered *ret, struct bj_err *err);

/* Remember it, in the transaction that holds the last of what was read. */
int bj_covered_write(struct bj_store *s, const char *cluster,
                     const char *source, const struct bj_covered *covered,
                     struct bj_err *err);

/* Jobs that ended before this time have been removed, and are not taken again,
 * since their sums are still there; 0: none. */
int bj_removed_before(struct bj_store *s, int64_t *ret_sec, struct bj_err *err);

#endif
