/* Numbers of a job that are made of several of the store. */
#include "apiserver/jobs.h"

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
    {"mem_peak_bytes", {3}, 3072},
    {"mem_peak_bytes", {-3001}, 3001},
    {"mem_peak_bytes", {0}, 0},
    {"mem_peak_bytes", {NONE}, NONE},
    {"mem_peak_bytes", {INT64_MAX}, NONE},
    /* milliseconds, microseconds when negative */
    {"cpu_sec", {1500}, 1500000},
    {"cpu_sec", {-1500001}, 1500001},
    {"cpu_sec", {NONE}, NONE},
    {"exit_code", {0, NONE}, NONE},
    {"exit_code", {0, 100}, 0},
    {"exit_signal", {9, 100}, 9},
    {"submit", {0}, NONE},
    {"submit", {5}, 5},
    {"time_limit_sec", {INT64_MAX}, NONE},
    {"time_limit_sec", {60}, 60},
    {"cpus_requested", {NONE, 4}, 4},
    {"cpus_requested", {8, 4}, 8},
    {"cpus_requested", {NONE, NONE}, NONE},
    /* start, eligible, submit */
    {"wait_sec", {100, 90, 50}, 10},
    {"wait_sec", {100, NONE, 50}, 50},
    {"wait_sec", {100, NONE, 0}, NONE},
    {"wait_sec", {100, 120, 50}, 0},
    {"wait_sec", {NONE, 90, 50}, NONE},
    {"wait_sec", {INT64_MAX, -5, 50}, NONE},
    /* what is to be added, start, end, suspended */
    {"elapsed_sec", {0, 1000, 1100, NONE}, 100},
    {"elapsed_sec", {0, 1000, 1100, 30}, 70},
    {"elapsed_sec", {-7, 1000, 1100, 30}, 63},
    {"elapsed_sec", {42, NONE, 1100, 30}, 42},
    {"elapsed_sec", {42, 1000, NONE, 30}, 42},
    {"elapsed_sec", {NONE, 1000, 1100, NONE}, NONE},
    {"elapsed_sec", {0, -2, INT64_MAX, NONE}, NONE},
    {"elapsed_sec", {INT64_MAX, 1000, 1100, NONE}, NONE},
    {"cpu_alloc_sec", {4, 0, 1000, 1100, NONE}, 400},
    {"cpu_alloc_sec", {4, NONE, 1000, 1100, NONE}, NONE},
    {"cpu_alloc_sec", {INT64_MAX, 2, NONE, NONE, NONE}, NONE},
    /* used, CPUs, seconds as above: tenths of a percent */
    {"cpu_efficiency", {360000, 4, 0, 1000, 1100, NONE}, 900},
    {"cpu_efficiency", {-360000999, 4, 0, 1000, 1100, NONE}, 900},
    {"cpu_efficiency", {NONE, 4, 0, 1000, 1100, NONE}, NONE},
    {"cpu_efficiency", {360000, 4, 0, 1000, 1000, NONE}, NONE},
    {"cpu_efficiency", {360000, NONE, 0, 1000, 1100, NONE}, NONE},
    {"cpu_efficiency", {360000, 4, -1, NONE, NONE, NONE}, NONE},
    /* peak, of a task, allocated, requested */
    {"mem_efficiency", {512, 100, 1024, 4096}, 500},
    {"mem_efficiency", {NONE, 256, 1024, 4096}, 250},
    {"mem_efficiency", {512, 100, NONE, 4096}, 125},
    {"mem_efficiency", {512, 100, NONE, NONE}, NONE},
    {"mem_efficiency", {NONE, NONE, 1024, 4096}, NONE},
    {"mem_efficiency", {512, 100, 0, 4096}, NONE},
    /* limit, seconds as above */
    {"time_efficiency", {60, 0, 1000, 1030, NONE}, 500},
    {"time_efficiency", {INT64_MAX, 0, 1000, 1030, NONE}, NONE},
    {"time_efficiency", {0, 0, 1000, 1030, NONE}, NONE},
    {"time_efficiency", {60, NONE, 1000, 1030, NONE}, NONE},
};

static const struct bj_job_key *find(const char *key)
{
    const struct bj_job_key *k = bj_job_keys;
    while (k->key && strcmp(k->key, key) != 0)
        k++;
    return k;
}

static void test_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct bj_job_key *k = find(cases[i].key);
        assert_non_null(k->key);
        assert_non_null(k->make);
        int64_t got = k->make(cases[i].value);
        if (got != cases[i].want)
            print_error("%s, case %zu\n", cases[i].key, i);
        assert_true(got == cases[i].want);
    }
}

/* Values that all keys together take from the store. */
static unsigned count_distinct(void)
{
    const char *seen[BJ_PICKED_VALUES];
    unsigned n = 0;
    for (const struct bj_job_key *k = bj_job_keys; k->key; k++)
        for (unsigned i = 0, at; i < BJ_JOB_VALUES && k->sql[i]; i++) {
            for (at = 0; at < n && seen[at] != k->sql[i]; at++)
                ;
            seen[at] = k->sql[i];
            n += at == n;
        }
    return n;
}

/* What rows, picks and functions of SQLite have room for. */
static void test_bounds(void **state)
{
    (void)state;
    unsigned n = 0, values = 0;
    for (const struct bj_job_key *k = bj_job_keys; k->key; k++, n++) {
        assert_true(strlen(k->key) <= BJ_KEY_MAX);
        assert_non_null(k->sql[0]);
        for (unsigned i = 0; i < BJ_JOB_VALUES && k->sql[i]; i++)
            values++;
    }
    assert_true(n <= BJ_API_COLUMNS && n <= BJ_ROW_KEYS);
    assert_true(values <= BJ_PICKED_VALUES);
    assert_true(count_distinct() <= BJ_PACK_VALUES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
