#include "core/collect/unit.h"

const struct bj_cgroup_collector *const bj_cgroup_collectors[] = {
#define ADDRESS(id, name, ...) &bj_##name##_collector,
    BJ_CGROUP_COLLECTOR_LIST(ADDRESS)
#undef ADDRESS
};
