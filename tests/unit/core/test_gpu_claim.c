/* The GPUs that jobs claim: environments, devices.list, files of prologs. */
#include "tests/unit/core/test_gpu.h"

#include "base/file.h"
#include "core/gpu/claim.h"

#include <fcntl.h>

#include <sys/stat.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define S(lit)                                                                 \
    {                                                                          \
        "" lit, sizeof(lit) - 1                                                \
    }
#define JOB "SLURM_JOB_ID=7\0"

/* Device 2 on the bus is /dev/nvidia5. */
static struct bj_gpu device(void)
{
    struct bj_gpu g = {.uuid = "GPU-6f0f0e3c-1111-2222-3333-444455556666",
                       .index = 2,
                       .parent = -1};
    g.use.minor = 5;
    return g;
}

static const struct {
    struct bj_slice env;
    const char *system, *jobid;
    bool claimed, step, by_uuid, shared;
    bool by_index, by_minor; /* the claim names the device */
} environs[] = {
    {S(JOB "SLURM_JOB_GPUS=2\0"), "slurm", "7", .claimed = true,
     .by_index = true},
    {S(JOB "SLURM_JOB_GPUS=0,1,5\0"), "slurm", "7", .claimed = true,
     .by_minor = true},
    {S(JOB "SLURM_JOB_GPUS=0-3\0"), "slurm", "7", .claimed = true,
     .by_index = true},
    {S(JOB "SLURM_JOB_GPUS=12,20-29\0"), "slurm", "7", .claimed = true},
    {S(JOB "SLURM_JOB_GPUS=2x,3-,-2\0"), "slurm", "7", .claimed = true},
    /* of another job, of no job */
    {S(JOB "SLURM_JOB_GPUS=2\0"), "slurm", "8", .claimed = false},
    {S("SLURM_JOB_GPUS=2\0"), "slurm", "7", .claimed = false},
    {S(JOB "SLURM_JOB_GPUS=\0"), "slurm", "7", .claimed = false},
    /* the job's variable before the step's */
    {S(JOB "SLURM_STEP_GPUS=1\0SLURM_JOB_GPUS=2\0"), "slurm", "7",
     .claimed = true, .by_index = true},
    {S(JOB "SLURM_STEP_ID=0\0SLURM_STEP_GPUS=2\0"), "slurm", "7",
     .claimed = true, .step = true, .by_index = true},
    /* Within Slurm's cgroup devices are renumbered: those numbers are not
     * used. */
    {S(JOB "CUDA_VISIBLE_DEVICES=2\0"), "slurm", "7", .claimed = false},
    {S("PBS_JOBID=7.srv\0CUDA_VISIBLE_DEVICES=2\0"), "pbs", "7.srv",
     .claimed = true, .by_index = true},
    /* What the cgroup hook of PBS writes, with and without escaped commas; no
     * GPUs. */
    {S("PBS_JOBID=7.srv\0CUDA_VISIBLE_DEVICES=GPU-00000000-0000-0000-0000-"
       "000000000000,GPU-6f0f0e3c-1111-2222-3333-444455556666\0"),
     "pbs", "7.srv", .claimed = true, .by_uuid = true, .by_index = true,
     .by_minor = true},
    {S("PBS_JOBID=7[2].srv\0CUDA_VISIBLE_DEVICES=GPU-6f0f0e3c-1111-2222-3333-"
       "444455556666\\,GPU-00000000-0000-0000-0000-000000000000\0"),
     "pbs", "7[2].srv", .claimed = true, .by_uuid = true, .by_index = true,
     .by_minor = true},
    {S("PBS_JOBID=7.srv\0CUDA_VISIBLE_DEVICES=\0"), "pbs", "7.srv",
     .claimed = false},
    /* A container's variable: UUIDs only. */
    {S("PBS_JOBID=7.srv\0NVIDIA_VISIBLE_DEVICES=GPU-6f0f0e3c-1111-2222-3333-"
       "444455556666\0"),
     "pbs", "7.srv", .claimed = true, .by_uuid = true, .by_index = true,
     .by_minor = true},
    {S("PBS_JOBID=7.srv\0NVIDIA_VISIBLE_DEVICES=all\0"), "pbs", "7.srv",
     .claimed = false},
    {S("PBS_JOBID=7.srv\0NVIDIA_VISIBLE_DEVICES=2\0"), "pbs", "7.srv",
     .claimed = false},
    {S("PBS_JOBID=7.srv\0CUDA_VISIBLE_DEVICES=0\0NVIDIA_VISIBLE_DEVICES=GPU-"
       "6f0f0e3c-1111-2222-3333-444455556666\0"),
     "pbs", "7.srv", .claimed = true},
    {S(JOB "SLURM_JOB_GPUS=0\0CUDA_VISIBLE_DEVICES=GPU-6f0f0e3c-1111-2222-"
           "3333-444455556666\0"),
     "slurm", "7", .claimed = true, .by_uuid = true, .by_index = true,
     .by_minor = true},
    {S(JOB "CUDA_VISIBLE_DEVICES=GPU-a,GPU-6f0f0e3c\0"), "slurm", "7",
     .claimed = true, .by_uuid = true, .by_index = true, .by_minor = true},
    {S(JOB "CUDA_VISIBLE_DEVICES=GPU-6\0"), "slurm", "7", .claimed = true,
     .by_uuid = true},
    {S(JOB "SLURM_JOB_GPUS=2\0SLURM_SHARDS_ON_NODE=4\0"), "slurm", "7",
     .claimed = true, .shared = true, .by_index = true},
    {S(JOB "SLURM_JOB_GPUS=2\0CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50\0"), "slurm",
     "7", .claimed = true, .shared = true, .by_index = true},
};

static void test_environ(void **state)
{
    const struct bj_gpu g = device();
    (void)state;
    for (size_t i = 0; i < COUNT(environs); i++) {
        struct bj_gpu_claim c = {.environ = false};
        bool claimed = bj_gpu_claim_environ(
            environs[i].env, bj_slice_str(environs[i].system),
            bj_slice_str(environs[i].jobid), &c);
        if (claimed != environs[i].claimed || c.environ != claimed ||
            c.step != environs[i].step || c.by_uuid != environs[i].by_uuid ||
            c.shared != environs[i].shared ||
            bj_gpu_claim_names(&c, &g, NULL, BJ_GPU_BY_BUS) !=
                environs[i].by_index ||
            bj_gpu_claim_names(&c, &g, NULL, BJ_GPU_BY_MINOR) !=
                environs[i].by_minor)
            fail_msg("environment %zu", i);
    }
}

/* A number does not identify an instance; a UUID does. */
static void test_instances(void **state)
{
    static const struct bj_slice env[] = {
        S(JOB "SLURM_JOB_GPUS=2\0"),
        S(JOB "CUDA_VISIBLE_DEVICES=MIG-11111111-2222\0"),
        S("PBS_JOBID=7.srv\0CUDA_VISIBLE_DEVICES=MIG-0\\,MIG-11111111-2222\0")};
    struct bj_gpu split = device(), mig = device();
    struct bj_gpu_claim number = {.step = false}, uuid = {.step = false};
    struct bj_gpu_claim pbs = {.step = false};
    (void)state;
    split.split = true;
    mig.parent = 0;
    mig.gi = 9;
    snprintf(mig.uuid, sizeof(mig.uuid), "MIG-11111111-2222");
    assert_true(bj_gpu_claim_environ(env[0], BJ_SLICE("slurm"), BJ_SLICE("7"),
                                     &number));
    assert_true(
        bj_gpu_claim_environ(env[1], BJ_SLICE("slurm"), BJ_SLICE("7"), &uuid));
    assert_true(
        bj_gpu_claim_environ(env[2], BJ_SLICE("pbs"), BJ_SLICE("7.srv"), &pbs));
    assert_true(bj_gpu_claim_names(&pbs, &mig, &split, BJ_GPU_BY_BUS));
    assert_false(bj_gpu_claim_names(&number, &split, NULL, BJ_GPU_BY_BUS));
    assert_false(bj_gpu_claim_names(&number, &mig, &split, BJ_GPU_BY_BUS));
    assert_false(bj_gpu_claim_names(&uuid, &split, NULL, BJ_GPU_BY_BUS));
    assert_true(bj_gpu_claim_names(&uuid, &mig, &split, BJ_GPU_BY_BUS));
    assert_true(bj_gpu_note_is("2.9", &mig, BJ_GPU_BY_BUS));
    assert_false(bj_gpu_note_is("2.8", &mig, BJ_GPU_BY_BUS));
    assert_false(bj_gpu_note_is("2", &mig, BJ_GPU_BY_BUS));
    assert_false(bj_gpu_note_is("2", &split, BJ_GPU_BY_BUS));
    assert_true(bj_gpu_note_is("MIG-11111111-2222", &mig, BJ_GPU_BY_BUS));
}

/* GPU 0 whole, GPU 1 with two instances, GPU 2 whole: the index in this set of
 * the device that a word names, or -1. */
static const struct {
    const char *list;
    enum bj_gpu_order order;
    int named;
} words[] = {
    {"0", BJ_GPU_BY_BUS, 0},
    {"1", BJ_GPU_BY_BUS, -1},
    {"2", BJ_GPU_BY_BUS, 4},
    {"3", BJ_GPU_BY_BUS, -1},
    {"0", BJ_GPU_BY_PLACE, 0},
    {"1", BJ_GPU_BY_PLACE, 2},
    {"2", BJ_GPU_BY_PLACE, 3},
    {"3", BJ_GPU_BY_PLACE, 4},
    {"4", BJ_GPU_BY_PLACE, -1},
    {"1:0", BJ_GPU_BY_BUS, 2},
    {"1:1", BJ_GPU_BY_BUS, 3},
    {"1:1", BJ_GPU_BY_PLACE, 3},
    {"6:1", BJ_GPU_BY_MINOR, 3}, /* its device is /dev/nvidia6 */
    {"1:1", BJ_GPU_BY_MINOR, -1},
    {"1:2", BJ_GPU_BY_BUS, -1},
    {"0:0", BJ_GPU_BY_BUS, -1}, /* GPU 0 has no instances */
    {"1:", BJ_GPU_BY_BUS, -1},
    {":1", BJ_GPU_BY_BUS, -1},
    {"1:1:1", BJ_GPU_BY_BUS, -1},
    {"MIG-GPU-11111111-aaaa/5/0", BJ_GPU_BY_BUS, 2},
    {"MIG-GPU-11111111-aaaa/6/0", BJ_GPU_BY_BUS, 3},
    {"MIG-GPU-11111111-aaaa/6/1", BJ_GPU_BY_BUS, -1},
    {"MIG-GPU-11111111-aaaa/6", BJ_GPU_BY_BUS, -1},
    {"MIG-GPU-22222222-aaaa/6/0", BJ_GPU_BY_BUS, -1},
    {"MIG-66666666-bbbb", BJ_GPU_BY_PLACE, 3},
};

static void test_words(void **state)
{
    static struct bj_gpu_set set = {.n = 5};
    static const char *const uuid[] = {"GPU-00000000-aaaa", "GPU-11111111-aaaa",
                                       "MIG-55555555-bbbb", "MIG-66666666-bbbb",
                                       "GPU-22222222-aaaa"};
    static const uint64_t index[] = {0, 1, 1, 1, 2};
    (void)state;
    for (int i = 0; i < 5; i++) {
        set.v[i] = (struct bj_gpu){
            .index = index[i],
            .parent = i == 2 || i == 3 ? 1 : -1,
            .split = i == 1,
            .gi = (uint32_t)(i + 3),
            .use.minor = 7 - index[i],
        };
        snprintf(set.v[i].uuid, sizeof(set.v[i].uuid), "%s", uuid[i]);
    }
    bj_gpu_set_number(&set);
    for (size_t k = 0; k < COUNT(words); k++) {
        struct bj_gpu_claim c = {
            .environ = true,
            .by_uuid = words[k].list[0] == 'M',
        };
        snprintf(c.text, sizeof(c.text), "x, %s ,y", words[k].list);
        for (int i = 0; i < 5; i++)
            if (bj_gpu_claim_names(&c, &set.v[i],
                                   set.v[i].parent < 0 ? NULL : &set.v[1],
                                   words[k].order) != (i == words[k].named))
                fail_msg("%s, order %d, device %d", words[k].list,
                         words[k].order, i);
    }
}

static const struct {
    const char *text;
    bool known, opens;
} lists[] = {
    {"a *:* rwm\n", false, false},
    {"c 1:3 rwm\nc 195:5 rwm\nc 195:255 rw\n", true, true},
    {"c 195:4 rwm\nc 195:255 rw\nc 195:254 rw\n", true, false},
    {"c 195:255 rw\nc 1:5 rwm\n", false, false}, /* no GPU at all */
    {"c 195:* rwm\n", false, false},
    {"c 195:* m\nc *:* m\nc 195:5 rw\n", true, true},
    {"c 195:4 rw\nc 195:5 m\n", true, false},
    {"c *:* rwm\nc 195:5 rwm\n", false, false},
    {"b 195:5 rwm\nc 195 rwm\nc\n\nc 195:99999 r\n", false, false},
    {"c 195:5 rwm\na *:* rwm\n", false, false},
    {"", false, false},
};

static void test_devices(void **state)
{
    const struct bj_gpu g = device();
    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct bj_gpu_claim c = {.environ = false};
        bj_gpu_claim_devices(bj_slice_str(lists[i].text), "/nowhere", &c);
        if (c.devices != lists[i].known ||
            bj_gpu_claim_opens(&c, &g) != lists[i].opens)
            fail_msg("list %zu", i);
    }
}

/* Recorded lists of a kernel. One allows /dev/nvidia2, renderD129 and
 * capability 21, which the simulated /proc assigns to instance 9 of
 * /dev/nvidia0. The other one allows all but /dev/nvidia1. */
static void test_recorded_devices(void **state)
{
    static char buf[4096];
    struct bj_slice text;
    struct bj_gpu_claim c = {.environ = false};
    struct bj_gpu g = device(), mig = device(),
                  amd = {.parent = -1, .render = 129, .use.minor = BJ_ABSENT};
    (void)state;
    const char *top = tmp_make();
    tmp_dir("driver/nvidia/capabilities/gpu0/mig/gi9/ci0");
    tmp_dir("driver/nvidia/capabilities/gpu0/mig/gi10");
    tmp_file("devices", "Character devices:\n195 nvidia\n234 nvidia-caps\n");
    tmp_file("driver/nvidia/capabilities/gpu0/mig/gi9/access",
             "DeviceFileMinor: 21\nDeviceFileMode: 292\n");
    tmp_file("driver/nvidia/capabilities/gpu0/mig/gi10/access",
             "DeviceFileMinor: 30\nDeviceFileMode: 292\n");
    assert_int_equal(bj_file_read(AT_FDCWD, "tests/fixtures/gpu/devices/some",
                                  buf, sizeof(buf), &text, NULL),
                     0);
    bj_gpu_claim_devices(text, top, &c);
    assert_true(c.devices);
    g.render = BJ_ABSENT;
    assert_false(bj_gpu_claim_opens(&c, &g)); /* /dev/nvidia5 */
    g.use.minor = 2;
    assert_true(bj_gpu_claim_opens(&c, &g));
    assert_true(bj_gpu_claim_opens(&c, &amd));
    amd.render = 128;
    assert_false(bj_gpu_claim_opens(&c, &amd));
    /* The capability of the compute instance is missing. */
    mig.parent = 0;
    mig.use.minor = 0;
    mig.gi = 9;
    assert_false(bj_gpu_claim_opens(&c, &mig));
    tmp_file("driver/nvidia/capabilities/gpu0/mig/gi9/ci0/access",
             "DeviceFileMinor: 21\n");
    bj_gpu_claim_devices(text, top, &c);
    assert_true(bj_gpu_claim_opens(&c, &mig));
    mig.ci = 1;
    assert_false(bj_gpu_claim_opens(&c, &mig));
    mig.ci = 0;
    mig.gi = 10;
    assert_false(bj_gpu_claim_opens(&c, &mig));
    mig.split = true;
    assert_false(bj_gpu_claim_opens(&c, &mig));
    assert_int_equal(bj_file_read(AT_FDCWD,
                                  "tests/fixtures/gpu/devices/all-but-one", buf,
                                  sizeof(buf), &text, NULL),
                     0);
    bj_gpu_claim_devices(text, top, &c);
    assert_false(c.devices);
    tmp_gone();
}

static const char *job_of(const struct bj_gpu_note *v, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0)
            return v[i].jobid;
    return "-";
}

/* Files of prologs in both formats; a file that other users can write is not
 * used. */
static void test_notes(void **state)
{
    static struct bj_gpu_note v[16];
    const struct bj_gpu g = device();
    char path[256];
    (void)state;
    const char *dir = tmp_make();
    tmp_dir("gpustat");
    tmp_file("gpustat/2", "4711 1000\n");
    tmp_file("gpustat/GPU-6f0f0e3c-1111-2222-3333-444455556666", "4712 1000");
    tmp_file("gpustat/3.1", "4713\n4714\n");
    tmp_file("gpustat/4", "");
    tmp_file("gpustat/5", "4715\n");
    tmp_file("gpustat/readme", "4716\n");
    snprintf(path, sizeof(path), "%s/gpustat/5", dir);
    assert_int_equal(chmod(path, 0666), 0);
    snprintf(path, sizeof(path), "%s/gpustat", dir);
    int n = bj_gpu_notes_read(path, v, 16);
    assert_int_equal(n, 4);
    assert_string_equal(job_of(v, n, "2"), "4711");
    assert_string_equal(
        job_of(v, n, "GPU-6f0f0e3c-1111-2222-3333-444455556666"), "4712");
    assert_string_equal(job_of(v, n, "3.1"), "4713");
    assert_string_equal(job_of(v, n, "5"), "-");
    assert_int_equal(bj_gpu_notes_read(path, v, 2), 2);
    assert_true(bj_gpu_note_is("2", &g, BJ_GPU_BY_BUS));
    assert_false(bj_gpu_note_is("2", &g, BJ_GPU_BY_MINOR));
    assert_true(bj_gpu_note_is("5", &g, BJ_GPU_BY_MINOR));
    assert_true(bj_gpu_note_is(g.uuid, &g, BJ_GPU_BY_MINOR));
    tmp_gone();
    assert_int_equal(bj_gpu_notes_read(path, v, 16), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environ),
        cmocka_unit_test(test_instances),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_recorded_devices),
        cmocka_unit_test(test_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
