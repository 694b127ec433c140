/* Civil time: dates and stamps as text, without locale and time zone database.
 * Gregorian calendar, years 1 to 9999, UTC and fixed offsets; days have 86400
 * seconds.
 *
 * Format: RFC 3339 and common forms of ISO 8601.  Method of the calendar: H.
 * Hinnant, "chrono-compatible low-level date algorithms". */
#ifndef BJ_BASE_STAMP_H
#define BJ_BASE_STAMP_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* A stamp, split. */
struct bj_civil {
    int year;                      /* 1 to 9999 */
    unsigned month, day;           /* from 1 */
    unsigned hour, minute, second; /* second at most 59 */
    unsigned usec;
    bool zoned;     /* the text had a zone */
    int offset_min; /* of local time from UTC, in minutes, east positive */
};

/* Days since 1970-01-01 of a date, and back.  The date must be in range. */
int64_t bj_days_from_civil(int year, unsigned month, unsigned day);
void bj_civil_from_days(int64_t days, struct bj_civil *ret); /* date only */

/* How many days a month has. */
unsigned bj_days_of_month(int year, unsigned month);

/* Split a text, all of it:
 *     2026-11-20                        a date
 *     2026-11-20T15:04                  no seconds
 *     2026-11-20T15:04:05               no zone
 *     2026-11-20T15:04:05.25Z           fraction; cut after 6 digits
 *     2026-11-20 15:04:05+01:00         also "+0100", "+01"; up to 23:59
 * 'T' may be 't' or one blank, 'Z' may be 'z'.  Second 60 (a leap second) is
 * read as 59; hour 24 is an error.  -EINVAL: another form; -ERANGE: a date,
 * time or offset that does not exist.  *ret is unchanged on failure. */
int bj_civil_parse(struct bj_slice s, struct bj_civil *ret);

enum {
    BJ_STAMP_ZONED,    /* a zone is required: -EINVAL without */
    BJ_STAMP_BARE_UTC, /* without a zone, it is UTC; dates are midnight */
};

/* Parse such a text into microseconds or seconds (fractions dropped) since
 * 1970-01-01T00:00:00Z. mode is one of the above.  Errors as above; -ERANGE
 * also when the offset moves the time out of the years 1 to 9999. */
int bj_stamp_usec(struct bj_slice s, unsigned mode, int64_t *ret);
int bj_stamp_sec(struct bj_slice s, unsigned mode, int64_t *ret);

/* The microseconds of a split stamp; offset_min is used even if zoned is false.
 * Parts must be in range (as bj_civil_parse leaves them). */
int64_t bj_civil_usec(const struct bj_civil *c);

enum { BJ_STAMP_MAX = 40 }; /* most bytes of the texts below */

/* "2026-11-20T15:04:05Z"; digits (0 to 6) of the second after a point, the
 * rest cut off.  offset_min not 0: local time with that offset,
 * "2026-11-20T16:04:05+01:00".  A time outside the years becomes the nearest
 * stamp inside.  Returns buf. */
const char *bj_stamp_text(int64_t usec, unsigned digits, int offset_min,
                          char buf[static BJ_STAMP_MAX]);

#endif
