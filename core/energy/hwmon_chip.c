#include "core/energy/hwmon_chip.h"

#include "base/file.h"
#include "core/energy/attr.h"
#include "core/energy/zone.h"

#include <stdio.h>
#include <unistd.h>

int bj_hwmon_channels(int dir, const char *what, const char *end,
                      unsigned ret[BJ_HWMON_CHANNELS])
{
    return bj_attr_numbers(dir, what, end, 10, ret, BJ_HWMON_CHANNELS);
}

int bj_hwmon_has_sensors(int dir)
{
    static const char *const sensors[][2] = {
        {"power", "_average"}, {"power", "_input"}, {"energy", "_input"}};
    unsigned ignored[BJ_HWMON_CHANNELS];
    for (size_t i = 0; i < sizeof(sensors) / sizeof(sensors[0]); i++) {
        int n = bj_hwmon_channels(dir, sensors[i][0], sensors[i][1], ignored);
        if (n != 0)
            return n < 0 ? n : 1;
    }
    return 0;
}

static bool is_graphics(const char *name)
{
    static const char *const names[] = {"amdgpu", "radeon", "nouveau", "i915",
                                        "xe"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void read_name(int dir, const char *file, char dst[BJ_ZONE_NAME])
{
    char buf[BJ_ATTR_CAP];
    struct bj_slice text = {0};
    if (bj_attr_text(dir, file, buf, &text, NULL) < 0)
        text.n = 0;
    bj_zone_name(dst, text);
}

static void read_device(int dir, unsigned number, char dst[BJ_ZONE_NAME])
{
    char path[512], name[32];
    ssize_t n = readlinkat(dir, "device", path, sizeof(path));
    snprintf(name, sizeof(name), "hwmon%u", number);
    struct bj_slice text = bj_slice_str(name);
    if (n > 0) {
        text = (struct bj_slice){path, (size_t)n};
        const char *slash = memrchr(path, '/', (size_t)n);
        if (slash)
            text =
                (struct bj_slice){slash + 1, (size_t)(path + n - (slash + 1))};
    }
    bj_zone_name(dst, text);
}

/* Some drivers, such as ACPI's, have their attributes in the directory of the
 * device, not of the chip; the name may be in either. */
int bj_hwmon_chip_open(int class_dir, unsigned number,
                       struct bj_hwmon_chip *ret)
{
    char name[32];
    snprintf(name, sizeof(name), "hwmon%u", number);
    bj_autoclose int dir = bj_dir_open(class_dir, name);
    if (dir < 0)
        return dir;
    ret->number = number;
    read_device(dir, number, ret->device);
    read_name(dir, "name", ret->name);
    if (ret->name[0] == '\0')
        read_name(dir, "device/name", ret->name);
    if (ret->name[0] == '\0')
        snprintf(ret->name, sizeof(ret->name), "chip");
    if (is_graphics(ret->name))
        return -ENODEV;
    int here = bj_hwmon_has_sensors(dir);
    if (here < 0)
        return here;
    ret->dir = bj_dir_open(dir, here ? "." : "device");
    return ret->dir < 0 ? ret->dir : 0;
}
