/* Durations as schedulers write them. */
#ifndef BJ_SCHED_DURATION_H
#define BJ_SCHED_DURATION_H

#include "base/slice.h"

#include <stdint.h>

/* Parse microseconds from
 *   "MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM", "D-HH:MM:SS"   any field unbounded
 *   "SS"                                                   PBS: plain seconds
 * each with an optional fraction of a second ("02:03.456"), of which six digits
 * count.  Without a day the last field is always seconds.
 *
 * "UNLIMITED" and "INFINITE" are BJ_UNLIMITED.  BJ_ABSENT: the empty text,
 * "Partition_Limit", "INVALID" (Slurm met a clock that ran backwards),
 * "Unknown", "None", "N/A", "NOT_SET".
 *
 * Returns 0, -EINVAL or -ERANGE; *ret is unchanged on failure. Sources: Slurm,
 * src/common/parse_time.c, secs2time_str() and mins2time_str(),
 * src/sacct/print.c; PBS, pbs_resources(7), "duration". */
int bj_elapsed_parse(struct bj_slice s, uint64_t *ret_usec);

/* The same in whole seconds, fractions dropped. */
int bj_duration_sec(struct bj_slice s, uint64_t *ret_sec);

#endif
