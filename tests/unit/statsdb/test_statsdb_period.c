/* The report of a period: sums, sums of known values, order, waste. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

#include "report/form/text.h"
#include "report/period/period.h"
#include "sched/job.h"

#include <stdio.h>
#include <string.h>

enum { HOUR = 3600, DAY = 86400 };

#define NO_PRICES                                                              \
    {                                                                          \
        BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL, false, ""          \
    }

/* A job of an hour on 2 CPUs, of which it used one. */
static struct bj_period_job job(const char *id, const char *account)
{
    return (struct bj_period_job){.id = bj_slice_str(id),
                                  .user = BJ_SLICE("ada"),
                                  .account = bj_slice_str(account),
                                  .name = BJ_SLICE("run"),
                                  .state = BJ_SLICE("completed"),
                                  .findings = BJ_SLICE(""),
                                  .use = {.start = 10 * DAY,
                                          .end = 10 * DAY + HOUR,
                                          .elapsed = HOUR,
                                          .suspended = BJ_SQL_NULL,
                                          .cpu_sec = 2 * HOUR,
                                          .gpu_sec = BJ_SQL_NULL,
                                          .mem_mib_sec = 4096 * HOUR,
                                          .cpu_usec = 3600000000,
                                          .gpu_ppm = BJ_SQL_NULL,
                                          .energy_uj = BJ_SQL_NULL,
                                          .emissions_ug = BJ_SQL_NULL,
                                          .emissions_covered_ppm = BJ_SQL_NULL},
                                  .memory_bytes = INT64_C(4) << 30,
                                  .memory_peak_bytes = INT64_C(1) << 30};
}

/* Append the report as text. */
static void print(const struct bj_period *p, const char *title,
                  struct bj_buf *out)
{
    struct bj_doc d = {.created_sec = 0};
    bj_period_document(p, title, &d);
    bj_doc_print(&d, &(struct bj_report_style){.ascii = true}, out);
    bj_doc_free(&d);
}

static void test_sums(void **state)
{
    struct bj_period p = {.by = BJ_PERIOD_BY_ACCOUNT,
                          .until_sec = INT64_MAX,
                          .prices = NO_PRICES};
    struct bj_period_job j = job("1", "a");
    (void)state;
    bj_period_add(&p, &j);
    j = job("2", "b"); /* larger, its use is not known */
    j.use.cpu_sec = 6 * HOUR;
    j.use.cpu_usec = BJ_SQL_NULL;
    j.use.energy_uj = 7200000000;
    j.state = BJ_SLICE("timeout");
    j.findings = BJ_SLICE("x,wide,y,a");
    bj_period_add(&p, &j);
    j = job("3", "a"); /* a GPU, idle for three quarters */
    j.use.gpu_sec = HOUR;
    j.use.gpu_ppm = 250000;
    j.state = BJ_SLICE("oom");
    j.findings = BJ_SLICE("y");
    bj_period_add(&p, &j);
    j = job("4", "c");
    j.use.cpu_sec = 0;
    j.use.gpu_sec = 5 * HOUR;
    j.use.cpu_usec = j.memory_peak_bytes = BJ_SQL_NULL;
    bj_period_add(&p, &j);
    bj_period_settle(&p);
    assert_int_equal(p.all.jobs, 4);
    assert_int_equal(p.all.completed, 2);
    assert_int_equal(p.all.timeout, 1);
    assert_int_equal(p.all.oom, 1);
    assert_int_equal(p.all.cpu, 36000000000);
    assert_int_equal(p.all.cpu_known, 14400000000);
    assert_int_equal(p.all.cpu_used, 7200000000);
    assert_int_equal(p.all.gpu, 6 * INT64_C(3600000000));
    assert_int_equal(p.all.gpu_known, 3600000000);
    assert_int_equal(p.all.gpu_used, 900000000);
    assert_int_equal(p.all.energy_uj, 7200000000);
    assert_int_equal(p.all.energy_known, 600000); /* 6 of 10 CPU hours */
    assert_true(p.all.cost == BJ_SQL_NULL);
    assert_int_equal(p.groups, 3);
    assert_memory_equal(p.group[0].name.p, "b", 1);
    assert_int_equal(p.group[1].jobs, 2);
    /* Job 1 wasted an hour; job 3 has a GPU, the use of job 2 is not known. */
    assert_int_equal(p.wasters[BJ_WASTE_CPU], 1);
    assert_int_equal(p.waster[BJ_WASTE_CPU][0].amount, 3600000000);
    assert_int_equal(p.waster[BJ_WASTE_CPU][0].ppm, 500000);
    assert_int_equal(p.wasters[BJ_WASTE_GPU], 1);
    assert_int_equal(p.waster[BJ_WASTE_GPU][0].amount, 2700000000);
    /* Jobs 1 and 2 wasted 3 GiB for an hour; job 3 ran out of memory, and of
     * job 4 nothing is known. */
    assert_int_equal(p.wasters[BJ_WASTE_MEMORY], 2);
    assert_int_equal(p.waster[BJ_WASTE_MEMORY][0].amount, 3 * 1024 * 3600);
    /* The most jobs first, then by name. */
    assert_int_equal(p.findings, 4);
    assert_memory_equal(p.finding[0].name.p, "y", 1);
    assert_int_equal(p.finding[0].jobs, 2);
    assert_memory_equal(p.finding[1].name.p, "a", 1);
    assert_memory_equal(p.finding[2].name.p, "wide", 4);
    assert_memory_equal(p.finding[3].name.p, "x", 1);
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
    struct bj_period p = {.by = BJ_PERIOD_BY_ACCOUNT,
                          .until_sec = INT64_MAX,
                          .prices = NO_PRICES};
    struct bj_period_job j = job("1", "a");
    struct bj_buf text = {0};
    (void)state;
    expect_hours(1596, 4085, 16975,
                 "1,596 of the 4,085 h that were measured; 12,890 h were "
                 "not");
    expect_hours(3, 4, 4, "3 of 4 h");
    expect_hours(0, 0, 4, "4 h, not measured");
    bj_period_add(&p, &j);
    bj_period_settle(&p);
    print(&p, "jobs", &text);
    bj_buf_put(&text, "", 1);
    if (!strstr(text.p,
                "CPU time    [############............]    50 %  1 of 2 h\n"))
        fail_msg("%s", text.p);
    j.use.cpu_sec = 6 * HOUR;
    j.use.cpu_usec = BJ_SQL_NULL;
    bj_period_add(&p, &j);
    bj_period_settle(&p);
    text.len = 0;
    print(&p, "jobs", &text);
    bj_buf_put(&text, "", 1);
    assert_non_null(strstr(text.p,
                           "CPU time    50 %\n              1 of the 2 h "
                           "that were measured; 6 h were not\n"));
    bj_buf_free(&text);
    bj_period_free(&p);
}

/* Of many jobs the ten worst are kept, in order; all groups and findings are
 * kept. */
static void test_many(void **state)
{
    struct bj_period p = {.by = BJ_PERIOD_BY_ACCOUNT,
                          .until_sec = INT64_MAX,
                          .prices = NO_PRICES};
    (void)state;
    for (int i = 0; i < 1000; i++) {
        char id[16], account[16], finding[16];
        snprintf(id, sizeof(id), "%d", i);
        snprintf(account, sizeof(account), "acct%d", i % 300);
        struct bj_period_job j = job(id, account);
        j.use.cpu_sec = (2 + (i * 7919) % 1000) * HOUR;
        snprintf(finding, sizeof(finding), "rule%d", i % 250);
        j.findings = bj_slice_str(finding);
        bj_period_add(&p, &j);
    }
    bj_period_settle(&p);
    assert_int_equal(p.groups, 300);
    assert_int_equal(p.findings, 250);
    for (size_t i = 0; i < p.findings; i++)
        assert_int_equal(p.finding[i].jobs, 4);
    assert_int_equal(p.wasters[BJ_WASTE_CPU], BJ_WASTERS);
    for (int i = 0; i < BJ_WASTERS; i++)
        assert_int_equal(p.waster[BJ_WASTE_CPU][i].amount,
                         (2 + 999 - i - 1) * INT64_C(3600000000));
    for (size_t i = 1; i < p.groups; i++)
        assert_true(p.group[i - 1].cpu >= p.group[i].cpu);
    bj_period_free(&p);
}

/* What a job held that hardware ended is no waste, of GPUs, CPUs or memory; its
 * hours count as used. */
static void test_waste_of_hardware(void **state)
{
    static const struct {
        int64_t gpu_sec;
        bool failed;
        unsigned wasters[BJ_WASTES]; /* GPU, CPU, memory */
    } cases[] = {{0, false, {0, 1, 1}},
                 {0, true, {0, 0, 0}},
                 {8 * HOUR, false, {1, 0, 1}},
                 {8 * HOUR, true, {0, 0, 0}}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_period p = {.by = BJ_PERIOD_BY_USER,
                              .until_sec = INT64_MAX,
                              .prices = NO_PRICES};
        struct bj_period_job j = job("7", "a");
        j.use.cpu_sec = 40 * HOUR;
        j.use.gpu_sec = cases[i].gpu_sec;
        j.use.gpu_ppm = cases[i].gpu_sec ? 0 : BJ_SQL_NULL;
        j.use.hardware_failed = cases[i].failed;
        bj_period_add(&p, &j);
        bj_period_settle(&p);
        for (unsigned k = 0; k < BJ_WASTES; k++)
            assert_int_equal(p.wasters[k], cases[i].wasters[k]);
        assert_int_equal(p.all.cpu, INT64_C(40) * HOUR * 1000000);
        assert_int_equal(p.all.gpu, cases[i].gpu_sec * 1000000);
        bj_period_free(&p);
    }
}

/* Very large values do not overflow; a period without jobs is not an error. */
static void test_odd(void **state)
{
    struct bj_period p = {
        .by = BJ_PERIOD_BY_USER, .until_sec = INT64_MAX, .prices = NO_PRICES};
    struct bj_buf out = {0};
    (void)state;
    bj_period_settle(&p);
    print(&p, "x", &out);
    bj_period_json(&p, &out);
    assert_non_null(out.p);
    out.len = 0;
    for (int i = 0; i < 3; i++) {
        struct bj_period_job j = job("1", "a");
        j.use.elapsed = j.use.cpu_sec = j.use.gpu_sec = INT64_MAX;
        j.use.cpu_usec = j.use.energy_uj = j.use.mem_mib_sec = INT64_MAX;
        j.memory_bytes = INT64_MAX;
        j.use.gpu_ppm = j.memory_peak_bytes = 0;
        j.user = (struct bj_slice){0};
        bj_period_add(&p, &j);
    }
    bj_period_settle(&p);
    print(&p, "x", &out);
    bj_period_json(&p, &out);
    assert_false(out.failed);
    bj_buf_free(&out);
    bj_period_free(&p);
}

/* Jobs over the ends of a period, one that runs, one outside; costs are those
 * of the sums.  The parts of two periods are the whole. */
static void test_period(void **state)
{
    static const int64_t ends[] = {9 * DAY, 10 * DAY + 1000, 11 * DAY,
                                   40 * DAY};
    const struct bj_prices prices = {1000000,     BJ_SQL_NULL, BJ_SQL_NULL,
                                     BJ_SQL_NULL, false,       "EUR"};
    struct bj_bill sum = {.cpu_sec = 0}, all;
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct bj_period p = {
            .since_sec = ends[i], .until_sec = ends[i + 1], .prices = prices};
        struct bj_period_job j = job("1", "a");
        bj_period_add(&p, &j);
        j = job("2", "a"); /* runs since 10.5, for 36 h without suspension */
        j.use.start = 10 * DAY + 12 * HOUR;
        j.use.end = BJ_SQL_NULL;
        j.use.elapsed = 36 * HOUR;
        j.use.cpu_sec = 72 * HOUR;
        j.use.mem_mib_sec = 4096 * 36 * HOUR;
        j.use.suspended = 12 * HOUR;
        j.use.cpu_usec = BJ_SQL_NULL;
        j.use.energy_uj = 1000; /* not yet the energy of the job */
        j.state = BJ_SLICE("running");
        bj_period_add(&p, &j);
        j.use.start = BJ_SQL_NULL; /* waits */
        bj_period_add(&p, &j);
        bj_period_settle(&p);
        bj_bill_add(&sum, &p.all.bill);
        assert_int_equal(p.all.energy_known, 0);
        assert_true(p.all.energy_uj == BJ_SQL_NULL);
        if (i == 0) { /* 1000 s of job 1 */
            assert_int_equal(p.all.jobs, 1);
            assert_int_equal(p.all.bill.cpu_sec, 2000);
            assert_int_equal(p.all.cpu_used, 1000000000);
            assert_int_equal(p.all.cost / 10, 55555); /* 2000 s at 1 per h */
        } else if (i == 1) { /* the rest, and 12 of 48 h of job 2 */
            assert_int_equal(p.all.jobs, 2);
            assert_int_equal(p.all.open, 1);
            assert_int_equal(p.all.bill.cpu_sec, 5200 + 2 * 9 * HOUR);
            assert_int_equal(p.all.cpu_known, 5200000000);
        } else {
            assert_int_equal(p.all.jobs, 1);
            assert_int_equal(p.all.bill.cpu_sec, 2 * 27 * HOUR);
        }
        bj_period_free(&p);
    }
    all = (struct bj_bill){.cpu_sec = 2 * 37 * HOUR,
                           .cpu_known_sec = 2 * HOUR,
                           .cpu_used_msec = HOUR * 1000,
                           .mem_mib_sec = 4096 * 37 * HOUR};
    assert_memory_equal(&sum, &all, sizeof(all));
}

/* By application; jobs of which it is not known have a group of their own. */
static void test_applications(void **state)
{
    static const char *const applications[] = {"vasp", "", "vasp"};
    struct bj_period p = {.by = BJ_PERIOD_BY_APPLICATION,
                          .until_sec = INT64_MAX,
                          .prices = NO_PRICES};
    struct bj_buf out = {0};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct bj_period_job j = job("1", "a");
        j.application = bj_slice_str(applications[i]);
        if (i == 2)
            j.use.cpu_usec = BJ_SQL_NULL;
        bj_period_add(&p, &j);
    }
    bj_period_settle(&p);
    assert_int_equal(p.groups, 2);
    assert_int_equal(p.group[0].jobs, 2);
    assert_true(bj_slice_eq(p.group[0].name, BJ_SLICE("vasp")));
    print(&p, "x", &out);
    bj_buf_put(&out, "", 1);
    assert_non_null(strstr(out.p, "Applications\n"));
    /* jobs, CPU hours, used, known */
    assert_non_null(strstr(out.p, "  vasp                        2          4"
                                  "    50 %    50 %"));
    assert_non_null(strstr(out.p, "  not recognised              1          2"
                                  "    50 %   100 %"));
    out.len = 0;
    bj_period_csv(&p, &out);
    bj_buf_put(&out, "", 1);
    assert_non_null(strstr(out.p, "\napplication,vasp,2,"));
    bj_buf_free(&out);
    bj_period_free(&p);
}

/* Of jobs whose node failed a site may charge nothing: their hours count as
 * used, and the bill says what they would have cost. */
static void test_failed_node(void **state)
{
    const struct {
        bool free, energy;
        int64_t cost, not_charged, known;
    } cases[] = {{false, false, 6 * 1000000, 0, 1000000},
                 {true, false, 2 * 1000000, 4 * 1000000, 1000000},
                 /* the energy of 1 of 2 kWh; of the other job it is unknown */
                 {false, true, 6 * 1000000 + 500000, 0, 666666},
                 {true, true, 2 * 1000000, 4 * 1000000 + 500000, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct bj_prices prices = {
            1000000,       BJ_SQL_NULL,
            BJ_SQL_NULL,   cases[i].energy ? 500000 : BJ_SQL_NULL,
            cases[i].free, "EUR"};
        struct bj_period p = {.until_sec = INT64_MAX, .prices = prices};
        struct bj_period_job j = job("1", "a");
        bj_period_add(&p, &j);
        j = job("2", "a");
        j.use.cpu_sec = 4 * HOUR;
        j.use.energy_uj = 3600000000000;
        j.use.hardware_failed = true;
        bj_period_add(&p, &j);
        bj_period_settle(&p);
        assert_int_equal(p.all.cpu, INT64_C(6) * HOUR * 1000000);
        assert_int_equal(p.all.cost, cases[i].cost);
        assert_int_equal(p.all.not_charged, cases[i].not_charged);
        assert_int_equal(p.all.cost_known, cases[i].known);
        struct bj_buf out = {0};
        print(&p, "x", &out);
        bj_buf_put(&out, "", 1);
        assert_int_equal(strstr(out.p, "Not charged") != NULL, cases[i].free);
        bj_buf_free(&out);
        bj_period_free(&p);
    }
    /* it runs: it did not end this way */
    struct bj_bill b;
    struct bj_bill_job j = job("1", "a").use;
    j.hardware_failed = true;
    j.end = BJ_SQL_NULL;
    assert_true(bj_bill_of_job(&j, 0, INT64_MAX, &b));
    assert_int_equal(b.failed_cpu_sec, 0);
    assert_true(bj_bill_hardware_failed(BJ_STATE_BOOT_FAIL, BJ_SQL_NULL));
    assert_false(bj_bill_hardware_failed(BJ_STATE_FAILED, BJ_SQL_NULL));
    assert_false(bj_bill_hardware_failed(BJ_SQL_NULL, BJ_SQL_NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums),
                                       cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_many),
                                       cmocka_unit_test(test_period),
                                       cmocka_unit_test(test_odd),
                                       cmocka_unit_test(test_failed_node),
                                       cmocka_unit_test(test_waste_of_hardware),
                                       cmocka_unit_test(test_applications)};
    return cmocka_run_group_tests_name("period", tests, NULL, NULL);
}
