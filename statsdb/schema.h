/* The tables of the store, as steps from one version to the next.
 * docs/statsdb.md describes them. */
#ifndef BJ_STATSDB_SCHEMA_H
#define BJ_STATSDB_SCHEMA_H

#include "base/err.h"

struct sqlite3;

/* In the header of the file: "BJst". */
enum { BJ_SCHEMA_APPLICATION = 0x424a7374 };

/* The version that this program knows: the number of steps there are. */
int bj_schema_version(void);

/* Is the open database a store of ours, and of which version?  An empty file
 * is version 0.  -EBADMSG: a database of somebody else. */
int bj_schema_read(struct sqlite3 *db, int *ret_version, struct bj_err *err);

/* Bring it to our version, in one transaction: all steps or none.
 * -EBADMSG: not ours; -ENOTSUP: written by a newer program, left alone. */
int bj_schema_migrate(struct sqlite3 *db, struct bj_err *err);

#endif
