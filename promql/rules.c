#include "promql/rules.h"

typedef const struct bj_promql_rules rules_t;

/* Does rule a come before rule b for the same name? */
static bool is_better(const struct bj_promql_rule *a,
                      const struct bj_promql_rule *b)
{
    if (!b || a->prefix.n != b->prefix.n)
        return !b || a->prefix.n > b->prefix.n;
    return a->exact != b->exact ? a->exact : !a->public;
}

/* The rule of a name; if open, of all names that begin with it; NULL: none. */
static const struct bj_promql_rule *rule_of(struct bj_slice name, bool open,
                                            rules_t *r)
{
    const struct bj_promql_rule *best = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const struct bj_promql_rule *one = &r->v[i];
        bool applies = one->exact ? !open && bj_slice_eq(name, one->prefix)
                                  : bj_slice_starts(name, one->prefix);
        if (applies && is_better(one, best))
            best = one;
    }
    return best;
}

static bool public_name(struct bj_slice name, rules_t *r)
{
    const struct bj_promql_rule *rule = rule_of(name, false, r);
    return name.n > 0 && rule && rule->public;
}

/* Are all names that begin with start public? */
static bool public_start(struct bj_slice start, rules_t *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (!r->v[i].public && bj_slice_starts(r->v[i].prefix, start))
            return false;
    const struct bj_promql_rule *rule = rule_of(start, true, r);
    return rule && rule->public;
}

/* --- labels -----------------------------------------------------------------
 */

static struct bj_promql_labels labels_of_rule(const struct bj_promql_rule *r)
{
    if (!r || r->user.n == 0)
        return (struct bj_promql_labels){BJ_SLICE("user"), BJ_SLICE("account")};
    return (struct bj_promql_labels){r->user, r->account};
}

static bool rules_same(const struct bj_promql_labels *a,
                       const struct bj_promql_labels *b)
{
    return bj_slice_eq(a->user, b->user) && bj_slice_eq(a->account, b->account);
}

static struct bj_promql_labels default_labels(rules_t *r)
{
    return labels_of_rule(rule_of((struct bj_slice){0}, true, r));
}

/* Do all names that begin with start have the same pair of labels? */
static bool labels_of_start(struct bj_slice start, rules_t *r,
                            struct bj_promql_labels *ret)
{
    *ret = labels_of_rule(rule_of(start, true, r));
    for (size_t i = 0; i < r->n; i++) {
        struct bj_promql_labels l = labels_of_rule(&r->v[i]);
        if (!r->v[i].public && bj_slice_starts(r->v[i].prefix, start) &&
            !rules_same(&l, ret))
            return false;
    }
    return true;
}

/* --- regular expressions for names -------------------------------------------
 */

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == ':';
}

/* Parse one alternative of a regular expression: a name, or the start of names
 * followed by ".*" or ".+".  False: something else, which may match any name.
 */
static bool read_pattern(struct bj_slice s, struct bj_slice *ret_start,
                         bool *ret_open)
{
    size_t n = 0;
    while (n < s.n && is_name_byte(s.p[n]))
        n++;
    struct bj_slice rest = {s.p + n, s.n - n};
    *ret_start = (struct bj_slice){s.p, n};
    *ret_open = rest.n > 0;
    return rest.n == 0 || bj_slice_eq(rest, BJ_SLICE(".*")) ||
           bj_slice_eq(rest, BJ_SLICE(".+"));
}

/* Does the matcher match only names of a list? */
static bool names_a_list(const struct bj_promql_matcher *m)
{
    return bj_slice_eq(m->label, BJ_SLICE("__name__")) &&
           (m->op == BJ_PROMQL_EQ || (m->op == BJ_PROMQL_RE && m->value.n > 0 &&
                                      m->value.p[m->value.n - 1] != '|'));
}

static bool public_matcher(const struct bj_promql_matcher *m, rules_t *r)
{
    struct bj_slice rest = m->value, one, start;
    bool open;
    if (!names_a_list(m))
        return false;
    if (m->op == BJ_PROMQL_EQ)
        return public_name(m->value, r);
    while (bj_slice_field(&rest, '|', &one))
        if (!read_pattern(one, &start, &open) ||
            !(open ? public_start(start, r) : public_name(start, r)))
            return false;
    return true;
}

bool bj_promql_is_public(const struct bj_promql_node *selector, rules_t *r)
{
    for (const struct bj_promql_matcher *m = selector->matchers; m; m = m->next)
        if (public_matcher(m, r))
            return true;
    return false;
}

static bool labels_of_matcher(const struct bj_promql_matcher *m, rules_t *r,
                              struct bj_promql_labels *ret)
{
    struct bj_slice rest = m->value, one, start;
    struct bj_promql_labels l;
    bool open, first = true;
    if (!names_a_list(m))
        return false;
    if (m->op == BJ_PROMQL_EQ) {
        *ret = labels_of_rule(rule_of(m->value, false, r));
        return true;
    }
    for (; bj_slice_field(&rest, '|', &one); first = false) {
        if (!read_pattern(one, &start, &open))
            return false;
        l = labels_of_rule(rule_of(start, open, r));
        if ((open && !labels_of_start(start, r, &l)) ||
            (!first && !rules_same(&l, ret)))
            return false;
        *ret = l;
    }
    return true;
}

bool bj_promql_labels_of(const struct bj_promql_node *selector, rules_t *r,
                         struct bj_promql_labels *ret)
{
    for (const struct bj_promql_matcher *m = selector->matchers; m; m = m->next)
        if (labels_of_matcher(m, r, ret))
            return true;
    if (labels_of_start((struct bj_slice){0}, r, ret))
        return true;
    *ret = default_labels(r);
    return false;
}

/* --- the names of rules
 * -------------------------------------------------------
 */

static void rules_put_names(struct bj_buf *b, const struct bj_promql_rule *r)
{
    bj_buf_str(b, b->len > 0 ? "|" : "");
    bj_buf_slice(b, r->prefix);
    bj_buf_str(b, r->exact ? "" : ".*");
}

void bj_promql_other_names(rules_t *r, struct bj_buf *out)
{
    struct bj_promql_labels usual = default_labels(r);
    for (size_t i = 0; i < r->n; i++) {
        struct bj_promql_labels l = labels_of_rule(&r->v[i]);
        if (!r->v[i].public && !rules_same(&l, &usual))
            rules_put_names(out, &r->v[i]);
    }
}

void bj_promql_public_names(rules_t *r, struct bj_buf *names,
                            struct bj_buf *except)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].public || r->v[i].prefix.n > 0)
            rules_put_names(r->v[i].public ? names : except, &r->v[i]);
}

bool bj_promql_is_known(struct bj_slice name, rules_t *r)
{
    const struct bj_promql_rule *rule = rule_of(name, false, r);
    return rule && rule->prefix.n > 0;
}
