#include "mail/schedule.h"

#include "base/slice.h"
#include "base/tz.h"

enum { DAY = 86400, WEEK = 7 };

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

bool bj_mail_is_quiet(const struct bj_mail_schedule *s, int64_t now_sec)
{
    const int64_t local = now_sec + bj_tz_offset(bj_tz_used(), now_sec);
    const unsigned now = (unsigned)(local % DAY / 60);
    if (!s->quiet)
        return false;
    return s->from < s->to ? now >= s->from && now < s->to
                           : now >= s->from || now < s->to;
}

/* The time of a minute of a day. */
static int64_t at_minute(int64_t day, unsigned minute)
{
    return bj_tz_sec(bj_tz_used(), day * DAY + (int64_t)minute * 60);
}

int64_t bj_mail_digest_due(const struct bj_mail_schedule *s, bool weekly,
                           int64_t now_sec, int64_t *ret_since,
                           int64_t *ret_until)
{
    const int step = weekly ? WEEK : 1;
    int64_t day = bj_tz_day(bj_tz_used(), now_sec);
    if (weekly) /* 1970-01-01 was a Thursday: back to Monday */
        day -= (day + 3) % WEEK;
    if (at_minute(day, s->digest) > now_sec)
        day -= step;
    *ret_since = at_minute(day - step, 0);
    *ret_until = at_minute(day, 0);
    return at_minute(day, s->digest);
}
