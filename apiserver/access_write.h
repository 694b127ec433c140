/* The access rules in the store, for people who read it by SQL. */
#ifndef BJ_APISERVER_ACCESS_WRITE_H
#define BJ_APISERVER_ACCESS_WRITE_H

#include "apiserver/conf.h"

/* Write the rules of the options and of their file into a store in PostgreSQL
 * in one transaction, in place of those that were there; *ret is their number.
 * -ENOTSUP: the store is a file, or its schema "people" is missing
 * (docs/scale.md); others as bj_access_new, bj_store_open. */
int bj_access_write(const struct bj_api_conf *conf, size_t *ret,
                    struct bj_err *err);

#endif
