/* The cluster collector in a core, with commands that say what a test wants:
 * recordings of Slurm 22.05, nothing, garbage, or nothing for a long time. */
#include "base/clock.h"
#include "tests/unit/lib/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SECOND = 1000000 };

static const char *dir;
static char path_opt[128], cgroup_opt[128];

/* A command: a script in the directory that the core looks in. */
static void command(const char *name, const char *body)
{
    char rel[64], path[256], text[2048], tmp[64], from[256];
    snprintf(rel, sizeof(rel), "bin/%s", name);
    snprintf(tmp, sizeof(tmp), "bin/%s.new", name);
    snprintf(path, sizeof(path), "%s/%s", dir, rel);
    snprintf(from, sizeof(from), "%s/%s", dir, tmp);
    snprintf(text, sizeof(text), "#!/bin/sh\necho x >>%s/runs.%s\n%s\n", dir,
             name, body);
    tmp_file(tmp, text);
    assert_int_equal(chmod(from, 0755), 0);
    assert_int_equal(rename(from, path), 0);
}

static void recorded(const char *name, const char *file)
{
    char cwd[1024], body[1200];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(body, sizeof(body), "exec /bin/cat %s/tests/fixtures/cluster/%s",
             cwd, file);
    command(name, body);
}

static int set_up(void **state)
{
    (void)state;
    dir = tmp_make();
    tmp_dir("bin");
    tmp_dir("cgroup");
    snprintf(path_opt, sizeof(path_opt), "cluster.path=%s/bin", dir);
    snprintf(cgroup_opt, sizeof(cgroup_opt), "path.cgroupfs=%s/cgroup", dir);
    recorded("squeue", "squeue.txt");
    recorded("sinfo", "sinfo.txt");
    recorded("sdiag", "sdiag.txt");
    char cwd[1024], body[4000];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(body, sizeof(body),
             "case $* in *config) f=config ;; *licenses) f=licenses ;; "
             "*) f=reservations ;; esac\n"
             "exec /bin/cat %s/tests/fixtures/cluster/$f.txt",
             cwd);
    command("scontrol", body);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tmp_gone();
    return 0;
}

#define START(r, ...)                                                          \
    rig_start(&(r), cgroup_opt, path_opt, "collector.cluster=true",            \
              "collector.node=false", "collector.gpu=false",                   \
              "job.file-dir=", __VA_ARGS__, NULL)

static const struct bj_list *list(const struct rig *r, enum bj_cluster_list k)
{
    return &r->snap->cluster_lists.list[k];
}

static const struct bj_source_stat *source(const struct rig *r,
                                           const char *name)
{
    const struct bj_list *l = list(r, BJ_CL_SOURCES);
    const struct bj_source_stat *v = l->v;
    for (size_t i = 0; i < l->n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(name)))
            return &v[i];
    return NULL;
}

static uint64_t errors(const struct rig *r, const char *name, const char *kind)
{
    const struct bj_list *l = list(r, BJ_CL_SOURCE_ERRORS);
    const struct bj_count_stat *v = l->v;
    for (size_t i = 0; i < l->n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(name)) &&
            bj_slice_eq(v[i].sub.key[1], bj_slice_str(kind)))
            return v[i].count;
    return 0;
}

/* Passes until a source has run so often, for ten seconds at most; no pass may
 * wait for a command. */
static void wait_runs(struct rig *r, const char *name, uint64_t runs)
{
    const uint64_t end = bj_clock_boot_usec() + 10 * SECOND;
    for (;;) {
        rig_pass(r);
        const struct bj_source_stat *s = source(r, name);
        if (s && s->runs >= runs)
            return;
        if (bj_clock_boot_usec() > end)
            fail_msg("%s did not run %u times", name, (unsigned)runs);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
}

static uint64_t jobs_of(const struct rig *r, const char *state)
{
    const struct bj_list *l = list(r, BJ_CL_JOBS);
    const struct bj_jobs_stat *v = l->v;
    for (size_t i = 0; i < l->n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(state)))
            return v[i].jobs;
    return 0;
}

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
    assert_int_equal(list(&r, BJ_CL_SHARES)->n, 0); /* not asked for */
    assert_null(source(&r, "limits"));
    assert_int_equal(source(&r, "nodes")->bad_lines, 4);
    /* Whoever looks does not make a command run. */
    for (int i = 0; i < 50; i++)
        rig_pass(&r);
    assert_int_equal(source(&r, "queue")->runs, 1);
    /* A snapshot outlives what it was made from. */
    struct bj_snap *old = bj_snap_ref(r.snap);
    rig_stop(&r);
    assert_true(bj_slice_eq(old->cluster, bj_slice_str("sandbox")));
    const struct bj_jobs_stat *v = old->cluster_lists.list[BJ_CL_JOBS].v;
    assert_true(v[0].jobs > 0);
    bj_snap_unref(old);
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

/* One that hangs costs its own figures only; the core ends without waiting for
 * it, and its values go when they are three periods old. */
static void test_faults(void **state)
{
    (void)state;
    struct rig r;
    START(r, "cluster.interval=1s", "cluster.timeout=300ms");
    wait_runs(&r, "licenses", 1);
    assert_int_equal(jobs_of(&r, "RUNNING"), 2);
    command("squeue", "exec /bin/sleep 60");
    command("sdiag", "echo what is this");
    char path[256];
    snprintf(path, sizeof(path), "%s/bin/sinfo", dir);
    assert_int_equal(unlink(path), 0);
    wait_runs(&r, "licenses", 3);
    assert_true(errors(&r, "queue", "timeout") > 0);
    assert_true(errors(&r, "nodes", "missing") > 0);
    assert_true(errors(&r, "diag", "output") > 0);
    assert_int_equal(errors(&r, "licenses", "timeout"), 0);
    assert_int_equal(source(&r, "queue")->success, 0);
    assert_int_equal(source(&r, "licenses")->success, 1);
    wait_runs(&r, "licenses", 6);
    assert_true(source(&r, "queue")->age_usec > 3 * SECOND);
    assert_int_equal(list(&r, BJ_CL_JOBS)->n, 0);
    assert_int_equal(list(&r, BJ_CL_NODES)->n, 0);
    assert_int_equal(list(&r, BJ_CL_LICENSES)->n, 2);
    recorded("squeue", "squeue.txt");
    wait_runs(&r, "licenses", source(&r, "licenses")->runs + 2);
    assert_int_equal(jobs_of(&r, "RUNNING"), 2);
    rig_stop(&r);
    /* told once, and once that it is over */
    const char *first = strstr(r.log, "cluster, queue: squeue");
    assert_non_null(first);
    assert_null(strstr(first + 1, "cluster, queue: squeue"));
    assert_non_null(strstr(first, "cluster, queue: works again"));
}

/* A file that changes shows without a restart; one that is gone is told. */
static void test_constants(void **state)
{
    (void)state;
    struct rig r;
    char opt[256];
    snprintf(opt, sizeof(opt), "cluster.constants=%s/numbers", dir);
    START(r, opt, "cluster.interval=1s", "cluster.source=none");
    wait_runs(&r, "constants", 1);
    assert_int_equal(errors(&r, "constants", "missing"), 1);
    tmp_file("numbers", "gpu_years 40.5\n");
    wait_runs(&r, "constants", source(&r, "constants")->runs + 1);
    const struct bj_constant_stat *v = list(&r, BJ_CL_CONSTANTS)->v;
    assert_int_equal(list(&r, BJ_CL_CONSTANTS)->n, 1);
    assert_int_equal(v->micro, 40500000);
    rig_stop(&r);
}

/* Where everything takes longer than its period, all have their turn. */
static void test_slow_all(void **state)
{
    (void)state;
    struct rig r;
    command("scontrol", "exec /bin/sleep 60");
    START(r, "cluster.interval=1s", "cluster.timeout=600ms");
    wait_runs(&r, "config", 3);
    assert_true(source(&r, "queue")->runs >= 2);
    assert_true(source(&r, "nodes")->runs >= 2);
    assert_true(errors(&r, "reservations", "timeout") >= 2);
    assert_int_equal(jobs_of(&r, "RUNNING"), 2);
    rig_stop(&r);
}

static void test_stop_while_it_hangs(void **state)
{
    (void)state;
    struct rig r;
    command("squeue", "exec /bin/sleep 60");
    START(r, "cluster.interval=1s", "cluster.timeout=60s");
    wait_runs(&r, "reservations", 1);
    nanosleep(&(struct timespec){0, 200000000}, NULL);
    const uint64_t begun = bj_clock_boot_usec();
    for (int i = 0; i < 20; i++)
        rig_pass(&r);
    rig_stop(&r);
    assert_true(bj_clock_boot_usec() - begun < 5 * SECOND);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_all),       TEST(test_configured_name),
        TEST(test_faults),    TEST(test_slow_all),
        TEST(test_constants), TEST(test_stop_while_it_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
