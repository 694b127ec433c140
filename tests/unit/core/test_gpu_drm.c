/* GPUs of AMD and Intel, in simulated trees of /sys
 * (tests/fixtures/gpu/README.md). */
#include "tests/unit/core/test_gpu.h"
#include "tests/unit/lib/testclock.h"

static struct bj_gpu_set set;
static void *source;
static const struct bj_gpu_kind *kind;

static void grow_line(const char *dir, const char *line)
{
    char path[256], full[512];
    const char *blank = strchr(line, ' ');
    assert_non_null(blank);
    snprintf(path, sizeof(path), "%.*s", (int)(blank - line), line);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    tmp_dir(path);
    *slash = '/';
    snprintf(full, sizeof(full), "%s/%s", dir, path);
    if (strncmp(blank, " -> ", 4) == 0)
        assert_int_equal(symlink(blank + 4, full), 0);
    else
        tmp_file(path, blank + 1);
}

/* Create a directory from lines "path text" and "path -> target". */
static const char *grow(const char *tree)
{
    char path[128], line[512];
    const char *dir = tmp_make();
    snprintf(path, sizeof(path), "tests/fixtures/gpu/%s.tree", tree);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line != '#')
            grow_line(dir, line);
    }
    fclose(f);
    return dir;
}

static int begin(const char *dir, const struct bj_gpu_kind *k)
{
    const struct bj_gpu_env env = {
        .procfs = "/nonexistent", .sysfs = dir, .nvml = ""};
    struct bj_err err = {0};
    kind = k;
    source = NULL;
    if (!k->present(&env))
        return -ENODEV;
    int r = k->open(&env, &source, &err);
    bj_gpu_set_clear(&set);
    return r < 0 ? r : k->read(source, &set, &err);
}

static void end(void)
{
    if (source)
        kind->close(source);
    tmp_gone();
}

/* After the driver is unloaded, reading and opening report that there is no
 * device. */
static void test_unloaded(void **state)
{
    struct bj_err err = {0};
    (void)state;
    const char *dir = grow("amd-mi250x");
    const struct bj_gpu_env env = {.sysfs = dir};
    void *other = NULL;
    assert_int_equal(begin(dir, &bj_gpu_amd), 0);
    tmp_remove("class/drm");
    bj_gpu_set_clear(&set);
    assert_int_equal(kind->read(source, &set, &err), -ENODEV);
    assert_int_equal(kind->open(&env, &other, &err), -ENODEV);
    tmp_dir("class/drm");
    assert_int_equal(kind->open(&env, &other, &err), -ENODEV);
    end();
}

static void test_amd(void **state)
{
    (void)state;
    const char *dir = grow("amd-mi250x");
    assert_int_equal(begin(dir, &bj_gpu_intel), -ENODEV);
    assert_int_equal(begin(dir, &bj_gpu_amd), 0);
    assert_int_equal(set.n, 2);
    const struct bj_gpu *g = &set.v[0];
    assert_string_equal(g->uuid, "0000:0a:00.0");
    assert_string_equal(g->pci, "0000:0a:00.0");
    assert_int_equal(g->index, 0);
    assert_int_equal(g->use.busy_ppm, BJ_ABSENT); /* no percentage */
    assert_int_equal(g->use.power_uw, BJ_ABSENT);
    g = &set.v[1];
    assert_string_equal(g->uuid, "f45b8f2f3c7d6a11");
    assert_string_equal(g->pci, "0000:c1:00.0");
    assert_int_equal(g->index, 1);
    assert_int_equal(g->use.busy_ppm, 970000);
    assert_int_equal(g->use.memory_busy_ppm, 410000);
    assert_int_equal(g->use.memory_total_bytes, 68702699520);
    assert_int_equal(g->use.memory_used_bytes, 10737418240);
    assert_int_equal(g->use.power_uw, 412000000);
    assert_int_equal(g->use.power_limit_uw, 560000000);
    assert_int_equal(g->use.temperature_uc, 48000000);
    assert_int_equal(g->use.memory_temperature_uc, 55000000);
    assert_int_equal(g->use.graphics_clock_hz, 1700000000);
    assert_int_equal(g->energy_raw_uj, BJ_ABSENT);
    assert_int_equal(g->use.processes, BJ_ABSENT);
    assert_int_equal(g->use.pcie_replays, 3);
    /* A removed card is not a fault. */
    tmp_remove("class/drm/card1/device");
    struct bj_err err = {0};
    bj_gpu_set_clear(&set);
    assert_int_equal(bj_gpu_amd.read(source, &set, &err), 0);
    assert_int_equal(set.n, 1);
    end();
}

/* Errors that the kernel counts for each block. */
static void test_ras(void **state)
{
    (void)state;
    static const char ras[] = "class/drm/card1/device/ras";
    struct bj_err err = {0};
    char path[128];
    const char *dir = grow("amd-mi250x");
    snprintf(path, sizeof(path), "%s/umc_err_count", ras);
    tmp_dir(ras);
    tmp_file(path, "ue: 2\nce: 17\nde: 1\n");
    snprintf(path, sizeof(path), "%s/gfx_err_count", ras);
    tmp_file(path, "ue: 1\nce: 0\n");
    snprintf(path, sizeof(path), "%s/sdma_err_count", ras);
    tmp_file(path, "ue: x\nce: 100\n"); /* neither counts */
    snprintf(path, sizeof(path), "%s/xgmi_wafl_err_count", ras);
    tmp_file(path, "ue: 0\nce: 5\n");
    assert_int_equal(begin(dir, &bj_gpu_amd), 0);
    const struct bj_gpu_use *u = &set.v[1].use;
    assert_int_equal(u->ecc_corrected, 17);
    assert_int_equal(u->ecc_uncorrected, 3);
    assert_int_equal(u->xgmi_corrected, 5);
    assert_int_equal(u->xgmi_uncorrected, 0);
    assert_int_equal(set.v[0].use.ecc_uncorrected, BJ_ABSENT);
    /* Read once a minute. */
    snprintf(path, sizeof(path), "%s/gfx_err_count", ras);
    tmp_file(path, "ue: 9\nce: 0\n");
    testclock_advance(30ull * 1000000);
    bj_gpu_set_clear(&set);
    assert_int_equal(kind->read(source, &set, &err), 0);
    assert_int_equal(set.v[1].use.ecc_uncorrected, 3);
    testclock_advance(31ull * 1000000);
    bj_gpu_set_clear(&set);
    assert_int_equal(kind->read(source, &set, &err), 0);
    assert_int_equal(set.v[1].use.ecc_uncorrected, 11);
    testclock_run();
    end();
}

static void test_intel(void **state)
{
    (void)state;
    const char *dir = grow("intel-max");
    assert_int_equal(begin(dir, &bj_gpu_amd), -ENODEV);
    assert_int_equal(begin(dir, &bj_gpu_intel), 0);
    assert_int_equal(set.n, 2);
    const struct bj_gpu *g = &set.v[0];
    assert_string_equal(g->uuid, "0000:29:00.0");
    assert_int_equal(g->energy_raw_uj, 123456789);
    assert_int_equal(g->use.power_limit_uw, 300000000);
    assert_int_equal(g->use.temperature_uc, 40000000);
    assert_int_equal(g->use.memory_temperature_uc, 42000000);
    assert_int_equal(g->use.busy_ppm, BJ_ABSENT);
    g = &set.v[1];
    assert_string_equal(g->uuid, "0000:4d:00.0");
    assert_int_equal(g->energy_raw_uj, BJ_ABSENT);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unloaded), cmocka_unit_test(test_amd),
        cmocka_unit_test(test_ras), cmocka_unit_test(test_intel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
