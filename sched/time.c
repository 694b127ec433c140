#include "sched/time.h"

#include "base/absent.h"
#include "base/stamp.h"
#include "sched/number.h"
#include "sched/word.h"

#include <errno.h>

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

/* A point in UTC; checks the parts. */
static int moment(unsigned year, unsigned month, unsigned day,
                  const unsigned clock[3], uint64_t *ret)
{
    if (year < 1970 || year > 9999 || month < 1 || month > 12 || day < 1 ||
        day > bj_days_of_month((int)year, month) || clock[0] > 23 ||
        clock[1] > 59 || clock[2] > 60)
        return -ERANGE;
    /* A leap second counts as the second before: schedulers do not count them.
     */
    const unsigned sec = clock[2] == 60 ? 59 : clock[2];
    *ret = (uint64_t)bj_days_from_civil((int)year, month, day) * 86400 +
           clock[0] * 3600 + clock[1] * 60 + sec;
    return 0;
}

/* A plain number of seconds; 0 means "never" in Slurm and PBS. */
static int number(struct bj_slice s, uint64_t *ret)
{
    uint64_t v;
    int r = bj_slice_u64(s, &v);
    if (r < 0)
        return r;
    if (v > INT64_MAX)
        return -ERANGE;
    *ret = v ? v : BJ_ABSENT;
    return 0;
}

int bj_time_slurm(struct bj_slice s, uint64_t *ret_sec)
{
    if (s.n == 19 && s.p[4] == '-' && s.p[7] == '-' && s.p[10] == 'T' &&
        s.p[13] == ':' && s.p[16] == ':') {
        const unsigned clock[] = {bj_two_digits(s.p + 11),
                                  bj_two_digits(s.p + 14),
                                  bj_two_digits(s.p + 17)};
        return moment(bj_two_digits(s.p) * 100 + bj_two_digits(s.p + 2),
                      bj_two_digits(s.p + 5), bj_two_digits(s.p + 8), clock,
                      ret_sec);
    }
    if (s.n > 0 && is_digit(s.p[0])) {
        int r = number(s, ret_sec);
        if (r != -EINVAL)
            return r;
    }
    if (bj_word_is_none(s)) {
        *ret_sec = BJ_ABSENT;
        return 0;
    }
    int64_t sec;
    int r = bj_stamp_sec(s, BJ_STAMP_BARE_UTC, &sec);
    if (r == 0)
        *ret_sec = sec > 0 ? (uint64_t)sec : BJ_ABSENT;
    return r;
}

/* Cut "Nov" off *s: 1 to 12, or 0. */
static unsigned cut_month(struct bj_slice *s)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct bj_slice word;
    const struct bj_slice before = *s;
    if (!bj_slice_word(s, &word) || word.n != 3)
        goto none;
    for (unsigned m = 0; m < 12; m++)
        if (memcmp(word.p, names + 3 * m, 3) == 0)
            return m + 1;
none:
    *s = before;
    return 0;
}

/* "10:00" or "10:00:00", all of it. */
static int parse_clock(struct bj_slice s, unsigned clock[3])
{
    for (unsigned i = 0; i < 3; i++) {
        uint64_t v;
        if (!bj_slice_number(&s, &v) || v > 60)
            return -EINVAL;
        clock[i] = (unsigned)v;
        if (s.n == 0)
            return i > 0 ? 0 : -EINVAL;
        if (s.p[0] != ':')
            return -EINVAL;
        s.p++;
        s.n--;
    }
    return -EINVAL;
}

struct ctime_parts {
    unsigned month, day, clock[3], year; /* year 0: absent */
};

/* "[Fri] Nov 20 10:00[:00] [2026] [L]" */
static int parse_ctime(struct bj_slice s, struct ctime_parts *t)
{
    struct bj_slice word;
    uint64_t v;
    t->month = cut_month(&s);
    if (t->month == 0 && bj_slice_word(&s, &word) && word.n == 3)
        t->month = cut_month(&s);
    if (t->month == 0 || !bj_slice_word(&s, &word) ||
        bj_slice_u64(word, &v) < 0 || v > 31)
        return -EINVAL;
    t->day = (unsigned)v;
    if (!bj_slice_word(&s, &word))
        return -EINVAL;
    int r = parse_clock(word, t->clock);
    if (r < 0 || !bj_slice_word(&s, &word))
        return r;
    if (bj_slice_u64(word, &v) == 0) {
        if (v == 0 || v > 9999)
            return -ERANGE;
        t->year = (unsigned)v;
        if (!bj_slice_word(&s, &word))
            return 0;
    }
    return word.n == 1 && !is_digit(word.p[0]) && !bj_slice_word(&s, &word)
               ? 0
               : -EINVAL;
}

/* Other texts than a date of ctime: a number, or a word for none.  1: it is a
 * date. */
static int without_date(struct bj_slice s, uint64_t *ret_sec)
{
    if (s.n > 0 && is_digit(s.p[0]))
        return number(s, ret_sec);
    if (!bj_word_is_none(s))
        return 1;
    *ret_sec = BJ_ABSENT;
    return 0;
}

int bj_time_pbs(struct bj_slice s, uint64_t *ret_sec)
{
    struct ctime_parts t = {0};
    s = bj_slice_trim(s);
    int r = without_date(s, ret_sec);
    if (r <= 0)
        return r;
    r = parse_ctime(s, &t);
    if (r < 0)
        return r;
    return t.year == 0 ? -EINVAL
                       : moment(t.year, t.month, t.day, t.clock, ret_sec);
}

int bj_time_lsf(struct bj_slice s, uint64_t now_sec, uint64_t *ret_sec)
{
    struct ctime_parts t = {0};
    s = bj_slice_trim(s);
    int r = without_date(s, ret_sec);
    if (r <= 0)
        return r;
    r = parse_ctime(s, &t);
    if (r < 0 || t.year > 0)
        return r < 0 ? r : moment(t.year, t.month, t.day, t.clock, ret_sec);
    if (now_sec > 200ull * 366 * 86400)
        return -ERANGE;
    struct bj_civil now;
    bj_civil_from_days((int64_t)(now_sec / 86400) + 1, &now);
    /* February 29 is at most eight years back, across 2100. */
    for (unsigned back = 0; back <= 8; back++) {
        uint64_t sec;
        r = moment((unsigned)now.year - back, t.month, t.day, t.clock, &sec);
        if (r == 0 && sec <= now_sec + 86400) {
            *ret_sec = sec;
            return 0;
        }
    }
    return -ERANGE;
}

int bj_time_pbs_stamp(struct bj_slice s, int offset_min, uint64_t *ret_sec)
{
    if (s.n != 19 || s.p[2] != '/' || s.p[5] != '/' || s.p[10] != ' ' ||
        s.p[13] != ':' || s.p[16] != ':')
        return -EINVAL;
    const unsigned clock[] = {bj_two_digits(s.p + 11), bj_two_digits(s.p + 14),
                              bj_two_digits(s.p + 17)};
    uint64_t local;
    int r = moment(bj_two_digits(s.p + 6) * 100 + bj_two_digits(s.p + 8),
                   bj_two_digits(s.p), bj_two_digits(s.p + 3), clock, &local);
    if (r < 0)
        return r;
    const int64_t utc = (int64_t)local - offset_min * (int64_t)60;
    if (utc < 0)
        return -ERANGE;
    *ret_sec = (uint64_t)utc;
    return 0;
}
