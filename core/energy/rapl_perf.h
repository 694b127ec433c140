/* RAPL by the perf PMU "power": interface for its tests.  Internal. */
#ifndef BJ_CORE_ENERGY_RAPL_PERF_H
#define BJ_CORE_ENERGY_RAPL_PERF_H

#include "base/slice.h"
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

/* --- rapl scale ---*/

/* Converts counts of the perf PMU "power" to joules.  Internal. */

enum { BJ_RAPL_SHIFT_MAX = 44 };

/* The scale of an event, "2.3283064365386962890625e-10": a count is 2^-shift
 * joules.  The kernel uses the scale 2^-32 for all RAPL events; any power of
 * two from 2^-44 to 1 is accepted, since counts are then converted without
 * error.  -EBADMSG for all other texts. */
int bj_rapl_scale(struct bj_slice text, unsigned *ret_shift);

/* Convert a count to microjoules, rounded down; -ERANGE above 2^64-1. */
int bj_rapl_uj(uint64_t count, unsigned shift, uint64_t *ret);

#endif
