#include "report/form/value.h"

#include "base/amount.h"
#include "base/opt_value.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "statsdb/job/rows.h"

#include <errno.h>
#include <stdlib.h>

/* --- time ------------------------------------------------------------------
 */

/* Midnight, some days ago. */
static int64_t midnight(int64_t now_sec, int days)
{
    const struct bj_tz *tz = bj_tz_used();
    return bj_tz_midnight(tz, bj_tz_day(tz, now_sec) - days);
}

/* Parse "-2hours", which follows "now" in sacct, into seconds; -EINVAL: not
 * that form. */
static int parse_offset(struct bj_slice s, uint64_t *ret_sec)
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
static int parse_age(struct bj_slice s, uint64_t *ret_sec)
{
    const struct bj_slice now = BJ_SLICE("now");
    uint64_t usec;
    if (bj_slice_starts(s, now))
        return parse_offset((struct bj_slice){s.p + now.n, s.n - now.n},
                            ret_sec);
    if (s.n == 0 || (unsigned char)(s.p[s.n - 1] - '0') <= 9 ||
        bj_duration_parse(s, &usec) < 0)
        return -EINVAL;
    *ret_sec = usec / 1000000;
    return 0;
}

int bj_value_time(const char *text, int64_t now_sec, int64_t *ret_sec)
{
    struct bj_slice s = bj_slice_str(text);
    struct bj_civil c;
    uint64_t sec;
    if (parse_age(s, &sec) == 0) {
        *ret_sec = now_sec - (int64_t)sec;
        return 0;
    }
    const bool today = bj_slice_eq(s, BJ_SLICE("today"));
    if (today || bj_slice_eq(s, BJ_SLICE("yesterday"))) {
        *ret_sec = midnight(now_sec, !today);
        return 0;
    }
    if (bj_civil_parse(s, &c) < 0 ||
        bj_stamp_sec(s, BJ_STAMP_BARE_UTC, ret_sec) < 0)
        return -EINVAL;
    if (!c.zoned)
        *ret_sec = bj_tz_sec(bj_tz_used(), *ret_sec);
    return 0;
}

/* Times beyond the range of years stay beyond it. */
static int64_t usec_of(int64_t sec)
{
    int64_t usec;
    return __builtin_mul_overflow(sec, 1000000, &usec) ? INT64_MAX : usec;
}

static void put_time(struct bj_buf *out, int64_t sec)
{
    char text[BJ_STAMP_MAX];
    int offset = bj_tz_offset(bj_tz_used(), sec) / 60;
    struct bj_slice s =
        bj_slice_str(bj_stamp_text(usec_of(sec), 0, offset, text));
    /* All times in the table have one zone. */
    bj_buf_put(out, s.p, s.n < 19 ? s.n : 19);
}

/* --- for people ------------------------------------------------------------
 */

/* Append a number without a unit, such as an id. */
static void put_number(struct bj_buf *out, enum bj_value_kind kind, int64_t v)
{
    if (kind == BJ_AS_LINK_END)
        kind = BJ_AS_TIME_MS;
    bj_value_json(out, kind,
                  &(struct bj_job_value){.known = true, .number = v});
}

/* Append a number with its unit. */
static void put_with_unit(struct bj_buf *out, const struct bj_column *c,
                          int64_t v)
{
    static const enum bj_amount_unit units[] = {
        [BJ_UNIT_COUNT] = BJ_AMOUNT_PLAIN,
        [BJ_UNIT_BYTES] = BJ_AMOUNT_BYTES,
        [BJ_UNIT_JOULES] = BJ_AMOUNT_JOULES,
        [BJ_UNIT_GRAMS] = BJ_AMOUNT_GRAMS,
        [BJ_UNIT_PERCENT] = BJ_AMOUNT_PERCENT};
    double parts = 1;
    for (unsigned i = bj_value_digits(c->kind); i > 0; i--)
        parts *= 10;
    if (c->unit == BJ_UNIT_SECONDS) {
        const int64_t sec = (int64_t)((double)v / parts);
        bj_buf_str(out, sec < 0 ? "-" : "");
        bj_amount_seconds(out, (uint64_t)(sec < 0 ? -sec : sec));
    } else if (c->unit == BJ_UNIT_MONEY) {
        bj_amount_money(out, v);
    } else if (c->unit == BJ_UNIT_NONE || c->unit == BJ_UNIT_FREE) {
        put_number(out, c->kind, v);
    } else if (c->unit == BJ_UNIT_COUNT && parts == 1) {
        bj_amount_whole(out, v);
    } else {
        bj_amount(out, units[c->unit], (double)v / parts);
    }
}

void bj_value_for_people(struct bj_buf *out, const struct bj_column *c,
                         const struct bj_job_value *v)
{
    if (!v->known)
        return;
    if (bj_job_is_text(c->kind))
        bj_buf_clean(out, v->text);
    else if (c->kind == BJ_AS_TIME)
        put_time(out, v->number);
    else if (c->kind == BJ_AS_LIMIT && v->number == INT64_MAX)
        bj_buf_str(out, "unlimited");
    else
        put_with_unit(out, c, v->number);
}
