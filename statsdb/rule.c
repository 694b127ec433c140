#include "statsdb/rule.h"

#include "base/buf.h"
#include "statsdb/rule_impl.h"

#include <stdlib.h>

/* --- adding ----------------------------------------------------------------
 */

/* Is the text after '$' this whole name? */
static bool names(struct bj_slice s, struct bj_slice name)
{
    struct bj_slice rest = {s.p + 1, s.n - 1};
    if (!bj_slice_starts(rest, name))
        return false;
    return rest.n == name.n || rest.p[name.n] == ' ' || rest.p[name.n] == '*' ||
           rest.p[name.n] == '/';
}

/* The conditions as one text, with thresholds as numbers. */
static const char *condition(struct bj_rules *r, const struct bj_rule_text *t)
{
    struct bj_buf out = {0};
    for (unsigned i = 0; i < t->rows; i++) {
        struct bj_slice s = t->when[i];
        bj_buf_str(&out, i ? " and " : "");
        while (s.n > 0) {
            unsigned k = 0;
            for (; k < t->sets; k++)
                if (s.p[0] == '$' && names(s, t->set[k].name))
                    break;
            if (k < t->sets)
                bj_buf_printf(&out, "%.10g", t->set[k].value);
            else
                bj_buf_put(&out, s.p, 1);
            size_t n = k < t->sets ? t->set[k].name.n + 1 : 1;
            s.p += n;
            s.n -= n;
        }
    }
    struct bj_slice text = {out.p, out.len};
    const char *ret = out.failed ? "" : bj_arena_copy(&r->arena, text).p;
    r->arena.failed = r->arena.failed || out.failed;
    bj_buf_free(&out);
    return ret;
}

/* Does a rule of that name exist? */
static bool known(const struct bj_rules *r, struct bj_slice name)
{
    for (size_t i = 0; i < r->n; i++)
        if (bj_slice_eq(r->text[i]->name, name))
            return true;
    return false;
}

int bj_rules_add(struct bj_rules *r, const struct bj_rule_text *t,
                 struct bj_err *err)
{
    if (r->n == BJ_RULES_MAX)
        return bj_err_set(err, -EINVAL, "more than %d rules", BJ_RULES_MAX);
    struct bj_rule *rule = &r->rule[r->n];
    *rule = (struct bj_rule){.enabled = t->enabled};
    for (unsigned i = 0; i < t->rows; i++) {
        int e = bj_rule_row(t->when[i], t->set, t->sets, &rule->row[i], err);
        if (e < 0)
            return e;
    }
    rule->rows = t->rows;
    struct bj_rule_text *copy = bj_arena_alloc(&r->arena, sizeof(*copy));
    if (!copy)
        return bj_err_set(err, -ENOMEM, "rules");
    *copy = *t;
    r->text[r->n] = copy;
    rule->name = bj_arena_copy(&r->arena, t->name).p;
    rule->severity = bj_arena_copy(&r->arena, t->severity).p;
    rule->text = bj_arena_copy(&r->arena, t->text).p;
    rule->advice = bj_arena_copy(&r->arena, t->advice).p;
    rule->url = bj_arena_copy(&r->arena, t->url).p;
    rule->condition = condition(r, t);
    if (r->arena.failed)
        return bj_err_set(err, -ENOMEM, "rules");
    r->first[r->n] = !known(r, t->name);
    r->n++;
    return 0;
}

const struct bj_rule_text *bj_rules_base(const struct bj_rules *r,
                                         struct bj_slice name)
{
    for (size_t i = r->n; i > 0; i--)
        if (bj_slice_eq(r->text[i - 1]->name, name) &&
            r->text[i - 1]->clusters == 0 && r->text[i - 1]->partitions == 0)
            return r->text[i - 1];
    return NULL;
}

/* --- access ----------------------------------------------------------------
 */

void bj_rules_free(struct bj_rules *r)
{
    if (!r)
        return;
    bj_arena_free(&r->arena);
    free(r);
}

const char *bj_rules_sign(const struct bj_rules *r)
{
    return r->sign;
}

const struct bj_rule *bj_rules_at(const struct bj_rules *r, size_t i)
{
    return i < r->n ? &r->rule[i] : NULL;
}

/* --- evaluating
 * ---------------------------------------------------------------
 */

static bool among(struct bj_slice what, const struct bj_slice *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (bj_slice_eq(what, v[i]))
            return true;
    return false;
}

static bool is_for(const struct bj_rule_text *t, struct bj_slice cluster,
                   struct bj_slice partition)
{
    return (t->clusters == 0 || among(cluster, t->cluster, t->clusters)) &&
           (t->partitions == 0 ||
            among(partition, t->partition, t->partitions));
}

/* Of several rules with one name, use the last that matches the job, in the
 * place of the first. */
static size_t which(const struct bj_rules *r, size_t first,
                    struct bj_slice cluster, struct bj_slice partition)
{
    struct bj_slice name = r->text[first]->name;
    for (size_t i = r->n; i > first; i--)
        if (bj_slice_eq(r->text[i - 1]->name, name) &&
            is_for(r->text[i - 1], cluster, partition))
            return i - 1;
    return r->n;
}

static bool excluded(const struct bj_rule_text *t,
                     const struct bj_rule_match *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (among(bj_slice_str(v[i].rule->name), t->unless, t->unlesses))
            return true;
    return false;
}

static bool holds(const struct bj_rule *rule, const double *fact,
                  struct bj_rule_match *f)
{
    for (unsigned i = 0; i < rule->rows; i++)
        if (!bj_rule_row_holds(&rule->row[i], fact, &f->value, &f->threshold))
            return false;
    f->rule = rule;
    return rule->enabled && rule->rows > 0;
}

size_t bj_rules_judge(const struct bj_rules *r, struct bj_slice cluster,
                      struct bj_slice partition,
                      const double fact[BJ_FACT_COUNT],
                      struct bj_rule_match *ret, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n && n < max; i++) {
        if (!r->first[i])
            continue;
        size_t k = which(r, i, cluster, partition);
        if (k < r->n && holds(&r->rule[k], fact, &ret[n]) &&
            !excluded(r->text[k], ret, n))
            n++;
    }
    return n;
}
