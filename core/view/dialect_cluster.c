#include "core/view/dialect_cluster.h"

#include "sched/sinfo.h"

/* Combine key[at] and the next key. "(other)" stays as it is. */
static bool map_state(struct bj_arena *arena, struct bj_slice *key,
                      bool compact)
{
    char text[BJ_NODE_LONG_BYTES];
    struct bj_slurm_node_state s = bj_node_state_parse(key[0], 0, 0);
    if (s.unknown == 0) {
        s.flags |= bj_node_state_parse(key[1], 0, 0).flags;
        key[0] = bj_arena_copy(arena, compact ? bj_node_state_compact(s, text)
                                              : bj_node_state_long(s, text));
    }
    key[1] = (struct bj_slice){0};
    return true;
}

bool bj_dialect_state_first(struct bj_arena *arena,
                            struct bj_slice key[BJ_SUB_KEYS])
{
    return map_state(arena, key, false);
}

bool bj_dialect_state_second(struct bj_arena *arena,
                             struct bj_slice key[BJ_SUB_KEYS])
{
    return map_state(arena, key + 1, false);
}

bool bj_dialect_compact_first(struct bj_arena *arena,
                              struct bj_slice key[BJ_SUB_KEYS])
{
    return map_state(arena, key, true);
}

bool bj_dialect_compact_second(struct bj_arena *arena,
                               struct bj_slice key[BJ_SUB_KEYS])
{
    return map_state(arena, key + 1, true);
}

bool bj_dialect_no_key(struct bj_arena *arena, struct bj_slice key[BJ_SUB_KEYS])
{
    (void)arena;
    for (int i = 0; i < BJ_SUB_KEYS; i++)
        key[i] = (struct bj_slice){0};
    return true;
}
