/* RAPL by the perf PMU "power": interface for its tests.  Internal. */
#ifndef BJ_CORE_ENERGY_RAPL_PERF_H
#define BJ_CORE_ENERGY_RAPL_PERF_H

#include "core/energy/meter.h"

#include <linux/perf_event.h>

/* Opens an event of a CPU: returns a descriptor from which read(2) returns the
 * count, or -errno. */
struct bj_perf_opener {
    int (*open)(void *ctx, struct perf_event_attr *attr, int cpu);
    void *ctx;
};

/* The meter's open, with another function instead of perf_event_open(2). */
int bj_perf_open(const struct bj_meter_env *env,
                 const struct bj_perf_opener *opener, void **ret,
                 struct bj_err *err);

#endif
