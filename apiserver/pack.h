/* Many values of a row of SQLite as one value.
 *
 * A value that is taken from a row costs several calls, each with locks and
 * checks of its own: a row of sixty of them takes as long to be taken over as
 * to be found.  A function of SQL gets all of its arguments at once. */
#ifndef BJ_APISERVER_PACK_H
#define BJ_APISERVER_PACK_H

#include "base/slice.h"
#include "statsdb/sql.h"

#include <stdbool.h>

enum { BJ_PACK_VALUES = 100 }; /* arguments that every SQLite allows */

/* Give a connection "bj_pack(a, b, ...)", a blob of up to BJ_PACK_VALUES values
 * (BJ_SQL_TEXT itself, should it be one, is packed as text).  A result of
 * SQLite. */
int bj_pack_install(struct sqlite3 *db);

/* What is in such a blob: integers, BJ_SQL_NULL or BJ_SQL_TEXT to number, and
 * for the latter the text, good for as long as the blob.  False: the blob is
 * not one of so many values. */
bool bj_pack_read(struct bj_slice blob, unsigned values, int64_t *number,
                  struct bj_slice *text);

#endif
