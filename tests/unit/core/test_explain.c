/* Log messages about cgroups and jobs, and at the start. */
#include "tests/unit/lib/core.h"

#include "core/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define SCOPE "system.slice/slurmstepd.scope"

static void start(struct rig *r, bool debug)
{
    static char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    tmp_file("cgroup.controllers", "cpu memory\n");
    tmp_v2_job(SCOPE "/job_1", 5, 100, "");
    tmp_dir("init.scope");
    rig_start(r, root, "collector.node=false", "collector.energy=false", NULL);
    r->core->host.debug = debug;
    rig_pass(r);
}

static void check_logged(const struct rig *r, const char *line)
{
    char text[300];
    snprintf(text, sizeof(text), "%d ", (int)BJ_LOG_DEBUG);
    if (!strstr(r->log, text) || !strstr(r->log, line))
        fail_msg("no '%s' in\n%s", line, r->log);
}

/* The debug log explains each directory once, and each job also at its start
 * and end. */
static void test_debug(void **state)
{
    (void)state;
    struct rig r;
    start(&r, true);
    check_logged(&r, "/system.slice: no job itself, searched for jobs below\n");
    check_logged(&r,
                 "/init.scope: no job and not searched, the path has no known "
                 "layout\n");
    check_logged(&r, "/" SCOPE "/job_1: taken for job 1 of slurm\n");
    check_logged(&r, "job 1: its cgroup is there, shown once it has a "
                     "process\n");
    assert_null(strstr(r.log, "has processes"));
    *r.log = '\0';
    tmp_file(SCOPE "/job_1/cgroup.procs", "1\n");
    r.core->reread_usec = 0; /* every directory is read again */
    rig_pass(&r);
    assert_string_equal(r.log, "3 job 1 of slurm: has processes\n");
    *r.log = '\0';
    tmp_remove(SCOPE "/job_1");
    rig_pass(&r);
    check_logged(&r, "job 1 of slurm: has ended: its cgroup has gone\n");
    rig_stop(&r);
    tmp_gone();
}

static void test_quiet(void **state)
{
    (void)state;
    struct rig r;
    start(&r, false);
    assert_string_equal(r.log, "");
    rig_stop(&r);
    tmp_gone();
}

static void test_introduce(void **state)
{
    (void)state;
    struct rig r;
    char want[400];
    start(&r, false);
    rig_pass(&r);
    assert_true(strncmp(r.start, "2 batchjob ", 11) == 0);
    snprintf(want, sizeof(want),
             "; cgroup: v2 at %s; jobs found: slurm; collectors: cpu, memory",
             r.conf.cgroupfs);
    if (!strstr(r.start, want) ||
        !strstr(r.start, "; meters: none; final records: off\n"))
        fail_msg("%s", r.start);
    /* once only */
    *r.start = '\0';
    rig_pass(&r);
    assert_string_equal(r.start, "");
    rig_stop(&r);
    tmp_gone();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_debug),
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_introduce),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
