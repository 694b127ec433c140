/* Which meter is preferred, and how much energy is missed when the preferred
 * meter changes. */
#include "core/energy/meters.h"

#include "base/clock.h"
#include "core/conf.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/meter.h"
#include "tests/unit/lib/testclock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MSEC 1000u
#define PERIOD (100 * MSEC)
#define JOULE UINT64_C(1000000)
#define CRAY "cray/pm_counters/"
#define RAPL "class/powercap/intel-rapl/intel-rapl:0/"

#define PSYS "class/powercap/intel-rapl/intel-rapl:1/"

static struct meter_rig rig;
static char logged[1024];
static struct bj_meters *meters;

static int no_thread(void *ctx, pthread_t *ret, void *(*fn)(void *), void *arg,
                     const char *name)
{
    (void)ctx;
    (void)ret;
    (void)fn;
    (void)arg;
    (void)name;
    return -EAGAIN;
}

static void no_log(void *ctx, enum bj_log_level level, const char *msg)
{
    (void)ctx;
    (void)level;
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof(logged) - n, "%s", msg);
}

/* A machine with two meters of its processors; cray is preferred to rapl. */
static int setup(void **state)
{
    static char root[256];
    static char cray[] = "cray", rapl[] = "rapl", *names[] = {cray, rapl};
    static struct bj_conf conf;
    const struct bj_host host = {NULL, no_thread, no_log, false};
    struct bj_err err = {0};
    (void)state;
    testclock_stop();
    meter_setup(&rig, NULL);
    meter_add_files(
        CRAY "version 1\n" CRAY "cpu_energy 0 J\n" RAPL "name package-0\n" RAPL
             "enabled 1\n" RAPL "max_energy_range_uj 262143328850\n" RAPL
             "energy_uj 0\n" PSYS "name psys\n" PSYS "energy_uj 0\n");
    *logged = '\0';
    snprintf(root, sizeof(root), "%s", rig.env.sysfs);
    conf = (struct bj_conf){
        .sysfs = root,
        .energy = {.meters = {.v = names, .n = 2}, .period_usec = PERIOD}};
    assert_int_equal(bj_meters_new(&conf, &host, &meters, &err), 0);
    assert_true(bj_meters_search(meters, bj_clock_boot_usec()));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bj_meters_free(meters);
    meter_cleanup(&rig);
    testclock_run();
    return 0;
}

static void set_cray(unsigned joules)
{
    char text[32];
    snprintf(text, sizeof(text), "%u J\n", joules);
    meter_write(CRAY "cpu_energy", text);
}

static void set_rapl(unsigned joules)
{
    char text[32];
    snprintf(text, sizeof(text), "%u000000\n", joules);
    meter_write(RAPL "energy_uj", text);
}

/* The next sample comes from this meter ("": from none), and the total is then
 * so many joules. */
static void reads(const char *source, unsigned joules)
{
    struct bj_totals t;
    testclock_advance(10);
    bj_meters_read(meters, 0, bj_clock_boot_usec(), false, BJ_ABSENT, &t);
    const struct bj_role_total *cpu = &t.role[BJ_ZONE_CPU];
    assert_int_equal(cpu->uj, joules * JOULE);
    assert_string_equal(cpu->source ? cpu->source : "", source);
}

/* Wait until older values are no longer fresh. */
static void let_values_expire(void)
{
    testclock_advance(4 * PERIOD);
}

/* A failed meter counts on; energy that another meter reported meanwhile is not
 * counted twice when it returns. */
static void test_returns(void **state)
{
    (void)state;
    reads("cray", 0);
    set_cray(10);
    set_rapl(10);
    reads("cray", 10);
    meter_write(CRAY "cpu_energy", "rubbish\n");
    let_values_expire();
    set_rapl(25);
    reads("rapl", 25);
    set_cray(32);
    set_rapl(32);
    reads("rapl", 32);
    set_cray(40);
    set_rapl(41);
    reads("cray", 40);
}

/* The first meter that returns after both failed: the energy between is
 * unknown. */
static void test_return_after_both_failed(void **state)
{
    (void)state;
    reads("cray", 0);
    meter_write(CRAY "cpu_energy", "rubbish\n");
    let_values_expire();
    set_rapl(25);
    reads("rapl", 25);
    meter_write(RAPL "energy_uj", "rubbish\n");
    let_values_expire();
    reads("", 25);
    set_cray(60);
    reads("", 25);
    set_cray(62);
    reads("cray", 27);
}

/* If no other meter was read meanwhile, its counter has all energy. */
static void test_return_without_another_meter(void **state)
{
    (void)state;
    meter_write(RAPL "energy_uj", "rubbish\n");
    reads("cray", 0);
    meter_write(CRAY "cpu_energy", "rubbish\n");
    let_values_expire();
    reads("", 0);
    set_cray(60);
    reads("cray", 60);
}

/* Read after a second in which the processors used so many joules, and the
 * platform.  Returns the name of the meter of the node, or "". */
static const char *node_reads(unsigned cpu, unsigned platform)
{
    static unsigned cpu_sum, platform_sum;
    char text[32];
    struct bj_totals t;
    cpu_sum += cpu;
    platform_sum += platform;
    set_cray(cpu_sum);
    snprintf(text, sizeof(text), "%u000000\n", platform_sum);
    meter_write(PSYS "energy_uj", text);
    testclock_advance(1000 * MSEC);
    bj_meters_read(meters, 0, bj_clock_boot_usec(), false, BJ_ABSENT, &t);
    const struct bj_role_total *node = &t.role[BJ_ZONE_NODE];
    return node->source ? node->source : "";
}

/* A platform that measures less than the processors is not the node's power:
 * said once, until it measures as much as they again. */
static void test_low_platform(void **state)
{
    (void)state;
    node_reads(0, 1);
    for (int i = 0; i < 20; i++)
        assert_string_equal(node_reads(100, 90), "rapl");
    assert_null(strstr(logged, "below"));
    for (int i = 0; i < 400; i++)
        node_reads(100, 20);
    for (int i = 0; i < 100; i++)
        assert_string_equal(node_reads(100, 20), "");
    const char *at = strstr(logged, "below that of the parts");
    assert_non_null(at);
    for (int i = 0; i < 2000; i++)
        node_reads(100, 200);
    assert_string_equal(node_reads(100, 200), "rapl");
    for (int i = 0; i < 2000; i++)
        node_reads(100, 20);
    assert_string_equal(node_reads(100, 20), "");
    assert_null(strstr(at + 1, "below that of the parts"));
}

/* From the second sample on. */
static void test_low_at_once(void **state)
{
    (void)state;
    node_reads(0, 1);
    assert_string_equal(node_reads(100, 89), "rapl");
    node_reads(100, 89);
    assert_string_equal(node_reads(100, 89), "");
}

/* Counters in files: the rest of the tree, and what follows the number. */
static const struct {
    const char *meter, *files, *path, *text;
    enum bj_zone_role role;
} counters[] = {
    {"cray", CRAY "version 1\n", CRAY "energy", " J\n", BJ_ZONE_NODE},
    {"cray", CRAY "version 1\n", CRAY "cpu_energy", " J\n", BJ_ZONE_CPU},
    {"cray", CRAY "version 1\n", CRAY "memory_energy", " J\n", BJ_ZONE_DRAM},
    {"rapl",
     RAPL "name package-0\n" RAPL "enabled 1\n" RAPL
          "max_energy_range_uj 262143328850\n",
     RAPL "energy_uj", "000000\n", BJ_ZONE_CPU},
    {"rapl",
     RAPL "name package-0\n" RAPL "enabled 1\n" RAPL
          "max_energy_range_uj 262143328850\n" RAPL "energy_uj 0\n" RAPL
          "intel-rapl:0:0/name dram\n" RAPL
          "intel-rapl:0:0/max_energy_range_uj 65712999613\n",
     RAPL "intel-rapl:0:0/energy_uj", "000000\n", BJ_ZONE_DRAM},
};

/* One reading that is 0 and one that is too high, as counters show in the
 * field, add nothing, and hide nothing: after the next one the total is that of
 * the right ones. */
static void test_false_readings(void **state)
{
    enum { STEP_SEC = 10, STEP_JOULES = 1000, HIGH = 9000000, FIRST = 5000 };
    static const struct bj_host host = {NULL, no_thread, no_log, false};
    static const int wrong[] = {-1, -1, 0, -1, -1, HIGH, -1, 0, -1, HIGH, -1};
    (void)state;
    testclock_stop();
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        char root[256], name[16], *names[] = {name}, text[160];
        struct bj_err err = {0};
        struct bj_totals t;
        uint64_t want = 0;
        meter_setup(&rig, NULL);
        meter_add_files(counters[i].files);
        snprintf(text, sizeof(text), "%s %d%s", counters[i].path, FIRST,
                 counters[i].text);
        meter_add_files(text);
        snprintf(root, sizeof(root), "%s", rig.env.sysfs);
        snprintf(name, sizeof(name), "%s", counters[i].meter);
        const struct bj_conf conf = {
            .sysfs = root,
            .energy = {.meters = {.v = names, .n = 1},
                       .period_usec = STEP_SEC * 1000 * MSEC}};
        assert_int_equal(bj_meters_new(&conf, &host, &meters, &err), 0);
        if (!bj_meters_search(meters, bj_clock_boot_usec()))
            fail_msg("%s: no meter", counters[i].path);
        for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
            const unsigned right = FIRST + (unsigned)k * STEP_JOULES;
            snprintf(text, sizeof(text), "%u%s",
                     wrong[k] < 0 ? right : (unsigned)wrong[k],
                     counters[i].text);
            meter_write(counters[i].path, text);
            bj_meters_read(meters, 0, bj_clock_boot_usec(), false, BJ_ABSENT,
                           &t);
            if (wrong[k] < 0)
                want = right - FIRST;
            /* What follows is not attributed before it is decided. */
            if (wrong[k] <= 0) /* RAPL's are above its range */
                assert_int_equal(t.role[counters[i].role].held, wrong[k] == 0);
            if (t.role[counters[i].role].uj != want * JOULE)
                fail_msg("%s, reading %zu: %llu, want %llu J", counters[i].path,
                         k, (unsigned long long)t.role[counters[i].role].uj,
                         (unsigned long long)want);
            testclock_advance(STEP_SEC * 1000 * MSEC);
        }
        bj_meters_free(meters);
        meters = NULL;
        meter_cleanup(&rig);
    }
    testclock_run();
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_false_readings),
                                       T(test_returns),
                                       T(test_return_after_both_failed),
                                       T(test_return_without_another_meter),
                                       T(test_low_platform),
                                       T(test_low_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
