/* Hardware monitors: ACPI power meters, Grace, other chips, their faults. */
#include "base/absent.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ACPI "devices/LNXSYSTM:00/LNXSYBUS:00/"

static struct meter_rig rig;

static int teardown(void **state)
{
    (void)state;
    meter_cleanup(&rig);
    return 0;
}

/* --- machines ------------------------------------------------------------- */

static const struct {
    const char *tree, *want;
} machines[] = {
    /* The module includes the accelerator and all others: it is the node. Grace
     * includes CPU and SysIO. */
    {"grace-hopper", "module_power_socket_0 platform p=612345000\n"
                     "grace_power_socket_0 cpu p=141222000\n"
                     "cpu_power_socket_0 part p=88111000\n"
                     "sysio_power_socket_0 part p=23999000\n"},
    {"grace-cpu-2s", "grace_power_socket_0 cpu p=201000000\n"
                     "cpu_power_socket_0 part p=150000000\n"
                     "sysio_power_socket_0 part p=30000000\n"
                     "grace_power_socket_1 cpu p=201000001\n"
                     "cpu_power_socket_1 part p=150000001\n"
                     "sysio_power_socket_1 part p=30000001\n"},
    /* Graphics cards, drives, counters of cores and disabled channels are left
     * out. */
    {"server-acpi-meter",
     "power_meter-acpi000d_00.power1 node p=431000000 l=800000000\n"
     "pmbus-3-0058.pin part p=448000000\n"
     "pmbus-3-0058.pout1 part p=410000000\n"
     "ina226-3-0040.power1 part p=12500000\n"
     "amd_energy-amd_energy.0.esocket0 part e=987654321012\n"},
};

static void test_machines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(machines); i++) {
        meter_setup(&rig, machines[i].tree);
        assert_true(bj_meter_hwmon.present(&rig.env));
        assert_int_equal(meter_open(&rig, &bj_meter_hwmon), 0);
        meter_expect(&rig, 0, machines[i].want);
        meter_cleanup(&rig);
    }
}

static void test_no_machine(void **state)
{
    (void)state;
    meter_setup(&rig, NULL);
    assert_false(bj_meter_hwmon.present(&rig.env));
    assert_int_equal(meter_open(&rig, &bj_meter_hwmon), -ENODEV);
    meter_add_files("class/hwmon/hwmon0/name drivetemp\n"
                    "class/hwmon/hwmon0/temp1_input 31000\n"
                    "class/hwmon/hwmon1/name amdgpu\n"
                    "class/hwmon/hwmon1/power1_average 31000\n");
    assert_false(bj_meter_hwmon.present(&rig.env));
    assert_int_equal(meter_open(&rig, &bj_meter_hwmon), -ENODEV);
    rig.env.sysfs = "/nonexistent";
    assert_false(bj_meter_hwmon.present(&rig.env));
    assert_int_equal(meter_open(&rig, &bj_meter_hwmon), -ENODEV);
}

/* A module in each of four sockets; the second ACPI meter of a server; a CPU
 * rail without a Grace label; labels that only look like a socket's. */
static const struct {
    const char *lines, *want;
} others[] = {
    {"class/hwmon/hwmon0/name power_meter\n"
     "class/hwmon/hwmon0/power1_average 500000001\n"
     "class/hwmon/hwmon0/power1_oem_info Module Power Socket 0\n"
     "class/hwmon/hwmon1/name power_meter\n"
     "class/hwmon/hwmon1/power1_average 500000002\n"
     "class/hwmon/hwmon1/power1_oem_info Module Power Socket 3\n",
     "module_power_socket_0 platform p=500000001\n"
     "module_power_socket_3 platform p=500000002\n"},
    {"class/hwmon/hwmon0/name power_meter\n"
     "class/hwmon/hwmon0/power1_average 300000000\n"
     "class/hwmon/hwmon1/name power_meter\n"
     "class/hwmon/hwmon1/power1_average 200000000\n",
     "power_meter-hwmon0.power1 part p=300000000\n"
     "power_meter-hwmon1.power1 part p=200000000\n"},
    {"class/hwmon/hwmon0/name power_meter\n"
     "class/hwmon/hwmon0/power1_average 300000000\n"
     "class/hwmon/hwmon0/power1_oem_info CPU Power Socket 1\n"
     "class/hwmon/hwmon1/name power_meter\n"
     "class/hwmon/hwmon1/power1_average 200000000\n"
     "class/hwmon/hwmon1/power1_oem_info Grace Power Socket 0\n",
     "cpu_power_socket_1 cpu p=300000000\n"
     "grace_power_socket_0 cpu p=200000000\n"},
    {"class/hwmon/hwmon0/name power_meter\n"
     "class/hwmon/hwmon0/power1_average 300000000\n"
     "class/hwmon/hwmon0/power1_oem_info Module Power Socket X\n",
     "power_meter-hwmon0.module_power_socket_x node p=300000000\n"},
    {"class/hwmon/hwmon0/name other\n"
     "class/hwmon/hwmon0/power1_average 300000000\n"
     "class/hwmon/hwmon0/power1_label Module Power Socket 0\n",
     "other-hwmon0.module_power_socket_0 part p=300000000\n"},
    /* An average is preferred to the current value. */
    {"class/hwmon/hwmon0/power1_average 3\nclass/hwmon/hwmon0/power1_input 4\n"
     "class/hwmon/hwmon0/power10_input 5\nclass/hwmon/hwmon0/power2_input 6\n"
     "class/hwmon/hwmon0/power2_max 7\nclass/hwmon/hwmon0/powerx_input 8\n",
     "chip-hwmon0.power1 part p=3\nchip-hwmon0.power2 part p=6\n"
     "chip-hwmon0.power10 part p=5\n"},
    /* Two equal labels, and one that is too long. */
    {"class/hwmon/hwmon0/name a\nclass/hwmon/hwmon0/power1_input 1\n"
     "class/hwmon/hwmon0/power1_label X\nclass/hwmon/hwmon0/power2_input 2\n"
     "class/hwmon/hwmon0/power2_label x\nclass/hwmon/hwmon0/power3_input 3\n"
     "class/hwmon/hwmon0/power3_label "
     "0123456789012345678901234567890123456789012345678901234567890123\n"
     "class/hwmon/hwmon0/power4_input 4\nclass/hwmon/hwmon0/power4_label "
     "0123456789012345678901234567890123456789012345678901234567890124\n",
     "a-hwmon0.x part p=1\na-0.power2_input part p=2\n"
     "a-hwmon0.01234567890123456789012345678901234567 part p=3\n"
     "a-0.power4_input part p=4\n"},
};

static void test_other_machines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(others); i++) {
        meter_setup(&rig, NULL);
        meter_add_files(others[i].lines);
        assert_int_equal(meter_open(&rig, &bj_meter_hwmon), 0);
        meter_expect(&rig, 0, others[i].want);
        meter_cleanup(&rig);
    }
}

/* --- values --------------------------------------------------------------- */

static const struct {
    const char *node, *part;
    int want;
    const char *text;
} values[] = {
    {"300000000\n", "5\n", 0, "N node p=300000000\nP part p=5\n"},
    {"300000000", " 5 ", 0, "N node p=300000000\nP part p=5\n"},
    {"0\n", "0\n", 0, "P part p=0\n"}, /* a node cannot draw 0 W, a part can */
    {"50000000000\n", "0\n", 0, "N node p=50000000000\nP part p=0\n"},
    {"50000000001\n", "0\n", -ERANGE, "P part p=0\n"},
    {"65535000000\n", "0\n", -ERANGE, "P part p=0\n"},
    {"4294967295000\n", "0\n", -ERANGE, "P part p=0\n"},
    {"1\n", "65535000000\n", -ERANGE, "N node p=1\n"},
    {"-1\n", "0\n", -ERANGE, "P part p=0\n"},
    {"99999999999999999999\n", "0\n", -ERANGE, "P part p=0\n"},
    {"\n", "0\n", -EBADMSG, "P part p=0\n"},
    {"", "0\n", -EBADMSG, "P part p=0\n"},
    {"N/A\n", "0\n", -EBADMSG, "P part p=0\n"},
    {"300.5\n", "x\n", -EBADMSG, ""},
};

static void test_values(void **state)
{
    (void)state;
    meter_setup(&rig, NULL);
    meter_add_files(
        "class/hwmon/hwmon0/name power_meter\n"
        "class/hwmon/hwmon0/power1_average 1\n"
        "class/hwmon/hwmon0/power1_oem_info Module Power Socket 0\n"
        "class/hwmon/hwmon1/name p\nclass/hwmon/hwmon1/power1_input 1\n"
        "class/hwmon/hwmon1/power1_label p\n");
    assert_int_equal(meter_open(&rig, &bj_meter_hwmon), 0);
    for (size_t i = 0; i < COUNT(values); i++) {
        char got[256] = "";
        meter_write("class/hwmon/hwmon0/power1_average", values[i].node);
        meter_write("class/hwmon/hwmon1/power1_input", values[i].part);
        assert_int_equal(meter_read(&rig), values[i].want);
        for (size_t k = 0; k < rig.sample.n; k++) {
            bool node = rig.sample.zone[k].role == BJ_ZONE_PLATFORM;
            snprintf(got + strlen(got), sizeof(got) - strlen(got),
                     "%s p=%llu\n", node ? "N node" : "P part",
                     (unsigned long long)rig.sample.zone[k].power_uw);
        }
        assert_string_equal(got, values[i].text);
    }
}

/* The limit is ACPI's cap; an implausible cap is absent. */
static void test_power_cap(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t want;
    } caps[] = {{"700000000\n", 700000000},
                {"0\n", BJ_ABSENT},
                {"unknown\n", BJ_ABSENT},
                {"4294967295000\n", BJ_ABSENT}};
    for (size_t i = 0; i < COUNT(caps); i++) {
        meter_setup(&rig, "server-acpi-meter");
        meter_write(ACPI "ACPI000D:00/power1_cap", caps[i].text);
        assert_int_equal(meter_open(&rig, &bj_meter_hwmon), 0);
        assert_int_equal(meter_read(&rig), 0);
        assert_true(rig.sample.zone[0].limit_uw == caps[i].want);
        meter_cleanup(&rig);
    }
}

/* A file that cannot be read loses only its own channel. */
static void test_refused(void **state)
{
    (void)state;
    meter_setup(&rig, "grace-hopper");
    tmp_remove(ACPI "ACPI000D:01/power1_average");
    tmp_dir(ACPI "ACPI000D:01/power1_average");
    assert_int_equal(meter_open(&rig, &bj_meter_hwmon), 0);
    meter_expect(&rig, -EISDIR,
                 "module_power_socket_0 platform p=612345000\n"
                 "cpu_power_socket_0 part p=88111000\n"
                 "sysio_power_socket_0 part p=23999000\n");
    assert_string_equal(rig.err.msg, "read hwmon2/power1_average");
}

/* --- chips that are removed and added ------------------------------------- */

static void read_often(int want)
{
    for (int i = 0; i < 12; i++)
        meter_read(&rig);
    assert_int_equal(rig.err.code, want);
}

static void test_chips_come_and_go(void **state)
{
    (void)state;
    meter_setup(&rig, "grace-cpu-2s");
    assert_int_equal(meter_open(&rig, &bj_meter_hwmon), 0);
    for (int k = 1; k <= 6; k++) {
        char path[64];
        snprintf(path, sizeof(path), "class/hwmon/hwmon%d", k);
        if (k != 4)
            tmp_remove(path);
    }
    read_often(0);
    assert_string_equal(meter_text(&rig),
                        "grace_power_socket_1 cpu p=201000001\n");
    meter_add_files(
        "class/hwmon/hwmon9/name x\nclass/hwmon/hwmon9/energy1_input 7\n"
        "class/hwmon/hwmon9/power1_input 8\n");
    read_often(0);
    assert_string_equal(meter_text(&rig),
                        "grace_power_socket_1 cpu p=201000001\n"
                        "x-hwmon9.power1 part p=8\n"
                        "x-hwmon9.energy1 part e=7\n");
    tmp_remove("class/hwmon");
    read_often(-ENODEV);
    assert_int_equal(rig.sample.n, 0);
}

static void test_more_channels_than_fit(void **state)
{
    (void)state;
    char line[64];
    meter_setup(&rig, NULL);
    for (int chip = 0; chip < 3; chip++)
        for (int k = 1; k < 70; k++) {
            snprintf(line, sizeof(line), "class/hwmon/hwmon%d/power%d_input 1",
                     chip, k);
            meter_add_files(line);
        }
    assert_int_equal(meter_open(&rig, &bj_meter_hwmon), 0);
    assert_int_equal(meter_read(&rig), 0);
    assert_int_equal(rig.sample.n, BJ_ZONES_MAX);
}

static int open_and_close(void *arg)
{
    (void)arg;
    return meter_open(&rig, &bj_meter_hwmon);
}

static void test_no_memory(void **state)
{
    (void)state;
    meter_setup(&rig, "server-acpi-meter");
    if (!bj_fail_works())
        skip();
    bj_fail_each(open_and_close, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machines),
        cmocka_unit_test_teardown(test_no_machine, teardown),
        cmocka_unit_test(test_other_machines),
        cmocka_unit_test_teardown(test_values, teardown),
        cmocka_unit_test(test_power_cap),
        cmocka_unit_test_teardown(test_refused, teardown),
        cmocka_unit_test_teardown(test_chips_come_and_go, teardown),
        cmocka_unit_test_teardown(test_more_channels_than_fit, teardown),
        cmocka_unit_test_teardown(test_no_memory, teardown),
    };
    return cmocka_run_group_tests_name("hwmon", tests, NULL, NULL);
}
