/* Responses of providers: documented formats and invalid responses.
 * tests/fixtures/carbon/README.md has the sources of the formats. */
#include "carbon/provider.h"

#include "base/file.h"
#include "carbon/reply.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DIR "tests/fixtures/carbon/"
#define T15 1795186800u /* 2026-11-20T15:00:00Z, by date(1) */

enum { ROWS = 8 };

/* A file and its points, in its order. */
static const struct {
    const char *file, *provider, *zone;
    size_t n, unknown;
    struct bj_carbon_point v[ROWS];
} good[] = {
    {"rte.json",
     "rte",
     "FR",
     4,
     2,
     {{T15, 0, 900, 31000, BJ_FACTOR_DIRECT, false},
      {T15 - 900, 0, 900, 30500, BJ_FACTOR_DIRECT, false},
      {T15 - 1800, 0, 900, 29000, BJ_FACTOR_DIRECT, false},
      {T15 - 3600, 0, 900, 28000, BJ_FACTOR_DIRECT, false}}},
    {"emaps.json",
     "electricitymaps",
     "DE",
     1,
     0,
     {{T15, 0, 3600, 302000, BJ_FACTOR_LIFECYCLE, true}}},
    {"emaps-history.json",
     "electricitymaps",
     "DE",
     2,
     1,
     {{T15 - 7200, 0, 3600, 298000, BJ_FACTOR_DIRECT, false},
      {T15, 0, 3600, 302700, BJ_FACTOR_DIRECT, true}}},
    {"neso.json",
     "neso",
     "GB",
     3,
     1,
     {{T15 - 3600, 0, 1800, 263000, BJ_FACTOR_DIRECT, false},
      {T15 - 1800, 0, 1800, 259000, BJ_FACTOR_DIRECT, false},
      {T15, 0, 1800, 258000, BJ_FACTOR_DIRECT, true}}},
    /* 870 and 955.25 lb/MWh times 453.59237 */
    {"watttime.json",
     "watttime",
     "CAISO_NORTH",
     2,
     2,
     {{T15 - 300, 0, 300, 394625, BJ_FACTOR_MARGINAL, false},
      {T15, 0, 300, 433294, BJ_FACTOR_MARGINAL, false}}},
};

static struct bj_carbon_reply reply;

static int parse(const char *provider, const char *zone, struct bj_slice text,
                 struct bj_err *err)
{
    return bj_carbon_provider(bj_slice_str(provider))
        ->parse(text, zone, &reply, err);
}

static struct bj_slice load(const char *file, char *buf, size_t cap)
{
    char path[128];
    struct bj_slice s;
    snprintf(path, sizeof(path), DIR "%s", file);
    assert_int_equal(bj_file_read(AT_FDCWD, path, buf, cap, &s, NULL), 0);
    return s;
}

static void same_point(const struct bj_carbon_point *a,
                       const struct bj_carbon_point *b)
{
    assert_int_equal(a->start_sec, b->start_sec);
    assert_int_equal(a->len_sec, b->len_sec);
    assert_int_equal(a->mg_per_kwh, b->mg_per_kwh);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->estimated, b->estimated);
}

static void test_documented(void **state)
{
    (void)state;
    char buf[8192];
    for (size_t i = 0; i < COUNT(good); i++) {
        struct bj_err err = {0};
        print_message("# %s\n", good[i].file);
        struct bj_slice s = load(good[i].file, buf, sizeof(buf));
        assert_int_equal(parse(good[i].provider, good[i].zone, s, &err), 0);
        assert_int_equal(reply.n, good[i].n);
        assert_int_equal(reply.unknown, good[i].unknown);
        for (size_t k = 0; k < reply.n; k++)
            same_point(&reply.v[k], &good[i].v[k]);
    }
}

/* Valid texts, and their numbers of known and unknown values. */
static const struct {
    const char *provider, *zone, *text;
    size_t n, unknown;
} lenient[] = {
    {"rte", "FR", "{\"total_count\":0,\"results\":[]}", 0, 0},
    {"rte", "FR", "{\"results\":[{},null,5,[],\"x\"]}", 0, 5},
    {"rte", "FR",
     "{\"results\":[{\"taux_co2\":\" 31.5 \",\"date_heure\":\"2026-11-20T15:"
     "00:00Z\",\"more\":[1,{}]}],\"new\":true}",
     1, 0},
    {"rte", "FR",
     "{\"results\":[{\"taux_co2\":3.15e1,\"date_heure\":\"2026-11-20 15:00:"
     "00+00\"}]}",
     1, 0},
    /* not a number, not a time, out of range */
    {"rte", "FR",
     "{\"results\":[{\"taux_co2\":\"NaN\",\"date_heure\":\"2026-11-20T15:00:"
     "00Z\"},{\"taux_co2\":31,\"date_heure\":\"today\"},{\"taux_co2\":31},"
     "{\"taux_co2\":5001,\"date_heure\":\"2026-11-20T15:00:00Z\"},"
     "{\"taux_co2\":-1,\"date_heure\":\"2026-11-20T15:00:00Z\"},"
     "{\"taux_co2\":1e300,\"date_heure\":\"2026-11-20T15:00:00Z\"},"
     "{\"taux_co2\":0.0004,\"date_heure\":\"2026-11-20T15:00:00Z\"},"
     "{\"taux_co2\":31,\"date_heure\":\"1969-12-31T23:00:00Z\"}]}",
     0, 8},
    {"electricitymaps", "FR",
     "{\"zone\":\"FR\",\"carbonIntensity\":null,\"datetime\":\"2026-11-20T15:"
     "00:00Z\"}",
     0, 1},
    {"electricitymaps", "FR",
     "{\"carbonIntensity\":\"56\",\"datetime\":\"2026-11-20T15:00:00Z\"}", 1,
     0},
    {"electricitymaps", "FR", "{\"zone\":\"FR\",\"history\":[]}", 0, 0},
    {"neso", "GB", "{\"data\":[]}", 0, 0},
    {"neso", "GB", "{\"data\":[{\"intensity\":7},{\"intensity\":null}]}", 0, 2},
    {"watttime", "X", "{\"data\":[],\"meta\":{}}", 0, 0},
};

static void test_lenient(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lenient); i++) {
        struct bj_err err = {0};
        print_message("# %s\n", lenient[i].text);
        assert_int_equal(parse(lenient[i].provider, lenient[i].zone,
                               bj_slice_str(lenient[i].text), &err),
                         0);
        assert_int_equal(reply.n, lenient[i].n);
        assert_int_equal(reply.unknown, lenient[i].unknown);
    }
}

/* Invalid texts and a part of the error message. */
static const struct {
    const char *provider, *zone, *text, *message;
} bad[] = {
    {"rte", "FR", "", "answer"},
    {"rte", "FR", "null", "results: expected an array, got nothing"},
    {"rte", "FR", "[]", "results"},
    {"rte", "FR", "{\"error_code\":\"ODSQLError\",\"message\":\"x\"}",
     "results"},
    {"rte", "FR", "{\"results\":{}}", "expected an array, got object"},
    {"rte", "FR", "{\"results\":[{\"taux_co2\":31,", "answer"},
    {"rte", "FR", "<html>", "a page of HTML"},
    {"rte", "FR", " \r\n\xef\xbb\xbf<?xml", "a page of HTML"},
    {"rte", "FR", "Too many requests", "answer"},
    {"electricitymaps", "FR", "{\"status\":\"error\"}", "no carbonIntensity"},
    {"electricitymaps", "FR",
     "{\"zone\":\"DE\",\"carbonIntensity\":3,\"datetime\":\"2026-11-20T15:00:"
     "00Z\"}",
     "zone: 'DE' instead of 'FR'"},
    {"electricitymaps", "FR",
     "{\"zone\":\"FR\",\"carbonIntensity\":3,\"datetime\":\"2026-11-20T15:00:"
     "00Z\",\"emissionFactorType\":\"marginal\"}",
     "instead of 'lifecycle' or 'direct'"},
    {"electricitymaps", "FR", "{\"history\":3}", "history"},
    {"neso", "GB", "{\"data\":{}}", "data: expected an array"},
    {"neso", "GB", "{\"error\":{\"code\":\"400 Bad Request\"}}", "data"},
    {"watttime", "X", "{\"data\":[],\"meta\":{\"units\":\"percentile\"}}",
     "meta.units"},
    {"watttime", "X", "{\"data\":[],\"meta\":{\"signal_type\":\"co2_aoer\"}}",
     "meta.signal_type"},
    {"watttime", "X", "{\"data\":[],\"meta\":{\"region\":\"Y\"}}",
     "meta.region"},
    {"watttime", "X", "{\"data\":[],\"meta\":{\"region\":\"X_NORTH\"}}",
     "meta.region"},
    {"watttime", "X", "{\"data\":[],\"meta\":{\"units\":\"lbs_co2_per_kwh\"}}",
     "meta.units"},
    {"watttime", "X", "{\"meta\":{}}", "data: expected"},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bj_err err = {0};
        int r = parse(bad[i].provider, bad[i].zone, bj_slice_str(bad[i].text),
                      &err);
        print_message("# %s: %s\n", bad[i].text, err.msg);
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(err.msg, bad[i].message));
    }
}

/* All parsers reject an HTML page and every truncated response. */
static void test_truncated(void **state)
{
    (void)state;
    char buf[8192], page[2048];
    struct bj_slice html = load("portal.html", page, sizeof(page));
    for (size_t i = 0; i < COUNT(good); i++) {
        struct bj_slice s = load(good[i].file, buf, sizeof(buf));
        s = bj_slice_trim(s);
        assert_int_equal(parse(good[i].provider, good[i].zone, html, NULL),
                         -EINVAL);
        for (size_t n = 0; n < s.n; n++)
            assert_int_equal(parse(good[i].provider, good[i].zone,
                                   (struct bj_slice){s.p, n}, NULL),
                             -EINVAL);
    }
}

/* More rows than fit are ignored; too much text is an error. */
static void test_huge(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    bj_buf_str(&b, "{\"results\":[");
    for (int i = 0; i < 2000; i++)
        bj_buf_printf(&b,
                      "%s{\"taux_co2\":%d,\"date_heure\":\"2026-11-20T15:"
                      "00:00Z\"}",
                      i ? "," : "", i + 1);
    size_t end = b.len;
    bj_buf_str(&b, "]}");
    assert_int_equal(parse("rte", "FR", (struct bj_slice){b.p, b.len}, NULL),
                     0);
    assert_int_equal(reply.n, BJ_CARBON_REPLY_POINTS);
    b.len = end;
    for (int i = 0; i < 300000; i++)
        bj_buf_str(&b, ",0");
    bj_buf_str(&b, "]}");
    struct bj_err err = {0};
    assert_int_equal(parse("rte", "FR", (struct bj_slice){b.p, b.len}, &err),
                     -EFBIG);
    bj_buf_free(&b);
}

static const struct {
    const char *text;
    int r;
    const char *token;
} logins[] = {
    {"{\"token\":\"abc.def-_\"}", 0, "abc.def-_"},
    {"{\"token\":\"a b\"}", -EINVAL, NULL},
    {"{\"token\":\"a\\r\\nHost: x\"}", -EINVAL, NULL},
    {"{\"token\":\"a\\u0000b\"}", -EINVAL, NULL},
    {"{\"token\":\"\"}", -EINVAL, NULL},
    {"{\"token\":null}", -EINVAL, NULL},
    {"{\"ok\":true}", -EINVAL, NULL},
    {"<html>", -EINVAL, NULL},
    {"{\"token\":\"0123456789012345\"}", -EINVAL, NULL},
};

static void test_login(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(logins); i++) {
        char tok[16] = "as it was";
        struct bj_err err = {0};
        print_message("# %s\n", logins[i].text);
        assert_int_equal(bj_carbon_login_parse(bj_slice_str(logins[i].text),
                                               tok, sizeof(tok), &err),
                         logins[i].r);
        assert_string_equal(tok,
                            logins[i].token ? logins[i].token : "as it was");
    }
}

/* URLs of requests, decoded and compared with the documentation by hand. */
static const struct {
    const char *provider, *zone, *url;
} urls[] = {
    {"rte", "FR",
     "https://h/p/api/explore/v2.1/catalog/datasets/eco2mix-national-tr/"
     "records?select=taux_co2%2Cdate_heure&where=date_heure%20in%20%5Bdate"
     "%272026-11-19%27%20TO%20now%28%29%5D%20and%20taux_co2%20is%20not%20null"
     "&order_by=date_heure%20desc&limit=100&offset=0&timezone=Europe%2FParis"},
    {"electricitymaps", "US-CAL-CISO",
     "https://h/p/v3/carbon-intensity/latest?zone=US-CAL-CISO"},
    {"neso", "GB", "https://h/p/intensity/2026-11-20T15:30Z/pt24h"},
    {"watttime", "CAISO_NORTH",
     "https://h/p/v3/historical?region=CAISO_NORTH&start=2026-11-20T13%3A00%"
     "3A07Z&end=2026-11-20T15%3A00%3A07Z&signal_type=co2_moer"},
};

static void test_urls(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(urls); i++) {
        struct bj_buf b = {0};
        struct bj_carbon_target target = {"https://h/p/", urls[i].zone,
                                          T15 + 7};
        bj_carbon_provider(bj_slice_str(urls[i].provider))->url(&target, &b);
        bj_buf_put(&b, "", 1);
        assert_string_equal(b.p, urls[i].url);
        bj_buf_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documented), cmocka_unit_test(test_lenient),
        cmocka_unit_test(test_bad),        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_huge),       cmocka_unit_test(test_login),
        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
