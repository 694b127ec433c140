/* Cray's pm_counters, at a time that a test may choose.  Internal. */
#ifndef BJ_CORE_ENERGY_CRAY_H
#define BJ_CORE_ENERGY_CRAY_H

#include "core/energy/meter.h"

enum {
    BJ_CRAY_TRIES = 5,             /* for a reading within one refresh */
    BJ_CRAY_STALE_USEC = 10000000, /* without a refresh, at 10 a second */
};

/* What the meter's read does, with CLOCK_BOOTTIME given.  between is called
 * with ctx between the values and the second read of freshness; or NULL. */
struct bj_cray_now {
    uint64_t usec;
    void (*between)(void *ctx);
    void *ctx;
};
int bj_cray_read(void *meter, const struct bj_cray_now *now,
                 struct bj_meter_sample *out, struct bj_err *err);

#endif
