/* Check a whole store. */
#ifndef BJ_STATSDB_STORE_CHECK_H
#define BJ_STATSDB_STORE_CHECK_H

#include "base/err.h"

struct bj_store;

/* SQLite: its pages, indexes and references.  PostgreSQL, where references are
 * not kept by the server: the references; pages and indexes are pg_amcheck's.
 * Takes long. -EBADMSG with the first error. */
int bj_store_check(struct bj_store *s, struct bj_err *err);

#endif
