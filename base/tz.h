/* Time zones: local time, days and months of a named zone, independent of TZ
 * and of other threads.
 *
 * Format: TZif (RFC 9636) and the rules of POSIX (TZ=CET-1CEST,M3.5.0,...).
 * Known are the times from 1970 until the end of 2199; before and after them
 * the offset is that of the first and of the last known time. */
#ifndef BJ_BASE_TZ_H
#define BJ_BASE_TZ_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct bj_tz; /* never changes */

enum { BJ_TZ_NAME = 64 }; /* longest name and its terminator */

/* Load a zone by its name, such as Europe/Paris, from the system's files
 * (TZDIR, else /usr/share/zoneinfo), or a rule of POSIX.  "UTC" needs no file.
 * Free it with bj_tz_free.
 *   -EINVAL   no name of a zone, or a zone that counts leap seconds
 *   -ENOENT   no such zone is installed
 *   -EBADMSG  the file is damaged */
int bj_tz_load(const char *name, struct bj_tz **ret, struct bj_err *err);
void bj_tz_free(struct bj_tz *z);

/* The name of this machine's zone: that of TZ, else of the link /etc/localtime,
 * if bj_tz_load knows it; else, and for other names of UTC, "UTC". */
void bj_tz_of_machine(char ret[static BJ_TZ_NAME]);

extern const struct bj_tz *const bj_tz_utc;

const char *bj_tz_name(const struct bj_tz *z);

/* Seconds that local time is ahead of UTC, and its abbreviation ("CET"). */
int bj_tz_offset(const struct bj_tz *z, int64_t sec);
const char *bj_tz_short(const struct bj_tz *z, int64_t sec);

/* When local clocks show a time first; local_sec: that time, in seconds since
 * 1970 as if it were UTC.  A time that clocks skip: when they skip it. */
int64_t bj_tz_sec(const struct bj_tz *z, int64_t local_sec);

/* Local days, counted from 1970-01-01, and when they begin.  A day ends when
 * the next one begins: with daylight saving it has 23 or 25 hours. */
int64_t bj_tz_day(const struct bj_tz *z, int64_t sec);
int64_t bj_tz_midnight(const struct bj_tz *z, int64_t day);

/* The zone in which a thread shows times: as with bj_locals_use(), each thread
 * has its own.  The zone must stay; NULL: UTC, as at first. */
void bj_tz_use(const struct bj_tz *z);
const struct bj_tz *bj_tz_used(void); /* never NULL */

#endif
