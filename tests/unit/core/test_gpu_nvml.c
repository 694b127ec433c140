/* GPUs of NVIDIA, read through a fake NVML library that follows a script. */
#include "tests/unit/core/test_gpu.h"
#include "tests/unit/lib/testclock.h"

#include "base/clock.h"
#include "core/gpu/nvml.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define VALUE(member) offsetof(struct bj_gpu_use, member)

static struct gpu_rig rig;

static int teardown(void **state)
{
    (void)state;
    gpu_end(&rig);
    return 0;
}

static uint64_t value(const struct bj_gpu *g, size_t off)
{
    return *(const uint64_t *)(const void *)((const char *)&g->use + off);
}

static void test_no_library(void **state)
{
    (void)state;
    gpu_begin(&rig, GPU_A);
    rig.env.nvml = "/nonexistent/libnvidia-ml.so.1";
    assert_false(bj_gpu_nvml.present(&rig.env));
    assert_int_equal(gpu_open(&rig), -ENODEV);
    rig.env.nvml = "/proc/self/exe"; /* a file without NVML's functions */
    int r = gpu_open(&rig);
    assert_true(r == -ENODEV || r == -ELIBBAD);
    /* Without an option the driver must be there. */
    rig.env.nvml = "";
    assert_false(bj_gpu_nvml.present(&rig.env));
    tmp_dir("driver/nvidia");
    tmp_file("driver/nvidia/version", "NVRM version: ...\n");
    assert_true(bj_gpu_nvml.present(&rig.env));
}

/* Error codes of nvmlInit, and the resulting errors. */
static void test_init(void **state)
{
    static const struct {
        int code, want;
    } cases[] = {{BJ_NVML_NO_DRIVER, -ENODEV}, {BJ_NVML_NO_GPU, -ENODEV},
                 {BJ_NVML_MISMATCH, -EIO},     {BJ_NVML_NO_PERMISSION, -EACCES},
                 {BJ_NVML_UNKNOWN, -EIO},      {12345, -EIO}};
    (void)state;
    gpu_begin(&rig, "");
    assert_int_equal(gpu_open(&rig), -ENODEV); /* no device */
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[64];
        snprintf(text, sizeof(text), "code nvmlInit_v2 %d\n", cases[i].code);
        fake_script(rig.dir, text);
        assert_int_equal(gpu_open(&rig), cases[i].want);
        assert_true(cases[i].want == -ENODEV || rig.err.code < 0);
    }
}

/* Values after conversion: NVML reports milliwatts, millijoules, percent,
 * degrees, MHz, KiB. */
static const struct {
    size_t off;
    uint64_t want;
} values[] = {
    {VALUE(minor), 2},
    {VALUE(memory_total_bytes), 42949672960},
    {VALUE(memory_used_bytes), 1073741824},
    {VALUE(memory_reserved_bytes), 536870912},
    {VALUE(memory_free_bytes), 41339060224},
    {VALUE(multiprocessors), 108},
    {VALUE(fan_ppm), 1030000},
    {VALUE(last_error), BJ_ABSENT},
    {VALUE(xids), 0},
    {VALUE(last_xid), 0},
    {VALUE(busy_ppm), 870000},
    {VALUE(memory_busy_ppm), 310000},
    {VALUE(power_uw), 253172000},
    {VALUE(power_limit_uw), 400000000},
    {VALUE(temperature_uc), 61000000},
    {VALUE(memory_temperature_uc), 72000000},
    {VALUE(graphics_clock_hz), 1410000000},
    {VALUE(sm_clock_hz), 1395000000},
    {VALUE(memory_clock_hz), 1215000000},
    {VALUE(video_clock_hz), 1275000000},
    {VALUE(ecc_corrected), 5},
    {VALUE(ecc_uncorrected), 1},
    {VALUE(ecc_corrected_ever), 105},
    {VALUE(ecc_uncorrected_ever), 11},
    {VALUE(rows_corrected), 4},
    {VALUE(rows_uncorrected), 3},
    {VALUE(rows_pending), 1},
    {VALUE(rows_failed), 0},
    {VALUE(pcie_replays), 7},
    {VALUE(nvlink_tx_bytes), 3072},
    {VALUE(nvlink_rx_bytes), BJ_ABSENT}, /* blank */
    {VALUE(processes), 0},
    {VALUE(sm_ppm), BJ_ABSENT},
    {VALUE(slices), BJ_ABSENT},
};

/* A device with all values. */
#define ALL_VALUES                                                             \
    GPU_A                                                                      \
    "gpu 0 memory_total 42949672960\ngpu 0 memory_used 1073741824\n"           \
    "gpu 0 memory_reserved 536870912\ngpu 0 busy 87\n"                         \
    "gpu 0 memory_busy 31\ngpu 0 power 253172\n"                               \
    "gpu 0 power_limit 400000\ngpu 0 energy 987654321\n"                       \
    "gpu 0 temperature 61\ngpu 0 graphics_clock 1410\n"                        \
    "gpu 0 sm_clock 1395\ngpu 0 memory_clock 1215\n"                           \
    "gpu 0 video_clock 1275\ngpu 0 ecc_00 5\ngpu 0 ecc_10 1\n"                 \
    "gpu 0 ecc_01 105\ngpu 0 ecc_11 11\ngpu 0 rows_corrected 4\n"              \
    "gpu 0 rows_uncorrected 3\ngpu 0 rows_pending 1\n"                         \
    "gpu 0 fan 103\ngpu 0 cores 6912\ngpu 0 capability 80\n"                   \
    "gpu 0 events 0x1f\ngpu 0 rows_failed 0\ngpu 0 throttle 0x44\n"            \
    "field 0 82 1 72\nfield 0 94 1 7\nfield 0 138 3 3\n"                       \
    "field 0 139 3 0xffffffffffffffff\n"

static void test_values(void **state)
{
    (void)state;
    gpu_begin(&rig, ALL_VALUES);
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.n, 1);
    const struct bj_gpu *g = &rig.set.v[0];
    assert_string_equal(g->uuid, "GPU-6f0f0e3c-1111-2222-3333-444455556666");
    assert_string_equal(g->model, "NVIDIA A100-SXM4-40GB");
    assert_string_equal(g->pci, "0000:07:00.0");
    assert_string_equal(rig.set.driver, "550.54.15");
    assert_int_equal(g->index, 0);
    assert_int_equal(g->parent, -1);
    assert_int_equal(g->throttle, 0x44);
    assert_int_equal(g->energy_raw_uj, 987654321000);
    for (size_t i = 0; i < COUNT(values); i++)
        if (value(g, values[i].off) != values[i].want)
            fail_msg("value %zu is %llu", i,
                     (unsigned long long)value(g, values[i].off));
}

/* Calls for values, and those that are absent without it; a newer or older call
 * may replace it. */
static const struct {
    const char *call;
    size_t lost[5]; /* offsets; 0: no more */
} optional[] = {
    {"nvmlDeviceGetMinorNumber", {VALUE(minor)}},
    {"nvmlDeviceGetMemoryInfo",
     {VALUE(memory_total_bytes), VALUE(memory_used_bytes),
      VALUE(memory_free_bytes)}},
    {"nvmlDeviceGetMemoryInfo_v2",
     {VALUE(memory_reserved_bytes), VALUE(memory_used_bytes),
      VALUE(memory_total_bytes), VALUE(memory_free_bytes)}},
    {"nvmlDeviceGetUtilizationRates",
     {VALUE(busy_ppm), VALUE(memory_busy_ppm)}},
    {"nvmlDeviceGetPowerUsage", {VALUE(power_uw)}},
    {"nvmlDeviceGetEnforcedPowerLimit", {VALUE(power_limit_uw)}},
    {"nvmlDeviceGetTotalEnergyConsumption", {0}},
    {"nvmlDeviceGetTemperature", {0}},
    {"nvmlDeviceGetTemperatureV", {VALUE(temperature_uc)}},
    {"nvmlDeviceGetClockInfo",
     {VALUE(graphics_clock_hz), VALUE(sm_clock_hz), VALUE(memory_clock_hz),
      VALUE(video_clock_hz)}},
    {"nvmlDeviceGetFanSpeed", {VALUE(fan_ppm)}},
    {"nvmlDeviceGetNumGpuCores", {VALUE(multiprocessors)}},
    {"nvmlDeviceGetCudaComputeCapability", {VALUE(multiprocessors)}},
    {"nvmlDeviceGetSupportedEventTypes", {VALUE(xids), VALUE(last_xid)}},
    {"nvmlDeviceGetTotalEccErrors",
     {VALUE(ecc_corrected), VALUE(ecc_uncorrected), VALUE(ecc_corrected_ever),
      VALUE(ecc_uncorrected_ever)}},
    {"nvmlDeviceGetRemappedRows",
     {VALUE(rows_corrected), VALUE(rows_uncorrected), VALUE(rows_pending),
      VALUE(rows_failed)}},
    {"nvmlDeviceGetCurrentClocksEventReasons", {0}},
    {"nvmlDeviceGetComputeRunningProcesses_v3", {VALUE(processes)}},
    {"nvmlDeviceGetGraphicsRunningProcesses_v3", {VALUE(processes)}},
    {"nvmlDeviceGetProcessUtilization", {0}},
    {"nvmlDeviceGetFieldValues",
     {VALUE(memory_temperature_uc), VALUE(pcie_replays),
      VALUE(nvlink_tx_bytes)}},
    {"nvmlDeviceGetMigMode", {0}},
    {"nvmlGpmQueryDeviceSupport", {0}},
};

/* Each one alone, with code 26 (withdrawn), 3 (not supported), or 999 (any
 * fault), leaves the others. */
static void test_one_fails(void **state)
{
    static const int codes[] = {26, 3, 999};
    (void)state;
    for (size_t k = 0; k < COUNT(optional) * COUNT(codes); k++) {
        const size_t c = k / COUNT(codes), *lost = optional[c].lost;
        const int code = codes[k % COUNT(codes)];
        char text[4096];
        snprintf(text, sizeof(text), ALL_VALUES "fail 0 %s %d\n",
                 optional[c].call, code);
        gpu_begin(&rig, text);
        assert_int_equal(gpu_open(&rig), 0);
        int r = gpu_read(&rig);
        if (rig.set.n != 1 || (code != 999 && r < 0))
            fail_msg("%s: %d: %d", optional[c].call, code, r);
        for (size_t i = 0; i < COUNT(values); i++) {
            size_t off = values[i].off;
            bool may = off == VALUE(last_error);
            for (size_t n = 0; n < 5 && lost[n] > 0; n++)
                may |= lost[n] == off;
            if (!may && value(&rig.set.v[0], off) != values[i].want)
                fail_msg("%s: %d: value %zu", optional[c].call, code, i);
        }
        bool energy = rig.set.v[0].energy_raw_uj == 987654321000;
        if (!energy && !strstr(optional[c].call, "TotalEnergy"))
            fail_msg("%s: %d: energy", optional[c].call, code);
        teardown(NULL);
    }
    gpu_begin(&rig, GPU_A);
}

/* An old driver has only the first version of the call, which counts reserved
 * memory as used. */
static void test_old_memory(void **state)
{
    (void)state;
    gpu_begin(&rig, GPU_A "gpu 0 memory_total 1000\ngpu 0 memory_used 300\n"
                          "gpu 0 memory_reserved 100\n"
                          "fail 0 nvmlDeviceGetMemoryInfo_v2 13\n");
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.v[0].use.memory_total_bytes, 1000);
    assert_int_equal(rig.set.v[0].use.memory_used_bytes, 400);
    assert_int_equal(rig.set.v[0].use.memory_reserved_bytes, BJ_ABSENT);
}

/* Calls that a driver has withdrawn are no fault; the temperature has a new
 * one, which older drivers lack. */
static void test_withdrawn(void **state)
{
    static const char *const calls[] = {
        "nvmlDeviceGetTemperature 26\n", "nvmlDeviceGetTemperatureV 13\n",
        "nvmlDeviceGetTemperatureV 25\n", "nvmlDeviceGetTemperatureV 26\n",
        "nvmlDeviceGetFanSpeed 26\n"};
    char text[512];
    (void)state;
    for (size_t i = 0; i < COUNT(calls); i++) {
        snprintf(text, sizeof(text),
                 GPU_A "gpu 0 temperature 61\ngpu 0 power 1\nfail 0 %s",
                 calls[i]);
        gpu_begin(&rig, text);
        assert_int_equal(gpu_open(&rig), 0);
        assert_int_equal(gpu_read(&rig), 0);
        assert_false(rig.set.v[0].failed);
        assert_int_equal(rig.set.v[0].use.temperature_uc, 61000000);
        assert_int_equal(rig.set.v[0].use.power_uw, 1000);
        teardown(NULL);
    }
    gpu_begin(&rig, GPU_A);
    assert_int_equal(gpu_open(&rig), 0);
    fake_script(rig.dir, GPU_A "fail 0 any 26\n");
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.n, 1);
}

/* A field that a driver refuses does not cost the others. */
static void test_refused_field(void **state)
{
    (void)state;
    gpu_begin(&rig, GPU_A "field 0 82 1 72\nfield 0 94 1 7\n"
                          "refuse 0 138 2\n");
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    const struct bj_gpu_use *u = &rig.set.v[0].use;
    assert_int_equal(u->memory_temperature_uc, 72000000);
    assert_int_equal(u->pcie_replays, 7);
    assert_int_equal(u->nvlink_tx_bytes, BJ_ABSENT);
    /* A fault of one is a fault, and the others have values. */
    fake_script(rig.dir, GPU_A "field 0 82 1 72\nfield 0 94 1 7\n"
                               "refuse 0 138 999\n");
    assert_int_equal(gpu_read(&rig), -EIO);
    assert_int_equal(rig.set.v[0].use.pcie_replays, 7);
}

/* A device that supports no call is reported without a value and without a
 * fault. */
static void test_bare(void **state)
{
    (void)state;
    gpu_begin(&rig, "gpu 0 uuid GPU-x\n");
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.n, 1);
    assert_int_equal(rig.set.v[0].use.minor, BJ_ABSENT);
    assert_int_equal(rig.set.v[0].use.power_uw, BJ_ABSENT);
    assert_int_equal(rig.set.v[0].energy_raw_uj, BJ_ABSENT);
    assert_int_equal(rig.set.v[0].throttle, BJ_ABSENT);
}

/* A fault loses one value; a lost GPU loses its own values, not those of
 * others. */
static void test_faults(void **state)
{
    (void)state;
    gpu_begin(&rig, GPU_A GPU_B
              "gpu 0 power 1000\ngpu 0 temperature 30\ngpu 1 power 2000\n"
              "fail 0 nvmlDeviceGetPowerUsage 999\n");
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), -EIO);
    assert_int_equal(rig.set.n, 2);
    assert_int_equal(rig.set.faults, 1);
    assert_true(rig.set.v[0].failed);
    assert_false(rig.set.v[1].failed);
    assert_int_equal(rig.set.v[0].use.power_uw, BJ_ABSENT);
    assert_int_equal(rig.set.v[0].use.temperature_uc, 30000000);
    assert_int_equal(rig.set.v[1].use.power_uw, 2000000);
    assert_non_null(strstr(rig.err.msg, "GPU-6f0f0e3c"));
    fake_script(rig.dir, GPU_A GPU_B
                "gpu 0 power 1000\ngpu 0 temperature 30\ngpu 1 power 2000\n"
                "fail 0 nvmlDeviceGetPowerUsage 15\n");
    assert_int_equal(gpu_read(&rig), -ENXIO);
    assert_int_equal(rig.set.faults, 1); /* no further call for that GPU */
    assert_int_equal(rig.set.v[0].use.temperature_uc, BJ_ABSENT);
    assert_int_equal(rig.set.v[1].use.power_uw, 2000000);
}

/* Events after which the library must be opened again. */
static void test_reopen(void **state)
{
    (void)state;
    gpu_begin(&rig, GPU_A);
    assert_int_equal(gpu_open(&rig), 0);
    fake_script(rig.dir, GPU_A GPU_B); /* one more device */
    assert_int_equal(gpu_read(&rig), -ENODEV);
    bj_gpu_nvml.close(rig.source);
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.n, 2);
    fake_script(rig.dir, GPU_A GPU_B "fail 1 nvmlDeviceGetTemperatureV 1\n");
    assert_int_equal(gpu_read(&rig), -ENODEV);
    fake_script(rig.dir, GPU_A GPU_B "code nvmlDeviceGetCount_v2 18\n");
    assert_int_equal(gpu_read(&rig), -ENODEV);
}

/* A device that cannot be opened does not change the indexes of others. */
static void test_closed_device(void **state)
{
    (void)state;
    gpu_begin(&rig, GPU_A GPU_B "fail 0 nvmlDeviceGetHandleByIndex_v2 4\n");
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), -ENXIO);
    assert_int_equal(rig.set.n, 1);
    assert_int_equal(rig.set.v[0].index, 1);
    assert_int_equal(rig.set.faults, 1);
}

#define MIG                                                                    \
    "gpu 0 mig_mode 1\ngpu 0 busy 99\n"                                        \
    "mig 0 0 uuid MIG-a\nmig 0 0 gi 1\nmig 0 0 ci 0\nmig 0 0 slices 4\n"       \
    "mig 0 0 sms 56\nmig 0 0 memory_total 20000\nmig 0 0 memory_used 5000\n"   \
    "mig 0 3 uuid MIG-b\nmig 0 3 gi 5\nmig 0 3 ci 0\nmig 0 3 slices 2\n"       \
    "mig 0 3 sms 28\n"

/* Instances with a gap in their numbers, and processes on each. */
static void test_mig(void **state)
{
    (void)state;
    gpu_begin(&rig, GPU_A GPU_B MIG "proc 0 compute 100 1000 1 0\n"
                                    "proc 0 compute 101 2000 5 0\n"
                                    "proc 1 compute 102 3000 -1 -1\n");
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.n, 4);
    const struct bj_gpu *g = rig.set.v;
    assert_true(g[0].split);
    assert_int_equal(g[0].use.busy_ppm, BJ_ABSENT);
    assert_string_equal(g[1].uuid, "MIG-a");
    assert_string_equal(g[1].pci, "0000:07:00.0");
    assert_int_equal(g[1].parent, 0);
    assert_int_equal(g[1].use.slices, 4);
    assert_int_equal(g[1].use.multiprocessors, 56);
    assert_int_equal(g[1].use.memory_used_bytes, 5000);
    assert_int_equal(g[1].gi, 1);
    assert_int_equal(g[2].parent, 0);
    assert_string_equal(g[2].uuid, "MIG-b");
    assert_int_equal(g[3].parent, -1);
    assert_int_equal(g[3].index, 1);
    assert_int_equal(rig.set.nprocs, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(rig.set.proc[i].gpu, i + 1);
        assert_int_equal(rig.set.proc[i].pid, 100 + i);
        assert_int_equal(g[i + 1].use.processes, 1);
    }
    assert_int_equal(g[0].use.processes, 0);
}

/* Many processes, in two lists, one with unknown memory; samples of their
 * use. */
static void test_processes(void **state)
{
    char text[16384] = GPU_A "proc 0 compute 7 -1 -1 -1\n"
                             "proc 0 graphics 7 -1 -1 -1\n"
                             "proc 0 graphics 8 4096 -1 -1\n"
                             "use 0 100 1000 40\nuse 0 100 2000 60\n"
                             "use 0 101 2500 5\nuse 0 8 2600 101\n";
    (void)state;
    for (int i = 100; i < 400; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof(text) - n, "proc 0 compute %d 10 -1 -1\n", i);
    }
    gpu_begin(&rig, text);
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.nprocs, 302);
    assert_int_equal(rig.set.v[0].use.processes, 302);
    const struct bj_gpu_proc *p = rig.set.proc;
    assert_int_equal(p[0].pid, 7);
    assert_int_equal(p[0].memory_bytes, BJ_ABSENT);
    assert_int_equal(p[0].sm_ppm, 0);
    assert_int_equal(p[1].pid, 100);
    assert_int_equal(p[1].sm_ppm, 500000);
    assert_int_equal(p[2].sm_ppm, 50000);
    assert_int_equal(p[301].memory_bytes, 4096);
    assert_int_equal(p[301].sm_ppm, 0); /* no percentage */
    /* A reading too soon for another sample repeats them. */
    testclock_stop();
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.proc[1].sm_ppm, 500000);
    testclock_run();
    /* Otherwise samples count once. */
    testclock_advance(1000000);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.proc[1].sm_ppm, 0);
    testclock_advance(1000000);
    /* An unknown number of processes is not 0. */
    fake_script(rig.dir,
                GPU_A "fail 0 nvmlDeviceGetComputeRunningProcesses_v3 3\n");
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.v[0].use.processes, BJ_ABSENT);
}

/* The samples of an MPS server include the use of its clients. */
static void test_mps(void **state)
{
#define CLIENTS                                                                \
    GPU_A "proc 0 compute 9 10 -1 -1\nproc 0 compute 7 20 -1 -1\n"             \
          "proc 0 mps 7 20 -1 -1\nproc 0 mps 8 30 -1 -1\n"
    static const uint64_t works[] = {990000, BJ_ABSENT, BJ_ABSENT};
    (void)state;
    gpu_begin(&rig, CLIENTS "use 0 9 1000 99\n");
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    const struct bj_gpu_proc *p = rig.set.proc;
    assert_int_equal(rig.set.nprocs, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(p[i].sm_ppm, works[i]);
    /* No new samples: the server and its clients were idle. */
    testclock_advance(1000000);
    assert_int_equal(gpu_read(&rig), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(p[i].sm_ppm, 0);
    /* One client has its own samples. */
    fake_script(rig.dir, CLIENTS "use 0 9 2000 99\nuse 0 8 2000 30\n");
    testclock_advance(1000000);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(p[1].sm_ppm, BJ_ABSENT);
    assert_int_equal(p[2].sm_ppm, 300000);
}

static void test_pci_text(void **state)
{
    static const char *const cases[][2] = {
        {"00000000:07:00.0", "0000:07:00.0"},
        {"00000001:C7:00.0", "0001:c7:00.0"},
        {"00010000:07:00.0", "10000:07:00.0"},
        {"0000:07:00.0", "0000:07:00.0"},
        {"07:00.0", "0000:07:00.0"},
        {"", ""},
    };
    char text[32];
    (void)state;
    gpu_begin(&rig, "");
    for (size_t i = 0; i < COUNT(cases); i++) {
        bj_gpu_pci_text(cases[i][0], text);
        assert_string_equal(text, cases[i][1]);
    }
}

/* Xid errors count while the library is open. The count is kept when the
 * library is opened again, which may be because of such an error. */
static void test_xids(void **state)
{
#define EVENTS GPU_A GPU_B "gpu 0 events 8\ngpu 1 events 0x17\n"
    (void)state;
    const struct bj_gpu_use *a = &rig.set.v[0].use, *b = &rig.set.v[1].use;
    gpu_begin(&rig, EVENTS "xid 0 13\n");
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(a->xids, 0);
    assert_int_equal(a->last_xid, 0);
    assert_int_equal(b->xids, BJ_ABSENT); /* device 1 does not report them */
    fake_script(rig.dir, EVENTS "xid 0 13\nxid 0 31\nxid 1 48\nxid 0 79\n"
                                "fail 0 any 15\n");
    assert_int_equal(gpu_read(&rig), -ENXIO);
    assert_int_equal(a->xids, 2);
    assert_int_equal(a->last_xid, 79);
    assert_int_equal(b->last_xid, BJ_ABSENT);
    assert_int_equal(a->last_error, 15); /* NVML_ERROR_GPU_IS_LOST */
    assert_int_equal(b->last_error, BJ_ABSENT);
    bj_gpu_nvml.close(rig.source);
    fake_script(rig.dir, EVENTS "xid 0 31\n");
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(a->xids, 2);
    assert_int_equal(a->last_xid, 79);
    assert_int_equal(a->last_error, BJ_ABSENT);
    fake_script(rig.dir, EVENTS "xid 0 31\nxid 0 94\n"
                                "code nvmlEventSetWait_v2 999\n");
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(a->xids, 2);
    fake_script(rig.dir, EVENTS "xid 0 31\nxid 0 94\n");
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(a->xids, 3);
    assert_int_equal(a->last_xid, 94);
}

/* The number of multiprocessors is absent if the generation is unknown or the
 * number of CUDA cores does not fit it. */
static void test_multiprocessors(void **state)
{
    static const struct {
        unsigned capability, cores;
        uint64_t want;
    } cases[] = {{70, 5120, 80},       {90, 16896, 132},
                 {60, 3584, 56},       {90, 14592, 114},
                 {90, 100, BJ_ABSENT}, {199, 1280, BJ_ABSENT},
                 {90, 0, BJ_ABSENT}};
    (void)state;
    gpu_begin(&rig, "");
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[400];
        snprintf(text, sizeof(text),
                 GPU_A "gpu 0 capability %u\ngpu 0 cores %u\n",
                 cases[i].capability, cases[i].cores);
        fake_script(rig.dir, text);
        assert_int_equal(gpu_open(&rig), 0);
        assert_int_equal(gpu_read(&rig), 0);
        assert_int_equal(rig.set.v[0].use.multiprocessors, cases[i].want);
        bj_gpu_nvml.close(rig.source);
    }
    rig.source = NULL;
}

/* GPM values cover the time between two readings; a metric with an error code,
 * or that is not a percentage, is absent. */
static void test_gpm(void **state)
{
    (void)state;
    gpu_begin(&rig, GPU_A GPU_B
              "gpu 0 gpm 1\ngpu 1 gpm 0\n"
              "gpm 0 -1 2 63.5 0\ngpm 0 -1 3 100.2 0\ngpm 0 -1 5 12.25 3\n"
              "gpm 0 -1 4 7.5 0\ngpm 0 -1 10 nan 0\ngpm 0 -1 11 -1 0\ngpm 0 -1 "
              "12 250 0\n"
              "gpm 0 -1 20 1.5 0\ngpm 0 -1 61 2048 0\ngpm 1 -1 2 50 0\n");
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    const struct bj_gpu_use *u = &rig.set.v[0].use;
    assert_int_equal(u->sm_ppm, BJ_ABSENT); /* needs two samples */
    testclock_advance(110000);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(u->sm_ppm, 635000);
    assert_int_equal(u->occupancy_ppm, 1000000);
    assert_int_equal(u->tensor_ppm, BJ_ABSENT);
    assert_int_equal(u->integer_ppm, 75000);
    assert_int_equal(u->dram_ppm, BJ_ABSENT);
    assert_int_equal(u->fp64_ppm, BJ_ABSENT);
    assert_int_equal(u->fp32_ppm, BJ_ABSENT);
    assert_int_equal(u->fp16_ppm, BJ_ABSENT);
    assert_int_equal(u->pcie_tx_rate, 1572864);
    assert_int_equal(u->nvlink_tx_rate, 2147483648);
    assert_int_equal(rig.set.v[1].use.sm_ppm, BJ_ABSENT);
    /* A reading too soon after it repeats its values. */
    testclock_stop();
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    testclock_run();
    assert_int_equal(u->sm_ppm, 635000);
    assert_int_equal(u->tensor_ppm, BJ_ABSENT);
}

/* After a failed sample, and for a new instance, two new samples are needed. */
static void test_gpm_mig(void **state)
{
    (void)state;
    gpu_begin(&rig, GPU_A MIG "gpu 0 gpm 1\ngpm 0 1 2 25 0\ngpm 0 5 2 75 0\n");
    assert_int_equal(gpu_open(&rig), 0);
    assert_int_equal(gpu_read(&rig), 0);
    testclock_advance(110000);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.v[0].use.sm_ppm, BJ_ABSENT);
    assert_int_equal(rig.set.v[1].use.sm_ppm, 250000);
    assert_int_equal(rig.set.v[2].use.sm_ppm, 750000);
    fake_script(rig.dir, GPU_A MIG "gpu 0 gpm 1\ngpm 0 1 2 25 0\n"
                                   "fail 0 nvmlGpmMigSampleGet 999\n");
    testclock_advance(110000);
    assert_int_equal(gpu_read(&rig), -EIO);
    assert_int_equal(rig.set.v[1].use.sm_ppm, BJ_ABSENT);
    assert_int_equal(rig.set.v[1].use.memory_used_bytes, 5000);
    fake_script(rig.dir, GPU_A MIG "gpu 0 gpm 1\ngpm 0 1 2 30 0\n"
                                   "mig 0 3 uuid MIG-new\n");
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.v[1].use.sm_ppm, BJ_ABSENT);
    testclock_advance(110000);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.v[1].use.sm_ppm, 300000);
    assert_int_equal(rig.set.v[2].use.sm_ppm, BJ_ABSENT); /* not reported */
    /* A driver that refuses one metric gives the others. */
    fake_script(rig.dir, GPU_A MIG "gpu 0 gpm 1\ngpm 0 1 2 40 0\n"
                                   "refuse 0 3 2\n");
    testclock_advance(110000);
    assert_int_equal(gpu_read(&rig), 0);
    testclock_advance(110000);
    assert_int_equal(gpu_read(&rig), 0);
    assert_int_equal(rig.set.v[1].use.sm_ppm, 400000);
}

#define TEST(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_library),      TEST(test_init),
        TEST(test_values),          TEST(test_one_fails),
        TEST(test_old_memory),      TEST(test_withdrawn),
        TEST(test_refused_field),   TEST(test_bare),
        TEST(test_faults),          TEST(test_reopen),
        TEST(test_closed_device),   TEST(test_mig),
        TEST(test_processes),       TEST(test_mps),
        TEST(test_pci_text),        TEST(test_gpm),
        TEST(test_gpm_mig),         TEST(test_xids),
        TEST(test_multiprocessors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
