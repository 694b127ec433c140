/* Time zones.  Expected values are from the C library: its localtime_r() with
 * TZ set, hour by hour, and its mktime(). */
#include "base/tz.h"

#include "base/stamp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOUR = 3600, DAY = 86400 };

static void use_libc(const char *name)
{
    setenv("TZ", name, 1);
    tzset();
}

static struct bj_tz *load(const char *name)
{
    struct bj_tz *z = NULL;
    struct bj_err err = {0};
    int r = bj_tz_load(name, &z, &err);
    if (r < 0)
        fail_msg("%s: %s", name, err.msg);
    assert_string_equal(bj_tz_name(z), name);
    return z;
}

/* Zones with daylight-saving time in the north and the south, changes at
 * midnight, half hours, a skipped day, none at all; and rules of POSIX. */
static const char *const zones[] = {"Europe/Berlin",
                                    "America/New_York",
                                    "Australia/Lord_Howe",
                                    "America/Havana",
                                    "Asia/Beirut",
                                    "America/Sao_Paulo",
                                    "Pacific/Apia",
                                    "Asia/Kolkata",
                                    "Africa/Casablanca",
                                    "Antarctica/Troll",
                                    "Etc/GMT+5",
                                    "UTC",
                                    "CET-1CEST,M3.5.0,M10.5.0/3",
                                    "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
                                    "AAA4BBB,J60,J300/0",
                                    "AAA-5:30BBB,59,300"};

/* Offsets and abbreviations of every third hour from 1970 to 2099. */
static void offsets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
        struct bj_tz *z = load(zones[i]);
        use_libc(zones[i]);
        for (time_t t = 0; t < 4102444800; t += 3 * HOUR) {
            struct tm tm;
            localtime_r(&t, &tm);
            if (bj_tz_offset(z, t) != tm.tm_gmtoff ||
                strcmp(bj_tz_short(z, t), tm.tm_zone) != 0)
                fail_msg("%s at %lld: %d %s, expected %ld %s", zones[i],
                         (long long)t, bj_tz_offset(z, t), bj_tz_short(z, t),
                         tm.tm_gmtoff, tm.tm_zone);
        }
        bj_tz_free(z);
    }
}

/* Seconds around each change of the offset. */
static void changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
        struct bj_tz *z = load(zones[i]);
        use_libc(zones[i]);
        for (time_t t = 978307200; t < 2208988800; t += HOUR / 2) {
            if (bj_tz_offset(z, t) == bj_tz_offset(z, t - HOUR / 2))
                continue;
            for (time_t at = t - HOUR / 2; at <= t; at++) {
                struct tm tm;
                localtime_r(&at, &tm);
                assert_int_equal(bj_tz_offset(z, at), tm.tm_gmtoff);
            }
        }
        bj_tz_free(z);
    }
}

/* A day begins at the first time at which the local date is that day: found by
 * walking. */
static void days(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
        struct bj_tz *z = load(zones[i]);
        use_libc(zones[i]);
        int64_t last = INT64_MIN;
        for (time_t t = 1293840000; t < 1420070400; t += HOUR / 4) {
            struct tm tm;
            localtime_r(&t, &tm);
            int64_t date =
                bj_days_from_civil(tm.tm_year + 1900, (unsigned)tm.tm_mon + 1,
                                   (unsigned)tm.tm_mday);
            if (date > last && last != INT64_MIN)
                assert_int_equal(bj_tz_midnight(z, date), t);
            last = date > last ? date : last;
            assert_int_equal(bj_tz_day(z, t), last);
        }
        bj_tz_free(z);
    }
}

/* Times of clocks, written by hand from the rule of the zone. */
static void clocks(void **state)
{
    (void)state;
    static const struct {
        const char *zone, *local, *utc;
    } cases[] = {
        {"Europe/Berlin", "2026-11-01T00:00:00", "2026-10-31T23:00:00Z"},
        {"Europe/Berlin", "2026-07-01T00:00:00", "2026-06-30T22:00:00Z"},
        /* skipped, and shown twice */
        {"Europe/Berlin", "2026-03-29T02:30:00", "2026-03-29T01:00:00Z"},
        {"Europe/Berlin", "2026-10-25T02:30:00", "2026-10-25T00:30:00Z"},
        /* clocks go from 24:00 to 01:00, and from 01:00 to 00:00 */
        {"America/Havana", "2026-03-08T00:00:00", "2026-03-08T05:00:00Z"},
        {"America/Havana", "2026-11-01T00:00:00", "2026-11-01T04:00:00Z"},
        /* a day that never was */
        {"Pacific/Apia", "2011-12-30T00:00:00", "2011-12-30T10:00:00Z"},
        {"Pacific/Apia", "2011-12-31T00:00:00", "2011-12-30T10:00:00Z"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_tz *z = load(cases[i].zone);
        int64_t local, expected;
        assert_int_equal(bj_stamp_sec(bj_slice_str(cases[i].local),
                                      BJ_STAMP_BARE_UTC, &local),
                         0);
        assert_int_equal(
            bj_stamp_sec(bj_slice_str(cases[i].utc), BJ_STAMP_ZONED, &expected),
            0);
        assert_int_equal(bj_tz_sec(z, local), expected);
        bj_tz_free(z);
    }
    assert_int_equal(bj_tz_day(bj_tz_utc, -1), -1);
    assert_int_equal(bj_tz_midnight(bj_tz_utc, -1), -DAY);
    assert_string_equal(bj_tz_short(bj_tz_utc, 0), "UTC");
}

static void wrong_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int r;
    } cases[] = {{"", -EINVAL},
                 {"../../etc/passwd", -EINVAL},
                 {"/etc/localtime", -EINVAL},
                 {"Europe/../../passwd", -EINVAL},
                 {"Europe", -ENOENT},
                 {"Europe/Atlantis", -ENOENT},
                 {"zone.tab", -EINVAL},
                 {"tzdata", -ENOENT},
                 {"CET-1CEST,M13.5.0,M10.5.0", -EINVAL},
                 {"CET-1CEST,M3.5.0", -EINVAL},
                 {"CET-99", -ENOENT},
                 {"right/Europe/Berlin", -EINVAL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_tz *z = NULL;
        struct bj_err err = {0};
        int r = bj_tz_load(cases[i].name, &z, &err);
        if (r == -ENOENT && cases[i].r == -EINVAL &&
            strncmp(cases[i].name, "right", 5) == 0)
            continue; /* not installed */
        if (r != cases[i].r)
            fail_msg("%s: %d %s", cases[i].name, r, err.msg);
        assert_null(z);
    }
}

/* Every cut and every changed byte of a file: an error or a zone, no crash. */
static void damaged_files(void **state)
{
    (void)state;
    char dir[] = "/tmp/batchjob-zone-XXXXXX", path[64];
    static char good[65536], bad[65536];
    FILE *f = fopen("/usr/share/zoneinfo/Europe/Berlin", "r");
    assert_non_null(f);
    size_t n = fread(good, 1, sizeof(good), f);
    fclose(f);
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/Zone", dir);
    setenv("TZDIR", dir, 1);
    for (size_t i = 0; i < 2 * n; i++) {
        const size_t len = i < n ? i : n;
        memcpy(bad, good, n);
        if (i >= n)
            bad[i - n] = (char)(bad[i - n] ^ 0xff);
        f = fopen(path, "w");
        assert_non_null(f);
        assert_int_equal(fwrite(bad, 1, len, f), len);
        fclose(f);
        struct bj_tz *z = NULL;
        int r = bj_tz_load("Zone", &z, NULL);
        if (i < n)
            assert_true(r < 0 || len == n);
        if (r == 0)
            (void)bj_tz_day(z, 1785542400);
        bj_tz_free(z);
    }
    unsetenv("TZDIR");
    unlink(path);
    rmdir(dir);
}

static void of_machine(void **state)
{
    (void)state;
    char name[BJ_TZ_NAME];
    setenv("TZ", ":Europe/Berlin", 1);
    bj_tz_of_machine(name);
    assert_string_equal(name, "Europe/Berlin");
    setenv("TZ", "Europe/Atlantis", 1);
    bj_tz_of_machine(name);
    assert_string_equal(name, "UTC");
    setenv("TZ", "Etc/Zulu", 1);
    bj_tz_of_machine(name);
    assert_string_equal(name, "UTC");
    unsetenv("TZ");
    bj_tz_of_machine(name);
    struct bj_tz *z = load(name);
    bj_tz_use(z);
    assert_ptr_equal(bj_tz_used(), z);
    bj_tz_free(z);
    assert_ptr_equal(bj_tz_used(), bj_tz_utc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets),     cmocka_unit_test(changes),
        cmocka_unit_test(days),        cmocka_unit_test(clocks),
        cmocka_unit_test(wrong_names), cmocka_unit_test(damaged_files),
        cmocka_unit_test(of_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
