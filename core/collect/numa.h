/* NUMA nodes of the machine, and memory of a cgroup on nodes other than those
 * of its CPUs. */
#ifndef BJ_CORE_COLLECT_NUMA_H
#define BJ_CORE_COLLECT_NUMA_H

#include "base/slice.h"

enum { BJ_NUMA_NODES = 64 }; /* at most; a machine with more has none */

/* Zero-initialise. */
struct bj_numa {
    unsigned nodes; /* with CPUs; below 2: nothing is remote */
    unsigned char number[BJ_NUMA_NODES]; /* as the kernel counts them */
    unsigned char *of_cpu; /* by CPU number: index of its node + 1; 0: none */
};

/* Read the nodes below sysfs.  A machine whose nodes cannot be read has none.
 */
void bj_numa_read(struct bj_numa *n, const char *sysfs);
void bj_numa_free(struct bj_numa *n);

/* The nodes of a list of CPUs, bit i: n->number[i]; 0: not known. */
uint64_t bj_numa_of_cpus(const struct bj_numa *n, struct bj_slice cpus);

/* Add up anonymous memory in a file memory.numa_stat: "anon N0=1 N1=2", in
 * bytes (v2), or "hierarchical_anon=3 N0=1 N1=2", in pages (v1).  *remote: on
 * nodes that are not in local.  -EINVAL if the file is malformed or has no such
 * line. */
int bj_numa_parse(const struct bj_numa *n, struct bj_slice text, bool v1,
                  uint64_t local, uint64_t *all, uint64_t *remote);

#endif
