/* SQL is written once, for SQLite; this rewrites it for PostgreSQL. */
#ifndef BJ_STORE_POSTGRES_SQL_H
#define BJ_STORE_POSTGRES_SQL_H

#include "base/buf.h"

/* Rewrite words of SQLite, and parameters, "?" and "?1", to "$1", outside of
 * quotes and comments; the result is followed by a NUL.  Returns the number of
 * parameters, or -ENOMEM, or -EINVAL: too many, or both spellings. */
int bj_postgres_rewrite(const char *sql, struct bj_buf *ret);

#endif
