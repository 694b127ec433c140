#include "promql/promql.h"

#include "promql/literal.h"
#include "promql/nullable.h"
#include "promql/parser.h"

#include "promql/grammar.h"

#include <stdarg.h>
#include <stdio.h>

int bj_promql_fail(struct bj_promql_parser *p, size_t position, int code,
                   const char *fmt, ...)
{
    if (p->err->code)
        return p->err->code;
    unsigned line = 1, column = 1;
    for (size_t i = 0; i < position && i < p->text.n; i++, column++)
        if (p->text.p[i] == '\n') {
            line++;
            column = 0;
        }
    char msg[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    return bj_err_say(p->err, code, "%u:%u: %s", line, column, msg);
}

int bj_promql_walk(const struct bj_promql_node *tree,
                   int (*visit)(const struct bj_promql_node *node, void *arg),
                   void *arg)
{
    int r = visit(tree, arg);
    for (const struct bj_promql_node *c = tree->child; r == 0 && c; c = c->next)
        r = bj_promql_walk(c, visit, arg);
    return r;
}

static bool matches_empty(const struct bj_promql_matcher *m)
{
    switch (m->op) {
    case BJ_PROMQL_EQ:
        return m->value.n == 0;
    case BJ_PROMQL_NE:
        return m->value.n > 0;
    case BJ_PROMQL_RE:
        return bj_promql_nullable(m->value);
    case BJ_PROMQL_NRE:
        return !bj_promql_nullable(m->value);
    }
    return true;
}

/* A selector without a matcher that needs a label would read all series. */
static int check_selector(const struct bj_promql_node *n, void *arg)
{
    struct bj_promql_parser *p = arg;
    if (n->kind != BJ_PROMQL_SELECTOR || n->may_match_all)
        return 0;
    for (const struct bj_promql_matcher *m = n->matchers; m; m = m->next)
        if (!matches_empty(m))
            return 0;
    return bj_promql_fail(p, 0, -EINVAL,
                          "a selector needs a matcher that does not match the "
                          "empty string");
}

static int parse(struct bj_slice text, const struct bj_promql_times *times,
                 bool only_selector, struct bj_arena *arena,
                 const struct bj_promql_node **ret, struct bj_err *err)
{
    static const struct bj_promql_times some = {1000, 1000};
    struct bj_err none;
    err = err ? err : &none;
    *err = (struct bj_err){0};
    struct bj_promql_parser p = {.text = text,
                                 .times = times ? *times : some,
                                 .evaluated = times != NULL,
                                 .only_selector = only_selector,
                                 .arena = arena,
                                 .err = err};
    if (text.n > BJ_PROMQL_TEXT_MAX)
        return bj_err_set(err, -E2BIG, "the query has more than %d bytes",
                          BJ_PROMQL_TEXT_MAX);
    /* Prometheus treats U+FFFD as a wrong byte */
    if (!bj_promql_utf8(text) || memmem(text.p, text.n, "\xEF\xBF\xBD", 3))
        return bj_err_set(err, -EINVAL, "the query is not UTF-8");
    int r = bj_grammar_parse(&p);
    if (arena->failed || r == 2)
        bj_promql_fail(&p, 0, -ENOMEM, "cannot parse the query");
    if (r != 0 || err->code)
        return bj_promql_fail(&p, 0, -EINVAL, "this is not PromQL");
    if (bj_promql_walk(p.tree, check_selector, &p))
        return err->code;
    *ret = p.tree;
    return 0;
}

int bj_promql_parse(struct bj_slice text, const struct bj_promql_times *times,
                    struct bj_arena *arena, const struct bj_promql_node **ret,
                    struct bj_err *err)
{
    return parse(text, times, false, arena, ret, err);
}

int bj_promql_parse_selector(struct bj_slice text, struct bj_arena *arena,
                             const struct bj_promql_node **ret,
                             struct bj_err *err)
{
    return parse(text, NULL, true, arena, ret, err);
}
