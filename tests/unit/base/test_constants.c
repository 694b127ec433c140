/* Parser of the site's constants (cluster.constants). */
#include "base/constants.h"

#include "base/absent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* One line each. If the name is NULL, the line is invalid and gives the
 * message. */
static const struct {
    const char *line, *name;
    int64_t micro;
    const char *period;
    uint64_t period_sec;
    const char *message;
} lines[] = {
    {"a 1", "a", 1000000, NULL, BJ_ABSENT, NULL},
    {"  a\t=\t-1.5e3  ", "a", -1500000000, NULL, BJ_ABSENT, NULL},
    {"a: .000001 # tiny", "a", 1, NULL, BJ_ABSENT, NULL},
    {"a 1 hour", "a", 1000000, "hour", 3600, NULL},
    {"a 1 day", "a", 1000000, "day", 86400, NULL},
    {"a 1 week", "a", 1000000, "week", 604800, NULL},
    {"a 1 month#x", "a", 1000000, "month", 2628000, NULL},
    {"a 1 quarter", "a", 1000000, "quarter", 7884000, NULL},
    {"a = 40 year\r", "a", 40000000, "year", 31536000, NULL},
    {"a 1 90d", "a", 1000000, "90d", 7776000, NULL},
    {"a 1 1d12h", "a", 1000000, "1d12h", 129600, NULL},
    {"a", NULL, 0, NULL, 0, "f:1: 'a' is not NAME NUMBER"},
    {"= 3", NULL, 0, NULL, 0, "f:1: '= 3' is not NAME NUMBER"},
    {"[]", NULL, 0, NULL, 0, "f:1: '[]' is not NAME NUMBER"},
    {"a b", NULL, 0, NULL, 0, "f:1: 'b' is not a number"},
    {"a 1e30", NULL, 0, NULL, 0, "f:1: '1e30' is not a number"},
    {"a 1 decade", NULL, 0, NULL, 0, "f:1: 'decade' is not a period"},
    {"a 1 90", NULL, 0, NULL, 0, "f:1: '90' is not a period"},
    {"a 1 0s", NULL, 0, NULL, 0, "f:1: '0s' is not a period"},
    {"a 1 500ms", NULL, 0, NULL, 0, "f:1: '500ms' is not a period"},
    {"a 1 Year", NULL, 0, NULL, 0, "f:1: 'Year' is not a period"},
    {"a 1 year 2", NULL, 0, NULL, 0, "f:1: 'year 2' is not a period"},
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct bj_constants c = {.text = bj_slice_str(lines[i].line),
                                 .file = "f"};
        struct bj_constant v;
        struct bj_err err = {0};
        int r = bj_constants_next(&c, &v, &err);
        if (!lines[i].name) {
            assert_int_equal(r, -EINVAL);
            assert_true(strncmp(err.msg, lines[i].message,
                                strlen(lines[i].message)) == 0);
            continue;
        }
        assert_int_equal(r, 1);
        assert_true(bj_slice_eq(v.name, bj_slice_str(lines[i].name)));
        assert_int_equal(v.micro, lines[i].micro);
        assert_true(bj_slice_eq(v.period, bj_slice_str(lines[i].period)));
        assert_int_equal(v.period_sec, lines[i].period_sec);
        assert_null(v.cluster.p);
        assert_int_equal(bj_constants_next(&c, &v, &err), 0);
    }
}

/* An invalid line does not end the file, and every line is counted. */
static void test_file(void **state)
{
    (void)state;
    struct bj_constants c = {
        .text = BJ_SLICE("# ours\n\n\r\na 1\n[ b c ]\nno\n[x]\nd 4"),
        .file = "f"};
    struct bj_constant v;
    struct bj_err err = {0};
    assert_int_equal(bj_constants_next(&c, &v, &err), 1);
    assert_int_equal(c.line, 4);
    assert_int_equal(bj_constants_next(&c, &v, &err), -EINVAL);
    assert_int_equal(c.line, 6);
    assert_true(bj_slice_eq(c.cluster, BJ_SLICE(" b c ")));
    assert_int_equal(bj_constants_next(&c, &v, &err), 1);
    assert_true(bj_slice_eq(v.cluster, BJ_SLICE("x")));
    assert_int_equal(bj_constants_next(&c, &v, &err), 0);
    assert_int_equal(bj_constants_next(&c, &v, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
