/* Peaks and limits of memory. */
#include "tests/unit/lib/core.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memsw_limit),
        cmocka_unit_test(test_held_peak),
        cmocka_unit_test(test_held_then_cache),
        cmocka_unit_test(test_held_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
