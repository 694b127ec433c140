/* Accounting files that schedulers write, followed: PBS's one file a day, and
 * LSF's lsb.acct with the older ones beside it.
 *
 * How far a file has been read is kept in the store, in the transaction that
 * holds the last of what was read, so that nothing is lost or taken twice
 * wherever the program ends.  A file is known by its first line, not by its
 * name or inode: it may be renamed (lsb.acct becomes lsb.acct.1), copied back,
 * or made anew under the same name.  Only whole lines are taken. */
#ifndef BJ_STATSDB_SOURCE_FOLLOW_H
#define BJ_STATSDB_SOURCE_FOLLOW_H

#include "statsdb/source_sacct.h"

enum bj_follow_kind {
    BJ_FOLLOW_PBS, /* path: the directory; files YYYYMMDD in it */
    BJ_FOLLOW_LSF, /* path: lsb.acct; also lsb.acct.N */
    BJ_FOLLOWS
};

struct bj_source_follow;

/* The store, cluster and path must outlive it. */
int bj_source_follow_new(enum bj_follow_kind kind, const char *cluster,
                         const char *path, struct bj_store *store,
                         struct bj_source_follow **ret, struct bj_err *err);
void bj_source_follow_free(struct bj_source_follow *f); /* NULL is fine */

/* Take all that is new, the oldest first, in transactions of its own, with dry
 * in one that is rolled back.  Of run, progress does not count.  When
 * it is stopped, what has been read so far is safe, and 0 is returned.  Counts
 * are of this call: bytes, lines (jobs), bad_lines, bad_fields.  Errors name
 * the file; those of the store as in statsdb/sql.h. */
int bj_source_follow_run(struct bj_source_follow *f,
                         const struct bj_source_run *run, bool dry,
                         struct bj_sacct_counts *ret, struct bj_err *err);

#endif
