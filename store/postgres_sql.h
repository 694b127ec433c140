/* SQL is written once, for SQLite; this rewrites it for PostgreSQL. */
#ifndef BJ_STORE_POSTGRES_SQL_H
#define BJ_STORE_POSTGRES_SQL_H

#include "base/buf.h"

/* The end of a part that begins at s and must not be changed: a quoted text (a
 * doubled quote ends one part and begins the next) or name, a comment, or the
 * body of a function; else s. */
const char *bj_sql_skip(const char *s);

/* Rewrite words of SQLite, and parameters, "?" and "?1", to "$1", outside of
 * quotes and comments; the result is followed by a NUL.  Returns the number of
 * parameters, or -ENOMEM, or -EINVAL: too many, or both spellings. */
int bj_postgres_rewrite(const char *sql, struct bj_buf *ret);

#endif
