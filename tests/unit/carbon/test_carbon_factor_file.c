/* Factor files of a site: both formats, and all errors. */
#include "carbon/factor_file.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define T15 1795186800u /* 2026-11-20T15:00:00Z */
#define Y26 1767225600u /* 2026-01-01T00:00:00Z, by date(1) */
#define Y27 1798761600u

typedef int read_fn(struct bj_slice, const char *,
                    const struct bj_factor_rows *, struct bj_points *,
                    struct bj_err *);

/* The factors of France in both files. */
static const struct bj_carbon_point france[] = {
    {Y26, 7, Y27 - Y26, 45500, BJ_FACTOR_LIFECYCLE, false},
    {T15 - 3600, 7, 3600, 28250, BJ_FACTOR_DIRECT, false},
    {T15, 7, 3600, 31000, BJ_FACTOR_DIRECT, true},
    {T15, 7, 3600, 480000, BJ_FACTOR_MARGINAL, false},
};

static void check_file(read_fn *read, const char *file, const char *zone,
                       const struct bj_carbon_point *want, size_t n)
{
    static char buf[8192];
    struct bj_slice text;
    struct bj_points p = {0};
    struct bj_err err = {0};
    assert_int_equal(
        bj_file_read(AT_FDCWD, file, buf, sizeof(buf), &text, NULL), 0);
    assert_int_equal(
        read(text, file, &(struct bj_factor_rows){zone, 7}, &p, &err), 0);
    assert_int_equal(p.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(p.v[i].start_sec, want[i].start_sec);
        assert_int_equal(p.v[i].fetched_sec, want[i].fetched_sec);
        assert_int_equal(p.v[i].len_sec, want[i].len_sec);
        assert_int_equal(p.v[i].mg_per_kwh, want[i].mg_per_kwh);
        assert_int_equal(p.v[i].kind, want[i].kind);
        assert_int_equal(p.v[i].estimated, want[i].estimated);
    }
    bj_points_free(&p);
}

static void test_files(void **state)
{
    (void)state;
    static const struct bj_carbon_point germany = {
        T15 - 3600, 7, 3600, 350000, BJ_FACTOR_DIRECT, false};
    static const struct {
        read_fn *read;
        const char *file;
    } both[] = {{bj_factor_file_csv, "tests/fixtures/carbon/factors.csv"},
                {bj_factor_file_json, "tests/fixtures/carbon/factors.json"}};
    for (size_t i = 0; i < COUNT(both); i++) {
        check_file(both[i].read, both[i].file, "FR", france, COUNT(france));
        check_file(both[i].read, both[i].file, "FRA", france, COUNT(france));
        check_file(both[i].read, both[i].file, "DE", &germany, 1);
        check_file(both[i].read, both[i].file, "US", NULL, 0);
    }
}

#define HEAD "zone,kind,start,end,g_per_kwh\n"
#define ROW "FR,marginal,2026-11-20T14:00:00Z,2026-11-20T15:00:00Z,5\n"

/* Valid texts, and the number of rows for zone FR. */
static const struct {
    const char *text;
    size_t n;
} good_csv[] = {
    {HEAD, 0},
    {"#c\n\n" HEAD ROW, 1},
    {"zone,kind,start,end,g_per_kwh\r\n" ROW, 1},
    {"g_per_kwh , year,kind, zone\n5,2026,marginal,FR", 1},
    {"zone,kind,year,g_per_kwh,start,end\nFR,marginal,2026,5,,\n", 1},
    {HEAD ROW ROW, 1}, /* the same period twice: the last counts */
    {HEAD "FR,marginal,2026-11-20T15:00+01:00,2026-11-20T15:00Z,5\n", 1},
};

/* Invalid texts and a part of the error message. */
static const struct {
    const char *text, *message;
} bad_csv[] = {
    {"", "f:0: '': expected a line that names the columns"},
    {"\n# nothing\n", "f:2: '': expected a line that names the columns"},
    {"zone,kind\n", "f:1: columns: 'zone,kind': expected zone, kind and g"},
    {"zone,zone,kind,g_per_kwh\n", "f:1: column: 'zone': expected"},
    {"zone,kind,g_per_kwh,co2\n", "f:1: column: 'co2': expected"},
    {"<html>", "f:1: column: '<html>'"},
    {HEAD ROW "FR,marginal,5\n", "f:3: 'FR,marginal,5': fewer fields"},
    {HEAD ROW "FR,marginal,a,b,5,6\n", "f:3: 'FR,marginal,a,b,5,6': more"},
    {HEAD ",marginal,a,b,5\n", "f:2: zone: '': expected a name"},
    {HEAD "FR,average,a,b,5\n", "f:2: kind: 'average': expected average_l"},
    {HEAD "FR,marginal,a,b,0\n", "f:2: g_per_kwh: '0': expected a number"},
    {HEAD "FR,marginal,a,b,-1\n", "f:2: g_per_kwh: '-1'"},
    {HEAD "FR,marginal,a,b,5001\n", "f:2: g_per_kwh: '5001'"},
    {HEAD "FR,marginal,a,b,five\n", "f:2: g_per_kwh: 'five'"},
    {HEAD "FR,marginal,a,b,\n", "f:2: g_per_kwh: ''"},
    {HEAD "FR,marginal,,,5\n", "f:2: '': expected start and end, or year"},
    {HEAD "FR,marginal,2026-11-20T14:00:00Z,,5\n", "expected start and end"},
    {HEAD "FR,marginal,2026-11-20T14:00:00,2026-11-20T15:00:00Z,5\n",
     "f:2: start: '2026-11-20T14:00:00': expected a time such as"},
    {HEAD "FR,marginal,2026-11-20T14:00:00Z,today,5\n",
     "f:2: end: 'today': expected a time such as"},
    {HEAD "FR,marginal,2026-11-20T14:00:00Z,2026-11-20T14:00:00Z,5\n",
     "f:2: end: '2026-11-20T14:00:00Z': expected a time after start"},
    {HEAD "FR,marginal,2024-11-20T14:00:00Z,2026-11-20T14:00:00Z,5\n",
     "at most a year later"},
    {"zone,kind,year,g_per_kwh\nFR,marginal,26,5\n", "f:2: year: '26'"},
    {"zone,kind,year,g_per_kwh\nFR,marginal,x,5\n", "f:2: year: 'x'"},
    {"zone,kind,year,start,end,g_per_kwh\n"
     "FR,marginal,2026,2026-11-20T14:00:00Z,,5\n",
     "expected start and end, or year instead"},
    {"zone,kind,year,g_per_kwh,estimated\nFR,marginal,2026,5,yes\n",
     "f:2: estimated: 'yes': expected true or false"},
    /* rows of other zones are checked, too */
    {HEAD "XX,marginal,a,b,five\n", "f:2: g_per_kwh: 'five'"},
};

#define J_ROW                                                                  \
    "{\"zone\":\"FR\",\"kind\":\"marginal\",\"year\":2026,\"g_per_kwh\":5}"

static const struct {
    const char *text;
    size_t n;
} good_json[] = {
    {"{\"factors\":[]}", 0},
    {" {\n\"factors\" : [" J_ROW "]}\n", 1},
};

static const struct {
    const char *text, *message;
} bad_json[] = {
    {"", "f: "},
    {"{", "f: "},
    {"[]", "f:1: '': expected {\"factors\": [...]}"},
    {"{}", "f:1: '': expected {\"factors\": [...]}"},
    {"{\"factors\":{}}", "f:1: 'factors': expected"},
    {"{\"factors\":[],\"x\":1}", "f:1: 'factors': expected"},
    {"{\"factors\":[5]}", "f:1: '5': expected an object"},
    {"{\"factors\":[\n" J_ROW ",\n{\"zone\":\"}{\\\"[\",\"kind\":\"x\"}]}",
     "f:3: kind: 'x': expected"},
    {"{\"factors\":[\n" J_ROW ",\n\n" J_ROW ", {\"co2\":1}]}",
     "f:4: member: 'co2': expected"},
    {"{\"factors\":[{\"estimated\":[]}]}",
     "f:1: member: 'estimated': expected"},
    {"{\"factors\":[{\"end\":{}}]}", "f:1: member: 'end': expected"},
    {"{\"factors\":[{\"zone\":\"FR\",\"zone\":\"FR\"}]}",
     "f:1: member: 'zone': expected"},
    {"{\"factors\":[{\"zone\":{\"a\":[{}]}},\n{}]}",
     "f:1: member: 'zone': expected a text"},
    {"{\"factors\":[{\"zone\":\"FR\",\"kind\":\"marginal\",\"year\":2026,"
     "\"g_per_kwh\":null}]}",
     "f:1: g_per_kwh: ''"},
};

static int read_text(read_fn *read, const char *text, struct bj_points *p,
                     struct bj_err *err)
{
    return read(bj_slice_str(text), "f", &(struct bj_factor_rows){"FR", 7}, p,
                err);
}

static void refused(read_fn *read, const char *text, const char *message)
{
    struct bj_points p = {0};
    struct bj_err err = {0};
    int r = read_text(read, text, &p, &err);
    print_message("# %s\n", err.msg);
    assert_int_equal(r, -EINVAL);
    assert_int_equal(err.code, -EINVAL);
    assert_true(strncmp(err.msg, message, strlen(message)) == 0 ||
                strstr(err.msg, message));
    assert_null(p.v);
}

static void test_csv(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good_csv); i++) {
        struct bj_points p = {0};
        print_message("# %s\n", good_csv[i].text);
        assert_int_equal(
            read_text(bj_factor_file_csv, good_csv[i].text, &p, NULL), 0);
        assert_int_equal(p.n, good_csv[i].n);
        bj_points_free(&p);
    }
    for (size_t i = 0; i < COUNT(bad_csv); i++)
        refused(bj_factor_file_csv, bad_csv[i].text, bad_csv[i].message);
}

static void test_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good_json); i++) {
        struct bj_points p = {0};
        assert_int_equal(
            read_text(bj_factor_file_json, good_json[i].text, &p, NULL), 0);
        assert_int_equal(p.n, good_json[i].n);
        bj_points_free(&p);
    }
    for (size_t i = 0; i < COUNT(bad_json); i++)
        refused(bj_factor_file_json, bad_json[i].text, bad_json[i].message);
}

/* An invalid file keeps the old factors; a valid one replaces them. */
static void test_replaces(void **state)
{
    (void)state;
    struct bj_points p = {0};
    assert_int_equal(read_text(bj_factor_file_csv, HEAD ROW, &p, NULL), 0);
    assert_int_equal(read_text(bj_factor_file_csv, HEAD ROW "x\n", &p, NULL),
                     -EINVAL);
    assert_int_equal(p.n, 1);
    assert_int_equal(read_text(bj_factor_file_csv, HEAD, &p, NULL), 0);
    assert_int_equal(p.n, 0);
    bj_points_free(&p);
}

static void test_too_many(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    bj_buf_str(&b, HEAD);
    for (int i = 0; i <= BJ_POINTS_MAX; i++)
        bj_buf_printf(&b,
                      "FR,marginal,2026-11-%02dT%02d:%02d:%02dZ,"
                      "2026-12-01T00:00:00Z,5\n",
                      1 + i / 7200, i / 300 % 24, i / 5 % 60, i % 5);
    bj_buf_put(&b, "", 1);
    struct bj_points p = {0};
    struct bj_err err = {0};
    assert_int_equal(read_text(bj_factor_file_csv, b.p, &p, &err), -EFBIG);
    assert_non_null(strstr(err.msg, "f:20002: 'FR': too many rows"));
    bj_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),    cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json),     cmocka_unit_test(test_replaces),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
