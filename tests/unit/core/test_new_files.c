/* Files of cgroups that newer kernels have: memory.numa_stat, memory.peak with
 * a peak of its own for each descriptor, cpu.stat.local, cgroup.stat.local,
 * dmem.*; and a hierarchy of v1 without files.  The trees are simulated: the
 * formats are those of Documentation/admin-guide/cgroup-v2.rst and
 * cgroup-v1/memory.rst.  test_real_freezer has a real cgroup. */
#include "core/find/ident.h"
#include "core/find/layout.h"
#include "core/internal.h"
#include "tests/unit/lib/await.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/testclock.h"

#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#define MINUTE UINT64_C(60000000)
#define JOB "cgroup/a.slice/slurmstepd.scope/job_1"

static struct rig rig;
static const char *top;

/* A tree of v2 with a job; node n has the CPUs 4 n to 4 n + 3, the last of
 * several nodes has none. */
static void make_tree(unsigned nodes)
{
    top = tmp_make();
    tmp_v2_job(JOB, 5000000, 1 << 20, "1\n");
    tmp_file("cgroup/cgroup.controllers", "cpuset cpu memory\n");
    for (unsigned i = 0; i < nodes; i++) {
        char name[80], list[16];
        snprintf(name, sizeof(name), "sys/devices/system/node/node%u", i);
        tmp_dir(name);
        snprintf(name, sizeof(name), "sys/devices/system/node/node%u/cpulist",
                 i);
        snprintf(list, sizeof(list), "%u-%u\n", 4 * i, 4 * i + 3);
        tmp_file(name, i > 0 && i + 1 == nodes ? "\n" : list);
    }
}

static void begin(void)
{
    char cgroup[128], sys[128];
    snprintf(cgroup, sizeof(cgroup), "path.cgroupfs=%s/cgroup", top);
    snprintf(sys, sizeof(sys), "path.sysfs=%s/sys", top);
    testclock_stop();
    rig_start(&rig, cgroup, sys, "collector.node=false", NULL);
}

static void end(void)
{
    rig_stop(&rig);
    tmp_gone();
    testclock_run();
}

static const struct bj_usage *later(uint64_t usec)
{
    testclock_advance(usec);
    rig_pass(&rig);
    const struct bj_job *job = rig_job(&rig, "1");
    assert_non_null(job);
    return &job->use;
}

/* Anonymous memory on a node without a CPU of the job is remote; the ratio is
 * the mean of the samples, of which there is one in a minute. */
static void test_numa(void **state)
{
    (void)state;
    make_tree(3);
    tmp_file(JOB "/cpuset.cpus.effective", "4-5\n");
    tmp_file(JOB "/memory.numa_stat",
             "anon N0=1048576 N1=2097152 N2=1048576\nfile N0=9 N1=0 N2=0\n"
             "anon_thp N0=0 N1=0 N2=0\n");
    begin();
    const struct bj_usage *use = later(0);
    assert_int_equal(use->mem_remote_bytes, 2097152);
    assert_int_equal(use->mem_remote_ppm, 500000);
    tmp_file(JOB "/memory.numa_stat",
             "anon N0=0 N1=12582912 N2=0\nfile N0=9 N1=0 N2=0\n");
    assert_int_equal(later(MINUTE / 2)->mem_remote_bytes, 2097152);
    use = later(MINUTE / 2);
    assert_int_equal(use->mem_remote_bytes, 0);
    assert_int_equal(use->mem_remote_ppm, 125000); /* 2 of 16 MiB */
    tmp_file(JOB "/memory.numa_stat", "anon N0=x\n");
    assert_int_equal(later(MINUTE)->unread_files, 1);
    end();
}

/* One node, or CPUs that are not known or are on no node: nothing is known. */
static void test_numa_unknown(void **state)
{
    static const struct {
        unsigned nodes;
        const char *cpus;
    } cases[] = {{0, "0-3\n"}, {1, "0-3\n"}, {2, NULL}, {2, "0-99\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_tree(cases[i].nodes);
        if (cases[i].cpus)
            tmp_file(JOB "/cpuset.cpus.effective", cases[i].cpus);
        tmp_file(JOB "/memory.numa_stat", "anon N0=4096 N1=4096\n");
        begin();
        const struct bj_usage *use = later(0);
        assert_true(use->mem_remote_bytes == BJ_ABSENT);
        assert_true(use->mem_remote_ppm == BJ_ABSENT);
        end();
    }
}

/* The line of v1 is of the cgroup and all below it, in pages. */
static void test_numa_v1(void **state)
{
    static const struct {
        const char *text;
        int code;
        uint64_t pages, remote;
    } cases[] = {
        {"total=9 N0=9 N1=0\nanon=1 N0=1 N1=0\n"
         "hierarchical_anon=5 N0=2 N1=3\nhierarchical_unevictable=0 N0=0\n",
         0, 5, 3},
        {"hierarchical_anon=0 N0=0 N1=0\n", 0, 0, 0},
        {"hierarchical_anon=1 N1=99999999999999999999\n", -EINVAL, 0, 0},
        {"hierarchical_anon=1 N1=18446744073709551615\n", -EINVAL, 0, 0},
        {"hierarchical_anon=1 M1=1\n", -EINVAL, 0, 0},
        {"anon=1 N0=1 N1=0\n", -EINVAL, 0, 0},
        {"", -EINVAL, 0, 0},
    };
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    char sys[128];
    struct bj_numa n;
    (void)state;
    make_tree(0);
    tmp_dir("sys/devices/system/node/node0");
    tmp_file("sys/devices/system/node/node0/cpulist", "0-1\n");
    tmp_dir("sys/devices/system/node/node1");
    tmp_file("sys/devices/system/node/node1/cpulist", "2-3\n");
    snprintf(sys, sizeof(sys), "%s/sys", top);
    bj_numa_read(&n, sys);
    assert_int_equal(n.nodes, 2);
    const uint64_t local = bj_numa_of_cpus(&n, BJ_SLICE("1\n"));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t all = 0, remote = 0;
        assert_int_equal(bj_numa_parse(&n, bj_slice_str(cases[i].text), true,
                                       local, &all, &remote),
                         cases[i].code);
        if (cases[i].code < 0)
            continue;
        assert_int_equal(all, cases[i].pages * page);
        assert_int_equal(remote, cases[i].remote * page);
    }
    bj_numa_free(&n);
    tmp_gone();
}

/* Read a file of the tree into text. */
static const char *content(const char *rel, char *text, size_t size)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", top, rel);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

/* Once a minute a write begins a new peak; here a plain file stands for the
 * kernel's, and the test for the kernel.  The peak of the whole job stays. */
static void test_own_peak(void **state)
{
    (void)state;
    char text[32];
    make_tree(0);
    tmp_file(JOB "/memory.peak", "900\n");
    tmp_remove(JOB);
    begin();
    rig_pass(&rig);
    rig.core->hiers.v[0].is_kernel = true;
    tmp_v2_job(JOB, 1, 100, "1\n");
    tmp_file(JOB "/memory.peak", "900\n");
    const struct bj_usage *use = later(MINUTE);
    assert_int_equal(use->mem_peak_bytes, 900);
    assert_true(use->mem_recent_peak_bytes == BJ_ABSENT);
    assert_string_equal(content(JOB "/memory.peak", text, 32), "r00\n");
    tmp_file(JOB "/memory.peak", "400\n");
    use = later(MINUTE / 2);
    assert_int_equal(use->mem_peak_bytes, 900);
    assert_true(use->mem_recent_peak_bytes == BJ_ABSENT);
    tmp_file(JOB "/memory.peak", "700\n");
    use = later(MINUTE / 2);
    assert_int_equal(use->mem_peak_bytes, 900);
    assert_int_equal(use->mem_recent_peak_bytes, 700);
    assert_string_equal(content(JOB "/memory.peak", text, 32), "r00\n");
    tmp_file(JOB "/memory.peak", "950\n");
    use = later(MINUTE);
    assert_int_equal(use->mem_peak_bytes, 950);
    assert_int_equal(use->mem_recent_peak_bytes, 950);
    end();
}

/* A tree that is not the kernel's is only read. */
static void test_peak_of_copy(void **state)
{
    (void)state;
    char text[32];
    make_tree(0);
    tmp_file(JOB "/memory.peak", "900\n");
    begin();
    assert_int_equal(later(0)->mem_peak_bytes, 900);
    assert_true(later(MINUTE)->mem_recent_peak_bytes == BJ_ABSENT);
    assert_string_equal(content(JOB "/memory.peak", text, 32), "900\n");
    end();
}

/* Slurm freezes a directory of each step: the longest time counts.  A job that
 * uses CPU time is not asked. */
static void test_frozen(void **state)
{
    (void)state;
    make_tree(0);
    tmp_file(JOB "/cpu.stat.local", "throttled_usec 77\n");
    tmp_file(JOB "/cgroup.stat.local", "frozen_usec 0\n");
    tmp_dir(JOB "/step_0/user");
    tmp_dir(JOB "/step_batch/user");
    tmp_file(JOB "/step_0/user/cgroup.stat.local", "frozen_usec 3000000\n");
    tmp_file(JOB "/step_batch/user/cgroup.stat.local", "frozen_usec 7\n");
    begin();
    assert_int_equal(later(0)->frozen_usec, 3000000);
    assert_int_equal(later(0)->cpu_held_back_usec, 77);
    tmp_file(JOB "/step_0/user/cgroup.stat.local", "frozen_usec 63000000\n");
    tmp_file(JOB "/cpu.stat", "usage_usec 65000000\n");
    assert_int_equal(later(MINUTE)->frozen_usec, 3000000);
    assert_int_equal(later(MINUTE)->frozen_usec, 63000000);
    tmp_file(JOB "/cgroup.stat.local", "frozen_usec 80000000\n");
    assert_int_equal(later(MINUTE)->frozen_usec, 80000000);
    tmp_file(JOB "/cgroup.stat.local", "frozen_usec many\n");
    assert_int_equal(later(MINUTE)->unread_files, 1);
    end();
}

/* A kernel without these files is asked once. */
static void test_old_kernel(void **state)
{
    (void)state;
    make_tree(0);
    begin();
    assert_true(later(0)->frozen_usec == BJ_ABSENT);
    assert_true(later(0)->cpu_held_back_usec == BJ_ABSENT);
    tmp_file(JOB "/cpu.stat.local", "throttled_usec 77\n");
    tmp_file(JOB "/cgroup.stat.local", "frozen_usec 9\n");
    const struct bj_usage *use = later(MINUTE);
    assert_true(use->frozen_usec == BJ_ABSENT);
    assert_true(use->cpu_held_back_usec == BJ_ABSENT);
    assert_true(use->unread_files == BJ_ABSENT);
    end();
}

/* Memory on devices, by region; what is no longer listed is not known. */
static void test_dmem(void **state)
{
    (void)state;
    make_tree(0);
    tmp_file("cgroup/dmem.capacity", "drm/0000:03:00.0/vram0 100\n");
    tmp_file(JOB "/dmem.current", "drm/0000:03:00.0/vram0 4096\n"
                                  "drm/0000:83:00.0/vram0 0\n");
    tmp_file(JOB "/dmem.max", "drm/0000:03:00.0/vram0 max\n"
                              "drm/0000:83:00.0/vram0 8192\n");
    begin();
    later(0);
    const struct bj_job *job = rig_job(&rig, "1");
    const struct bj_dmem_use *v = job->dmem.v;
    assert_int_equal(job->dmem.n, 2);
    assert_true(
        bj_slice_eq(v[0].sub.key[0], BJ_SLICE("drm/0000:03:00.0/vram0")));
    assert_int_equal(v[0].used_bytes, 4096);
    assert_true(v[0].limit_bytes == BJ_ABSENT);
    assert_int_equal(v[1].used_bytes, 0);
    assert_int_equal(v[1].limit_bytes, 8192);
    const struct bj_unit *u = &rig.core->tracks.v[0]->unit;
    assert_int_equal(bj_dmem_of_device(u, "0000:03:00.0"), 4096);
    assert_int_equal(bj_dmem_of_device(u, "0000:83:00.0"), 0);
    assert_true(bj_dmem_of_device(u, "0000:03:00") == BJ_ABSENT);
    assert_true(bj_dmem_of_device(u, "") == BJ_ABSENT);
    tmp_file(JOB "/dmem.current", "drm/0000:83:00.0/vram0 -1\n");
    assert_int_equal(later(1)->unread_files, 1);
    assert_true(bj_dmem_of_device(u, "0000:03:00.0") == BJ_ABSENT);
    end();
}

/* Without the controller in the root its files are not looked for. */
static void test_no_dmem(void **state)
{
    (void)state;
    make_tree(0);
    tmp_file(JOB "/dmem.current", "drm/0000:03:00.0/vram0 4096\n");
    begin();
    later(0);
    assert_int_equal(rig_job(&rig, "1")->dmem.n, 0);
    end();
}

/* A hierarchy of v1 that has a job but no files of its controller is a fault
 * with a name, until it has them. */
static void test_v1_without_files(void **state)
{
    (void)state;
    const char *const job = "slurm/uid_1/job_1";
    char name[128];
    top = tmp_make();
    for (int i = 0; i < 3; i++) {
        static const char *const of[] = {"cpuacct", "cpuset", "memory"};
        snprintf(name, sizeof(name), "cgroup/%s/%s", of[i], job);
        tmp_dir(name);
        snprintf(name, sizeof(name), "cgroup/%s/%s/cgroup.procs", of[i], job);
        tmp_file(name, "1\n");
    }
    tmp_file("cgroup/cpuacct/slurm/uid_1/job_1/cpuacct.usage", "7000\n");
    begin();
    later(0);
    char want[600];
    snprintf(want, sizeof(want),
             "1 collector cpu: the hierarchy %s/cgroup/cpuset has no files of "
             "its controller cpuset: a kernel without CONFIG_CPUSETS_V1 has "
             "them in cgroup v2 only\n"
             "1 collector memory: the hierarchy %s/cgroup/memory has no files "
             "of its controller memory: a kernel without CONFIG_MEMCG_V1 has "
             "them in cgroup v2 only\n",
             top, top);
    assert_string_equal(rig.log, want);
    end();
}

/* Make a real cgroup of v2 with "user" below, if this machine allows that and
 * has the file; its path, or false. */
static bool real_cgroup(char dir[128])
{
    static const char *const roots[] = {"/sys/fs/cgroup",
                                        "/sys/fs/cgroup/unified"};
    char path[200];
    struct statfs fs;
    for (size_t i = 0; i < 2; i++) {
        snprintf(dir, 128, "%s/bjtest.frozen.%d", roots[i], (int)getpid());
        if (statfs(roots[i], &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC ||
            mkdir(dir, 0755) < 0)
            continue;
        snprintf(path, sizeof(path), "%s/cgroup.stat.local", dir);
        const bool has = access(path, F_OK) == 0;
        snprintf(path, sizeof(path), "%s/user", dir);
        if (has && mkdir(path, 0755) == 0)
            return true;
        rmdir(dir);
    }
    return false;
}

/* Freeze "user" of the cgroup for a moment; returns the kernel's count. */
static uint64_t freeze(const char *dir)
{
    char path[200], text[128];
    uint64_t usec = 0;
    top = "";
    for (int on = 1; on >= 0; on--) {
        snprintf(path, sizeof(path), "%s/user/cgroup.freeze", dir);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(on ? "1" : "0", f);
        assert_int_equal(fclose(f), 0);
        snprintf(path, sizeof(path), "%s/user/cgroup.events", dir);
        AWAIT(strstr(content(path, text, sizeof(text)),
                     on ? "frozen 1" : "frozen 0"));
    }
    snprintf(path, sizeof(path), "%s/user/cgroup.stat.local", dir);
    struct bj_slice word,
        rest = bj_slice_str(content(path, text, sizeof(text)));
    assert_true(bj_slice_word(&rest, &word) && bj_slice_word(&rest, &word));
    assert_int_equal(bj_slice_u64(word, &usec), 0);
    assert_true(usec > 0);
    return usec;
}

/* The time for which the kernel froze the directory below, as with Slurm. */
static void test_real_freezer(void **state)
{
    static char none[] = "/nonexistent";
    char dir[128], path[200];
    struct bj_conf conf = {.sysfs = none};
    struct bj_hiers hiers = {0};
    struct bj_fdpool pool = {.max = 10};
    struct bj_cgroup_reader rd;
    struct bj_unit u;
    (void)state;
    if (!real_cgroup(dir))
        skip();
    const uint64_t want = freeze(dir);
    char *name = strrchr(dir, '/');
    assert_int_equal(bj_cgroup_reader_init(&rd, &conf, &hiers, &pool), 0);
    rd.needed = ~0u;
    bj_unit_init(&u);
    *name = '\0';
    hiers = (struct bj_hiers){
        {{.version = BJ_CGROUP_V2, .controllers = ~0u, .path = dir}}, 1};
    assert_int_equal(bj_unit_place(&u, &rd, 0, name + 1), 0);
    bj_unit_read(&u, &rd, &bj_cpu_collector, BJ_UNIT_JOB | BJ_UNIT_RARE);
    assert_int_equal(rd.faults, 0);
    assert_int_equal(u.use.frozen_usec, want);
    bj_unit_fini(&u, &pool);
    bj_cgroup_reader_fini(&rd);
    *name = '/';
    snprintf(path, sizeof(path), "%s/user", dir);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numa),
        cmocka_unit_test(test_numa_unknown),
        cmocka_unit_test(test_numa_v1),
        cmocka_unit_test(test_own_peak),
        cmocka_unit_test(test_peak_of_copy),
        cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_dmem),
        cmocka_unit_test(test_no_dmem),
        cmocka_unit_test(test_v1_without_files),
        cmocka_unit_test(test_real_freezer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
