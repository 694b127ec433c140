#include "promql/build.h"

#include "promql/literal.h"
#include "promql/promql.h"

/* The functions of PromQL and the types of their arguments. */

struct promql_function {
    const char *name;
    /* A letter for each argument: S scalar, V instant vector, M range vector, T
     * string, B selector in braces.  Arguments after '?' are optional; '*': any
     * number of the last one. */
    const char *args;
    enum bj_promql_type result;
};

#define V BJ_PROMQL_T_VECTOR
#define S BJ_PROMQL_T_SCALAR

/* Source: Prometheus 3.14, promql/parser/functions.go; holt_winters is the
 * name of double_exponential_smoothing before 3.0. */
static const struct promql_function functions[] = {
    {"abs", "V", V},
    {"absent", "V", V},
    {"absent_over_time", "M", V},
    {"acos", "V", V},
    {"acosh", "V", V},
    {"asin", "V", V},
    {"asinh", "V", V},
    {"atan", "V", V},
    {"atanh", "V", V},
    {"avg_over_time", "M", V},
    {"ceil", "V", V},
    {"changes", "M", V},
    {"clamp", "VSS", V},
    {"clamp_max", "VS", V},
    {"clamp_min", "VS", V},
    {"cos", "V", V},
    {"cosh", "V", V},
    {"count_over_time", "M", V},
    {"day_of_month", "?V", V},
    {"day_of_week", "?V", V},
    {"day_of_year", "?V", V},
    {"days_in_month", "?V", V},
    {"deg", "V", V},
    {"delta", "M", V},
    {"deriv", "M", V},
    {"double_exponential_smoothing", "MSS", V},
    {"end", "", S},
    {"exp", "V", V},
    {"first_over_time", "M", V},
    {"floor", "V", V},
    {"histogram_avg", "V", V},
    {"histogram_count", "V", V},
    {"histogram_fraction", "SSV", V},
    {"histogram_quantile", "SV", V},
    {"histogram_quantiles", "VTS?SSSSSSSSS", V},
    {"histogram_stddev", "V", V},
    {"histogram_stdvar", "V", V},
    {"histogram_sum", "V", V},
    {"holt_winters", "MSS", V},
    {"hour", "?V", V},
    {"idelta", "M", V},
    {"increase", "M", V},
    {"info", "V?B", V},
    {"irate", "M", V},
    {"label_join", "VTT*T", V},
    {"label_replace", "VTTTT", V},
    {"last_over_time", "M", V},
    {"ln", "V", V},
    {"log10", "V", V},
    {"log2", "V", V},
    {"mad_over_time", "M", V},
    {"max_of", "SS", S},
    {"max_over_time", "M", V},
    {"min_of", "SS", S},
    {"min_over_time", "M", V},
    {"minute", "?V", V},
    {"month", "?V", V},
    {"pi", "", S},
    {"predict_linear", "MS", V},
    {"present_over_time", "M", V},
    {"quantile_over_time", "SM", V},
    {"rad", "V", V},
    {"range", "", S},
    {"rate", "M", V},
    {"resets", "M", V},
    {"round", "V?S", V},
    {"scalar", "V", S},
    {"sgn", "V", V},
    {"sin", "V", V},
    {"sinh", "V", V},
    {"sort", "V", V},
    {"sort_by_label", "V*T", V},
    {"sort_by_label_desc", "V*T", V},
    {"sort_desc", "V", V},
    {"sqrt", "V", V},
    {"start", "", S},
    {"start_timestamp", "V", V},
    {"stddev_over_time", "M", V},
    {"stdvar_over_time", "M", V},
    {"step", "", S},
    {"sum_over_time", "M", V},
    {"tan", "V", V},
    {"tanh", "V", V},
    {"time", "", S},
    {"timestamp", "V", V},
    {"ts_of_first_over_time", "M", V},
    {"ts_of_last_over_time", "M", V},
    {"ts_of_max_over_time", "M", V},
    {"ts_of_min_over_time", "M", V},
    {"vector", "S", V},
    {"year", "?V", V},
};

/* Find a function by its name; NULL: Prometheus has none of that name. */
static const struct promql_function *promql_function(struct bj_slice name)
{
    size_t low = 0, high = sizeof functions / sizeof *functions;
    while (low < high) {
        size_t mid = (low + high) / 2;
        struct bj_slice s = bj_slice_str(functions[mid].name);
        int c = memcmp(name.p, s.p, name.n < s.n ? name.n : s.n);
        if (c == 0 && name.n == s.n)
            return &functions[mid];
        if (c < 0 || (c == 0 && name.n < s.n))
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

static const char *const type_names[] = {
    [BJ_PROMQL_T_SCALAR] = "a scalar",
    [BJ_PROMQL_T_VECTOR] = "an instant vector",
    [BJ_PROMQL_T_RANGE] = "a range vector",
    [BJ_PROMQL_T_STRING] = "a string",
};

/* Set the error at the last token; NULL. */
#define WRONG(p, ...)                                                          \
    (bj_promql_fail(p, (p)->token, -EINVAL, __VA_ARGS__), NULL)

struct bj_promql_node *bj_promql_node(struct bj_promql_parser *p,
                                      enum bj_promql_kind kind)
{
    if (++p->nodes > BJ_PROMQL_NODES_MAX) {
        bj_promql_fail(p, p->token, -E2BIG, "the query has more than %d parts",
                       BJ_PROMQL_NODES_MAX);
        return NULL;
    }
    struct bj_promql_node *n = bj_arena_alloc(p->arena, sizeof *n);
    if (!n) {
        bj_promql_fail(p, p->token, -ENOMEM, "cannot parse the query");
        return NULL;
    }
    n->kind = kind;
    n->type = BJ_PROMQL_T_VECTOR;
    n->depth = 1;
    return n;
}

void bj_promql_add(struct bj_promql_parser *p, struct bj_promql_node *n,
                   struct bj_promql_node *child)
{
    if (n->last)
        n->last->next = child;
    else
        n->child = child;
    n->last = child;
    if (n->depth <= child->depth)
        n->depth = child->depth + 1;
    if (n->depth > BJ_PROMQL_DEPTH_MAX)
        bj_promql_fail(p, p->token, -E2BIG,
                       "the query is nested more than %d levels deep",
                       BJ_PROMQL_DEPTH_MAX);
}

static void take_children(struct bj_promql_node *n, struct bj_promql_node *from)
{
    n->child = from->child;
    n->last = from->last;
    n->depth = from->depth;
}

/* Return n, or NULL if the parse has failed. */
static struct bj_promql_node *unless_failed(struct bj_promql_parser *p,
                                            struct bj_promql_node *n)
{
    return p->err->code || p->arena->failed ? NULL : n;
}

static struct bj_slice lower(struct bj_promql_parser *p, struct bj_slice s)
{
    char *c = bj_arena_alloc(p->arena, s.n + 1);
    for (size_t i = 0; c && i < s.n; i++)
        c[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] | 0x20 : s.p[i]);
    return (struct bj_slice){c, c ? s.n : 0};
}

/* Durations end in a letter that numbers do not contain. */
static bool is_duration(struct bj_slice s)
{
    return s.n > 1 && s.p[0] >= '0' && s.p[0] <= '9' &&
           (s.p[s.n - 1] < '0' || s.p[s.n - 1] > '9');
}

static struct bj_slice plain_number(struct bj_promql_parser *p,
                                    struct bj_slice s)
{
    int64_t ms;
    if (s.n == 3 && (s.p[0] | 0x20) == 'i')
        return BJ_SLICE("Inf");
    if (s.n == 3 && (s.p[0] | 0x20) == 'n')
        return BJ_SLICE("NaN");
    if (!is_duration(s) || bj_promql_duration(s, &ms))
        return s;
    struct bj_buf b = {0};
    bj_buf_fixed(&b, (uint64_t)ms, 3);
    if (b.failed)
        p->arena->failed = 1;
    s = bj_arena_copy(p->arena, (struct bj_slice){b.p, b.len});
    bj_buf_free(&b);
    return s;
}

struct bj_slice bj_promql_signed(struct bj_promql_parser *p, bool negative,
                                 struct bj_slice number)
{
    struct bj_slice s = plain_number(p, number);
    if (!negative)
        return s;
    char *c = bj_arena_alloc(p->arena, s.n + 2);
    if (!c)
        return s;
    *c = '-';
    memcpy(c + 1, s.p, s.n);
    return (struct bj_slice){c, s.n + 1};
}

struct bj_promql_node *bj_promql_literal(struct bj_promql_parser *p,
                                         enum bj_promql_kind kind,
                                         struct bj_slice text)
{
    struct bj_promql_node *n = bj_promql_node(p, kind);
    if (!n)
        return NULL;
    bool number = kind == BJ_PROMQL_NUMBER;
    n->type = number ? BJ_PROMQL_T_SCALAR : BJ_PROMQL_T_STRING;
    n->text = number ? plain_number(p, text) : text;
    return unless_failed(p, n);
}

struct bj_promql_node *bj_promql_paren(struct bj_promql_parser *p,
                                       struct bj_promql_node *inner)
{
    struct bj_promql_node *n = bj_promql_node(p, BJ_PROMQL_PAREN);
    if (!n)
        return NULL;
    n->type = inner->type;
    bj_promql_add(p, n, inner);
    return unless_failed(p, n);
}

struct bj_promql_node *bj_promql_unary(struct bj_promql_parser *p, char sign,
                                       struct bj_promql_node *operand)
{
    if (operand->type != BJ_PROMQL_T_SCALAR &&
        operand->type != BJ_PROMQL_T_VECTOR)
        return WRONG(p, "a sign needs a scalar or an instant vector, not %s",
                     type_names[operand->type]);
    /* the sign of a number is part of it */
    if (operand->kind == BJ_PROMQL_NUMBER) {
        struct bj_slice *t = &operand->text;
        if (sign == '-' && t->n > 0 && t->p[0] == '-')
            *t = (struct bj_slice){t->p + 1, t->n - 1};
        else if (sign == '-')
            *t = bj_promql_signed(p, true, *t);
        return unless_failed(p, operand);
    }
    struct bj_promql_node *n = bj_promql_node(p, BJ_PROMQL_UNARY);
    if (!n)
        return NULL;
    n->type = operand->type;
    n->text = sign == '-' ? BJ_SLICE("-") : BJ_SLICE("+");
    bj_promql_add(p, n, operand);
    return unless_failed(p, n);
}

static bool build_is_set(const char *op)
{
    return strcmp(op, "and") == 0 || strcmp(op, "or") == 0 ||
           strcmp(op, "unless") == 0;
}

static bool is_comparison(const char *op)
{
    return strcmp(op, "==") == 0 || strcmp(op, "!=") == 0 ||
           ((op[0] == '<' || op[0] == '>') && op[1] != '/');
}

/* Find the first label of a that is also in b. */
static const struct bj_promql_label *common(const struct bj_promql_label *a,
                                            const struct bj_promql_label *b)
{
    for (; a; a = a->next)
        for (const struct bj_promql_label *l = b; l; l = l->next)
            if (bj_slice_eq(a->name, l->name))
                return a;
    return NULL;
}

static const char *wrong_binary(const char *op, const struct bj_promql_node *n,
                                bool scalar_left, bool scalar_right)
{
    bool both = scalar_left && scalar_right;
    bool fills = n->fill_left.n || n->fill_right.n;
    if (n->returns_bool && !is_comparison(op))
        return "bool needs a comparison";
    if (is_comparison(op) && both && !n->returns_bool)
        return "a comparison of two scalars needs bool";
    if (build_is_set(op) && (scalar_left || scalar_right))
        return "and, or and unless need two instant vectors";
    if (build_is_set(op) && (n->group || fills))
        return "and, or and unless have neither group_left, group_right nor "
               "fill";
    if ((n->labels || n->group || fills) && (scalar_left || scalar_right))
        return "on, ignoring, group_left, group_right and fill need two "
               "instant vectors";
    if (n->grouping == BJ_PROMQL_ON && common(n->labels, n->include))
        return "a label is in the lists of both on and group_left or "
               "group_right";
    return NULL;
}

struct bj_promql_node *bj_promql_binary(struct bj_promql_parser *p,
                                        const char *op,
                                        struct bj_promql_node *node,
                                        struct bj_promql_node *left,
                                        struct bj_promql_node *right)
{
    const struct bj_promql_node *sides[] = {left, right};
    for (int i = 0; i < 2; i++)
        if (sides[i]->type > BJ_PROMQL_T_VECTOR)
            return WRONG(p, "%s needs scalars or instant vectors, not %s", op,
                         type_names[sides[i]->type]);
    bool sl = left->type == BJ_PROMQL_T_SCALAR;
    bool sr = right->type == BJ_PROMQL_T_SCALAR;
    const char *wrong = wrong_binary(op, node, sl, sr);
    if (wrong)
        return WRONG(p, "%s", wrong);
    node->text = bj_slice_str(op);
    node->type = sl && sr ? BJ_PROMQL_T_SCALAR : BJ_PROMQL_T_VECTOR;
    bj_promql_add(p, node, left);
    bj_promql_add(p, node, right);
    return unless_failed(p, node);
}

static unsigned count_children(const struct bj_promql_node *n)
{
    unsigned count = 0;
    for (const struct bj_promql_node *c = n->child; c; c = c->next)
        count++;
    return count;
}

/* The type of the parameter of an aggregation; -1: it has none. */
static int parameter(struct bj_slice name)
{
    static const char *const scalar[] = {"topk", "bottomk", "quantile",
                                         "limitk", "limit_ratio"};
    for (size_t i = 0; i < sizeof scalar / sizeof *scalar; i++)
        if (bj_slice_eq(name, bj_slice_str(scalar[i])))
            return BJ_PROMQL_T_SCALAR;
    return bj_slice_eq(name, BJ_SLICE("count_values")) ? BJ_PROMQL_T_STRING
                                                       : -1;
}

struct bj_promql_node *bj_promql_aggregate(struct bj_promql_parser *p,
                                           struct bj_slice name,
                                           struct bj_promql_node *clause,
                                           struct bj_promql_node *args)
{
    struct bj_promql_node *n =
        clause ? clause : bj_promql_node(p, BJ_PROMQL_AGGREGATE);
    if (!n)
        return NULL;
    n->text = lower(p, name);
    int param = parameter(n->text);
    unsigned want = param < 0 ? 1 : 2;
    if (count_children(args) != want)
        return WRONG(p, "%.*s() needs %u argument%s", (int)name.n, name.p, want,
                     want == 1 ? "" : "s");
    if (param >= 0 && (int)args->child->type != param)
        return WRONG(p, "the first argument of %.*s() must be %s", (int)name.n,
                     name.p, type_names[param]);
    if (args->last->type != BJ_PROMQL_T_VECTOR)
        return WRONG(p, "%.*s() needs an instant vector, not %s", (int)name.n,
                     name.p, type_names[args->last->type]);
    take_children(n, args);
    return unless_failed(p, n);
}

static bool build_fits(char want, struct bj_promql_node *arg)
{
    switch (want) {
    case 'S':
        return arg->type == BJ_PROMQL_T_SCALAR;
    case 'V':
        return arg->type == BJ_PROMQL_T_VECTOR;
    case 'M':
        return arg->type == BJ_PROMQL_T_RANGE;
    case 'T':
        return arg->type == BJ_PROMQL_T_STRING;
    default: /* B: the labels that info() adds */
        arg->may_match_all = true;
        return arg->kind == BJ_PROMQL_SELECTOR && !arg->name_outside &&
               !arg->has_offset && !arg->at && !arg->extent;
    }
}

struct bj_promql_node *bj_promql_call(struct bj_promql_parser *p,
                                      struct bj_slice name,
                                      struct bj_promql_node *args)
{
    const struct promql_function *f = promql_function(name);
    if (!f)
        return WRONG(p, "unknown function %.*s()",
                     (int)(name.n < 64 ? name.n : 64), name.p);
    const char *want = f->args;
    bool optional = false, any = false;
    struct bj_promql_node *arg = args->child;
    for (unsigned i = 1; arg; arg = arg->next, i++) {
        for (; *want == '?' || *want == '*'; want++) {
            optional = true;
            any |= *want == '*';
        }
        if (!*want)
            return WRONG(p, "too many arguments of %s()", f->name);
        if (!build_fits(*want, arg))
            return WRONG(p, "argument %u of %s() is %s", i, f->name,
                         type_names[arg->type]);
        want += !any;
    }
    if (*want && *want != '?' && *want != '*' && !optional)
        return WRONG(p, "an argument of %s() is missing", f->name);
    args->text = bj_slice_str(f->name);
    args->type = f->result;
    return unless_failed(p, args);
}

struct bj_promql_node *bj_promql_selector(struct bj_promql_parser *p,
                                          struct bj_slice name,
                                          struct bj_promql_node *braces)
{
    struct bj_promql_node *n =
        braces ? braces : bj_promql_node(p, BJ_PROMQL_SELECTOR);
    if (!n || name.n == 0)
        return unless_failed(p, n);
    for (struct bj_promql_matcher *m = n->matchers; m; m = m->next)
        if (bj_slice_eq(m->label, BJ_SLICE("__name__")))
            return WRONG(p, "the name of the metric is set twice");
    struct bj_promql_matcher *m =
        bj_promql_matcher(p, BJ_SLICE("__name__"), BJ_PROMQL_EQ, name);
    if (!m)
        return NULL;
    m->next = n->matchers;
    n->matchers = m;
    if (!n->last_matcher)
        n->last_matcher = m;
    n->name_outside = true;
    return unless_failed(p, n);
}

struct bj_promql_node *bj_promql_range(struct bj_promql_parser *p,
                                       struct bj_promql_node *selector,
                                       struct bj_promql_time range)
{
    if (selector->kind != BJ_PROMQL_SELECTOR)
        return WRONG(p, "a range must follow a selector");
    if (selector->has_offset || selector->at || selector->extent)
        return WRONG(p, "a range must precede offset, @, anchored and "
                        "smoothed");
    struct bj_promql_node *n = bj_promql_node(p, BJ_PROMQL_RANGE);
    if (!n || !bj_promql_time_positive(p, range, &n->range_ms))
        return NULL;
    n->type = BJ_PROMQL_T_RANGE;
    bj_promql_add(p, n, selector);
    return unless_failed(p, n);
}

struct bj_promql_node *bj_promql_subquery(struct bj_promql_parser *p,
                                          struct bj_promql_node *operand,
                                          struct bj_promql_time range,
                                          const struct bj_promql_time *step)
{
    if (operand->type != BJ_PROMQL_T_VECTOR)
        return WRONG(p, "a subquery needs an instant vector, not %s",
                     type_names[operand->type]);
    struct bj_promql_node *n = bj_promql_node(p, BJ_PROMQL_SUBQUERY);
    if (!n || !bj_promql_time_positive(p, range, &n->range_ms) ||
        (step && !bj_promql_time_positive(p, *step, &n->step_ms)))
        return NULL;
    n->type = BJ_PROMQL_T_RANGE;
    bj_promql_add(p, n, operand);
    return unless_failed(p, n);
}

/* Can n have modifiers?  Else set the error. */
static bool modifiable(struct bj_promql_parser *p,
                       const struct bj_promql_node *n, const char *modifier)
{
    if (n->kind == BJ_PROMQL_SELECTOR || n->kind == BJ_PROMQL_RANGE ||
        (n->kind == BJ_PROMQL_SUBQUERY && !n->extent))
        return true;
    return WRONG(p, "%s must follow a selector, a range or a subquery",
                 modifier);
}

bool bj_promql_offset(struct bj_promql_parser *p, struct bj_promql_node *n,
                      struct bj_promql_time offset)
{
    int64_t ms;
    if (!modifiable(p, n, "offset") || !bj_promql_time_ms(p, offset, &ms))
        return false;
    if (n->has_offset)
        return WRONG(p, "offset is set twice");
    n->has_offset = true;
    n->offset_ms = ms;
    return true;
}

bool bj_promql_at(struct bj_promql_parser *p, struct bj_promql_node *n,
                  enum bj_promql_at at)
{
    if (!modifiable(p, n, "@"))
        return false;
    if (n->at)
        return WRONG(p, "@ is set twice");
    n->at = at;
    return true;
}

bool bj_promql_at_time(struct bj_promql_parser *p, struct bj_promql_node *n,
                       bool negative, struct bj_slice time)
{
    n->at_time = bj_promql_at(p, n, BJ_PROMQL_AT_TIME)
                     ? bj_promql_signed(p, negative, time)
                     : (struct bj_slice){0};
    if (n->at_time.n > 0 && (n->at_time.p[n->at_time.n - 1] | 0x20) >= 'a')
        return WRONG(p, "@ needs a time");
    return unless_failed(p, n);
}

bool bj_promql_extent(struct bj_promql_parser *p, struct bj_promql_node *n,
                      const char *extent)
{
    if (n->kind != BJ_PROMQL_SELECTOR && n->kind != BJ_PROMQL_RANGE)
        return WRONG(p, "%s must follow a selector or a range", extent);
    if (n->extent)
        return WRONG(p, "anchored or smoothed is set twice");
    n->extent = extent;
    return true;
}

struct bj_promql_matcher *bj_promql_matcher(struct bj_promql_parser *p,
                                            struct bj_slice label,
                                            enum bj_promql_match op,
                                            struct bj_slice value)
{
    struct bj_promql_matcher *m = bj_arena_alloc(p->arena, sizeof *m);
    if (m)
        *m = (struct bj_promql_matcher){
            .label = label, .value = value, .op = op};
    if (label.n == 0 || !bj_promql_utf8(label))
        return WRONG(p, "the name of a label is empty or no UTF-8");
    return m;
}

void bj_promql_add_matcher(struct bj_promql_node *n,
                           struct bj_promql_matcher *m)
{
    if (n->last_matcher)
        n->last_matcher->next = m;
    else
        n->matchers = m;
    n->last_matcher = m;
}

struct bj_promql_label *bj_promql_label(struct bj_promql_parser *p,
                                        struct bj_slice name,
                                        struct bj_promql_label *rest)
{
    if (name.n == 0 || !bj_promql_utf8(name))
        return WRONG(p, "the name of a label is empty or no UTF-8");
    struct bj_promql_label *l = bj_arena_alloc(p->arena, sizeof *l);
    if (l)
        *l = (struct bj_promql_label){name, rest};
    return l;
}

struct bj_promql_label *bj_promql_in_order(struct bj_promql_label *reversed)
{
    struct bj_promql_label *list = NULL;
    while (reversed) {
        struct bj_promql_label *l = reversed;
        reversed = l->next;
        l->next = list;
        list = l;
    }
    return list;
}

struct bj_promql_node *bj_promql_group_by(struct bj_promql_node *n,
                                          enum bj_promql_grouping grouping,
                                          struct bj_promql_label *labels)
{
    n->grouping = grouping;
    n->labels = labels;
    return n;
}

void bj_promql_unexpected(struct bj_promql_parser *p, const char *what)
{
    size_t n = p->at > p->token ? p->at - p->token : 0;
    if (strncmp(what, "memory", 6) == 0)
        bj_promql_fail(p, p->token, -E2BIG, "the query is nested too deeply");
    else if (n == 0)
        bj_promql_fail(p, p->token, -EINVAL, "unexpected end of the query");
    else
        bj_promql_fail(p, p->token, -EINVAL, "unexpected %.*s",
                       (int)(n < 64 ? n : 64), p->text.p + p->token);
}
