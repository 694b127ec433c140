/* The numbers of a dictionary that a transaction uses in which SQLite does not
 * check references, and whether all of them are in the table. */
#ifndef BJ_STATSDB_DICT_GIVEN_H
#define BJ_STATSDB_DICT_GIVEN_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct sqlite3;

/* A bit for each number, from 0 on.  Zero-initialised it is empty. */
struct bj_dict_given {
    uint64_t *word;
    size_t words;
};

/* Make room for a number.  -EINVAL: no number that a dictionary may have. */
int bj_dict_given_grow(struct bj_dict_given *g, int64_t id, struct bj_err *err);

/* Done for every text of an import. */
static inline int bj_dict_given_note(struct bj_dict_given *g, int64_t id,
                                     struct bj_err *err)
{
    size_t at = (uint64_t)id / 64;
    if (at >= g->words) {
        int r = bj_dict_given_grow(g, id, err);
        if (r < 0)
            return r;
    }
    g->word[at] |= UINT64_C(1) << ((uint64_t)id % 64);
    return 0;
}

/* Check that all are in the table, and clear the set.  -EEXIST: one is not; the
 * message says which. */
int bj_dict_given_prove(struct bj_dict_given *g, struct sqlite3 *db,
                        const char *table, struct bj_err *err);

void bj_dict_given_clear(struct bj_dict_given *g);
void bj_dict_given_free(struct bj_dict_given *g);

#endif
