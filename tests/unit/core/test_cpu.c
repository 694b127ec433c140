/* CPU time and CPUs of v1. */
#include "core/internal.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/testclock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

/* With cpuset but without cpuacct, a job on many CPUs has no CPU time, which is
 * not an error. */
static void test_cpuset_without_cpuacct(void **state)
{
    (void)state;
    struct rig r;
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    tmp_dir("cpuset/slurm/uid_7/job_5");
    tmp_file("cpuset/slurm/uid_7/job_5/cgroup.procs", "1\n");
    tmp_file("cpuset/slurm/uid_7/job_5/cpuset.cpus", "100-199\n");
    tmp_file("cpuset/slurm/uid_7/job_5/cpuset.effective_cpus", "100-199\n");
    rig_start(&r, root, "collector.percore=true", NULL);
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "5")->use.cpus, 100);
    assert_int_equal(rig_job(&r, "5")->cores.n, 0);
    assert_string_equal(r.log, "");
    rig_stop(&r);
    tmp_gone();
}

static uint64_t cpu_succeeds(const struct rig *r)
{
    const struct bj_collector_stat *c = r->snap->self.collectors.v;
    while (!bj_slice_eq(c->sub.key[0], BJ_SLICE("cpu")))
        c++;
    return c->success;
}

/* A job without a cgroup of cpuacct is reported once its directories have had
 * time to appear. */
static void test_no_cpuacct(void **state)
{
    (void)state;
    struct rig r;
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    testclock_stop();
    tmp_dir("cpuacct");
    tmp_dir("memory/slurm/uid_7/job_5");
    tmp_file("memory/slurm/uid_7/job_5/cgroup.procs", "1\n");
    rig_start(&r, root, "collector.node=false", NULL);
    rig_pass(&r);
    assert_int_equal(cpu_succeeds(&r), 1);
    for (int i = 0; i < 10; i++) {
        testclock_advance(16000000);
        rig_pass(&r);
    }
    assert_int_equal(cpu_succeeds(&r), 0);
    assert_int_equal(rig_job(&r, "5")->use.cpu_usec, BJ_ABSENT);
    assert_non_null(strstr(r.log, "job 5 has no cgroup of cpuacct"));
    tmp_dir("cpuacct/slurm/uid_7/job_5");
    tmp_file("cpuacct/slurm/uid_7/job_5/cpuacct.usage", "9000000\n");
    tmp_file("cpuacct/slurm/uid_7/job_5/cgroup.procs", "1\n");
    testclock_advance(61000000); /* all directories are read again */
    rig_pass(&r);
    rig_pass(&r);
    assert_int_equal(cpu_succeeds(&r), 1);
    assert_int_equal(rig_job(&r, "5")->use.cpu_usec, 9000);
    tmp_remove("cpuacct/slurm/uid_7/job_5"); /* it ends */
    rig_pass(&r);
    assert_int_equal(cpu_succeeds(&r), 1);
    rig_stop(&r);
    tmp_gone();
    testclock_run();
}

/* The CPU quota of v1 is read at the slow interval until it was enforced. */
static void test_v1_quota(void **state)
{
    (void)state;
    struct rig r;
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    testclock_stop();
    tmp_dir("cpu/slurm/uid_7/job_5");
    tmp_file("cpu/slurm/uid_7/job_5/cgroup.procs", "1\n");
    tmp_file("cpu/slurm/uid_7/job_5/cpu.stat",
             "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
    rig_start(&r, root, "sample.slow=100ms", NULL);
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "5")->use.cpu_throttled_usec, 0);
    tmp_file("cpu/slurm/uid_7/job_5/cpu.stat",
             "nr_periods 3\nnr_throttled 1\nthrottled_time 7000\n");
    testclock_advance(110000);
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "5")->use.cpu_throttled_usec, 7);
    tmp_file("cpu/slurm/uid_7/job_5/cpu.stat",
             "nr_periods 4\nnr_throttled 2\nthrottled_time 9000\n");
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "5")->use.cpu_throttled_usec, 9);
    rig_stop(&r);
    tmp_gone();
    testclock_run();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpuset_without_cpuacct),
        cmocka_unit_test(test_no_cpuacct),
        cmocka_unit_test(test_v1_quota),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
