/* Summing up by keys. */
#ifndef BJ_CORE_CLUSTER_GROUP_H
#define BJ_CORE_CLUSTER_GROUP_H

#include "base/arena.h"
#include "core/model/record.h"

#include <stdbool.h>

/* Records of one kind, found by the keys of their bj_sub, which they begin
 * with.  Set arena, size and cap, all else zero; free with bj_group_free. */
struct bj_group {
    struct bj_arena *arena; /* for the keys and the list */
    size_t size;            /* of a record */
    size_t cap;             /* records, at most */
    uint64_t refused;       /* times that a new key found no room */

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

/* All of them in the order of their keys, in the arena. */
struct bj_list bj_group_list(struct bj_group *g);

void bj_group_free(struct bj_group *g);

#endif
