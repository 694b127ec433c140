/* The meter of Cray's pm_counters: values of one refresh, restarts, power caps,
 * invalid files. */
#include "base/absent.h"
#include "core/energy/cray.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DIR "cray/pm_counters/"

static struct meter_rig rig;

static int teardown(void **state)
{
    (void)state;
    meter_cleanup(&rig);
    return 0;
}

static void start(void)
{
    meter_setup(&rig, "cray-ex");
    assert_true(bj_meter_cray.present(&rig.env));
    assert_int_equal(meter_open(&rig, &bj_meter_cray), 0);
}

/* Read at the given second, and call a function in the middle of the
 * reading. */
static int read_at(double second, void (*between)(void *), void *ctx)
{
    struct bj_cray_now now = {(uint64_t)(second * 1e6), between, ctx};
    memset(&rig.sample, 0, sizeof(rig.sample));
    rig.err = (struct bj_err){0};
    int r = bj_cray_read(rig.meter, &now, &rig.sample, &rig.err);
    assert_int_equal(rig.err.code, r);
    return r;
}

static uint64_t stamp_at(double second)
{
    assert_int_equal(read_at(second, NULL, NULL), 0);
    for (size_t i = 1; i < rig.sample.n; i++)
        assert_true(rig.sample.zone[i].stamp_usec ==
                    rig.sample.zone[0].stamp_usec);
    return rig.sample.zone[0].stamp_usec;
}

/* --- machines ------------------------------------------------------------- */

static void test_machine(void **state)
{
    (void)state;
    start();
    meter_expect(&rig, 0,
                 "node node e=723456789000000 p=862000000\n"
                 "cpu cpu e=90000001000000 p=141000000\n"
                 "memory dram e=21000002000000 p=39000000\n"
                 "accel0 gpu e=80000000000000 p=100000000 l=560000000\n"
                 "accel1 gpu e=80000001000000 p=101000000\n"
                 "accel2 gpu e=80000002000000 p=102000000\n"
                 "accel3 gpu e=80000003000000 p=103000000\n");
}

/* Other machines have fewer files; without freshness the time is unknown. */
static void test_few_files(void **state)
{
    (void)state;
    meter_setup(&rig, NULL);
    assert_false(bj_meter_cray.present(&rig.env));
    assert_int_equal(meter_open(&rig, &bj_meter_cray), -ENODEV);
    meter_add_files(DIR "version 1\n");
    assert_int_equal(meter_open(&rig, &bj_meter_cray), -ENODEV);
    meter_add_files(DIR "power 300 W\n" DIR "power_cap 0 W\n");
    assert_int_equal(meter_open(&rig, &bj_meter_cray), 0);
    meter_expect(&rig, 0, "node node p=300000000\n");
    assert_true(rig.sample.zone[0].stamp_usec == BJ_ABSENT);
    meter_add_files(DIR
                    "accel10_power 7 W 1 us\n" DIR "accel9_power 6 W 1 us\n" DIR
                    "accel_power 5 W 1 us\n" DIR "accel0x_power 4 W 1 us\n");
    assert_int_equal(meter_open(&rig, &bj_meter_cray), 0);
    meter_expect(&rig, 0,
                 "node node p=300000000\naccel9 gpu p=6000000\n"
                 "accel10 gpu p=7000000\n");
}

static void test_directory_removed(void **state)
{
    (void)state;
    start();
    assert_int_equal(read_at(1, NULL, NULL), 0);
    meter_write(DIR "startup", "1\n");
    assert_int_equal(read_at(2, NULL, NULL), 0);
    tmp_remove("cray");
    assert_int_equal(read_at(3, NULL, NULL), -ENODEV);
    assert_int_equal(meter_open(&rig, &bj_meter_cray), -ENODEV);
}

/* --- one refresh ---------------------------------------------------------- */

/* A file that changes between the reading of values and the second check, and
 * how often. */
struct change {
    const char *path;
    unsigned calls, changes;
};

static void change(void *ctx)
{
    struct change *c = ctx;
    char text[32];
    if (c->calls++ >= c->changes)
        return;
    snprintf(text, sizeof(text), "%u\n", 2000 * c->changes + c->calls);
    meter_write(c->path, text);
    snprintf(text, sizeof(text), "%u J 1 us\n", 1000 + c->calls);
    meter_write(DIR "energy", text);
}

static void test_refresh_during_read(void **state)
{
    (void)state;
    static const char *const marks[] = {DIR "freshness", DIR "startup",
                                        DIR "generation"};
    for (size_t i = 0; i < COUNT(marks); i++) {
        start();
        for (unsigned n = 0; n < BJ_CRAY_TRIES; n++) {
            struct change c = {marks[i], 0, n};
            assert_int_equal(read_at(1 + n, change, &c), 0);
            assert_int_equal(c.calls, n + 1);
            assert_int_equal(rig.sample.n, 7);
            if (n > 0)
                assert_int_equal(rig.sample.zone[0].energy_uj,
                                 (1000 + n) * UINT64_C(1000000));
        }
        struct change always = {marks[i], 0, 1000};
        assert_int_equal(read_at(9, change, &always), -EBADMSG);
        assert_int_equal(always.calls, BJ_CRAY_TRIES);
        assert_int_equal(rig.sample.n, 0);
        meter_cleanup(&rig);
    }
}

static void stop_reading(void *ctx)
{
    meter_write(DIR "freshness", "9\n");
    atomic_store((atomic_bool *)ctx, true);
}

static void test_stop(void **state)
{
    (void)state;
    start();
    assert_int_equal(read_at(1, stop_reading, &rig.stop), -ECANCELED);
    assert_int_equal(rig.sample.n, 0);
}

/* Two readings of one refresh have one stamp; an old refresh is a timeout. */
static void test_stamps(void **state)
{
    (void)state;
    start();
    assert_int_equal(stamp_at(100), 100000000);
    assert_int_equal(stamp_at(101), 100000000);
    assert_int_equal(stamp_at(110), 100000000);
    assert_int_equal(read_at(110.5, NULL, NULL), -ETIMEDOUT);
    assert_int_equal(rig.sample.n, 0);
    assert_non_null(strstr(rig.err.msg, "not refreshed for 10 s"));
    assert_int_equal(read_at(3700, NULL, NULL), -ETIMEDOUT);
    meter_write(DIR "freshness", "1\n"); /* a lower value is also new */
    assert_int_equal(stamp_at(3701), 3701000000u);
    assert_int_equal(stamp_at(3702), 3701000000u);
    meter_write(DIR "freshness", "2\n");
    assert_int_equal(stamp_at(3703), 3703000000u);
}

/* --- over time ------------------------------------------------------------ */

/* After a restart of the controller, lower counters are returned unchanged, and
 * the files are searched again. */
static void test_startup(void **state)
{
    (void)state;
    start();
    meter_add_files(DIR "accel4_energy 1 J 1 us\n" DIR
                        "accel4_power 2 W 1 us\n");
    assert_int_equal(read_at(1, NULL, NULL), 0);
    assert_int_equal(rig.sample.n, 7);
    meter_write(DIR "startup", "1699000000000001\n");
    meter_write(DIR "energy", "12 J 1700000000000001 us\n");
    assert_int_equal(read_at(2, NULL, NULL), 0);
    assert_int_equal(rig.sample.zone[0].energy_uj, 12000000);
    assert_int_equal(read_at(3, NULL, NULL), 0);
    assert_int_equal(rig.sample.n, 8);
    assert_int_equal(rig.sample.zone[7].energy_uj, 1000000);
}

static void test_power_cap(void **state)
{
    (void)state;
    start();
    assert_int_equal(read_at(1, NULL, NULL), 0);
    assert_true(rig.sample.zone[0].limit_uw == BJ_ABSENT);
    meter_write(DIR "power_cap", "700 W\n");
    meter_write(DIR "accel0_power_cap", "rubbish\n");
    meter_write(DIR "generation", "15\n");
    assert_int_equal(read_at(2, NULL, NULL), 0);
    assert_int_equal(read_at(3, NULL, NULL), 0);
    assert_int_equal(rig.sample.zone[0].limit_uw, 700000000);
    assert_true(rig.sample.zone[3].limit_uw == BJ_ABSENT);
}

/* --- what a file may hold ------------------------------------------------- */

static const struct {
    const char *energy, *power;
    int want;
    const char *text; /* of the zone */
} contents[] = {
    {"12 J 5 us\n", "3 W 5 us\n", 0, "cpu cpu e=12000000 p=3000000\n"},
    {"12 J 5 us", "3 W", 0, "cpu cpu e=12000000 p=3000000\n"},
    {"0 J 5 us\n", "0 W 5 us\n", 0, "cpu cpu e=0\n"},
    {"12 J 5 us\n", "", -EBADMSG, "cpu cpu e=12000000\n"},
    {"12 J 5 us\n", "W\n", -EBADMSG, "cpu cpu e=12000000\n"},
    {"12 J 5 us\n", "-3 W 5 us\n", -ERANGE, "cpu cpu e=12000000\n"},
    {"12 J 5 us\n", "3 J 5 us\n", -EBADMSG, "cpu cpu e=12000000\n"},
    {"12 J 5 us\n", "3.5 W 5 us\n", -EBADMSG, "cpu cpu e=12000000\n"},
    {"12 W 5 us\n", "3 W 5 us\n", -EBADMSG, "cpu cpu p=3000000\n"},
    {"12\n", "3 W 5 us\n", -EBADMSG, "cpu cpu p=3000000\n"},
    {"18446744073709 J 5 us\n", "3 W 5 us\n", 0,
     "cpu cpu e=18446744073709000000 p=3000000\n"},
    {"18446744073710 J 5 us\n", "3 W 5 us\n", -ERANGE, "cpu cpu p=3000000\n"},
    {"99999999999999999999 J 5 us\n", "3 W\n", -ERANGE, "cpu cpu p=3000000\n"},
    {"rubbish\n", "rubbish\n", -EBADMSG, ""},
    {"12 J "
     "000000000000000000000000000000000000000000000000000000000000000000000000"
     "000000000000000000000000000000000000000000000000000000000000000000000000"
     " us\n",
     "3 W 5 us\n", -EBADMSG, "cpu cpu p=3000000\n"},
};

static void test_contents(void **state)
{
    (void)state;
    meter_setup(&rig, NULL);
    meter_add_files(DIR "power 300 W\n" DIR "cpu_power 0 W\n" DIR
                        "cpu_energy 0 J\n");
    assert_int_equal(meter_open(&rig, &bj_meter_cray), 0);
    for (size_t i = 0; i < COUNT(contents); i++) {
        char text[256];
        meter_write(DIR "cpu_energy", contents[i].energy);
        meter_write(DIR "cpu_power", contents[i].power);
        snprintf(text, sizeof(text), "node node p=300000000\n%s",
                 contents[i].text);
        meter_expect(&rig, contents[i].want, text);
    }
}

/* Without valid freshness and startup files, no value is used. */
static void test_bad_marks(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x\n", "1 2\n"};
    start();
    for (size_t i = 0; i < COUNT(bad); i++) {
        meter_write(DIR "freshness", bad[i]);
        meter_expect(&rig, -EBADMSG, "");
        assert_int_equal(meter_open(&rig, &bj_meter_cray), -EBADMSG);
        meter_write(DIR "freshness", "5\n");
        assert_int_equal(meter_open(&rig, &bj_meter_cray), 0);
        assert_int_equal(meter_read(&rig), 0);
        assert_int_equal(rig.sample.n, 7);
    }
    meter_write(DIR "startup", "-1\n");
    meter_expect(&rig, -ERANGE, "");
}

/* A file that cannot be read loses only its own value. */
static void test_refused(void **state)
{
    (void)state;
    meter_setup(&rig, NULL);
    tmp_dir(DIR "power");
    meter_add_files(DIR "energy 3 J\n");
    assert_int_equal(meter_open(&rig, &bj_meter_cray), 0);
    meter_expect(&rig, -EISDIR, "node node e=3000000\n");
    assert_string_equal(rig.err.msg, "read power");
    tmp_dir(DIR "freshness");
    assert_int_equal(meter_open(&rig, &bj_meter_cray), -EISDIR);
}

static int open_and_close(void *arg)
{
    (void)arg;
    return meter_open(&rig, &bj_meter_cray);
}

static void test_no_memory(void **state)
{
    (void)state;
    meter_setup(&rig, "cray-ex");
    if (!bj_fail_works())
        skip();
    bj_fail_each(open_and_close, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_machine, teardown),
        cmocka_unit_test_teardown(test_few_files, teardown),
        cmocka_unit_test_teardown(test_directory_removed, teardown),
        cmocka_unit_test(test_refresh_during_read),
        cmocka_unit_test_teardown(test_stop, teardown),
        cmocka_unit_test_teardown(test_stamps, teardown),
        cmocka_unit_test_teardown(test_startup, teardown),
        cmocka_unit_test_teardown(test_power_cap, teardown),
        cmocka_unit_test_teardown(test_contents, teardown),
        cmocka_unit_test_teardown(test_bad_marks, teardown),
        cmocka_unit_test_teardown(test_refused, teardown),
        cmocka_unit_test_teardown(test_no_memory, teardown),
    };
    return cmocka_run_group_tests_name("cray", tests, NULL, NULL);
}
