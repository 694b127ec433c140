/* The cgroup hierarchies of the host: v1, one for each controller or group of
 * controllers; v2, one for all; or both (hybrid). */
#ifndef BJ_CORE_FIND_HIER_H
#define BJ_CORE_FIND_HIER_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

enum bj_controller {
    BJ_CTL_CPU,
    BJ_CTL_CPUACCT,
    BJ_CTL_CPUSET,
    BJ_CTL_MEMORY,
    BJ_CTL_PIDS,
    BJ_CTL_BLKIO, /* "io" of v2 */
    BJ_CTL_FREEZER,
    BJ_CTL_DEVICES,
    BJ_CTL_HUGETLB,
    BJ_CTL_NAMED,   /* v1 without a controller: name=systemd */
    BJ_CTL_UNIFIED, /* files of v2 only, such as *.pressure */
    BJ_CONTROLLERS
};

enum { BJ_HIERS = 12 }; /* more than the number of controllers */

struct bj_hier {
    unsigned version;     /* BJ_CGROUP_V1 or BJ_CGROUP_V2 */
    unsigned controllers; /* bit mask; all bits for v2 */
    bool has_dmem;        /* v2: the controller dmem exists */
    bool is_kernel;       /* the kernel's, v2: not a copied tree */
    unsigned has_files;   /* v1: controllers whose files were seen, a mask */
    char *path;           /* of its root */
    dev_t dev;
    ino_t ino;
};

struct bj_hiers {
    struct bj_hier v[BJ_HIERS];
    unsigned n;
};

/* Find the hierarchies below root (conf's cgroupfs) by the contents of root, so
 * that a copied tree works like a mounted one.  Known hierarchies keep their
 * place in *h.  Returns the number of new ones; -errno if root cannot be read,
 * which may be temporary. */
int bj_hiers_find(struct bj_hiers *h, const char *root, struct bj_err *err);
void bj_hiers_free(struct bj_hiers *h);

#endif
