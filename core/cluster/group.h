/* Summing up by keys. */
#ifndef BJ_CORE_CLUSTER_GROUP_H
#define BJ_CORE_CLUSTER_GROUP_H

#include "base/arena.h"
#include "core/model/record.h"

#include <stdbool.h>

/* Sums of what is known, that stop at the end instead of beginning anew. */
static inline void bj_cluster_add(uint64_t *sum, uint64_t v)
{
    if (v == BJ_ABSENT)
        return;
    if (*sum == BJ_ABSENT)
        *sum = v;
    else if (__builtin_add_overflow(*sum, v, sum) || *sum == BJ_ABSENT)
        *sum = BJ_ABSENT - 1;
}

/* Records of one kind, found by the keys of their bj_sub, which they begin
 * with.  Set arena, size and cap, all else zero; free with bj_group_free. */
struct bj_group {
    struct bj_arena *arena; /* for the keys and the list */
    size_t size;            /* of a record */
    size_t cap;             /* records, at most */
    uint64_t refused;       /* times that a key found no room */

    /* inside */
    char *v;
    size_t n, room;
    uint32_t *slot; /* index + 1 */
    size_t slots;
};

/* The record of these keys, zeroed when it is new.  Keys must be clean
 * (base/text.h) and need live during the call only.  When there is no room for
 * more, it is the one of "(other)" and the keys behind the first, so that sums
 * stay whole; when that has no room, of "(other)" alone.  NULL: no memory, and
 * the arena is marked as failed. */
void *bj_group_at(struct bj_group *g, const struct bj_slice key[BJ_SUB_KEYS]);

/* The record of these keys if there is one. */
void *bj_group_find(const struct bj_group *g,
                    const struct bj_slice key[BJ_SUB_KEYS]);

/* Which records are kept.  Behind their keys they have numbers only. */
struct bj_cut {
    size_t cap;    /* records, at most */
    size_t weight; /* offset of what makes one of them a large one */
    size_t max;    /* offset of a number whose largest counts; 0: none */
    const struct bj_list *had; /* those of the last time, or NULL */
};

/* Where there are more than cap, keep those of the largest first keys, and of
 * one first key all or none; who was there the last time counts double, so that
 * keys of nearly one size do not change places each time.  All others are
 * added up under "(other)" as bj_group_at does, and counted as refused.  False
 * when memory is out, which marks the arena as failed. */
bool bj_group_cut(struct bj_group *g, const struct bj_cut *cut);

/* All of them in the order of their keys, in the arena. */
struct bj_list bj_group_list(struct bj_group *g);

void bj_group_free(struct bj_group *g);

#endif
