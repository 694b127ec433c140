/* Copy a store into another one, also of another engine. */
#ifndef BJ_STATSDB_COPY_H
#define BJ_STATSDB_COPY_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct bj_store;

struct bj_copy {
    struct bj_store *from; /* opened for reading; it may be written meanwhile */
    struct bj_store *to;   /* opened for writing, without jobs */
    const atomic_bool *stop;
    /* A table is copied, and its rows compared. */
    void (*done)(void *ctx, const char *table, uint64_t rows);
    void *ctx;
};

/* Copy all tables as they are at one moment, in one transaction: after an error
 * nothing is copied.  PostgreSQL stores texts that are not UTF-8 as
 * bj_text_utf8 makes them, and jobs get other numbers in another engine
 * (statsdb/job_number.h); they are compared so.  Afterwards each table is
 * read from both stores; number of rows and sum of their hashes must be the
 * same.  -EEXIST: there are jobs; -EBADMSG: the copy is not equal; -EINTR:
 * stopped. */
int bj_copy_store(const struct bj_copy *c, struct bj_err *err);

#endif
