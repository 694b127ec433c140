#include "statsdb/derive/rule_impl.h"

#include <string.h>

/* Cut the first condition off rule->condition. */
static struct bj_slice cut(const char **rest)
{
    static const char and[] = " and ";
    const char *begin = *rest, *end = strstr(begin, and);
    size_t n = end ? (size_t)(end - begin) : strlen(begin);
    *rest = end ? end + strlen(and) : begin + n;
    return (struct bj_slice){begin, n};
}

static void trace(const struct bj_rules *r, size_t k, const double *fact,
                  const struct bj_rule_match *found, size_t n,
                  struct bj_rule_trace *ret)
{
    const struct bj_rule *rule = &r->rule[k];
    const char *rest = rule->condition;
    *ret = (struct bj_rule_trace){.rule = rule};
    for (unsigned i = 0; i < rule->rows; i++) {
        ret->row[i].text = cut(&rest);
        ret->row[i].holds = bj_rule_row_holds(
            &rule->row[i], fact, &ret->row[i].left, &ret->row[i].right);
    }
    for (size_t i = 0; i < n; i++) {
        ret->applies = ret->applies || found[i].rule == rule;
        if (!ret->unless && bj_rule_is_unless(r->text[k], &found[i]))
            ret->unless = found[i].rule->name;
    }
}

bool bj_rules_trace(const struct bj_rules *r, size_t *at,
                    const struct bj_rule_job *job,
                    const double fact[BJ_FACT_COUNT],
                    const struct bj_rule_match *found, size_t n,
                    struct bj_rule_trace *ret)
{
    for (; *at < r->n; ++*at) {
        size_t k = r->first[*at] ? bj_rules_of_job(r, *at, job) : r->n;
        if (k == r->n || r->rule[k].running_sec > 0)
            continue;
        trace(r, k, fact, found, n, ret);
        ++*at;
        return true;
    }
    return false;
}
