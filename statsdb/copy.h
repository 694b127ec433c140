/* Copy a store into another one, also of another engine. */
#ifndef BJ_STATSDB_COPY_H
#define BJ_STATSDB_COPY_H

#include "base/err.h"
#include "statsdb/copy_rows.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The rows of a table that are equal in both stores. */
struct bj_copy_equal {
    const char *table;
    int64_t day; /* since 1970 (statsdb/copy_days.h); BJ_SQL_NULL: all rows */
    struct bj_copy_sum sum;
    bool written; /* or they were equal before */
};

struct bj_copy {
    const char *from, *to; /* URLs; the first one may be written meanwhile */
    bool update;           /* to may be an earlier copy */
    const atomic_bool *stop;
    int (*equal)(void *ctx, const struct bj_copy_equal *e, struct bj_err *err);
    void *ctx;
};

/* Copy a store as it is at one moment: each day of jobs and of final records,
 * and each other table, in a transaction, which compares what it has written
 * before it ends.  Until all of it is equal, other programs do not open the
 * copy (-EINPROGRESS).  After an error, the next call goes on: it compares what
 * is there, and writes what differs from the store as it then is.
 *
 * PostgreSQL stores texts that are not UTF-8 as bj_text_utf8 makes them, and
 * jobs and final records get other numbers in another engine; they are
 * compared so.
 *
 * -EEXIST: there are jobs, and no unfinished copy, or none to be updated;
 * -EBADMSG: what was written is not equal; -EINTR: stopped; what equal
 * returned. */
int bj_copy_store(const struct bj_copy *c, struct bj_err *err);

#endif
