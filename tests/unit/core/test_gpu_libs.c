/* AMD's and Intel's management libraries, replaced by fakes (tests/gpu), alone
 * and together with sysfs. */
#include "tests/unit/core/test_gpu.h"

#include "tests/unit/lib/await.h"

#include <time.h>

#define A "0000:c1:00.0"
#define B "0000:29:00.0"

static const char *dir;
static struct bj_gpu_set set;
static void *source;
static const struct bj_gpu_kind *kind;
static struct bj_err err;

static int open_kind(const struct bj_gpu_kind *k, const char *lib)
{
    const struct bj_gpu_env env = {.procfs = dir,
                                   .sysfs = dir,
                                   .rocm = fake_lib(lib),
                                   .level_zero = fake_lib(lib)};
    if (source)
        kind->close(source);
    kind = k;
    source = NULL;
    err = (struct bj_err){0};
    return k->open(&env, &source, &err);
}

static int read_kind(void)
{
    err = (struct bj_err){0};
    bj_gpu_set_clear(&set);
    return kind->read(source, &set, &err);
}

static void close_kind(void)
{
    if (source)
        kind->close(source);
    source = NULL;
}

static int setup(void **state)
{
    (void)state;
    dir = tmp_make();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close_kind();
    tmp_gone();
    unsetenv("FAKE_ROCM");
    unsetenv("FAKE_ZE");
    return 0;
}

/* --- AMD ------------------------------------------------------------------*/

#define ROCM "librocm_smi64.so"
/* The third one is a partition of the first. */
#define AMD "gpu 0 pci 0 0xc1 0 0\ngpu 1 pci 1 0x0a 3 1\ngpu 2 pci 0 0xc1 0 0\n"

static void test_rocm(void **state)
{
    (void)state;
    tmp_dir("class/kfd/kfd/proc");
    fake_script_of("FAKE_ROCM", dir,
                   AMD "gpu 0 energy 1000000000 15.259\ngpu 0 replays 3\n"
                       "gpu 2 energy 7 15.259\ngpu 1 energy 0 15.259\n"
                       "ecc 0 1 5 1\necc 0 2 7 0\necc 0 32 100 100\n"
                       "ecc 0 128 4 2\necc 0 8192 1 0\n"
                       "proc 1100 4096 0\nproc 1200 8192 0 1\n"
                       "proc 1300 1 0 2\n");
    assert_int_equal(open_kind(&bj_gpu_rocm, ROCM), 0);
    assert_int_equal(read_kind(), 0);
    assert_int_equal(set.n, 2);
    const struct bj_gpu *g = &set.v[0];
    assert_string_equal(g->pci, A);
    /* 10^9 x 15.259 uJ, as the library's float */
    assert_true(g->energy_raw_uj > 15258990000 &&
                g->energy_raw_uj < 15259010000);
    assert_int_equal(g->use.pcie_replays, 3);
    assert_int_equal(g->use.ecc_corrected, 13);
    assert_int_equal(g->use.ecc_uncorrected, 1);
    assert_int_equal(g->use.xgmi_corrected, 4);
    assert_int_equal(g->use.xgmi_uncorrected, 2);
    assert_int_equal(g->use.processes, 3);
    g = &set.v[1];
    assert_string_equal(g->pci, "0001:0a:03.1");
    assert_int_equal(g->energy_raw_uj, BJ_ABSENT);
    assert_int_equal(g->use.pcie_replays, BJ_ABSENT);
    assert_int_equal(g->use.ecc_corrected, BJ_ABSENT);
    assert_int_equal(g->use.xgmi_corrected, BJ_ABSENT);
    assert_int_equal(g->use.processes, 1);
    assert_int_equal(set.nprocs, 4);
    assert_int_equal(set.proc[0].pid, 1100);
    assert_int_equal(set.proc[0].memory_bytes, 4096);
    assert_int_equal(set.proc[0].sm_ppm, BJ_ABSENT);
    assert_int_equal(set.proc[1].pid, 1200); /* split of memory unknown */
    assert_int_equal(set.proc[1].memory_bytes, BJ_ABSENT);
    assert_int_equal(set.proc[2].pid, 1200);
    assert_int_equal(set.proc[2].gpu, 1);
    /* Error counters are read once a minute and keep their values meanwhile. */
    fake_script_of("FAKE_ROCM", dir, AMD "ecc 0 1 50 1\n");
    assert_int_equal(read_kind(), 0);
    assert_int_equal(set.v[0].use.ecc_corrected, 13);
    assert_int_equal(set.v[0].energy_raw_uj, BJ_ABSENT);
}

static void test_rocm_faults(void **state)
{
    (void)state;
    fake_script_of("FAKE_ROCM", dir, "");
    assert_int_equal(open_kind(&bj_gpu_rocm, ROCM), -ENODEV);
    fake_script_of("FAKE_ROCM", dir, AMD "fail rsmi_init 8\n");
    assert_int_equal(open_kind(&bj_gpu_rocm, ROCM), -EIO);
    assert_non_null(strstr(err.msg, "initialise ROCm SMI: error 8"));
    fake_script_of("FAKE_ROCM", dir,
                   AMD "gpu 0 energy 5 2\n"
                       "fail rsmi_dev_pci_replay_counter_get 16\n");
    assert_int_equal(open_kind(&bj_gpu_rocm, ROCM), 0);
    assert_int_equal(read_kind(), -EBUSY);
    assert_int_equal(set.faults, 2);
    assert_int_equal(set.v[0].energy_raw_uj, 10);
    assert_int_equal(set.v[0].use.processes, BJ_ABSENT); /* no kfd */
    assert_int_equal(open_kind(&bj_gpu_rocm, "nothing.so"), -ENODEV);
    const struct bj_gpu_env none = {.rocm = "none", .level_zero = "none"};
    assert_false(bj_gpu_rocm.present(&none));
    assert_false(bj_gpu_level_zero.present(&none));
    assert_int_equal(bj_gpu_rocm.open(&none, &source, &err), -ENODEV);
}

/* --- Intel ----------------------------------------------------------------*/

#define ZE "libze_loader.so.1"
#define TILES                                                                  \
    "gpu 0 pci 0 0x29 0 0\npower 0 0 1 1 1\npower 0 1 1 1 1\n"                 \
    "memory 0 0 1 1000 4000\nmemory 0 1 1 3000 4000\nmemory 0 2 0 1 9000\n"    \
    "sensor 0 0 0 99\nsensor 0 1 1 40.5\nsensor 0 2 1 42\nsensor 0 3 2 61\n"   \
    "proc 0 1300 4096\nproc 0 1400 8192\n"

static void test_ze(void **state)
{
    (void)state;
    fake_script_of("FAKE_ZE", dir,
                   TILES "power 0 card 0 1000000 500000\n"
                         "engine 0 0 3 0 1 1\nengine 0 1 0 1 100 1000\n"
                         "engine 0 2 0 1 300 1000\n");
    assert_int_equal(open_kind(&bj_gpu_level_zero, ZE), 0);
    assert_int_equal(read_kind(), 0);
    assert_int_equal(set.n, 1);
    const struct bj_gpu *g = &set.v[0];
    assert_string_equal(g->pci, B);
    assert_int_equal(g->energy_raw_uj, 1000000);
    assert_int_equal(g->use.power_uw, BJ_ABSENT);
    assert_int_equal(g->use.busy_ppm, BJ_ABSENT);
    assert_int_equal(g->use.memory_total_bytes, 8000);
    assert_int_equal(g->use.memory_used_bytes, 4000);
    assert_int_equal(g->use.temperature_uc, 42000000);
    assert_int_equal(g->use.memory_temperature_uc, 61000000);
    assert_int_equal(g->use.processes, 2);
    assert_int_equal(set.proc[1].pid, 1400);
    assert_int_equal(set.proc[1].memory_bytes, 8192);
    /* The tiles are busy 30 and 80 % of half a second. */
    fake_script_of("FAKE_ZE", dir,
                   TILES "power 0 card 0 251000000 1000000\n"
                         "engine 0 0 3 0 1 1\nengine 0 1 0 1 400 2000\n"
                         "engine 0 2 0 1 1100 2000\n");
    assert_int_equal(read_kind(), 0);
    assert_int_equal(set.v[0].energy_raw_uj, 251000000);
    assert_int_equal(set.v[0].use.busy_ppm, 550000);
    /* No time has passed. */
    assert_int_equal(read_kind(), 0);
    assert_int_equal(set.v[0].use.busy_ppm, BJ_ABSENT);
}

/* A power domain of a tile is not used for the card; engines of the card are
 * preferred to those of tiles. */
static void test_ze_whole(void **state)
{
    (void)state;
    fake_script_of("FAKE_ZE", dir, TILES);
    assert_int_equal(open_kind(&bj_gpu_level_zero, ZE), 0);
    assert_int_equal(read_kind(), 0);
    assert_int_equal(set.v[0].energy_raw_uj, BJ_ABSENT);
    close_kind();
    static const char *const text[] = {
        "gpu 0 pci 0 0x29 0 0\npower 0 0 1 5 1\npower 0 1 0 9 1\n"
        "engine 0 0 0 1 0 1000\nengine 0 1 0 0 0 1000\nengine 0 2 0 1 0 1000\n",
        "gpu 0 pci 0 0x29 0 0\npower 0 0 1 5 1\npower 0 1 0 9 1\n"
        "engine 0 0 0 1 9 1010\nengine 0 1 0 0 4 1010\nengine 0 2 0 1 9 1010\n",
        "gpu 0 pci 0 0x29 0 0\npower 0 0 0 5 1\npower 0 1 0 9 1\n"};
    fake_script_of("FAKE_ZE", dir, text[0]);
    assert_int_equal(open_kind(&bj_gpu_level_zero, ZE), 0);
    assert_int_equal(read_kind(), 0);
    assert_int_equal(set.v[0].energy_raw_uj, 9);
    fake_script_of("FAKE_ZE", dir, text[1]);
    assert_int_equal(read_kind(), 0);
    assert_int_equal(set.v[0].use.busy_ppm, 400000);
    close_kind();
    fake_script_of("FAKE_ZE", dir, text[2]); /* ambiguous: two domains */
    assert_int_equal(open_kind(&bj_gpu_level_zero, ZE), 0);
    assert_int_equal(read_kind(), 0);
    assert_int_equal(set.v[0].energy_raw_uj, BJ_ABSENT);
}

static void test_ze_faults(void **state)
{
    (void)state;
    fake_script_of("FAKE_ZE", dir, "fail zesInit 0x78000001\n");
    assert_int_equal(open_kind(&bj_gpu_level_zero, ZE), -EIO);
    fake_script_of("FAKE_ZE", dir, "");
    assert_int_equal(open_kind(&bj_gpu_level_zero, ZE), -ENODEV);
    /* A library without the required functions is not used. */
    assert_int_equal(open_kind(&bj_gpu_level_zero, ROCM), -ENODEV);
    fake_script_of("FAKE_ZE", dir,
                   TILES "fail zesMemoryGetState 0x70000001\n"
                         "fail zesDeviceProcessesGetState 0x70010000\n");
    assert_int_equal(open_kind(&bj_gpu_level_zero, ZE), 0);
    assert_int_equal(read_kind(), -EIO);
    assert_non_null(strstr(err.msg, "the GPU is lost"));
    assert_int_equal(set.faults, 1);
    assert_int_equal(set.v[0].use.memory_total_bytes, BJ_ABSENT);
    assert_int_equal(set.v[0].use.processes, BJ_ABSENT);
    assert_int_equal(set.v[0].use.temperature_uc, 42000000);
}

/* --- together with sysfs -------------------------------------------------- */

static struct rig rig;

static void make_cards(void)
{
    static const char *const device[] = {"devices/0000:c1:00.0",
                                         "devices/0000:29:00.0"};
    char path[512], to[128];
    tmp_dir("cg");
    tmp_dir("sys/class/kfd/kfd/proc");
    tmp_file("cg/cgroup.controllers", "cpu memory\n");
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "sys/%s/hwmon/hwmon%d", device[i], i);
        tmp_dir(path);
        snprintf(path, sizeof(path), "sys/class/drm/card%d", i);
        tmp_dir(path);
        snprintf(path, sizeof(path), "%s/sys/class/drm/card%d/device", dir, i);
        snprintf(to, sizeof(to), "../../../%s", device[i]);
        assert_int_equal(symlink(to, path), 0);
    }
    tmp_file("sys/devices/0000:c1:00.0/vendor", "0x1002\n");
    tmp_file("sys/devices/0000:c1:00.0/mem_info_vram_total", "1000\n");
    tmp_file("sys/devices/0000:c1:00.0/hwmon/hwmon0/power1_average",
             "100000000\n");
    tmp_file("sys/devices/0000:29:00.0/vendor", "0x8086\n");
    tmp_file("sys/devices/0000:29:00.0/hwmon/hwmon1/energy1_input", "5000\n");
}

static const struct bj_gpu_use *device(const char *gpu)
{
    const struct bj_gpu_use *u = rig.snap->gpus.v;
    for (size_t i = 0; i < rig.snap->gpus.n; i++)
        if (bj_slice_eq(u[i].sub.key[0], bj_slice_str(gpu)))
            return &u[i];
    return NULL;
}

/* The libraries add only values that sysfs lacks; energy comes from AMD's
 * counter once it is known. */
static void test_with_sysfs(void **state)
{
    char proc[4400], sys[4400], cg[4400], rocm[4400], ze[4400];
    (void)state;
    make_cards();
    fake_script_of("FAKE_ROCM", dir,
                   "gpu 0 pci 0 0xc1 0 0\ngpu 0 energy 1000 1000000\n"
                   "ecc 0 1 5 1\n");
    char ze_dir[512];
    snprintf(ze_dir, sizeof(ze_dir), "%s/ze", dir);
    tmp_file("ze", TILES "power 0 card 0 777 1\n");
    setenv("FAKE_ZE", ze_dir, 1);
    snprintf(proc, sizeof(proc), "path.procfs=%s/proc", dir);
    snprintf(sys, sizeof(sys), "path.sysfs=%s/sys", dir);
    snprintf(cg, sizeof(cg), "path.cgroupfs=%s/cg", dir);
    snprintf(rocm, sizeof(rocm), "gpu.rocm=%s", fake_lib(ROCM));
    snprintf(ze, sizeof(ze), "gpu.level-zero=%s", fake_lib(ZE));
    rig_start(&rig, proc, sys, cg, rocm, ze, "collector.node=false",
              "job.file-dir=", "gpu.interval=1s", "collector.energy=false",
              NULL);
    const struct bj_gpu_use *a = NULL, *b = NULL;
    AWAIT_STEP((rig_pass(&rig), a = device(A), b = device(B)),
               a && b && a->ecc_corrected != BJ_ABSENT &&
                   b->memory_total_bytes != BJ_ABSENT);
    assert_int_equal(rig.snap->gpus.n, 2);
    assert_int_equal(a->ecc_corrected, 5);
    assert_int_equal(a->memory_total_bytes, 1000);
    assert_int_equal(a->power_uw, 100000000);
    assert_int_equal(a->processes, 0);
    assert_int_equal(b->memory_total_bytes, 8000);
    assert_int_equal(b->temperature_uc, 42000000);
    uint64_t before = a->energy_uj, intel = b->energy_uj;
    fake_script_of("FAKE_ROCM", dir,
                   "gpu 0 pci 0 0xc1 0 0\ngpu 0 energy 4600 1000000\n");
    AWAIT_STEP((rig_pass(&rig), a = device(A)),
               a->energy_uj >= before + 3600000000);
    assert_true(a->energy_uj < before + 3700000000); /* power is not added */
    assert_int_equal(a->energy_resets, 0);
    assert_int_equal(device(B)->energy_uj, intel); /* its own counter */
    assert_int_equal(rig.snap->gpu_sources.n, 5);
    rig_stop(&rig);
}

/* While AMD's library hangs, only the values that it added are absent. */
static void test_hang(void **state)
{
    char proc[4400], sys[4400], cg[4400], rocm[4400];
    static const char good[] = "gpu 0 pci 0 0xc1 0 0\ngpu 0 replays 4\n";
    char slow[256];
    (void)state;
    make_cards();
    fake_script_of("FAKE_ROCM", dir, good);
    snprintf(proc, sizeof(proc), "path.procfs=%s/proc", dir);
    snprintf(sys, sizeof(sys), "path.sysfs=%s/sys", dir);
    snprintf(cg, sizeof(cg), "path.cgroupfs=%s/cg", dir);
    snprintf(rocm, sizeof(rocm), "gpu.rocm=%s", fake_lib(ROCM));
    rig_start(&rig, proc, sys, cg, rocm, "gpu.level-zero=none",
              "collector.node=false", "job.file-dir=", "gpu.interval=1s",
              "collector.energy=false", NULL);
    const struct bj_gpu_use *a = NULL;
    snprintf(slow, sizeof(slow),
             "%shang rsmi_dev_pci_replay_counter_get 6000\n", good);
    /* present, absent, present again */
    for (int step = 0; step < 3; step++) {
        bool there = step != 1;
        fake_script_of("FAKE_ROCM", dir, there ? good : slow);
        AWAIT_STEP((rig_pass(&rig), a = device(A)),
                   a && (a->pcie_replays != BJ_ABSENT) == there);
        assert_int_equal(a->pcie_replays, there ? 4 : BJ_ABSENT);
        assert_int_equal(a->power_uw, 100000000);
        assert_int_equal(a->success, 1);
    }
    rig_stop(&rig);
}

/* Job 21 names the GPU by its number in the environment of process 2100, ... */
static void name_gpu(int job, int number)
{
    char path[256], text[512];
    snprintf(path, sizeof(path), "proc/%d", 2079 + job);
    tmp_dir(path);
    snprintf(text, sizeof(text), "%s/%s/environ", dir, path);
    FILE *f = fopen(text, "w");
    assert_non_null(f);
    fprintf(f, "SLURM_JOB_ID=%d%cSLURM_JOB_GPUS=%d%c", job, 0, number, 0);
    fclose(f);
    snprintf(path, sizeof(path), "proc/%d/cgroup", 2079 + job);
    snprintf(text, sizeof(text),
             "0::/system.slice/slurmstepd.scope/job_%d/step_0/user/task_0\n",
             job);
    tmp_file(path, text);
    snprintf(path, sizeof(path), "cg/system.slice/slurmstepd.scope/job_%d",
             job);
    snprintf(text, sizeof(text), "%d\n", 2079 + job);
    tmp_v2_job(path, 1000, 4096, text);
}

/* Two cards of a vendor. */
static void make_two(const char *vendor)
{
    char path[256], full[512], to[128];
    tmp_dir("cg");
    tmp_file("cg/cgroup.controllers", "cpu memory\n");
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "sys/devices/0000:%d0:00.0/hwmon/hwmon%d",
                 i + 1, i);
        tmp_dir(path);
        snprintf(path, sizeof(path), "sys/devices/0000:%d0:00.0/vendor", i + 1);
        tmp_file(path, vendor);
        snprintf(path, sizeof(path),
                 "sys/devices/0000:%d0:00.0/mem_info_vram_total", i + 1);
        tmp_file(path, "1000\n");
        snprintf(path, sizeof(path), "sys/class/drm/card%d", i);
        tmp_dir(path);
        snprintf(full, sizeof(full), "%s/%s/device", dir, path);
        snprintf(to, sizeof(to), "../../../devices/0000:%d0:00.0", i + 1);
        assert_int_equal(symlink(to, full), 0);
    }
}

/* Whether the job has only this GPU; NULL: none now. */
static bool has(const char *jobid, const char *gpu)
{
    const struct bj_job *job = rig_job(&rig, jobid);
    const struct bj_gpu_label *l = job ? job->gpu_claims.v : NULL;
    return job && (gpu ? job->gpu_claims.n == 1 &&
                             bj_slice_eq(l->sub.key[0], bj_slice_str(gpu))
                       : job->gpu_claims.n == 0);
}

/* The first card leaves: the job that named it has none, and the other job
 * keeps its own, though that is the first one now; also after a restart. */
static void leaves(const char *vendor)
{
    char proc[4400], sys[4400], cg[4400], saved[4400], rocm[4400], ze[4400];
    make_two(vendor);
    name_gpu(21, 0);
    name_gpu(22, 1);
    fake_script_of("FAKE_ROCM", dir,
                   "gpu 0 pci 0 0x10 0 0\ngpu 1 pci 0 0x20 0 0\n");
    setenv("FAKE_ZE", getenv("FAKE_ROCM"), 1);
    snprintf(proc, sizeof(proc), "path.procfs=%s/proc", dir);
    snprintf(sys, sizeof(sys), "path.sysfs=%s/sys", dir);
    snprintf(cg, sizeof(cg), "path.cgroupfs=%s/cg", dir);
    snprintf(saved, sizeof(saved), "energy.state-file=%s/state", dir);
    snprintf(rocm, sizeof(rocm), "gpu.rocm=%s", fake_lib(ROCM));
    snprintf(ze, sizeof(ze), "gpu.level-zero=%s", fake_lib(ZE));
    for (int run = 0; run < 2; run++) {
        rig_start(&rig, proc, sys, cg, rocm, ze, saved, "collector.node=false",
                  "job.file-dir=", "gpu.interval=1s", "collector.energy=true",
                  "energy.interval=1s", NULL);
        if (run == 0) {
            AWAIT_STEP(rig_pass(&rig),
                       has("21", "0000:10:00.0") && has("22", "0000:20:00.0"));
            tmp_remove("sys/class/drm/card0");
        }
        AWAIT_STEP(rig_pass(&rig), rig.snap->gpus.n == 1 && has("21", NULL) &&
                                       has("22", "0000:20:00.0") &&
                                       (run == 0 || has("23", NULL)));
        if (run == 1)
            AWAIT_STEP(rig_pass(&rig),
                       strstr(rig.log, "job 23 has a GPU that"));
        assert_true(has("22", "0000:20:00.0"));
        rig_stop(&rig);
        name_gpu(23, 0);
    }
}

static void test_amd_leaves(void **state)
{
    (void)state;
    leaves("0x1002\n");
}

static void test_intel_leaves(void **state)
{
    (void)state;
    leaves("0x8086\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rocm, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rocm_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ze, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ze_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ze_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_with_sysfs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_amd_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_intel_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hang, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
