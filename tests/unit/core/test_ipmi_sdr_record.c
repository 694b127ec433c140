/* Sensor data records: which ones measure power, how values are converted, and
 * which sensors are the node's. */
#include "tests/unit/lib/fakebmc.h"

#include "core/energy/ipmi_sdr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

/* --- records --------------------------------------------------------------*/

static int decode(struct fake_sensor s, struct bj_sdr_sensor *ret)
{
    static struct fake_bmc f;
    f.records = 0;
    fake_bmc_sensor(&f, s);
    return bj_sdr_decode(f.record[0], 5u + f.record[0][4], ret, NULL);
}

static void test_recorded(void **state)
{
    (void)state;
    struct bj_sdr_sensor s;
    uint64_t uw;
    for (int i = 0; i < 4; i++)
        assert_int_equal(decode(recorded[i], &s), -ENOENT);
    assert_int_equal(decode(recorded[4], &s), 0);
    assert_string_equal(s.name, "pwr_consumption");
    assert_int_equal(s.part, BJ_SDR_TOTAL);
    assert_int_equal(s.number, 5);
    /* raw 83 was shown as 332 W, raw 110 as 220 W */
    assert_int_equal(bj_sdr_convert(&s, 83, &uw, NULL), 0);
    assert_int_equal(uw, 332000000);
    assert_int_equal(decode(recorded[5], &s), 0);
    assert_string_equal(s.name, "psu1_input");
    assert_int_equal(s.part, BJ_SDR_INPUT);
    assert_int_equal(bj_sdr_convert(&s, 110, &uw, NULL), 0);
    assert_int_equal(uw, 220000000);
}

/* IPMI 2.0, section 36.3: y = L[(M x + B 10^Bexp) 10^Rexp]; the values are from
 * a pocket calculator. */
static const struct {
    int m, b, b_exp, r_exp;
    uint8_t format, linear, raw;
    int want;
    uint64_t uw;
} conversions[] = {
    {1, 0, 0, 0, 0, 0, 0, 0, 0},
    {1, 0, 0, 0, 0, 0, 255, 0, 255000000},
    {8, 0, 0, 0, 0, 0, 200, 0, 1600000000},
    {63, 0, 0, -1, 0, 0, 41, 0, 258300000},
    {1, 5, 2, 0, 0, 0, 7, 0, 507000000},
    {1, 5, -1, 0, 0, 0, 7, 0, 7500000},
    {1, -3, 0, 0, 0, 0, 10, 0, 7000000},
    {511, 511, 0, -8, 0, 0, 255, 0, 1308}, /* 0.001308.. W */
    {-512, 0, 0, 0, 0, 0, 1, -ERANGE, 0},
    {-2, 500, 0, 0, 0, 0, 100, 0, 300000000},
    {2, 0, 0, 0, 2, 0, 0x7f, 0, 254000000},
    {2, 0, 0, 0, 2, 0, 0xff, -ERANGE, 0}, /* -2 W */
    {2, 100, 0, 0, 2, 0, 0xff, 0, 98000000},
    {2, 100, 0, 0, 1, 0, 0xfe, 0, 98000000}, /* one's complement of 1 */
    {2, 100, 0, 0, 1, 0, 0xff, 0, 100000000},
    {2, 100, 0, 0, 1, 0, 0x80, -ERANGE, 0}, /* -127 */
    {511, 511, 7, 7, 0, 0, 255, -ERANGE, 0},
    {1, 0, 0, 4, 0, 0, 3, 0, 30000000000}, /* the maximum */
    {1, 0, 0, 4, 0, 0, 4, -ERANGE, 0},
    /* other linearisations */
    {1, 0, 0, 0, 0, 1, 100, 0, 4605170}, /* ln */
    {1, 0, 0, 0, 0, 1, 0, -ERANGE, 0},   /* of 0 */
    {1, -5, 0, 0, 0, 1, 0, -ERANGE, 0},  /* of a negative number */
    {1, 0, 0, 0, 0, 2, 100, 0, 2000000},
    {1, 0, 0, 0, 0, 3, 8, 0, 3000000},
    {1, 0, 0, 0, 0, 4, 5, 0, 148413159},
    {1, 0, 0, 0, 0, 4, 255, -ERANGE, 0},
    {1, 0, 0, 7, 0, 4, 255, -ERANGE, 0}, /* infinite */
    {1, 0, 0, 0, 0, 5, 2, 0, 100000000},
    {1, 0, 0, 0, 0, 6, 10, 0, 1024000000},
    {1, 0, 0, 0, 0, 7, 4, 0, 250000},
    {1, 0, 0, 0, 0, 7, 0, -ERANGE, 0}, /* 1/0 */
    {1, 0, 0, 0, 0, 8, 20, 0, 400000000},
    {1, 0, 0, 0, 0, 9, 6, 0, 216000000},
    {1, 0, 0, 0, 0, 10, 2, 0, 1414214},
    {1, -5, 0, 0, 0, 10, 2, -ERANGE, 0},
    {1, 0, 0, 0, 0, 11, 27, 0, 3000000},
};

static void test_convert(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(conversions) / sizeof(conversions[0]); i++) {
        struct bj_err err = {0};
        struct bj_sdr_sensor s;
        uint64_t uw = 0;
        struct fake_sensor f = {.name = "Watts",
                                .units1 = (uint8_t)(conversions[i].format << 6),
                                .unit = 6,
                                .linear = conversions[i].linear,
                                .m = conversions[i].m,
                                .b = conversions[i].b,
                                .bexp = conversions[i].b_exp,
                                .rexp = conversions[i].r_exp};
        assert_int_equal(decode(f, &s), 0);
        assert_int_equal(s.m, conversions[i].m);
        assert_int_equal(s.b, conversions[i].b);
        int r = bj_sdr_convert(&s, conversions[i].raw, &uw, &err);
        if (r != conversions[i].want || uw != conversions[i].uw)
            fail_msg("case %zu: %d, %llu uW: %s", i, r, (unsigned long long)uw,
                     err.msg);
    }
}

/* Records without watts, or without a fixed formula. */
static void test_no_watts(void **state)
{
    (void)state;
    static const struct fake_sensor none[] = {
        {.name = "volts", .unit = 4, .m = 1},
        {.name = "joules", .unit = 7, .m = 1},
        {.name = "percent", .unit = 6, .units1 = 0x01, .m = 1},
        {.name = "per second", .unit = 6, .units1 = 0x18, .m = 1},
        {.name = "W times h", .unit = 6, .units1 = 0x04, .modifier = 30},
        {.name = "no analog", .unit = 6, .units1 = 0xc0, .m = 1},
        {.name = "non-linear", .unit = 6, .linear = 0x70, .m = 1},
        {.name = "reserved", .unit = 6, .linear = 12, .m = 1},
    };
    struct bj_sdr_sensor s;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_int_equal(decode(none[i], &s), -ENOENT);
    /* a record that ends too early, at every length */
    static struct fake_bmc f;
    f.records = 0;
    fake_bmc_sensor(&f, recorded[4]);
    for (size_t n = 0; n < 48; n++)
        assert_int_equal(bj_sdr_decode(f.record[0], n, &s, NULL),
                         n < 24 ? -ENOENT : -EBADMSG);
    assert_int_equal(bj_sdr_decode(f.record[0], 48, &s, NULL), 0);
    assert_string_equal(s.name, "sensor-5");
    assert_int_equal(bj_sdr_decode(f.record[0], 51, &s, NULL), 0);
    assert_string_equal(s.name, "pwr");
    f.record[0][3] = 2; /* a compact record */
    assert_int_equal(bj_sdr_decode(f.record[0], 60, &s, NULL), -ENOENT);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *bytes; /* from the type and length byte on */
        const char *want;
    } cases[] = {
        {"C4 50 53 55 31", "psu1"},
        {"83 29 DC A6", "ipmi"}, /* the standard's own example */
        {"43 12 3A 4B", "123_4-"},
        {"04 50 00 53 00", "sensor-9"}, /* Unicode */
        {"C0", "sensor-9"},
        {"C3 20 20 20", "sensor-9"},
        {"C3 FF 41 FE", "a"},
        {"DF 50 53", "ps"}, /* longer than the record */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_sdr_sensor s;
        static struct fake_bmc f;
        f.records = 0;
        fake_bmc_sensor(&f, (struct fake_sensor){
                                .name = "", .number = 9, .unit = 6, .m = 1});
        size_t n = fake_hex(cases[i].bytes, f.record[0] + 47, 17);
        assert_int_equal(bj_sdr_decode(f.record[0], 47 + n, &s, NULL), 0);
        assert_string_equal(s.name, cases[i].want);
    }
}

/* --- which sensors are the node's ----------------------------------------- */

/* Sets of sensors, named as by several vendors. */
static void test_choose(void **state)
{
    (void)state;
    static const struct {
        struct fake_sensor s[6];
        const char *node; /* names, separated by blanks */
    } cases[] = {
        {{WATTS(1, "Pwr Consumption", 0x0b, BOARD), PSU(2, "PSU1 Input")},
         "pwr_consumption"},
        {{PSU(1, "PSU1 Input"), PSU(2, "PSU2 Input")}, "psu1_input psu2_input"},
        {{PSU(1, "PS1 Input Power"), PSU(2, "PS1 Output Power"),
          PSU(3, "PS2 Input Power"), PSU(4, "PS2 Output Power")},
         "ps1_input_power ps2_input_power"},
        {{PSU(1, "PSU1_PIN"), PSU(2, "PSU1_POUT"),
          WATTS(3, "CPU0_Power", 0x0b, CPU)},
         "psu1_pin"},
        {{PSU(1, "PSU1 POUT"), PSU(2, "PSU2 POUT")}, "psu1_pout psu2_pout"},
        {{WATTS(1, "Power Meter", 0x0b, BOARD), PSU(2, "Power Supply 1"),
          PSU(3, "Power Supply 2")},
         "power_meter"},
        {{WATTS(1, "CPU Power", 0x0b, CPU), WATTS(2, "Mem Power", 0x0b, 32),
          WATTS(3, "Sys Power", 0x0b, BOARD)},
         "sys_power"},
        {{WATTS(1, "Total Power", 0x0b, 19),
          WATTS(2, "Total Power Out", 0x0b, 19), PSU(3, "PSU1 Power")},
         "total_power"},
        {{WATTS(1, "Avg Power", 0x0b, BOARD),
          WATTS(2, "Sys Power", 0x0b, BOARD)},
         "sys_power"},
        {{WATTS(1, "Power", 0x0b, BOARD)}, "power"},
        {{WATTS(1, "Power Limit", 0x0b, BOARD), PSU(2, "PS1 Input")},
         "ps1_input"},
        /* by its type, if no name decides */
        {{WATTS(1, "HSC Input", 0x0b, BOARD)}, "hsc_input"},
        {{WATTS(1, "HSC Input", 0x0b, BOARD), PSU(2, "PS1 Input")},
         "ps1_input"},
        {{WATTS(1, "Riser 1", 0x0b, BOARD), WATTS(2, "Riser 2", 0x0b, BOARD)},
         ""},
        {{WATTS(1, "CPU1 Power", 0x0b, BOARD),
          WATTS(2, "GPU Power", 0x0b, BOARD)},
         ""},
        {{{0}}, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_sdr_sensor s[6];
        enum bj_sdr_part part;
        char got[1024] = "";
        size_t n = 0;
        while (n < 6 && cases[i].s[n].name) {
            assert_int_equal(decode(cases[i].s[n], &s[n]), 0);
            n++;
        }
        bool any = bj_sdr_choose(s, n, &part);
        for (size_t k = 0; any && k < n; k++) {
            size_t len = strlen(got);
            if (s[k].part == part)
                snprintf(got + len, sizeof(got) - len, "%s%s", len ? " " : "",
                         s[k].name);
        }
        assert_string_equal(got, cases[i].node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded), cmocka_unit_test(test_convert),
        cmocka_unit_test(test_no_watts), cmocka_unit_test(test_names),
        cmocka_unit_test(test_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
