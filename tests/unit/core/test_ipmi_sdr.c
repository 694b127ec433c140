/* Finding power sensors in the repository of a simulated BMC, and reading
 * them. */
#include "tests/unit/lib/fakebmc.h"

#include "core/energy/ipmi_sdr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ID_REPOSITORY "00 23 02 01 06 02 9F 51 00 00 01 00 00 00 00 00"
#define ID_DEVICE "00 23 82 01 06 02 9D 51 00 00 01 00 00 00 00 00"
#define ID_NEITHER "00 23 02 01 06 02 9D 51 00 00 01 00 00 00 00 00"

enum { BOARD = 7, SUPPLY = 10, CPU = 3 };

/* The sensors of the BMC behind tests/fixtures/ipmi/sensors.csv. */
static const struct fake_sensor recorded[] = {
    {"CPU1 Temp", 1, 0x01, 3, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0},
    {"Inlet Temp", 2, 0x01, 0x37, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0},
    {"Fan1", 3, 0x04, 29, 0, 0, 0, 18, 0, 0, 75, 0, 0, 0},
    {"12V", 4, 0x02, 7, 0, 0, 0, 4, 0, 0, 63, 0, -3, 0},
    {"Pwr Consumption", 5, 0x0b, 7, 0, 0, 0, 6, 0, 0, 4, 0, 0, 0},
    {"PSU1 Input", 6, 0x08, 10, 0, 0, 0, 6, 0, 0, 2, 0, 0, 0},
};
#define PSU(nr, text)                                                          \
    {                                                                          \
        text, nr, 0x08, SUPPLY, 0, 0, 0, 6, 0, 0, 2, 0, 0, 0                   \
    }
#define WATTS(nr, text, type, entity)                                          \
    {                                                                          \
        text, nr, type, entity, 0, 0, 0, 6, 0, 0, 4, 0, 0, 0                   \
    }

/* --- scanning a repository ------------------------------------------------ */

static void init_bmc(struct fake_bmc *f, const struct fake_sensor *s, size_t n)
{
    fake_bmc_init(f);
    fake_bmc_respond(f, BJ_IPMI_APP, 1, ID_REPOSITORY);
    for (size_t i = 0; i < n; i++)
        fake_bmc_sensor(f, s[i]);
    f->changed = 1600000000;
}

static int scan(struct fake_bmc *f, struct bj_sdr_sensor *s, size_t *n)
{
    struct bj_ipmi *bmc;
    uint64_t changed = 0;
    *n = 0;
    assert_int_equal(bj_ipmi_open(&f->env, &f->sys, &bmc, &f->err), 0);
    int r = bj_sdr_scan(bmc, s, 8, n, &changed, &f->err);
    bj_ipmi_close(bmc);
    if (r == 0 && !f->device_records)
        assert_int_equal(changed >> 32, 1600000000);
    return r;
}

static void check_two_found(struct fake_bmc *f)
{
    struct bj_sdr_sensor s[8];
    size_t n;
    int r = scan(f, s, &n);
    if (r < 0)
        fail_msg("%d: %s", r, f->err.msg);
    assert_int_equal(n, 2);
    assert_string_equal(s[0].name, "pwr_consumption");
    assert_string_equal(s[1].name, "psu1_input");
    assert_int_equal(s[1].m, 2);
}

/* The same sensors are found in whatever way the records must be read. */
static void test_scan(void **state)
{
    (void)state;
    static struct fake_bmc f;
    static const uint8_t codes[] = {BJ_IPMI_TOO_MANY, BJ_IPMI_TOO_LONG,
                                    BJ_IPMI_UNSPECIFIED};
    init_bmc(&f, recorded, 6);
    check_two_found(&f);
    assert_in_range(f.commands, 10, 40);
    for (size_t i = 0; i < sizeof(codes); i++) {
        for (unsigned chunk = 4; chunk < 20; chunk++) {
            init_bmc(&f, recorded, 6);
            f.chunk = chunk;
            f.chunk_code = codes[i];
            check_two_found(&f);
        }
    }
    init_bmc(&f, recorded, 6);
    f.cancel_after = 6;
    check_two_found(&f);
    assert_true(f.reservation > 1);
    init_bmc(&f, recorded, 6);
    f.no_reserve = true;
    check_two_found(&f);
    init_bmc(&f, recorded, 6);
    f.device_records = true;
    fake_bmc_clear_rules(&f);
    fake_bmc_respond(&f, BJ_IPMI_APP, 1, ID_DEVICE);
    check_two_found(&f);
    init_bmc(&f, recorded, 6);
    fake_bmc_rule(&f, (struct fake_rule){.netfn = BJ_IPMI_STORAGE,
                                         .response = "C0",
                                         .times = 2});
    check_two_found(&f);
}

static void test_scan_faults(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        int cmd; /* the command that gets this response */
        const char *response;
        int want;
    } cases[] = {
        {ID_NEITHER, 0xff, "00", -ENODEV},
        {NULL, 0xff, "00", -ETIMEDOUT},
        {ID_REPOSITORY, 0x20, "C1", -ENODEV},
        {ID_REPOSITORY, 0x20, "00 51 06 00", -EBADMSG},
        {ID_REPOSITORY, 0x22, "00 01", -EBADMSG},
        {ID_REPOSITORY, 0x22, "D5", -EIO},
        {ID_REPOSITORY, 0x23, "CB", -ENODEV},
        {ID_REPOSITORY, 0x23, "D0", -EIO},
        {ID_REPOSITORY, 0x23, "FF", -EIO},
        {ID_REPOSITORY, 0x23, "CA", -EIO},
        {ID_REPOSITORY, 0x23, "C5", -EIO}, /* always cancelled */
        {ID_REPOSITORY, 0x23, "00 02 00 01 00", -EBADMSG},
        {ID_REPOSITORY, 0x23, NULL, -ETIMEDOUT},
        /* a record that is its own successor */
        {ID_REPOSITORY, 0x23, "00 01 00 01 00 51 C0 05", -EBADMSG},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static struct fake_bmc f;
        struct bj_sdr_sensor s[8];
        size_t n;
        init_bmc(&f, recorded, 6);
        fake_bmc_clear_rules(&f);
        fake_bmc_respond(&f, BJ_IPMI_APP, 1, cases[i].id);
        fake_bmc_respond(&f, BJ_IPMI_STORAGE, cases[i].cmd, cases[i].response);
        int r = scan(&f, s, &n);
        if (r != cases[i].want)
            fail_msg("case %zu: %d: %s", i, r, f.err.msg);
        assert_true(f.err.msg[0]);
    }
}

static void test_many(void **state)
{
    (void)state;
    static struct fake_bmc f;
    struct bj_sdr_sensor s[8];
    size_t n;
    init_bmc(&f, NULL, 0);
    for (int i = 0; i < FAKE_RECORDS; i++)
        fake_bmc_sensor(&f, i % 20 ? recorded[i % 4] : recorded[4]);
    assert_int_equal(scan(&f, s, &n), 0);
    assert_int_equal(n, 8); /* as many as fit */
    assert_string_equal(s[0].name, "pwr_consumption");
    assert_string_equal(s[1].name, "pwr_consumption-2");
    assert_string_equal(s[7].name, "pwr_consumption-8");
    init_bmc(&f, recorded, 4);
    f.endless = true;
    assert_int_equal(scan(&f, s, &n), -EBADMSG);
    init_bmc(&f, recorded, 6);
    f.stop_usec = f.now_usec + 20000;
    fake_bmc_rule(&f,
                  (struct fake_rule){.netfn = BJ_IPMI_STORAGE, .cmd = 0x23});
    assert_int_equal(scan(&f, s, &n), -ECANCELED);
    /* a sensor with the node's name */
    static const struct fake_sensor node = WATTS(7, "Node", 0x0b, BOARD);
    init_bmc(&f, &node, 1);
    assert_int_equal(scan(&f, s, &n), 0);
    assert_string_equal(s[0].name, "node-2");
}

/* --- the meter ------------------------------------------------------------*/

/* Set the response of sensor "nr": a raw byte and flags, or a completion
 * code. */
static void set_sensor(struct fake_bmc *f, const char *nr, const char *response)
{
    fake_bmc_rule(f, (struct fake_rule){.netfn = BJ_IPMI_SENSOR,
                                        .cmd = 0x2d,
                                        .data = nr,
                                        .response = response});
}

static int read_it(struct fake_bmc *f, void *m, struct bj_meter_sample *s)
{
    memset(s, 0, sizeof(*s));
    f->err = (struct bj_err){0};
    int r = bj_meter_ipmi_sdr.read(m, s, &f->err);
    assert_int_equal(f->err.code, r);
    return r;
}

static const struct bj_zone_sample *zone(const struct bj_meter_sample *s,
                                         const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->zone[i].name, name) == 0)
            return &s->zone[i];
    }
    return NULL;
}

static void test_total(void **state)
{
    (void)state;
    static struct fake_bmc f;
    struct bj_meter_sample s;
    void *m;
    init_bmc(&f, recorded, 6);
    set_sensor(&f, "05", "00 53 C0 00");
    set_sensor(&f, "06", "00 6E C0 00 80");
    assert_int_equal(bj_sdr_open(&f.env, &f.sys, &m, &f.err), 0);
    assert_int_equal(read_it(&f, m, &s), 0);
    assert_int_equal(s.n, 2);
    assert_int_equal(zone(&s, "node")->role, BJ_ZONE_NODE);
    assert_int_equal(zone(&s, "node")->power_uw, 332000000);
    assert_true(zone(&s, "node")->energy_uj == BJ_ABSENT);
    assert_int_equal(zone(&s, "psu1_input")->role, BJ_ZONE_PART);
    assert_int_equal(zone(&s, "psu1_input")->power_uw, 220000000);
    /* a fault of a part does not remove the node */
    fake_bmc_clear_rules(&f);
    set_sensor(&f, "05", "00 54 C0 00");
    set_sensor(&f, "06", "FF");
    assert_int_equal(read_it(&f, m, &s), 0);
    assert_int_equal(s.n, 1);
    assert_int_equal(zone(&s, "node")->power_uw, 336000000);
    /* the records have changed since the meter was opened */
    f.changed++;
    assert_int_equal(read_it(&f, m, &s), -ENODEV);
    bj_meter_ipmi_sdr.close(m);
    assert_int_equal(f.closed, 1);
}

static const struct fake_sensor supplies[] = {
    PSU(1, "PSU1 Input"),
    PSU(2, "PSU2 Input"),
    WATTS(3, "CPU Power", 0x0b, CPU),
};

static void *start_supplies(struct fake_bmc *f, const char *first,
                            const char *second)
{
    void *m = NULL;
    init_bmc(f, supplies, 3);
    set_sensor(f, "01", first);
    set_sensor(f, "02", second);
    set_sensor(f, "03", "00 28 C0 00");
    int r = bj_sdr_open(&f->env, &f->sys, &m, &f->err);
    if (r < 0)
        fail_msg("%d: %s", r, f->err.msg);
    return m;
}

static int read_supplies(struct fake_bmc *f, void *m, const char *first,
                         const char *second, struct bj_meter_sample *s)
{
    fake_bmc_clear_rules(f);
    set_sensor(f, "01", first);
    set_sensor(f, "02", second);
    set_sensor(f, "03", "00 28 C0 00");
    return read_it(f, m, s);
}

#define W100 "00 32 C0 00"
#define W140 "00 46 C0 00"
#define W0 "00 00 C0 00"
#define SILENT "00 32 E0 00" /* reading unavailable */
#define OFF "00 32 80 00"    /* scanning is off */

static void test_supplies(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        int want;
        uint64_t uw;
        size_t zones;
    } cases[] = {
        {W100, W140, 0, 240000000, 4},
        {W100, W0, 0, 100000000, 4}, /* one of them idles */
        {W0, W0, -ERANGE, 0, 3},
        {W100, SILENT, -ENODATA, 0, 2},
        {OFF, W140, -ENODATA, 0, 2},
        {W100, "FF", -EIO, 0, 2},
        {W100, "00 32", -EBADMSG, 0, 2},
        {W100, "D5", -EIO, 0, 2},
        {W100, "CB", -ENODEV, 0, 1},
        {W100, NULL, -ETIMEDOUT, 0, 1},
        {W100, "C3", -ETIMEDOUT, 0, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static struct fake_bmc f;
        struct bj_meter_sample s;
        void *m = start_supplies(&f, W100, W140);
        assert_int_equal(read_supplies(&f, m, W100, W140, &s), 0);
        int r = read_supplies(&f, m, cases[i].first, cases[i].second, &s);
        if (r != cases[i].want)
            fail_msg("case %zu: %d: %s", i, r, f.err.msg);
        assert_int_equal(s.n, cases[i].zones);
        const struct bj_zone_sample *node = zone(&s, "node");
        assert_int_equal(node != NULL, r == 0);
        if (node)
            assert_int_equal(node->power_uw, cases[i].uw);
        bj_meter_ipmi_sdr.close(m);
    }
}

/* A supply that stays silent counts as switched off. */
static void test_silence(void **state)
{
    (void)state;
    static struct fake_bmc f;
    struct bj_meter_sample s;
    void *m = start_supplies(&f, W100, W140);
    for (int i = 0; i < 3; i++)
        assert_int_equal(read_supplies(&f, m, W100, SILENT, &s), -ENODATA);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read_supplies(&f, m, W100, SILENT, &s), 0);
        assert_int_equal(zone(&s, "node")->power_uw, 100000000);
    }
    assert_int_equal(read_supplies(&f, m, SILENT, SILENT, &s), -ENODATA);
    assert_int_equal(read_supplies(&f, m, W100, W140, &s), 0);
    assert_int_equal(zone(&s, "node")->power_uw, 240000000);
    assert_int_equal(read_supplies(&f, m, W100, SILENT, &s), -ENODATA);
    bj_meter_ipmi_sdr.close(m);
    /* a supply that was silent from the beginning is not waited for */
    m = start_supplies(&f, SILENT, W140);
    assert_int_equal(read_supplies(&f, m, SILENT, W140, &s), 0);
    assert_int_equal(zone(&s, "node")->power_uw, 140000000);
    bj_meter_ipmi_sdr.close(m);
}

/* The sum of outputs lacks the losses of the supplies: it is not the node. */
static void test_outputs(void **state)
{
    (void)state;
    static struct fake_bmc f;
    static const struct fake_sensor outputs[] = {PSU(1, "PSU1 Output"),
                                                 PSU(2, "PSU2 Output")};
    struct bj_meter_sample s;
    void *m;
    init_bmc(&f, outputs, 2);
    set_sensor(&f, "01", W100);
    set_sensor(&f, "02", W140);
    assert_int_equal(bj_sdr_open(&f.env, &f.sys, &m, &f.err), 0);
    assert_int_equal(read_it(&f, m, &s), 0);
    assert_int_equal(s.n, 3);
    assert_null(zone(&s, "node"));
    assert_int_equal(zone(&s, "outputs")->role, BJ_ZONE_PLATFORM);
    assert_int_equal(zone(&s, "outputs")->power_uw, 240000000);
    assert_int_equal(zone(&s, "psu1_output")->role, BJ_ZONE_PART);
    bj_meter_ipmi_sdr.close(m);
}

/* A sensor of another controller is read at that controller's address. */
static void test_owner(void **state)
{
    (void)state;
    static struct fake_bmc f;
    static const struct fake_sensor away = {
        "Sys Power", 9, 0x0b, BOARD, 0x2c, 0, 0, 6, 0, 0, 4, 0, 0, 0};
    void *m;
    init_bmc(&f, &away, 1);
    fake_bmc_rule(&f, (struct fake_rule){.netfn = BJ_IPMI_SENSOR,
                                         .slave = 0x2c,
                                         .data = "09",
                                         .response = W100});
    assert_int_equal(bj_sdr_open(&f.env, &f.sys, &m, &f.err), 0);
    bj_meter_ipmi_sdr.close(m);
}

static void test_detect(void **state)
{
    (void)state;
    static const struct {
        const char *id, *first;
        size_t sensors;
        int want;
    } cases[] = {
        {ID_REPOSITORY, W100, 4, -ENODEV}, /* no power sensor */
        {ID_NEITHER, W100, 6, -ENODEV},    {ID_REPOSITORY, SILENT, 6, -ENODEV},
        {ID_REPOSITORY, "CB", 6, -ENODEV}, {ID_REPOSITORY, W0, 6, -ERANGE},
        {ID_REPOSITORY, "FF", 6, -EIO},    {ID_REPOSITORY, NULL, 6, -ETIMEDOUT},
        {NULL, W100, 6, -ETIMEDOUT},       {"C1", W100, 6, -ENODEV},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static struct fake_bmc f;
        void *m = &f;
        init_bmc(&f, recorded, cases[i].sensors);
        fake_bmc_clear_rules(&f);
        fake_bmc_respond(&f, BJ_IPMI_APP, 1, cases[i].id);
        set_sensor(&f, "05", cases[i].first);
        set_sensor(&f, "06", W100);
        int r = bj_sdr_open(&f.env, &f.sys, &m, &f.err);
        if (r != cases[i].want)
            fail_msg("case %zu: %d: %s", i, r, f.err.msg);
        assert_ptr_equal(m, &f);
        assert_int_equal(f.closed, 1);
    }
    static struct fake_bmc f;
    void *m;
    fake_bmc_init(&f);
    f.env.devfs = "/nonexistent";
    assert_int_equal(bj_meter_ipmi_sdr.open(&f.env, &m, &f.err), -ENODEV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan),     cmocka_unit_test(test_scan_faults),
        cmocka_unit_test(test_many),     cmocka_unit_test(test_total),
        cmocka_unit_test(test_supplies), cmocka_unit_test(test_silence),
        cmocka_unit_test(test_outputs),  cmocka_unit_test(test_owner),
        cmocka_unit_test(test_detect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
