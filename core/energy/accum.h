/* Energy since we look, in microjoules, out of what a zone tells: a counter
 * that wraps and may be reset, or a power level.
 *
 * Source: kernel power/powercap/powercap.rst, ABI/testing/sysfs-class-powercap.
 */
#ifndef BJ_CORE_ENERGY_ACCUM_H
#define BJ_CORE_ENERGY_ACCUM_H

#include "core/energy/meter.h"

/* Zero-initialise. */
struct bj_accum {
    uint64_t total_uj;     /* never falls */
    uint64_t power_uw;     /* told, or energy over time of the last two samples;
                              BJ_ABSENT: neither */
    uint64_t limit_uw;     /* BJ_ABSENT: none */
    uint64_t stamp_usec;   /* of the last sample; 0: none yet */
    uint64_t raw_uj;       /* of the last sample that told a counter ... */
    uint64_t raw_power_uw; /* ... and of the last that told a level */
    uint64_t counter_stamp_usec, power_stamp_usec; /* of these; 0: none yet */
    uint64_t resets; /* the counter began anew: the energy of that interval is
                        not known and not added */
    uint64_t gaps;   /* power samples too far apart: nothing added */
    uint64_t doubts; /* counter samples so far apart that one more wrap would
                        have been possible: the energy is the least it was */
    uint32_t part;   /* of a microjoule, in 2 000 000ths: what is left over from
                        power samples */
    bool slept; /* set by the caller when the machine has slept: a counter that
                   has fallen since was reset, power samples leave a gap */
};

/* Take a sample.  period_usec is the pace at which the meter is read; power
 * samples that are more than three of it apart leave a gap.  A counter that
 * fell has wrapped when the energy that would have passed is possible
 * (twice max_uw, or 1 kW where that is absent or 0, for the time between), else
 * it was reset.  Where a counter has ever been told, energy comes from the
 * counter alone, also over samples that lack it.  Samples whose stamp is not
 * later than the last one's change nothing. */
void bj_accum_take(struct bj_accum *a, const struct bj_zone_sample *s,
                   uint64_t now_usec, uint64_t period_usec);

#endif
