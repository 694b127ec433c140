/* The decision which job holds a GPU, and shares that add up. */
#include "core/gpu/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
enum { CLAIMS = 1, NOTED = 2, OPENS = 4, RUNS = 8 };
enum { OK, DENIED, STRAY, DOUBLE };

/* Candidates with evidence and flags (S shared, E elsewhere, B barred), and the
 * decision: holds, conflict. */
static const struct {
    const char *what;
    struct {
        unsigned evidence;
        const char *flags;
        bool holds;
        int conflict;
    } job[3];
} cases[] = {
    {"one job claims it", {{CLAIMS, "", true, OK}}},
    {"one job runs on it", {{RUNS, "", true, OK}}},
    {"one job claims it, another runs on it",
     {{CLAIMS, "", false, DENIED}, {CLAIMS | RUNS, "", true, OK}}},
    {"one job claims it, the prolog noted another",
     {{CLAIMS, "", false, DENIED}, {NOTED, "", true, OK}}},
    {"idle, but the kernel permits it",
     {{OPENS | CLAIMS, "", true, OK}, {CLAIMS, "", false, DENIED}}},
    {"a stray takes no GPU from a job that claims it",
     {{CLAIMS, "", true, OK}, {RUNS, "E", true, STRAY}}},
    {"a stray alone", {{RUNS, "E", true, STRAY}}},
    {"both jobs claim it",
     {{CLAIMS, "", true, DOUBLE}, {CLAIMS, "", true, DOUBLE}}},
    {"evidence for both jobs",
     {{NOTED, "", true, DOUBLE}, {RUNS, "", true, DOUBLE}}},
    {"both jobs share it",
     {{CLAIMS | RUNS, "S", true, OK}, {CLAIMS, "S", true, OK}}},
    {"only one job is marked as shared",
     {{CLAIMS | RUNS, "", true, OK}, {CLAIMS, "S", false, DENIED}}},
    {"three jobs share it",
     {{CLAIMS, "S", true, OK}, {CLAIMS, "S", true, OK}, {RUNS, "S", true, OK}}},
    {"kept out by its device cgroup", {{CLAIMS, "B", false, DENIED}}},
    {"no evidence", {{0, "", false, OK}}},
};

static bool has(const char *flags, char c)
{
    while (*flags && *flags != c)
        flags++;
    return *flags == c;
}

static void test_decide(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_gpu_candidate c[3] = {{0}};
        size_t n = 0;
        for (; n < 3 && cases[i].job[n].flags; n++) {
            c[n].evidence = cases[i].job[n].evidence;
            c[n].shared = has(cases[i].job[n].flags, 'S');
            c[n].not_allotted = has(cases[i].job[n].flags, 'E');
            c[n].barred = has(cases[i].job[n].flags, 'B');
        }
        bj_gpu_decide(c, n);
        for (size_t k = 0; k < n; k++)
            if (c[k].holds != cases[i].job[k].holds ||
                (int)c[k].conflict != cases[i].job[k].conflict)
                fail_msg("%s: job %zu holds %d, conflict %d", cases[i].what, k,
                         c[k].holds, (int)c[k].conflict);
    }
}

static uint64_t random_state = 88172645463325252;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* For any weights the parts add up, each is less than 1 off, and a weight of 0
 * gets nothing. */
static void test_divide(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        uint64_t w[9], part[9], sum = 0;
        long double all = 0;
        size_t n = next_random() % 9 + 1;
        uint64_t whole = next_random() >> (next_random() % 64);
        for (size_t i = 0; i < n; i++) {
            w[i] = next_random() % 3 ? next_random() >> (next_random() % 60 + 4)
                                     : 0;
            all += (long double)w[i];
        }
        bj_gpu_divide(whole, w, n, part);
        for (size_t i = 0; i < n; i++) {
            long double want = all > 0 ? (long double)whole * w[i] / all
                                       : (long double)whole / n;
            long double off = part[i] > want ? part[i] - want : want - part[i];
            assert_true(off < 1 + want * 1e-15L);
            assert_true(all == 0 || w[i] > 0 || part[i] == 0);
            sum += part[i];
        }
        assert_int_equal(sum, whole);
    }
}

static void test_divide_by_hand(void **state)
{
    const uint64_t thirds[] = {1, 1, 1}, none[] = {0, 0}, odd[] = {1, 2, 4};
    uint64_t part[3];
    (void)state;
    bj_gpu_divide(1000000, thirds, 3, part);
    assert_int_equal(part[0], 333334);
    assert_int_equal(part[1], 333333);
    assert_int_equal(part[2], 333333);
    bj_gpu_divide(7, none, 2, part);
    assert_int_equal(part[0], 4);
    assert_int_equal(part[1], 3);
    bj_gpu_divide(10, odd, 3, part); /* 1.43, 2.86, 5.71 */
    assert_int_equal(part[0], 1);
    assert_int_equal(part[1], 3);
    assert_int_equal(part[2], 6);
    bj_gpu_divide(5, odd, 0, part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide),
        cmocka_unit_test(test_divide),
        cmocka_unit_test(test_divide_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
