/* Macros for dialect rows of the cluster. Private to the dialects. */
#ifndef BJ_CORE_VIEW_DIALECT_CLUSTER_H
#define BJ_CORE_VIEW_DIALECT_CLUSTER_H

#include "core/view/dialect_tables.h"

/* A field of a cluster list, summed over the labels that are not exported. */
#define BJ_CL_AT(index) offsetof(struct bj_snap, cluster_lists.list[index])
#define BJ_IN_SUMS(index, record, field)                                       \
    .of = BJ_ROW_SUMS, .list = BJ_CL_AT(index), .size = sizeof(struct record), \
    .off = offsetof(struct record, field)

/* A count, exported even when it is 0. */
#define BJ_OR_ZERO(id) .source = 1 + BJ_CLUSTER_##id
/* Left out when it is 0, as in the originals. */
#define BJ_NOT_ZERO .least = 1

#define BJ_SUM_WITH(use_name, record, field)                                   \
    .use = BJ_SECOND_##use_name, .second = offsetof(struct record, field)

/* Empty argument of the macros above. */
#define BJ_NO_MORE .first = false

/* A number of the controller. */
#define BJ_IN_DIAG(field)                                                      \
    BJ_IN_SUMS(BJ_CL_CONTROLLER, bj_controller_stat, diag.field)

/* Key maps: replace base state and flags by the word that sinfo prints for both
 * (sched/sinfo_long.h). */
bool bj_dialect_state_first(struct bj_arena *arena,
                            struct bj_slice key[BJ_SUB_KEYS]);
bool bj_dialect_state_second(struct bj_arena *arena,
                             struct bj_slice key[BJ_SUB_KEYS]);
/* The same with the compact word. */
bool bj_dialect_compact_first(struct bj_arena *arena,
                              struct bj_slice key[BJ_SUB_KEYS]);
bool bj_dialect_compact_second(struct bj_arena *arena,
                               struct bj_slice key[BJ_SUB_KEYS]);
/* Sums up everything: the only key becomes empty. */
bool bj_dialect_no_key(struct bj_arena *arena,
                       struct bj_slice key[BJ_SUB_KEYS]);

#endif
