/* Numbers of a job that are made of several of the store. */
#include "apiserver/jobs.h"
#include "statsdb/best.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those above */
#include <cmocka.h>

#define NONE BJ_SQL_NULL

static const struct {
    const char *key;
    int64_t value[BJ_JOB_VALUES], want;
} cases[] = {
    /* KiB, bytes when negative */
    {"memory_allocated_bytes", {3}, 3072},
    {"memory_allocated_bytes", {-3001}, 3001},
    {"memory_allocated_bytes", {0}, 0},
    {"memory_allocated_bytes", {NONE}, NONE},
    {"memory_allocated_bytes", {INT64_MAX}, NONE},
    /* milliseconds, microseconds when negative */
    {"cpu_system_seconds", {1500}, 1500000},
    {"cpu_system_seconds", {-1500001}, 1500001},
    {"cpu_system_seconds", {NONE}, NONE},
    {"exit_code", {0, NONE}, NONE},
    {"exit_code", {0, 100}, 0},
    {"exit_signal", {9, 100}, 9},
    {"submit", {0}, NONE},
    {"submit", {5}, 5},
    {"cpus_requested", {NONE, 4}, 4},
    {"cpus_requested", {8, 4}, 8},
    {"cpus_requested", {NONE, NONE}, NONE},
    /* start, eligible, submit */
    {"wait_seconds", {100, 90, 50}, 10},
    {"wait_seconds", {100, NONE, 50}, 50},
    {"wait_seconds", {100, NONE, 0}, NONE},
    {"wait_seconds", {100, 120, 50}, 0},
    {"wait_seconds", {NONE, 90, 50}, NONE},
    {"wait_seconds", {INT64_MAX, -5, 50}, NONE},
    /* what is to be added, start, end, suspended */
    {"elapsed_seconds", {0, 1000, 1100, NONE}, 100},
    {"elapsed_seconds", {0, 1000, 1100, 30}, 70},
    {"elapsed_seconds", {-7, 1000, 1100, 30}, 63},
    {"elapsed_seconds", {42, NONE, 1100, 30}, 42},
    {"elapsed_seconds", {42, 1000, NONE, 30}, 42},
    {"elapsed_seconds", {NONE, 1000, 1100, NONE}, NONE},
    {"elapsed_seconds", {0, -2, INT64_MAX, NONE}, NONE},
    {"elapsed_seconds", {INT64_MAX, 1000, 1100, NONE}, NONE},
    {"cpu_allocated_seconds", {4, 0, 1000, 1100, NONE}, 400},
    {"cpu_allocated_seconds", {4, NONE, 1000, 1100, NONE}, NONE},
    {"cpu_allocated_seconds", {INT64_MAX, 2, NONE, NONE, NONE}, NONE},
    /* measured, its source, accounting's */
    {"cpu_used_seconds", {7, BJ_FROM_NODES, 360000}, 7},
    {"cpu_used_seconds", {7, BJ_FROM_PROM, 360000}, 7},
    {"cpu_used_seconds", {7, BJ_FROM_SCHEDULER, 360000}, 360000000},
    {"cpu_used_seconds", {7, NONE, 360000}, 360000000},
    {"cpu_used_seconds", {NONE, NONE, NONE}, NONE},
    /* the same, CPUs, seconds as above */
    {"cpu_efficiency_percent",
     {950000, BJ_FROM_PROM, 360000, 4, 0, 1000, 1100, NONE},
     950000},
    {"cpu_efficiency_percent",
     {NONE, NONE, 360000, 4, 0, 1000, 1100, NONE},
     900000},
    {"cpu_efficiency_percent",
     {1, BJ_FROM_SCHEDULER, 360000, 4, 0, 1000, 1100, NONE},
     900000},
    {"cpu_efficiency_percent",
     {NONE, NONE, -360000999, 4, 0, 1000, 1100, NONE},
     900002},
    {"cpu_efficiency_percent",
     {NONE, NONE, NONE, 4, 0, 1000, 1100, NONE},
     NONE},
    {"cpu_efficiency_percent",
     {NONE, NONE, 360000, 4, 0, 1000, 1000, NONE},
     NONE},
    {"cpu_efficiency_percent",
     {NONE, NONE, 360000, NONE, 0, 1000, 1100, NONE},
     NONE},
    {"cpu_efficiency_percent", /* it runs */
     {NONE, NONE, 360000, 4, 90, 1000, NONE, NONE},
     NONE},
    {"cpu_efficiency_source",
     {950000, BJ_FROM_PROM, 360000, 4, 0, 1000, 1100, NONE},
     BJ_FROM_PROM},
    {"cpu_efficiency_source",
     {NONE, NONE, 360000, 4, 0, 1000, 1100, NONE},
     BJ_FROM_SCHEDULER},
    {"cpu_efficiency_source", {NONE, NONE, NONE, 4, 0, 1000, 1100, NONE}, NONE},
    /* measured, its source, peak, of a task */
    {"memory_peak_bytes", {5, BJ_FROM_NODES, 2, 1}, 5},
    {"memory_peak_bytes", {5, BJ_FROM_SCHEDULER, 2, 1}, 2048},
    {"memory_peak_bytes", {NONE, NONE, 1, 2}, 2048},
    {"memory_peak_bytes", {NONE, NONE, NONE, 2}, 2048},
    {"memory_peak_bytes", {NONE, NONE, NONE, NONE}, NONE},
    /* the same, allocated, requested, end */
    {"memory_efficiency_percent",
     {42, BJ_FROM_NODES, 512, 100, 1024, 4096, 9},
     42},
    {"memory_efficiency_percent",
     {NONE, NONE, 512, 100, 1024, 4096, 9},
     500000},
    {"memory_efficiency_percent",
     {NONE, NONE, NONE, 256, 1024, 4096, 9},
     250000},
    {"memory_efficiency_percent",
     {NONE, NONE, 512, 100, NONE, 4096, 9},
     125000},
    {"memory_efficiency_percent", {NONE, NONE, 512, 100, NONE, NONE, 9}, NONE},
    {"memory_efficiency_percent",
     {NONE, NONE, NONE, NONE, 1024, 4096, 9},
     NONE},
    {"memory_efficiency_percent", {NONE, NONE, 512, 100, 0, 4096, 9}, NONE},
    {"memory_efficiency_percent",
     {NONE, NONE, 512, 100, 1024, 4096, NONE},
     NONE},
    {"memory_efficiency_source",
     {NONE, NONE, 512, 100, 1024, 4096, 9},
     BJ_FROM_SCHEDULER},
    /* limit, seconds as above */
    {"time_efficiency_percent", {60, 0, 1000, 1030, NONE}, 500000},
    {"time_efficiency_percent", {INT64_MAX, 0, 1000, 1030, NONE}, NONE},
    {"time_efficiency_percent", {0, 0, 1000, 1030, NONE}, NONE},
    {"time_efficiency_percent", {60, NONE, 1000, 1030, NONE}, NONE},
    {"time_efficiency_percent", {60, 30, 1000, NONE, NONE}, NONE},
    /* measured, its source, the scheduler's, of which 0 is no meter */
    {"energy_joules", {7, BJ_FROM_NODES, 9}, 7},
    {"energy_joules", {NONE, NONE, 9}, 9000000},
    {"energy_joules", {NONE, NONE, 0}, NONE},
    {"energy_source", {NONE, NONE, 9}, BJ_FROM_SCHEDULER},
    {"energy_source", {NONE, NONE, NONE}, NONE},
    {"emissions_covered_percent", {1, 4}, 250000},
    {"emissions_covered_percent", {1, NONE}, NONE},
};

static void test_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct bj_job_column *k =
            bj_job_column(bj_slice_str(cases[i].key));
        assert_non_null(k);
        assert_non_null(k->make);
        int64_t got = k->make(cases[i].value);
        if (got != cases[i].want)
            print_error("%s, case %zu\n", cases[i].key, i);
        assert_true(got == cases[i].want);
    }
}

/* What rows, picks and functions of SQLite have room for. */
static void test_bounds(void **state)
{
    (void)state;
    unsigned n = 0, values = 0;
    for (const struct bj_job_column *k = bj_job_columns; k->name; k++, n++) {
        assert_true(strlen(k->name) <= BJ_KEY_MAX);
        assert_non_null(k->sql[0]);
        for (unsigned i = 0; i < BJ_JOB_VALUES && k->sql[i]; i++)
            values++;
    }
    assert_true(n <= BJ_JOB_COLUMNS && n <= BJ_ROW_KEYS);
    assert_true(values <= BJ_PICKED_VALUES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
