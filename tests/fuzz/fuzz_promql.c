/* PromQL: any text is refused with a message, or printed in a form that is
 * accepted and printed the same again, and as a selector, too, if it is one. */
#include "promql/promql.h"
#include "tests/fuzz/fuzz.h"

static int print(struct bj_slice in, struct bj_buf *b)
{
    struct bj_arena arena = {0};
    const struct bj_promql_node *tree = NULL;
    struct bj_err err = {0};
    int e = bj_promql_parse(in, &arena, &tree, &err);
    MUST(e == 0 || ((e == -EINVAL || e == -E2BIG) && err.code == e));
    MUST(e == 0 || err.msg[0]);
    if (e == 0) {
        MUST(tree->depth <= BJ_PROMQL_DEPTH_MAX);
        bj_promql_print(tree, b);
    }
    bj_arena_free(&arena);
    return e;
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
    bj_arena_free(&arena);
    bj_buf_free(&once);
    bj_buf_free(&twice);
    free(mem);
    return 0;
}
