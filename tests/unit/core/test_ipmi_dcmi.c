/* DCMI's power reading, with a simulated BMC that works and many that fail. */
#include "tests/unit/lib/fakebmc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* As recorded: 332 W now, 120 to 480 W, 300 W on average, active. */
#define GOOD "00 DC 4C 01 78 00 E0 01 2C 01 6E 30 00 6B E8 03 00 00 40"
#define WATTS(low, high)                                                       \
    "00 DC " low " " high " 78 00 E0 01 2C 01 6E 30 00 6B E8 03 00 00 40"
#define STATE(byte)                                                            \
    "00 DC 4C 01 78 00 E0 01 2C 01 6E 30 00 6B E8 03 00 00 " byte
#define NO_LIMIT "80 DC 00 00 00 00 00 00 00 00 00 00 00 00"
/* 500 W; 1000 ms to correct, 1 s to sample. */
#define LIMIT "00 DC 00 00 01 F4 01 E8 03 00 00 00 00 01 00"

enum { DCMI = 0x2c, READING = 2, GET_LIMIT = 3 };

static const struct {
    const char *response;
    int want;
    uint64_t watts;
    const char *message;
} responses[] = {
    {GOOD, 0, 332, NULL},
    {GOOD " 00 00", 0, 332, NULL}, /* more bytes than expected */
    /* only bit 6 of the last byte counts */
    {STATE("C0"), 0, 332, NULL},
    {STATE("FF"), 0, 332, NULL},
    {STATE("00"), -ENODATA, 0, "not active"},
    {STATE("BF"), -ENODATA, 0, "not active"},
    {WATTS("00", "00"), -ERANGE, 0, "0 W"},
    {WATTS("FF", "FF"), -ERANGE, 0, "65535 W"},
    {WATTS("31", "75"), -ERANGE, 0, "30001 W"},
    {WATTS("30", "75"), 0, 30000, NULL},
    {WATTS("01", "00"), 0, 1, NULL},
    /* implausible statistics are ignored */
    {"00 DC 4C 01 FF FF 00 00 00 00 00 00 00 00 00 00 00 00 40", 0, 332, NULL},
    {"00 DC 4C 01 00 00 00 00 FF FF FF FF FF FF FF FF FF FF 40", 0, 332, NULL},
    {"00 DD 4C 01 78 00 E0 01 2C 01 6E 30 00 6B E8 03 00 00 40", -EBADMSG, 0,
     "0xDD instead of 0xDC"},
    {"00 DC 4C 01 78 00 E0 01 2C 01 6E 30 00 6B E8 03 00 00", -EBADMSG, 0,
     "18 bytes"},
    {"00 DC", -EBADMSG, 0, "2 bytes"},
    {"00", -EBADMSG, 0, "1 bytes"},
};
enum { RESPONSES = sizeof(responses) / sizeof(responses[0]) };

static void test_decode(void **state)
{
    (void)state;
    for (size_t i = 0; i < RESPONSES; i++) {
        struct bj_err err = {0};
        struct bj_ipmi_reply reply;
        uint64_t watts = 0;
        reply.n = fake_hex(responses[i].response, reply.b, sizeof(reply.b));
        int r = bj_dcmi_decode(&reply, false, &watts, &err);
        if (r != responses[i].want)
            fail_msg("%s: %d: %s", responses[i].response, r, err.msg);
        assert_int_equal(watts, responses[i].watts);
        assert_int_equal(err.code, r);
        if (r < 0)
            assert_non_null(strstr(err.msg, responses[i].message));
    }
}

/* Recorded responses of a BMC, which two other programs decoded to the same
 * value: see tests/fixtures/ipmi/README. */
static void test_recorded(void **state)
{
    (void)state;
    struct bj_ipmi_reply reply =
        fake_read_recording("tests/fixtures/ipmi/dcmi-reading.raw");
    uint64_t watts = 0;
    assert_int_equal(bj_dcmi_decode(&reply, false, &watts, NULL), 0);
    assert_int_equal(watts, 332);
    /* Marked as not active: only if that is wanted. */
    reply.b[18] = 0;
    assert_int_equal(bj_dcmi_decode(&reply, false, &watts, NULL), -ENODATA);
    assert_int_equal(bj_dcmi_decode(&reply, true, &watts, NULL), 0);
    assert_int_equal(watts, 332);
    reply.b[2] = reply.b[3] = 0;
    assert_int_equal(bj_dcmi_decode(&reply, true, &watts, NULL), -ERANGE);
    reply = fake_read_recording("tests/fixtures/ipmi/dcmi-unknown.raw");
    assert_int_equal(reply.n, 1);
    assert_int_equal(reply.b[0], BJ_IPMI_UNKNOWN);
}

static void *start(struct fake_bmc *f)
{
    void *m = NULL;
    fake_bmc_init(f);
    fake_bmc_respond(f, DCMI, READING, GOOD);
    assert_int_equal(bj_dcmi_open(&f->env, &f->sys, &m, &f->err), 0);
    fake_bmc_clear_rules(f);
    return m;
}

static int read_it(struct fake_bmc *f, void *m, struct bj_meter_sample *s)
{
    memset(s, 0, sizeof(*s));
    f->err = (struct bj_err){0};
    int r = bj_meter_ipmi_dcmi.read(m, s, &f->err);
    assert_int_equal(f->err.code, r);
    return r;
}

static void stop(struct fake_bmc *f, void *m)
{
    bj_meter_ipmi_dcmi.close(m);
    assert_int_equal(f->closed, 1);
}

static void test_read(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_meter_sample s;
    void *m = start(&f);
    fake_bmc_rule(&f, (struct fake_rule){.netfn = DCMI,
                                         .cmd = READING,
                                         .data = "DC 01 00 00",
                                         .response = GOOD});
    fake_bmc_respond(&f, DCMI, GET_LIMIT, LIMIT);
    assert_int_equal(read_it(&f, m, &s), 0);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.zone[0].name, "node");
    assert_int_equal(s.zone[0].role, BJ_ZONE_NODE);
    assert_int_equal(s.zone[0].power_uw, 332000000);
    assert_int_equal(s.zone[0].limit_uw, 500000000);
    assert_true(s.zone[0].energy_uj == BJ_ABSENT);
    assert_true(s.zone[0].range_uj == BJ_ABSENT);
    assert_true(s.zone[0].max_uw == BJ_ABSENT);
    assert_true(s.zone[0].stamp_usec == BJ_ABSENT);
    stop(&f, m);
}

/* All faults of a meter that has worked; afterwards it works again. */
static void test_faults(void **state)
{
    (void)state;
    static const struct {
        struct fake_rule rule;
        int want;
    } cases[] = {
        {{.response = "C3"}, -ETIMEDOUT},  {{.response = NULL}, -ETIMEDOUT},
        {{.response = "C0"}, -ETIMEDOUT},  {{.response = "C1"}, -ENODEV},
        {{.response = "C7"}, -EBADMSG},    {{.response = "C8"}, -EBADMSG},
        {{.response = "FF"}, -EIO},        {{.response = "80"}, -EIO},
        {{.response = "84"}, -EIO},        {{.response = "D5"}, -EIO},
        {{.response = "D4"}, -EACCES},     {{.response = ""}, -EBADMSG},
        {{.send_fault = ENODEV}, -ENODEV}, {{.send_fault = EIO}, -EIO},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake_bmc f;
        struct bj_meter_sample s;
        void *m = start(&f);
        fake_bmc_rule(&f, cases[i].rule);
        assert_int_equal(read_it(&f, m, &s), cases[i].want);
        assert_int_equal(s.n, 0);
        fake_bmc_clear_rules(&f);
        fake_bmc_respond(&f, DCMI, READING, GOOD);
        assert_int_equal(read_it(&f, m, &s), 0);
        assert_int_equal(s.n, 1);
        stop(&f, m);
    }
    for (size_t i = 0; i < RESPONSES; i++) {
        struct fake_bmc f;
        struct bj_meter_sample s;
        void *m = start(&f);
        fake_bmc_respond(&f, DCMI, READING, responses[i].response);
        assert_int_equal(read_it(&f, m, &s), responses[i].want);
        assert_int_equal(s.n, responses[i].want == 0);
        stop(&f, m);
    }
}

/* A BMC that hangs for 30 s, beyond several deadlines, and comes back. */
static void test_hang(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_meter_sample s;
    void *m = start(&f);
    for (int i = 0; i < 15; i++) {
        uint64_t begin = f.now_usec;
        fake_bmc_clear_rules(&f);
        fake_bmc_rule(
            &f, (struct fake_rule){.netfn = DCMI,
                                   .response = WATTS("64", "00"),
                                   .delay_msec = 30000 - 2000 * (unsigned)i});
        assert_int_equal(read_it(&f, m, &s), -ETIMEDOUT);
        assert_in_range(f.now_usec - begin, 2000000, 2001000);
    }
    /* All late responses arrive at once; none of them is used. */
    fake_bmc_clear_rules(&f);
    fake_bmc_respond(&f, DCMI, READING, GOOD);
    assert_int_equal(read_it(&f, m, &s), 0);
    assert_int_equal(s.zone[0].power_uw, 332000000);
    stop(&f, m);
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        const char *response;
        uint64_t limit;
        unsigned commands; /* in two readings */
        int want;
    } cases[] = {
        {LIMIT, 500000000, 4, 0},
        {NO_LIMIT, BJ_ABSENT, 4, 0},
        {"80", BJ_ABSENT, 4, 0},
        {"C1", BJ_ABSENT, 3, 0}, /* requested once */
        {"CC", BJ_ABSENT, 3, 0},
        {"00 DD 00 00 01 F4 01 E8", BJ_ABSENT, 3, 0},
        {"00 DC 00 00 01 F4 01", BJ_ABSENT, 3, 0},
        {"00 DC 00 00 01 00 00 E8", BJ_ABSENT, 4, 0},
        {"00 DC 00 00 01 FF FF E8", BJ_ABSENT, 4, 0},
        {NULL, BJ_ABSENT, 4, -ETIMEDOUT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake_bmc f;
        struct bj_meter_sample s;
        void *m = start(&f);
        fake_bmc_respond(&f, DCMI, READING, GOOD);
        fake_bmc_respond(&f, DCMI, GET_LIMIT, cases[i].response);
        f.commands = 0;
        for (int k = 0; k < 2; k++) {
            assert_int_equal(read_it(&f, m, &s), cases[i].want);
            /* the power is reported all the same */
            assert_int_equal(s.n, 1);
            assert_int_equal(s.zone[0].power_uw, 332000000);
            assert_true(s.zone[0].limit_uw == cases[i].limit);
        }
        assert_int_equal(f.commands, cases[i].commands);
        stop(&f, m);
    }
}

/* A BMC without DCMI is no fault; a broken one is. */
static void test_detect(void **state)
{
    (void)state;
    static const struct {
        struct fake_rule rule;
        int want;
    } cases[] = {
        {{.response = "C1"}, -ENODEV},
        {{.response = "C2"}, -ENODEV},
        {{.response = "C7"}, -ENODEV},
        {{.response = "C8"}, -ENODEV},
        {{.response = "C9"}, -ENODEV},
        {{.response = "CC"}, -ENODEV},
        {{.response = "D5"}, -ENODEV},
        {{.response = "D6"}, -ENODEV},
        {{.response = "FF"}, -ENODEV},
        {{.response = "80"}, -ENODEV},
        {{.response = STATE("00")}, -ENODEV},
        {{.response = "D4"}, -EACCES},
        {{.response = NULL}, -ETIMEDOUT},
        {{.response = "C3"}, -ETIMEDOUT},
        {{.response = WATTS("00", "00")}, -ERANGE},
        {{.response = WATTS("FF", "FF")}, -ERANGE},
        {{.response = "00 DD 4C 01"}, -EBADMSG},
        {{.response = ""}, -EBADMSG},
        {{.send_fault = EIO}, -EIO},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake_bmc f;
        void *m = &f;
        fake_bmc_init(&f);
        fake_bmc_rule(&f, cases[i].rule);
        int r = bj_dcmi_open(&f.env, &f.sys, &m, &f.err);
        if (r != cases[i].want)
            fail_msg("%s: %d: %s", cases[i].rule.response, r, f.err.msg);
        assert_ptr_equal(m, &f);
        assert_true(f.err.msg[0]);
        assert_int_equal(f.opened, 1);
        assert_int_equal(f.closed, 1);
    }
}

static void test_no_device(void **state)
{
    (void)state;
    struct fake_bmc f;
    void *m;
    fake_bmc_init(&f);
    f.open_fault = EACCES;
    assert_int_equal(bj_dcmi_open(&f.env, &f.sys, &m, &f.err), -EACCES);
    f.env.devfs = "/nonexistent";
    assert_int_equal(bj_meter_ipmi_dcmi.open(&f.env, &m, &f.err), -ENODEV);
}

static void test_stop(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_meter_sample s;
    void *m = start(&f);
    fake_bmc_rule(&f, (struct fake_rule){.response = NULL});
    f.stop_usec = f.now_usec + 500000;
    assert_int_equal(read_it(&f, m, &s), -ECANCELED);
    assert_in_range(f.now_usec, f.stop_usec, f.stop_usec + 100000);
    stop(&f, m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode), cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_read),   cmocka_unit_test(test_faults),
        cmocka_unit_test(test_hang),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_detect), cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
