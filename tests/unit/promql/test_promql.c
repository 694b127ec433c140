/* PromQL: which queries are accepted and refused, the form in which they are
 * printed, and limits. Most cases are from Prometheus'
 * promql/parser/parse_test.go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "promql/promql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(const char *text, struct bj_buf *ret, struct bj_err *err)
{
    struct bj_arena arena = {0};
    const struct bj_promql_node *tree = NULL;
    int e = bj_promql_parse(bj_slice_str(text), NULL, &arena, &tree, err);
    if (e == 0)
        bj_promql_print(tree, ret);
    bj_buf_put(ret, "", 1);
    bj_arena_free(&arena);
    return e;
}

/* The query is accepted; its printed form, parsed and printed, is the same. */
static void accept(const char *text)
{
    struct bj_buf once = {0}, twice = {0};
    struct bj_err err = {0};
    if (parse(text, &once, &err))
        fail_msg("%s: %s", text, err.msg);
    if (parse(once.p, &twice, &err))
        fail_msg("%s -> %s: %s", text, once.p, err.msg);
    assert_string_equal(once.p, twice.p);
    bj_buf_free(&once);
    bj_buf_free(&twice);
}

static void refuse(const char *text)
{
    struct bj_buf b = {0};
    struct bj_err err = {0};
    int e = parse(text, &b, &err);
    if (e != -EINVAL)
        fail_msg("accepted: %s -> %s", text, b.p);
    assert_true(err.msg[0] != '\0');
    bj_buf_free(&b);
}

static const char *const good[] = {
#include "tests/unit/promql/promql_good.h"
};

static const char *const wrong[] = {
#include "tests/unit/promql/promql_wrong.h"
};

static void accepts_promql(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        accept(good[i]);
}

static void refuses_what_prometheus_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(wrong[i]);
}

/* Queries in the language of VictoriaMetrics that are not PromQL. */
static void refuses_metricsql(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "rate(m)",
        "a default 0",
        "a if b",
        "a ifnot b",
        "WITH (x = a) x",
        "sum(a) limit 3",
        "rate(m[5m]) keep_metric_names",
        "a * on(x) group_left(*) prefix \"p\" b",
        "(a, b)",
        "(a) offset 5m",
        "a @ time()",
        "m[1.5m]",
        "m[5i]",
        "m > 8K",
        "foo\\-bar",
        "foo.bar",
        "m{a=\"b\"+\"c\"}",
        "m{a=\"b\" or c=\"d\"}",
        "m == (1,2)",
        "union(a, b)",
        "\xC3\xA4",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(cases[i]);
}

static void prints_a_canonical_form(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"foo", "{__name__=\"foo\"}"},
        {"foo{a!~'x\"y'}", "{__name__=\"foo\",a!~\"x\\\"y\"}"},
        {"foo[1h30m] offset 5m @ 1_000.50",
         "{__name__=\"foo\"}[5400s] @ 1000.5 offset 300s"},
        {"foo[4.18] offset -1ms", "{__name__=\"foo\"}[4180ms] offset -1ms"},
        {"0x1F + 0755 + 08 + .5 + 5. + 1e+03 + 1h",
         "(((((31 + 493) + 8) + 0.5) + 5) + 1e3) + 3600"},
        {"-1^2", "-(1 ^ 2)"},
        {"2^3^2", "2 ^ (3 ^ 2)"},
        {"1 - -1", "1 - (-1)"},
        {"- -1", "1"},
        {"+iNF", "Inf"},
        {"a or b and c", "{__name__=\"a\"} or ({__name__=\"b\"} and "
                         "{__name__=\"c\"})"},
        {"-foo offset 5m", "-{__name__=\"foo\"} offset 300s"},
        {"a + b @ 5", "{__name__=\"a\"} + {__name__=\"b\"} @ 5"},
        {"SUM(a) BY (x,)", "sum by(x)({__name__=\"a\"})"},
        {"sum without ('a b', on)(m)", "sum without(\"a b\",on)"
                                       "({__name__=\"m\"})"},
        {"a == BOOL on(x) group_left b",
         "{__name__=\"a\"} == bool on(x) group_left() {__name__=\"b\"}"},
        {"foo[5m:] @ end()", "{__name__=\"foo\"}[300s:] @ end()"},
        {"foo[5m:1.5] @ start()", "{__name__=\"foo\"}[300s:1500ms] @ start()"},
        {"{'a', x='\\xff\\u00e4`'}", "{__name__=\"a\",x=\"\\xff\xC3\xA4`\"}"},
        {"foo offset 5s-8", "{__name__=\"foo\"} offset 5s - 8"},
        {"a + fill(-1) b", "{__name__=\"a\"} + fill_left(-1) fill_right(-1) "
                           "{__name__=\"b\"}"},
        {"rate(m[5m] smoothed)", "rate({__name__=\"m\"}[300s] smoothed)"},
        {"topk(scalar(a), b)", "topk(scalar({__name__=\"a\"}),"
                               "{__name__=\"b\"})"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bj_buf b = {0};
        struct bj_err err = {0};
        if (parse(cases[i][0], &b, &err))
            fail_msg("%s: %s", cases[i][0], err.msg);
        assert_string_equal(b.p, cases[i][1]);
        bj_buf_free(&b);
    }
}

/* Arithmetic in durations: the values are those that Prometheus' documentation
 * and its promqltest/testdata/duration_expression.test say. */
static const struct {
    const char *text, *printed;
    struct bj_promql_times times;
} computed[] = {
    {"m[26m+4m]", "{__name__=\"m\"}[1800s]", {0}},
    {"m[60*30]", "{__name__=\"m\"}[1800s]", {0}},
    {"m[2m*(10+5)]", "{__name__=\"m\"}[1800s]", {0}},
    {"m[24m+((1.5*2m)+2m)]", "{__name__=\"m\"}[1740s]", {0}},
    {"m[-5m+35m]", "{__name__=\"m\"}[1800s]", {0}},
    {"m[1h30m % 1h]", "{__name__=\"m\"}[1800s]", {0}},
    {"m[30m1s-30m1s % 1m]", "{__name__=\"m\"}[1800s]", {0}},
    {"m[11s+10s-5*2^2]", "{__name__=\"m\"}[1s]", {0}},
    {"m[8+-2^2]", "{__name__=\"m\"}[4s]", {0}},
    {"m[2^3^2]", "{__name__=\"m\"}[512s]", {0}},
    {"m[29s+1s:((((8 - 2) / 3) * 7s) % 4) + 8000ms]",
     "{__name__=\"m\"}[30s:10s]",
     {0}},
    {"m offset -(20*(((((8 - 2) / 3) * 7s) % 4) + 8000ms))",
     "{__name__=\"m\"} offset -200s",
     {0}},
    {"m offset (100 + 2)", "{__name__=\"m\"} offset 102s", {0}},
    {"m offset 100 + 2", "{__name__=\"m\"} offset 100s + 2", {0}},
    {"m offset -2 ^ 2", "{__name__=\"m\"} offset -2s ^ 2", {0}},
    {"m offset (-2 ^ 2)", "{__name__=\"m\"} offset -4s", {0}},
    {"m[5m] offset (1h / 2)", "{__name__=\"m\"}[300s] offset 1800s", {0}},
    {"m[1h / 3600000]", "{__name__=\"m\"}[1ms]", {0}},
    {"m[5.9995 * 1]", "{__name__=\"m\"}[5999ms]", {0}},
    {"m[step()]", "{__name__=\"m\"}[10s]", {10000, 60000}},
    {"m[(step())+1]", "{__name__=\"m\"}[11s]", {10000, 60000}},
    {"m[1+(STep()-5)*2]", "{__name__=\"m\"}[11s]", {10000, 60000}},
    {"m[((max_of(min_of((step()+1),((1h))),1ms)))]",
     "{__name__=\"m\"}[6s]",
     {5000, 10000}},
    {"m[range():step() # all\n]",
     "{__name__=\"m\"}[60s:1500ms]",
     {1500, 60000}},
    {"m offset -step()*2", "{__name__=\"m\"} offset -5s * 2", {5000, 0}},
    {"m offset (-step()*2)", "{__name__=\"m\"} offset -10s", {5000, 0}},
    {"m offset step()^0", "{__name__=\"m\"} offset 5s ^ 0", {5000, 0}},
    {"m offset -(min_of(step(), 2s)-5)+8000",
     "{__name__=\"m\"} offset 3s + 8000",
     {5000, 0}},
    {"m offset max_of(3s,min_of(step(), 1s))+8000",
     "{__name__=\"m\"} offset 3s + 8000",
     {5000, 0}},
    {"m offset range()", "{__name__=\"m\"} offset 0s", {0, 0}},
    {"max_over_time(m[range()] @ end())",
     "max_over_time({__name__=\"m\"}[3600s] @ end())",
     {15000, 3600000}},
    /* the grammar of Prometheus lets the duration go on */
    {"m offset (5m)*2", "{__name__=\"m\"} offset 600s", {0}},
    {"step + range / max_of(1, min_of(2, 3))",
     "{__name__=\"step\"} + ({__name__=\"range\"} / "
     "max_of(1,min_of(2,3)))",
     {0}},
};

static void durations_are_computed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++) {
        struct bj_arena arena = {0};
        const struct bj_promql_node *tree = NULL;
        struct bj_err err = {0};
        struct bj_buf b = {0};
        if (bj_promql_parse(bj_slice_str(computed[i].text), &computed[i].times,
                            &arena, &tree, &err))
            fail_msg("%s: %s", computed[i].text, err.msg);
        bj_promql_print(tree, &b);
        bj_buf_put(&b, "", 1);
        assert_string_equal(b.p, computed[i].printed);
        bj_buf_free(&b);
        bj_arena_free(&arena);
        accept(computed[i].text); /* in a query that is not evaluated */
    }
}

static void durations_without_a_value_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"m[step()]", "1:9: the duration must be greater than 0"},
        {"m[5m - 300]", "1:11: the duration must be greater than 0"},
        {"m offset (4d/0)", "1:15: division by zero in a duration"},
        {"m[5m % (1 - 1)]", "1:15: division by zero in a duration"},
        {"m[(-8) ^ 0.5]", "1:13: the duration is not finite"},
        {"m[10 ^ 300]", "1:11: the duration is too long"},
        {"m[10 ^ 400]", "1:11: the duration is not finite"},
        {"m offset (-10 ^ 30)", NULL},
        {"m[0.001 / 10]", NULL},
        {"m[min(step(), 5m)]",
         "1:3: a duration is made of numbers, units, operators, step(), "
         "range(), max_of() and min_of()"},
        {"m[step]", "1:7: unexpected ]"},
        {"m[(5m]", "1:6: unexpected ]"},
        {"m[max_of(5m)]", NULL},
        {"m[5m,6m]", NULL},
        {"m[5m == 5m]", NULL},
        {"m[n]", NULL},
        {"m offset n", NULL},
        {"m offset (n)", NULL},
        {"m @ (5m + 1)", NULL},
    };
    static const struct bj_promql_times instant;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bj_arena arena = {0};
        const struct bj_promql_node *tree = NULL;
        struct bj_err err = {0};
        int e = bj_promql_parse(bj_slice_str(cases[i][0]), &instant, &arena,
                                &tree, &err);
        if (e != -EINVAL)
            fail_msg("accepted: %s", cases[i][0]);
        if (cases[i][1])
            assert_string_equal(err.msg, cases[i][1]);
        bj_arena_free(&arena);
    }
}

static int count(const struct bj_promql_node *n, void *arg)
{
    unsigned *kinds = arg;
    kinds[n->kind]++;
    return 0;
}

static void the_walk_visits_parameters_and_matchers(void **state)
{
    (void)state;
    struct bj_arena arena = {0};
    const struct bj_promql_node *tree = NULL;
    struct bj_err err = {0};
    unsigned kinds[BJ_PROMQL_AGGREGATE + 1] = {0};
    const char *text = "quantile(scalar(a), info(b, {c='d'}) + rate(e[5m:]))";
    assert_int_equal(
        bj_promql_parse(bj_slice_str(text), NULL, &arena, &tree, &err), 0);
    assert_int_equal(bj_promql_walk(tree, count, kinds), 0);
    assert_int_equal(kinds[BJ_PROMQL_SELECTOR], 4);
    assert_int_equal(kinds[BJ_PROMQL_SUBQUERY], 1);
    assert_int_equal(kinds[BJ_PROMQL_CALL], 3);
    bj_arena_free(&arena);
}

static void match_parameters_are_single_selectors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int result;
    } cases[] = {
        {"up", 0},           {"{a=\"b\"}", 0},          {"up{a=~\"b|c\"}", 0},
        {"up[5m]", -EINVAL}, {"up offset 5m", -EINVAL}, {"up or up", -EINVAL},
        {"(up)", -EINVAL},   {"{a=\"\"}", -EINVAL},     {"", -EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bj_arena arena = {0};
        const struct bj_promql_node *tree = NULL;
        int e = bj_promql_parse_selector(bj_slice_str(cases[i].text), &arena,
                                         &tree, NULL);
        assert_int_equal(e, cases[i].result);
        bj_arena_free(&arena);
    }
}

static void errors_name_line_and_column(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    struct bj_err err = {0};
    assert_int_equal(parse("a +\n  ) b", &b, &err), -EINVAL);
    assert_string_equal(err.msg, "2:3: unexpected )");
    bj_buf_free(&b);
}

static char *repeat(const char *head, const char *part, unsigned n,
                    const char *tail)
{
    struct bj_buf b = {0};
    bj_buf_str(&b, head);
    for (unsigned i = 0; i < n; i++)
        bj_buf_str(&b, part);
    bj_buf_put(&b, tail, strlen(tail) + 1);
    assert_false(b.failed);
    return b.p;
}

static void large_queries_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *head, *part;
        unsigned n;
        const char *tail;
        int result;
    } cases[] = {
        {"", "(", 5000, "", -E2BIG},
        {"", "-", 5000, "a", -E2BIG},
        {"(", "-{}-1", 10000, ")", -E2BIG},
        {"a", "+a", BJ_PROMQL_DEPTH_MAX + 1, "", -E2BIG},
        {"a", "+a", BJ_PROMQL_DEPTH_MAX - 2, "", 0},
        {"topk(1", ",1", BJ_PROMQL_NODES_MAX, ")", -E2BIG},
        {"a{b='", "x", BJ_PROMQL_TEXT_MAX, "'}", -E2BIG},
        {"a{b='", "x", BJ_PROMQL_TEXT_MAX / 2, "'}", 0},
        {"a{b=~'", "(", BJ_PROMQL_TEXT_MAX / 2, "'}", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text =
            repeat(cases[i].head, cases[i].part, cases[i].n, cases[i].tail);
        struct bj_buf b = {0};
        struct bj_err err = {0};
        assert_int_equal(parse(text, &b, &err), cases[i].result);
        bj_buf_free(&b);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_promql),
        cmocka_unit_test(refuses_what_prometheus_refuses),
        cmocka_unit_test(refuses_metricsql),
        cmocka_unit_test(prints_a_canonical_form),
        cmocka_unit_test(durations_are_computed),
        cmocka_unit_test(durations_without_a_value_are_refused),
        cmocka_unit_test(the_walk_visits_parameters_and_matchers),
        cmocka_unit_test(match_parameters_are_single_selectors),
        cmocka_unit_test(errors_name_line_and_column),
        cmocka_unit_test(large_queries_are_refused),
    };
    return cmocka_run_group_tests_name("promql", tests, NULL, NULL);
}
