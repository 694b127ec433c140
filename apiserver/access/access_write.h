/* Writes the access rules into the store, for people who read it by SQL. */
#ifndef BJ_APISERVER_ACCESS_ACCESS_WRITE_H
#define BJ_APISERVER_ACCESS_ACCESS_WRITE_H

#include "apiserver/conf/conf.h"

/* Replace the access rules in a store in PostgreSQL by those of the options and
 * their file, in one transaction; *ret is the number of rules.
 * -ENOTSUP: the store is a file, or its schema "people" is missing
 * (docs/scale.md); other errors are those of bj_access_new and
 * bj_store_open. */
int bj_access_write(const struct bj_api_conf *conf, size_t *ret,
                    struct bj_err *err);

#endif
