/* Use and size of the whole node. */
#ifndef BJ_CORE_ENERGY_WHOLE_H
#define BJ_CORE_ENERGY_WHOLE_H

#include "core/conf.h"
#include "core/find/hier.h"

/* Values that cannot be read are BJ_ABSENT. */
struct bj_node_size {
    uint64_t cpus; /* on line */
    uint64_t mem_bytes;
};
void bj_node_size_read(const struct bj_conf *conf, struct bj_node_size *ret);

struct bj_node_use {
    uint64_t cpu_usec;  /* by all tasks since the boot */
    uint64_t mem_bytes; /* not free: page cache counts, as it does for jobs */
};

/* CPU time comes from the root cgroup if possible (the same clock as that of
 * jobs), else from /proc/stat.  Sources: kernel admin-guide/cgroup-v2.rst,
 * cgroup-v1/cpuacct.rst, proc(5). */
void bj_node_use_read(const struct bj_conf *conf, const struct bj_hiers *hiers,
                      struct bj_node_use *ret);

#endif
