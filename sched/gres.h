/* Generic resources of nodes as sinfo writes them. */
#ifndef BJ_SCHED_GRES_H
#define BJ_SCHED_GRES_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_gres {
    struct bj_slice name, type; /* "gpu", "a100"; type may be empty */
    uint64_t count;
};

/* Cut the next entry off *rest, a list such as "gpu:a100:4(S:0-1),gpu:2,tpu:0"
 * or "gpu:tesla:3(IDX:0,2-3)"; "(null)" means no type, or an empty list.  False
 * at the end.  Entries without a number are skipped and counted in *bad (may be
 * NULL). Source: Slurm, src/common/gres.c, gres_get_node_used() and related
 * functions. */
bool bj_gres_next(struct bj_slice *rest, struct bj_gres *ret, unsigned *bad);

#endif
