/* The store: a database with the accounting of all jobs, a file of SQLite or in
 * PostgreSQL.
 *
 * One process writes it while any number of processes read it.  Readers see
 * whole transactions only.  docs/statsdb.md describes the tables. */
#ifndef BJ_STATSDB_TABLES_STORE_H
#define BJ_STATSDB_TABLES_STORE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_db;
struct bj_store;

/* A number of 0 means the default in brackets. */
struct bj_store_options {
    const char *path; /* path, or URL of store/db.h; NULL: an empty store that
                         is removed when it is closed */
    bool read_only;   /* no lock, no migration; a missing store is not made */
    bool any_version; /* with read_only: accept a store of any version */
    bool copy; /* write it as a copy of another store (statsdb/copy/copy.h) */
    bool as_it_is; /* write, but neither make nor migrate the store */
    /* Like as_it_is, for short transactions while another process may write the
     * store, too. */
    bool short_writes;
    bool any_filesystem; /* also on a network file system */
    bool shrink;         /* a new file can shrink: statsdb/tables/retention.h */
    uint64_t cache_bytes; /* memory for pages [12 M] */
    uint64_t busy_usec;   /* wait for a lock [10 s] */
    uint64_t max_bytes;   /* maximum size of the file [no limit] */
    /* A store that this process has open for writing.  The new connection to it
     * is for another thread, and must be closed before it. Transactions of both
     * wait for each other, first come, first served. Commits of this connection
     * also survive a power failure. */
    struct bj_store *shared_with;
};

/* Open a store; for writing, make it if it is missing. The writer holds a lock
 * (of a file: "PATH.lock") until the store is closed, and upgrades an older
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

/* Close a store; an open transaction is rolled back.  NULL is fine. */
void bj_store_close(struct bj_store *s);

/* The store's connection, for statements and operations on the whole database.
 */
struct bj_db *bj_store_db(struct bj_store *s);

/* Change the error of a file other than the store, so that it is not mistaken
 * for an error of the store: -EREMOTEIO instead of -EIO, -ENOSPC, -EROFS and
 * -EBADMSG; the text stays. */
int bj_store_other_error(struct bj_err *err, int code);

/* Transactions of the writer. begin takes the lock at once, so that later
 * statements cannot fail to get it.  After an error of commit or of a statement
 * before it, roll back.
 * -ENOLINK: this connection to the server, or one beside it, is lost; close all
 * of them and open new ones. */
int bj_store_begin(struct bj_store *s, struct bj_err *err);
int bj_store_commit(struct bj_store *s, struct bj_err *err);
void bj_store_rollback(struct bj_store *s);

/* --- store check ---*/

/* Check a whole store. */

struct bj_store;

/* With SQLite, check pages, indexes and references; with PostgreSQL, where the
 * tables have no foreign keys, only references (pg_amcheck checks pages and
 * indexes). Takes long. -EBADMSG with the first error. */
int bj_store_check(struct bj_store *s, struct bj_err *err);

#endif
