#include "promql/restrict.h"

enum { NODES_MAX = 4 * BJ_PROMQL_NODES_MAX };

struct work {
    const struct bj_promql_viewer *viewer;
    struct bj_arena *arena;
    struct bj_err *err; /* its code is set: the work has failed */
    unsigned nodes;
    struct bj_slice accounts; /* value of the matcher of account */
};

/* --- public or personal ----------------------------------------------------
 */

static bool public_name(struct bj_slice name, const struct bj_promql_viewer *v)
{
    const struct bj_promql_rule *best = NULL;
    for (size_t i = 0; i < v->rule_count; i++)
        if (bj_slice_starts(name, v->rules[i].prefix) &&
            (!best || v->rules[i].prefix.n > best->prefix.n ||
             (v->rules[i].prefix.n == best->prefix.n && !v->rules[i].public)))
            best = &v->rules[i];
    return name.n > 0 && best && best->public;
}

/* All names that begin with start are public. */
static bool public_start(struct bj_slice start,
                         const struct bj_promql_viewer *v)
{
    for (size_t i = 0; i < v->rule_count; i++)
        if (!v->rules[i].public && bj_slice_starts(v->rules[i].prefix, start))
            return false;
    return public_name(start, v);
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == ':';
}

/* One alternative of a regular expression: a name, or the start of one and then
 * ".*" or ".+".  Everything else may match any name. */
static bool public_pattern(struct bj_slice s, const struct bj_promql_viewer *v)
{
    size_t n = 0;
    while (n < s.n && is_name_byte(s.p[n]))
        n++;
    struct bj_slice start = {s.p, n}, rest = {s.p + n, s.n - n};
    if (rest.n == 0)
        return public_name(start, v);
    return (bj_slice_eq(rest, BJ_SLICE(".*")) ||
            bj_slice_eq(rest, BJ_SLICE(".+"))) &&
           public_start(start, v);
}

static bool public_matcher(const struct bj_promql_matcher *m,
                           const struct bj_promql_viewer *v)
{
    if (!bj_slice_eq(m->label, BJ_SLICE("__name__")))
        return false;
    if (m->op == BJ_PROMQL_EQ)
        return public_name(m->value, v);
    if (m->op != BJ_PROMQL_RE || m->value.n == 0 ||
        m->value.p[m->value.n - 1] == '|')
        return false;
    struct bj_slice rest = m->value, one;
    while (bj_slice_field(&rest, '|', &one))
        if (!public_pattern(one, v))
            return false;
    return true;
}

bool bj_promql_is_public(const struct bj_promql_node *selector,
                         const struct bj_promql_viewer *viewer)
{
    for (const struct bj_promql_matcher *m = selector->matchers; m; m = m->next)
        if (public_matcher(m, viewer))
            return true;
    return false;
}

/* --- copies ----------------------------------------------------------------
 */

static void refuse(struct work *w, int code, const char *what)
{
    if (!w->err->code)
        bj_err_set(w->err, code, "%s", what);
}

static struct bj_promql_node *copy(struct work *w,
                                   const struct bj_promql_node *n)
{
    struct bj_promql_node *c = NULL;
    if (++w->nodes > NODES_MAX)
        refuse(w, -E2BIG, "the restricted query has too many parts");
    else if (!(c = bj_arena_alloc(w->arena, sizeof *c)))
        refuse(w, -ENOMEM, "cannot restrict the query");
    if (!c)
        return NULL;
    *c = *n;
    c->next = NULL;
    return c;
}

/* A node with these children; NULL when one of them is. */
static struct bj_promql_node *make(struct work *w,
                                   const struct bj_promql_node *like,
                                   struct bj_promql_node *first,
                                   struct bj_promql_node *second)
{
    struct bj_promql_node *n = copy(w, like);
    if (!n || !first || (w->err->code && !second))
        return NULL;
    n->child = first;
    n->last = second ? second : first;
    first->next = second;
    return n;
}

/* (a OP b) */
static struct bj_promql_node *both(struct work *w, const char *op,
                                   enum bj_promql_grouping grouping,
                                   struct bj_promql_node *a,
                                   struct bj_promql_node *b)
{
    const struct bj_promql_node binary = {.kind = BJ_PROMQL_BINARY,
                                          .type = BJ_PROMQL_T_VECTOR,
                                          .text = bj_slice_str(op),
                                          .grouping = grouping};
    const struct bj_promql_node paren = {.kind = BJ_PROMQL_PAREN,
                                         .type = BJ_PROMQL_T_VECTOR};
    if (!a || !b)
        return NULL;
    struct bj_promql_node *n = make(w, &binary, a, b);
    return n ? make(w, &paren, n, NULL) : NULL;
}

/* --- selectors -------------------------------------------------------------
 */

/* Which of the viewer's series a copy of a selector reads. */
enum part { OWN, ACCOUNTS };

static void add_matcher(struct work *w, struct bj_promql_node *n,
                        struct bj_slice label, enum bj_promql_match op,
                        struct bj_slice value)
{
    /* a second one would take the label from the result of absent() */
    for (const struct bj_promql_matcher *m = n->matchers; m; m = m->next)
        if (m->op == op && bj_slice_eq(m->label, label) &&
            bj_slice_eq(m->value, value))
            return;
    struct bj_promql_matcher *m = bj_arena_alloc(w->arena, sizeof *m);
    if (!m) {
        refuse(w, -ENOMEM, "cannot restrict the query");
        return;
    }
    *m = (struct bj_promql_matcher){.label = label, .value = value, .op = op};
    if (n->last_matcher)
        n->last_matcher->next = m;
    else
        n->matchers = m;
    n->last_matcher = m;
}

/* The list is copied, as the copy of the node gets more of them. */
static void copy_matchers(struct work *w, struct bj_promql_node *n)
{
    const struct bj_promql_matcher *m = n->matchers;
    n->matchers = n->last_matcher = NULL;
    for (; m; m = m->next)
        add_matcher(w, n, m->label, m->op, m->value);
}

static struct bj_promql_node *
limited(struct work *w, const struct bj_promql_node *selector, enum part part)
{
    struct bj_promql_node *n = copy(w, selector);
    if (!n)
        return NULL;
    copy_matchers(w, n);
    if (part == OWN) {
        add_matcher(w, n, BJ_SLICE("user"), BJ_PROMQL_EQ, w->viewer->user);
    } else {
        add_matcher(w, n, BJ_SLICE("user"), BJ_PROMQL_NE, w->viewer->user);
        add_matcher(w, n, BJ_SLICE("account"),
                    w->viewer->account_count > 1 ? BJ_PROMQL_RE : BJ_PROMQL_EQ,
                    w->accounts);
    }
    return w->err->code ? NULL : n;
}

/* These labels are orders to VictoriaMetrics or Grafana Mimir. */
static bool has_special_label(const struct bj_promql_node *selector)
{
    static const char *const special[] = {"__graphite__", "vm_account_id",
                                          "vm_project_id", "__tenant_id__"};
    for (const struct bj_promql_matcher *m = selector->matchers; m; m = m->next)
        for (size_t i = 0; i < sizeof special / sizeof *special; i++)
            if (bj_slice_eq(m->label, bj_slice_str(special[i])))
                return true;
    return false;
}

/* One selector is not enough: no pair of matchers is "mine or of my accounts".
 */
static bool needs_two(const struct work *w,
                      const struct bj_promql_node *selector)
{
    return w->viewer->account_count > 0 &&
           !bj_promql_is_public(selector, w->viewer);
}

static struct bj_promql_node *selector(struct work *w,
                                       const struct bj_promql_node *n)
{
    if (has_special_label(n))
        refuse(w, -EACCES, "a selector has a label that is reserved");
    if (bj_promql_is_public(n, w->viewer))
        return copy(w, n);
    if (!needs_two(w, n))
        return limited(w, n, OWN);
    return both(w, "or", BJ_PROMQL_UNGROUPED, limited(w, n, OWN),
                limited(w, n, ACCOUNTS));
}

/* --- the tree --------------------------------------------------------------
 */

static const struct bj_promql_node *inside(const struct bj_promql_node *n)
{
    while (n->kind == BJ_PROMQL_PAREN)
        n = n->child;
    return n;
}

/* The argument of a call whose selector cannot become (a or b) in place: a
 * range, or the selector whose own time timestamp() returns. */
static const struct bj_promql_node *
argument_of_two(const struct work *w, const struct bj_promql_node *call)
{
    bool times = bj_slice_eq(call->text, BJ_SLICE("timestamp")) ||
                 bj_slice_eq(call->text, BJ_SLICE("start_timestamp"));
    for (const struct bj_promql_node *c = call->child; c; c = c->next) {
        const struct bj_promql_node *in = inside(c);
        if (in->kind == BJ_PROMQL_RANGE && needs_two(w, in->child))
            return c;
        if (times && in->kind == BJ_PROMQL_SELECTOR && needs_two(w, in))
            return c;
    }
    return NULL;
}

static struct bj_promql_node *restricted(struct work *w,
                                         const struct bj_promql_node *n);

/* A range or selector, without its parentheses, limited to one part. */
static struct bj_promql_node *
one_part(struct work *w, const struct bj_promql_node *argument, enum part part)
{
    const struct bj_promql_node *n = inside(argument);
    if (n->kind == BJ_PROMQL_SELECTOR)
        return has_special_label(n) ? selector(w, n) : limited(w, n, part);
    if (has_special_label(n->child))
        return selector(w, n->child);
    struct bj_promql_node *range = copy(w, n);
    struct bj_promql_node *child = limited(w, n->child, part);
    if (!range || !child)
        return NULL;
    range->child = range->last = child;
    return range;
}

/* The call with its arguments restricted; those of special for one part. */
static struct bj_promql_node *
with_arguments(struct work *w, const struct bj_promql_node *n,
               const struct bj_promql_node *special, enum part part)
{
    struct bj_promql_node *c = copy(w, n);
    if (!c)
        return NULL;
    c->child = c->last = NULL;
    for (const struct bj_promql_node *old = n->child; old; old = old->next) {
        struct bj_promql_node *arg =
            old == special ? one_part(w, old, part) : restricted(w, old);
        if (!arg || w->err->code)
            return NULL;
        if (c->last)
            c->last->next = arg;
        else
            c->child = arg;
        c->last = arg;
    }
    return c;
}

static struct bj_promql_node *call(struct work *w,
                                   const struct bj_promql_node *n)
{
    if (bj_slice_eq(n->text, BJ_SLICE("info"))) {
        refuse(w, -EACCES,
               "info() reads series that no selector names, and is refused");
        return NULL;
    }
    const struct bj_promql_node *special = argument_of_two(w, n);
    if (!special)
        return with_arguments(w, n, NULL, OWN);
    struct bj_promql_node *own = with_arguments(w, n, special, OWN);
    struct bj_promql_node *accounts = with_arguments(w, n, special, ACCOUNTS);
    /* absent of both, and of nothing else */
    if (bj_slice_eq(n->text, BJ_SLICE("absent_over_time")))
        return both(w, "and", BJ_PROMQL_ON, own, accounts);
    return both(w, "or", BJ_PROMQL_UNGROUPED, own, accounts);
}

static struct bj_promql_node *restricted(struct work *w,
                                         const struct bj_promql_node *n)
{
    if (w->err->code)
        return NULL;
    switch (n->kind) {
    case BJ_PROMQL_NUMBER:
    case BJ_PROMQL_STRING:
        return copy(w, n);
    case BJ_PROMQL_SELECTOR:
        return selector(w, n);
    case BJ_PROMQL_CALL:
        return call(w, n);
    case BJ_PROMQL_RANGE:
        if (needs_two(w, n->child)) {
            refuse(w, -EACCES,
                   "a range of samples outside a function is refused for "
                   "coordinators");
            return NULL;
        }
        return with_arguments(w, n, NULL, OWN);
    case BJ_PROMQL_SUBQUERY:
    case BJ_PROMQL_PAREN:
    case BJ_PROMQL_UNARY:
    case BJ_PROMQL_BINARY:
    case BJ_PROMQL_AGGREGATE:
        return with_arguments(w, n, NULL, OWN);
    }
    refuse(w, -EACCES, "a part of the query is unknown");
    return NULL;
}

/* "x", or "x|y" with each name quoted for a regular expression. */
static struct bj_slice account_value(struct work *w)
{
    const struct bj_promql_viewer *v = w->viewer;
    struct bj_buf b = {0};
    if (v->account_count == 1)
        return v->accounts[0];
    for (size_t i = 0; i < v->account_count; i++) {
        bj_buf_str(&b, i > 0 ? "|" : "");
        for (size_t k = 0; k < v->accounts[i].n; k++) {
            char c = v->accounts[i].p[k];
            if (c && strchr("\\.+*?()|[]{}^$", c))
                bj_buf_str(&b, "\\");
            bj_buf_put(&b, &c, 1);
        }
    }
    if (b.failed)
        refuse(w, -ENOMEM, "cannot restrict the query");
    struct bj_slice s =
        bj_arena_copy(w->arena, (struct bj_slice){b.p, b.failed ? 0 : b.len});
    bj_buf_free(&b);
    return s;
}

int bj_promql_restrict(const struct bj_promql_node *tree,
                       const struct bj_promql_viewer *viewer,
                       struct bj_arena *arena,
                       const struct bj_promql_node **ret, struct bj_err *err)
{
    struct bj_err none;
    struct work w = {
        .viewer = viewer, .arena = arena, .err = err ? err : &none};
    *w.err = (struct bj_err){0};
    /* user="" would match the series without that label */
    if (viewer->user.n == 0)
        refuse(&w, -EACCES, "the user is unknown");
    for (size_t i = 0; i < viewer->account_count; i++)
        if (viewer->accounts[i].n == 0)
            refuse(&w, -EACCES, "an account has no name");
    w.accounts = account_value(&w);
    struct bj_promql_node *n = restricted(&w, tree);
    if (!n || arena->failed)
        refuse(&w, -ENOMEM, "cannot restrict the query");
    if (w.err->code)
        return w.err->code;
    *ret = n;
    return 0;
}
