/* Threads charged by the pids controller. */
#include "core/collect/unit.h"
#include "core/find/layout.h"

#define PIDS(ver, file, parser, field)                                         \
    {                                                                          \
        .name = file, .version = ver, .ctl = BJ_CTL_PIDS,                      \
        .keep = BJ_KEPT_NONE, .slow = true, .parse = parser,                   \
        .off = offsetof(struct bj_usage, field)                                \
    }

static const struct bj_cgfile files[] = {
    PIDS(BJ_CGROUP_V1, "pids.current", bj_parse_number, pids),
    PIDS(BJ_CGROUP_V1, "pids.peak", bj_parse_peak, pids_peak), /* Linux 6.1 */
    PIDS(BJ_CGROUP_V2, "pids.current", bj_parse_number, pids),
    PIDS(BJ_CGROUP_V2, "pids.peak", bj_parse_peak, pids_peak),
};

BJ_CGROUP_COLLECTOR(bj_pids_collector, BJ_COLLECT_PIDS, files);
