/* The store: one SQLite file with the accounting of every job.
 *
 * One process writes it, any number read it at the same time (WAL).  Readers
 * see whole transactions only.  docs/statsdb.md describes the tables. */
#ifndef BJ_STATSDB_STORE_H
#define BJ_STATSDB_STORE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;
struct bj_store;

/* Numbers that are 0 stand for the value in brackets. */
struct bj_store_options {
    const char *path;    /* NULL: an empty one that goes when it is closed */
    bool read_only;      /* no lock, no migration, no file is made */
    bool any_version;    /* to be read, whatever its version */
    bool as_it_is;       /* to be written, but neither made nor migrated */
    bool any_filesystem; /* also on one that is known not to be local */
    bool shrink; /* a new file can give room back: statsdb/retention.h */
    uint64_t cache_bytes; /* of the database that are kept in memory [12 M] */
    uint64_t busy_usec;   /* how long to wait for a lock [10 s] */
    uint64_t max_bytes;   /* the file never grows beyond [no limit] */
};

/* Open a store, and make it when there is none and it is to be written.  The
 * writer holds a lock on "PATH.lock" until the store is closed, and brings an
 * older store to the present version.  err may be NULL.
 *   -EBUSY    another process writes it
 *   -EREMOTE  on a network file system, whose locks SQLite must not trust
 *   -EBADMSG  not a store, or damaged       -ENOTSUP  of a newer version
 *   -EAGAIN   not to be migrated, but of an older version: its writer must
 *             run once
 *   else see bj_sql_errno */
int bj_store_open(const struct bj_store_options *opt, struct bj_store **ret,
                  struct bj_err *err);

/* Close it; a transaction that is open is rolled back.  NULL is fine. */
void bj_store_close(struct bj_store *s);

/* The connection, for statements of one's own. */
struct sqlite3 *bj_store_db(struct bj_store *s);

/* The code of an error of another file than the store, in the same words, but
 * none that would be taken for one of the store: -EREMOTEIO instead of -EIO,
 * -ENOSPC, -EROFS and -EBADMSG. */
int bj_store_not_ours(struct bj_err *err, int code);

/* Look whether the whole file is consistent: pages, indexes, foreign keys.
 * Takes long.  -EBADMSG with the first thing that is wrong. */
int bj_store_check(struct bj_store *s, struct bj_err *err);

/* Have SQLite look up, or not, what rows that are written refer to: it does,
 * unless this was called.  Between two transactions only; who switches it off
 * proves the references otherwise. */
int bj_store_references(struct bj_store *s, bool on, struct bj_err *err);

/* Transactions of the writer.  begin takes the lock at once, so that
 * statements in between cannot fail to get it. */
int bj_store_begin(struct bj_store *s, struct bj_err *err);
int bj_store_commit(struct bj_store *s, struct bj_err *err);
void bj_store_rollback(struct bj_store *s);

/* Bytes of the WAL file (0 when it is not there). */
uint64_t bj_store_wal_bytes(const struct bj_store *s);

/* Bytes of the store's file. */
uint64_t bj_store_bytes(const struct bj_store *s);

/* Copy the store, as it is now, into a new file while it is being used.  The
 * copy appears under its name only when it is whole and on disk.  -EEXIST when
 * the file is there already.  progress (may be NULL) is called with pages done
 * and in all; a negative return stops the copy and becomes the result. */
int bj_store_backup(struct bj_store *s, const char *to,
                    int (*progress)(void *ctx, uint64_t done, uint64_t all),
                    void *ctx, struct bj_err *err);

#endif
