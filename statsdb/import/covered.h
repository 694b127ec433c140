/* State of the import that the store keeps: the period read from each source,
 * and the time before which jobs were removed. */
#ifndef BJ_STATSDB_IMPORT_COVERED_H
#define BJ_STATSDB_IMPORT_COVERED_H

#include "base/err.h"
#include "statsdb/import/window.h"
#include "statsdb/tables/store.h"

/* Return the period that was read from a source of a cluster; both 0: nothing
 * yet. */
int bj_covered_read(struct bj_store *s, const char *cluster, const char *source,
                    struct bj_covered *ret, struct bj_err *err);

/* Store that period, in the transaction that stores the last data of the
 * period. */
int bj_covered_write(struct bj_store *s, const char *cluster,
                     const char *source, const struct bj_covered *covered,
                     struct bj_err *err);

/* Return the time before which ended jobs were removed; 0: none. They are not
 * imported again, because their daily sums remain. */
int bj_removed_before(struct bj_store *s, int64_t *ret_sec, struct bj_err *err);

#endif
