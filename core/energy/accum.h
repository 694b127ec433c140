/* Energy of a zone in microjoules since the first sample, from a counter that
 * wraps and may be reset, or from a power level.
 *
 * Source: kernel power/powercap/powercap.rst, ABI/testing/sysfs-class-powercap.
 */
#ifndef BJ_CORE_ENERGY_ACCUM_H
#define BJ_CORE_ENERGY_ACCUM_H

#include "base/buf.h"
#include "core/energy/meter.h"

/* Zero-initialise. */
struct bj_accum {
    uint64_t total_uj;     /* never falls */
    uint64_t power_uw;     /* reported, or computed from the last two samples;
                              BJ_ABSENT: neither */
    uint64_t limit_uw;     /* BJ_ABSENT: none */
    uint64_t stamp_usec;   /* of the last sample; 0: none yet */
    uint64_t raw_uj;       /* of the last sample with a counter ... */
    uint64_t raw_power_uw; /* ... and of the last with a level */
    uint64_t counter_stamp_usec, power_stamp_usec; /* of these; 0: none yet */
    uint64_t resets; /* the counter started again: the energy of that interval
                        is unknown and not added */
    uint64_t gaps;   /* power samples too far apart: nothing added */
    uint64_t doubts; /* counter samples so far apart that another wrap was
                        possible: the energy is the minimum */
    uint32_t part;   /* of a microjoule, in 2 000 000ths: the remainder of power
                        samples */
    bool slept; /* set by the caller after a suspend: a counter that has fallen
                   was reset, power samples leave a gap */
};

/* Add a sample.  period_usec is the interval at which the meter is read; power
 * samples more than three intervals apart leave a gap.  A counter that fell has
 * wrapped if the resulting energy is possible (at most twice max_uw, or 1 kW if
 * that is absent or 0, for the time between); otherwise it was reset.  Once a
 * counter was reported, only the counter is used for energy, even across
 * samples without it.  A sample that is not newer than the last one is
 * ignored. */
void bj_accum_take(struct bj_accum *a, const struct bj_zone_sample *s,
                   uint64_t now_usec, uint64_t period_usec);

/* Append the values of the state, for a state file, as numbers with a blank
 * before each.  Load them back, and cut them off the line; false: some are
 * missing. */
void bj_accum_save(const struct bj_accum *a, struct bj_buf *out);
bool bj_accum_load(struct bj_accum *a, struct bj_slice *line);

#endif
