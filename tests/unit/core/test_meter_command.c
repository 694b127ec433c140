/* The node's power from a command: the output of common tools, and commands
 * that fail. */
#include "core/energy/command.h"

#include "base/clock.h"
#include "base/file.h"
#include "core/energy/meter.h"
#include "tests/unit/lib/core.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { SECOND = 1000000 };

static const struct bj_power_form plain;

static void test_recorded(void **state)
{
    (void)state;
    static const char *const files[] = {
        "tests/fixtures/ipmi/freeipmi-power.txt",
        "tests/fixtures/ipmi/ipmitool-power.txt",
    };
    for (size_t i = 0; i < 2; i++) {
        char buf[2048];
        struct bj_slice text;
        uint64_t uw = 0;
        assert_int_equal(
            bj_file_read(AT_FDCWD, files[i], buf, sizeof(buf), &text, NULL), 0);
        assert_int_equal(bj_power_output(text, &plain, &uw, NULL), 0);
        assert_int_equal(uw, 332000000);
    }
}

static void test_output(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int want;
        uint64_t uw;
    } cases[] = {
        {"332", 0, 332000000},
        {"332\n", 0, 332000000},
        {" 332.125 W \n", 0, 332125000},
        {"3.5e2 watts\n", 0, 350000000},
        {"1 Watt", 0, 1000000},
        {"Current Power : 250 Watts\n", 0, 250000000},
        {"current power:250", 0, 250000000},
        {"# comment\nfans: 3\nPower : On\nCurrent Power : 250 Watts\n", 0,
         250000000},
        {"Current Power : 250 Watts\nPower Measurement : Active\n", 0,
         250000000},
        {"Current Power : 250 Watts\nCurrent Power : 260 Watts\n", 0,
         250000000},
        /* averages and extremes are not the current power */
        {"Minimum Power over sampling duration : 120 watts\n"
         "Average Power over sampling duration : 300 watts\n",
         -EBADMSG, 0},
        {"Current Power : 250 Watts\nPower Measurement : Not Available\n",
         -ENODATA, 0},
        {"Power Measurement : Not Available\n", -ENODATA, 0},
        {"Instantaneous power reading: 5 Watts\n"
         "Power reading state is: deactivated\n",
         -ENODATA, 0},
        {"Current Power : N/A\n", -ENODATA, 0},
        {"Current Power : 0 Watts\n", -ERANGE, 0},
        {"Current Power : 65535 Watts\n", -ERANGE, 0},
        {"Current Power : -5 Watts\n", -ERANGE, 0},
        {"Current Power : 99999999999999999999 Watts\n", -ERANGE, 0},
        {"Current Power : 250 kW\n", -ENODATA, 0},
        {"Current Power : 250 Watts or so\n", -ENODATA, 0},
        {"0", -ERANGE, 0},
        {"", -EBADMSG, 0},
        {"\n\n", -EBADMSG, 0},
        {":\n:::\n", -EBADMSG, 0},
        {"1 2", -EBADMSG, 0},
        {"hello", -EBADMSG, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_err err = {0};
        uint64_t uw = 0;
        int r = bj_power_output(bj_slice_str(cases[i].text), &plain, &uw, &err);
        if (r != cases[i].want || uw != cases[i].uw)
            fail_msg("'%s': %d %llu: %s", cases[i].text, r,
                     (unsigned long long)uw, err.msg);
        assert_int_equal(err.code, r);
    }
}

/* Lines with a host (freeipmi's --always-prefix), and readings that are marked
 * as deactivated. */
static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct bj_power_form form;
        int want;
        uint64_t uw;
    } cases[] = {
        {"n1: Current Power    : 353 Watts\nn1: Power Measurement : Active\n",
         {.prefix = true},
         0,
         353000000},
        {"fe80::1: Current Power    : 353 Watts\n",
         {.prefix = true},
         0,
         353000000},
        {"n1: Current Power    : 353 Watts\n", {.prefix = false}, -EBADMSG, 0},
        {"n1: Current Power    : 353 Watts\nn2: Current Power : 2 Watts\n",
         {.prefix = true},
         -EBADMSG,
         0},
        {"n1: Current Power    : 0 Watts\nn1: Power Measurement : Not "
         "Available\n",
         {.prefix = true},
         -ENODATA,
         0},
        {"Instantaneous power reading: 360 Watts\n"
         "Power reading state is: deactivated\n",
         {.inactive = true},
         0,
         360000000},
        {"Instantaneous power reading: 0 Watts\n"
         "Power reading state is: deactivated\n",
         {.inactive = true},
         -ERANGE,
         0},
        {"Power reading state is: deactivated\n",
         {.inactive = true},
         -ENODATA,
         0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_err err = {0};
        uint64_t uw = 0;
        int r = bj_power_output(bj_slice_str(cases[i].text), &cases[i].form,
                                &uw, &err);
        if (r != cases[i].want || uw != cases[i].uw)
            fail_msg("'%s': %d %llu: %s", cases[i].text, r,
                     (unsigned long long)uw, err.msg);
    }
}

/* --- real commands --------------------------------------------------------*/

static char command[512];
static atomic_bool stop;
static struct bj_energy_conf conf = {.command = command,
                                     .timeout_usec = 10 * SECOND};
static const struct bj_meter_env env = {.conf = &conf, .stop = &stop};

static int once(struct bj_meter_sample *s, struct bj_err *err)
{
    void *m;
    memset(s, 0, sizeof(*s));
    *err = (struct bj_err){0};
    assert_true(bj_meter_command.present(&env));
    assert_int_equal(bj_meter_command.open(&env, &m, err), 0);
    int r = bj_meter_command.read(m, s, err);
    bj_meter_command.close(m);
    assert_int_equal(err->code, r);
    assert_int_equal(s->n, r == 0);
    return r;
}

/* Create a script in a new directory, and configure it as the command. */
static void script(const char *text, const char *arguments)
{
    char path[256];
    const char *dir = tmp_make();
    tmp_file("power", text);
    snprintf(path, sizeof(path), "%s/power", dir);
    assert_int_equal(chmod(path, 0755), 0);
    snprintf(command, sizeof(command), "  %s %s ", path, arguments);
}

static void test_run(void **state)
{
    (void)state;
    struct bj_meter_sample s;
    struct bj_err err;
    script("#!/bin/sh\n"
           "[ $# = 2 ] || exit 9\n"
           "echo junk >&2\n"
           "echo \"Current Power : $1 Watts\"\n",
           "\t417  '$HOME;exit'");
    if (once(&s, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(s.zone[0].name, "node");
    assert_int_equal(s.zone[0].role, BJ_ZONE_NODE);
    assert_int_equal(s.zone[0].power_uw, 417000000);
    assert_true(s.zone[0].energy_uj == BJ_ABSENT);
    tmp_gone();
    snprintf(command, sizeof(command), "echo 12.5 W");
    assert_int_equal(once(&s, &err), 0);
    assert_int_equal(s.zone[0].power_uw, 12500000);
    script("#!/bin/sh\n"
           "echo 'n1: Current Power : 353 Watts'\n",
           "--get-system-power-statistics --always-prefix");
    assert_int_equal(once(&s, &err), 0);
    assert_int_equal(s.zone[0].power_uw, 353000000);
    tmp_gone();
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int want;
        const char *message;
    } cases[] = {
        {"#!/bin/sh\necho no device >&2\nexit 1\n", -EIO, "no device"},
        {"#!/bin/sh\nkill -9 $$\n", -EIO, "power"},
        {"#!/bin/sh\necho hello\n", -EBADMSG, "no power in its output"},
        {"#!/bin/sh\necho 65535\n", -ERANGE, "65535"},
        {"#!/nonexistent\n", -EIO, "power"},
        {"#!/bin/sh\nexec cat /dev/zero\n", -EBADMSG, "power"},
    };
    struct bj_meter_sample s;
    struct bj_err err;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        script(cases[i].text, "");
        int r = once(&s, &err);
        if (r != cases[i].want || !strstr(err.msg, cases[i].message))
            fail_msg("%s: %d: %s", cases[i].text, r, err.msg);
        tmp_gone();
    }
    snprintf(command, sizeof(command), "/nonexistent/ipmi-dcmi --get");
    assert_int_equal(once(&s, &err), -EIO);
    snprintf(command, sizeof(command), "/etc/passwd");
    assert_int_equal(once(&s, &err), -EACCES);
}

/* A command that hangs is killed at the deadline or when the program stops. */
static void test_hang(void **state)
{
    (void)state;
    struct bj_meter_sample s;
    struct bj_err err;
    script("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n", "");
    conf.timeout_usec = SECOND / 5;
    uint64_t begin = bj_clock_boot_usec();
    assert_int_equal(once(&s, &err), -ETIMEDOUT);
    assert_in_range(bj_clock_boot_usec() - begin, SECOND / 5, 8 * SECOND);
    conf.timeout_usec = 10 * SECOND;
    atomic_store(&stop, true);
    begin = bj_clock_boot_usec();
    assert_int_equal(once(&s, &err), -ECANCELED);
    assert_in_range(bj_clock_boot_usec() - begin, 0, 8 * SECOND);
    atomic_store(&stop, false);
    tmp_gone();
}

static void test_open(void **state)
{
    (void)state;
    struct bj_err err = {0};
    void *m;
    for (size_t n = 0; n < 65; n++)
        memcpy(command + 2 * n, "x ", 3);
    assert_int_equal(bj_meter_command.open(&env, &m, &err), -EINVAL);
    command[128] = '\0';
    assert_int_equal(bj_meter_command.open(&env, &m, &err), 0);
    bj_meter_command.close(m);
    snprintf(command, sizeof(command), "  ");
    assert_int_equal(bj_meter_command.open(&env, &m, &err), -ENODEV);
    command[0] = '\0';
    assert_false(bj_meter_command.present(&env));
    assert_int_equal(bj_meter_command.open(&env, &m, &err), -ENODEV);
    conf.command = NULL;
    assert_false(bj_meter_command.present(&env));
    assert_int_equal(bj_meter_command.open(&env, &m, &err), -ENODEV);
    conf.command = command;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded), cmocka_unit_test(test_output),
        cmocka_unit_test(test_forms),    cmocka_unit_test(test_run),
        cmocka_unit_test(test_faults),   cmocka_unit_test(test_hang),
        cmocka_unit_test(test_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
