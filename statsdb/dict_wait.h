/* New entries of one dictionary that are added together: a statement for each
 * costs three times as much.  Their numbers are known at once.  For a
 * dictionary with one writer. */
#ifndef BJ_STATSDB_DICT_WAIT_H
#define BJ_STATSDB_DICT_WAIT_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;

enum { BJ_DICT_INTS = 4 };

/* The columns of an entry after its number: numbers (BJ_SQL_NULL is NULL), then
 * a text unless text.p is NULL. */
struct bj_dict_entry {
    int64_t v[BJ_DICT_INTS];
    unsigned ints;
    struct bj_slice text;
};

struct bj_dict_wait;

/* columns: those of an entry, in order, as SQL names them. */
int bj_dict_wait_new(struct sqlite3 *db, const char *table, const char *columns,
                     struct bj_dict_wait **ret, struct bj_err *err);
void bj_dict_wait_free(struct bj_dict_wait *w);

/* Can an entry wait without use of the connection? */
bool bj_dict_wait_room(const struct bj_dict_wait *w,
                       const struct bj_dict_entry *e);

/* Let an entry wait that is not in the table; its text is copied. */
int bj_dict_wait_put(struct bj_dict_wait *w, const struct bj_dict_entry *e,
                     int64_t *ret_id, struct bj_err *err);

/* Add all that wait; or drop them, after a rollback. */
int bj_dict_wait_flush(struct bj_dict_wait *w, struct bj_err *err);
void bj_dict_wait_drop(struct bj_dict_wait *w);

#endif
