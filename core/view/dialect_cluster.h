/* The cluster in the dialects.  Internal. */
#ifndef BJ_CORE_VIEW_DIALECT_CLUSTER_H
#define BJ_CORE_VIEW_DIALECT_CLUSTER_H

#include "core/view/dialect_tables.h"

/* A field of a list of the cluster, summed up over what is not told. */
#define BJ_CL_AT(index) offsetof(struct bj_snap, cluster_lists.list[index])
#define BJ_IN_SUMS(index, record, field)                                       \
    .of = BJ_ROW_SUMS, .list = BJ_CL_AT(index), .size = sizeof(struct record), \
    .off = offsetof(struct record, field)

/* Told when it is 0, too: how many there are of something. */
#define BJ_OR_ZERO(id) .source = 1 + BJ_CLUSTER_##id
/* Left out when it is 0, as peers do. */
#define BJ_NOT_ZERO .least = 1

#define BJ_SUM_WITH(use_name, record, field)                                   \
    .use = BJ_SECOND_##use_name, .second = offsetof(struct record, field)

/* For macros that want something more, where there is nothing. */
#define BJ_NO_MORE .first = false

/* One of the controller's numbers. */
#define BJ_IN_DIAG(field)                                                      \
    BJ_IN_SUMS(BJ_CL_CONTROLLER, bj_controller_stat, diag.field)

/* Maps of keys: base state and flags, which follow each other, become the word
 * that sinfo has for both (sched/sinfo_long.h), in the place of the first. */
bool bj_dialect_state_first(struct bj_arena *arena,
                            struct bj_slice key[BJ_SUB_KEYS]);
bool bj_dialect_state_second(struct bj_arena *arena,
                             struct bj_slice key[BJ_SUB_KEYS]);
/* Nothing is told apart: the only key is empty. */
bool bj_dialect_no_key(struct bj_arena *arena,
                       struct bj_slice key[BJ_SUB_KEYS]);

#endif
