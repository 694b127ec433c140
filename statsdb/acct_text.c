#include "statsdb/acct_text.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/opt_value.h"
#include "base/stamp.h"
#include "statsdb/job_value.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* --- time ------------------------------------------------------------------
 */

/* Minutes by which local time is ahead of UTC at that time. */
static int offset_at(int64_t sec)
{
    time_t t = (time_t)sec;
    struct tm tm;
    return localtime_r(&t, &tm) ? (int)(tm.tm_gmtoff / 60) : 0;
}

static int local_to_utc(const struct bj_civil *c, int64_t *ret)
{
    struct tm tm = {.tm_year = c->year - 1900,
                    .tm_mon = (int)c->month - 1,
                    .tm_mday = (int)c->day,
                    .tm_hour = (int)c->hour,
                    .tm_min = (int)c->minute,
                    .tm_sec = (int)c->second,
                    .tm_isdst = -1};
    time_t t = mktime(&tm);
    *ret = t;
    return t == (time_t)-1 ? -EINVAL : 0;
}

/* Midnight, some days ago. */
static int midnight(int64_t now_sec, int days, bool utc, int64_t *ret_sec)
{
    enum { DAY = 86400 };
    time_t t = (time_t)now_sec;
    struct tm tm;
    *ret_sec = now_sec - now_sec % DAY - days * (int64_t)DAY;
    if (utc)
        return 0;
    if (!localtime_r(&t, &tm))
        return -EINVAL;
    tm = (struct tm){.tm_year = tm.tm_year,
                     .tm_mon = tm.tm_mon,
                     .tm_mday = tm.tm_mday - days,
                     .tm_isdst = -1};
    t = mktime(&tm);
    *ret_sec = t;
    return t == (time_t)-1 ? -EINVAL : 0;
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

int bj_acct_time(const char *text, int64_t now_sec, bool utc, int64_t *ret_sec)
{
    struct bj_slice s = bj_slice_str(text);
    struct bj_civil c;
    uint64_t sec;
    if (parse_age(s, &sec) == 0) {
        *ret_sec = now_sec - (int64_t)sec;
        return 0;
    }
    if (bj_slice_eq(s, BJ_SLICE("today")))
        return midnight(now_sec, 0, utc, ret_sec);
    if (bj_slice_eq(s, BJ_SLICE("yesterday")))
        return midnight(now_sec, 1, utc, ret_sec);
    if (bj_civil_parse(s, &c) < 0)
        return -EINVAL;
    if (!c.zoned && !utc)
        return local_to_utc(&c, ret_sec);
    return bj_stamp_sec(s, BJ_STAMP_BARE_UTC, ret_sec);
}

/* Times beyond the range of years stay beyond it. */
static int64_t usec_of(int64_t sec)
{
    int64_t usec;
    return __builtin_mul_overflow(sec, 1000000, &usec) ? INT64_MAX : usec;
}

static void put_time(struct bj_buf *out, int64_t sec, bool utc)
{
    char text[BJ_STAMP_MAX];
    int offset = utc ? 0 : offset_at(sec);
    struct bj_slice s =
        bj_slice_str(bj_stamp_text(usec_of(sec), 0, offset, text));
    /* All times in the table have one zone. */
    bj_buf_put(out, s.p, s.n < 19 ? s.n : 19);
}

/* --- for people ------------------------------------------------------------
 */

static void put_seconds(struct bj_buf *out, int64_t v)
{
    uint64_t s = (uint64_t)(v < 0 ? -v : v);
    bj_buf_str(out, v < 0 ? "-" : "");
    if (s >= 86400)
        bj_buf_printf(out, "%llu-", (unsigned long long)(s / 86400));
    s %= 86400;
    bj_buf_printf(out, "%02u:%02u:%02u", (unsigned)(s / 3600),
                  (unsigned)(s / 60 % 60), (unsigned)(s % 60));
}

/* Append three or four digits, and a unit. */
static void put_amount(struct bj_buf *out, int64_t v, unsigned base,
                       const char *const *unit)
{
    double d = (double)v;
    while (unit[1] && d >= (double)base) {
        d /= (double)base;
        unit++;
    }
    bj_buf_printf(out, d == (double)v || d >= 99.95 ? "%.0f%s" : "%.1f%s", d,
                  *unit);
}

static const char *const bytes[] = {"", "K", "M", "G", "T", "P", NULL};
static const char *const grams[] = {"ug", "mg", "g", "kg", "t", NULL};
static const char *const joules[] = {"J", "kJ", "MJ", "GJ", "TJ", NULL};

static void put_number(struct bj_buf *out, enum bj_value_kind kind, int64_t v);

/* Append a number with its unit. */
static void put_with_unit(struct bj_buf *out, const struct bj_job_column *c,
                          int64_t v)
{
    int64_t whole = c->kind == BJ_AS_MICRO ? v / 1000000 : v;
    if (c->unit == BJ_UNIT_SECONDS)
        put_seconds(out, whole);
    else if (c->unit == BJ_UNIT_BYTES)
        put_amount(out, v, 1024, bytes);
    else if (c->unit == BJ_UNIT_JOULES)
        put_amount(out, whole, 1000, joules);
    else if (c->unit == BJ_UNIT_GRAMS)
        put_amount(out, v, 1000, grams);
    else if (c->unit == BJ_UNIT_PERCENT)
        bj_buf_printf(out, "%.1f%%", (double)v / 1e4);
    else
        put_number(out, c->kind, v);
}

void bj_acct_for_people(struct bj_buf *out, const struct bj_job_column *c,
                        const struct bj_job_value *v, bool utc)
{
    if (!v->known)
        return;
    if (bj_job_is_text(c->kind))
        bj_buf_clean(out, v->text);
    else if (c->kind == BJ_AS_TIME)
        put_time(out, v->number, utc);
    else if (c->kind == BJ_AS_LIMIT && v->number == INT64_MAX)
        bj_buf_str(out, "unlimited");
    else
        put_with_unit(out, c, v->number);
}

/* --- for programs ----------------------------------------------------------
 */

static int64_t msec_of(int64_t sec)
{
    const int64_t limit = INT64_MAX / 1000;
    return (sec > limit ? limit : sec < -limit ? -limit : sec) * 1000;
}

static void put_number(struct bj_buf *out, enum bj_value_kind kind, int64_t v)
{
    if (kind == BJ_AS_BOOL) {
        bj_buf_str(out, v ? "true" : "false");
        return;
    }
    if (kind == BJ_AS_TIME_MS || kind == BJ_AS_LINK_END)
        v = msec_of(v);
    bj_buf_str(out, v < 0 ? "-" : "");
    bj_buf_fixed(out, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v,
                 bj_value_digits(kind));
}

static bool is_unknown(const struct bj_job_column *c,
                       const struct bj_job_value *v)
{
    return c->kind != BJ_AS_LINK_END &&
           (!v->known || (c->kind == BJ_AS_LIMIT && v->number == INT64_MAX));
}

/* Write a value that is not free text of the job; false: it is free text. */
static bool put_plain(struct bj_buf *out, const struct bj_job_column *c,
                      const struct bj_job_value *v, const char *quote)
{
    char text[BJ_STAMP_MAX];
    bool quoted = c->kind == BJ_AS_TIME || c->kind == BJ_AS_LINK_END;
    if (c->kind == BJ_AS_WORD_INT) {
        bj_buf_slice(out, v->text);
        return true;
    }
    if (bj_job_is_text(c->kind))
        return false;
    bj_buf_str(out, quoted ? quote : "");
    if (c->kind == BJ_AS_TIME)
        bj_buf_str(out, bj_stamp_text(usec_of(v->number), 0, 0, text));
    else if (c->kind == BJ_AS_LINK_END && !v->known)
        bj_buf_str(out, "now");
    else
        put_number(out, c->kind, v->number);
    bj_buf_str(out, quoted ? quote : "");
    return true;
}

void bj_acct_csv(struct bj_buf *out, const struct bj_job_column *c,
                 const struct bj_job_value *v)
{
    if (!is_unknown(c, v) && !put_plain(out, c, v, ""))
        bj_csv_text(out, v->text);
}

void bj_acct_json(struct bj_buf *out, const struct bj_job_column *c,
                  const struct bj_job_value *v)
{
    if (is_unknown(c, v))
        bj_buf_str(out, "null");
    else if (!put_plain(out, c, v, "\""))
        bj_json_string(out, v->text);
}
