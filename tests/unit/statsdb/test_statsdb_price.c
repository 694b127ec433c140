/* Prices: valid options, storing, and how amounts of money are printed. */
#include "tests/unit/statsdb/test_statsdb_derive.h"

#include "report/model/show.h"
#include "statsdb/derive/price.h"

static void set(struct derive_rig *w, const char *currency, const char *cpu,
                const char *kwh)
{
    char text[3][40];
    snprintf(text[0], 40, "%s", currency);
    snprintf(text[1], 40, "%s", cpu);
    snprintf(text[2], 40, "%s", kwh);
    OK(bj_prices_write(w->s,
                       &(struct bj_report_conf){.currency = text[0],
                                                .cpu_hour = text[1],
                                                .kwh = text[2]},
                       &err));
}

static void test_store(void **state)
{
    struct derive_rig *w = *state;
    struct bj_prices p;
    OK(bj_prices_read(bj_store_db(w->s), &p, &err));
    assert_true(p.cpu_hour == BJ_SQL_NULL && p.kwh == BJ_SQL_NULL);
    set(w, "a <b>", "0.015", "0");
    OK(bj_prices_read(bj_store_db(w->s), &p, &err));
    assert_string_equal(p.currency, "a <b>");
    assert_int_equal(p.cpu_hour, 15000);
    assert_int_equal(p.kwh, 0);
    assert_true(p.gpu_hour == BJ_SQL_NULL && p.gib_hour == BJ_SQL_NULL);
    /* Without a price no currency is stored. */
    set(w, "EUR", "", "");
    assert_int_equal(number(w->s, "SELECT count(*) FROM price"), 0);
}

static void test_options(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value;
        int code;
    } cases[] = {{"price.cpu-hour", "0.01", 0},
                 {"price.cpu-hour", "1000000", 0},
                 {"price.kwh", "0.000001", 0},
                 {"price.cpu-hour", "-1", -EINVAL},
                 {"price.gpu-hour", "1000000.1", -EINVAL},
                 {"price.gib-hour", "1,5", -EINVAL},
                 {"price.kwh", "0.3 EUR", -EINVAL},
                 {"price.kwh", "nan", -EINVAL},
                 {"price.currency", "\xe2\x82\xac", 0},
                 {"price.currency", "a\nb", -EINVAL},
                 {"price.currency", "a currency of 25 letters", 0},
                 {"price.currency", "a currency of 26 letters.", -EINVAL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_report_conf conf = {.currency = NULL};
        struct bj_optset set = {bj_report_opts, &conf};
        int code = bj_opt_set(&set, 1, bj_slice_str(cases[i].option),
                              bj_slice_str(cases[i].value), &err);
        if (code != cases[i].code)
            fail_msg("%s: %d", cases[i].value, code);
        if (code < 0)
            assert_non_null(strstr(err.msg, cases[i].option));
        bj_opt_free(&set);
    }
}

static void test_money(void **state)
{
    (void)state;
    static const struct {
        int64_t micro;
        const char *currency, *text;
    } cases[] = {{1234567, "EUR", "1.23 EUR"}, {1235000, "EUR", "1.24 EUR"},
                 {0, "EUR", "0.00 EUR"},       {4999, "EUR", "0.004999 EUR"},
                 {5000, "", "0.01"},           {BJ_SQL_NULL, "EUR", "-"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_buf b = {0};
        bj_show_unit(&b, bj_slice_str(cases[i].currency), cases[i].micro);
        bj_buf_put(&b, "", 1);
        assert_string_equal(b.p, cases[i].text);
        bj_buf_free(&b);
    }
    struct bj_buf b = {0};
    bj_show_unit_html(&b, BJ_SLICE("<b>&"), 1000000);
    bj_buf_put(&b, "", 1);
    assert_string_equal(b.p, "1.00 &lt;b&gt;&amp;");
    bj_buf_free(&b);
}

static int open_store(void **state)
{
    struct derive_rig *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    derive_rig_open(w);
    *state = w;
    return 0;
}

static int close_store(void **state)
{
    derive_rig_close(*state);
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_money),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
