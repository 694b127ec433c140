/* Cray's pm_counters, with a clock that tests can set.  Internal. */
#ifndef BJ_CORE_ENERGY_CRAY_H
#define BJ_CORE_ENERGY_CRAY_H

#include "core/energy/meter.h"

enum {
    BJ_CRAY_TRIES = 5,             /* attempts to read all values within one
                                      refresh */
    BJ_CRAY_STALE_USEC = 10000000, /* without a refresh; usual: 10 a second */
};

/* For bj_cray_read, the meter's read with now_usec as CLOCK_BOOTTIME. between
 * (or NULL) is called with ctx before the second read of freshness. */
struct bj_cray_now {
    uint64_t usec;
    void (*between)(void *ctx);
    void *ctx;
};
int bj_cray_read(void *meter, const struct bj_cray_now *now,
                 struct bj_meter_sample *out, struct bj_err *err);

#endif
