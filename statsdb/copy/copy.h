/* Copies a store into another one; their engines may differ. */
#ifndef BJ_STATSDB_COPY_COPY_H
#define BJ_STATSDB_COPY_COPY_H

#include "base/err.h"
#include "statsdb/conf/conf.h"
#include "statsdb/copy/copy_rows.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A report about rows of a table that are equal in both stores. */
struct bj_copy_equal {
    const char *table;
    int64_t
        day; /* since 1970 (statsdb/copy/copy_days.h); BJ_SQL_NULL: all rows */
    struct bj_copy_sum sum;
    bool written; /* or they were equal before */
};

struct bj_copy {
    /* URLs; the store "from" may be written during the copy */
    const char *from, *to;
    bool update; /* "to" may be an earlier copy */
    const atomic_bool *stop;
    int (*equal)(void *ctx, const struct bj_copy_equal *e, struct bj_err *err);
    void *ctx;
};

/* Copy one state of a store.  Each day of jobs and of final records, and each
 * other table, is written in one transaction, which compares the rows before it
 * commits.  Until all rows are equal, other programs cannot open the copy
 * (-EINPROGRESS).  After an error, another call continues: it compares the
 * existing rows with the current state of the store and writes those that
 * differ.
 *
 * For PostgreSQL, texts that are not UTF-8 are converted by bj_text_utf8; in
 * another engine, jobs and final records get new numbers.  Converted values are
 * compared.
 *
 * -EEXIST: "to" has jobs, but is not a copy to finish or to update;
 * -EBADMSG: written rows are not equal; -EINTR: stopped; or an error that equal
 * returned. */
int bj_copy_store(const struct bj_copy *c, struct bj_err *err);

/* "batchjob_stats_db copy" and "backup": copy_command.c. */
int bj_copy_command(const struct bj_statsdb_conf *conf, const atomic_bool *stop,
                    struct bj_err *err);

/* Copy the configured store, of any engine, into a new file. */
int bj_backup_command(const struct bj_statsdb_conf *conf, const char *file,
                      const atomic_bool *stop, struct bj_err *err);

#endif
