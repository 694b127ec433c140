/* The next time window to request from a source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

#include "statsdb/import/window.h"

static const struct bj_window_rules rules = {.since_sec = 1000,
                                             .overlap_sec = 100,
                                             .slice_sec = 500,
                                             .interval_sec = 60};

static const struct {
    const char *what;
    struct bj_covered covered;
    int64_t now;
    bool any;
    struct bj_window want;
} windows[] = {
    {"nothing imported yet",
     {0, 0},
     9000,
     true,
     {8500, 9000, {8500, 9000}, false}},
    {"nothing imported yet, little to request",
     {0, 0},
     1200,
     true,
     {1000, 1200, {1000, 1200}, false}},
    {"older history",
     {8500, 9000},
     9059,
     true,
     {8000, 8500, {8000, 9000}, true}},
    {"the new end goes first",
     {8500, 9000},
     9060,
     true,
     {8900, 9060, {8500, 9060}, false}},
    {"the oldest slice",
     {1200, 9000},
     9001,
     true,
     {1000, 1200, {1000, 9000}, true}},
    {"all imported", {1000, 9000}, 9059, false, {0}},
    {"more imported than requested", {900, 9000}, 9059, false, {0}},
    {"after a long pause",
     {1000, 9000},
     20000,
     true,
     {8900, 9500, {1000, 9500}, false}},
    {"the clock was set back",
     {1000, 9000},
     5000,
     true,
     {4900, 5000, {1000, 5000}, false}},
    {"the clock was set back before all that is imported",
     {8500, 9000},
     5000,
     true,
     {4900, 5000, {4900, 5000}, false}},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        struct bj_window w = {0};
        print_message("# %s\n", windows[i].what);
        assert_int_equal(
            bj_window_next(&rules, &windows[i].covered, windows[i].now, &w),
            windows[i].any);
        assert_int_equal(w.start_sec, windows[i].want.start_sec);
        assert_int_equal(w.end_sec, windows[i].want.end_sec);
        assert_int_equal(w.after.from_sec, windows[i].want.after.from_sec);
        assert_int_equal(w.after.to_sec, windows[i].want.after.to_sec);
        assert_int_equal(w.backfill, windows[i].want.backfill);
    }
}

/* Bulk mode is used for history, and after pauses of more than an hour. */
static void test_bulk(void **state)
{
    static const struct bj_window_rules day = {
        .overlap_sec = 7200, .slice_sec = 86400, .interval_sec = 300};
    static const struct {
        int64_t rest;
        bool bulk;
    } cases[] = {{300, false}, {3900, false}, {3901, true}, {900000, true}};
    struct bj_covered c = {1000000, 2000000};
    struct bj_window w;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(bj_window_next(&day, &c, c.to_sec + cases[i].rest, &w));
        assert_int_equal(bj_window_bulk(&day, &w), cases[i].bulk);
    }
    c = (struct bj_covered){0};
    assert_true(bj_window_next(&day, &c, 2000000, &w));
    assert_true(bj_window_bulk(&day, &w));
}

/* Every second since the start is requested, even after failures. */
static void test_no_gap(void **state)
{
    static unsigned char requested[20000];
    struct bj_covered c = {0, 0};
    uint64_t seed = 5;
    (void)state;
    for (int64_t now = 5000; now < 19000;) {
        struct bj_window w;
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        if (!bj_window_next(&rules, &c, now, &w)) {
            assert_true(c.to_sec + rules.interval_sec > now);
            now = c.to_sec + rules.interval_sec + (int64_t)(seed >> 33) % 900;
            continue;
        }
        assert_true(w.start_sec < w.end_sec && w.end_sec <= now);
        assert_true(w.end_sec - w.start_sec <=
                    rules.slice_sec + rules.overlap_sec);
        if ((seed >> 40) % 3 == 0) { /* the request failed */
            now += (int64_t)(seed >> 33) % 50;
            continue;
        }
        for (int64_t t = w.start_sec; t < w.end_sec; t++)
            requested[t] = 1;
        c = w.after;
        for (int64_t t = c.from_sec; t < c.to_sec; t++)
            assert_true(requested[t]);
    }
    assert_int_equal(c.from_sec, 1000);
    assert_int_equal(bj_window_done(&rules, &c), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_bulk),
        cmocka_unit_test(test_no_gap),
    };
    return cmocka_run_group_tests_name("statsdb_window", tests, NULL, NULL);
}
