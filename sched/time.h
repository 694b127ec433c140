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

#endif
