/* Between the files of the accelerators: gpus.c (devices over time),
 * gpus_publish.c (snapshots). */
#ifndef BJ_CORE_GPU_GPUS_IMPL_H
#define BJ_CORE_GPU_GPUS_IMPL_H

#include "core/energy/accum.h"
#include "core/gpu/gpus.h"
#include "core/gpu/watch.h"

enum { BJ_GPU_KINDS = 1, BJ_GPU_DEVS_MAX = 512 };

/* A device or an instance, as long as we run. */
struct bj_gpu_dev {
    struct bj_gpu now;      /* of the last reading that had it */
    unsigned kind;          /* number of its source */
    bool there;             /* in the last reading of its source */
    bool fresh;             /* its source answers: its levels count */
    struct bj_accum energy; /* of devices */
    uint64_t errors;
    int parent; /* number of the device of an instance, or -1 */
};

struct bj_gpus {
    const struct bj_conf *conf;
    struct bj_gpu_watch *watch[BJ_GPU_KINDS];
    struct bj_gpu_set *set[BJ_GPU_KINDS]; /* NULL: it has never been there */
    struct bj_gpu_watch_stat stat[BJ_GPU_KINDS];
    struct bj_gpu_dev *dev;
    size_t n, cap;
    uint64_t faults; /* of all sources, as reported */
};

extern const struct bj_gpu_kind *const bj_gpu_kinds[BJ_GPU_KINDS];

#endif
