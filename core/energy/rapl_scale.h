/* Converts counts of the perf PMU "power" to joules.  Internal. */
#ifndef BJ_CORE_ENERGY_RAPL_SCALE_H
#define BJ_CORE_ENERGY_RAPL_SCALE_H

#include "base/slice.h"

enum { BJ_RAPL_SHIFT_MAX = 44 };

/* The scale of an event, "2.3283064365386962890625e-10": a count is 2^-shift
 * joules.  The kernel uses the scale 2^-32 for all RAPL events; any power of
 * two from 2^-44 to 1 is accepted, since counts are then converted without
 * error.  -EBADMSG for all other texts. */
int bj_rapl_scale(struct bj_slice text, unsigned *ret_shift);

/* Convert a count to microjoules, rounded down; -ERANGE above 2^64-1. */
int bj_rapl_uj(uint64_t count, unsigned shift, uint64_t *ret);

#endif
