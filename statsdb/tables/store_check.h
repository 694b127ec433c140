/* Check a whole store. */
#ifndef BJ_STATSDB_TABLES_STORE_CHECK_H
#define BJ_STATSDB_TABLES_STORE_CHECK_H

#include "base/err.h"

struct bj_store;

/* With SQLite, check pages, indexes and references; with PostgreSQL, where the
 * tables have no foreign keys, only references (pg_amcheck checks pages and
 * indexes). Takes long. -EBADMSG with the first error. */
int bj_store_check(struct bj_store *s, struct bj_err *err);

#endif
