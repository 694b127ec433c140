/* RAPL by the perf PMU "power": what its tests need of it.  Internal. */
#ifndef BJ_CORE_ENERGY_RAPL_PERF_H
#define BJ_CORE_ENERGY_RAPL_PERF_H

#include "core/energy/meter.h"

#include <linux/perf_event.h>

/* How an event of a CPU is opened: a descriptor whose read(2) gives its count,
 * or -errno. */
struct bj_perf_door {
    int (*open)(void *ctx, struct perf_event_attr *attr, int cpu);
    void *ctx;
};

/* The meter's open, through another door than perf_event_open(2). */
int bj_perf_open(const struct bj_meter_env *env,
                 const struct bj_perf_door *door, void **ret,
                 struct bj_err *err);

#endif
