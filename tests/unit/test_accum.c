/* The accumulator: energy from counters that wrap or are reset, and from power
 * values. */
#include "core/energy/accum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SEC UINT64_C(1000000)
#define W UINT64_C(1000000)
#define NONE BJ_ABSENT

/* Counter ranges of real processors. */
#define RANGE_65K UINT64_C(65532610987)
#define RANGE_262K UINT64_C(262143328850)

static struct bj_zone_sample nothing(void)
{
    return (struct bj_zone_sample){.energy_uj = NONE,
                                   .range_uj = NONE,
                                   .power_uw = NONE,
                                   .limit_uw = NONE,
                                   .max_uw = NONE,
                                   .stamp_usec = NONE};
}

static void count(struct bj_accum *a, uint64_t uj, uint64_t range,
                  uint64_t max_uw, uint64_t now_usec)
{
    struct bj_zone_sample s = nothing();
    s.energy_uj = uj;
    s.range_uj = range;
    s.max_uw = max_uw;
    bj_accum_take(a, &s, now_usec, 5 * SEC);
}

static void level(struct bj_accum *a, uint64_t uw, uint64_t now_usec)
{
    struct bj_zone_sample s = nothing();
    s.power_uw = uw;
    bj_accum_take(a, &s, now_usec, 5 * SEC);
}

/* Two readings of a counter, dt apart. */
static const struct {
    const char *what;
    uint64_t range, max_uw, from, to, dt, total, resets, doubts;
} pairs[] = {
    {"grows", RANGE_65K, NONE, 1000, 5000, 5 * SEC, 4000, 0, 0},
    {"is constant", RANGE_65K, NONE, 1000, 1000, 5 * SEC, 0, 0, 0},
    {"wraps", RANGE_65K, NONE, RANGE_65K - 700, 300, 5 * SEC, 1000, 0, 0},
    {"wraps to 0", RANGE_65K, NONE, RANGE_65K - 700, 0, 5 * SEC, 700, 0, 0},
    {"wraps from the end", RANGE_262K, NONE, RANGE_262K, 5, SEC, 5, 0, 0},
    {"wraps, with exactly 1 kW", RANGE_65K, NONE, RANGE_65K - 4000 * W,
     1000 * W, 5 * SEC, 5000 * W, 0, 0},
    {"would need more than 1 kW", RANGE_65K, NONE, RANGE_65K - 4000 * W,
     1000 * W + 1, 5 * SEC, 0, 1, 0},
    {"wraps, with twice its limit", RANGE_262K, 150 * W, RANGE_262K - 1000 * W,
     500 * W, 5 * SEC, 1500 * W, 0, 0},
    {"would need more than twice its limit", RANGE_262K, 150 * W,
     RANGE_262K - 1000 * W, 500 * W + 1, 5 * SEC, 0, 1, 0},
    {"a limit of 0 is unknown", RANGE_262K, 0, RANGE_262K - 1000 * W, 500 * W,
     5 * SEC, 1500 * W, 0, 0},
    {"is reset", RANGE_262K, NONE, 100000 * W, 12, 5 * SEC, 0, 1, 0},
    {"falls, without a range", NONE, NONE, 100, 99, 5 * SEC, 0, 1, 0},
    {"was outside its range", 1000, NONE, 2000, 1, 5 * SEC, 0, 1, 0},
    {"may have wrapped unseen", RANGE_65K, NONE, 0, 7, 66 * SEC, 7, 0, 1},
    {"cannot have wrapped twice", RANGE_65K, NONE, 0, 7, 65 * SEC, 7, 0, 0},
    {"64 bits", NONE, NONE, UINT64_C(1) << 63, UINT64_MAX - 1, 5 * SEC,
     (UINT64_C(1) << 63) - 2, 0, 0},
    {"largest values", UINT64_MAX - 1, UINT64_MAX - 1, UINT64_MAX - 2, 1,
     UINT64_MAX - 10 * SEC, 2, 0, 1},
};

static void counters(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct bj_accum a = {0};
        print_message("# %s\n", pairs[i].what);
        count(&a, pairs[i].from, pairs[i].range, pairs[i].max_uw, SEC);
        assert_int_equal(a.total_uj, 0);
        assert_true(a.power_uw == NONE);
        count(&a, pairs[i].to, pairs[i].range, pairs[i].max_uw,
              SEC + pairs[i].dt);
        assert_int_equal(a.total_uj, pairs[i].total);
        assert_int_equal(a.resets, pairs[i].resets);
        assert_int_equal(a.doubts, pairs[i].doubts);
        assert_int_equal(a.raw_uj, pairs[i].to);
        uint64_t sum = a.total_uj;
        count(&a, pairs[i].to, pairs[i].range, pairs[i].max_uw,
              2 * SEC + pairs[i].dt);
        assert_int_equal(a.total_uj, sum);
    }
}

/* 300 W for an hour, read every five seconds, through both ranges. */
static void an_hour_of_wraps(void **state)
{
    (void)state;
    const uint64_t ranges[] = {RANGE_65K, RANGE_262K};
    for (size_t i = 0; i < COUNT(ranges); i++) {
        struct bj_accum a = {0};
        uint64_t raw = ranges[i] - 1, wraps = 0;
        count(&a, raw, ranges[i], 200 * W, SEC);
        for (uint64_t t = 1; t <= 720; t++) {
            uint64_t was = raw;
            raw = (raw + 300 * W * 5) % ranges[i];
            wraps += raw < was;
            count(&a, raw, ranges[i], 200 * W, SEC + t * 5 * SEC);
            assert_int_equal(a.power_uw, 300 * W);
        }
        assert_int_equal(a.total_uj, 300 * W * 3600);
        assert_int_equal(a.resets + a.gaps + a.doubts, 0);
        assert_true(wraps >= 5);
    }
}

/* Energy before and after a reset is counted. */
static void counting_continues_after_a_reset(void **state)
{
    (void)state;
    struct bj_accum a = {0};
    count(&a, 50000 * W, RANGE_65K, NONE, 1 * SEC);
    count(&a, 50100 * W, RANGE_65K, NONE, 2 * SEC);
    count(&a, 30 * W, RANGE_65K, NONE, 3 * SEC);
    assert_true(a.power_uw == NONE);
    count(&a, 80 * W, RANGE_65K, NONE, 4 * SEC);
    assert_int_equal(a.total_uj, 150 * W);
    assert_int_equal(a.power_uw, 50 * W);
    assert_int_equal(a.resets, 1);
}

/* After the machine slept, a counter that falls was reset and did not wrap. */
static void wrap_after_sleep_is_a_reset(void **state)
{
    (void)state;
    struct bj_accum a = {0};
    count(&a, RANGE_65K - 100 * W, RANGE_65K, NONE, 1 * SEC);
    a.slept = true;
    count(&a, 30 * W, RANGE_65K, NONE, 3600 * SEC);
    assert_int_equal(a.total_uj, 0);
    assert_int_equal(a.resets, 1);
    assert_false(a.slept);
    a.slept = true; /* it did not fall: no reset */
    count(&a, 31 * W, RANGE_65K, NONE, 7200 * SEC);
    assert_int_equal(a.total_uj, 1 * W);
    struct bj_accum p = {0};
    level(&p, 100 * W, 1 * SEC);
    p.slept = true;
    level(&p, 100 * W, 2 * SEC);
    level(&p, 100 * W, 3 * SEC);
    assert_int_equal(p.total_uj, 100 * W);
    assert_int_equal(p.gaps, 1);
}

static void trapezoids(void **state)
{
    (void)state;
    struct bj_accum a = {0};
    level(&a, 100 * W, 10 * SEC);
    assert_int_equal(a.total_uj, 0);
    assert_int_equal(a.power_uw, 100 * W);
    level(&a, 200 * W, 15 * SEC);
    assert_int_equal(a.total_uj, 750 * W);
    level(&a, 0, 17 * SEC);
    assert_int_equal(a.total_uj, 950 * W);
    level(&a, 0, 32 * SEC); /* three periods: no gap yet */
    assert_int_equal(a.gaps, 0);
    level(&a, 500 * W, 47 * SEC + 1);
    assert_int_equal(a.gaps, 1);
    assert_int_equal(a.total_uj, 950 * W);
    level(&a, 500 * W, 48 * SEC + 1);
    assert_int_equal(a.total_uj, 1450 * W);
}

/* Fractions of a microjoule are not lost: half a microwatt on average for three
 * seconds, a million times 3 us. */
static void fractions(void **state)
{
    (void)state;
    struct bj_accum a = {0};
    uint64_t now = SEC;
    level(&a, 1, now);
    for (int i = 0; i < 1000000; i++)
        level(&a, (uint64_t)(i & 1), now += 3);
    assert_int_equal(a.total_uj, 1);
    assert_int_equal(a.part, 1000000);
    a = (struct bj_accum){0};
    level(&a, UINT64_MAX - 1, SEC);
    level(&a, UINT64_MAX - 1, 16 * SEC); /* overflows */
    assert_true(a.total_uj == BJ_ABSENT - 1);
    level(&a, UINT64_MAX - 1, 31 * SEC);
    assert_true(a.total_uj == BJ_ABSENT - 1);
}

static void both(struct bj_accum *a, uint64_t uj, uint64_t uw, uint64_t now)
{
    struct bj_zone_sample s = nothing();
    s.energy_uj = uj;
    s.power_uw = uw;
    s.limit_uw = 250 * W;
    bj_accum_take(a, &s, now, 5 * SEC);
}

/* Energy comes from the counter, even if some samples have only the power;
 * power is the reported value. */
static void counter_and_power(void **state)
{
    (void)state;
    struct bj_accum a = {0};
    both(&a, 1000, 70 * W, 5 * SEC);
    assert_int_equal(a.power_uw, 70 * W);
    assert_int_equal(a.limit_uw, 250 * W);
    both(&a, 3000, 80 * W, 10 * SEC);
    assert_int_equal(a.total_uj, 2000);
    assert_int_equal(a.power_uw, 80 * W);
    both(&a, NONE, 90 * W, 15 * SEC);
    assert_int_equal(a.total_uj, 2000);
    assert_int_equal(a.power_uw, 90 * W);
    both(&a, 4000, NONE, 20 * SEC);
    assert_int_equal(a.total_uj, 3000);
    assert_int_equal(a.power_uw, 100); /* 1000 uJ in the ten seconds */
    both(&a, NONE, NONE, 25 * SEC);
    assert_true(a.power_uw == NONE);
    both(&a, 5000, NONE, 30 * SEC);
    assert_int_equal(a.total_uj, 4000);
    assert_int_equal(a.gaps + a.resets, 0);
}

/* The time stamps of the source are used; a reading whose time stamp is not
 * newer is ignored. */
static void stamps(void **state)
{
    (void)state;
    struct bj_accum a = {0};
    struct bj_zone_sample s = nothing();
    s.power_uw = 100 * W;
    s.stamp_usec = 10 * SEC;
    bj_accum_take(&a, &s, 11 * SEC, 5 * SEC);
    s.power_uw = 300 * W;
    bj_accum_take(&a, &s, 16 * SEC, 5 * SEC);
    assert_int_equal(a.power_uw, 100 * W);
    s.stamp_usec = 9 * SEC;
    bj_accum_take(&a, &s, 17 * SEC, 5 * SEC);
    assert_int_equal(a.total_uj, 0);
    s.stamp_usec = 14 * SEC;
    bj_accum_take(&a, &s, 30 * SEC, 5 * SEC);
    assert_int_equal(a.total_uj, 800 * W);
    assert_int_equal(a.stamp_usec, 14 * SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters),
        cmocka_unit_test(an_hour_of_wraps),
        cmocka_unit_test(counting_continues_after_a_reset),
        cmocka_unit_test(wrap_after_sleep_is_a_reset),
        cmocka_unit_test(trapezoids),
        cmocka_unit_test(fractions),
        cmocka_unit_test(counter_and_power),
        cmocka_unit_test(stamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
