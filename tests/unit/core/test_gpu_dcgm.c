/* The page of dcgm-exporter, alone and together with NVML. The page is
 * simulated (tests/fixtures/gpu/README.md). */
#include "tests/unit/core/test_gpu.h"

#include "core/gpu/dcgm.h"
#include "tests/unit/lib/await.h"
#include "tests/unit/lib/httpstub.h"

#include <time.h>

enum { RESPONSES = 64 };

static char page[8192], reply[8500];
static size_t page_n;
static struct bj_gpu_set set;

static void read_page(void)
{
    FILE *f = fopen("tests/fixtures/gpu/dcgm/page", "r");
    assert_non_null(f);
    page_n = fread(page, 1, sizeof(page), f);
    fclose(f);
}

static void test_page(void **state)
{
    (void)state;
    read_page();
    bj_gpu_set_clear(&set);
    bj_gpu_dcgm_page((struct bj_slice){page, page_n}, &set);
    assert_int_equal(set.n, 6);
    const struct bj_gpu *g = &set.v[0];
    assert_string_equal(g->uuid, "GPU-a");
    assert_int_equal(g->use.graphics_ppm, 987654);
    assert_int_equal(g->use.tensor_ppm, 1000000);
    assert_int_equal(g->use.dram_ppm, BJ_ABSENT); /* "blank" */
    assert_int_equal(g->use.pcie_tx_rate, 1234567890);
    assert_int_equal(g->use.pcie_rx_rate, BJ_ABSENT); /* "blank", too */
    assert_int_equal(g->use.nvlink_rx_rate, 300000000000);
    assert_int_equal(g->use.sm_ppm, BJ_ABSENT);
    g = &set.v[1];
    assert_string_equal(g->uuid, "GPU-c");
    assert_int_equal(g->use.graphics_ppm, BJ_ABSENT);
    g = &set.v[2];
    assert_int_equal(g->parent, 1);
    assert_int_equal(g->gi, 1);
    assert_int_equal(g->use.graphics_ppm, 500000);
    assert_int_equal(g->use.sm_ppm, 750000);
    g = &set.v[3];
    assert_string_equal(g->uuid, "GPU-b");
    assert_int_equal(g->use.tensor_ppm, 0);
    assert_int_equal(g->use.sm_ppm, 250000);
    assert_int_equal(g->use.occupancy_ppm, BJ_ABSENT);
    assert_int_equal(set.v[4].parent, 1);
    assert_int_equal(set.v[4].gi, 2);
    assert_int_equal(set.v[4].use.sm_ppm, 125000);
    assert_string_equal(set.v[5].uuid, "GPU-gone");
}

/* Devices beyond BJ_GPUS_MAX are ignored. */
static void test_too_many(void **state)
{
    (void)state;
    bj_gpu_set_clear(&set);
    for (int i = 0; i < 2 * BJ_GPUS_MAX; i++) {
        char line[128];
        snprintf(line, sizeof(line),
                 "DCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-%d\",GPU_I_ID=\"%d\"} 1\n",
                 i, i);
        bj_gpu_dcgm_page(bj_slice_str(line), &set);
    }
    assert_int_equal(set.n, BJ_GPUS_MAX);
}

/* --- together with NVML --------------------------------------------------- */

static struct rig rig;
static struct bj_stub stub;

static const struct bj_gpu_use *device(const char *gpu)
{
    const struct bj_gpu_use *u = rig.snap->gpus.v;
    for (size_t i = 0; i < rig.snap->gpus.n; i++)
        if (bj_slice_eq(u[i].sub.key[0], bj_slice_str(gpu)))
            return &u[i];
    return NULL;
}

static uint64_t success(const char *name)
{
    const struct bj_gpu_source *s = rig.snap->gpu_sources.v;
    for (size_t i = 0; i < rig.snap->gpu_sources.n; i++)
        if (bj_slice_eq(s[i].sub.key[0], bj_slice_str(name)))
            return s[i].success;
    return BJ_ABSENT;
}

static void start(const char *url)
{
    static char nvml[4300], dcgm[128], proc[128];
    const char *dir = tmp_make();
    tmp_dir("cg");
    tmp_dir("sys");
    tmp_file("cg/cgroup.controllers", "cpu memory\n");
    fake_script(dir, "gpu 0 uuid GPU-a\ngpu 1 uuid GPU-b\ngpu 2 uuid GPU-c\n"
                     "gpu 1 gpm 1\ngpm 1 -1 2 33 0\n"
                     "gpu 2 mig_mode 1\nmig 2 0 uuid MIG-x\nmig 2 0 gi 1\n"
                     "mig 2 0 ci 0\nmig 2 0 sms 42\n");
    snprintf(proc, sizeof(proc), "path.procfs=%s/proc", dir);
    snprintf(nvml, sizeof(nvml), "gpu.nvml=%s", fake_nvml());
    snprintf(dcgm, sizeof(dcgm), "gpu.dcgm=%s/metrics", url);
    static char cg[128], sys[128];
    snprintf(cg, sizeof(cg), "path.cgroupfs=%s/cg", dir);
    snprintf(sys, sizeof(sys), "path.sysfs=%s/sys", dir);
    rig_start(&rig, proc, cg, sys, nvml, dcgm, "collector.node=false",
              "job.file-dir=", "gpu.interval=1s", "collector.energy=false",
              NULL);
}

static void end(void)
{
    rig_stop(&rig);
    tmp_gone();
    unsetenv("FAKE_NVML");
}

/* Run passes until a value of a GPU is present, or absent. */
static const struct bj_gpu_use *wait_value(const char *gpu, size_t off,
                                           bool there)
{
    const struct bj_gpu_use *u;
    AWAIT_STEP((rig_pass(&rig), u = device(gpu)),
               u && (*(const uint64_t *)(const void *)((const char *)u + off) !=
                     BJ_ABSENT) == there);
    return u;
}
#define AT(member) offsetof(struct bj_gpu_use, member)

static void test_with_nvml(void **state)
{
    static struct bj_stub_response responses[RESPONSES];
    (void)state;
    read_page();
    int n = snprintf(reply, sizeof(reply),
                     "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n%.*s",
                     page_n, (int)page_n, page);
    for (size_t i = 0; i < RESPONSES; i++)
        responses[i] = (struct bj_stub_response){.text = reply, .n = (size_t)n};
    bj_stub_begin(&stub, NULL, responses, RESPONSES);
    start(stub.url);
    const struct bj_gpu_use *u = wait_value("GPU-a", AT(graphics_ppm), true);
    assert_int_equal(u->graphics_ppm, 987654);
    assert_int_equal(u->tensor_ppm, 1000000);
    assert_int_equal(u->success, 1);
    assert_int_equal(u->errors, 0);
    /* NVML's value is preferred. */
    u = wait_value("GPU-b", AT(sm_ppm), true);
    AWAIT_STEP((rig_pass(&rig), u = device("GPU-b")), u->sm_ppm == 330000);
    assert_int_equal(u->tensor_ppm, 0);
    assert_int_equal(device("MIG-x")->sm_ppm, 750000);
    assert_null(device("GPU-gone"));
    assert_int_equal(rig.snap->gpus.n, 4);
    assert_int_equal(success("dcgm"), 1);
    /* When dcgm-exporter ends, its values are removed and NVML's stay. */
    bj_stub_end(&stub);
    u = wait_value("GPU-a", AT(graphics_ppm), false);
    assert_int_equal(u->success, 1);
    assert_int_equal(device("GPU-b")->sm_ppm, 330000);
    assert_int_equal(success("dcgm"), 0);
    assert_int_equal(success("nvml"), 1);
    assert_non_null(strstr(rig.log, "GPU source dcgm: "));
    bj_stub_free(&stub);
    end();
}

/* A page without DCGM's metrics is a logged fault. */
static void test_other_page(void **state)
{
    static struct bj_stub_response responses[RESPONSES];
    (void)state;
    for (size_t i = 0; i < RESPONSES; i++)
        responses[i] = (struct bj_stub_response){
            .text = "HTTP/1.1 200 OK\r\n"
                    "Content-Length: 5\r\n"
                    "Connection: close\r\n\r\nup 1\n"};
    bj_stub_begin(&stub, NULL, responses, RESPONSES);
    start(stub.url);
    rig_pass(&rig);
    AWAIT_STEP(rig_pass(&rig), success("dcgm") == 0 && device("GPU-a"));
    assert_non_null(strstr(rig.log, "has no DCGM_FI_PROF_ of any GPU"));
    assert_int_equal(device("GPU-a")->graphics_ppm, BJ_ABSENT);
    bj_stub_end(&stub);
    bj_stub_free(&stub);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page), cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_with_nvml), cmocka_unit_test(test_other_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
