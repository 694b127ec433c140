/* Peaks and limits of memory. */
#include "core/internal.h"
#include "tests/unit/lib/core.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* On v1 memory and swap space have one limit. */
static void test_memsw_limit(void **state)
{
    (void)state;
    struct rig r;
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    for (int i = 1; i <= 2; i++) {
        char name[128];
        snprintf(name, sizeof(name), "memory/slurm/uid_7/job_%d", i);
        tmp_dir(name);
        snprintf(name, sizeof(name), "memory/slurm/uid_7/job_%d/cgroup.procs",
                 i);
        tmp_file(name, "1\n");
        snprintf(name, sizeof(name),
                 "memory/slurm/uid_7/job_%d/memory.memsw.limit_in_bytes", i);
        tmp_file(name, i == 1 ? "1073741824\n" : "9223372036854771712\n");
    }
    rig_start(&r, root, NULL);
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "1")->use.memsw_limit_bytes, 1073741824);
    assert_true(rig_job(&r, "2")->use.memsw_limit_bytes == BJ_ABSENT);
    rig_stop(&r);
    tmp_gone();
}

static void set_memory(struct rig *r, uint64_t used, uint64_t peak,
                       uint64_t anon, uint64_t shmem)
{
    static const char *const names[] = {"current", "peak", "stat"};
    char text[3][128], name[128];
    snprintf(text[0], sizeof(text[0]), "%" PRIu64 "\n", used);
    snprintf(text[1], sizeof(text[1]), "%" PRIu64 "\n", peak);
    snprintf(text[2], sizeof(text[2]),
             "anon %" PRIu64 "\nfile 9\nshmem %" PRIu64 "\n", anon, shmem);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name),
                 "system.slice/slurmstepd.scope/job_1/memory.%s", names[i]);
        if (i != 1 || peak != BJ_ABSENT)
            tmp_file(name, text[i]);
    }
    rig_pass(r);
}

static uint64_t held(struct rig *r)
{
    return rig_job(r, "1")->use.mem_held_peak_bytes;
}

static void start_memory(struct rig *r)
{
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    tmp_file("cgroup.controllers", "memory\n");
    tmp_dir("system.slice/slurmstepd.scope/job_1");
    tmp_file("system.slice/slurmstepd.scope/job_1/cgroup.procs", "1\n");
    rig_start(r, root, NULL);
}

/* The peak of held memory excludes page cache.  What rose between two samples
 * counts, except for the page cache that both have. It never falls. */
static void test_held_peak(void **state)
{
    (void)state;
    struct rig r;
    start_memory(&r);
    set_memory(&r, 100, 100, 20, 5); /* before the first sample: unknown */
    assert_int_equal(held(&r), 100);
    set_memory(&r, 1000, 1000, 130, 5); /* 75 to 865 are page cache */
    assert_int_equal(held(&r), 925);
    set_memory(&r, 1100, 1100, 930, 0); /* and now 170 */
    assert_int_equal(held(&r), 930);
    set_memory(&r, 1000, 1100, 10, 0); /* the peak stays */
    assert_int_equal(held(&r), 930);
    set_memory(&r, 1900, 2000, 40, 0); /* 990, 1860 are page cache */
    assert_int_equal(held(&r), 1010);
    set_memory(&r, 2000, 2000, 50, 0); /* page cache later changes nothing */
    assert_int_equal(held(&r), 1010);
    set_memory(&r, 0, 3000, 0, 2900); /* never above the charged peak */
    assert_int_equal(held(&r), 3000);
    set_memory(&r, 0, 2500, 0, 1300); /* another process reset the kernel's */
    assert_int_equal(held(&r), 3000);
    assert_int_equal(rig_job(&r, "1")->use.mem_peak_bytes, 3000);
    assert_int_equal(rig_job(&r, "1")->use.mem_held_sampled, BJ_ABSENT);
    rig_stop(&r);
    tmp_gone();
}

/* A short peak of held memory stays when page cache grows to the same size. */
static void test_held_then_cache(void **state)
{
    (void)state;
    struct rig r;
    start_memory(&r);
    set_memory(&r, 3, 3, 2, 0);
    set_memory(&r, 8, 210, 3, 0); /* 207 or more were held, then freed */
    assert_int_equal(held(&r), 209);
    set_memory(&r, 209, 210, 3, 0); /* the rest is page cache */
    assert_int_equal(held(&r), 209);
    rig_stop(&r);
    tmp_gone();
}

/* cgroup v2 before Linux 5.19: the largest sample, which says so. */
static void test_held_sampled(void **state)
{
    (void)state;
    struct rig r;
    start_memory(&r);
    set_memory(&r, 905, BJ_ABSENT, 900, 1);
    set_memory(&r, 950, BJ_ABSENT, 100, 1);
    assert_int_equal(held(&r), 901);
    assert_int_equal(rig_job(&r, "1")->use.mem_held_sampled, 1);
    assert_int_equal(rig_job(&r, "1")->use.mem_peak_bytes, BJ_ABSENT);
    rig_stop(&r);
    tmp_gone();
}

/* --- restarts without a sampler --------------------------------------------
 */

#define STEP "system.slice/slurmstepd.scope/job_1/step_0"
#define TASK STEP "/user/task_0"

static char root_opt[128], state_opt[128], state_path[128];

static void start_again(struct rig *r, const char *state)
{
    rig_start(r, root_opt, state, "collector.steps=tasks", NULL);
}

/* A job with a step and a task. */
static void make_job(void)
{
    tmp_dir(TASK);
    tmp_file("system.slice/slurmstepd.scope/job_1/cgroup.procs", "1\n");
    tmp_file(STEP "/cgroup.procs", "1\n");
    tmp_file(TASK "/cgroup.procs", "1\n");
}

static void start_kept(struct rig *r)
{
    const char *top = tmp_make();
    snprintf(root_opt, sizeof(root_opt), "path.cgroupfs=%s", top);
    snprintf(state_path, sizeof(state_path), "%s/state.memory", top);
    snprintf(state_opt, sizeof(state_opt), "energy.state-file=%s/state", top);
    tmp_file("cgroup.controllers", "memory\n");
    make_job();
    start_again(r, state_opt);
}

static void put_memory(const char *dir, unsigned used, unsigned peak,
                       unsigned anon)
{
    char name[160], text[160];
    snprintf(name, sizeof(name), "%s/memory.current", dir);
    snprintf(text, sizeof(text), "%u\n", used);
    tmp_file(name, text);
    snprintf(name, sizeof(name), "%s/memory.stat", dir);
    snprintf(text, sizeof(text), "anon %u\nfile %u\nshmem 0\n", anon,
             used - anon);
    tmp_file(name, text);
    snprintf(name, sizeof(name), "%s/memory.peak", dir);
    snprintf(text, sizeof(text), "%u\n", peak);
    if (peak > 0)
        tmp_file(name, text);
}

/* One pass in which job, step and task use as much. */
static void use_memory(struct rig *r, unsigned used, unsigned peak,
                       unsigned anon)
{
    put_memory("system.slice/slurmstepd.scope/job_1", used, peak, anon);
    put_memory(STEP, used, peak, anon);
    put_memory(TASK, used, peak, anon);
    rig_pass(r);
}

/* Check the peak of the job, the step and the task. */
static void is_held(const struct rig *r, uint64_t bytes, uint64_t sampled,
                    uint64_t charged)
{
    const struct bj_job *job = rig_job(r, "1");
    const struct bj_step_use *step = job->steps.v, *task = job->tasks.v;
    const struct bj_usage *use[] = {&job->use, &step->use, &task->use};
    assert_int_equal(job->steps.n, 1);
    assert_int_equal(job->tasks.n, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(use[i]->mem_held_peak_bytes, bytes);
        assert_int_equal(use[i]->mem_held_sampled, sampled);
        assert_int_equal(use[i]->mem_held_charged, charged);
    }
}

/* Without a sampler, for jobs, steps and tasks: page cache before a restart
 * does not become held memory, what rose meanwhile counts. */
static void test_restart(void **state)
{
    (void)state;
    struct rig r;
    start_kept(&r);
    use_memory(&r, 2000, 2000, 2000);
    is_held(&r, 2000, BJ_ABSENT, BJ_ABSENT);
    use_memory(&r, 8000, 8000, 1000); /* 0 to 7000 are page cache */
    is_held(&r, 8000, BJ_ABSENT, BJ_ABSENT);
    use_memory(&r, 8000, 8000, 1000);
    rig_stop(&r);
    start_again(&r, state_opt);
    use_memory(&r, 90000, 90000, 100);
    is_held(&r, 83000, BJ_ABSENT, BJ_ABSENT); /* 7000 were page cache */
    use_memory(&r, 90000, 90000, 100);
    rig_stop(&r);
    start_again(&r, state_opt);
    use_memory(&r, 99000, 99000, 100); /* 89900 to 98900 */
    is_held(&r, 83000, BJ_ABSENT, BJ_ABSENT);
    rig_stop(&r);
    tmp_gone();
}

/* The peak before the first sample may contain page cache, which it says until
 * the job is seen to hold more; a restart does not hide it. */
static void test_charged(void **state)
{
    (void)state;
    struct rig r;
    start_kept(&r);
    use_memory(&r, 5000, 6000, 100);
    is_held(&r, 6000, BJ_ABSENT, 1);
    rig_stop(&r);
    start_again(&r, state_opt);
    use_memory(&r, 5000, 6000, 100);
    is_held(&r, 6000, BJ_ABSENT, 1);
    use_memory(&r, 6500, 7000, 6100);
    is_held(&r, 6600, BJ_ABSENT, BJ_ABSENT);
    rig_stop(&r);
    tmp_gone();
}

/* Where no state is kept, the peak after a restart says so. */
static void test_restart_without_state(void **state)
{
    (void)state;
    struct rig r;
    start_kept(&r);
    rig_stop(&r);
    start_again(&r, "energy.state-file=");
    use_memory(&r, 2000, 2000, 2000);
    use_memory(&r, 9000, 9000, 2000);
    use_memory(&r, 9000, 9000, 2000);
    is_held(&r, 9000, BJ_ABSENT, BJ_ABSENT);
    rig_stop(&r);
    start_again(&r, "energy.state-file=");
    use_memory(&r, 9000, 9500, 2000);
    is_held(&r, 9500, BJ_ABSENT, 1);
    rig_stop(&r);
    tmp_gone();
}

/* The same as test_restart where the kernel keeps no peak. */
static void test_restart_sampled(void **state)
{
    (void)state;
    struct rig r;
    start_kept(&r);
    use_memory(&r, 7000, 0, 4000);
    is_held(&r, 4000, 1, BJ_ABSENT);
    rig_stop(&r);
    start_again(&r, state_opt);
    use_memory(&r, 7000, 0, 100);
    is_held(&r, 4000, 1, BJ_ABSENT);
    use_memory(&r, 7000, 0, 5000);
    is_held(&r, 5000, 1, BJ_ABSENT);
    rig_stop(&r);
    tmp_gone();
}

/* Another job of the same name, in a new directory, begins again. */
static void test_restart_other_job(void **state)
{
    (void)state;
    struct rig r;
    start_kept(&r);
    use_memory(&r, 7000, 0, 4000);
    rig_stop(&r);
    tmp_dir("old"); /* keeps the inode from being used again */
    char from[200], to[200];
    snprintf(from, sizeof(from), "%s/system.slice/slurmstepd.scope/job_1",
             root_opt + strlen("path.cgroupfs="));
    snprintf(to, sizeof(to), "%s/old/1", root_opt + strlen("path.cgroupfs="));
    assert_int_equal(rename(from, to), 0);
    make_job();
    start_again(&r, state_opt);
    use_memory(&r, 7000, 0, 30);
    is_held(&r, 30, 1, BJ_ABSENT);
    rig_stop(&r);
    tmp_gone();
}

/* Files that are no state, or that of another boot, are not used. */
static void test_bad_state(void **state)
{
    (void)state;
    static const struct {
        const char *text, *log;
    } bad[] = {
        {"batchjob-ledger 1\n", "not a state of memory"},
        {"\n", "not a state of memory"},
        {"batchjob-memory 1 no-such-boot\nx#1 9 9 9 0\n", NULL},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rig r;
        start_kept(&r);
        use_memory(&r, 7000, 0, 4000);
        rig_stop(&r);
        tmp_file("state.memory", bad[i].text);
        start_again(&r, state_opt);
        use_memory(&r, 7000, 0, 30);
        is_held(&r, 30, 1, BJ_ABSENT);
        if (bad[i].log)
            assert_non_null(strstr(r.log, bad[i].log));
        else
            assert_string_equal(r.log, "");
        rig_stop(&r);
        tmp_gone();
    }
}

/* Lines of this boot that are damaged: the whole file is set aside. */
static void test_damaged_state(void **state)
{
    (void)state;
    static const char *const lines[] = {"x",
                                        "x#1 1 2 3",
                                        "x#1 1 2 3 2",
                                        "x#1 -1 2 3 0",
                                        "x%zz 1 2 3 0",
                                        "x#1 99999999999999999999999 1 1 0"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct rig r;
        start_kept(&r);
        use_memory(&r, 7000, 0, 4000);
        rig_stop(&r);
        FILE *f = fopen(state_path, "a");
        assert_non_null(f);
        fprintf(f, "%s\n", lines[i]);
        fclose(f);
        start_again(&r, state_opt);
        use_memory(&r, 7000, 0, 30);
        is_held(&r, 30, 1, BJ_ABSENT);
        assert_non_null(strstr(r.log, "state.memory.bad"));
        rig_stop(&r);
        tmp_gone();
    }
}

/* A directory that cannot be written: said at the start, and nothing else is
 * wrong. */
static void test_no_place_for_state(void **state)
{
    (void)state;
    struct rig r;
    start_kept(&r);
    rig_stop(&r);
    start_again(&r, "energy.state-file=/proc/self/no/state");
    use_memory(&r, 7000, 0, 30);
    is_held(&r, 30, 1, BJ_ABSENT);
    assert_non_null(
        strstr(r.log, "peaks of memory are lost when this process ends: open "
                      "/proc/self/no/state.memory.lock"));
    rig_stop(&r);
    tmp_gone();
}

/* The last sample of a job has an OOM kill of v2 that the kernel has signalled
 * since the last pass, or signals later. */
static void test_last_events(void **state)
{
    (void)state;
    struct rig r;
    start_memory(&r);
    tmp_file("system.slice/slurmstepd.scope/job_1/memory.events",
             "max 0\noom 0\noom_kill 0\n");
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "1")->use.mem_oom_kills, 0);
    struct bj_track *t = r.core->tracks.v[0];
    int fd = t->unit.kept[BJ_KEPT_MEMORY_EVENTS];
    assert_true(fd >= 0);
    t->unit.watched = true; /* as in a real control group */
    tmp_file("system.slice/slurmstepd.scope/job_1/memory.events",
             "max 7\noom 1\noom_kill 1\n");
    bj_core_read_job(t, true);
    assert_int_equal(t->unit.use.mem_oom_kills, 1);
    assert_int_equal(t->unit.use.mem_limit_hits, 7);
    rig_stop(&r);
    tmp_gone();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_events),
        cmocka_unit_test(test_memsw_limit),
        cmocka_unit_test(test_held_peak),
        cmocka_unit_test(test_held_then_cache),
        cmocka_unit_test(test_held_sampled),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_charged),
        cmocka_unit_test(test_restart_without_state),
        cmocka_unit_test(test_restart_sampled),
        cmocka_unit_test(test_restart_other_job),
        cmocka_unit_test(test_bad_state),
        cmocka_unit_test(test_damaged_state),
        cmocka_unit_test(test_no_place_for_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
