/* Time stamps and seconds since 1970; expected values are from GNU date. */
#include "base/stamp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct bj_slice exact(const char *s, char **mem)
{
    size_t n = strlen(s);
    *mem = malloc(n + !n);
    memcpy(*mem, s, n);
    return (struct bj_slice){*mem, n};
}

static int usec_of(const char *text, unsigned mode, int64_t *ret)
{
    char *mem;
    int r = bj_stamp_usec(exact(text, &mem), mode, ret);
    free(mem);
    return r;
}

static void seconds(void **state)
{
    static const struct {
        const char *text;
        int64_t sec;
    } cases[] = {
        {"0001-01-01T00:00:00Z", -62135596800},
        {"1900-03-01T00:00:00Z", -2203891200},
        {"1969-12-31T23:59:59Z", -1},
        {"1970-01-01T00:00:00Z", 0},
        {"2000-02-29T12:00:00Z", 951825600},
        {"2026-11-20T15:04:05Z", 1795187045},
        {"2026-11-20t15:04:05z", 1795187045},
        {"2026-11-20 15:04:05+00:00", 1795187045},
        {"2026-11-20T15:04:05-00:00", 1795187045},
        {"2026-11-20T15:04:05+01:00", 1795183445},
        {"2026-11-20T15:04:05+0100", 1795183445},
        {"2026-11-20T15:04:05+01", 1795183445},
        {"2026-11-20T15:04:05-23:59", 1795273385},
        {"2016-12-31T23:59:59Z", 1483228799},
        {"2016-12-31T23:59:60Z", 1483228799}, /* the leap second */
        {"2038-01-19T03:14:08Z", 2147483648},
        {"2100-02-28T23:59:59Z", 4107542399},
        {"9999-12-31T23:59:59Z", 253402300799},
        {"2024-12-31T23:30:00+05:45", 1735667100},
        {"2018-01-20T12:00Z", 1516449600}, /* carbonintensity.org.uk */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t usec = 7, sec = 7;
        int r = usec_of(cases[i].text, BJ_STAMP_ZONED, &usec);
        if (r != 0 || usec != cases[i].sec * 1000000)
            fail_msg("%s: %d %lld", cases[i].text, r, (long long)usec);
        assert_int_equal(
            bj_stamp_sec(bj_slice_str(cases[i].text), BJ_STAMP_ZONED, &sec), 0);
        assert_true(sec == cases[i].sec);
    }
}

static void without_zone(void **state)
{
    static const struct {
        const char *text;
        int64_t usec;
    } cases[] = {
        {"2026-11-20", 1795132800000000},
        {"2026-11-20T15:04", 1795187040000000},
        {"2026-11-20T15:04:05", 1795187045000000},
        {"2026-11-20T15:04:05.25", 1795187045250000},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t usec = 7;
        assert_int_equal(usec_of(cases[i].text, BJ_STAMP_ZONED, &usec),
                         -EINVAL);
        assert_int_equal(usec, 7);
        assert_int_equal(usec_of(cases[i].text, BJ_STAMP_BARE_UTC, &usec), 0);
        assert_true(usec == cases[i].usec);
    }
}

static void fractions(void **state)
{
    static const struct {
        const char *text;
        int64_t usec;
    } cases[] = {
        {"1970-01-01T00:00:01.5Z", 1500000},
        {"1970-01-01T00:00:01.000001Z", 1000001},
        {"1970-01-01T00:00:01.0000019999999999999999Z", 1000001},
        {"1970-01-01T00:00:01.999999999Z", 1999999},
        {"1969-12-31T23:59:59.75Z", -250000},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t usec = 7;
        assert_int_equal(usec_of(cases[i].text, BJ_STAMP_ZONED, &usec), 0);
        assert_true(usec == cases[i].usec);
    }
    int64_t sec = 7;
    assert_int_equal(
        bj_stamp_sec(BJ_SLICE("1969-12-31T23:59:59.75Z"), BJ_STAMP_ZONED, &sec),
        0);
    assert_int_equal(sec, -1);
}

static void refused(void **state)
{
    static const struct {
        const char *text;
        int want;
    } cases[] = {
        {"", -EINVAL},
        {"2026", -EINVAL},
        {"2026-11", -EINVAL},
        {"26-11-20", -EINVAL},
        {"2026-1-20T15:04:05Z", -EINVAL},
        {"20261120T150405Z", -EINVAL},
        {"2026-11-20T", -EINVAL},
        {"2026-11-20T15", -EINVAL},
        {"2026-11-20T15Z", -EINVAL},
        {"2026-11-20T15:04:", -EINVAL},
        {"2026-11-20T15:04:5Z", -EINVAL},
        {"2026-11-20T15:04:05.Z", -EINVAL},
        {"2026-11-20T15:04:05,5Z", -EINVAL},
        {"2026-11-20T15:04:05X", -EINVAL},
        {"2026-11-20T15:04:05ZZ", -EINVAL},
        {"2026-11-20T15:04:05 Z", -EINVAL},
        {"2026-11-20T15:04:05+1:00", -EINVAL},
        {"2026-11-20T15:04:05+01:", -EINVAL},
        {"2026-11-20T15:04:05+01:0", -EINVAL},
        {"2026-11-20T15:04:05+01:00:00", -EINVAL},
        {"2026-11-20  15:04:05Z", -EINVAL},
        {" 2026-11-20T15:04:05Z", -EINVAL},
        {"2026-11-20T15:04:05Z ", -EINVAL},
        {"2026-11-20Z", -EINVAL},
        {"-2026-11-20T15:04:05Z", -EINVAL},
        {"+2026-11-20T15:04:05Z", -EINVAL},
        {"Unknown", -EINVAL},
        {"N/A", -EINVAL},
        {"2026-13-20T15:04:05Z", -ERANGE},
        {"2026-00-20T15:04:05Z", -ERANGE},
        {"2026-11-00T15:04:05Z", -ERANGE},
        {"2026-11-31T15:04:05Z", -ERANGE},
        {"2026-02-29T15:04:05Z", -ERANGE},
        {"2100-02-29T15:04:05Z", -ERANGE},
        {"0000-01-01T00:00:00Z", -ERANGE},
        {"2026-11-20T24:00:00Z", -ERANGE},
        {"2026-11-20T15:60:00Z", -ERANGE},
        {"2026-11-20T15:04:61Z", -ERANGE},
        {"2026-11-20T15:04:05+24:00", -ERANGE},
        {"2026-11-20T15:04:05+01:60", -ERANGE},
        {"0001-01-01T00:00:00+00:01", -ERANGE},
        {"9999-12-31T23:59:59-00:01", -ERANGE},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t usec = 7;
        int r = usec_of(cases[i].text, BJ_STAMP_BARE_UTC, &usec);
        if (r != cases[i].want || usec != 7)
            fail_msg("%s: %d", cases[i].text, r);
    }
    int64_t usec = 7;
    struct bj_slice nul = {"2026-11-20\0", 11};
    assert_int_equal(bj_stamp_usec(nul, BJ_STAMP_BARE_UTC, &usec), -EINVAL);
}

static void parsed_fields(void **state)
{
    struct bj_civil c = {0};
    (void)state;
    assert_int_equal(
        bj_civil_parse(BJ_SLICE("2026-11-20T15:04:05.25-03:30"), &c), 0);
    assert_int_equal(c.year, 2026);
    assert_int_equal(c.month, 11);
    assert_int_equal(c.day, 20);
    assert_int_equal(c.hour, 15);
    assert_int_equal(c.minute, 4);
    assert_int_equal(c.second, 5);
    assert_int_equal(c.usec, 250000);
    assert_true(c.zoned);
    assert_int_equal(c.offset_min, -210);
    assert_int_equal(bj_civil_parse(BJ_SLICE("2026-11-20"), &c), 0);
    assert_false(c.zoned);
    assert_int_equal(c.hour, 0);
}

/* Every day of the calendar, compared with the C library's gmtime_r(). */
static void whole_calendar(void **state)
{
    (void)state;
    int64_t days = bj_days_from_civil(1, 1, 1);
    const int64_t end = bj_days_from_civil(9999, 12, 31);
    assert_int_equal(end - days + 1, 3652059);
    for (; days <= end; days++) {
        time_t t = (time_t)days * 86400;
        struct tm tm;
        struct bj_civil c;
        assert_non_null(gmtime_r(&t, &tm));
        bj_civil_from_days(days, &c);
        if (c.year != tm.tm_year + 1900 || (int)c.month != tm.tm_mon + 1 ||
            (int)c.day != tm.tm_mday ||
            bj_days_from_civil(c.year, c.month, c.day) != days)
            fail_msg("day %lld: %d-%u-%u", (long long)days, c.year, c.month,
                     c.day);
        if (c.day == 1 && days > bj_days_from_civil(1, 1, 1)) {
            struct bj_civil last;
            bj_civil_from_days(days - 1, &last);
            assert_int_equal(bj_days_of_month(last.year, last.month), last.day);
        }
    }
}

static void texts(void **state)
{
    static const struct {
        int64_t usec;
        unsigned digits;
        int offset;
        const char *want;
    } cases[] = {
        {1795187045000000, 0, 0, "2026-11-20T15:04:05Z"},
        {1795187045999999, 0, 0, "2026-11-20T15:04:05Z"},
        {1795187045250000, 3, 0, "2026-11-20T15:04:05.250Z"},
        {1795187045000001, 6, 0, "2026-11-20T15:04:05.000001Z"},
        {1795187045000001, 9, 0, "2026-11-20T15:04:05.000001Z"},
        {1795187045990000, 1, 0, "2026-11-20T15:04:05.9Z"},
        {1795183445000000, 0, 60, "2026-11-20T15:04:05+01:00"},
        {1795187045000000, 0, -210, "2026-11-20T11:34:05-03:30"},
        {0, 0, 0, "1970-01-01T00:00:00Z"},
        {-1, 6, 0, "1969-12-31T23:59:59.999999Z"},
        {INT64_MIN, 0, 0, "0001-01-01T00:00:00Z"},
        {INT64_MAX, 6, 0, "9999-12-31T23:59:59.999999Z"},
        {INT64_MAX, 6, 60, "9999-12-31T23:59:59.999999+01:00"},
        {INT64_MIN, 6, -100000, "0001-01-01T00:00:00.000000-23:59"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char buf[BJ_STAMP_MAX];
        assert_ptr_equal(
            bj_stamp_text(cases[i].usec, cases[i].digits, cases[i].offset, buf),
            buf);
        assert_string_equal(buf, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds),       cmocka_unit_test(without_zone),
        cmocka_unit_test(fractions),     cmocka_unit_test(refused),
        cmocka_unit_test(parsed_fields), cmocka_unit_test(whole_calendar),
        cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
