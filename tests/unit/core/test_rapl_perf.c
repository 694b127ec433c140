/* RAPL by the PMU of perf: scales, machines, missing access, hot-plugged CPUs.
 * The events are simulated by files in memory, to which the test writes
 * counts. */
#include "base/absent.h"
#include "core/energy/accum.h"
#include "core/energy/rapl_perf.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/meter.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PMU "bus/event_source/devices/power/"

/* --- scales --------------------------------------------------------------- */

static const struct {
    const char *text;
    int shift; /* or -errno */
} scales[] = {
    {"2.3283064365386962890625e-10", 32}, /* as the kernel writes it */
    {"2.3283064365386962890625E-10", 32},
    {"0.00000000023283064365386962890625", 32},
    {"23283064365386962890625e-32", 32},
    {"0.023283064365386962890625e-8", 32},
    {"2.32830643653869628906250000e-10", 32},
    {"1", 0},
    {"1.0", 0},
    {"10e-1", 0},
    {"0.1e+1", 0},
    {".5", 1},
    {"0.25", 2},
    {"0.0000152587890625", 16},
    {"5.684341886080801486968994140625e-14", 44},
    {"2.8421709430404007434844970703125e-14", -EBADMSG}, /* 2^-45 */
    {"2.3283064365386962890624e-10", -EBADMSG},
    {"2.3283064365386962890626e-10", -EBADMSG},
    {"2.328306436538696e-10", -EBADMSG},
    {"6.103515625e-05", 14},
    {"1e-6", -EBADMSG},
    {"0.1", -EBADMSG},
    {"2", -EBADMSG},
    {"10", -EBADMSG},
    {"0", -EBADMSG},
    {"0.0", -EBADMSG},
    {"", -EBADMSG},
    {".", -EBADMSG},
    {"-0.5", -EBADMSG},
    {"0.5x", -EBADMSG},
    {"0..5", -EBADMSG},
    {"0.5e", -EBADMSG},
    {"0.5e-", -EBADMSG},
    {"0.5e-x", -EBADMSG},
    {"0.5e99999999999999999999", -EBADMSG},
    {"1e-64", -EBADMSG},
    {"0.0000000000000000000000000000000000000000000000000000000000000000000001"
     "e-64",
     -EBADMSG},
    {"1111111111111111111111111111111111111111111111111111111111111111111111",
     -EBADMSG},
    {"nan", -EBADMSG},
    {"inf", -EBADMSG},
};

static void test_scales(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(scales); i++) {
        unsigned shift = 99;
        int r = bj_rapl_scale(bj_slice_str(scales[i].text), &shift);
        if (r != (scales[i].shift < 0 ? scales[i].shift : 0))
            print_message("# %s\n", scales[i].text);
        assert_int_equal(r, scales[i].shift < 0 ? scales[i].shift : 0);
        assert_int_equal(shift, r < 0 ? 99 : scales[i].shift);
    }
}

/* Computed with rational numbers in another language. */
static const struct {
    uint64_t count;
    unsigned shift;
    uint64_t uj; /* absent: out of range */
} counts[] = {
    {0, 32, 0},
    {1, 32, 0},
    {4294, 32, 0},
    {4295, 32, 1},
    {4294967295, 32, 999999},
    {4294967296, 32, 1000000},
    {123456789012345678, 32, 28744523649184},
    {UINT64_MAX, 32, 4294967295999999},
    {UINT64_MAX, 44, 1048575999999},
    {17592186044415, 44, 999999},
    {7, 0, 7000000},
    {3, 1, 1500000},
    {18446744073709, 0, 18446744073709000000u},
    {18446744073710, 0, BJ_ABSENT},
    {UINT64_MAX, 4, BJ_ABSENT},
};

static void test_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(counts); i++) {
        uint64_t uj = 0;
        int r = bj_rapl_uj(counts[i].count, counts[i].shift, &uj);
        assert_int_equal(r, counts[i].uj == BJ_ABSENT ? -ERANGE : 0);
        if (r == 0)
            assert_int_equal(uj, counts[i].uj);
    }
}

/* --- simulated perf_event_open -------------------------------------------- */

struct fake_event {
    int fd; /* shares the file position with the meter's */
    int cpu;
    uint64_t config;
};

static struct {
    struct fake_event event[64];
    size_t n;
    int refuse; /* error of all calls, or of those with refuse_config */
    int refuse_cpu;
    uint64_t refuse_config; /* 0: all */
} fake;

static struct meter_rig rig;

static struct fake_event *event_of(int cpu, uint64_t config)
{
    for (size_t i = fake.n; i-- > 0;)
        if (fake.event[i].cpu == cpu && fake.event[i].config == config)
            return &fake.event[i];
    fail_msg("no event %d of CPU %d", (int)config, cpu);
    return NULL;
}

/* The next reading of an event gives this many bytes of the count. */
static void give(int cpu, uint64_t config, uint64_t count, size_t bytes)
{
    int fd = event_of(cpu, config)->fd;
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, &count, bytes, 0), bytes);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
}

static int fake_open(void *ctx, struct perf_event_attr *attr, int cpu)
{
    (void)ctx;
    assert_int_equal(attr->size, sizeof(*attr));
    assert_int_equal(attr->disabled, 0);
    if (fake.refuse &&
        (fake.refuse_config == 0 || fake.refuse_config == attr->config))
        return fake.refuse;
    if (fake.refuse_cpu == cpu)
        return -ENODEV;
    assert_true(fake.n < COUNT(fake.event));
    int fd = memfd_create("event", MFD_CLOEXEC);
    fake.event[fake.n++] = (struct fake_event){dup(fd), cpu, attr->config};
    give(cpu, attr->config, 0, 8);
    return fd;
}

static int open_fake(const struct bj_meter_env *env, void **ret,
                     struct bj_err *err)
{
    struct bj_perf_opener opener = {fake_open, NULL};
    return bj_perf_open(env, &opener, ret, err);
}

/* The meter with simulated events. */
static int open_meter(void)
{
    static struct bj_meter_kind kind;
    kind = bj_meter_perf;
    kind.open = open_fake;
    return meter_open(&rig, &kind);
}

static void start(const char *tree)
{
    memset(&fake, 0, sizeof(fake));
    fake.refuse_cpu = -1;
    meter_setup(&rig, tree);
}

static void drop_events(void)
{
    for (size_t i = 0; i < fake.n; i++)
        close(fake.event[i].fd);
    fake.n = 0;
}

static int teardown(void **state)
{
    (void)state;
    meter_cleanup(&rig);
    drop_events();
    return 0;
}

/* Counts of package and dram for both packages of xeon-2s-dram. */
static void give_all(uint64_t joules)
{
    give(0, 2, joules << 32, 8);
    give(0, 3, (joules + 1) << 32, 8);
    give(20, 2, (joules + 2) << 32, 8);
    give(20, 3, (joules + 3) << 32, 8);
}

/* --- machines ------------------------------------------------------------- */

static void test_two_sockets(void **state)
{
    (void)state;
    start("xeon-2s-dram");
    assert_true(bj_meter_perf.present(&rig.env));
    assert_int_equal(open_meter(), 0);
    assert_int_equal(fake.n, 4);
    give_all(0);
    give(0, 2, 4295, 8);
    meter_expect(&rig, 0,
                 "package-0 cpu e=1\npackage-0.dram dram e=1000000\n"
                 "package-1 cpu e=2000000\npackage-1.dram dram e=3000000\n");
    give_all(1000000000);
    meter_expect(&rig, 0,
                 "package-0 cpu e=1000000000000000\n"
                 "package-0.dram dram e=1000000001000000\n"
                 "package-1 cpu e=1000000002000000\n"
                 "package-1.dram dram e=1000000003000000\n");
}

static void test_dies(void **state)
{
    (void)state;
    start("xeon-multi-die");
    assert_int_equal(open_meter(), 0);
    assert_int_equal(fake.n, 8);
    for (int cpu = 0; cpu < 96; cpu += 24) {
        give(cpu, 2, (uint64_t)cpu << 32, 8);
        give(cpu, 3, (uint64_t)cpu << 31, 8);
    }
    meter_expect(&rig, 0,
                 "package-0-die-0 cpu e=0\npackage-0-die-0.dram dram e=0\n"
                 "package-0-die-1 cpu e=24000000\n"
                 "package-0-die-1.dram dram e=12000000\n"
                 "package-1-die-0 cpu e=48000000\n"
                 "package-1-die-0.dram dram e=24000000\n"
                 "package-1-die-1 cpu e=72000000\n"
                 "package-1-die-1.dram dram e=36000000\n");
}

/* A client with all five events. There is one psys for each package, and none
 * while its counter is 0. */
static void test_psys(void **state)
{
    (void)state;
    start("xeon-multi-die");
    meter_add_files(
        PMU "events/energy-psys event=0x05\n" PMU
            "events/energy-psys.scale 2.3283064365386962890625e-10\n" PMU
            "events/energy-cores event=0x01\n" PMU
            "events/energy-cores.scale 0.5\n" PMU
            "events/energy-gpu event=0x04\n" PMU "events/energy-gpu.scale 1\n");
    meter_write(PMU "cpumask", "0,24,48\n");
    assert_int_equal(open_meter(), 0);
    for (size_t i = 0; i < fake.n; i++)
        give(fake.event[i].cpu, fake.event[i].config, 2, 8);
    give(0, 5, UINT64_C(7) << 32, 8);
    give(48, 5, 0, 8);
    meter_expect(
        &rig, 0,
        "package-0-die-0 cpu e=0\npackage-0-die-0.dram dram e=0\n"
        "package-0-die-0.core part e=1000000\n"
        "package-0-die-0.uncore part e=2000000\npsys platform e=7000000\n"
        "package-0-die-1 cpu e=0\npackage-0-die-1.dram dram e=0\n"
        "package-0-die-1.core part e=1000000\n"
        "package-0-die-1.uncore part e=2000000\n"
        "package-1 cpu e=0\npackage-1.dram dram e=0\n"
        "package-1.core part e=1000000\n"
        "package-1.uncore part e=2000000\n");
}

/* --- contents of the files ------------------------------------------------ */

static const struct {
    const char *file, *text;
    int want;
} files[] = {
    {"type", NULL, -ENODEV},
    {"type", "x\n", -EBADMSG},
    {"type", "\n", -EBADMSG},
    {"type", "4294967296\n", -EBADMSG},
    {"type", "-1\n", -ERANGE},
    {"cpumask", NULL, -ENOENT},
    {"cpumask", "", -ENODEV},
    {"cpumask", "zero\n", -EBADMSG},
    {"cpumask", "0-99999999\n", -EBADMSG},
    {"cpumask", "7\n", -ENODEV}, /* that CPU does not exist */
    {"events/energy-pkg", NULL, -ENODEV},
    {"events/energy-pkg", "event=0x\n", -EBADMSG},
    {"events/energy-pkg", "event=0x0g\n", -EBADMSG},
    {"events/energy-pkg", "event=2\n", -EBADMSG},
    {"events/energy-pkg", "event=0x02,umask=0x01\n", -EBADMSG},
    {"events/energy-pkg", "\n", -EBADMSG},
    {"events/energy-pkg.scale", NULL, -EBADMSG},
    {"events/energy-pkg.scale", "1e-6\n", -EBADMSG},
    {"events/energy-ram.scale", "\n", -EBADMSG},
    {"events/energy-pkg.unit", "Watts\n", -EBADMSG},
    {"events/energy-pkg.unit", NULL, 0},
};

static void test_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        char path[128];
        start("xeon-2s-dram");
        snprintf(path, sizeof(path), PMU "%s", files[i].file);
        if (files[i].text)
            meter_write(path, files[i].text);
        else
            tmp_remove(path);
        int r = open_meter();
        if (r != files[i].want)
            print_message("# %s: %s\n", path, rig.err.msg);
        assert_int_equal(r, files[i].want);
        teardown(NULL);
    }
}

static void test_package_numbers(void **state)
{
    (void)state;
    start("xeon-2s-dram");
    meter_write("devices/system/cpu/cpu20/topology/physical_package_id",
                "-1\n");
    assert_int_equal(open_meter(), -ERANGE);
    meter_write("devices/system/cpu/cpu20/topology/physical_package_id",
                "99999\n");
    assert_int_equal(open_meter(), -EBADMSG);
    tmp_remove("devices/system/cpu/cpu20/topology/die_id");
    meter_write("devices/system/cpu/cpu20/topology/physical_package_id", "3\n");
    assert_int_equal(open_meter(), 0);
    assert_int_equal(meter_read(&rig), 0);
    assert_string_equal(rig.sample.zone[2].name, "package-3");
}

static void test_no_machine(void **state)
{
    (void)state;
    start(NULL);
    assert_false(bj_meter_perf.present(&rig.env));
    assert_int_equal(open_meter(), -ENODEV);
    rig.env.sysfs = "/nonexistent";
    assert_false(bj_meter_perf.present(&rig.env));
    assert_int_equal(open_meter(), -ENODEV);
}

/* --- missing access ------------------------------------------------------- */

static void test_denied(void **state)
{
    (void)state;
    static const int codes[] = {-EACCES, -EPERM};
    for (size_t i = 0; i < COUNT(codes); i++) {
        start("xeon-2s-dram");
        fake.refuse = codes[i];
        assert_int_equal(open_meter(), codes[i]);
        assert_non_null(strstr(rig.err.msg, "CAP_PERFMON"));
        assert_non_null(strstr(rig.err.msg, "perf_event_paranoid"));
        fake.refuse_config = 3;
        assert_int_equal(open_meter(), 0);
        give(0, 2, 0, 8);
        give(20, 2, 0, 8);
        meter_expect(&rig, codes[i], "package-0 cpu e=0\npackage-1 cpu e=0\n");
        teardown(NULL);
    }
}

/* An event that the hardware does not have is left out silently; an event that
 * cannot be opened for another reason is a fault. */
static void test_refused(void **state)
{
    (void)state;
    start("xeon-2s-dram");
    fake.refuse = -ENOENT;
    fake.refuse_config = 3;
    assert_int_equal(open_meter(), 0);
    give(0, 2, 0, 8);
    give(20, 2, 0, 8);
    meter_expect(&rig, 0, "package-0 cpu e=0\npackage-1 cpu e=0\n");
    fake.refuse = -EMFILE;
    assert_int_equal(open_meter(), 0);
    give(0, 2, 0, 8);
    give(20, 2, 0, 8);
    meter_expect(&rig, -EMFILE, "package-0 cpu e=0\npackage-1 cpu e=0\n");
    fake.refuse_config = 0;
    assert_int_equal(open_meter(), -EMFILE);
    fake.refuse = -ENODEV;
    assert_int_equal(open_meter(), -ENODEV);
}

/* The real system call, with a PMU type that no kernel has. */
static void test_real_system_call(void **state)
{
    (void)state;
    start("xeon-2s-dram");
    meter_write(PMU "type", "4000000000\n");
    meter_write(PMU "cpumask", "0\n");
    int r = meter_open(&rig, &bj_meter_perf);
    assert_true(r == -ENODEV || r == -EACCES || r == -EPERM || r == -ENOSYS);
}

/* --- hot-plugged CPUs ----------------------------------------------------- */

static void read_often(int want)
{
    for (int i = 0; i < 12; i++) {
        give_all(5);
        assert_int_equal(meter_read(&rig), want);
    }
}

/* The kernel moves an event to another CPU: it continues to count. */
static void test_migration(void **state)
{
    (void)state;
    start("xeon-2s-dram");
    meter_add_files("devices/system/cpu/cpu1/topology/physical_package_id 0\n");
    assert_int_equal(open_meter(), 0);
    meter_write(PMU "cpumask", "1,20\n");
    read_often(0);
    assert_int_equal(fake.n, 4);
    assert_int_equal(rig.sample.n, 4);
    assert_int_equal(rig.sample.zone[0].energy_uj, 5000000);
}

/* A package disappears and comes back. */
static void test_hotplug(void **state)
{
    (void)state;
    start("xeon-2s-dram");
    assert_int_equal(open_meter(), 0);
    meter_write(PMU "cpumask", "0\n");
    read_often(0);
    assert_int_equal(rig.sample.n, 2);
    meter_write(PMU "cpumask", "0,20\n");
    read_often(0);
    assert_int_equal(fake.n, 6);
    give_all(6);
    assert_int_equal(meter_read(&rig), 0);
    assert_int_equal(rig.sample.n, 4);
    assert_int_equal(rig.sample.zone[2].energy_uj, 8000000);
}

/* An event that has ended returns no bytes and is opened again. */
static void test_events_end(void **state)
{
    (void)state;
    start("xeon-2s-dram");
    assert_int_equal(open_meter(), 0);
    give_all(5);
    give(20, 2, 0, 0);
    assert_int_equal(meter_read(&rig), 0);
    assert_int_equal(rig.sample.n, 3);
    fake.refuse_cpu = 20;
    give_all(5);
    assert_int_equal(meter_read(&rig), 0);
    assert_int_equal(rig.sample.n, 3);
    fake.refuse_cpu = -1;
    give_all(5);
    read_often(0);
    assert_int_equal(fake.n, 5);
    give_all(9);
    assert_int_equal(meter_read(&rig), 0);
    assert_int_equal(rig.sample.n, 4);
    for (size_t i = 0; i < 4; i++)
        give(i < 2 ? 0 : 20, 2 + i % 2, 0, 0);
    meter_expect(&rig, -ENODEV, "");
    meter_write(PMU "cpumask", "zero\n");
    assert_int_equal(meter_read(&rig), -EBADMSG);
}

/* Counts begin at 0 when an event is opened: after a restart of the program, or
 * of an event, they are no fall of the counter, however soon they are above
 * their last value. */
static void test_begins_again(void **state)
{
    static const uint64_t joules[][3] = {{0, 100, 250}, {0, 400, 900}};
    struct bj_accum a = {0};
    uint64_t now = 0;
    (void)state;
    start("xeon-2s-dram");
    for (size_t run = 0; run < 2; run++) {
        drop_events();
        assert_int_equal(open_meter(), 0);
        for (size_t k = 0; k < 3; k++) {
            give_all(joules[run][k]);
            assert_int_equal(meter_read(&rig), 0);
            assert_int_equal(rig.sample.zone[0].restarted, k == 0);
            bj_accum_take(&a, &rig.sample.zone[0], now += 5000000, 5000000);
        }
    }
    assert_int_equal(a.total_uj, (250 + 900) * UINT64_C(1000000));
    assert_int_equal(a.resets, 1);
    assert_int_equal(a.implausible, 0);
}

/* False readings of one zone add nothing and hide nothing. */
static void test_false_counts(void **state)
{
    static const uint64_t joules[] = {1000, 1100, 0, 1300, 9000000, 1500, 1600};
    struct bj_accum a = {0};
    (void)state;
    start("xeon-2s-dram");
    assert_int_equal(open_meter(), 0);
    for (size_t k = 0; k < COUNT(joules); k++) {
        give_all(joules[k]);
        assert_int_equal(meter_read(&rig), 0);
        bj_accum_take(&a, &rig.sample.zone[0], (k + 1) * UINT64_C(5000000),
                      5000000);
        assert_true(a.total_uj <= 600 * UINT64_C(1000000));
    }
    assert_int_equal(a.total_uj, 600 * UINT64_C(1000000));
    assert_int_equal(a.implausible, 2);
    assert_int_equal(a.resets, 0);
}

/* A reading that is only half a count is a fault. */
static void test_bad_counts(void **state)
{
    (void)state;
    start("xeon-2s-dram");
    assert_int_equal(open_meter(), 0);
    give_all(5);
    give(0, 3, 1, 4);
    assert_int_equal(meter_read(&rig), -EIO);
    assert_int_equal(rig.sample.n, 3);
    assert_string_equal(rig.err.msg, "read the perf event of package-0.dram");
}

static int open_and_close(void *arg)
{
    (void)arg;
    int r = open_meter();
    drop_events();
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    start("xeon-2s-dram");
    if (!bj_fail_works())
        skip();
    bj_fail_each(open_and_close, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_counts),
        cmocka_unit_test_teardown(test_two_sockets, teardown),
        cmocka_unit_test_teardown(test_dies, teardown),
        cmocka_unit_test_teardown(test_psys, teardown),
        cmocka_unit_test(test_files),
        cmocka_unit_test_teardown(test_package_numbers, teardown),
        cmocka_unit_test_teardown(test_no_machine, teardown),
        cmocka_unit_test(test_denied),
        cmocka_unit_test_teardown(test_refused, teardown),
        cmocka_unit_test_teardown(test_real_system_call, teardown),
        cmocka_unit_test_teardown(test_migration, teardown),
        cmocka_unit_test_teardown(test_hotplug, teardown),
        cmocka_unit_test_teardown(test_events_end, teardown),
        cmocka_unit_test_teardown(test_begins_again, teardown),
        cmocka_unit_test_teardown(test_false_counts, teardown),
        cmocka_unit_test_teardown(test_bad_counts, teardown),
        cmocka_unit_test_teardown(test_no_memory, teardown),
    };
    return cmocka_run_group_tests_name("rapl_perf", tests, NULL, NULL);
}
