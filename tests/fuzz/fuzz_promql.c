/* PromQL: a text is refused with a message, or its printed form is accepted and
 * prints the same again; a selector is also accepted as a query.  In a query
 * restricted to a user, every selector is of public metrics or has the matchers
 * of the restriction. */
#include "promql/reach.h"
#include "promql/restrict.h"
#include "tests/fuzz/fuzz.h"

static int print(struct bj_slice in, struct bj_buf *b)
{
    struct bj_arena arena = {0};
    const struct bj_promql_node *tree = NULL;
    struct bj_err err = {0};
    int e = bj_promql_parse(in, NULL, &arena, &tree, &err);
    MUST(e == 0 || ((e == -EINVAL || e == -E2BIG) && err.code == e));
    MUST(e == 0 || err.msg[0]);
    if (e == 0) {
        MUST(tree->depth <= BJ_PROMQL_DEPTH_MAX);
        bj_promql_print(tree, b);
    }
    bj_arena_free(&arena);
    return e;
}

static const struct bj_promql_rule rules[] = {
    {.prefix = {"up", 2}, .exact = true, .public = true},
    {.prefix = {"node_", 5}, .public = true},
    {.prefix = {"job_", 4}, .user = {"owner", 5}, .account = {"project", 7}},
};
static const struct bj_slice accounts[] = {{"x.y", 3}, {"z", 1}};

static bool is_own(const struct bj_promql_matcher *m)
{
    return (bj_slice_eq(m->label, BJ_SLICE("user")) ||
            bj_slice_eq(m->label, BJ_SLICE("owner"))) &&
           bj_slice_eq(m->value, BJ_SLICE("anna"));
}

/* Whether the selector matches public metrics only. */
static bool is_public(const struct bj_promql_node *n)
{
    const struct bj_promql_rules all = {rules, 3};
    bool good = bj_promql_is_public(n, &all);
    for (const struct bj_promql_matcher *m = n->matchers; m; m = m->next)
        if (m->op == BJ_PROMQL_EQ &&
            bj_slice_eq(m->label, BJ_SLICE("__name__")) && good)
            return bj_slice_eq(m->value, BJ_SLICE("up")) ||
                   bj_slice_starts(m->value, BJ_SLICE("node_")) ||
                   /* two names match nothing */
                   n->matchers->next;
    return good;
}

static int check_selector(const struct bj_promql_node *n, void *arg)
{
    bool good = n->kind != BJ_PROMQL_SELECTOR || is_public(n);
    (void)arg;
    for (const struct bj_promql_matcher *m = n->matchers; m; m = m->next)
        good = good || is_own(m);
    return !good;
}

static void check_reach(const struct bj_promql_node *tree)
{
    const struct bj_promql_span at = {1700000000000, 1700003600000};
    struct bj_promql_span s = bj_promql_reach(tree, at);
    MUST(s.from_ms <= s.to_ms ||
         (s.from_ms == INT64_MAX && s.to_ms == INT64_MIN));
}

/* Parse, restrict and print as the gate does; in the printed form every
 * selector is restricted. */
static void restrict_query(struct bj_slice in, size_t account_count)
{
    const struct bj_promql_viewer viewer = {
        {"anna", 4}, accounts, account_count, {rules, 3}};
    struct bj_arena arena = {0};
    const struct bj_promql_node *tree = NULL, *own = NULL, *back = NULL;
    struct bj_buf text = {0};
    struct bj_err err = {0};
    const struct bj_promql_times times = {15000, 3600000};
    if (bj_promql_parse(in, &times, &arena, &tree, NULL) == 0) {
        check_reach(tree);
        int e = bj_promql_restrict(tree, &viewer, &arena, &own, &err);
        MUST(e == 0 || e == -EACCES || e == -E2BIG);
        MUST(e == 0 || err.msg[0]);
        if (e == 0)
            bj_promql_print(own, &text);
    }
    if (text.len > 0) {
        int e = bj_promql_parse((struct bj_slice){text.p, text.len}, NULL,
                                &arena, &back, NULL);
        MUST(e == 0 || e == -E2BIG);
        MUST(e != 0 || bj_promql_walk(back, check_selector, NULL) == 0);
    }
    bj_buf_free(&text);
    bj_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem;
    struct bj_slice in = fuzz_exact(data, size, &mem);
    struct bj_buf once = {0}, twice = {0};
    struct bj_arena arena = {0};
    const struct bj_promql_node *tree = NULL;
    if (print(in, &once) == 0) {
        int e = print((struct bj_slice){once.p, once.len}, &twice);
        /* the printed form may be larger: more parentheses */
        MUST(e == 0 || e == -E2BIG);
        MUST(e != 0 ||
             (once.len == twice.len && memcmp(once.p, twice.p, once.len) == 0));
    }
    if (bj_promql_parse_selector(in, &arena, &tree, NULL) == 0)
        MUST(tree->kind == BJ_PROMQL_SELECTOR && tree->matchers && once.len);
    restrict_query(in, 0);
    restrict_query(in, 2);
    bj_arena_free(&arena);
    bj_buf_free(&once);
    bj_buf_free(&twice);
    free(mem);
    return 0;
}
