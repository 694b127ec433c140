#include "base/stamp.h"

#include <errno.h>
#include <stdio.h>

enum { YEAR_MIN = 1, YEAR_MAX = 9999, DAY_SEC = 86400, MILLION = 1000000 };

/* Years begin in March here, so that February 29 is the last day of a year; an
 * era is the 400 years after which all repeats. */
int64_t bj_days_from_civil(int year, unsigned month, unsigned day)
{
    int64_t y = (int64_t)year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year =
        (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    return era * 146097 + days - 719468;
}

void bj_civil_from_days(int64_t days, struct bj_civil *ret)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t d = days - era * 146097;
    int64_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    int64_t of_year = d - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153;
    unsigned month = (unsigned)(m < 10 ? m + 3 : m - 9);
    *ret = (struct bj_civil){
        .year = (int)(y + era * 400 + (month <= 2)),
        .month = month,
        .day = (unsigned)(of_year - (153 * m + 2) / 5 + 1),
    };
}

unsigned bj_days_of_month(int year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30,
                                         31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[(month - 1) % 12] + (month == 2 && leap ? 1u : 0u);
}

/* --- reading --------------------------------------------------------------*/

/* A number of exactly that many digits. */
static bool cut_digits(struct bj_slice *s, size_t digits, unsigned *ret)
{
    unsigned v = 0;
    if (s->n < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        unsigned d = (unsigned char)(s->p[i] - '0');
        if (d > 9)
            return false;
        v = v * 10 + d;
    }
    s->p += digits;
    s->n -= digits;
    *ret = v;
    return true;
}

/* One of the characters of any. */
static bool cut_any(struct bj_slice *s, const char *any)
{
    if (s->n == 0 || s->p[0] == '\0' || !strchr(any, s->p[0]))
        return false;
    s->p++;
    s->n--;
    return true;
}

static bool cut_fraction(struct bj_slice *s, unsigned *ret_usec)
{
    unsigned scale = MILLION / 10, v = 0;
    size_t n = 0;
    for (; n < s->n && (unsigned char)(s->p[n] - '0') <= 9; n++) {
        v += (unsigned)(s->p[n] - '0') * scale;
        scale /= 10;
    }
    s->p += n;
    s->n -= n;
    *ret_usec = v;
    return n > 0;
}

/* "Z", "+hh", "+hhmm", "+hh:mm"; *range: not a valid offset. */
static bool cut_zone(struct bj_slice *s, struct bj_civil *c, bool *range)
{
    unsigned hours, minutes = 0;
    c->zoned = true;
    if (cut_any(s, "Zz"))
        return true;
    bool west = s->n > 0 && s->p[0] == '-';
    if (!cut_any(s, "+-") || !cut_digits(s, 2, &hours))
        return false;
    if (s->n > 0 && (cut_any(s, ":"), !cut_digits(s, 2, &minutes)))
        return false;
    *range = *range || hours > 23 || minutes > 59;
    int offset = (int)(hours * 60 + minutes);
    c->offset_min = west ? -offset : offset;
    return true;
}

static bool cut_date(struct bj_slice *s, struct bj_civil *c)
{
    unsigned year;
    if (!cut_digits(s, 4, &year) || !cut_any(s, "-") ||
        !cut_digits(s, 2, &c->month) || !cut_any(s, "-") ||
        !cut_digits(s, 2, &c->day))
        return false;
    c->year = (int)year;
    return true;
}

static bool cut_time(struct bj_slice *s, struct bj_civil *c)
{
    if (!cut_digits(s, 2, &c->hour) || !cut_any(s, ":") ||
        !cut_digits(s, 2, &c->minute))
        return false;
    if (!cut_any(s, ":"))
        return true;
    if (!cut_digits(s, 2, &c->second))
        return false;
    return !cut_any(s, ".") || cut_fraction(s, &c->usec);
}

static bool in_range(const struct bj_civil *c)
{
    return c->year >= YEAR_MIN && c->month >= 1 && c->month <= 12 &&
           c->day >= 1 && c->day <= bj_days_of_month(c->year, c->month) &&
           c->hour <= 23 && c->minute <= 59 && c->second <= 60;
}

int bj_civil_parse(struct bj_slice s, struct bj_civil *ret)
{
    struct bj_civil c = {0};
    bool range = false;
    if (!cut_date(&s, &c))
        return -EINVAL;
    if (s.n > 0 && (!cut_any(&s, "Tt ") || !cut_time(&s, &c)))
        return -EINVAL;
    if (s.n > 0 && !cut_zone(&s, &c, &range))
        return -EINVAL;
    if (s.n > 0)
        return -EINVAL;
    if (range || !in_range(&c))
        return -ERANGE;
    if (c.second == 60)
        c.second = 59;
    *ret = c;
    return 0;
}

int64_t bj_civil_usec(const struct bj_civil *c)
{
    int64_t sec = bj_days_from_civil(c->year, c->month, c->day) * DAY_SEC;
    sec += (int64_t)c->hour * 3600 + (int64_t)c->minute * 60 + c->second;
    return (sec - (int64_t)c->offset_min * 60) * MILLION + c->usec;
}

static int64_t usec_min(void)
{
    return bj_days_from_civil(YEAR_MIN, 1, 1) * DAY_SEC * MILLION;
}

static int64_t usec_max(void)
{
    return bj_days_from_civil(YEAR_MAX + 1, 1, 1) * DAY_SEC * MILLION - 1;
}

int bj_stamp_usec(struct bj_slice s, unsigned mode, int64_t *ret)
{
    struct bj_civil c;
    int r = bj_civil_parse(s, &c);
    if (r < 0)
        return r;
    if (mode != BJ_STAMP_BARE_UTC && !c.zoned)
        return -EINVAL;
    int64_t usec = bj_civil_usec(&c);
    if (usec < usec_min() || usec > usec_max())
        return -ERANGE;
    *ret = usec;
    return 0;
}

/* The largest multiple of by that is not above v. */
static int64_t floor_to(int64_t v, int64_t by)
{
    int64_t rest = v % by;
    return v - rest - (rest < 0 ? by : 0);
}

int bj_stamp_sec(struct bj_slice s, unsigned mode, int64_t *ret)
{
    int64_t usec;
    int r = bj_stamp_usec(s, mode, &usec);
    if (r == 0)
        *ret = floor_to(usec, MILLION) / MILLION;
    return r;
}

/* --- writing --------------------------------------------------------------*/

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

const char *bj_stamp_text(int64_t usec, unsigned digits, int offset_min,
                          char buf[static BJ_STAMP_MAX])
{
    static const unsigned scale[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    const int64_t day_usec = (int64_t)DAY_SEC * MILLION;
    offset_min = (int)clamp(offset_min, -1439, 1439);
    usec = clamp(usec, usec_min(), usec_max());
    usec += (int64_t)offset_min * 60 * MILLION;
    usec = clamp(usec, usec_min(), usec_max());
    struct bj_civil c;
    int64_t midnight = floor_to(usec, day_usec);
    bj_civil_from_days(midnight / day_usec, &c);
    unsigned sec = (unsigned)((usec - midnight) / MILLION);
    unsigned part = (unsigned)((usec - midnight) % MILLION);
    digits = digits > 6 ? 6 : digits;
    int n = snprintf(buf, BJ_STAMP_MAX, "%04d-%02u-%02uT%02u:%02u:%02u", c.year,
                     c.month, c.day, sec / 3600, sec / 60 % 60, sec % 60);
    if (digits > 0)
        n += snprintf(buf + n, BJ_STAMP_MAX - (size_t)n, ".%0*u", (int)digits,
                      part / scale[digits]);
    unsigned east = (unsigned)(offset_min < 0 ? -offset_min : offset_min);
    if (offset_min == 0)
        snprintf(buf + n, BJ_STAMP_MAX - (size_t)n, "Z");
    else
        snprintf(buf + n, BJ_STAMP_MAX - (size_t)n, "%c%02u:%02u",
                 offset_min < 0 ? '-' : '+', east / 60, east % 60);
    return buf;
}
