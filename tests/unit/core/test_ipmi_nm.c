/* Intel Node Manager and Lenovo's XCC, with a scripted BMC. */
#include "tests/unit/lib/fakebmc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Composed from the layouts that EAR, ipmitool and Slurm read. */
#define ID_INTEL "00 20 81 03 16 02 BF 57 01 00 7B 00 00 00 00 00"
#define ID_LENOVO "00 20 81 03 16 02 BF 66 4A 00 01 00 00 00 00 00"

/* 412 W now; 90, 700, 398 W; time, period 3600 s; platform, all states on. */
#define NM_TIMES "80 51 01 00 10 0E 00 00"
#define NM_GOOD "00 57 01 00 9C 01 5A 00 BC 02 8E 01 " NM_TIMES " 70"
#define NM_SHORT "00 57 01 00 9C 01 5A 00 BC 02 8E 01 " NM_TIMES
#define NM(power, max)                                                         \
    "00 57 01 00 " power " 5A 00 " max " 8E 01 " NM_TIMES " 70"

/* 10774496 J, 250 mJ at 1600000000.125 s. */
#define XCC1 "00 05 00 E0 67 A4 00 FA 00 00 10 5E 5F 7D 00"
#define ZEROS_24                                                               \
    "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
/* 100 samples, together 41234 W and 500 mW. */
#define XCC2 "00 64 00 12 A1 00 00 F4 01 " ZEROS_24 " 00 10 5E 5F 7D 00"
#define XCC2_NONE "00 00 00 12 A1 00 00 F4 01 " ZEROS_24 " 00 10 5E 5F 7D 00"
#define XCC2_ZERO "00 64 00 00 00 00 00 F4 01 " ZEROS_24 " 00 10 5E 5F 7D 00"
#define XCC2_FULL "00 01 00 FF FF FF FF FF FF " ZEROS_24 " 00 10 5E 5F 7D 00"

enum { OEM = 0x2e, ENGINE = 0x2c, LENOVO = 0x3a };

static void test_nm_decode(void **state)
{
    (void)state;
    static const struct {
        const char *response;
        int want;
        uint64_t watts;
    } cases[] = {
        {NM_GOOD, 0, 412},
        {NM_SHORT, 0, 412},
        {NM_SHORT " 40", 0, 412},
        {NM_SHORT " 30", -ENODATA, 0}, /* measurement suspended */
        {NM("00 00", "BC 02"), -ERANGE, 0},
        {NM("FF FF", "FF FF"), -ERANGE, 0},
        {NM("E8 03", "64 00"), 0, 1000}, /* ten times the maximum */
        {NM("E9 03", "64 00"), -ERANGE, 0},
        {NM("E9 03", "00 00"), 0, 1001}, /* no maximum yet */
        {NM("9C 01", "FF FF"), 0, 412},
        {"00 57 01 00 9C 01 5A 00 BC 02 8E 01 FF FF FF FF FF FF FF FF", 0, 412},
        {"00 57 02 00 9C 01 5A 00 BC 02 8E 01 " NM_TIMES, -EBADMSG, 0},
        {"00 57 01 00 9C 01 5A 00 BC 02 8E 01 80 51 01 00 10 0E 00", -EBADMSG,
         0},
        {"00", -EBADMSG, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_err err = {0};
        struct bj_ipmi_reply reply;
        uint64_t watts = 0;
        reply.n = fake_hex(cases[i].response, reply.b, sizeof(reply.b));
        assert_int_equal(bj_nm_decode(&reply, &watts, &err), cases[i].want);
        assert_int_equal(watts, cases[i].watts);
        assert_int_equal(err.code, cases[i].want);
    }
}

static void test_xcc_decode(void **state)
{
    (void)state;
    static const struct {
        const char *response;
        int want;
        uint64_t uj, uw;
    } cases[] = {
        {XCC1, 0, 10774496250000, BJ_ABSENT},
        {XCC2, 0, BJ_ABSENT, 412345000},
        {XCC2_NONE, -ENODATA, BJ_ABSENT, BJ_ABSENT},
        {XCC2_ZERO, -ERANGE, BJ_ABSENT, BJ_ABSENT},
        {XCC2_FULL, -ERANGE, BJ_ABSENT, BJ_ABSENT},
        {"00 05 00 FF FF FF FF E7 03 00 10 5E 5F 7D 00", 0, 4294967295999000,
         BJ_ABSENT},
        {"00 05 00 FF FF FF FF FF FF 00 10 5E 5F 7D 00", -ERANGE, BJ_ABSENT,
         BJ_ABSENT},
        {"00 05 00 00 00 00 00 00 00 00 10 5E 5F 7D 00", -ERANGE, BJ_ABSENT,
         BJ_ABSENT},
        {"00 05 00 E0 67 A4 00 FA 00 00 10 5E 5F 7D", -EBADMSG, BJ_ABSENT,
         BJ_ABSENT},
        {XCC1 " 00", -EBADMSG, BJ_ABSENT, BJ_ABSENT},
        {"00", -EBADMSG, BJ_ABSENT, BJ_ABSENT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_err err = {0};
        struct bj_ipmi_reply reply;
        uint64_t uj = 0, uw = 0;
        reply.n = fake_hex(cases[i].response, reply.b, sizeof(reply.b));
        int r = bj_xcc_decode(&reply, &uj, &uw, &err);
        if (r != cases[i].want)
            fail_msg("%s: %d: %s", cases[i].response, r, err.msg);
        assert_true(uj == cases[i].uj);
        assert_true(uw == cases[i].uw);
    }
}

static int read_it(const struct bj_meter_kind *k, struct fake_bmc *f, void *m,
                   struct bj_meter_sample *s)
{
    memset(s, 0, sizeof(*s));
    return k->read(m, s, &f->err);
}

static void test_nm_reads(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_meter_sample s;
    void *m = NULL;
    fake_bmc_init(&f);
    fake_bmc_respond(&f, BJ_IPMI_APP, 1, ID_INTEL);
    fake_bmc_rule(&f, (struct fake_rule){.netfn = OEM,
                                         .cmd = 0xc8,
                                         .slave = ENGINE,
                                         .data = "57 01 00 01 00 00",
                                         .response = NM_GOOD});
    assert_int_equal(bj_nm_open(&f.env, &f.sys, &m, &f.err), 0);
    assert_int_equal(read_it(&bj_meter_ipmi_nm, &f, m, &s), 0);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.zone[0].name, "node");
    assert_int_equal(s.zone[0].role, BJ_ZONE_NODE);
    assert_int_equal(s.zone[0].power_uw, 412000000);
    assert_true(s.zone[0].energy_uj == BJ_ABSENT);
    fake_bmc_clear_rules(&f);
    fake_bmc_respond(&f, OEM, 0xc8, NM("00 00", "BC 02"));
    assert_int_equal(read_it(&bj_meter_ipmi_nm, &f, m, &s), -ERANGE);
    assert_int_equal(s.n, 0);
    fake_bmc_clear_rules(&f);
    fake_bmc_respond(&f, OEM, 0xc8, NULL);
    assert_int_equal(read_it(&bj_meter_ipmi_nm, &f, m, &s), -ETIMEDOUT);
    bj_meter_ipmi_nm.close(m);
    assert_int_equal(f.closed, 1);
}

/* How opening a meter ends, by the BMC's responses. */
struct detect {
    struct fake_rule rule; /* for the meter's command */
    const char *id;
    bool forced;
    int want;
    unsigned commands;
};

static void detect(const struct detect *c,
                   int (*open)(const struct bj_meter_env *,
                               const struct bj_ipmi_sys *, void **,
                               struct bj_err *))
{
    struct fake_bmc f;
    void *m = NULL;
    fake_bmc_init(&f);
    fake_bmc_respond(&f, BJ_IPMI_APP, 1, c->id);
    fake_bmc_rule(&f, c->rule);
    f.env.forced = c->forced;
    int r = open(&f.env, &f.sys, &m, &f.err);
    if (r != c->want || f.commands != c->commands)
        fail_msg("%s: %d, asked %u times: %s", c->rule.response, r, f.commands,
                 f.err.msg);
    assert_int_equal(f.opened, 1);
    if (r == 0)
        bj_meter_ipmi_nm.close(m);
    else
        assert_true(f.err.msg[0]);
    assert_int_equal(f.closed, 1);
}

static void test_nm_detect(void **state)
{
    (void)state;
    static const struct detect cases[] = {
        {{.response = NM_GOOD}, ID_INTEL, false, 0, 2},
        {{.response = NM_GOOD}, ID_LENOVO, false, 0, 2},
        {{.response = "83"}, ID_INTEL, false, -ENODEV, 3},
        {{.response = "C1"}, ID_INTEL, false, -ENODEV, 3},
        {{.response = "D3"}, ID_INTEL, false, -ENODEV, 3},
        {{.response = "CC"}, ID_INTEL, false, -ENODEV, 3},
        {{.response = "C3"}, ID_INTEL, false, -ENODEV, 3},
        {{.response = NULL}, ID_INTEL, false, -ENODEV, 3},
        {{.response = NULL}, ID_INTEL, true, -ETIMEDOUT, 3},
        {{.response = NM_GOOD}, NULL, false, -ETIMEDOUT, 1}, /* BMC hangs */
        {{.response = NM_SHORT " 30"}, ID_INTEL, false, -ENODEV, 2},
        {{.response = "00 58 01 00"}, ID_INTEL, false, -EBADMSG, 2},
        {{.response = NM("00 00", "00 00")}, ID_INTEL, false, -ERANGE, 2},
        {{.send_fault = EIO}, ID_INTEL, false, -EIO, 2},
        {{.netfn = OEM, .send_fault = EINVAL}, ID_INTEL, false, -ENODEV, 3},
        {{.response = "83", .times = 1}, ID_INTEL, false, -ENODEV, 3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        detect(&cases[i], bj_nm_open);
    /* available only on the other channel */
    struct fake_bmc f;
    void *m = NULL;
    fake_bmc_init(&f);
    fake_bmc_respond(&f, BJ_IPMI_APP, 1, ID_INTEL);
    fake_bmc_rule(
        &f, (struct fake_rule){.netfn = OEM, .response = "83", .times = 1});
    fake_bmc_respond(&f, OEM, 0xc8, NM_GOOD);
    assert_int_equal(bj_nm_open(&f.env, &f.sys, &m, &f.err), 0);
    bj_meter_ipmi_nm.close(m);
}

static void test_xcc_detect(void **state)
{
    (void)state;
    static const struct detect cases[] = {
        {{.response = XCC1}, ID_LENOVO, false, 0, 2},
        {{.response = XCC2}, ID_LENOVO, false, 0, 2},
        /* BMCs of other vendors get no request */
        {{.response = XCC1}, ID_INTEL, false, -ENODEV, 1},
        {{.response = XCC1}, ID_INTEL, true, 0, 2},
        {{.response = XCC2_NONE}, ID_LENOVO, false, -ENODEV, 2},
        {{.response = "C1"}, ID_LENOVO, false, -ENODEV, 2},
        {{.response = "CC"}, ID_LENOVO, false, -ENODEV, 2},
        {{.response = NULL}, ID_LENOVO, false, -ETIMEDOUT, 2},
        {{.response = "00 01 02"}, ID_LENOVO, false, -EBADMSG, 2},
        {{.response = XCC1}, "00 20 81", false, -EBADMSG, 1},
        {{.response = XCC1}, NULL, false, -ETIMEDOUT, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        detect(&cases[i], bj_xcc_open);
}

static void test_xcc_reads(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_meter_sample s;
    void *m = NULL;
    fake_bmc_init(&f);
    fake_bmc_respond(&f, BJ_IPMI_APP, 1, ID_LENOVO);
    fake_bmc_rule(&f, (struct fake_rule){.netfn = LENOVO,
                                         .cmd = 0x32,
                                         .data = "04 02 00 00 00",
                                         .response = XCC1});
    assert_int_equal(bj_xcc_open(&f.env, &f.sys, &m, &f.err), 0);
    assert_int_equal(read_it(&bj_meter_ipmi_xcc, &f, m, &s), 0);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.zone[0].name, "node");
    assert_int_equal(s.zone[0].role, BJ_ZONE_NODE);
    assert_int_equal(s.zone[0].energy_uj, 10774496250000);
    /* 2^32 J less one millijoule */
    assert_int_equal(s.zone[0].range_uj, 4294967296000000 - 1000);
    assert_true(s.zone[0].power_uw == BJ_ABSENT);
    fake_bmc_clear_rules(&f);
    fake_bmc_respond(&f, LENOVO, 0x32, XCC2);
    assert_int_equal(read_it(&bj_meter_ipmi_xcc, &f, m, &s), 0);
    assert_int_equal(s.zone[0].power_uw, 412345000);
    assert_true(s.zone[0].energy_uj == BJ_ABSENT);
    assert_true(s.zone[0].range_uj == BJ_ABSENT);
    fake_bmc_clear_rules(&f);
    fake_bmc_respond(&f, LENOVO, 0x32, "FF");
    assert_int_equal(read_it(&bj_meter_ipmi_xcc, &f, m, &s), -EIO);
    assert_int_equal(s.n, 0);
    bj_meter_ipmi_xcc.close(m);
}

static void test_no_device(void **state)
{
    (void)state;
    struct fake_bmc f;
    void *m;
    fake_bmc_init(&f);
    f.env.devfs = "/nonexistent";
    assert_int_equal(bj_meter_ipmi_nm.open(&f.env, &m, &f.err), -ENODEV);
    assert_int_equal(bj_meter_ipmi_xcc.open(&f.env, &m, &f.err), -ENODEV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nm_decode), cmocka_unit_test(test_xcc_decode),
        cmocka_unit_test(test_nm_reads),  cmocka_unit_test(test_nm_detect),
        cmocka_unit_test(test_xcc_reads), cmocka_unit_test(test_xcc_detect),
        cmocka_unit_test(test_no_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
