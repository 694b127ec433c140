/* Values of a job that only the pages of other exporters show: the rate of its
 * CPU time, and its list of CPUs. */
#include "core/internal.h"
#include "tests/unit/lib/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define SEC 1000000ull
#define NONE BJ_ABSENT

/* Successive readings: the time, the counter, and the expected rate
 * afterwards. */
static const struct {
    uint64_t sec, cpu_usec, ppm;
} readings[] = {
    {100, 5 * SEC, NONE},
    {100, 5 * SEC, NONE},  /* at the same time */
    {109, 50 * SEC, NONE}, /* too soon */
    {110, 25 * SEC, 2000000},
    {111, 90 * SEC, 2000000}, /* another scraper changes nothing */
    {125, 32500000, 500000},
    {135, 32500000, 0},
    {145, 1 * SEC, NONE}, /* the counter has restarted */
    {160, 2 * SEC, 66666},
    {170, NONE, NONE}, /* could not be read */
    {180, 10 * SEC, NONE},
    {190, 20 * SEC, 1000000},
    {191, 20 * SEC, 1000000},
    {86590, 86420 * SEC, 1000000},
    {86600, 86420 * SEC + (1ull << 62), (1ull << 62) / (10 * SEC) * 1000000},
};

static void rates(void **state)
{
    struct bj_rate r = {0};
    (void)state;
    assert_true(bj_rate_ppm(&r) == NONE);
    for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
        bj_rate_note(&r, readings[i].sec * SEC, readings[i].cpu_usec);
        if (bj_rate_ppm(&r) != readings[i].ppm)
            fail_msg("reading %zu: %llu, expected %llu", i,
                     (unsigned long long)bj_rate_ppm(&r),
                     (unsigned long long)readings[i].ppm);
    }
}

#define JOB "a.slice/slurmstepd.scope/job_1"

static void start(struct rig *r, unsigned extras)
{
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    tmp_file("cgroup.controllers", "cpu cpuset memory\n");
    tmp_v2_job(JOB, 8000003, 1, "1\n");
    tmp_file(JOB "/cpuset.cpus.effective", "0-2,9\n");
    tmp_file(JOB "/cpuset.cpus", "\n");
    rig_start(r, root, "collector.node=false", NULL);
    r->core->own_conf.extras = extras;
    rig_pass(r);
}

static void extras_off(void **state)
{
    struct rig r;
    (void)state;
    start(&r, 0);
    const struct bj_job *job = rig_job(&r, "1");
    assert_int_equal(job->use.cpus, 4);
    assert_int_equal(job->extras.n + job->even_cores.n, 0);
    assert_null(r.core->tracks.v[0]->unit.cpu_list[0]);
    rig_stop(&r);
    tmp_gone();
}

static void cpu_lists(void **state)
{
    struct rig r;
    (void)state;
    start(&r, BJ_EXTRA_CPUS | BJ_EXTRA_CPUSET | BJ_EXTRA_EVEN);
    const struct bj_job *job = rig_job(&r, "1");
    const struct bj_extra_use *a = job->extras.v;
    const struct bj_core_use *c = job->even_cores.v;
    assert_int_equal(job->extras.n, 1);
    assert_true(bj_slice_eq(a->sub.key[0], BJ_SLICE("0,1,2,9")));
    assert_int_equal(a->cpus[BJ_CPUS_EFFECTIVE], 4);
    assert_int_equal(a->sub.key[1].n, 0);
    assert_int_equal(a->listed[BJ_CPUS_CONFIGURED], 1);
    assert_int_equal(a->cpus[BJ_CPUS_CONFIGURED], 0);
    assert_true(a->cpu_ppm == NONE && a->alive_rss_bytes == NONE);
    assert_int_equal(job->even_cores.n, 4);
    assert_true(bj_slice_eq(c[3].sub.key[0], BJ_SLICE("9")));
    for (int i = 0; i < 4; i++)
        assert_int_equal(c[i].cpu_usec, 2000000);
    tmp_file(JOB "/cpuset.cpus.effective", "5\n");
    tmp_file(JOB "/cpuset.cpus", "5-6\n");
    r.core->tracks.v[0]->unit.slow_due_usec = 0;
    rig_pass(&r);
    job = rig_job(&r, "1");
    a = job->extras.v;
    assert_true(bj_slice_eq(a->sub.key[0], BJ_SLICE("5")));
    assert_true(bj_slice_eq(a->sub.key[1], BJ_SLICE("5,6")));
    assert_int_equal(a->cpus[BJ_CPUS_CONFIGURED], 2);
    assert_int_equal(job->even_cores.n, 1);
    rig_stop(&r);
    tmp_gone();
}

/* With estimated CPU time per core, every CPU of the cpuset has a series, even
 * at 0. */
static void all_cpus_of_the_cpuset(void **state)
{
    struct rig r;
    char root[128];
    (void)state;
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    tmp_file("cgroup.controllers", "cpu cpuset memory\n");
    tmp_v2_job(JOB, 8000003, 1, "");
    tmp_file(JOB "/cgroup.procs", "1\n");
    tmp_file(JOB "/cpuset.cpus.effective", "0-2,9\n");
    rig_start(&r, root, "collector.node=false", "collector.percore=true", NULL);
    rig_pass(&r);
    const struct bj_job *job = rig_job(&r, "1");
    const struct bj_core_use *c = job->cores.v;
    static const char *const names[] = {"0", "1", "2", "9"};
    uint64_t n = 0;
    for (size_t i = 0; i < job->cores.n && n < 4; i++)
        if (bj_slice_eq(c[i].sub.key[0], bj_slice_str(names[n]))) {
            assert_true(c[i].cpu_estimated_usec != NONE);
            n++;
        }
    assert_int_equal(n, 4);
    rig_stop(&r);
    tmp_gone();
}

/* The rate over a window of 20 s in which the job used 50 s of CPU time. */
static void cpu_rate(void **state)
{
    struct rig r;
    (void)state;
    start(&r, BJ_EXTRA_RATE);
    const struct bj_extra_use *a = rig_job(&r, "1")->extras.v;
    assert_true(a->cpu_ppm == NONE && a->cpu_each_ppm == NONE);
    assert_int_equal(a->listed[BJ_CPUS_EFFECTIVE], NONE);
    struct bj_track *t = r.core->tracks.v[0];
    t->rate.now_usec -= 20 * SEC;
    tmp_file(JOB "/cpu.stat", "usage_usec 58000003\n");
    rig_pass(&r);
    a = rig_job(&r, "1")->extras.v;
    assert_in_range(a->cpu_ppm, 2000000, 2500000);
    assert_int_equal(a->cpu_each_ppm, a->cpu_ppm / 4);
    /* A counter that cannot be read has no rate. */
    tmp_file(JOB "/cpu.stat", "usage_usec x\n");
    rig_pass(&r);
    a = rig_job(&r, "1")->extras.v;
    assert_true(a->cpu_ppm == NONE && a->cpu_each_ppm == NONE);
    rig_stop(&r);
    tmp_gone();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates),     cmocka_unit_test(extras_off),
        cmocka_unit_test(cpu_lists), cmocka_unit_test(all_cpus_of_the_cpuset),
        cmocka_unit_test(cpu_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
