/* Threads charged by the pids controller. */
#include "core/collect/unit.h"
#include "core/find/layout.h"

#define PIDS(ver)                                                              \
    {                                                                          \
        .name = "pids.current", .version = ver, .ctl = BJ_CTL_PIDS,            \
        .keep = -1, .slow = true, .parse = bj_parse_number,                    \
        .off = offsetof(struct bj_usage, pids)                                 \
    }

const struct bj_cgfile bj_pids_files[] = {
    PIDS(BJ_CGROUP_V1),
    PIDS(BJ_CGROUP_V2),
    {0},
};
