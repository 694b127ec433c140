#include "sched/value.h"

#include "base/absent.h"
#include "base/stamp.h"
#include "sched/job.h"

#include <errno.h>

/* --- words ------------------------------------------------------------------
 */

static const struct bj_slice nones[] = {
    BJ_WORD("None"), BJ_WORD("None assigned"), BJ_WORD("Unknown"),
    BJ_WORD("N/A"),  BJ_WORD("(null)"),        BJ_WORD("-"),
};

bool bj_word_is_none(struct bj_slice s)
{
    if (s.n == 0)
        return true;
    if (s.n > sizeof("None assigned") - 1 || !memchr("NU(-", s.p[0], 4))
        return false;
    for (size_t i = 0; i < sizeof(nones) / sizeof(nones[0]); i++)
        if (bj_slice_eq(s, nones[i]))
            return true;
    return false;
}

/* --- sizes in bytes ---------------------------------------------------------
 */

/* How often to multiply by the base; -1: not a unit letter. */
static int power_of(char c)
{
    switch (c) {
    case 'k':
    case 'K':
        return 1;
    case 'm':
    case 'M':
        return 2;
    case 'g':
    case 'G':
        return 3;
    case 't':
    case 'T':
        return 4;
    case 'p':
    case 'P':
        return 5;
    case 'e':
    case 'E':
    case '?':
        return 6;
    default:
        return -1;
    }
}

/* Cut the digits after a point off *s as millionths; Slurm and PBS print at
 * most six. */
static int cut_fraction(struct bj_slice *s, uint64_t *ret)
{
    uint64_t v = 0, weight = 100000;
    size_t i = 1;
    for (; i < s->n && (unsigned char)(s->p[i] - '0') <= 9; i++) {
        v += weight * (unsigned char)(s->p[i] - '0');
        weight /= 10;
    }
    if (i == 1)
        return -EINVAL;
    s->p += i;
    s->n -= i;
    *ret = v;
    return 0;
}

/* The unit in s, or unit without one. */
static int cut_unit(struct bj_slice s, uint64_t unit, uint64_t base,
                    uint64_t *ret)
{
    const int power = s.n > 0 ? power_of(s.p[0]) : 0;
    if (power > 0) {
        s.p++;
        s.n--;
        unit = 1ull << 10 * power;
        for (int i = 0; base != 1024 && i < power; i++)
            unit = i == 0 ? base : unit * base;
    }
    if (s.n == 1 && (s.p[0] == 'b' || s.p[0] == 'B'))
        unit = power > 0 ? unit : 1;
    else if (s.n == 1 && (s.p[0] == 'w' || s.p[0] == 'W'))
        unit = (power > 0 ? unit : 1) * 8;
    else if (s.n > 0)
        return -EINVAL;
    *ret = unit;
    return 0;
}

int bj_memory_scaled(struct bj_slice s, uint64_t unit, uint64_t base,
                     uint64_t *ret)
{
    uint64_t whole, millionths = 0, scale, bytes;
    if (s.n == 0)
        return -EINVAL;
    const char *behind = bj_digits_at(s.p, s.p + s.n, &whole);
    const size_t digits = (size_t)(behind - s.p);
    if (digits == 0)
        return -EINVAL;
    if (digits == 18 && !bj_slice_number(&s, &whole))
        return -ERANGE;
    if (digits < 18)
        s = (struct bj_slice){behind, s.n - digits};
    if (s.n > 0 && s.p[0] == '.') {
        int r = cut_fraction(&s, &millionths);
        if (r < 0)
            return r;
    }
    int r = cut_unit(s, unit, base, &scale);
    if (r < 0)
        return r;
    if (__builtin_mul_overflow(whole, scale, &bytes))
        return -ERANGE;
    if (millionths == 0) {
        *ret = bytes;
        return 0;
    }
    /* In two parts, since an exabyte times a million does not fit. */
    const uint64_t part =
        scale / 1000000 * millionths + scale % 1000000 * millionths / 1000000;
    if (__builtin_add_overflow(bytes, part, &bytes))
        return -ERANGE;
    *ret = bytes;
    return 0;
}

int bj_memory_parse(struct bj_slice s, uint64_t unit, uint64_t *ret)
{
    return bj_memory_scaled(s, unit, 1024, ret);
}

int bj_memory_request(struct bj_slice s, uint64_t *ret,
                      enum bj_memory_per *ret_per)
{
    enum bj_memory_per per = BJ_MEMORY_JOB;
    const char last = s.n > 1 ? s.p[s.n - 1] : 0;
    if (last == 'n' || last == 'c') {
        per = last == 'n' ? BJ_MEMORY_NODE : BJ_MEMORY_CPU;
        s.n--;
    }
    int r = bj_memory_parse(s, 1 << 20, ret);
    if (r == 0)
        *ret_per = per;
    return r;
}

/* --- times ------------------------------------------------------------------
 */

static bool time_is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

/* A point in UTC; checks the parts. */
static int time_moment(unsigned year, unsigned month, unsigned day,
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
static int time_number(struct bj_slice s, uint64_t *ret)
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
        return time_moment(bj_two_digits(s.p) * 100 + bj_two_digits(s.p + 2),
                           bj_two_digits(s.p + 5), bj_two_digits(s.p + 8),
                           clock, ret_sec);
    }
    if (s.n > 0 && time_is_digit(s.p[0])) {
        int r = time_number(s, ret_sec);
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
    return word.n == 1 && !time_is_digit(word.p[0]) && !bj_slice_word(&s, &word)
               ? 0
               : -EINVAL;
}

/* Other texts than a date of ctime: a number, or a word for none.  1: it is a
 * date. */
static int without_date(struct bj_slice s, uint64_t *ret_sec)
{
    if (s.n > 0 && time_is_digit(s.p[0]))
        return time_number(s, ret_sec);
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
                       : time_moment(t.year, t.month, t.day, t.clock, ret_sec);
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
        return r < 0 ? r
                     : time_moment(t.year, t.month, t.day, t.clock, ret_sec);
    if (now_sec > 200ull * 366 * 86400)
        return -ERANGE;
    struct bj_civil now;
    bj_civil_from_days((int64_t)(now_sec / 86400) + 1, &now);
    /* February 29 is at most eight years back, across 2100. */
    for (unsigned back = 0; back <= 8; back++) {
        uint64_t sec;
        r = time_moment((unsigned)now.year - back, t.month, t.day, t.clock,
                        &sec);
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
    int r =
        time_moment(bj_two_digits(s.p + 6) * 100 + bj_two_digits(s.p + 8),
                    bj_two_digits(s.p), bj_two_digits(s.p + 3), clock, &local);
    if (r < 0)
        return r;
    const int64_t utc = (int64_t)local - offset_min * (int64_t)60;
    if (utc < 0)
        return -ERANGE;
    *ret_sec = (uint64_t)utc;
    return 0;
}

/* --- durations ------------------------------------------------------------*/

static const struct {
    struct bj_slice word;
    uint64_t value;
} words[] = {
    {BJ_WORD("UNLIMITED"), BJ_UNLIMITED},
    {BJ_WORD("Partition_Limit"), BJ_ABSENT},
    {BJ_WORD("INVALID"), BJ_ABSENT},
    {BJ_WORD("Unknown"), BJ_ABSENT},
    {BJ_WORD("None"), BJ_ABSENT},
    {BJ_WORD("N/A"), BJ_ABSENT},
    {BJ_WORD("INFINITE"), BJ_UNLIMITED},
    {BJ_WORD("NOT_SET"), BJ_ABSENT},
};

static int from_word(struct bj_slice s, uint64_t *ret)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (bj_slice_eq(s, words[i].word)) {
            *ret = words[i].value;
            return 0;
        }
    }
    return -EINVAL;
}

/* ".456" as microseconds, all of s. */
static int fraction(struct bj_slice s, uint64_t *ret)
{
    uint64_t v = 0, weight = 100000;
    if (s.n < 2)
        return -EINVAL;
    for (size_t i = 1; i < s.n; i++) {
        const unsigned d = (unsigned char)(s.p[i] - '0');
        if (d > 9)
            return -EINVAL;
        v += weight * d;
        weight /= 10;
    }
    *ret = v;
    return 0;
}

/* Up to four numbers, and the character after each. */
struct fields {
    uint64_t v[4];
    unsigned n;
    bool day;
    uint64_t usec;
};

static int cut_fields(struct bj_slice s, struct fields *f)
{
    const char *p = s.p;
    const char *const end = s.p + s.n;
    for (;;) {
        const char *behind = bj_digits_at(p, end, &f->v[f->n]);
        if (behind == p)
            return -EINVAL;
        f->n++;
        if (behind == end)
            return 0;
        if (*behind == '.')
            return fraction((struct bj_slice){behind, (size_t)(end - behind)},
                            &f->usec);
        if (*behind == '-' && f->n == 1)
            f->day = true;
        else if (*behind != ':')
            return behind - p == 18 ? -ERANGE : -EINVAL;
        if (f->n == 4)
            return -EINVAL;
        p = behind + 1;
    }
}

/* The common forms "HH:MM:SS" and "MM:SS.mmm"; false for all others. */
static bool common(const char *p, size_t n, uint64_t *ret)
{
    if ((n != 8 && n != 9) || p[2] != ':' || p[5] != (n == 8 ? ':' : '.'))
        return false;
    const unsigned a = bj_two_digits(p), b = bj_two_digits(p + 3);
    const unsigned c = bj_two_digits(p + 6);
    const unsigned d = n == 9 ? (unsigned char)(p[8] - '0') : 0;
    if (a > 99 || b > 99 || c > 99 || d > 9)
        return false;
    *ret = n == 8 ? (a * 3600 + b * 60 + c) * (uint64_t)1000000
                  : (a * 60 + b) * (uint64_t)1000000 + c * 10000 + d * 1000;
    return true;
}

int bj_elapsed_parse(struct bj_slice s, uint64_t *ret_usec)
{
    if (common(s.p, s.n, ret_usec))
        return 0;
    if (s.n == 0) {
        *ret_usec = BJ_ABSENT;
        return 0;
    }
    if ((unsigned char)(s.p[0] - '0') > 9)
        return from_word(s, ret_usec);
    struct fields f = {.n = 0};
    int r = cut_fields(s, &f);
    if (r < 0)
        return r;
    if (f.n > 3 && !f.day)
        return -EINVAL;
    /* With a day the fields count from the left, else from the right. */
    static const uint64_t weights[] = {86400, 3600, 60, 1};
    const unsigned first = f.day ? 0 : 4 - f.n;
    uint64_t sec = 0, part, usec;
    for (unsigned i = 0; i < f.n; i++)
        if (__builtin_mul_overflow(f.v[i], weights[first + i], &part) ||
            __builtin_add_overflow(sec, part, &sec))
            return -ERANGE;
    if (__builtin_mul_overflow(sec, 1000000u, &usec) ||
        __builtin_add_overflow(usec, f.usec, &usec) || usec >= BJ_UNLIMITED)
        return -ERANGE;
    *ret_usec = usec;
    return 0;
}

int bj_duration_sec(struct bj_slice s, uint64_t *ret_sec)
{
    uint64_t usec;
    int r = bj_elapsed_parse(s, &usec);
    if (r == 0)
        *ret_sec = usec >= BJ_UNLIMITED ? usec : usec / 1000000;
    return r;
}
