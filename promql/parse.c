#include "base/slice.h"
#include "promql/grammar.h"
#include "promql/literal.h"
#include "promql/parser.h"
#include "promql/promql.h"

#include <stdarg.h>
#include <stdio.h>

/* Does a regular expression of RE2 match the empty string? */

struct re {
    struct bj_slice s;
    bool unknown; /* contains something that this parser does not understand */
};

static char parse_next(const struct re *re)
{
    return re->s.n > 0 ? *re->s.p : '\0';
}

static void parse_skip(struct re *re, size_t n)
{
    n = n < re->s.n ? n : re->s.n;
    re->s.p += n;
    re->s.n -= n;
}

/* Skip a class such as "[^]a-z[:alpha:]]". */
static void skip_class(struct re *re)
{
    parse_skip(re, 1);
    if (parse_next(re) == '^')
        parse_skip(re, 1);
    if (parse_next(re) == ']')
        parse_skip(re, 1);
    while (re->s.n > 0 && parse_next(re) != ']') {
        bool name = bj_slice_starts(re->s, BJ_SLICE("[:"));
        const char *end = name ? memmem(re->s.p, re->s.n, ":]", 2) : NULL;
        parse_skip(re, end                      ? (size_t)(end - re->s.p) + 2
                       : parse_next(re) == '\\' ? 2
                                                : 1);
    }
    parse_skip(re, 1);
}

/* Skip "?:", "?P<name>" and flags after a parenthesis; true if the group
 * contains nothing else: "(?i)". */
static bool skip_flags(struct re *re)
{
    if (parse_next(re) != '?')
        return false;
    while (re->s.n > 0 && parse_next(re) != ':' && parse_next(re) != '>' &&
           parse_next(re) != ')')
        parse_skip(re, 1);
    bool all = parse_next(re) == ')';
    parse_skip(re, 1);
    return all;
}

/* Find the end of "{2,3}"; 0: not a repetition.  *ret_zero: the minimum is 0.
 */
static size_t repetition(struct bj_slice s, bool *ret_zero)
{
    size_t i = 1, digits = 0;
    bool zero = true;
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++, digits++)
        zero &= s.p[i] == '0';
    if (i < s.n && s.p[i] == ',')
        for (i++; i < s.n && s.p[i] >= '0' && s.p[i] <= '9';)
            i++;
    *ret_zero = zero;
    return digits > 0 && i < s.n && s.p[i] == '}' ? i + 1 : 0;
}

/* Skip the repetition after an atom; true if the atom may be missing. */
static bool optional(struct re *re)
{
    bool result = false, zero;
    for (size_t n;; parse_skip(re, n)) {
        char c = parse_next(re);
        n = c == '*' || c == '?' || c == '+' ? 1 : 0;
        if (c == '{' && (n = repetition(re->s, &zero)) > 0)
            result |= zero;
        result |= c == '*' || c == '?';
        if (n == 0 || re->s.n == 0)
            return result;
    }
}

static bool escape(struct re *re)
{
    char c = re->s.n > 1 ? re->s.p[1] : '\0';
    if (c == 'Q') {
        re->unknown = true;
        return false;
    }
    if ((c == 'x' || c == 'p' || c == 'P') && re->s.n > 2 &&
        re->s.p[2] == '{') {
        const char *end = memchr(re->s.p, '}', re->s.n);
        parse_skip(re, end ? (size_t)(end - re->s.p) + 1 : re->s.n);
        return false;
    }
    parse_skip(re, c == 'x' ? 4 : c == 'p' || c == 'P' ? 3 : 2);
    return c == 'A' || c == 'z' || c == 'B';
}

static bool alternatives(struct re *re, unsigned depth);

static bool atom(struct re *re, unsigned depth)
{
    char c = parse_next(re);
    bool empty = false;
    if (c == '(' && depth < 100) {
        parse_skip(re, 1);
        if (skip_flags(re))
            return true;
        empty = alternatives(re, depth + 1);
        re->unknown |= parse_next(re) != ')';
        parse_skip(re, 1);
    } else if (c == '[') {
        skip_class(re);
    } else if (c == '\\') {
        empty = escape(re);
    } else {
        re->unknown |= c == '(';
        empty = c == '^' || c == '$';
        parse_skip(re, 1);
    }
    return optional(re) || empty;
}

static bool alternatives(struct re *re, unsigned depth)
{
    bool any = false, all = true;
    while (re->s.n > 0 && !re->unknown && parse_next(re) != ')') {
        if (parse_next(re) == '|') {
            any |= all;
            all = true;
            parse_skip(re, 1);
        } else {
            bool empty = atom(re, depth);
            all &= empty;
        }
    }
    return any || all;
}

/* False also for an expression that this function does not understand;
 * Prometheus then decides. */
static bool promql_nullable(struct bj_slice s)
{
    struct re re = {.s = s};
    bool result = alternatives(&re, 0);
    return result && !re.unknown && re.s.n == 0;
}

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
        return promql_nullable(m->value);
    case BJ_PROMQL_NRE:
        return !promql_nullable(m->value);
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

static int parse_parse(struct bj_slice text,
                       const struct bj_promql_times *times, bool only_selector,
                       struct bj_arena *arena,
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
    return parse_parse(text, times, false, arena, ret, err);
}

int bj_promql_parse_selector(struct bj_slice text, struct bj_arena *arena,
                             const struct bj_promql_node **ret,
                             struct bj_err *err)
{
    return parse_parse(text, NULL, true, arena, ret, err);
}
