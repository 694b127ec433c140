/* The meters of a BMC when memory allocations fail. */
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/fakebmc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Responses of the BMC that suffice for all four meters. */
#define DCMI "00 DC 4C 01 78 00 E0 01 2C 01 6E 30 00 6B E8 03 00 00 40"
#define NM "00 57 01 00 9C 01 5A 00 BC 02 8E 01 80 51 01 00 10 0E 00 00 70"
#define XCC "00 05 00 E0 67 A4 00 FA 00 00 10 5E 5F 7D 00"
#define LENOVO_ID "00 23 02 01 06 02 9F 66 4A 00 01 00 00 00 00 00"

struct ipmi {
    int (*open)(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
                void **ret, struct bj_err *err);
    const struct bj_meter_kind *kind;
};

static struct fake_bmc bmc;
static struct bj_meter_sample sample;

static void prepare(void)
{
    static const struct fake_sensor power = {"Sys Power", 5, 0x0b, 7, 0, 0, 0,
                                             6,           0, 0,    4, 0, 0, 0};
    fake_bmc_init(&bmc);
    fake_bmc_respond(&bmc, BJ_IPMI_APP, 1, LENOVO_ID);
    fake_bmc_respond(&bmc, 0x2c, 2, DCMI);
    fake_bmc_respond(&bmc, 0x2e, 0xc8, NM);
    fake_bmc_respond(&bmc, 0x3a, 0x32, XCC);
    fake_bmc_respond(&bmc, BJ_IPMI_SENSOR, 0x2d, "00 53 C0 00");
    fake_bmc_sensor(&bmc, power);
}

static int ipmi_once(void *arg)
{
    const struct ipmi *i = arg;
    void *m;
    prepare();
    int r = i->open(&bmc.env, &bmc.sys, &m, &bmc.err);
    if (r < 0) {
        assert_int_equal(bmc.opened, bmc.closed);
        return r;
    }
    sample.n = 0;
    r = i->kind->read(m, &sample, &bmc.err);
    i->kind->close(m);
    assert_int_equal(bmc.opened, bmc.closed);
    return r;
}

static void test_ipmi(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    static struct ipmi meters[] = {
        {bj_dcmi_open, &bj_meter_ipmi_dcmi},
        {bj_nm_open, &bj_meter_ipmi_nm},
        {bj_xcc_open, &bj_meter_ipmi_xcc},
        {bj_sdr_open, &bj_meter_ipmi_sdr},
    };
    for (size_t i = 0; i < sizeof(meters) / sizeof(meters[0]); i++) {
        /* the meter and its handle; readings allocate nothing */
        unsigned long n = bj_fail_each(ipmi_once, &meters[i]);
        assert_int_equal(n, 2);
    }
}

static int command_once(void *arg)
{
    void *m;
    struct bj_err err;
    int r = bj_meter_command.open(arg, &m, &err);
    if (r == 0)
        bj_meter_command.close(m);
    return r;
}

static void test_command(void **state)
{
    (void)state;
    char command[] = "ipmi-dcmi --get-system-power-statistics";
    struct bj_energy_conf conf = {.command = command};
    struct bj_meter_env env = {.conf = &conf};
    bj_fail_each(command_once, &env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ipmi),
        cmocka_unit_test(test_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
