/* The tables of the store, as steps from one version to the next.
 * docs/statsdb.md describes them. */
#ifndef BJ_STATSDB_TABLES_SCHEMA_H
#define BJ_STATSDB_TABLES_SCHEMA_H

#include "base/err.h"

#include <stdbool.h>

struct bj_db;

/* The application id in the header of the file: "BJst". */
enum { BJ_SCHEMA_APPLICATION = 0x424a7374 };

/* The version of the tables in this program: the number of steps. */
int bj_schema_version(void);

/* Read the version of the open database; an empty file is version 0. -EBADMSG:
 * not a store; -EINPROGRESS, with the version in *ret_version: a copy into it
 * has not finished. */
int bj_schema_read(struct bj_db *db, int *ret_version, struct bj_err *err);

/* Make the tables of an earlier version in an empty database, without views:
 * for tests. */
int bj_schema_make(struct bj_db *db, int version, struct bj_err *err);

/* Make the views for people who read a store in PostgreSQL, unless they exist,
 * in a transaction.  *ret: the schema "people" exists and this role may make
 * views there. */
int bj_schema_make_people(struct bj_db *db, bool *ret, struct bj_err *err);

/* Upgrade the store in one transaction. -EBADMSG: not a store; -ENOTSUP: the
 * store is of a newer program; it is not changed.  Its tables must be those of
 * its version (bj_schema_fits). */
int bj_schema_migrate(struct bj_db *db, struct bj_err *err);

/* Whether the store is a copy of another store (statsdb/copy/copy.h).  For
 * stores of this program's version only. */
enum bj_schema_copy {
    BJ_SCHEMA_OWN, /* not a copy, or a program has opened it for writing since
                    */
    BJ_SCHEMA_COPYING, /* the copy has begun: bj_schema_read fails */
    BJ_SCHEMA_IS_COPY,
};
int bj_schema_copy(struct bj_db *db, enum bj_schema_copy *ret,
                   struct bj_err *err);
int bj_schema_set_copy(struct bj_db *db, enum bj_schema_copy copy,
                       struct bj_err *err);

/* --- schema layout ---*/

/* Are the tables of a store those of its version? */

struct bj_db;

/* Compare the columns and indexes of the database with those of a version;
 * tables of others do not matter, and 0 has none.  -EBADMSG: they differ, and
 * the message names the first difference. */
int bj_schema_fits(struct bj_db *db, int version, struct bj_err *err);

#endif
