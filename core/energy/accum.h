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
    uint64_t implausible; /* samples that no possible power explains: counters
                             that are held back, and levels that the next one
                             does not confirm; of this process */
    uint64_t seen_uw;    /* the highest power of two levels in a row, or learned
                            from a counter; 0: none */
    uint64_t moved_usec; /* when raw_uj was first read */
    uint64_t steps;      /* samples since the first at which the counter grew */
    uint64_t held_uj, held_usec; /* the counter's sample that is held back; 0:
                                    none */
    uint64_t held_uw,
        held_power_usec; /* the level that is held back; 0: none */
    uint64_t false_uw;   /* the last level that was not confirmed; 0: none, or a
                            counter was held back since */
    uint64_t old_uj, old_usec; /* position before the counter fell last; 0:
                                  none */
    uint64_t since_uj;         /* added since then */
    uint64_t excess_uj; /* added too much: not added again from further steps */
    uint32_t part; /* of a microjoule, in 2 000 000ths: the remainder of power
                      samples */
    bool slept; /* set by the caller after a suspend: a counter that has fallen
                   was reset, power samples leave a gap */
};

/* Add a sample.  period_usec is the interval at which the meter is read; power
 * samples more than three intervals apart leave a gap.  Once a counter was
 * reported, only the counter is used for energy, even across samples without
 * it.  A sample that is not newer than the last one is ignored.
 *
 * A counter cannot grow by more than twice the highest power of its zone allows
 * for the time since it changed last, and one second: max_uw, or, if that is
 * absent or 0, a value by the zone's role; or the highest power seen, if that
 * is more.  A counter that fell has wrapped if the resulting energy is
 * possible. Every other step is held back, and counted as implausible, until a
 * further sample decides.  A sample that is possible from the last position:
 * what was held back was false.  One that is above what was held back, and
 * possible from there: it was right, and is added; if the counter fell, it was
 * reset, and the energy between is unknown.  A second step at a similar rate:
 * the power is higher than assumed, and is learned.  If a counter that fell
 * returns soon to where it was, the fall was false, and only the energy since
 * then is added.  A jump away from the first sample is never added.
 *
 * A level cannot exceed twice max_uw, or the value by the zone's role; that of
 * a node without max_uw not ten times the highest of two levels in a row.  A
 * level above is held back: the next one confirms it if it is between half and
 * twice of it, and both count, unless it is above eight times max_uw; else it
 * was false, and is left out.
 *
 * A sample with restarted is the first of a counter that began again: the
 * energy since the sample before is unknown, which counts as a reset. */
void bj_accum_take(struct bj_accum *a, const struct bj_zone_sample *s,
                   uint64_t now_usec, uint64_t period_usec);

/* Whether a sample is held back that the next reading may confirm, so that the
 * energy since the last position is not known yet.  Not for longer than some
 * periods. */
bool bj_accum_waits(const struct bj_accum *a, uint64_t now_usec,
                    uint64_t period_usec);

/* Describe the newest implausible sample, for a log. */
enum { BJ_ACCUM_TEXT = 200 };
void bj_accum_held_text(const struct bj_accum *a, char *ret, size_t cap);

/* Forget the positions: another source continues the total. */
void bj_accum_forget(struct bj_accum *a);

/* Append the values of the state, for a state file, as numbers with a blank
 * before each.  Load them back, and cut them off the line; false: some are
 * missing. */
void bj_accum_save(const struct bj_accum *a, struct bj_buf *out);
bool bj_accum_load(struct bj_accum *a, struct bj_slice *line);

#endif
