/* Are the tables of a store those of its version? */
#ifndef BJ_STATSDB_TABLES_SCHEMA_LAYOUT_H
#define BJ_STATSDB_TABLES_SCHEMA_LAYOUT_H

#include "base/err.h"

struct bj_db;

/* Compare the columns and indexes of the database with those of a version;
 * tables of others do not matter, and 0 has none.  -EBADMSG: they differ, and
 * the message names the first difference. */
int bj_schema_fits(struct bj_db *db, int version, struct bj_err *err);

#endif
