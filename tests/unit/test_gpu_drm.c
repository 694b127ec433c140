/* GPUs of AMD and Intel, over trees that stand for /sys. */
#include "tests/unit/test_gpu.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct bj_gpu_set set;
static void *source;
static const struct bj_gpu_kind *kind;

/* A tree: "path text", "path -> target". */
static const char *const amd_tree[] = {
    /* Card 0 shows pictures, 1 and 2 compute; card 2 has the lower address. */
    "devices/pci0000:00/0000:02:00.0/vendor 0x1a03",
    "class/drm/card0/device -> ../../../devices/pci0000:00/0000:02:00.0",
    "devices/pci0000:00/0000:c1:00.0/vendor 0x1002",
    "devices/pci0000:00/0000:c1:00.0/unique_id f45b8f2f3c7d6a11",
    "devices/pci0000:00/0000:c1:00.0/gpu_busy_percent 97",
    "devices/pci0000:00/0000:c1:00.0/mem_busy_percent 41",
    "devices/pci0000:00/0000:c1:00.0/mem_info_vram_total 68702699520",
    "devices/pci0000:00/0000:c1:00.0/mem_info_vram_used 10737418240",
    "devices/pci0000:00/0000:c1:00.0/hwmon/hwmon7/power1_average 412000000",
    "devices/pci0000:00/0000:c1:00.0/hwmon/hwmon7/power1_cap 560000000",
    "devices/pci0000:00/0000:c1:00.0/hwmon/hwmon7/temp1_input 48000",
    "devices/pci0000:00/0000:c1:00.0/hwmon/hwmon7/temp1_label edge",
    "devices/pci0000:00/0000:c1:00.0/hwmon/hwmon7/temp2_input 61000",
    "devices/pci0000:00/0000:c1:00.0/hwmon/hwmon7/temp2_label junction",
    "devices/pci0000:00/0000:c1:00.0/hwmon/hwmon7/temp3_input 55000",
    "devices/pci0000:00/0000:c1:00.0/hwmon/hwmon7/temp3_label mem",
    "devices/pci0000:00/0000:c1:00.0/hwmon/hwmon7/freq1_input 1700000000",
    "class/drm/card1/device -> ../../../devices/pci0000:00/0000:c1:00.0",
    "class/drm/card1-DP-1/status connected",
    /* the other half of a pair, which tells no power */
    "devices/pci0000:00/0000:0a:00.0/vendor 0x1002",
    "devices/pci0000:00/0000:0a:00.0/gpu_busy_percent 101",
    "devices/pci0000:00/0000:0a:00.0/mem_info_vram_total 68702699520",
    "class/drm/card2/device -> ../../../devices/pci0000:00/0000:0a:00.0",
    "class/drm/renderD128/dev 226:128",
};

static const char *const intel_tree[] = {
    /* graphics of a processor, and a card that computes */
    "devices/pci0000:00/0000:00:02.0/vendor 0x8086",
    "class/drm/card0/device -> ../../../devices/pci0000:00/0000:00:02.0",
    "devices/pci0000:00/0000:29:00.0/vendor 0x8086",
    "devices/pci0000:00/0000:29:00.0/hwmon/hwmon3/energy1_input 123456789",
    "devices/pci0000:00/0000:29:00.0/hwmon/hwmon3/power1_max 300000000",
    "devices/pci0000:00/0000:29:00.0/hwmon/hwmon3/temp2_input 40000",
    "devices/pci0000:00/0000:29:00.0/hwmon/hwmon3/temp2_label pkg",
    "devices/pci0000:00/0000:29:00.0/hwmon/hwmon3/temp3_input 42000",
    "devices/pci0000:00/0000:29:00.0/hwmon/hwmon3/temp3_label vram",
    "class/drm/card1/device -> ../../../devices/pci0000:00/0000:29:00.0",
};

static const char *grow(const char *const *lines, size_t n)
{
    static const char *dir;
    dir = tmp_make();
    for (size_t i = 0; i < n; i++) {
        char path[256], full[512];
        const char *blank = strchr(lines[i], ' ');
        snprintf(path, sizeof(path), "%.*s", (int)(blank - lines[i]), lines[i]);
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

static void test_amd(void **state)
{
    (void)state;
    const char *dir = grow(amd_tree, COUNT(amd_tree));
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
    /* A card that is taken out is no fault. */
    tmp_remove("class/drm/card1/device");
    struct bj_err err = {0};
    bj_gpu_set_clear(&set);
    assert_int_equal(bj_gpu_amd.read(source, &set, &err), 0);
    assert_int_equal(set.n, 1);
    end();
}

static void test_intel(void **state)
{
    (void)state;
    const char *dir = grow(intel_tree, COUNT(intel_tree));
    assert_int_equal(begin(dir, &bj_gpu_amd), -ENODEV);
    assert_int_equal(begin(dir, &bj_gpu_intel), 0);
    assert_int_equal(set.n, 1);
    const struct bj_gpu *g = &set.v[0];
    assert_string_equal(g->uuid, "0000:29:00.0");
    assert_int_equal(g->energy_raw_uj, 123456789);
    assert_int_equal(g->use.power_limit_uw, 300000000);
    assert_int_equal(g->use.temperature_uc, 40000000);
    assert_int_equal(g->use.memory_temperature_uc, 42000000);
    assert_int_equal(g->use.busy_ppm, BJ_ABSENT);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_amd),
                                       cmocka_unit_test(test_intel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
