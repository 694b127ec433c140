/* The yearly table compared with its source file, and the parser of factors. */
#include "carbon/table.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Values from CodeCarbon's documentation and its JSON file. */
static const struct {
    const char *code, *iso3, *name;
    uint32_t mg;
    unsigned year;
} known[] = {
    {"FRA", "FRA", "France", 56039, 2023},
    {"fr", "FRA", "France", 56039, 2023},
    {"DEU", "DEU", "Germany", 380950, 2023},
    {"GB", "GBR", "United Kingdom", 237589, 2023},
    {"USA", "USA", "United States", 369473, 2023},
    {"in", "IND", "India", 713441, 2023},
    {"jpn", "JPN", "Japan", 485392, 2023},
    {"EH", "ESH", "Western Sahara", 0, 2009}, /* value not checked */
};

static void test_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(known); i++) {
        const struct bj_country *c =
            bj_carbon_country(bj_slice_str(known[i].code));
        struct bj_factor f;
        assert_non_null(c);
        assert_string_equal(c->iso3, known[i].iso3);
        assert_string_equal(c->name, known[i].name);
        assert_int_equal(c->year, known[i].year);
        assert_true(bj_carbon_country_factor(c, &f));
        if (known[i].mg)
            assert_int_equal(f.mg_per_kwh, known[i].mg);
        assert_int_equal(f.kind, BJ_FACTOR_LIFECYCLE);
        assert_int_equal(f.from, BJ_FACTOR_YEAR);
        assert_int_equal(f.year, known[i].year);
        assert_string_equal(f.country, c->iso2);
    }
}

/* A value of 0 is unknown, such as that of the Central African Republic. */
static void test_unknown(void **state)
{
    (void)state;
    static const char *const codes[] = {"",     "F",  "XX",    "ZZ",
                                        "FRAN", "F ", "France"};
    for (size_t i = 0; i < COUNT(codes); i++)
        assert_null(bj_carbon_country(bj_slice_str(codes[i])));
    const struct bj_country *c = bj_carbon_country(BJ_SLICE("CAF"));
    struct bj_factor f;
    assert_non_null(c);
    assert_int_equal(c->mg_per_kwh, 0);
    assert_false(bj_carbon_country_factor(c, &f));
}

/* Each row equals that of the file, read here with other code. */
static void test_file(void **state)
{
    (void)state;
    static char buf[65536];
    struct bj_slice rest, line;
    assert_int_equal(bj_file_read(AT_FDCWD, "carbon/factors.csv", buf,
                                  sizeof(buf), &rest, NULL),
                     0);
    size_t n = 0;
    while (bj_slice_line(&rest, &line)) {
        struct bj_slice f[5];
        if (line.p[0] == '#' || bj_slice_starts(line, BJ_SLICE("iso3,")))
            continue;
        for (int k = 0; k < 5; k++)
            assert_true(bj_slice_field(&line, ',', &f[k]));
        char number[32] = "";
        memcpy(number, f[4].p, f[4].n);
        const struct bj_country *c = bj_carbon_country(f[0]);
        assert_non_null(c);
        assert_true(bj_slice_eq(f[0], bj_slice_str(c->iso3)));
        assert_true(bj_slice_eq(f[1], bj_slice_str(c->iso2)));
        assert_true(bj_slice_eq(f[2], bj_slice_str(c->name)));
        double mg = strtod(number, NULL) * 1000;
        assert_true(mg - c->mg_per_kwh < 0.5);
        assert_true(c->mg_per_kwh - mg < 0.5);
        n++;
    }
    assert_int_equal(n, 213);
}

static const struct {
    const char *text;
    int r;
    uint32_t mg;
} grams[] = {
    {"56.039", 0, 56039},   {"56", 0, 56000},         {" 56.0 ", 0, 56000},
    {"5.6039e1", 0, 56039}, {"0.001", 0, 1},          {"0.0005", 0, 1},
    {"0.0004", -ERANGE, 0}, {"0", -ERANGE, 0},        {"-5", -ERANGE, 0},
    {"5000", 0, 5000000},   {"5000.001", -ERANGE, 0}, {"1e30", -ERANGE, 0},
    {"", -ENOENT, 0},       {"x", -EINVAL, 0},        {"5,6", -EINVAL, 0},
    {"56 g", -EINVAL, 0},   {"NaN", -EINVAL, 0},      {"0x10", -EINVAL, 0},
};

static void test_grams(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(grams); i++) {
        uint32_t mg = 0;
        print_message("# '%s'\n", grams[i].text);
        assert_int_equal(bj_factor_grams(bj_slice_str(grams[i].text), &mg),
                         grams[i].r);
        assert_int_equal(mg, grams[i].mg);
    }
}

static void test_names(void **state)
{
    (void)state;
    enum bj_factor_kind kind;
    for (unsigned k = 0; k < BJ_FACTOR_KINDS; k++) {
        const char *name = bj_factor_kind_name((enum bj_factor_kind)k);
        assert_int_equal(bj_factor_kind_parse(bj_slice_str(name), &kind), 0);
        assert_int_equal(kind, k);
    }
    assert_int_equal(bj_factor_kind_parse(BJ_SLICE("average"), &kind), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_file),  cmocka_unit_test(test_grams),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
