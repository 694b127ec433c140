/* Restriction of PromQL: which series are public, and the queries that result
 * for a user and a coordinator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "promql/restrict.h"

#include <string.h>

/* for constant tables */
#define S(lit)                                                                 \
    {                                                                          \
        lit, sizeof(lit) - 1                                                   \
    }
#define A "user=\"anna\""
#define B "user!=\"anna\",account=~\"x\\\\.y|z\""

#define QUIET_A "{user=~\"anna\",__name__=\"m\"}"
#define QUIET_B "{user!~\"anna\",account=~\"x\\\\.y|z\",__name__=\"m\"}"

static const struct bj_promql_rule rules[] = {
    {S("up"), .exact = true, .public = true},
    {S("batchjob_"), .public = true},
    {S("batchjob_job_"), .public = false},
    {S("batchjob_job_limit_public"), .public = true},
    {S("batchjob_step_x"), .exact = true},
};
/* rules for metrics with the labels of other programs */
static const struct bj_promql_rule others[] = {
    {S("up"), .exact = true, .public = true},
    {S("a_"), .user = S("owner"), .account = S("project")},
    {S("b_"), .user = S("owner")},
};
static const struct bj_slice accounts[] = {S("x.y"), S("z")};

static struct bj_promql_viewer anna(size_t account_count)
{
    return (struct bj_promql_viewer){BJ_SLICE("anna"),
                                     accounts,
                                     account_count,
                                     {rules, sizeof rules / sizeof *rules}};
}

static int restricted_for(const struct bj_promql_viewer *viewer,
                          const char *text, struct bj_buf *ret)
{
    struct bj_arena arena = {0};
    const struct bj_promql_node *tree = NULL, *result = NULL;
    struct bj_err err = {0};
    if (bj_promql_parse(bj_slice_str(text), NULL, &arena, &tree, &err))
        fail_msg("%s: %s", text, err.msg);
    int e = bj_promql_restrict(tree, viewer, &arena, &result, &err);
    assert_int_equal(e, err.code);
    if (e == 0) {
        bj_promql_print(result, ret);
        bj_buf_put(ret, "", 1);
        if (bj_promql_parse(bj_slice_str(ret->p), NULL, &arena, &tree, &err))
            fail_msg("%s -> %s: %s", text, ret->p, err.msg);
    }
    bj_arena_free(&arena);
    return e;
}

static int restricted(const char *text, size_t account_count,
                      struct bj_buf *ret)
{
    const struct bj_promql_viewer viewer = anna(account_count);
    return restricted_for(&viewer, text, ret);
}

static void assert_restricted(const char *text, size_t account_count,
                              const char *want)
{
    struct bj_buf b = {0};
    assert_int_equal(restricted(text, account_count, &b), 0);
    assert_string_equal(b.p, want);
    bj_buf_free(&b);
}

static void users_get_their_own_series(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"m", "{__name__=\"m\"," A "}"},
        {"up", "{__name__=\"up\"}"},
        {"m{user=\"bob\"}", "{__name__=\"m\",user=\"bob\"," A "}"},
        {"m{user=\"anna\"}", "{__name__=\"m\"," A "}"},
        {"m{user=~\".*\"}", "{__name__=\"m\",user=~\".*\"," A "}"},
        {"topk(scalar(m), up)",
         "topk(scalar({__name__=\"m\"," A "}),{__name__=\"up\"})"},
        {"absent(m)", "absent({user=~\"anna\",__name__=\"m\"})"},
        {"absent(m{user=\"anna\"})",
         "absent({user=~\"anna\",__name__=\"m\",user=\"anna\"})"},
        {"absent(up)", "absent({__name__=\"up\"})"},
        {"absent(m * 2)", "absent({__name__=\"m\"," A "} * 2)"},
        {"absent(rate(m[1m]))", "absent(rate({__name__=\"m\"," A "}[60s]))"},
        {"m[5m] offset 1m", "{__name__=\"m\"," A "}[300s] offset 60s"},
        {"rate(m[5m])[1h:]", "rate({__name__=\"m\"," A "}[300s])[3600s:]"},
        {"up * on(x) group_left m @ end()",
         "{__name__=\"up\"} * on(x) group_left() {__name__=\"m\"," A
         "} @ end()"},
        {"1 + 1", "1 + 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_restricted(cases[i][0], 0, cases[i][1]);
}

static void coordinators_get_their_accounts_as_well(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"m", "({__name__=\"m\"," A "} or {__name__=\"m\"," B "})"},
        {"up", "{__name__=\"up\"}"},
        {"sum(m offset 1m)", "sum(({__name__=\"m\"," A "} offset 60s or "
                             "{__name__=\"m\"," B "} offset 60s))"},
        {"rate((m[5m]))", "(rate({__name__=\"m\"," A "}[300s]) or "
                          "rate({__name__=\"m\"," B "}[300s]))"},
        {"rate(up[5m])", "rate({__name__=\"up\"}[300s])"},
        {"timestamp(m)", "(timestamp({__name__=\"m\"," A "}) or "
                         "timestamp({__name__=\"m\"," B "}))"},
        {"timestamp(m + 1)",
         "timestamp(({__name__=\"m\"," A "} or {__name__=\"m\"," B "}) + 1)"},
        {"absent_over_time(m[1m])",
         "(absent_over_time(" QUIET_A
         "[60s]) and on() absent_over_time(" QUIET_B "[60s]))"},
        {"absent((m))", "(absent(" QUIET_A ") and on() absent(" QUIET_B "))"},
        {"absent(sum(m))",
         "absent(sum(({__name__=\"m\"," A "} or {__name__=\"m\"," B "})))"},
        {"max_over_time(m[1h:1m])", "max_over_time(({__name__=\"m\"," A
                                    "} or {__name__=\"m\"," B "})[3600s:60s])"},
        {"quantile_over_time(scalar(up), m[1m])",
         "(quantile_over_time(scalar({__name__=\"up\"}),{__name__=\"m\"," A
         "}[60s]) or quantile_over_time(scalar({__name__=\"up\"}),"
         "{__name__=\"m\"," B "}[60s]))"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_restricted(cases[i][0], 2, cases[i][1]);
    assert_restricted("m", 1,
                      "({__name__=\"m\"," A "} or {__name__=\"m\","
                      "user!=\"anna\",account=\"x.y\"})");
}

static void only_names_set_to_public_ones_are_public(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool public;
    } cases[] = {
        {"up", true},
        {"{__name__=\"up\"}", true},
        {"batchjob_node_x", true},
        {"batchjob_job_x", false},
        {"batchjob_job_limit_public", true},
        {"other", false},
        {"uptime", false},
        {"batchjob_step_x", false},
        {"batchjob_step_xy", true},
        {"{__name__=~\"batchjob_step_.*\"}", false},
        {"{__name__=~\"batchjob_step_x.+\"}", false},
        {"{__name__=~\"batchjob_step_xy.*\"}", true},
        {"{__name__=~\"up.*\"}", false},
        {"{__name__=~\"up|batchjob_node_x\"}", true},
        {"{__name__=~\"up|batchjob_job_x\"}", false},
        {"{__name__=~\"up|\",x=\"y\"}", false},
        {"{__name__=~\"|up\",x=\"y\"}", false},
        {"{__name__=~\"batchjob_node_.*\"}", true},
        {"{__name__=~\"batchjob_n.+|up\"}", true},
        {"{__name__=~\"batchjob_.*\"}", false},
        {"{__name__=~\"batchjob_jo.*\"}", false},
        {"{__name__=~\"batchjob_node_x*\"}", false},
        {"{__name__=~\"batchjob_node_x?\"}", false},
        {"{__name__=~\"(?i)up\"}", false},
        {"{__name__=~\"up.*|.+\"}", false},
        {"{__name__=~\".+\"}", false},
        {"{__name__!=\"m\",x=\"y\"}", false},
        {"{__name__!~\"m.*\",x=\"y\"}", false},
        {"{x=\"up\"}", false},
        {"m{name=\"up\"}", false},
        {"{__name__=\"up\",__name__=\"m\"}", true}, /* matches nothing */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bj_buf b = {0};
        assert_int_equal(restricted(cases[i].text, 0, &b), 0);
        if ((strstr(b.p, A) == NULL) != cases[i].public)
            fail_msg("%s -> %s", cases[i].text, b.p);
        bj_buf_free(&b);
    }
}

static void rules_name_the_labels_of_owner_and_account(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"up", "{__name__=\"up\"}"},
        {"m", "({__name__=\"m\",user=\"anna\"} or "
              "{__name__=\"m\",user!=\"anna\",account=~\"x\\\\.y|z\"})"},
        {"a_1", "({__name__=\"a_1\",owner=\"anna\"} or "
                "{__name__=\"a_1\",owner!=\"anna\",project=~\"x\\\\.y|z\"})"},
        {"b_1", "{__name__=\"b_1\",owner=\"anna\"}"},
        {"{__name__=~\"b_.*|b_x\"}", "{__name__=~\"b_.*|b_x\",owner=\"anna\"}"},
        {"b_1[5m]", "{__name__=\"b_1\",owner=\"anna\"}[300s]"},
    };
    struct bj_promql_viewer viewer = anna(2);
    viewer.rules = (struct bj_promql_rules){others, 3};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bj_buf b = {0};
        assert_int_equal(restricted_for(&viewer, cases[i][0], &b), 0);
        assert_string_equal(b.p, cases[i][1]);
        bj_buf_free(&b);
    }
}

static void selectors_of_any_name_skip_names_with_other_labels(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{x=\"y\"}", "{__name__=~\".+\"}", "{__name__=~\"a_1|b_1\"}",
        "{__name__=~\"a.*\"}", "{__name__!=\"a_1\",x=\"y\"}"};
    struct bj_promql_viewer viewer = anna(0);
    viewer.rules = (struct bj_promql_rules){others, 3};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bj_buf b = {0};
        assert_int_equal(restricted_for(&viewer, cases[i], &b), 0);
        if (!strstr(b.p, ",__name__!~\"a_.*|b_.*\",user=\"anna\"}"))
            fail_msg("%s -> %s", cases[i], b.p);
        bj_buf_free(&b);
    }
}

/* The selectors that result from a match[], one per line. */
static void matches(const char *text, size_t account_count, const char *want)
{
    const struct bj_promql_viewer viewer = anna(account_count);
    const struct bj_promql_node *tree = NULL, *ret[BJ_PROMQL_MATCHES];
    struct bj_arena arena = {0};
    struct bj_err err = {0};
    struct bj_buf b = {0};
    if (text &&
        bj_promql_parse_selector(bj_slice_str(text), &arena, &tree, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    int n = bj_promql_restrict_match(tree, &viewer, &arena, ret, &err);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        bj_promql_print(ret[i], &b);
        bj_buf_str(&b, "\n");
    }
    bj_buf_put(&b, "", 1);
    assert_string_equal(b.p, want);
    bj_buf_free(&b);
    bj_arena_free(&arena);
}

#define PUBLIC                                                                 \
    "__name__=~\"up|batchjob_.*|batchjob_job_limit_public.*\","                \
    "__name__!~\"batchjob_job_.*|batchjob_step_x\"}\n"

static void matches_read_public_series_as_well(void **state)
{
    (void)state;
    matches("up", 2, "{__name__=\"up\"}\n");
    matches(NULL, 0, "{" A "}\n{" PUBLIC);
    matches("{x=\"y\"}", 2,
            "{x=\"y\"," A "}\n{x=\"y\"," B "}\n{x=\"y\"," PUBLIC);
}

static void unrestrictable_queries_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t accounts;
        int result;
    } cases[] = {
        {"info(up)", 0, -EACCES},
        {"sum(info(up, {__name__=\"m\"}))", 2, -EACCES},
        {"m[5m]", 2, -EACCES},
        {"(m[5m])", 2, -EACCES},
        {"up[5m]", 2, 0},
        {"m{__graphite__=\"x\"}", 0, -EACCES},
        {"rate(m{vm_account_id=\"1\"}[5m])", 2, -EACCES},
        {"up{__tenant_id__=\"x\"}", 0, -EACCES},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bj_buf b = {0};
        assert_int_equal(restricted(cases[i].text, cases[i].accounts, &b),
                         cases[i].result);
        bj_buf_free(&b);
    }
}

static void doubled_arguments_are_bounded(void **state)
{
    (void)state;
    struct bj_buf text = {0}, b = {0};
    for (int i = 0; i < 20; i++)
        bj_buf_str(&text, "quantile_over_time(scalar(");
    bj_buf_str(&text, "m");
    for (int i = 0; i < 20; i++)
        bj_buf_str(&text, "),m[1m])");
    bj_buf_put(&text, "", 1);
    assert_int_equal(restricted(text.p, 2, &b), -E2BIG);
    bj_buf_free(&text);
    bj_buf_free(&b);
}

static void a_viewer_without_a_name_gets_nothing(void **state)
{
    (void)state;
    const struct bj_slice none = {"", 0};
    const struct bj_promql_viewer viewers[] = {
        {.user = none}, {BJ_SLICE("anna"), &none, 1, {NULL, 0}}};
    for (size_t i = 0; i < 2; i++) {
        struct bj_arena arena = {0};
        const struct bj_promql_node *tree = NULL, *result = NULL;
        assert_int_equal(
            bj_promql_parse(BJ_SLICE("m"), NULL, &arena, &tree, NULL), 0);
        assert_int_equal(
            bj_promql_restrict(tree, &viewers[i], &arena, &result, NULL),
            -EACCES);
        bj_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_get_their_own_series),
        cmocka_unit_test(coordinators_get_their_accounts_as_well),
        cmocka_unit_test(only_names_set_to_public_ones_are_public),
        cmocka_unit_test(rules_name_the_labels_of_owner_and_account),
        cmocka_unit_test(selectors_of_any_name_skip_names_with_other_labels),
        cmocka_unit_test(matches_read_public_series_as_well),
        cmocka_unit_test(unrestrictable_queries_are_refused),
        cmocka_unit_test(doubled_arguments_are_bounded),
        cmocka_unit_test(a_viewer_without_a_name_gets_nothing),
    };
    return cmocka_run_group_tests_name("promql_restrict", tests, NULL, NULL);
}
