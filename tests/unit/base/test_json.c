/* The JSON parser that builds trees. The documents are those of RFC 8259 or of
 * Slurm 22.05, PBS and Redfish services; expected numbers were computed with
 * bc(1). */
#include "base/json.h"
#include "tests/unit/lib/fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct bj_arena arena;

/* Parse a copy of exactly its size, so that the address sanitizer detects reads
 * past its end. */
static int parse(struct bj_slice s, const struct bj_json_limits *lim,
                 const struct bj_json **ret, struct bj_err *err)
{
    char *exact = malloc(s.n + !s.n);
    memcpy(exact, s.p, s.n);
    int r = bj_json_parse(&arena, (struct bj_slice){exact, s.n}, "doc", lim,
                          ret, err);
    memset(exact, 'x', s.n); /* the tree must not refer to it */
    free(exact);
    return r;
}

static const struct bj_json *good(const char *text)
{
    const struct bj_json *v = NULL;
    struct bj_err err = {0};
    int r = parse(bj_slice_str(text), NULL, &v, &err);
    if (r != 0)
        fail_msg("%s: %d %s", text, r, err.msg);
    assert_non_null(v);
    return v;
}

static int reset(void **state)
{
    (void)state;
    bj_arena_free(&arena);
    return 0;
}

static void assert_text(const struct bj_json *v, const char *want)
{
    struct bj_slice got = bj_json_text(v);
    assert_non_null(got.p);
    assert_string_equal(got.p, want);
    assert_int_equal(got.n, strlen(want));
}

static const char job[] =
    "{ \"meta\": {\"plugin\": {\"type\": \"openapi\\/v0.0.38\"},\n"
    "  \"Slurm\": {\"version\": {\"major\": 22, \"micro\": 8, \"minor\": "
    "5}}},\n"
    "  \"errors\": [ ],\n"
    "  \"jobs\": [ {\"job_id\": 7, \"name\": \"Br\\u00fccke \\ud83c\\udf09\",\n"
    "     \"tres\": null, \"exclusive\": false, \"nice\": -5,\n"
    "     \"time_limit\": {\"set\": true, \"infinite\": false, "
    "\"number\": 120}},\n"
    "   {\"job_id\": 18446744073709551615, \"prio\": 1.5e3} ] }\n";

static void navigation(void **state)
{
    (void)state;
    const struct bj_json *d = good(job), *jobs = bj_json_get(d, "jobs");
    assert_int_equal(bj_json_kind(d), BJ_JSON_OBJECT);
    assert_int_equal(bj_json_len(d), 3);
    assert_int_equal(bj_json_kind(jobs), BJ_JSON_ARRAY);
    assert_int_equal(bj_json_len(jobs), 2);
    assert_int_equal(bj_json_len(bj_json_get(d, "errors")), 0);
    assert_null(bj_json_first(bj_json_get(d, "errors")));
    assert_text(bj_json_path(d, "meta.plugin.type"), "openapi/v0.0.38");
    assert_text(bj_json_path(d, "/meta/Slurm/version/minor"), "5");
    assert_text(bj_json_path(d, "jobs.0.name"), "Br\xc3\xbc"
                                                "cke \xf0\x9f\x8c\x89");
    assert_text(bj_json_path(d, "jobs.1.job_id"), "18446744073709551615");
    assert_ptr_equal(bj_json_path(d, ""), d);
    assert_null(bj_json_path(d, "jobs.2"));
    assert_null(bj_json_path(d, "jobs.00x"));
    assert_null(bj_json_path(d, "jobs.-1"));
    assert_null(bj_json_path(d, "jobs.0.name.0"));
    assert_null(bj_json_path(d, "jobs.18446744073709551616"));
    assert_null(bj_json_path(NULL, "a.b"));
    assert_true(bj_json_is_null(bj_json_path(d, "jobs.0.tres")));
    assert_false(bj_json_is_null(bj_json_path(d, "jobs.0.gres")));

    static const char *const keys[] = {"meta", "errors", "jobs"};
    size_t n = 0;
    BJ_JSON_EACH(m, d)
    {
        assert_string_equal(bj_json_key(m).p, keys[n++]);
    }
    assert_int_equal(n, 3);
    assert_null(bj_json_key(bj_json_at(jobs, 0)).p);
    assert_null(bj_json_at(jobs, 2));
    assert_text(bj_json_get(bj_json_at(jobs, 1), "prio"), "1.5e3");
}

static void null_values_are_accepted(void **state)
{
    uint64_t u = 3;
    int64_t i = 3;
    bool b = true;
    (void)state;
    assert_int_equal(bj_json_kind(NULL), BJ_JSON_NONE);
    assert_string_equal(bj_json_kind_name(NULL), "nothing");
    assert_null(bj_json_get(NULL, "a"));
    assert_null(bj_json_at(NULL, 0));
    assert_null(bj_json_first(NULL));
    assert_null(bj_json_next(NULL));
    assert_int_equal(bj_json_len(NULL), 0);
    assert_null(bj_json_text(NULL).p);
    assert_null(bj_json_key(NULL).p);
    assert_int_equal(bj_json_u64(NULL, &u), -ENOENT);
    assert_int_equal(bj_json_i64(NULL, &i), -ENOENT);
    assert_int_equal(bj_json_fixed(NULL, 3, &i), -ENOENT);
    assert_int_equal(bj_json_bool(NULL, &b), -ENOENT);
    assert_int_equal(bj_json_slurm_u64(NULL, &u), -ENOENT);
    assert_int_equal(u, 3);
    assert_int_equal(i, 3);
    assert_true(b);
    /* Values of the wrong kind. */
    const struct bj_json *n = good("5");
    assert_null(bj_json_get(n, "a"));
    assert_null(bj_json_first(n));
    assert_null(bj_json_at(n, 0));
    assert_null(bj_json_get(good("[1]"), "0"));
}

static void keys(void **state)
{
    (void)state;
    /* Of two equal keys the last one counts, as in other parsers. */
    const struct bj_json *d =
        good("{\"a\":1,\"b\":2,\"a\":3,\"\":4,\"x.y\":5,\"x/y\":6,"
             "\"@odata.id\":\"/redfish/v1\",\"n\\u0000l\":7}");
    assert_text(bj_json_get(d, "a"), "3");
    assert_int_equal(bj_json_len(d), 8);
    assert_text(bj_json_get(d, ""), "4");
    assert_text(bj_json_path(d, "/"), "4");
    assert_text(bj_json_path(d, "/x.y"), "5");
    assert_null(bj_json_path(d, "x.y"));
    assert_text(bj_json_path(d, "x/y"), "6");
    assert_text(bj_json_path(d, "/@odata.id"), "/redfish/v1");
    assert_text(bj_json_find(d, (struct bj_slice){"n\0l", 3}), "7");
    assert_null(bj_json_get(d, "n"));
}

static void odd_strings(void **state)
{
    (void)state;
    /* Latin 1 and an unpaired surrogate, as qstat passes them on. */
    assert_text(good("\"M\xfcller\""), "M\xfcller");
    assert_int_equal(bj_json_kind(good("\"\\ud83c\"")), BJ_JSON_STRING);
    assert_text(good("\"\""), "");
    struct bj_slice nul = bj_json_text(good("\"a\\u0000b\""));
    assert_int_equal(nul.n, 3);
    assert_memory_equal(nul.p, "a\0b", 4);
    assert_text(good(" \t\r\n\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"\n"),
                "\"\\/\b\f\n\r\t");
}

static void bad_documents(void **state)
{
    static const struct {
        const char *text, *where;
    } cases[] = {
        {"", "doc: line 1, byte 0: premature EOF"},
        {"  ", "doc: line 1, byte 2: premature EOF"},
        {"{\"a\":1,\n \"b\" 2}", "doc: line 2, byte 6: object key and value "
                                 "must be separated by a colon (':')"},
        {"{\"a\":1,}", NULL},
        {"[1,]", NULL},
        {"[1 2]", "doc: line 1, byte 4: after array element, I expect ',' or "
                  "']'"},
        {"[1", NULL},
        {"{\"a\"", NULL},
        {"{a:1}", NULL},
        {"[01]", NULL},
        {"[1.]", NULL},
        {"[.5]", NULL},
        {"[+1]", NULL},
        {"[1e]", NULL},
        {"[-]", NULL},
        {"[NaN]", NULL},
        {"[Infinity]", NULL},
        {"[tru]", NULL},
        {"[\"a\nb\"]", NULL},
        {"[\"\\x\"]", NULL},
        {"[\"\\u12g4\"]", NULL},
        {"[\"abc", NULL},
        {"1 2", NULL},
        {"{} x", NULL},
        {"// c\n1", NULL},
        {"<html>", NULL},
        {"]", NULL},
        {"[}", NULL},
        {"\xef\xbb\xbf{}", NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct bj_json *v = NULL;
        struct bj_err err = {0};
        int r = parse(bj_slice_str(cases[i].text), NULL, &v, &err);
        if (r != -EINVAL || v)
            fail_msg("%s: %d", cases[i].text, r);
        assert_int_equal(err.code, -EINVAL);
        assert_memory_equal(err.msg, "doc: line ", 10);
        if (cases[i].where)
            assert_string_equal(err.msg, cases[i].where);
        assert_int_equal(bj_json_parse(&arena, bj_slice_str(cases[i].text),
                                       "doc", NULL, &v, NULL),
                         -EINVAL);
    }
    const struct bj_json *v;
    assert_int_equal(parse((struct bj_slice){"1\0", 2}, NULL, &v, NULL),
                     -EINVAL);
}

static void limits(void **state)
{
    static const struct {
        struct bj_json_limits lim;
        const char *text;
        int want;
        const char *msg;
    } cases[] = {
        {{.depth = 2}, "[[1],{}]", 0, NULL},
        {{.depth = 2},
         "[[1],\n{\"a\":[]}]",
         -EFBIG,
         "doc: line 2, byte 6: more than 2 nested arrays and objects"},
        {{.values = 4}, "[1,2,{}]", 0, NULL},
        {{.values = 3},
         "[1,2,{}]",
         -EFBIG,
         "doc: line 1, byte 6: more than 3 values"},
        {{.bytes = 8}, "[1,2,{}]", 0, NULL},
        {{.bytes = 7}, "[1,2,{}]", -EFBIG, "doc: larger than 7 bytes"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct bj_json *v = NULL;
        struct bj_err err = {0};
        int r = parse(bj_slice_str(cases[i].text), &cases[i].lim, &v, &err);
        assert_int_equal(r, cases[i].want);
        if (cases[i].msg)
            assert_string_equal(err.msg, cases[i].msg);
    }
    /* 64 levels are the default limit and also the maximum. */
    char deep[131];
    struct bj_json_limits many = {.depth = 1000};
    const struct bj_json *v;
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    assert_int_equal(parse((struct bj_slice){deep + 1, 128}, NULL, &v, NULL),
                     0);
    assert_int_equal(parse((struct bj_slice){deep, 130}, NULL, &v, NULL),
                     -EFBIG);
    assert_int_equal(parse((struct bj_slice){deep, 130}, &many, &v, NULL),
                     -EFBIG);
}

enum { N = 1 << 20 };

static void a_million_open_brackets(void **state)
{
    (void)state;
    char *deep = malloc(N);
    const struct bj_json *v;
    memset(deep, '[', N);
    assert_int_equal(parse((struct bj_slice){deep, N}, NULL, &v, NULL), -EFBIG);
    free(deep);
}

static void booleans(void **state)
{
    static const struct {
        const char *text;
        int want, value;
    } cases[] = {
        {"true", 0, 1},          {"false", 0, 0},      {"\"True\"", 0, 1},
        {"\"FALSE\"", 0, 0},     {"1", 0, 1},          {"0", 0, 0},
        {"\"1\"", 0, 1},         {"null", -ENOENT, 0}, {"\"\"", -ENOENT, 0},
        {"\"yes\"", -EINVAL, 0}, {"2", -EINVAL, 0},    {"[]", -EINVAL, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool b = !cases[i].value;
        assert_int_equal(bj_json_bool(good(cases[i].text), &b), cases[i].want);
        assert_int_equal(b, cases[i].want ? !cases[i].value : cases[i].value);
    }
}

static void slurm_numbers(void **state)
{
    static const struct {
        const char *text;
        int want;
        uint64_t value;
    } cases[] = {
        {"{\"set\":true,\"infinite\":false,\"number\":120}", 0, 120},
        {"{\"set\":false,\"infinite\":true,\"number\":0}", 1, 0},
        {"{\"set\":false,\"infinite\":false,\"number\":0}", -ENOENT, 0},
        {"{\"set\":true,\"number\":120}", 0, 120},
        {"{\"set\":true,\"infinite\":false}", -ENOENT, 0},
        {"{\"set\":true,\"infinite\":false,\"number\":-1}", -ERANGE, 0},
        {"{\"set\":5,\"infinite\":false,\"number\":1}", -EINVAL, 0},
        {"{}", -EINVAL, 0},
        {"[]", -EINVAL, 0},
        {"120", 0, 120},
        {"null", -ENOENT, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t v = 9;
        int r = bj_json_slurm_u64(good(cases[i].text), &v);
        assert_int_equal(r, cases[i].want);
        assert_int_equal(v, r == 0 ? cases[i].value : 9);
    }
}

static const struct {
    const char *text;
    unsigned digits;
    int want;
    int64_t value;
} number_cases[] = {
    {"56.039", 3, 0, 56039},
    {"\"56.039\"", 3, 0, 56039},
    {"\" 56.039\\n\"", 3, 0, 56039},
    {"56.0394", 3, 0, 56039},
    {"56.0395", 3, 0, 56040},
    {"-56.0395", 3, 0, -56040},
    {"-56.03949999", 3, 0, -56039},
    {"5.6039e1", 3, 0, 56039},
    {"5603900E-5", 3, 0, 56039},
    {"4.2e1", 0, 0, 42},
    {"2.5", 0, 0, 3},
    {"-2.5", 0, 0, -3},
    {"0.4999999999999999999999999", 0, 0, 0},
    {"1e-999999999999999999999999", 18, 0, 0},
    {"0e999999999999999999999999", 18, 0, 0},
    {"-0", 0, 0, 0},
    {"-0.4", 0, 0, 0},
    {"0.05", 1, 0, 1},
    {"0.05", 0, 0, 0},
    {"0.005", 1, 0, 0},
    {"9223372036854775807", 0, 0, INT64_MAX},
    {"9223372036854775807.4", 0, 0, INT64_MAX},
    {"9223372036854775807.5", 0, -ERANGE, 0},
    {"-9223372036854775808", 0, 0, INT64_MIN},
    {"-9223372036854775809", 0, -ERANGE, 0},
    {"9223372036854775808", 0, -ERANGE, 0},
    {"9.3", 18, -ERANGE, 0},
    {"9.2", 18, 0, 9200000000000000000},
    {"1e18", 0, 0, 1000000000000000000},
    {"1e19", 0, -ERANGE, 0},
    {"1e999999999999999999999999", 0, -ERANGE, 0},
    {"100000000000000000000000e-23", 0, 0, 1},
    {"0.00000000000000000000000000001e29", 0, 0, 1},
    {"\"+5\"", 0, 0, 5},
    {"\".5\"", 1, 0, 5},
    {"\"5.\"", 0, 0, 5},
    {"\"007\"", 0, 0, 7},
    {"null", 0, -ENOENT, 0},
    {"\"\"", 0, -ENOENT, 0},
    {"\"  \"", 0, -ENOENT, 0},
    {"\".\"", 0, -EINVAL, 0},
    {"\"-\"", 0, -EINVAL, 0},
    {"\"e5\"", 0, -EINVAL, 0},
    {"\"5e\"", 0, -EINVAL, 0},
    {"\"5e+\"", 0, -EINVAL, 0},
    {"\"--5\"", 0, -EINVAL, 0},
    {"\"5 6\"", 0, -EINVAL, 0},
    {"\"5W\"", 0, -EINVAL, 0},
    {"\"0x10\"", 0, -EINVAL, 0},
    {"\"1,5\"", 0, -EINVAL, 0},
    {"\"nan\"", 0, -EINVAL, 0},
    {"\"5\\u0000\"", 0, -EINVAL, 0},
    {"true", 0, -EINVAL, 0},
    {"[5]", 0, -EINVAL, 0},
};

static void fixed_point_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(number_cases); i++) {
        int64_t v = 77;
        int r = bj_json_fixed(good(number_cases[i].text),
                              number_cases[i].digits, &v);
        if (r != number_cases[i].want ||
            v != (r == 0 ? number_cases[i].value : 77))
            fail_msg("%s: %d, %lld", number_cases[i].text, r, (long long)v);
    }
}

static void unsigned_numbers(void **state)
{
    static const struct {
        const char *text;
        int want;
        uint64_t value;
    } cases[] = {
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551615.5", -ERANGE, 0},
        {"18446744073709551616", -ERANGE, 0},
        {"1.8446744073709551615e19", 0, UINT64_MAX},
        {"1.8446744073709551614e19", 0, UINT64_MAX - 1},
        {"9007199254740993", 0,
         9007199254740993}, /* no double has this value */
        {"-1", -ERANGE, 0},
        {"-0", 0, 0},
        {"-0.1", 0, 0},
        {"-0.5", -ERANGE, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t v = 77;
        int r = bj_json_u64(good(cases[i].text), &v);
        if (r != cases[i].want || v != (r == 0 ? cases[i].value : 77))
            fail_msg("%s: %d, %llu", cases[i].text, r, (unsigned long long)v);
    }
    assert_int_equal(bj_json_u64_or(good("17"), 4), 17);
    assert_int_equal(bj_json_u64_or(good("{}"), 4), 4);
    int64_t i = 0;
    assert_int_equal(bj_json_i64(good("-17"), &i), 0);
    assert_int_equal(i, -17);
}

static int parse_once(void *arg)
{
    struct bj_arena a = {0};
    const struct bj_json *v = NULL;
    struct bj_err err = {0};
    int r = bj_json_parse(&a, bj_slice_str(arg), "doc", NULL, &v, &err);
    assert_int_equal(err.code, r);
    if (r == 0)
        assert_text(bj_json_path(v, "a.0"), "tab\ttab");
    bj_arena_free(&a);
    return r;
}

static void no_memory(void **state)
{
    (void)state;
    static const char head[] = "{\"a\":[\"tab\\ttab\"],\"",
                      tail[] = "\\n\":[[{}]]}";
    char text[20000];
    memset(text, 'a', sizeof(text)); /* a key that yajl must buffer */
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + sizeof(text) - sizeof(tail), tail, sizeof(tail));
    assert_true(bj_fail_each(parse_once, text) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(navigation, reset),
        cmocka_unit_test_teardown(null_values_are_accepted, reset),
        cmocka_unit_test_teardown(keys, reset),
        cmocka_unit_test_teardown(odd_strings, reset),
        cmocka_unit_test_teardown(bad_documents, reset),
        cmocka_unit_test_teardown(limits, reset),
        cmocka_unit_test_teardown(a_million_open_brackets, reset),
        cmocka_unit_test_teardown(booleans, reset),
        cmocka_unit_test_teardown(slurm_numbers, reset),
        cmocka_unit_test_teardown(fixed_point_numbers, reset),
        cmocka_unit_test_teardown(unsigned_numbers, reset),
        cmocka_unit_test_teardown(no_memory, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
