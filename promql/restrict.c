#include "promql/restrict.h"

enum { NODES_MAX = 4 * BJ_PROMQL_NODES_MAX };

struct work {
    const struct bj_promql_viewer *viewer;
    struct bj_arena *arena;
    struct bj_err *err; /* if its code is set, the work has failed */
    unsigned nodes;
    struct bj_slice accounts; /* the accounts as a regular expression */
    struct bj_slice user;     /* the user as a regular expression */
    bool in_absent;           /* the selector is the argument of absent() */
    struct bj_slice others; /* names that selectors of any name must not read */
};

/* --- copies ----------------------------------------------------------------
 */

static void restrict_refuse(struct work *w, int code, const char *what)
{
    if (!w->err->code)
        bj_err_say(w->err, code, "%s", what);
}

static struct bj_promql_node *restrict_copy(struct work *w,
                                            const struct bj_promql_node *n)
{
    struct bj_promql_node *c = NULL;
    if (++w->nodes > NODES_MAX)
        restrict_refuse(w, -E2BIG, "the restricted query has too many parts");
    else if (!(c = bj_arena_alloc(w->arena, sizeof *c)))
        restrict_refuse(w, -ENOMEM, "cannot restrict the query");
    if (!c)
        return NULL;
    *c = *n;
    c->next = NULL;
    return c;
}

/* A node with these children; NULL when one of them is. */
static struct bj_promql_node *restrict_make(struct work *w,
                                            const struct bj_promql_node *like,
                                            struct bj_promql_node *first,
                                            struct bj_promql_node *second)
{
    struct bj_promql_node *n = restrict_copy(w, like);
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
    struct bj_promql_node *n = restrict_make(w, &binary, a, b);
    return n ? restrict_make(w, &paren, n, NULL) : NULL;
}

/* --- selectors -------------------------------------------------------------
 */

/* The part of the viewer's series that a copy of a selector reads. */
enum part { OWN, ACCOUNTS };

static void add_matcher(struct work *w, struct bj_promql_node *n,
                        struct bj_slice label, enum bj_promql_match op,
                        struct bj_slice value)
{
    struct bj_promql_matcher *m = bj_arena_alloc(w->arena, sizeof *m);
    if (!m) {
        restrict_refuse(w, -ENOMEM, "cannot restrict the query");
        return;
    }
    *m = (struct bj_promql_matcher){.label = label, .value = value, .op = op};
    if (n->last_matcher)
        n->last_matcher->next = m;
    else
        n->matchers = m;
    n->last_matcher = m;
}

/* The list is copied, because the copy of the node gets more matchers. */
static void add_matchers(struct work *w, struct bj_promql_node *n,
                         const struct bj_promql_matcher *m)
{
    for (; m; m = m->next)
        add_matcher(w, n, m->label, m->op, m->value);
}

static bool has_matcher(const struct bj_promql_node *n, struct bj_slice label,
                        struct bj_slice value)
{
    const struct bj_promql_matcher *m = n->matchers;
    while (m && !(m->op == BJ_PROMQL_EQ && bj_slice_eq(m->label, label) &&
                  bj_slice_eq(m->value, value)))
        m = m->next;
    return m != NULL;
}

/* The result of absent() has the labels that equality matchers set.  The
 * matchers added here are regular expressions, and come first, because a later
 * matcher of the same label would remove that label. */
static void add_limits(struct work *w, struct bj_promql_node *n,
                       const struct bj_promql_labels *label, enum part part)
{
    const struct bj_promql_viewer *v = w->viewer;
    if (w->in_absent)
        add_matcher(w, n, label->user,
                    part == OWN ? BJ_PROMQL_RE : BJ_PROMQL_NRE, w->user);
    else if (part == ACCOUNTS)
        add_matcher(w, n, label->user, BJ_PROMQL_NE, v->user);
    else if (!has_matcher(n, label->user, v->user))
        add_matcher(w, n, label->user, BJ_PROMQL_EQ, v->user);
    if (part != ACCOUNTS)
        return;
    if (w->in_absent || v->account_count > 1)
        add_matcher(w, n, label->account, BJ_PROMQL_RE, w->accounts);
    else
        add_matcher(w, n, label->account, BJ_PROMQL_EQ, v->accounts[0]);
}

static struct bj_promql_node *
limited(struct work *w, const struct bj_promql_node *selector, enum part part)
{
    struct bj_promql_labels label;
    struct bj_promql_node *n = restrict_copy(w, selector);
    if (!n)
        return NULL;
    bool others = !bj_promql_labels_of(selector, &w->viewer->rules, &label);
    n->matchers = n->last_matcher = NULL;
    if (w->in_absent)
        add_limits(w, n, &label, part);
    add_matchers(w, n, selector->matchers);
    if (others)
        add_matcher(w, n, BJ_SLICE("__name__"), BJ_PROMQL_NRE, w->others);
    if (!w->in_absent)
        add_limits(w, n, &label, part);
    return w->err->code ? NULL : n;
}

/* VictoriaMetrics or Grafana Mimir interpret these labels as instructions. */
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

/* Does the user need two selectors?  Matchers cannot express "own jobs or jobs
 * of coordinated accounts". */
static bool needs_two(const struct work *w,
                      const struct bj_promql_node *selector)
{
    struct bj_promql_labels label;
    if (w->viewer->account_count == 0 ||
        bj_promql_is_public(selector, &w->viewer->rules))
        return false;
    bj_promql_labels_of(selector, &w->viewer->rules, &label);
    return label.account.n > 0;
}

static struct bj_promql_node *selector(struct work *w,
                                       const struct bj_promql_node *n)
{
    if (has_special_label(n))
        restrict_refuse(w, -EACCES, "a selector has a label that is reserved");
    if (bj_promql_is_public(n, &w->viewer->rules))
        return restrict_copy(w, n);
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

static bool is_absent(const struct bj_promql_node *call)
{
    return bj_slice_eq(call->text, BJ_SLICE("absent")) ||
           bj_slice_eq(call->text, BJ_SLICE("absent_over_time"));
}

/* Find an argument whose selector cannot be replaced by (a or b): a range, or a
 * selector whose own times or labels the function returns. */
static const struct bj_promql_node *
argument_of_two(const struct work *w, const struct bj_promql_node *call)
{
    bool itself = bj_slice_eq(call->text, BJ_SLICE("timestamp")) ||
                  bj_slice_eq(call->text, BJ_SLICE("start_timestamp")) ||
                  is_absent(call);
    for (const struct bj_promql_node *c = call->child; c; c = c->next) {
        const struct bj_promql_node *in = inside(c);
        if (in->kind == BJ_PROMQL_RANGE && needs_two(w, in->child))
            return c;
        if (itself && in->kind == BJ_PROMQL_SELECTOR && needs_two(w, in))
            return c;
    }
    return NULL;
}

static struct bj_promql_node *restricted(struct work *w,
                                         const struct bj_promql_node *n);

/* Copy a range or selector, without parentheses, limited to one part. */
static struct bj_promql_node *
one_part(struct work *w, const struct bj_promql_node *argument, enum part part)
{
    const struct bj_promql_node *n = inside(argument);
    if (n->kind == BJ_PROMQL_SELECTOR)
        return has_special_label(n) ? selector(w, n) : limited(w, n, part);
    if (has_special_label(n->child))
        return selector(w, n->child);
    struct bj_promql_node *range = restrict_copy(w, n);
    struct bj_promql_node *child = limited(w, n->child, part);
    if (!range || !child)
        return NULL;
    range->child = range->last = child;
    return range;
}

/* Copy the call with restricted arguments; special is restricted to one part.
 */
static struct bj_promql_node *
with_arguments(struct work *w, const struct bj_promql_node *n,
               const struct bj_promql_node *special, enum part part)
{
    struct bj_promql_node *c = restrict_copy(w, n);
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
        restrict_refuse(
            w, -EACCES,
            "info() is refused: it reads series that no selector names");
        return NULL;
    }
    const struct bj_promql_node *special = argument_of_two(w, n);
    enum bj_promql_kind kind =
        n->child ? inside(n->child)->kind : BJ_PROMQL_NUMBER;
    w->in_absent =
        is_absent(n) && (kind == BJ_PROMQL_SELECTOR || kind == BJ_PROMQL_RANGE);
    if (!special) {
        struct bj_promql_node *one = with_arguments(w, n, NULL, OWN);
        w->in_absent = false;
        return one;
    }
    struct bj_promql_node *own = with_arguments(w, n, special, OWN);
    struct bj_promql_node *accounts = with_arguments(w, n, special, ACCOUNTS);
    w->in_absent = false;
    if (is_absent(n))
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
        return restrict_copy(w, n);
    case BJ_PROMQL_SELECTOR:
        return selector(w, n);
    case BJ_PROMQL_CALL:
        return call(w, n);
    case BJ_PROMQL_RANGE:
        if (needs_two(w, n->child)) {
            restrict_refuse(
                w, -EACCES,
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
    restrict_refuse(w, -EACCES, "a part of the query is unknown");
    return NULL;
}

/* The text of a buffer, which is freed. */
static struct bj_slice restrict_take_text(struct work *w, struct bj_buf *b)
{
    if (b->failed)
        restrict_refuse(w, -ENOMEM, "cannot restrict the query");
    struct bj_slice s = bj_arena_copy(
        w->arena, (struct bj_slice){b->p, b->failed ? 0 : b->len});
    bj_buf_free(b);
    return s;
}

/* Return "x|y", with each name quoted for a regular expression. */
static struct bj_slice one_of(struct work *w, const struct bj_slice *names,
                              size_t n)
{
    struct bj_buf b = {0};
    for (size_t i = 0; i < n; i++) {
        bj_buf_str(&b, i > 0 ? "|" : "");
        for (size_t k = 0; k < names[i].n; k++) {
            char c = names[i].p[k];
            if (c && strchr("\\.+*?()|[]{}^$", c))
                bj_buf_str(&b, "\\");
            bj_buf_put(&b, &c, 1);
        }
    }
    return restrict_take_text(w, &b);
}

static void restrict_begin(struct work *w, struct bj_err *err)
{
    const struct bj_promql_viewer *viewer = w->viewer;
    struct bj_buf others = {0};
    w->err = err;
    *err = (struct bj_err){0};
    /* user="" would match the series without that label */
    if (viewer->user.n == 0)
        restrict_refuse(w, -EACCES, "the user is unknown");
    for (size_t i = 0; i < viewer->account_count; i++)
        if (viewer->accounts[i].n == 0)
            restrict_refuse(w, -EACCES, "an account has no name");
    w->accounts = one_of(w, viewer->accounts, viewer->account_count);
    w->user = one_of(w, &viewer->user, 1);
    bj_promql_other_names(&viewer->rules, &others);
    w->others = restrict_take_text(w, &others);
}

int bj_promql_restrict(const struct bj_promql_node *tree,
                       const struct bj_promql_viewer *viewer,
                       struct bj_arena *arena,
                       const struct bj_promql_node **ret, struct bj_err *err)
{
    struct bj_err none;
    struct work w = {.viewer = viewer, .arena = arena};
    restrict_begin(&w, err ? err : &none);
    struct bj_promql_node *n = restricted(&w, tree);
    if (!n || arena->failed)
        restrict_refuse(&w, -ENOMEM, "cannot restrict the query");
    if (w.err->code)
        return w.err->code;
    *ret = n;
    return 0;
}

/* Does the selector read one name only? */
static bool has_name(const struct bj_promql_node *selector)
{
    const struct bj_promql_matcher *m = selector->matchers;
    while (m && !(m->op == BJ_PROMQL_EQ &&
                  bj_slice_eq(m->label, BJ_SLICE("__name__"))))
        m = m->next;
    return m != NULL;
}

/* Limit a selector of any name to public names; false: there are none. */
static bool limit_to_public(struct work *w, struct bj_promql_node *n)
{
    struct bj_buf names = {0}, except = {0};
    bj_promql_public_names(&w->viewer->rules, &names, &except);
    bool any = names.len > 0;
    if (any)
        add_matcher(w, n, BJ_SLICE("__name__"), BJ_PROMQL_RE,
                    restrict_take_text(w, &names));
    if (any && except.len > 0)
        add_matcher(w, n, BJ_SLICE("__name__"), BJ_PROMQL_NRE,
                    restrict_take_text(w, &except));
    bj_buf_free(&names);
    bj_buf_free(&except);
    return any;
}

int bj_promql_restrict_match(
    const struct bj_promql_node *tree, const struct bj_promql_viewer *viewer,
    struct bj_arena *arena, const struct bj_promql_node *ret[BJ_PROMQL_MATCHES],
    struct bj_err *err)
{
    static const struct bj_promql_node any = {.kind = BJ_PROMQL_SELECTOR,
                                              .type = BJ_PROMQL_T_VECTOR};
    struct bj_err none;
    struct work w = {.viewer = viewer, .arena = arena};
    int n = 0;
    restrict_begin(&w, err ? err : &none);
    const struct bj_promql_node *s = tree ? tree : &any;
    if (has_special_label(s))
        restrict_refuse(&w, -EACCES, "a selector has a label that is reserved");
    if (bj_promql_is_public(s, &viewer->rules)) {
        ret[n++] = s;
    } else {
        ret[n++] = limited(&w, s, OWN);
        if (needs_two(&w, s))
            ret[n++] = limited(&w, s, ACCOUNTS);
        struct bj_promql_node *c = has_name(s) ? NULL : restrict_copy(&w, s);
        if (c)
            c->matchers = c->last_matcher = NULL;
        if (c)
            add_matchers(&w, c, s->matchers);
        if (c && limit_to_public(&w, c))
            ret[n++] = c;
    }
    if (arena->failed)
        restrict_refuse(&w, -ENOMEM, "cannot restrict the query");
    return w.err->code ? w.err->code : n;
}
