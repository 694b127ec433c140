/* The report of a period: sums, sums of known values, order, waste. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

#include "report/period.h"
#include "report/text.h"

#include <stdio.h>
#include <string.h>

/* A job of an hour on 2 CPUs, of which it used one. */
static struct bj_period_job job(const char *id, const char *account)
{
    return (struct bj_period_job){.id = bj_slice_str(id),
                                  .user = BJ_SLICE("ada"),
                                  .account = bj_slice_str(account),
                                  .name = BJ_SLICE("run"),
                                  .state = BJ_SLICE("completed"),
                                  .findings = BJ_SLICE(""),
                                  .elapsed_sec = 3600,
                                  .cpus = 2,
                                  .cpu_usec = 3600000000,
                                  .gpus = BJ_SQL_NULL,
                                  .gpu_ppm = BJ_SQL_NULL,
                                  .memory_bytes = INT64_C(4) << 30,
                                  .memory_peak_bytes = INT64_C(1) << 30,
                                  .energy_uj = BJ_SQL_NULL,
                                  .emissions_ug = BJ_SQL_NULL,
                                  .cost = BJ_SQL_NULL,
                                  .cost_is_minimum = BJ_SQL_NULL};
}

static void test_sums(void **state)
{
    struct bj_period p = {.by_user = false};
    struct bj_period_job j = job("1", "a");
    (void)state;
    bj_period_add(&p, &j);
    j = job("2", "b"); /* larger, its use is not known */
    j.cpus = 6;
    j.cpu_usec = BJ_SQL_NULL;
    j.energy_uj = 7200000000;
    j.state = BJ_SLICE("timeout");
    j.findings = BJ_SLICE("x,y");
    bj_period_add(&p, &j);
    j = job("3", "a"); /* a GPU, idle for three quarters */
    j.gpus = 1;
    j.gpu_ppm = 250000;
    j.state = BJ_SLICE("oom");
    j.findings = BJ_SLICE("y");
    bj_period_add(&p, &j);
    bj_period_settle(&p);
    assert_int_equal(p.all.jobs, 3);
    assert_int_equal(p.all.completed, 1);
    assert_int_equal(p.all.timeout, 1);
    assert_int_equal(p.all.oom, 1);
    assert_int_equal(p.all.cpu, 36000000000);
    assert_int_equal(p.all.cpu_known, 14400000000);
    assert_int_equal(p.all.cpu_used, 7200000000);
    assert_int_equal(p.all.gpu, 3600000000);
    assert_int_equal(p.all.gpu_used, 900000000);
    assert_int_equal(p.all.energy_cpu, 21600000000);
    assert_int_equal(p.groups, 2);
    assert_memory_equal(p.group[0].name.p, "b", 1);
    assert_int_equal(p.group[1].jobs, 2);
    /* Job 1 wasted an hour; job 3 has a GPU, the use of job 2 is not known. */
    assert_int_equal(p.wasters[BJ_WASTE_CPU], 1);
    assert_int_equal(p.waster[BJ_WASTE_CPU][0].amount, 3600000000);
    assert_int_equal(p.waster[BJ_WASTE_CPU][0].ppm, 500000);
    assert_int_equal(p.wasters[BJ_WASTE_GPU], 1);
    assert_int_equal(p.waster[BJ_WASTE_GPU][0].amount, 2700000000);
    /* Jobs 1 and 2 wasted 3 GiB for an hour; job 3 ran out of memory. */
    assert_int_equal(p.wasters[BJ_WASTE_MEMORY], 2);
    assert_int_equal(p.waster[BJ_WASTE_MEMORY][0].amount, 3 * 1024 * 3600);
    assert_int_equal(p.findings, 2);
    assert_memory_equal(p.finding[0].name.p, "y", 1);
    assert_int_equal(p.finding[0].jobs, 2);
    bj_period_free(&p);
}

static void expect_hours(int64_t used, int64_t known, int64_t all,
                         const char *want)
{
    const int64_t hour = INT64_C(3600000000);
    struct bj_buf text = {0};
    bj_period_hours(&text, used * hour, known * hour, all * hour);
    bj_buf_put(&text, "", 1);
    assert_string_equal(text.p, want);
    bj_buf_free(&text);
}

/* Figures that stand together add up, and a percentage of less than half has no
 * bar. */
static void test_parts(void **state)
{
    struct bj_period p = {.by_user = false};
    struct bj_period_job j = job("1", "a");
    struct bj_report_style style = {.ascii = true};
    struct bj_buf text = {0};
    (void)state;
    expect_hours(1596, 4085, 16975,
                 "1596.0 of the 4085.0 h that were measured; 12890.0 h were "
                 "not");
    expect_hours(3, 4, 4, "3.0 of 4.0 h");
    expect_hours(0, 0, 4, "4.0 h, not measured");
    bj_period_add(&p, &j);
    bj_period_settle(&p);
    bj_period_print(&p, "jobs", &style, &text);
    bj_buf_put(&text, "", 1);
    assert_non_null(strstr(text.p, "CPU time    [############............]  "
                                   "50.0 %  1.0 of 2.0 h\n"));
    j.cpus = 6;
    j.cpu_usec = BJ_SQL_NULL;
    bj_period_add(&p, &j);
    bj_period_settle(&p);
    text.len = 0;
    bj_period_print(&p, "jobs", &style, &text);
    bj_buf_put(&text, "", 1);
    assert_non_null(strstr(text.p,
                           "CPU time    50.0 %\n              1.0 of the 2.0 h "
                           "that were measured; 6.0 h were not\n"));
    bj_buf_free(&text);
    bj_period_free(&p);
}

/* Of many jobs the ten worst are kept, in order; all groups are kept. */
static void test_many(void **state)
{
    struct bj_period p = {.by_user = false};
    (void)state;
    for (int i = 0; i < 1000; i++) {
        char id[16], account[16];
        snprintf(id, sizeof(id), "%d", i);
        snprintf(account, sizeof(account), "acct%d", i % 300);
        struct bj_period_job j = job(id, account);
        j.cpus = 2 + (i * 7919) % 1000;
        bj_period_add(&p, &j);
    }
    bj_period_settle(&p);
    assert_int_equal(p.groups, 300);
    assert_int_equal(p.wasters[BJ_WASTE_CPU], BJ_WASTERS);
    for (int i = 0; i < BJ_WASTERS; i++)
        assert_int_equal(p.waster[BJ_WASTE_CPU][i].amount,
                         (2 + 999 - i - 1) * INT64_C(3600000000));
    for (size_t i = 1; i < p.groups; i++)
        assert_true(p.group[i - 1].cpu >= p.group[i].cpu);
    bj_period_free(&p);
}

/* Very large values do not overflow; a period without jobs is not an error. */
static void test_odd(void **state)
{
    struct bj_period p = {.by_user = true};
    struct bj_report_style style = {.ascii = true, .utc = true};
    struct bj_buf out = {0};
    (void)state;
    bj_period_settle(&p);
    bj_period_print(&p, "x", &style, &out);
    bj_period_json(&p, &out);
    assert_non_null(out.p);
    out.len = 0;
    for (int i = 0; i < 3; i++) {
        struct bj_period_job j = job("1", "a");
        j.elapsed_sec = j.cpus = j.gpus = INT64_MAX;
        j.cpu_usec = j.energy_uj = j.memory_bytes = INT64_MAX;
        j.gpu_ppm = j.memory_peak_bytes = 0;
        j.user = (struct bj_slice){0};
        bj_period_add(&p, &j);
    }
    bj_period_settle(&p);
    bj_period_print(&p, "x", &style, &out);
    bj_period_json(&p, &out);
    assert_false(out.failed);
    bj_buf_free(&out);
    bj_period_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_many), cmocka_unit_test(test_odd)};
    return cmocka_run_group_tests_name("period", tests, NULL, NULL);
}
