/* The store: one SQLite file with the accounting of every job.
 *
 * One process writes it, any number read it at the same time (WAL).  Readers
 * see whole transactions only.  docs/statsdb.md describes the tables. */
#ifndef BJ_STATSDB_STORE_H
#define BJ_STATSDB_STORE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_db;
struct bj_store;

/* A number of 0 is the default in brackets. */
struct bj_store_options {
    const char *path; /* NULL: an empty one that is removed when it is closed */
    bool read_only;   /* no lock, no migration, no file is made */
    bool any_version; /* read it, whatever its version */
    bool copy;        /* write it as a copy of another store (statsdb/copy.h) */
    bool as_it_is;    /* write it, but neither make nor migrate it */
    /* The same, beside a process that may write it, too: for transactions that
     * take a moment. */
    bool short_writes;
    bool any_filesystem;  /* also on a network file system */
    bool shrink;          /* a new file can shrink: statsdb/retention.h */
    uint64_t cache_bytes; /* memory for pages [12 M] */
    uint64_t busy_usec;   /* wait for a lock [10 s] */
    uint64_t max_bytes;   /* maximum size of the file [no limit] */
    /* Another connection of this process, which writes the same store and must
     * outlive this one; for another thread.  Their transactions wait for each
     * other, first come, first served.  Commits of this one also survive a
     * power failure. */
    struct bj_store *beside;
};

/* Open a store, and make it if it is missing and opened for writing. The writer
 * holds a lock on "PATH.lock" until the store is closed, and upgrades an older
 * store. err may be NULL.
 * -EBUSY: another process writes it
 * -EREMOTE: on a network file system, whose locks are unreliable
 * -EBADMSG: not a store, or damaged
 * -ENOTSUP: of a newer version
 * -EINPROGRESS: a copy into it has not finished
 * -EAGAIN: of an older version, and opened without migration: run its writer
 * once
 * -EINVAL and others: store/db.h */
int bj_store_open(const struct bj_store_options *opt, struct bj_store **ret,
                  struct bj_err *err);

/* Close it; a transaction that is open is rolled back.  NULL is fine. */
void bj_store_close(struct bj_store *s);

/* The connection, for statements and work on the whole store. */
struct bj_db *bj_store_db(struct bj_store *s);

/* Change the error of a file other than the store, so that it is not mistaken
 * for an error of the store: -EREMOTEIO instead of -EIO, -ENOSPC, -EROFS and
 * -EBADMSG; the text stays. */
int bj_store_other_error(struct bj_err *err, int code);

/* The writer's other connections, and the server that they are connected to:
 * -ENOLINK: a connection is lost, of this store or one beside it.  Close all of
 * them and open new ones.
 *
 * Transactions of the writer. begin takes the lock at once, so that later
 * statements cannot fail to get it.  After an error of commit or of a statement
 * between the two, roll back. */
int bj_store_begin(struct bj_store *s, struct bj_err *err);
int bj_store_commit(struct bj_store *s, struct bj_err *err);
void bj_store_rollback(struct bj_store *s);

#endif
