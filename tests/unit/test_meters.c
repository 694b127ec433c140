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

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_returns), T(test_return_after_both_failed),
        T(test_return_without_another_meter), T(test_low_platform),
        T(test_low_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
