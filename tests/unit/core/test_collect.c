/* Collectors, compared with values copied by hand from recorded cgroup trees,
 * and with simulated files for what was not recorded. */
#include "core/collect/kv.h"
#include "core/find/ident.h"
#include "core/internal.h"
#include "tests/unit/lib/core.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#define NONE BJ_ABSENT

/* The expected value of a field of a job's bj_usage. A field that is not listed
 * must be absent. A list ends with an empty row. */
struct value {
    const char *name;
    size_t off;
    uint64_t v;
};
#define IS(field, v)                                                           \
    {                                                                          \
#field, offsetof(struct bj_usage, field), v                            \
    }

/* clang-format off */
static const struct value v2_slurm[] = {
    IS(cpu_usec, 8068862),
    IS(cpu_user_usec, 5470617),
    IS(cpu_system_usec, 2598245),
    IS(cpu_throttled_usec, 0),
    IS(cpu_periods, 0),
    IS(cpu_throttled_periods, 0),
    IS(cpus, 1),
    IS(mem_used_bytes, 107769856),
    IS(mem_rss_bytes, 107098112),
    IS(mem_cache_bytes, 24576),
    IS(mem_mapped_bytes, 0),
    IS(mem_shmem_bytes, 0),
    IS(mem_active_file_bytes, 12288),
    IS(mem_inactive_file_bytes, 12288),
    IS(mem_unevictable_bytes, 0),
    IS(mem_huge_bytes, 44040192),
    IS(mem_kernel_bytes, 647168),
    IS(mem_peak_bytes, 176062464),
    IS(mem_held_peak_bytes, 176062464),
    IS(mem_held_charged, 1),
    IS(mem_limit_bytes, 268435456),
    IS(mem_swap_bytes, 0),
    IS(mem_limit_hits, 0),
    IS(mem_ooms, 0),
    IS(mem_oom_kills, 0),
    IS(psi_cpu_some_usec, 11160612),
    IS(psi_cpu_full_usec, 10498681),
    IS(psi_mem_some_usec, 0),
    IS(psi_mem_full_usec, 0),
    IS(psi_io_some_usec, 40263),
    IS(psi_io_full_usec, 40263),
    {0},
};

static const struct value v1_slurm[] = {
    IS(cpu_usec, 1225738),
    IS(cpu_user_usec, 1030000),
    IS(cpu_system_usec, 180000),
    IS(cpus, 1),
    IS(mem_used_bytes, 108298240),
    IS(mem_rss_bytes, 107175936),
    IS(mem_cache_bytes, 16384),
    IS(mem_mapped_bytes, 0),
    IS(mem_shmem_bytes, 0),
    IS(mem_active_file_bytes, 4096),
    IS(mem_inactive_file_bytes, 12288),
    IS(mem_unevictable_bytes, 0),
    IS(mem_huge_bytes, 0),
    IS(mem_kernel_bytes, 585728),
    IS(mem_peak_bytes, 175747072),
    IS(mem_held_peak_bytes, 175747072),
    IS(mem_held_charged, 1),
    IS(mem_limit_bytes, 268435456),
    IS(mem_swap_bytes, 0),
    IS(mem_limit_hits, 0),
    IS(mem_oom_kills, 0),
    {0},
};

static const struct value v2_units[] = {
    IS(cpu_usec, 10927603),
    IS(cpu_user_usec, 8198690),
    IS(cpu_system_usec, 2728912),
    IS(cpu_throttled_usec, 10624262),
    IS(cpu_periods, 219),
    IS(cpu_throttled_periods, 218),
    IS(cpus, 1),
    IS(mem_used_bytes, 171077632),
    IS(mem_rss_bytes, 170602496),
    IS(mem_cache_bytes, 0),
    IS(mem_mapped_bytes, 0),
    IS(mem_shmem_bytes, 0),
    IS(mem_active_file_bytes, 0),
    IS(mem_inactive_file_bytes, 0),
    IS(mem_unevictable_bytes, 0),
    IS(mem_huge_bytes, 37748736),
    IS(mem_kernel_bytes, 475136),
    IS(mem_peak_bytes, 209715200),
    IS(mem_held_peak_bytes, 209715200),
    IS(mem_held_charged, 1),
    IS(mem_limit_bytes, 209715200),
    IS(mem_swap_bytes, 0),
    IS(mem_limit_hits, 663),
    IS(mem_ooms, 0),
    IS(mem_oom_kills, 0),
    IS(pids, 2),
    IS(psi_cpu_some_usec, 21795661),
    IS(psi_cpu_full_usec, 10869626),
    IS(psi_mem_some_usec, 591255),
    IS(psi_mem_full_usec, 173424),
    IS(psi_io_some_usec, 7752),
    IS(psi_io_full_usec, 318),
    {0},
};

/* Simulated: a recorded job as a pod, with peaks of swap space and threads. */
static const struct value v2_kubepods[] = {
    IS(cpu_usec, 7504772),
    IS(cpu_user_usec, 5902536),
    IS(cpu_system_usec, 1602235),
    IS(cpu_throttled_usec, 0),
    IS(cpu_periods, 0),
    IS(cpu_throttled_periods, 0),
    IS(cpus, 1),
    IS(mem_used_bytes, 38555648),
    IS(mem_rss_bytes, 37523456),
    IS(mem_cache_bytes, 24576),
    IS(mem_mapped_bytes, 0),
    IS(mem_shmem_bytes, 0),
    IS(mem_active_file_bytes, 0),
    IS(mem_inactive_file_bytes, 24576),
    IS(mem_unevictable_bytes, 0),
    IS(mem_huge_bytes, 0),
    IS(mem_kernel_bytes, 1007616),
    IS(mem_peak_bytes, 55599104),
    IS(mem_held_peak_bytes, 55599104),
    IS(mem_held_charged, 1),
    IS(mem_limit_bytes, 419430400),
    IS(mem_swap_bytes, 0),
    IS(mem_swap_peak_bytes, 12288000),
    IS(mem_limit_hits, 0),
    IS(mem_ooms, 0),
    IS(mem_oom_kills, 0),
    IS(pids, 5),
    IS(pids_peak, 11),
    IS(psi_cpu_some_usec, 8007140),
    IS(psi_cpu_full_usec, 7006862),
    IS(psi_mem_some_usec, 0),
    IS(psi_mem_full_usec, 0),
    IS(psi_io_some_usec, 5420),
    IS(psi_io_full_usec, 5420),
    {0},
};
/* clang-format on */

static const struct {
    const char *tree, *jobid;
    const struct value *values;
} jobs[] = {
    {"v2-slurm", "1", v2_slurm},
    {"v1-slurm", "1", v1_slurm},
    {"v2-units", "77", v2_units},
    {"v2-kubepods", "1a2b3c4d-5e6f-4081-92a3-b4c5d6e7f809", v2_kubepods},
};

static void check_field(const char *tree, const struct bj_job *job,
                        const struct value *values, size_t off)
{
    const struct value *want = values;
    uint64_t v;
    while (want->name && want->off != off)
        want++;
    memcpy(&v, (const char *)&job->use + off, sizeof(v));
    if (want->name && v != want->v)
        fail_msg("%s: %s is %llu, expected %llu", tree, want->name,
                 (unsigned long long)v, (unsigned long long)want->v);
    if (!want->name && v != BJ_ABSENT)
        fail_msg("%s: field %zu of bj_usage is %llu, expected none", tree,
                 off / sizeof(v), (unsigned long long)v);
}

static void test_jobs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        struct rig r;
        char root[256];
        snprintf(root, sizeof(root), "path.cgroupfs=tests/fixtures/trees/%s",
                 jobs[i].tree);
        rig_start(&r, root, "collector.pressure=true",
                  "job.pattern=unit=batch\\.slice/batch-(?<jobid>77)\\.service",
                  NULL);
        rig_pass(&r);
        const struct bj_job *job = rig_job(&r, jobs[i].jobid);
        assert_non_null(job);
        for (size_t off = 0; off < sizeof(job->use); off += sizeof(uint64_t))
            check_field(jobs[i].tree, job, jobs[i].values, off);
        assert_string_equal(r.log, "");
        rig_stop(&r);
    }
}

static void test_devices(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "path.cgroupfs=tests/fixtures/trees/v2-units",
              "path.sysfs=/nonexistent",
              "job.pattern=unit=batch\\.slice/batch-(?<jobid>77)\\.service",
              NULL);
    rig_pass(&r);
    const struct bj_job *job = rig_job(&r, "77");
    const struct bj_device_use *d = job->devices.v;
    assert_int_equal(job->devices.n, 1);
    assert_true(bj_slice_eq(d->sub.key[0], BJ_SLICE("254:0")));
    assert_int_equal(d->read_bytes, 83886080);
    assert_int_equal(d->write_bytes, 83898368);
    assert_int_equal(d->read_ops, 80);
    assert_int_equal(d->write_ops, 90);
    rig_stop(&r);
}

static void test_cores(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "path.cgroupfs=tests/fixtures/trees/v1-slurm",
              "collector.percore=true", NULL);
    rig_pass(&r);
    const struct bj_job *job = rig_job(&r, "1");
    const struct bj_core_use *c = job->cores.v;
    assert_int_equal(job->cores.n, 1);
    assert_true(bj_slice_eq(c->sub.key[0], BJ_SLICE("0")));
    assert_int_equal(c->cpu_usec, 1225731);
    rig_stop(&r);
}

/* For "max", the limit of the nearest parent that has one is used. */
static void test_parent_limit(void **state)
{
    (void)state;
    struct rig r;
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    tmp_file("cgroup.controllers", "memory\n");
    tmp_dir("system.slice/slurmstepd.scope");
    tmp_v2_job("system.slice/slurmstepd.scope/job_1", 1, 1, "1\n");
    tmp_v2_job("a.slice/slurmstepd.scope/job_2", 1, 1, "1\n");
    tmp_file("system.slice/slurmstepd.scope/job_1/memory.max", "max\n");
    tmp_file("system.slice/slurmstepd.scope/memory.max", "max\n");
    tmp_file("system.slice/memory.max", "4096000\n");
    tmp_file("a.slice/slurmstepd.scope/job_2/memory.max", "max\n");
    tmp_file("a.slice/memory.max", "max\n");
    tmp_file("system.slice/slurmstepd.scope/job_1/memory.swap.max", "max\n");
    tmp_file("system.slice/memory.swap.max", "8192\n");
    tmp_file("a.slice/slurmstepd.scope/job_2/memory.swap.max", "0\n");
    rig_start(&r, root, NULL);
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "1")->use.mem_limit_bytes, 4096000);
    assert_true(rig_job(&r, "2")->use.mem_limit_bytes == BJ_ABSENT);
    assert_int_equal(rig_job(&r, "1")->use.mem_swap_limit_bytes, 8192);
    assert_int_equal(rig_job(&r, "2")->use.mem_swap_limit_bytes, 0);
    rig_stop(&r);
    tmp_gone();
}

/* A broken file loses only its own values; it is counted, and logged once. */
static void test_fault(void **state)
{
    (void)state;
    struct rig r;
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    tmp_file("cgroup.controllers", "memory\n");
    tmp_v2_job("a.slice/slurmstepd.scope/job_1", 1, 1, "1\n");
    tmp_v2_job("a.slice/slurmstepd.scope/job_2", 2, 2, "1\n");
    tmp_file("a.slice/slurmstepd.scope/job_1/memory.current", "lots\n");
    tmp_file("a.slice/slurmstepd.scope/job_2/cpu.stat",
             "usage_usec 99999999999999999999\nuser_usec 5\n");
    rig_start(&r, root, "collector.node=false", NULL);
    rig_pass(&r);
    rig_pass(&r);
    assert_true(rig_job(&r, "1")->use.mem_used_bytes == BJ_ABSENT);
    assert_int_equal(rig_job(&r, "1")->use.cpu_usec, 1);
    assert_int_equal(rig_job(&r, "2")->use.mem_used_bytes, 2);
    assert_true(rig_job(&r, "2")->use.cpu_usec == BJ_ABSENT);
    assert_int_equal(rig_job(&r, "2")->use.cpu_user_usec, 5);
    assert_int_equal(rig_job(&r, "1")->use.unread_files, 1);
    assert_int_equal(rig_job(&r, "2")->use.unread_files, 1);
    assert_string_equal(
        r.log,
        "1 collector cpu: cgroup a.slice/slurmstepd.scope/job_2: cpu.stat: "
        "Invalid argument\n"
        "1 collector memory: cgroup a.slice/slurmstepd.scope/job_1: "
        "memory.current: Invalid argument\n");
    tmp_file("a.slice/slurmstepd.scope/job_1/memory.current", "7\n");
    rig_pass(&r);
    assert_true(rig_job(&r, "1")->use.unread_files == BJ_ABSENT);
    assert_int_equal(rig_job(&r, "2")->use.unread_files, 1);
    rig_stop(&r);
    tmp_gone();
}

/* The learnt order of lines is only a hint: other orders are read as well. */
static void test_order(void **state)
{
    (void)state;
    struct rec {
        uint64_t a, b;
    } rec;
    const struct bj_kv_key keys[] = {
        {BJ_SLICE("a"), offsetof(struct rec, a), 0},
        {BJ_SLICE("b"), offsetof(struct rec, b), 10},
    };
    static const struct {
        const char *text;
        uint64_t a, b;
        int status;
    } cases[] = {
        {"x 1\na 2\nb 3\ny 4\n", 2, 30, 0},
        {"x 1\na 5\nb 6\ny 4\n", 5, 60, 0},
        {"a 7\nx 1\nb 8\n", 7, 80, 0},
        {"b 9\na 1", 1, 90, 0},
        {"b 9\n", NONE, 90, 0},
        {"", NONE, NONE, 0},
        {"a\nb 1\n", NONE, 10, -EINVAL},
        {"ab 1\na 2\n", 2, NONE, 0},
        {"\n\na 3\n", 3, NONE, 0},
        /* One cgroup lacks a controller, the next one has it. */
        {"a 1\n", 1, NONE, 0},
        {"a 2\nb 3\n", 2, 30, 0},
        {"a 4\n", 4, NONE, 0},
        {"a 5\nx 1\n", 5, NONE, 0},
        {"a 6\nx 1\nb 7\n", 6, 70, 0},
        {"a 8\nx 1\n", 8, NONE, 0},
    };
    struct bj_kv_order order = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rec.a = rec.b = NONE;
        assert_int_equal(
            bj_kv_parse(bj_slice_str(cases[i].text), keys, 2, &order, &rec),
            cases[i].status);
        assert_true(rec.a == cases[i].a && rec.b == cases[i].b);
    }
}

/* A file with more lines than an order holds is read in full each time. */
static void test_long_file(void **state)
{
    (void)state;
    uint64_t v[2] = {0};
    const struct bj_kv_key keys[] = {{BJ_SLICE("first"), 0, 1},
                                     {BJ_SLICE("last"), sizeof(v[0]), 1}};
    struct bj_kv_order order = {0};
    char text[4096];
    for (uint64_t round = 1; round < 4; round++) {
        int n = snprintf(text, sizeof(text), "first %u\n", (unsigned)round);
        for (int i = 0; i < 2 * BJ_KV_LINES; i++)
            n += snprintf(text + n, sizeof(text) - (size_t)n, "more %d\n", i);
        snprintf(text + n, sizeof(text) - (size_t)n, "last %u\n",
                 10 * (unsigned)round);
        assert_int_equal(bj_kv_parse(bj_slice_str(text), keys, 2, &order, v),
                         0);
        assert_int_equal(v[0], round);
        assert_int_equal(v[1], 10 * round);
    }
}

/* v1 has the same files for pids; kernels before 6.1 have no pids.peak. */
static void test_pids_v1(void **state)
{
    (void)state;
    struct rig r;
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    for (int i = 1; i <= 2; i++) {
        char name[128];
        snprintf(name, sizeof(name), "pids/slurm/uid_7/job_%d", i);
        tmp_dir(name);
        snprintf(name, sizeof(name), "pids/slurm/uid_7/job_%d/cgroup.procs", i);
        tmp_file(name, "1\n");
        snprintf(name, sizeof(name), "pids/slurm/uid_7/job_%d/pids.current", i);
        tmp_file(name, "3\n");
    }
    tmp_file("pids/slurm/uid_7/job_1/pids.peak", "4\n");
    rig_start(&r, root, NULL);
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "1")->use.pids, 3);
    assert_int_equal(rig_job(&r, "1")->use.pids_peak, 4);
    assert_int_equal(rig_job(&r, "2")->use.pids, 3);
    assert_true(rig_job(&r, "2")->use.pids_peak == BJ_ABSENT);
    assert_string_equal(r.log, "");
    rig_stop(&r);
    tmp_gone();
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < BJ_RUNS; i++)
        assert_non_null(bj_run_names[i]);
    for (unsigned i = 0; i < BJ_CGROUP_COLLECTORS; i++)
        assert_int_equal(bj_cgroup_collectors[i]->id, i);
}

static void test_node(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "path.cgroupfs=/nonexistent", NULL);
    rig_pass(&r);
    assert_int_equal(r.snap->node.cpus, sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(r.snap->node.mem_total_bytes >=
                (uint64_t)sysconf(_SC_PHYS_PAGES) *
                    (uint64_t)sysconf(_SC_PAGESIZE));
    assert_true(r.snap->node.mem_free_bytes < r.snap->node.mem_total_bytes);
    assert_true(r.snap->node.modes.n == 8);
    assert_true(r.snap->node.boot_sec > 1500000000);
    assert_int_equal(r.snap->self.max_fds, sysconf(_SC_OPEN_MAX));
    rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs),         cmocka_unit_test(test_devices),
        cmocka_unit_test(test_cores),        cmocka_unit_test(test_fault),
        cmocka_unit_test(test_parent_limit), cmocka_unit_test(test_order),
        cmocka_unit_test(test_long_file),    cmocka_unit_test(test_names),
        cmocka_unit_test(test_node),         cmocka_unit_test(test_pids_v1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
