#include "mail/schedule.h"

#include "base/slice.h"

#include <time.h>

enum { DAY_MINUTES = 24 * 60, WEEK = 7, MONDAY = 1 };

/* "HH:MM" in minutes. */
static bool parse_time(struct bj_slice s, unsigned *ret)
{
    uint64_t hour, minute;
    s = bj_slice_trim(s);
    if (!bj_slice_number(&s, &hour) || s.n != 3 || s.p[0] != ':')
        return false;
    s.p++;
    s.n--;
    if (bj_slice_u64(s, &minute) < 0 || hour > 23 || minute > 59)
        return false;
    *ret = (unsigned)(hour * 60 + minute);
    return true;
}

int bj_mail_schedule(const struct bj_mail_conf *c, struct bj_mail_schedule *ret,
                     struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(c->quiet_hours), from;
    *ret = (struct bj_mail_schedule){.quiet = rest.n > 0};
    if (ret->quiet &&
        (!bj_slice_field(&rest, '-', &from) || !parse_time(from, &ret->from) ||
         !parse_time(rest, &ret->to) || ret->from == ret->to))
        return bj_err_set(err, -EINVAL,
                          "mail.quiet-hours: '%.40s' is not a time like "
                          "22:00-06:00",
                          c->quiet_hours);
    if (!parse_time(bj_slice_str(c->digest_time), &ret->digest))
        return bj_err_set(err, -EINVAL,
                          "mail.digest-time: '%.40s' is not a time like 08:00",
                          c->digest_time ? c->digest_time : "");
    return 0;
}

static struct tm local_time(int64_t sec)
{
    time_t t = (time_t)sec;
    struct tm tm = {0};
    localtime_r(&t, &tm);
    return tm;
}

bool bj_mail_is_quiet(const struct bj_mail_schedule *s, int64_t now_sec)
{
    struct tm tm = local_time(now_sec);
    unsigned now = (unsigned)(tm.tm_hour * 60 + tm.tm_min);
    if (!s->quiet)
        return false;
    return s->from < s->to ? now >= s->from && now < s->to
                           : now >= s->from || now < s->to;
}

/* The time of a minute of the day, days after the day of tm. */
static int64_t at_minute(struct tm tm, int days, unsigned minute)
{
    struct tm t = {.tm_year = tm.tm_year,
                   .tm_mon = tm.tm_mon,
                   .tm_mday = tm.tm_mday + days,
                   .tm_hour = (int)(minute / 60),
                   .tm_min = (int)(minute % 60),
                   .tm_isdst = -1};
    return (int64_t)mktime(&t);
}

int64_t bj_mail_digest_due(const struct bj_mail_schedule *s, bool weekly,
                           int64_t now_sec, int64_t *ret_since,
                           int64_t *ret_until)
{
    struct tm tm = local_time(now_sec);
    int days = weekly ? -((tm.tm_wday + WEEK - MONDAY) % WEEK) : 0;
    int step = weekly ? WEEK : 1;
    if (at_minute(tm, days, s->digest) > now_sec)
        days -= step;
    *ret_since = at_minute(tm, days - step, 0);
    *ret_until = at_minute(tm, days, 0);
    return at_minute(tm, days, s->digest);
}
