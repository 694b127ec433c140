/* Reads accounting files of schedulers as they grow: one file per day of PBS,
 * and lsb.acct of LSF with its older files.
 *
 * The position in a file is stored in the transaction with the last data read,
 * so that nothing is lost or imported twice when the program ends. A file is
 * identified by its first line, not by its name or inode: it may be renamed
 * (lsb.acct becomes lsb.acct.1), copied back, or replaced under the same name.
 * Only complete lines are read. */
#ifndef BJ_STATSDB_SOURCE_SOURCE_FOLLOW_H
#define BJ_STATSDB_SOURCE_SOURCE_FOLLOW_H

#include "statsdb/source/source_sacct.h"

enum bj_follow_kind {
    BJ_FOLLOW_PBS, /* path: the directory; files YYYYMMDD in it */
    BJ_FOLLOW_LSF, /* path: lsb.acct; also lsb.acct.N */
    BJ_FOLLOWS
};

struct bj_source_follow;

/* The store, cluster and path must outlive *ret. */
int bj_source_follow_new(enum bj_follow_kind kind, const char *cluster,
                         const char *path, struct bj_store *store,
                         struct bj_source_follow **ret, struct bj_err *err);
void bj_source_follow_free(struct bj_source_follow *f); /* NULL is fine */

/* Import new data, the oldest first, in several transactions; with dry, in one
 * that is rolled back. run->progress is not used. When stopped, it returns 0,
 * and the data read so far are committed. Counts are those of this call: bytes,
 * lines (jobs), bad_lines, bad_fields. Error messages contain the file; errors
 * of the store are those of store/db.h. */
int bj_source_follow_run(struct bj_source_follow *f,
                         const struct bj_source_run *run, bool dry,
                         struct bj_sacct_counts *ret, struct bj_err *err);

#endif
