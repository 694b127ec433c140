/* Parts of the entries of two dictionaries: the hosts of a host list and the
 * items of a list of resources. They are added once, with the text. */
#ifndef BJ_STATSDB_TABLES_DICT_PARTS_H
#define BJ_STATSDB_TABLES_DICT_PARTS_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_db;
struct bj_dict_parts;

enum {
    BJ_DICT_HOSTS_MAX = 10000
}; /* hosts of a list that are stored; searches do not find further ones */

int bj_dict_parts_new(struct bj_db *db, struct bj_dict_parts **ret,
                      struct bj_err *err);
void bj_dict_parts_free(struct bj_dict_parts *p);

/* While this is on, parts are kept until bj_dict_parts_flush adds them by one
 * request (PostgreSQL only). */
void bj_dict_parts_defer(struct bj_dict_parts *p, bool on);
int bj_dict_parts_flush(struct bj_dict_parts *p, struct bj_err *err);

/* Drop the parts that were kept. */
void bj_dict_parts_clear(struct bj_dict_parts *p);

/* Add the hosts of the host list with this number. */
int bj_dict_add_hosts(struct bj_dict_parts *p, int64_t id, struct bj_slice text,
                      struct bj_err *err);

/* Add the items of a list of resources. */
int bj_dict_add_tres(struct bj_dict_parts *p, int64_t id, struct bj_slice text,
                     struct bj_err *err);

#endif
