/* Threads charged by the pids controller. */
#include "core/collect/unit.h"
#include "core/find/layout.h"

#define PIDS(ver)                                                              \
    {                                                                          \
        .name = "pids.current", .version = ver, .ctl = BJ_CTL_PIDS,            \
        .keep = -1, .slow = true, .parse = bj_parse_number,                    \
        .off = offsetof(struct bj_usage, pids)                                 \
    }

static const struct bj_cgfile files[] = {
    PIDS(BJ_CGROUP_V1),
    PIDS(BJ_CGROUP_V2),
};

BJ_CGROUP_COLLECTOR(bj_pids_collector, BJ_COLLECT_PIDS, files);
