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
    uint64_t range, max_uw, from, to, dt, total, implausible, doubts;
} pairs[] = {
    {"grows", RANGE_65K, NONE, 1000, 5000, 5 * SEC, 4000, 0, 0},
    {"is constant", RANGE_65K, NONE, 1000, 1000, 5 * SEC, 0, 0, 0},
    {"wraps", RANGE_65K, NONE, RANGE_65K - 700, 300, 5 * SEC, 1000, 0, 0},
    {"wraps to 0", RANGE_65K, NONE, RANGE_65K - 700, 0, 5 * SEC, 700, 0, 0},
    {"wraps from the end", RANGE_262K, NONE, RANGE_262K, 5, SEC, 5, 0, 0},
    {"grows by exactly 1 kW for six seconds", RANGE_65K, NONE, 0, 6000 * W,
     5 * SEC, 6000 * W, 0, 0},
    {"would need more than 1 kW for six seconds", RANGE_65K, NONE, 0,
     6000 * W + 1, 5 * SEC, 0, 1, 0},
    {"grows by twice its limit", NONE, 150 * W, 0, 1800 * W, 5 * SEC, 1800 * W,
     0, 0},
    {"would need more than twice its limit", NONE, 150 * W, 0, 1800 * W + 1,
     5 * SEC, 0, 1, 0},
    {"wraps, with exactly 1 kW", RANGE_65K, NONE, RANGE_65K - 5000 * W,
     1000 * W, 5 * SEC, 6000 * W, 0, 0},
    {"would wrap with more than 1 kW", RANGE_65K, NONE, RANGE_65K - 5000 * W,
     1000 * W + 1, 5 * SEC, 0, 1, 0},
    {"wraps, with twice its limit", RANGE_262K, 150 * W, RANGE_262K - 1000 * W,
     800 * W, 5 * SEC, 1800 * W, 0, 0},
    {"would wrap with more than twice its limit", RANGE_262K, 150 * W,
     RANGE_262K - 1000 * W, 800 * W + 1, 5 * SEC, 0, 1, 0},
    {"a limit of 0 is unknown", RANGE_262K, 0, RANGE_262K - 1000 * W, 500 * W,
     5 * SEC, 1500 * W, 0, 0},
    {"falls", RANGE_262K, NONE, 100000 * W, 12, 5 * SEC, 0, 1, 0},
    {"falls, without a range", NONE, NONE, 100, 99, 5 * SEC, 0, 1, 0},
    {"was outside its range", 1000, NONE, 2000, 1, 5 * SEC, 0, 1, 0},
    {"may have wrapped unseen", RANGE_65K, NONE, 0, 7, 66 * SEC, 7, 0, 1},
    {"cannot have wrapped twice", RANGE_65K, NONE, 0, 7, 65 * SEC, 7, 0, 0},
    {"64 bits", NONE, UINT64_MAX - 1, UINT64_C(1) << 63, UINT64_MAX - 1,
     5 * SEC, (UINT64_C(1) << 63) - 2, 0, 0},
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
        assert_int_equal(a.implausible, pairs[i].implausible);
        assert_int_equal(a.resets, 0);
        assert_int_equal(a.doubts, pairs[i].doubts);
        if (pairs[i].implausible)
            continue;
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
    assert_int_equal(a.resets, 0); /* it may be a false reading */
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
    count(&a, 50 * W, RANGE_65K, NONE, 3601 * SEC);
    assert_int_equal(a.total_uj, 20 * W);
    assert_int_equal(a.resets, 1);
    assert_false(a.slept);
    a.slept = true; /* it did not fall: no reset */
    count(&a, 51 * W, RANGE_65K, NONE, 7200 * SEC);
    assert_int_equal(a.total_uj, 21 * W);
    struct bj_accum p = {0};
    level(&p, 100 * W, 1 * SEC);
    p.slept = true;
    level(&p, 100 * W, 2 * SEC);
    level(&p, 100 * W, 3 * SEC);
    assert_int_equal(p.total_uj, 100 * W);
    assert_int_equal(p.gaps, 1);
}

/* Readings of a counter, one each second, in joules; NO: none.  At most 500 W
 * are possible: 2000 J in a second. */
enum { NO = -1, READINGS = 10 };
static const struct {
    const char *what;
    uint64_t range;
    int read[READINGS];
    uint64_t total, implausible, resets; /* total in joules */
} runs[] = {
    {"one 0", NONE, {100000, 100100, 0, 100300, 100400, NO}, 400, 1, 0},
    {"several 0", NONE, {100000, 100100, 0, 0, 0, 100500, NO}, 500, 1, 0},
    {"0, then the counter moves",
     NONE,
     {100000, 100100, 0, 1, 2, 100500, 100600, NO},
     600,
     1,
     1},
    {"one much too high",
     NONE,
     {100000, 100100, 5000000, 100300, 100400, NO},
     400,
     1,
     0},
    {"two too high, the same",
     NONE,
     {100000, 100100, 5000000, 5000000, 100400, NO},
     400,
     1,
     0},
    {"two false ones that differ",
     NONE,
     {100000, 100100, 0, 7000000, 100400, NO},
     400,
     2,
     0},
    {"a false first one", NONE, {0, 100000, 100100, 100200, NO}, 200, 1, 0},
    {"a false first one, several times",
     NONE,
     {0, 0, 0, 100000, 100100, 100200, NO},
     200,
     1,
     0},
    {"a real jump", NONE, {1000, 1100, 91100, 91200, 91300, NO}, 90300, 1, 0},
    {"a reset", NONE, {100000, 100100, 50, 150, 250, NO}, 300, 1, 1},
    {"a zone of 3 kW: learned",
     NONE,
     {0, 100, 3100, 6100, 9100, 12100, NO},
     12100,
     1,
     0},
    {"0 where a wrap is possible",
     RANGE_65K,
     {65000, 65100, 0, 65300, 65400, NO},
     532, /* with 432 J to the end of the range */
     0,
     0},
    {"0 where a wrap is possible: what was too much is not added again",
     RANGE_65K,
     {65000, 65100, 0, 65300, 65400, 65500, 20, NO},
     552,
     0,
     0},
};

static void false_readings(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(runs); i++) {
        struct bj_accum a = {0};
        uint64_t was = 0;
        print_message("# %s\n", runs[i].what);
        for (size_t k = 0; runs[i].read[k] != NO; k++) {
            count(&a, (uint64_t)runs[i].read[k] * W, runs[i].range, NONE,
                  (k + 1) * SEC);
            assert_true(a.total_uj >= was);
            was = a.total_uj;
        }
        assert_int_equal(a.total_uj / W, runs[i].total);
        assert_int_equal(a.implausible, runs[i].implausible);
        assert_int_equal(a.resets, runs[i].resets);
    }
}

/* Levels, one each second, in watts; NO: none, GAP: a second without a level.
 * The energy is the area below the right ones, in joules. */
enum { GAP = -2 };
static const struct {
    const char *what;
    enum bj_zone_role role;
    uint64_t max_w; /* 0: unknown */
    int read[READINGS];
    uint64_t total, implausible;
} levels[] = {
    {"a GPU of 300 W, one far too high",
     BJ_ZONE_GPU,
     300,
     {250, 250, 65535, 250, 250, NO},
     4 * 250,
     1},
    {"a GPU of 300 W, the first too high",
     BJ_ZONE_GPU,
     300,
     {65535, 250, 250, 250, NO},
     2 * 250,
     1},
    {"a GPU without a limit, one far too high",
     BJ_ZONE_GPU,
     0,
     {250, 250, 4294967, 250, 250, NO},
     4 * 250,
     1},
    {"two false ones that differ",
     BJ_ZONE_GPU,
     300,
     {250, 4294967, 65535, 250, 250, NO},
     4 * 250,
     2},
    {"a GPU draws more than twice its limit: learned",
     BJ_ZONE_GPU,
     300,
     {300, 900, 900, 900, NO},
     600 + 900 + 900,
     0},
    {"always far too high: never right",
     BJ_ZONE_GPU,
     300,
     {250, 250, 65535, 65535, 65535, NO},
     250,
     2},
    {"from 30 W to 600 W: possible",
     BJ_ZONE_GPU,
     700,
     {30, 30, 600, 600, NO},
     30 + 315 + 600,
     0},
    {"a node of 400 W, one far too high",
     BJ_ZONE_NODE,
     0,
     {400, 410, 20000, 400, 400, NO},
     405 + 810 + 400,
     1},
    {"a node, the first too high",
     BJ_ZONE_NODE,
     0,
     {20000, 400, 400, 400, NO},
     2 * 400,
     1},
    {"a node from 100 W to 3 kW: real, though more than ten times",
     BJ_ZONE_NODE,
     0,
     {100, 100, 3000, 3000, 3000, NO},
     100 + 1550 + 3000 + 3000,
     0},
    {"a node from 300 W to 2 kW at once",
     BJ_ZONE_NODE,
     0,
     {300, 300, 2000, 2000, NO},
     300 + 1150 + 2000,
     0},
    {"a reading is missing",
     BJ_ZONE_NODE,
     0,
     {400, 400, GAP, 400, NO},
     3 * 400,
     0},
};

static void false_levels(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(levels); i++) {
        struct bj_accum a = {0};
        print_message("# %s\n", levels[i].what);
        for (size_t k = 0; levels[i].read[k] != NO; k++) {
            struct bj_zone_sample s = nothing();
            s.role = levels[i].role;
            s.max_uw = levels[i].max_w ? levels[i].max_w * W : NONE;
            if (levels[i].read[k] == GAP)
                continue;
            s.power_uw = (uint64_t)levels[i].read[k] * W;
            bj_accum_take(&a, &s, (k + 1) * SEC, SEC);
            assert_true(a.power_uw == NONE || a.power_uw == s.power_uw);
            assert_true(a.power_uw == NONE || levels[i].read[k] < 5000 ||
                        k == 0);
        }
        assert_int_equal(a.total_uj / W, levels[i].total);
        assert_int_equal(a.implausible, levels[i].implausible);
    }
}

/* A false level, as a source derives it from a false reading of its counter,
 * does not make that reading possible. */
static void false_level_and_counter(void **state)
{
    (void)state;
    struct bj_accum a = {0};
    static const uint64_t joules[] = {1000, 1100, 5000000, 1300, 1400};
    static const uint64_t watts[] = {100, 100, 4998900, 100, 100};
    for (size_t k = 0; k < COUNT(joules); k++) {
        struct bj_zone_sample s = nothing();
        s.role = BJ_ZONE_GPU;
        s.energy_uj = joules[k] * W;
        s.power_uw = watts[k] * W;
        bj_accum_take(&a, &s, (k + 1) * SEC, SEC);
        assert_true(a.power_uw == NONE || a.power_uw == 100 * W);
    }
    assert_int_equal(a.total_uj, 400 * W);
    assert_int_equal(a.implausible, 2);
}

/* A counter that begins again at 0 and soon is above its last value: that is
 * neither a false fall nor growth from there. */
static void begins_again(void **state)
{
    (void)state;
    struct bj_accum a = {0};
    static const uint64_t joules[] = {1000, 1100, 5, 1205, 1305};
    for (size_t k = 0; k < COUNT(joules); k++) {
        struct bj_zone_sample s = nothing();
        s.energy_uj = joules[k] * W;
        s.restarted = k == 0 || k == 2;
        bj_accum_take(&a, &s, (k + 1) * 5 * SEC, 5 * SEC);
    }
    assert_int_equal(a.total_uj, (100 + 1200 + 100) * W);
    assert_int_equal(a.resets, 1);
    assert_int_equal(a.implausible, 0);
}

/* A reading that is held back delays what depends on it, but not for ever. */
static void waits_for_confirmation(void **state)
{
    (void)state;
    struct bj_accum a = {0};
    count(&a, 100000 * W, NONE, NONE, 5 * SEC);
    assert_false(bj_accum_waits(&a, 5 * SEC, 5 * SEC));
    count(&a, 0, NONE, NONE, 10 * SEC);
    assert_true(bj_accum_waits(&a, 10 * SEC, 5 * SEC));
    for (uint64_t t = 15; t < 60; t += 5)
        count(&a, 0, NONE, NONE, t * SEC);
    assert_true(bj_accum_waits(&a, 19 * SEC, 5 * SEC));
    assert_false(bj_accum_waits(&a, 20 * SEC, 5 * SEC));
    count(&a, 100900 * W, NONE, NONE, 60 * SEC);
    assert_false(bj_accum_waits(&a, 60 * SEC, 5 * SEC));
    assert_int_equal(a.total_uj, 900 * W);
    a = (struct bj_accum){0};
    level(&a, 100 * W, 5 * SEC);
    level(&a, 65535 * W, 10 * SEC);
    assert_true(bj_accum_waits(&a, 10 * SEC, 5 * SEC));
    level(&a, 100 * W, 15 * SEC);
    assert_false(bj_accum_waits(&a, 15 * SEC, 5 * SEC));
}

/* A counter that its source updates once in a minute grows by much at once: the
 * time since the last change counts. */
static void slow_counters(void **state)
{
    (void)state;
    struct bj_accum a = {0};
    for (uint64_t t = 0; t <= 600; t += 5)
        count(&a, t / 60 * 60 * 400 * W, NONE, NONE, (t + 1) * SEC);
    assert_int_equal(a.total_uj, 240000 * W);
    assert_int_equal(a.implausible, 0);
    /* The first step is held back until the time since makes it possible. */
    a = (struct bj_accum){0};
    for (uint64_t t = 55; t <= 600; t += 5)
        count(&a, t / 60 * 60 * 400 * W, NONE, NONE, (t + 1) * SEC);
    assert_int_equal(a.implausible, 1);
    assert_int_equal(a.total_uj, 240000 * W);
}

/* What a reading held back is not in the state: the position before it is. */
static void state_of_a_held_reading(void **state)
{
    (void)state;
    struct bj_accum a = {0}, b;
    struct bj_buf text = {0};
    count(&a, 100000 * W, NONE, NONE, 1 * SEC);
    count(&a, 100100 * W, NONE, NONE, 2 * SEC);
    count(&a, 0, NONE, NONE, 3 * SEC);
    bj_accum_save(&a, &text);
    struct bj_slice line = {text.p, text.len};
    assert_true(bj_accum_load(&b, &line));
    count(&b, 100300 * W, NONE, NONE, 4 * SEC);
    assert_int_equal(b.total_uj, 300 * W);
    bj_buf_free(&text);
    /* A line of an older version. */
    line = bj_slice_str("100 5000 0 2000000 0 2000000 0 0 0");
    assert_true(bj_accum_load(&b, &line));
    count(&b, 5700, NONE, NONE, 4 * SEC);
    assert_int_equal(b.total_uj, 800);
    line = bj_slice_str("100 5000 0 2000000 0 2000000 0 0 0 7");
    assert_false(bj_accum_load(&b, &line));
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
    struct bj_zone_sample s = nothing();
    s.power_uw = s.max_uw = UINT64_MAX - 1;
    bj_accum_take(&a, &s, SEC, 5 * SEC);
    bj_accum_take(&a, &s, 16 * SEC, 5 * SEC); /* overflows */
    assert_true(a.total_uj == BJ_ABSENT - 1);
    bj_accum_take(&a, &s, 31 * SEC, 5 * SEC);
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
        cmocka_unit_test(false_readings),
        cmocka_unit_test(false_levels),
        cmocka_unit_test(false_level_and_counter),
        cmocka_unit_test(begins_again),
        cmocka_unit_test(waits_for_confirmation),
        cmocka_unit_test(slow_counters),
        cmocka_unit_test(state_of_a_held_reading),
        cmocka_unit_test(trapezoids),
        cmocka_unit_test(fractions),
        cmocka_unit_test(counter_and_power),
        cmocka_unit_test(stamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
