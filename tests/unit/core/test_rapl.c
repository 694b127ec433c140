/* RAPL by powercap: different machines, files without access, faults, and
 * hot-plugged CPUs. */
#include "base/absent.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/meter.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ROOT "devices/virtual/powercap/intel-rapl/"

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
    /* The mmio driver reports the same package, which is shown once; psys is a
     * zone of its own; a zone that is not enabled has no limit. */
    {"client-psys-mmio",
     "package-0 cpu e=48123456789 r=262143328850 l=28000000 m=121000000\n"
     "package-0.core part e=20011111111 r=262143328850\n"
     "package-0.uncore part e=1500000001 r=262143328850\n"
     "psys platform e=99000000007 r=262143328850 l=65000000 m=4000000000\n"},
    {"xeon-2s-dram",
     "package-0 cpu e=150000000000 r=262143328850 l=150000000 m=526000000\n"
     "package-0.dram dram e=21428571428 r=65532610987 m=41250000\n"
     "package-1 cpu e=262143328850 r=262143328850 l=150000000 m=526000000\n"
     "package-1.dram dram e=37449046978 r=65532610987 m=41250000\n"},
    {"xeon-multi-die",
     "package-0-die-0 cpu e=1000000000 r=262143328850 l=200000000 m=240000000\n"
     "package-0-die-0.dram dram e=100000000 r=65532610987 m=38000000\n"
     "package-0-die-1 cpu e=2000000000 r=262143328850 l=200000000 m=240000000\n"
     "package-0-die-1.dram dram e=200000000 r=65532610987 m=38000000\n"
     "package-1-die-0 cpu e=3000000000 r=262143328850 l=200000000 m=240000000\n"
     "package-1-die-0.dram dram e=300000000 r=65532610987 m=38000000\n"
     "package-1-die-1 cpu e=4000000000 r=262143328850 l=200000000 m=240000000\n"
     "package-1-die-1.dram dram e=400000000 r=65532610987 m=38000000\n"},
    {"amd-epyc-2s", "package-0 cpu e=65532610987 r=65532610987\n"
                    "package-0.core part e=21844203662 r=65532610987\n"
                    "package-1 cpu e=12 r=65532610987\n"
                    "package-1.core part e=4 r=65532610987\n"},
};

static void test_machines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(machines); i++) {
        meter_setup(&rig, machines[i].tree);
        assert_true(bj_meter_rapl.present(&rig.env));
        assert_int_equal(meter_open(&rig, &bj_meter_rapl), 0);
        meter_expect(&rig, 0, machines[i].want);
        meter_cleanup(&rig);
    }
}

/* Zones 0 to b are in the order of their hexadecimal numbers. Two of the four
 * psys counters stay at 0 and are left out. */
static void test_hexadecimal_numbers(void **state)
{
    (void)state;
    char name[32];
    size_t at = 0, k = 0;
    meter_setup(&rig, "xeon-4s-hex");
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), 0);
    assert_int_equal(meter_read(&rig), 0);
    for (unsigned s = 0; s < 4; s++) {
        for (unsigned d = 0; d < 2; d++, k++) {
            snprintf(name, sizeof(name), "package-%u-die-%u", s, d);
            assert_string_equal(rig.sample.zone[at].name, name);
            assert_int_equal(rig.sample.zone[at].energy_uj, 7000000000 + k);
            assert_int_equal(rig.sample.zone[at++].role, BJ_ZONE_CPU);
            snprintf(name, sizeof(name), "package-%u-die-%u.dram", s, d);
            assert_string_equal(rig.sample.zone[at].name, name);
            assert_int_equal(rig.sample.zone[at].energy_uj, 900000000 + k);
            assert_int_equal(rig.sample.zone[at++].role, BJ_ZONE_DRAM);
        }
        k++; /* psys */
        if (s > 1)
            continue;
        assert_string_equal(rig.sample.zone[at].name, s ? "psys-1" : "psys");
        assert_int_equal(rig.sample.zone[at++].role, BJ_ZONE_PLATFORM);
    }
    assert_int_equal(rig.sample.n, at);
}

/* Two psys zones of the same name, a package that two drivers report, a package
 * that only mmio reports, and directories that are not zones. */
static void test_odd_machines(void **state)
{
    (void)state;
    static const char mmio[] = "devices/virtual/powercap/intel-rapl-mmio/";
    char lines[256];
    meter_setup(&rig, "client-psys-mmio");
    meter_add_files(ROOT "intel-rapl:2/name psys\n" ROOT
                         "intel-rapl:2/energy_uj 5\n");
    meter_add_files(ROOT "intel-rapl:3/name package-0\n" ROOT
                         "intel-rapl:3/energy_uj 7\n" ROOT
                         "intel-rapl:3/intel-rapl:3:0/name dram\n" ROOT
                         "intel-rapl:3/intel-rapl:3:0/energy_uj 8\n");
    meter_add_files(ROOT "intel-rapl:02/name no-zone\n" ROOT
                         "intel-rapl:G/name no-zone\n");
    snprintf(lines, sizeof(lines),
             "%sintel-rapl-mmio:1/name package-1\n"
             "%sintel-rapl-mmio:1/energy_uj 6\n",
             mmio, mmio);
    meter_add_files(lines);
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), 0);
    meter_expect(
        &rig, 0,
        "package-0 cpu e=48123456789 r=262143328850 l=28000000 m=121000000\n"
        "package-0.core part e=20011111111 r=262143328850\n"
        "package-0.uncore part e=1500000001 r=262143328850\n"
        "psys platform e=99000000007 r=262143328850 l=65000000 m=4000000000\n"
        "psys.2 platform e=5 m=4000000000\n"
        "package-0.3 part e=7\n"
        "package-0.3.dram part e=8\n"
        "package-1 cpu e=6\n");
}

static void test_no_machine(void **state)
{
    (void)state;
    meter_setup(&rig, NULL);
    assert_false(bj_meter_rapl.present(&rig.env));
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), -ENODEV);
    tmp_dir("class/powercap/intel-rapl/power");
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), -ENODEV);
    rig.env.sysfs = "/nonexistent";
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), -ENODEV);
}

/* --- readings ------------------------------------------------------------- */

/* The counter is returned as it is, also after a wrap. */
static void test_counters_move(void **state)
{
    (void)state;
    static const uint64_t steps[] = {0, 1, 65532610987, 3, 700};
    char text[32];
    meter_setup(&rig, "amd-epyc-2s");
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), 0);
    for (size_t i = 0; i < COUNT(steps); i++) {
        snprintf(text, sizeof(text), "%llu\n", (unsigned long long)steps[i]);
        meter_write(ROOT "intel-rapl:0/energy_uj", text);
        assert_int_equal(meter_read(&rig), 0);
        assert_int_equal(rig.sample.n, 4);
        assert_int_equal(rig.sample.zone[0].energy_uj, steps[i]);
    }
}

/* A power limit that an administrator changes is read some readings later. */
static void test_power_limit_changes(void **state)
{
    (void)state;
    meter_setup(&rig, "xeon-2s-dram");
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), 0);
    meter_write(ROOT "intel-rapl:0/constraint_0_power_limit_uw", "90000000\n");
    meter_write(ROOT "intel-rapl:1/enabled", "0\n");
    for (int i = 0; i < 12; i++)
        assert_int_equal(meter_read(&rig), 0);
    assert_int_equal(rig.sample.zone[0].limit_uw, 90000000);
    assert_true(rig.sample.zone[2].limit_uw == BJ_ABSENT);
}

/* Contents of energy_uj of one zone. If they are invalid, only this zone is
 * left out. */
static const struct {
    const char *text;
    int want;
} contents[] = {
    {"42\n", 0},
    {"42", 0},
    {"  42  \n", 0},
    {"", -EBADMSG},
    {"\n", -EBADMSG},
    {"-", -EBADMSG},
    {"-42\n", -ERANGE},
    {"-99999999999999999999\n", -ERANGE},
    {"65532610988\n", -ERANGE}, /* one above the range */
    {"18446744073709551615\n", -ERANGE},
    {"18446744073709551616\n", -ERANGE},
    {"0x42\n", -EBADMSG},
    {"4.2\n", -EBADMSG},
    {"42 43\n", -EBADMSG},
    {"<unsupported>\n", -EBADMSG},
    {"00000000000000000000000000000000000000000000000000000000000000000000000"
     "00000000000000000000000000000000000000000000000000000000000000000000000"
     "\n",
     -EBADMSG},
};

static void test_contents(void **state)
{
    (void)state;
    meter_setup(&rig, "amd-epyc-2s");
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), 0);
    for (size_t i = 0; i < COUNT(contents); i++) {
        meter_write(ROOT "intel-rapl:0/energy_uj", contents[i].text);
        assert_int_equal(meter_read(&rig), contents[i].want);
        bool good = contents[i].want == 0;
        assert_int_equal(rig.sample.n, good ? 4 : 3);
        if (good)
            assert_int_equal(rig.sample.zone[0].energy_uj, 42);
        else
            assert_non_null(strstr(rig.err.msg, "intel-rapl:0: energy_uj"));
    }
}

/* A zone whose file cannot be read is left out until it can be read again. */
static void test_refused(void **state)
{
    (void)state;
    meter_setup(&rig, "amd-epyc-2s");
    tmp_remove(ROOT "intel-rapl:0/energy_uj");
    tmp_dir(ROOT "intel-rapl:0/energy_uj");
    tmp_remove(ROOT "intel-rapl:1/energy_uj");
    meter_add_files(ROOT "intel-rapl:1/energy_uj -> /proc/self/mem\n");
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), 0);
    meter_expect(&rig, -EISDIR,
                 "package-0.core part e=21844203662 r=65532610987\n"
                 "package-1.core part e=4 r=65532610987\n");
    assert_string_equal(rig.err.msg, "intel-rapl:0: read energy_uj");
    tmp_remove(ROOT "intel-rapl:0/energy_uj");
    meter_write(ROOT "intel-rapl:0/energy_uj", "7\n");
    for (int i = 0; i < 12; i++)
        assert_int_equal(meter_read(&rig) == 0, false);
    assert_int_equal(rig.sample.n, 3);
    /* A read of /proc/self/mem at offset 0 fails with EIO. */
    assert_int_equal(rig.err.code, -EIO);
}

/* A pipe in place of the file does not block. */
static void test_pipe(void **state)
{
    (void)state;
    char path[128];
    meter_setup(&rig, "amd-epyc-2s");
    tmp_remove(ROOT "intel-rapl:0/energy_uj");
    snprintf(path, sizeof(path), "%s/" ROOT "intel-rapl:0/energy_uj",
             rig.env.sysfs);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), 0);
    assert_int_equal(meter_read(&rig), -ESPIPE);
    assert_int_equal(rig.sample.n, 3);
}

/* --- files without access ------------------------------------------------- */

/* A user who may not read the files of root: the message contains the file and
 * the missing capability. */
static void test_denied(void **state)
{
    (void)state;
    static const char *const files[] = {ROOT "intel-rapl:0/energy_uj",
                                        ROOT "intel-rapl:0/intel-rapl:0:0"
                                             "/energy_uj",
                                        ROOT "intel-rapl:1/energy_uj",
                                        ROOT "intel-rapl:1/intel-rapl:1:0"
                                             "/energy_uj"};
    char path[256];
    meter_setup(&rig, "amd-epyc-2s");
    chmod(rig.env.sysfs, 0755);
    for (size_t i = 0; i < COUNT(files); i++) {
        snprintf(path, sizeof(path), "%s/%s", rig.env.sysfs, files[i]);
        assert_int_equal(chmod(path, geteuid() == 0 ? 0400 : 0), 0);
    }
    bool root = geteuid() == 0;
    if (root)
        assert_int_equal(seteuid(65534), 0);
    int all = meter_open(&rig, &bj_meter_rapl);
    char message[240];
    snprintf(message, sizeof(message), "%s", rig.err.msg);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(path, 0444), 0);
    if (root)
        assert_int_equal(seteuid(65534), 0);
    int one = meter_open(&rig, &bj_meter_rapl);
    int partly = one == 0 ? meter_read(&rig) : 0;
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(all, -EACCES);
    assert_non_null(strstr(message, "intel-rapl:0/energy_uj"));
    assert_non_null(strstr(message, "CAP_DAC_READ_SEARCH"));
    assert_int_equal(one, 0);
    assert_int_equal(partly, -EACCES);
    assert_string_equal(meter_text(&rig),
                        "package-1.core part e=4 r=65532610987\n");
}

/* --- hot-plugged CPUs ----------------------------------------------------- */

static const char zone_1[] =
    ROOT "intel-rapl:1/name package-1\n" ROOT "intel-rapl:1/energy_uj 100\n";
static const char zone_1_0[] =
    ROOT "intel-rapl:1/intel-rapl:1:0/name core\n" ROOT
         "intel-rapl:1/intel-rapl:1:0/energy_uj 7\n";
static const char package_0[] =
    "package-0 cpu e=65532610987 r=65532610987\n"
    "package-0.core part e=21844203662 r=65532610987\n";

static void package_0_and(const char *rest)
{
    char want[512];
    snprintf(want, sizeof(want), "%s%s", package_0, rest);
    meter_expect(&rig, 0, want);
}

/* A package disappears and comes back, its subzone a little later. */
static void test_hotplug(void **state)
{
    (void)state;
    meter_setup(&rig, "amd-epyc-2s");
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), 0);
    assert_int_equal(meter_read(&rig), 0);
    assert_int_equal(rig.sample.n, 4);
    tmp_remove(ROOT "intel-rapl:1");
    package_0_and("");
    package_0_and("");
    meter_add_files(zone_1);
    package_0_and("package-1 cpu e=100\n");
    meter_add_files(zone_1_0);
    package_0_and("package-1 cpu e=100\npackage-1.core part e=7\n");
    tmp_remove(ROOT "intel-rapl:0");
    tmp_remove(ROOT "intel-rapl:1");
    meter_expect(&rig, -ENODEV, "");
    meter_add_files(zone_1);
    meter_expect(&rig, 0, "package-1 cpu e=100\n");
    tmp_remove("devices");
    meter_expect(&rig, -ENODEV, "");
}

/* The file of a zone disappears while it is open. A file in /proc of a process
 * that ends simulates that. */
static void test_file_disappears_while_open(void **state)
{
    (void)state;
    char line[128];
    meter_setup(&rig, "amd-epyc-2s");
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    tmp_remove(ROOT "intel-rapl:1");
    snprintf(line, sizeof(line),
             ROOT "intel-rapl:1/energy_uj -> /proc/%d/oom_score\n", (int)child);
    meter_add_files(ROOT "intel-rapl:1/name package-1\n");
    meter_add_files(line);
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), 0);
    assert_int_equal(meter_read(&rig), 0);
    assert_int_equal(rig.sample.n, 3);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    package_0_and("");
    package_0_and("");
    tmp_remove(ROOT "intel-rapl:1/energy_uj");
    meter_write(ROOT "intel-rapl:1/energy_uj", "100\n");
    package_0_and("package-1 cpu e=100\n");
}

/* --- limits --------------------------------------------------------------- */

static void test_more_zones_than_fit(void **state)
{
    (void)state;
    char lines[256];
    meter_setup(&rig, "amd-epyc-2s");
    for (unsigned i = 2; i < 80; i++) {
        snprintf(lines, sizeof(lines),
                 ROOT "intel-rapl:%x/name package-%u\n" ROOT
                      "intel-rapl:%x/energy_uj 1\n",
                 i, i, i);
        meter_add_files(lines);
    }
    assert_int_equal(meter_open(&rig, &bj_meter_rapl), 0);
    assert_int_equal(meter_read(&rig), 0);
    assert_int_equal(rig.sample.n, BJ_ZONES_MAX);
}

static int open_and_close(void *arg)
{
    (void)arg;
    return meter_open(&rig, &bj_meter_rapl);
}

static void test_no_memory(void **state)
{
    (void)state;
    meter_setup(&rig, "amd-epyc-2s");
    if (!bj_fail_works())
        skip();
    bj_fail_each(open_and_close, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machines),
        cmocka_unit_test_teardown(test_hexadecimal_numbers, teardown),
        cmocka_unit_test_teardown(test_odd_machines, teardown),
        cmocka_unit_test_teardown(test_no_machine, teardown),
        cmocka_unit_test_teardown(test_counters_move, teardown),
        cmocka_unit_test_teardown(test_power_limit_changes, teardown),
        cmocka_unit_test_teardown(test_contents, teardown),
        cmocka_unit_test_teardown(test_refused, teardown),
        cmocka_unit_test_teardown(test_pipe, teardown),
        cmocka_unit_test_teardown(test_denied, teardown),
        cmocka_unit_test_teardown(test_hotplug, teardown),
        cmocka_unit_test_teardown(test_file_disappears_while_open, teardown),
        cmocka_unit_test_teardown(test_more_zones_than_fit, teardown),
        cmocka_unit_test_teardown(test_no_memory, teardown),
    };
    return cmocka_run_group_tests_name("rapl", tests, NULL, NULL);
}
