/* Points in time as schedulers write them, as seconds since 1970, UTC.
 *
 * Slurm, PBS and LSF print local time without a zone, which is ambiguous for an
 * hour each autumn.  Run their commands with TZ=UTC in the environment (as
 * base/command.h does) and, for Slurm, SLURM_TIME_FORMAT=%s: times without a
 * zone are then UTC.
 *
 * All calls: 0, -EINVAL (another text) or -ERANGE (a date that does not exist);
 * *ret is unchanged on failure, and BJ_ABSENT for texts without a time: the
 * empty text, "Unknown", "None", "N/A", "-", and the number 0. */
#ifndef BJ_SCHED_TIME_H
#define BJ_SCHED_TIME_H

#include "base/slice.h"

#include <stdint.h>

/* Slurm: "1795171872", "2026-11-20T10:51:12", and any other form of RFC 3339 or
 * ISO 8601 that base/stamp.h accepts. */
int bj_time_slurm(struct bj_slice s, uint64_t *ret_sec);

/* PBS, attributes (ctime, qtime, stime, ...): "Fri Nov 20 10:00:00 2026", as
 * from ctime(3), or a number. */
int bj_time_pbs(struct bj_slice s, uint64_t *ret_sec);

/* PBS, the stamp of a line of its accounting files: "11/20/2026 10:00:00".  It
 * is the server's local time, offset_min minutes east of UTC. */
int bj_time_pbs_stamp(struct bj_slice s, int offset_min, uint64_t *ret_sec);

/* LSF, fields of bjobs: "Nov 20 10:00", "Nov 20 10:00:00", each optionally
 * followed by " 2026" (LSB_DISPLAY_YEAR) and preceded by a weekday, or a
 * number; a letter after it (" L", " E", " X": origin of a finish time) is
 * skipped.  Without a year it is the last such day that is at most a day after
 * now_sec. */
int bj_time_lsf(struct bj_slice s, uint64_t now_sec, uint64_t *ret_sec);

/* --- duration ---*/

/* Durations as schedulers write them. */

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
