#include "report/form/when.h"

#include "base/opt_value.h"
#include "base/stamp.h"
#include "base/tz.h"

#include <errno.h>
#include <stdlib.h>

/* Midnight, some days ago. */
static int64_t when_midnight(int64_t now_sec, int days)
{
    const struct bj_tz *tz = bj_tz_used();
    return bj_tz_midnight(tz, bj_tz_day(tz, now_sec) - days);
}

/* Parse "-2hours", which follows "now" in sacct, into seconds; -EINVAL: not
 * that form. */
static int when_offset(struct bj_slice s, uint64_t *ret_sec)
{
    static const struct {
        const char *name;
        uint64_t sec;
    } units[] = {{"seconds", 1},
                 {"minutes", 60},
                 {"hours", 3600},
                 {"days", 86400},
                 {"weeks", 7 * 86400}};
    uint64_t n;
    *ret_sec = 0;
    if (s.n == 0)
        return 0;
    if (s.p[0] != '-')
        return -EINVAL;
    s = (struct bj_slice){s.p + 1, s.n - 1};
    if (!bj_slice_number(&s, &n) || n > UINT32_MAX)
        return -EINVAL;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (bj_slice_starts(bj_slice_str(units[i].name), s)) {
            *ret_sec = n * units[i].sec;
            return 0;
        }
    return -EINVAL;
}

/* Parse an age.  A number must have a unit, because it could mean anything. */
static int when_age(struct bj_slice s, uint64_t *ret_sec)
{
    const struct bj_slice now = BJ_SLICE("now");
    uint64_t usec;
    if (bj_slice_starts(s, now))
        return when_offset((struct bj_slice){s.p + now.n, s.n - now.n},
                           ret_sec);
    if (s.n == 0 || (unsigned char)(s.p[s.n - 1] - '0') <= 9 ||
        bj_duration_parse(s, &usec) < 0)
        return -EINVAL;
    *ret_sec = usec / 1000000;
    return 0;
}

int bj_when_parse(const char *text, int64_t now_sec, int64_t *ret_sec)
{
    struct bj_slice s = bj_slice_str(text);
    struct bj_civil c;
    uint64_t sec;
    if (when_age(s, &sec) == 0) {
        *ret_sec = now_sec - (int64_t)sec;
        return 0;
    }
    const bool today = bj_slice_eq(s, BJ_SLICE("today"));
    if (today || bj_slice_eq(s, BJ_SLICE("yesterday"))) {
        *ret_sec = when_midnight(now_sec, !today);
        return 0;
    }
    if (bj_civil_parse(s, &c) < 0 ||
        bj_stamp_sec(s, BJ_STAMP_BARE_UTC, ret_sec) < 0)
        return -EINVAL;
    if (!c.zoned)
        *ret_sec = bj_tz_sec(bj_tz_used(), *ret_sec);
    return 0;
}
