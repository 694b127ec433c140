/* Values over time: order, the current value, profiles. */
#include "carbon/points.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { HOUR = 3600, DAY = 86400 };
#define T 1795186800u /* 2026-11-20T15:00:00Z, a full hour */
#define DIRECT BJ_FACTOR_DIRECT
#define MARGINAL BJ_FACTOR_MARGINAL

static struct bj_points points;

static int add(uint64_t start, uint32_t len, uint32_t mg,
               enum bj_factor_kind kind, bool estimated)
{
    return bj_points_add(&points,
                         (struct bj_carbon_point){.start_sec = start,
                                                  .len_sec = len,
                                                  .mg_per_kwh = mg,
                                                  .kind = (uint8_t)kind,
                                                  .estimated = estimated});
}

static uint32_t at(uint64_t now, enum bj_factor_kind kind, int want_from)
{
    enum bj_factor_from from;
    const struct bj_carbon_point *p = bj_points_at(&points, kind, now, &from);
    if (!p)
        return 0;
    assert_int_equal(p->kind, kind);
    assert_int_equal(from, want_from);
    return p->mg_per_kwh;
}

static int clean(void **state)
{
    (void)state;
    bj_points_free(&points);
    return 0;
}

static void test_order(void **state)
{
    (void)state;
    static const unsigned order[] = {3, 1, 4, 0, 2};
    for (int k = 0; k < 5; k++)
        add(T + 900 * order[k], 900, 10 + order[k], DIRECT, false);
    add(T + 1800, 900, 99, MARGINAL, false);
    assert_int_equal(points.n, 6);
    for (size_t i = 1; i < points.n; i++)
        assert_true(points.v[i - 1].start_sec <= points.v[i].start_sec);
    bj_points_trim(&points, T + 900, T + 1800);
    assert_int_equal(points.n, 3);
    assert_int_equal(points.v[0].mg_per_kwh, 11);
    assert_int_equal(points.v[2].mg_per_kwh, 99);
    bj_points_trim(&points, T + 9000, T + 9001);
    assert_int_equal(points.n, 0);
    bj_points_trim(&points, 0, 1);
}

/* A measured value replaces a forecast, but not the other way round; of two
 * measured values or two forecasts, the later one is kept. */
static void test_replace(void **state)
{
    (void)state;
    add(T, 1800, 258, DIRECT, true);
    add(T, 1800, 257, DIRECT, true);
    assert_int_equal(at(T, DIRECT, BJ_FACTOR_LIVE), 257);
    add(T, 1800, 263, DIRECT, false);
    assert_int_equal(at(T, DIRECT, BJ_FACTOR_LIVE), 263);
    add(T, 1800, 250, DIRECT, true);
    assert_int_equal(at(T, DIRECT, BJ_FACTOR_LIVE), 263);
    add(T, 1800, 262, DIRECT, false);
    assert_int_equal(at(T, DIRECT, BJ_FACTOR_LIVE), 262);
    assert_int_equal(points.n, 1);
}

static void test_now(void **state)
{
    (void)state;
    add(T, 900, 28, DIRECT, false);
    add(T + 900, 900, 31, DIRECT, false);
    add(T + 900, 300, 400, MARGINAL, false);
    assert_int_equal(at(T - 1, DIRECT, 0), 0); /* too early */
    assert_int_equal(at(T, DIRECT, BJ_FACTOR_LIVE), 28);
    assert_int_equal(at(T + 899, DIRECT, BJ_FACTOR_LIVE), 28);
    assert_int_equal(at(T + 900, DIRECT, BJ_FACTOR_LIVE), 31);
    /* valid for exactly two hours from its start */
    assert_int_equal(at(T + 900 + 2 * HOUR - 1, DIRECT, BJ_FACTOR_LIVE), 31);
    assert_int_equal(at(T + 900 + 2 * HOUR, DIRECT, 0), 0);
    assert_int_equal(at(T + 900, MARGINAL, BJ_FACTOR_LIVE), 400);
    assert_int_equal(at(T + 899, MARGINAL, 0), 0);
    assert_int_equal(at(T, BJ_FACTOR_LIFECYCLE, 0), 0);
}

/* The value of a year, that of an hour in it, and the times after both. */
static void test_stated(void **state)
{
    (void)state;
    add(T - 100 * DAY, 365 * DAY, 45, DIRECT, false);
    add(T, HOUR, 31, DIRECT, false);
    assert_int_equal(at(T - 100 * DAY, DIRECT, BJ_FACTOR_LIVE), 45);
    assert_int_equal(at(T - 1, DIRECT, BJ_FACTOR_STATED), 45);
    assert_int_equal(at(T, DIRECT, BJ_FACTOR_LIVE), 31);
    assert_int_equal(at(T + 2 * HOUR, DIRECT, BJ_FACTOR_STATED), 45);
    assert_int_equal(at(T + 265 * DAY - 1, DIRECT, BJ_FACTOR_STATED), 45);
    assert_int_equal(at(T + 265 * DAY, DIRECT, 0), 0);
}

static uint32_t profile(uint64_t now, enum bj_factor_kind kind)
{
    struct bj_carbon_point p;
    if (!bj_points_profile(&points, kind, now, &p))
        return 0;
    assert_true(p.estimated);
    assert_int_equal(p.start_sec, now - now % HOUR);
    assert_int_equal(p.len_sec, HOUR);
    assert_int_equal(p.kind, kind);
    return p.mg_per_kwh;
}

static void test_profile(void **state)
{
    (void)state;
    assert_int_equal(profile(T, DIRECT), 0);
    /* yesterday's hour: the mean of 20, 21, 23 is 21.33 */
    add(T - DAY, 900, 20, DIRECT, false);
    add(T - DAY + 900, 900, 21, DIRECT, false);
    add(T - DAY + 3599, 900, 23, DIRECT, true);
    add(T - DAY + 3600, 900, 500, DIRECT, false);
    add(T - DAY - 1, 900, 500, DIRECT, false);
    add(T - DAY, 900, 700, MARGINAL, false);
    assert_int_equal(profile(T, DIRECT), 21);
    assert_int_equal(profile(T + 3599, DIRECT), 21);
    assert_int_equal(profile(T + 3600, DIRECT), 500);
    assert_int_equal(profile(T, MARGINAL), 700);
    assert_int_equal(profile(T, BJ_FACTOR_LIFECYCLE), 0);
    /* preferred: 7 days ago; then 1 day, then 8; 9 days ago is not used */
    add(T - 8 * DAY, 900, 80, DIRECT, false);
    assert_int_equal(profile(T, DIRECT), 21);
    assert_int_equal(profile(T + 7 * DAY, DIRECT), 21);
    add(T - 7 * DAY, 900, 70, DIRECT, false);
    assert_int_equal(profile(T, DIRECT), 70);
    assert_int_equal(profile(T + DAY, DIRECT), 21);
    assert_int_equal(profile(T + 9 * DAY, DIRECT), 0);
    assert_int_equal(profile(T + 5 * HOUR, DIRECT), 0);
}

/* The value of a month gives no profile of its first hour. */
static void test_no_profile_of_long_period(void **state)
{
    (void)state;
    add(T - DAY, 30 * DAY, 45, DIRECT, false);
    assert_int_equal(profile(T, DIRECT), 0);
}

static void test_limit(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < BJ_POINTS_MAX; i++)
        assert_int_equal(add(T + i, 60, 1, DIRECT, false), 0);
    assert_int_equal(add(T - 1, 60, 1, DIRECT, false), -E2BIG);
    assert_int_equal(add(T + 1, 60, 2, DIRECT, false), 0); /* replaces */
    assert_int_equal(points.n, BJ_POINTS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_order, clean),
        cmocka_unit_test_teardown(test_replace, clean),
        cmocka_unit_test_teardown(test_now, clean),
        cmocka_unit_test_teardown(test_stated, clean),
        cmocka_unit_test_teardown(test_profile, clean),
        cmocka_unit_test_teardown(test_no_profile_of_long_period, clean),
        cmocka_unit_test_teardown(test_limit, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
