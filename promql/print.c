#include "promql/promql.h"

#include "promql/literal.h"

static void put_string(struct bj_slice s, struct bj_buf *b)
{
    bj_buf_put(b, "\"", 1);
    while (s.n > 0) {
        unsigned char c = (unsigned char)*s.p;
        unsigned n = bj_promql_utf8_len(s);
        bool replacement = n == 3 && memcmp(s.p, "\xEF\xBF\xBD", 3) == 0;
        if (c == '"' || c == '\\')
            bj_buf_printf(b, "\\%c", c);
        else if (c == '\n')
            bj_buf_str(b, "\\n");
        else if (n == 0 || c < ' ' || c == 0x7F)
            bj_buf_printf(b, "\\x%02x", c);
        else if (replacement) /* Prometheus treats it as wrong UTF-8 */
            bj_buf_str(b, "\\ufffd");
        else
            bj_buf_put(b, s.p, n);
        n = n ? n : 1;
        s.p += n;
        s.n -= n;
    }
    bj_buf_put(b, "\"", 1);
}

static void print_label(struct bj_slice s, struct bj_buf *b)
{
    bool plain = s.n > 0 && !(s.p[0] >= '0' && s.p[0] <= '9');
    for (size_t i = 0; plain && i < s.n; i++) {
        char c = s.p[i];
        plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                (c >= '0' && c <= '9');
    }
    if (plain)
        bj_buf_slice(b, s);
    else
        put_string(s, b);
}

static void print_labels(const struct bj_promql_label *l, struct bj_buf *b)
{
    bj_buf_str(b, "(");
    for (; l; l = l->next) {
        print_label(l->name, b);
        bj_buf_str(b, l->next ? "," : "");
    }
    bj_buf_str(b, ")");
}

static void print_duration(int64_t ms, struct bj_buf *b)
{
    if (ms < 0)
        bj_buf_str(b, "-");
    uint64_t v = ms < 0 ? (uint64_t)-ms : (uint64_t)ms;
    bj_buf_u64(b, v % 1000 ? v : v / 1000);
    bj_buf_str(b, v % 1000 ? "ms" : "s");
}

static void print_selector(const struct bj_promql_node *n, struct bj_buf *b)
{
    static const char *const ops[] = {
        [BJ_PROMQL_EQ] = "=",
        [BJ_PROMQL_NE] = "!=",
        [BJ_PROMQL_RE] = "=~",
        [BJ_PROMQL_NRE] = "!~",
    };
    bj_buf_str(b, "{");
    for (const struct bj_promql_matcher *m = n->matchers; m; m = m->next) {
        print_label(m->label, b);
        bj_buf_str(b, ops[m->op]);
        put_string(m->value, b);
        bj_buf_str(b, m->next ? "," : "");
    }
    bj_buf_str(b, "}");
}

static void print_modifiers(const struct bj_promql_node *n, struct bj_buf *b)
{
    if (n->extent)
        bj_buf_printf(b, " %s", n->extent);
    if (n->at == BJ_PROMQL_AT_TIME) {
        bj_buf_str(b, " @ ");
        bj_buf_slice(b, n->at_time);
    } else if (n->at) {
        bj_buf_str(b, n->at == BJ_PROMQL_AT_START ? " @ start()" : " @ end()");
    }
    if (n->has_offset) {
        bj_buf_str(b, " offset ");
        print_duration(n->offset_ms, b);
    }
}

static void print(const struct bj_promql_node *n, struct bj_buf *b);

static void print_operand(const struct bj_promql_node *n, struct bj_buf *b)
{
    bool wrap =
        n->kind == BJ_PROMQL_UNARY || n->kind == BJ_PROMQL_BINARY ||
        (n->kind == BJ_PROMQL_NUMBER && n->text.n > 0 && n->text.p[0] == '-');
    bj_buf_str(b, wrap ? "(" : "");
    print(n, b);
    bj_buf_str(b, wrap ? ")" : "");
}

static void print_fill(const char *name, struct bj_slice number,
                       struct bj_buf *b)
{
    if (number.n == 0)
        return;
    bj_buf_printf(b, " %s(", name);
    bj_buf_slice(b, number);
    bj_buf_str(b, ")");
}

static void print_binary(const struct bj_promql_node *n, struct bj_buf *b)
{
    print_operand(n->child, b);
    bj_buf_str(b, " ");
    bj_buf_slice(b, n->text);
    bj_buf_str(b, n->returns_bool ? " bool" : "");
    if (n->grouping) {
        bj_buf_str(b, n->grouping == BJ_PROMQL_ON ? " on" : " ignoring");
        print_labels(n->labels, b);
    }
    if (n->group) {
        bj_buf_printf(b, " %s", n->group);
        print_labels(n->include, b);
    }
    print_fill("fill_left", n->fill_left, b);
    print_fill("fill_right", n->fill_right, b);
    bj_buf_str(b, " ");
    print_operand(n->last, b);
}

static void print_children(const struct bj_promql_node *n, struct bj_buf *b)
{
    bj_buf_str(b, "(");
    for (const struct bj_promql_node *c = n->child; c; c = c->next) {
        print(c, b);
        bj_buf_str(b, c->next ? "," : "");
    }
    bj_buf_str(b, ")");
}

static void print_range(const struct bj_promql_node *n, struct bj_buf *b)
{
    print_operand(n->child, b);
    bj_buf_str(b, "[");
    print_duration(n->range_ms, b);
    if (n->kind == BJ_PROMQL_SUBQUERY)
        bj_buf_str(b, ":");
    if (n->step_ms > 0)
        print_duration(n->step_ms, b);
    bj_buf_str(b, "]");
    print_modifiers(n, b);
}

static void print(const struct bj_promql_node *n, struct bj_buf *b)
{
    switch (n->kind) {
    case BJ_PROMQL_NUMBER:
        bj_buf_slice(b, n->text);
        return;
    case BJ_PROMQL_STRING:
        put_string(n->text, b);
        return;
    case BJ_PROMQL_SELECTOR:
        print_selector(n, b);
        print_modifiers(n, b);
        return;
    case BJ_PROMQL_RANGE:
    case BJ_PROMQL_SUBQUERY:
        print_range(n, b);
        return;
    case BJ_PROMQL_BINARY:
        print_binary(n, b);
        return;
    case BJ_PROMQL_UNARY:
        bj_buf_slice(b, n->text);
        print_operand(n->child, b);
        return;
    case BJ_PROMQL_AGGREGATE:
        bj_buf_slice(b, n->text);
        if (n->grouping) {
            bj_buf_str(b, n->grouping == BJ_PROMQL_BY ? " by" : " without");
            print_labels(n->labels, b);
        }
        break;
    case BJ_PROMQL_CALL:
        bj_buf_slice(b, n->text);
        break;
    case BJ_PROMQL_PAREN:
        break;
    }
    print_children(n, b);
}

void bj_promql_print(const struct bj_promql_node *tree, struct bj_buf *b)
{
    print(tree, b);
}
