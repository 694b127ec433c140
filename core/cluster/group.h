/* Sums of records by key. */
#ifndef BJ_CORE_CLUSTER_GROUP_H
#define BJ_CORE_CLUSTER_GROUP_H

#include "base/arena.h"
#include "core/model/record.h"

#include <stdbool.h>

/* Add v to *sum.  Skips absent values; saturates instead of wrapping. */
static inline void bj_cluster_add(uint64_t *sum, uint64_t v)
{
    if (v == BJ_ABSENT)
        return;
    if (*sum == BJ_ABSENT)
        *sum = v;
    else if (__builtin_add_overflow(*sum, v, sum) || *sum == BJ_ABSENT)
        *sum = BJ_ABSENT - 1;
}

/* Records of one kind, indexed by key.  Each record begins with its bj_sub. Set
 * arena, size and cap, all else zero; free with bj_group_free. */
struct bj_group {
    struct bj_arena *arena; /* holds the keys and the list */
    size_t size;            /* of a record */
    size_t cap;             /* maximum number of records */
    uint64_t refused;       /* keys beyond cap */

    /* private */
    char *v;
    size_t n, room;
    uint32_t *slot; /* index + 1 */
    size_t slots;
};

/* The record of these keys, created zeroed when missing.  Keys must be clean
 * (base/text.h) and may be freed after the call.  Beyond cap: the record of
 * "(other)" with the keys after the first; if that does not fit, of "(other)"
 * alone, so that sums stay complete.  NULL: out of memory, arena->failed set.
 */
void *bj_group_get(struct bj_group *g, const struct bj_slice key[BJ_SUB_KEYS]);

/* The record of these keys, or NULL. */
void *bj_group_find(const struct bj_group *g,
                    const struct bj_slice key[BJ_SUB_KEYS]);

/* Which records bj_group_cut keeps.  After their bj_sub, the records consist of
 * uint64_t only. */
struct bj_group_limit {
    size_t cap;    /* maximum number of records */
    size_t weight; /* offset of the number that ranks them */
    size_t max;    /* offset of a number combined by maximum; 0: none */
    const struct bj_list *had; /* records kept last time, or NULL */
};

/* Reduce the group to cap records: keeps the largest first keys, each with all
 * or none of its records, and adds the others to "(other)" as bj_group_get
 * does, counted as refused.  A key kept last time counts double, so that keys
 * of similar size do not alternate.  False: out of memory, arena->failed set.
 */
bool bj_group_cut(struct bj_group *g, const struct bj_group_limit *limit);

/* All records in key order, allocated in the arena. */
struct bj_list bj_group_list(struct bj_group *g);

void bj_group_free(struct bj_group *g);

#endif
