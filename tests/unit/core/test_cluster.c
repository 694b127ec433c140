/* The cluster collector in a core. Scripts replace Slurm's commands: they print
 * recordings of Slurm 22.05, nothing or garbage, or hang. */
#include "tests/unit/core/test_cluster.h"

#include "core/final.h"
#include "tests/unit/lib/await.h"
#include "tests/unit/lib/testclock.h"

static void test_all(void **state)
{
    (void)state;
    struct rig r;
    START(r, "cluster.interval=1h");
    wait_runs(&r, "licenses", 1);
    assert_true(bj_slice_eq(r.snap->cluster, bj_slice_str("sandbox")));
    assert_int_equal(jobs_of(&r, "RUNNING"), 2);
    assert_int_equal(list(&r, BJ_CL_NODES)->n, 5);
    assert_int_equal(list(&r, BJ_CL_LICENSES)->n, 2);
    assert_int_equal(list(&r, BJ_CL_RESERVATIONS)->n, 3);
    assert_int_equal(list(&r, BJ_CL_CONTROLLER)->n, 1);
    assert_int_equal(list(&r, BJ_CL_SHARES)->n, 0); /* not configured */
    assert_null(source(&r, "limits"));
    assert_int_equal(source(&r, "nodes")->bad_lines, 4);
    /* A pass runs no command. */
    for (int i = 0; i < 50; i++)
        rig_pass(&r);
    assert_int_equal(source(&r, "queue")->runs, 1);
    /* A snapshot stays valid after the core has ended. */
    struct bj_snap *old = bj_snap_ref(r.snap);
    rig_stop(&r);
    assert_true(bj_slice_eq(old->cluster, bj_slice_str("sandbox")));
    const struct bj_jobs_stat *v = old->cluster_lists.list[BJ_CL_JOBS].v;
    assert_true(v[0].jobs > 0);
    bj_snap_unref(old);
}

/* A final record names the cluster: as configured, else as scontrol reports
 * it. */
static void check_record(const char *name_opt, const char *want)
{
    struct rig r;
    struct bj_buf line = {0};
    struct bj_ident ident = {.n = {.start_sec = 1}};
    const struct bj_track t = {.ident = &ident};
    START(r, "cluster.interval=1h", "cluster.source=none", name_opt);
    wait_runs(&r, "config", 1);
    assert_int_equal(bj_final_write(r.core, &t, &line), 0);
    bj_buf_put(&line, "", 1);
    assert_non_null(strstr(line.p, want));
    bj_buf_free(&line);
    rig_stop(&r);
}

static void test_record(void **state)
{
    (void)state;
    check_record("cluster=", "\"cluster\":\"sandbox\"");
    check_record("cluster=ours", "\"cluster\":\"ours\"");
}

static void test_configured_name(void **state)
{
    (void)state;
    struct rig r;
    START(r, "cluster=ours", "cluster.by=user", "cluster.source=none");
    wait_runs(&r, "nodes", 1);
    assert_true(bj_slice_eq(r.snap->cluster, bj_slice_str("ours")));
    assert_int_equal(list(&r, BJ_CL_USER_JOBS)->n, 5);
    assert_int_equal(list(&r, BJ_CL_PARTITION_JOBS)->n, 0);
    assert_int_equal(list(&r, BJ_CL_PARTITION_NODES)->n, 0);
    assert_int_equal(list(&r, BJ_CL_REASONS)->n, 0);
    assert_null(source(&r, "diag"));
    rig_stop(&r);
}

/* Pages at the interval of the queries, at another phase: after two,
 * the queries are sent just before pages. */
static void test_pages(void **state)
{
    (void)state;
    struct rig r;
    testclock_stop();
    START(r, "cluster.interval=10s", "cluster.source=none");
    testclock_await(2); /* the resolver, and the thread that queries */
    rig_pass(&r);
    assert_int_equal(source(&r, "queue")->runs, 1);
    testclock_advance(4 * SECOND);
    for (int page = 0; page < 6; page++) {
        rig_pass(&r);
        const uint64_t age = source(&r, "queue")->age_usec;
        if (page < 2)
            assert_int_equal(age, 4 * SECOND);
        else
            assert_int_equal(age, SECOND / 2);
        for (int i = 0; i < 20; i++) {
            testclock_advance(SECOND / 2);
            testclock_await(2);
        }
    }
    rig_pass(&r);
    assert_int_equal(source(&r, "queue")->runs, 1 + 2 + 5);
    rig_stop(&r);
    testclock_run();
}

/* A command that hangs, is missing or prints garbage loses only its own values,
 * which are removed after three intervals. */
static void test_faults(void **state)
{
    (void)state;
    struct rig r;
    START(r, "cluster.interval=1s", "cluster.timeout=2s");
    wait_runs(&r, "licenses", 1);
    assert_int_equal(jobs_of(&r, "RUNNING"), 2);
    command("squeue", "exec /bin/sleep 60");
    command("sdiag", "echo what is this");
    char path[256];
    snprintf(path, sizeof(path), "%s/bin/sinfo", dir);
    assert_int_equal(unlink(path), 0);
    AWAIT_PASSES(&r, error_count(&r, "queue", "timeout") > 0 &&
                         error_count(&r, "nodes", "missing") > 0 &&
                         error_count(&r, "diag", "output") > 0);
    assert_int_equal(error_count(&r, "licenses", "timeout"), 0);
    assert_int_equal(source(&r, "queue")->success, 0);
    assert_int_equal(source(&r, "licenses")->success, 1);
    AWAIT_PASSES(&r,
                 list(&r, BJ_CL_JOBS)->n == 0 && list(&r, BJ_CL_NODES)->n == 0);
    assert_true(source(&r, "queue")->age_usec > 3 * SECOND);
    assert_int_equal(list(&r, BJ_CL_LICENSES)->n, 2);
    recorded_command("squeue", "squeue.txt");
    AWAIT_PASSES(&r, jobs_of(&r, "RUNNING") == 2);
    wait_runs(&r, "queue", source(&r, "queue")->runs + 1);
    rig_stop(&r);
    /* logged once, and once when it works again */
    const char *first = strstr(r.log, "cluster, queue: squeue");
    assert_non_null(first);
    assert_null(strstr(first + 1, "cluster, queue: squeue"));
    assert_non_null(strstr(first, "cluster, queue: works again"));
}

/* A changed file of constants is read without a restart; a missing file is
 * counted as an error. */
static void test_constants(void **state)
{
    (void)state;
    struct rig r;
    char opt[256];
    snprintf(opt, sizeof(opt), "cluster.constants=%s/numbers", dir);
    START(r, opt, "cluster.interval=1s", "cluster.source=none");
    wait_runs(&r, "constants", 1);
    assert_int_equal(error_count(&r, "constants", "missing"), 1);
    tmp_file("numbers", "gpu_years 40.5\n");
    AWAIT_PASSES(&r, list(&r, BJ_CL_CONSTANTS)->n == 1);
    const struct bj_constant_stat *v = list(&r, BJ_CL_CONSTANTS)->v;
    assert_int_equal(v->micro, 40500000);
    /* An invalid line is logged once, with its place. */
    tmp_file("numbers", "gpu_years 40.5 year\noops\n");
    wait_runs(&r, "constants", source(&r, "constants")->runs + 2);
    v = list(&r, BJ_CL_CONSTANTS)->v;
    assert_int_equal(v->period_sec, 365 * 86400);
    assert_true(source(&r, "constants")->bad_lines >= 1);
    rig_stop(&r);
    const char *logged = strstr(r.log, "/numbers:2: 'oops' is not NAME NUMBER");
    assert_non_null(logged);
    assert_null(strstr(logged + 1, "/numbers:2:"));
}

/* With two clusters in the database, no limits are reported until the name of
 * this cluster is known. */
static void test_limits_of_other_cluster(void **state)
{
    (void)state;
    struct rig r;
    command("scontrol", "exit 1");
    command("sacctmgr", "echo 'other|a|||1|||||'\necho 'sandbox|b|||2|||||'");
    START(r, "cluster.interval=1s", "cluster.slow-interval=1h",
          "cluster.source=limits");
    wait_runs(&r, "limits", 1);
    assert_int_equal(list(&r, BJ_CL_LIMITS)->n, 0);
    assert_int_equal(source(&r, "limits")->success, 0);
    recorded_scontrol_command();
    AWAIT_PASSES(&r, list(&r, BJ_CL_LIMITS)->n == 1);
    const struct bj_limit_stat *v = list(&r, BJ_CL_LIMITS)->v;
    assert_true(bj_slice_eq(v->sub.key[0], BJ_SLICE("b")));
    assert_int_equal(v->jobs, 2);
    rig_stop(&r);
}

/* If the commands take longer than the interval, each still runs in turn. */
static void test_slow_commands(void **state)
{
    (void)state;
    struct rig r;
    command("scontrol", "exec /bin/sleep 60");
    START(r, "cluster.interval=1s", "cluster.timeout=600ms");
    wait_runs(&r, "config", 3);
    assert_true(source(&r, "queue")->runs >= 2);
    assert_true(source(&r, "nodes")->runs >= 2);
    assert_true(error_count(&r, "reservations", "timeout") >= 2);
    AWAIT_PASSES(&r, jobs_of(&r, "RUNNING") == 2);
    rig_stop(&r);
}

/* After a command that took longer than the interval, the collector pauses for
 * as long as the command ran. */
static void test_pause(void **state)
{
    (void)state;
    struct rig r;
    char cwd[1024], body[1200];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(body, sizeof(body),
             "/bin/sleep 1.1; exec /bin/cat %s/tests/fixtures/cluster/"
             "squeue.txt",
             cwd);
    command("squeue", body);
    const uint64_t begun = bj_clock_boot_usec();
    START(r, "cluster.interval=1s", "cluster.source=none");
    wait_runs(&r, "queue", 2);
    assert_true(bj_clock_boot_usec() - begun >= 3300000);
    rig_stop(&r);
}

static void test_stop_while_command_hangs(void **state)
{
    (void)state;
    struct rig r;
    char path[256];
    command("squeue", "exec /bin/sleep 60");
    START(r, "cluster.interval=1s", "cluster.timeout=60s");
    wait_runs(&r, "reservations", 1);
    snprintf(path, sizeof(path), "%s/runs.squeue", dir);
    AWAIT(access(path, F_OK) == 0);
    const uint64_t begun = bj_clock_boot_usec();
    for (int i = 0; i < 20; i++)
        rig_pass(&r);
    rig_stop(&r);
    assert_true(bj_clock_boot_usec() - begun < 30 * SECOND);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_all),
        TEST(test_record),
        TEST(test_configured_name),
        TEST(test_pages),
        TEST(test_faults),
        TEST(test_slow_commands),
        TEST(test_constants),
        TEST(test_limits_of_other_cluster),
        TEST(test_pause),
        TEST(test_stop_while_command_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
