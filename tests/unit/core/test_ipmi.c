/* The IPMI device: opening it, sending requests, and all faults of a simulated
 * BMC and of the kernel. */
#include "tests/unit/lib/fakebmc.h"

#include "base/clock.h"
#include "tests/unit/lib/core.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/ipmi.h>

static const struct bj_ipmi_send hello = {.what = "hello",
                                          .netfn = 0x2c,
                                          .cmd = 0x02,
                                          .data = (const uint8_t *)"\1",
                                          .n = 1};

static struct bj_ipmi *start(struct fake_bmc *f)
{
    struct bj_ipmi *bmc = NULL;
    fake_bmc_init(f);
    assert_int_equal(bj_ipmi_open(&f->env, &f->sys, &bmc, &f->err), 0);
    return bmc;
}

/* One request to a BMC with one rule. */
struct request_case {
    struct fake_rule rule;
    int want;
    const char *message; /* part of it */
    unsigned waited_msec;
};

static void send_one(const struct request_case *c)
{
    struct fake_bmc f;
    struct bj_ipmi_reply reply;
    struct bj_ipmi *bmc = start(&f);
    fake_bmc_rule(&f, c->rule);
    uint64_t begin = f.now_usec;
    int r = bj_ipmi_send(bmc, &hello, &reply, &f.err);
    if (r != c->want)
        fail_msg("%s: %d instead of %d: %s", c->rule.response, r, c->want,
                 f.err.msg);
    if (r < 0) {
        assert_int_equal(f.err.code, r);
        assert_ptr_equal(strstr(f.err.msg, "hello: "), f.err.msg);
    }
    if (c->message && !strstr(f.err.msg, c->message))
        fail_msg("'%s' is not in '%s'", c->message, f.err.msg);
    assert_in_range(f.now_usec - begin, 1000ull * c->waited_msec,
                    1000ull * c->waited_msec + 1000);
    bj_ipmi_close(bmc);
    assert_int_equal(f.closed, 1);
}

/* Codes: IPMI 2.0, table 5-2. */
static void test_completion_codes(void **state)
{
    (void)state;
    static const struct request_case cases[] = {
        {{.response = "00 DC"}, 0, NULL, 0},
        {{.response = "80"}, -EIO, "completion code 0x80", 0},
        {{.response = "83"}, -EIO, "no device at that address", 0},
        {{.response = "C1"}, -ENODEV, "does not know this command (0xC1)", 0},
        {{.response = "C2"}, -ENODEV, "LUN", 0},
        {{.response = "C3"}, -ETIMEDOUT, "timeout within", 0},
        {{.response = "C5"}, -ESTALE, "reservation", 0},
        {{.response = "C7"}, -EBADMSG, "length", 0},
        {{.response = "C8"}, -EBADMSG, "length", 0},
        {{.response = "CB"}, -ENODEV, "no such sensor", 0},
        {{.response = "CC"}, -EIO, "invalid", 0},
        {{.response = "D4"}, -EACCES, "privilege", 0},
        {{.response = "D5"}, -EIO, "state", 0},
        {{.response = "FF"}, -EIO, "unspecified", 0},
        {{.response = "FF 00 11 22"}, -EIO, "unspecified", 0},
        {{.response = "7E"}, -EIO, "completion code 0x7E", 0},
        {{.response = ""}, -EBADMSG, "empty answer", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        send_one(&cases[i]);
}

/* Responses that are late, missing, or to another request. */
static void test_waiting(void **state)
{
    (void)state;
    static const struct request_case cases[] = {
        {{.response = "00", .delay_msec = 350}, 0, NULL, 350},
        {{.response = "00", .delay_msec = 1999}, 0, NULL, 1999},
        {{.response = "00", .delay_msec = 2001}, -ETIMEDOUT, "no answer", 2000},
        {{.response = NULL}, -ETIMEDOUT, "no answer", 2000},
        {{.response = NULL, .event = true}, -ETIMEDOUT, "no answer", 2000},
        {{.response = "00", .delay_msec = 30, .event = true}, 0, NULL, 30},
        {{.response = "00 01 02", .stale = true, .delay_msec = 30},
         0,
         NULL,
         30},
        {{.response = "C0"}, -ETIMEDOUT, "busy", 2000},
        {{.response = "00 01 02", .truncated = true}, 0, NULL, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        send_one(&cases[i]);
}

static void test_system_faults(void **state)
{
    (void)state;
    static const struct request_case cases[] = {
        {{.send_fault = ENODEV}, -ENODEV, "has gone", 0},
        {{.send_fault = ENXIO}, -ENODEV, "has gone", 0},
        {{.send_fault = ENOTTY}, -ENODEV, "has gone", 0},
        {{.send_fault = EIO}, -EIO, "send", 0},
        {{.send_fault = EBUSY}, -EBUSY, "send", 0},
        {{.send_fault = EINVAL}, -EINVAL, "send", 0},
        {{.send_fault = EPERM}, -EPERM, "send", 0},
        {{.send_fault = EINTR, .times = 1}, -ENODEV, "0xC1", 2},
        {{.receive_fault = EIO}, -EIO, "receive", 0},
        {{.receive_fault = ENODEV}, -ENODEV, "has gone", 0},
        {{.receive_fault = EAGAIN}, -ETIMEDOUT, "no answer", 2000},
        {{.receive_fault = EINTR}, -ETIMEDOUT, "no answer", 2000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        send_one(&cases[i]);
}

/* A request to a busy BMC is repeated with a new id. */
static void test_busy(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_ipmi_reply reply;
    struct bj_ipmi *bmc = start(&f);
    fake_bmc_rule(&f, (struct fake_rule){.response = "C0", .times = 3});
    fake_bmc_rule(&f, (struct fake_rule){.response = "00 2A"});
    assert_int_equal(bj_ipmi_send(bmc, &hello, &reply, &f.err), 0);
    assert_int_equal(reply.n, 2);
    assert_int_equal(reply.b[1], 0x2a);
    assert_int_equal(f.commands, 4);
    assert_false(f.msgid_repeated);
    bj_ipmi_close(bmc);
}

/* A late response arrives while the next request waits. */
static void test_late_response(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_ipmi_reply reply;
    struct bj_ipmi *bmc = start(&f);
    fake_bmc_rule(&f, (struct fake_rule){
                          .response = "00 11", .delay_msec = 2100, .times = 1});
    fake_bmc_rule(&f,
                  (struct fake_rule){.response = "00 22", .delay_msec = 500});
    assert_int_equal(bj_ipmi_send(bmc, &hello, &reply, &f.err), -ETIMEDOUT);
    assert_int_equal(reply.n, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bj_ipmi_send(bmc, &hello, &reply, &f.err), 0);
        assert_int_equal(reply.b[1], 0x22);
    }
    assert_false(f.msgid_repeated);
    assert_int_equal(f.queued, 0);
    bj_ipmi_close(bmc);
}

static void test_stop(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_ipmi_reply reply;
    struct bj_ipmi *bmc = start(&f);
    fake_bmc_rule(&f, (struct fake_rule){.response = NULL});
    f.stop_usec = f.now_usec + 300000;
    assert_int_equal(bj_ipmi_send(bmc, &hello, &reply, &f.err), -ECANCELED);
    assert_in_range(f.now_usec, f.stop_usec, f.stop_usec + 100000);
    bj_ipmi_close(bmc);
    /* while the BMC is busy */
    bmc = start(&f);
    fake_bmc_rule(&f, (struct fake_rule){.response = "C0"});
    f.stop_usec = f.now_usec + 300000;
    assert_int_equal(bj_ipmi_send(bmc, &hello, &reply, &f.err), -ECANCELED);
    assert_in_range(f.now_usec, f.stop_usec, f.stop_usec + 100000);
    bj_ipmi_close(bmc);
}

/* The device disappears while a response is awaited. */
static void test_vanish(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_ipmi_reply reply;
    struct bj_ipmi *bmc = start(&f);
    f.device_gone = true;
    assert_int_equal(bj_ipmi_send(bmc, &hello, &reply, &f.err), -ENODEV);
    bj_ipmi_close(bmc);
    assert_int_equal(f.closed, 1);
}

static void test_open(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_ipmi *bmc;
    char other[] = "/dev/other", third[] = "/dev/third";
    static const struct {
        int fault, want;
        const char *message;
    } cases[] = {
        {ENOENT, -ENODEV, "no IPMI device"},
        {ENXIO, -ENODEV, "no IPMI device"},
        {ENODEV, -ENODEV, "no IPMI device"},
        {EACCES, -EACCES, "CAP_DAC_OVER"},
        {EPERM, -EACCES, "CAP_DAC_OVERRIDE"},
        {EMFILE, -EMFILE, "open /dev/ipmi0"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_bmc_init(&f);
        f.open_fault = cases[i].fault;
        assert_int_equal(bj_ipmi_open(&f.env, &f.sys, &bmc, &f.err),
                         cases[i].want);
        assert_non_null(strstr(f.err.msg, cases[i].message));
        assert_int_equal(f.open_calls, cases[i].want == -ENODEV ? 3 : 1);
        assert_int_equal(f.opened, 0);
    }
    /* the usual names, then a given one */
    static const char *const names[] = {"/dev/ipmi0", "/dev/ipmi/0",
                                        "/dev/ipmidev/0", "/dev/other"};
    for (unsigned i = 0; i < 4; i++) {
        fake_bmc_init(&f);
        f.open_path = names[i];
        if (i == 3)
            f.conf.ipmi_device = other;
        assert_int_equal(bj_ipmi_open(&f.env, &f.sys, &bmc, &f.err), 0);
        assert_int_equal(f.open_calls, i == 3 ? 1 : i + 1);
        bj_ipmi_close(bmc);
        assert_int_equal(f.closed, 1);
    }
    f.conf.ipmi_device = third;
    assert_int_equal(bj_ipmi_open(&f.env, &f.sys, &bmc, &f.err), -ENODEV);
    assert_non_null(strstr(f.err.msg, "/dev/third"));
    bj_ipmi_close(NULL);
}

/* Requests to a bridged address and to the BMC itself. */
static void test_address(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_ipmi_reply reply;
    struct bj_ipmi *bmc = start(&f);
    struct bj_ipmi_send req = hello;
    fake_bmc_rule(&f, (struct fake_rule){.slave = 0x2c, .response = "00 01"});
    fake_bmc_rule(&f, (struct fake_rule){.slave = 0x20, .response = "00 02"});
    req.slave = 0x2c;
    assert_int_equal(bj_ipmi_send(bmc, &req, &reply, &f.err), 0);
    assert_int_equal(reply.b[1], 1);
    req.slave = BJ_IPMI_BMC;
    assert_int_equal(bj_ipmi_send(bmc, &req, &reply, &f.err), 0);
    assert_int_equal(reply.b[1], 2);
    req.n = BJ_IPMI_MAX + 1;
    assert_int_equal(bj_ipmi_send(bmc, &req, &reply, &f.err), -EINVAL);
    bj_ipmi_close(bmc);
}

static void test_identify(void **state)
{
    (void)state;
    static const struct {
        const char *response;
        int want;
        uint32_t manufacturer;
        bool repository, device;
    } cases[] = {
        /* the values of a simulated BMC, as bmc-info prints them: device 35,
         * revision 2, firmware 1.06, manufacturer 81 */
        {"00 23 02 01 06 02 9F 51 00 00 01 00 00 00 00 00", 0, 81, true, false},
        {"00 20 81 03 16 02 BD 66 4A 00 00 01", 0, 19046, false, true},
        {"00 20 81 03 16 02 BF FF FF FF 00 01", 0, 0xfffff, true, true},
        {"00 20 81 03 16 02 BF 57 01 00 00", -EBADMSG, 0, false, false},
        {"D5", -EIO, 0, false, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake_bmc f;
        struct bj_ipmi_id id;
        struct bj_ipmi *bmc = start(&f);
        fake_bmc_respond(&f, BJ_IPMI_APP, 1, cases[i].response);
        assert_int_equal(bj_ipmi_identify(bmc, &id, &f.err), cases[i].want);
        if (cases[i].want == 0) {
            assert_int_equal(id.manufacturer, cases[i].manufacturer);
            assert_int_equal(id.repository, cases[i].repository);
            assert_int_equal(id.device_records, cases[i].device);
        }
        bj_ipmi_close(bmc);
    }
}

/* The kernel's calls, on a file that is not an IPMI device. */
static void test_kernel_calls(void **state)
{
    (void)state;
    struct fake_bmc f;
    struct bj_ipmi *bmc;
    struct bj_ipmi_reply reply;
    char path[128];
    fake_bmc_init(&f);
    f.env.devfs = tmp_make();
    int r = bj_ipmi_open(&f.env, &bj_ipmi_kernel, &bmc, &f.err);
    assert_int_equal(r, -ENODEV);
    assert_false(bj_ipmi_present(&f.env));
    tmp_dir("ipmidev");
    tmp_file("ipmidev/0", "");
    assert_true(bj_ipmi_present(&f.env));
    tmp_file("ipmi0", "");
    assert_int_equal(bj_ipmi_open(&f.env, &bj_ipmi_kernel, &bmc, &f.err), 0);
    assert_int_equal(bj_ipmi_send(bmc, &hello, &reply, &f.err), -ENODEV);
    bj_ipmi_close(bmc);
    snprintf(path, sizeof(path), "%s/none/x", f.env.devfs);
    f.conf.ipmi_device = path;
    assert_false(bj_ipmi_present(&f.env));
    r = bj_ipmi_open(&f.env, &bj_ipmi_kernel, &bmc, &f.err);
    assert_int_equal(r, -ENODEV);
    tmp_gone();
    const struct bj_ipmi_sys *k = &bj_ipmi_kernel;
    uint64_t begin = k->now_usec(NULL);
    assert_int_equal(k->poll(NULL, -1, 20), 0);
    assert_in_range(k->now_usec(NULL) - begin, 19000, 2000000);
    int p[2];
    assert_int_equal(pipe(p), 0);
    assert_int_equal(k->poll(NULL, p[0], 0), 0);
    assert_int_equal(write(p[1], "x", 1), 1);
    assert_int_equal(k->poll(NULL, p[0], 1000), 1);
    assert_int_equal(read(p[0], path, 1), 1);
    k->close(NULL, p[1]);
    assert_int_equal(k->poll(NULL, p[0], 1000), -ENODEV);
    k->close(NULL, p[0]);
}

/* Source: the reference's table of linux/ipmi.h on x86_64. */
static void test_abi(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct ipmi_req), 40);
    assert_int_equal(sizeof(struct ipmi_recv), 48);
    assert_int_equal(IPMICTL_SEND_COMMAND, 0x8028690d);
    assert_int_equal(IPMICTL_RECEIVE_MSG_TRUNC, 0xc030690b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_completion_codes),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_system_faults),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_late_response),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_vanish),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_address),
        cmocka_unit_test(test_identify),
        cmocka_unit_test(test_kernel_calls),
        cmocka_unit_test(test_abi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
