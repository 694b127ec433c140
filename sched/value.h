/* Values as schedulers write them: digits, words, sizes in bytes, times. */
#ifndef BJ_SCHED_VALUE_H
#define BJ_SCHED_VALUE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* --- digits -----------------------------------------------------------------
 */

/* The digits at p, at most 18; returns their end. */
static inline const char *bj_digits_at(const char *p, const char *end,
                                       uint64_t *ret)
{
    uint64_t v = 0;
    unsigned d;
    if (end - p > 18)
        end = p + 18;
    for (; p < end && (d = (unsigned char)(*p - '0')) <= 9; p++)
        v = v * 10 + d;
    *ret = v;
    return p;
}

/* The two digits at p; 100 and more when they are not digits. */
static inline unsigned bj_two_digits(const char *p)
{
    const unsigned a = (unsigned char)(p[0] - '0');
    const unsigned b = (unsigned char)(p[1] - '0');
    return a > 9 || b > 9 ? 100 : 10 * a + b;
}

/* --- words ------------------------------------------------------------------
 */

/* Initialises a slice in a static table, where BJ_SLICE is not a constant. */
#define BJ_WORD(lit)                                                           \
    {                                                                          \
        "" lit, sizeof(lit) - 1                                                \
    }

/* The texts that schedulers print for an absent text: empty, "None", "None
 * assigned", "Unknown", "N/A", "(null)", "-". */
bool bj_word_is_none(struct bj_slice s);

/* s, or the empty slice for one of those. */
static inline struct bj_slice bj_word_text(struct bj_slice s)
{
    return bj_word_is_none(s) ? (struct bj_slice){NULL, 0} : s;
}

/* --- sizes in bytes ---------------------------------------------------------
 */

/* Parse bytes from "4000M", "250.5G", "123456kb" or "1024": digits, an optional
 * fraction, an optional letter of K M G T P E (powers of 1024, in either case),
 * an optional "b".  unit is that of a number without a letter: 1 << 20 for
 * Slurm's requests, 1 for its measurements.  Slurm prints '?' after a number
 * beyond P: it is read as E.  PBS counts words of 8 bytes with "w" ("2mw").  A
 * fraction of a byte is dropped.
 *
 * Returns 0, -EINVAL (another text) or -ERANGE (2^64 bytes or more); *ret is
 * unchanged on failure.  Sources: Slurm, src/common/slurm_protocol_defs.c,
 * convert_num_unit2(); PBS, pbs_resources(7), "size". */
int bj_memory_parse(struct bj_slice s, uint64_t unit, uint64_t *ret);

/* The same with letters for powers of base, 1024 or 1000 (only Slurm's
 * ConsumedEnergy has 1000). */
int bj_memory_scaled(struct bj_slice s, uint64_t unit, uint64_t base,
                     uint64_t *ret);

/* What the memory in a Slurm request refers to. */
enum bj_memory_per {
    BJ_MEMORY_JOB,  /* no letter: Slurm 21.08 and later */
    BJ_MEMORY_NODE, /* "4Gn" */
    BJ_MEMORY_CPU,  /* "4Gc" */
};

/* Slurm's ReqMem: a size in MiB, followed by n or c before Slurm 21.08.  "0"
 * means all memory of a node and is returned as 0.  Errors as above. */
int bj_memory_request(struct bj_slice s, uint64_t *ret,
                      enum bj_memory_per *ret_per);

/* --- times ------------------------------------------------------------------
 */

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
