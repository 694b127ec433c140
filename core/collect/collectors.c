#include "core/collect/unit.h"

const struct bj_cgroup_collector *const bj_cgroup_collectors[] = {
    &bj_cpu_collector,     &bj_memory_collector,   &bj_pids_collector,
    &bj_block_collector,   &bj_pressure_collector, &bj_percore_collector,
    &bj_hugetlb_collector,
};
_Static_assert(sizeof(bj_cgroup_collectors) / sizeof(bj_cgroup_collectors[0]) ==
                   BJ_CGROUP_COLLECTORS,
               "all collectors of cgroup files");
