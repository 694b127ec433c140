/* The queries that the API sends to Prometheus: ids and names of jobs are
 * escaped. */
#include "report/chart/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

static void is(struct bj_buf *b, const char *want)
{
    bj_buf_put(b, "", 1);
    assert_false(b->failed);
    assert_string_equal(b->p, want);
    bj_buf_free(b);
}

static void test_selector(void **state)
{
    const struct {
        struct bj_series_job job;
        const char *want;
    } cases[] = {
        {{.id = BJ_SLICE("4711"),
          .user = BJ_SLICE("alice"),
          .cluster = BJ_SLICE("one"),
          .uid = 1000,
          .cluster_label = "cluster"},
         "{jobid=\"4711\",user=~\"alice|1000|\",cluster=~\"one|\"}"},
        {{.id = BJ_SLICE("4711"), .user = BJ_SLICE("al.ice"), .uid = -1},
         "{jobid=\"4711\",user=~\"al\\\\.ice|\"}"},
        {{.id = BJ_SLICE("1"), .uid = -1, .match = "job=\"x\""},
         "{jobid=\"1\",job=\"x\"}"},
        {{.id = BJ_SLICE("12[3].srv"), .uid = -1, .cluster_label = ""},
         "{jobid=\"12[3].srv\"}"},
        {{.id = BJ_SLICE("1\"} or up{a=\"\\\n"),
          .user = BJ_SLICE("x|.*\"\\"),
          .cluster = BJ_SLICE("a+b"),
          .uid = -1,
          .cluster_label = "c"},
         "{jobid=\"1\\\"} or up{a=\\\"\\\\\\n\",user=~\"x\\\\|\\\\.\\\\*\\\""
         "\\\\\\\\|\",c=~\"a\\\\+b|\"}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_buf b = {0};
        bj_series_selector(&b, &cases[i].job);
        is(&b, cases[i].want);
    }
}

static void test_query(void **state)
{
    struct bj_buf b = {0};
    const unsigned char one[] = {0, 1};
    (void)state;
    bj_series_query(&b, one, 2, BJ_SLICE("{jobid=\"1\"}"), BJ_SERIES_NODE, 240);
    is(&b, "label_replace(sum by(instance,slurm_node)(rate("
           "batchjob_job_cpu_seconds_total{jobid=\"1\"}[240s])),\"bj\","
           "\"cpus_used\",\"\",\"\") or label_replace(sum by(instance,"
           "slurm_node)(batchjob_job_cpus{jobid=\"1\"}),\"bj\","
           "\"cpus_usable\",\"\",\"\")");
    bj_series_query(&b, one + 1, 1, BJ_SLICE("{}"), BJ_SERIES_JOB, 60);
    is(&b, "label_replace(sum by()(batchjob_job_cpus{}),\"bj\","
           "\"cpus_usable\",\"\",\"\")");
}

static void test_step(void **state)
{
    static const struct {
        int64_t span, least, want;
    } cases[] = {
        {0, 1, 1},
        {10, 1, 1},
        {10, 15, 15},
        {299, 1, 1},
        {301, 1, 2},
        {3600, 1, 15},
        {3600, 60, 60},
        {86400, 60, 300},
        {86400, 7, 300},
        {7 * 86400, 60, 3600},
        {365 * 86400, 60, 172800},
        {60, 100000, 172800},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(bj_series_step(cases[i].span, cases[i].least),
                         cases[i].want);
}

static void test_table(void **state)
{
    unsigned n = 0;
    (void)state;
    for (; bj_series_metrics[n].name; n++) {
        assert_non_null(strstr(bj_series_metrics[n].promql, "$S"));
        assert_non_null(strstr(bj_series_metrics[n].promql, "by($B)"));
    }
    assert_true(n <= BJ_SERIES_METRICS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selector),
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
