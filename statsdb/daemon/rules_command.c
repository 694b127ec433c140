#include "statsdb/daemon/rules_command.h"

#include "base/json.h"
#include "sched/state.h"
#include "statsdb/derive/derive.h"
#include "statsdb/job/job_name.h"

#include <math.h>
#include <stdio.h>

enum { FOUND = 64, NUMBER = 32 };

/* Format a value of a fact, or (fact -1) of another number: integers with all
 * digits, else four digits. */
static const char *rules_command_text_of(int fact, double v, char to[NUMBER])
{
    if (isnan(v))
        return "unknown";
    if (fact == BJ_FACT_STATE)
        return bj_state_name((enum bj_job_state)v);
    bool whole = fabs(v) < 1e15 && !(v < floor(v)) && !(v > floor(v));
    snprintf(to, NUMBER, whole ? "%.0f" : "%.4g", v);
    return to;
}

static void put_facts(const struct bj_derive_facts *f, struct bj_buf *out)
{
    char number[NUMBER];
    bj_buf_str(out, "Cluster ");
    bj_json_string(out, bj_slice_str(f->cluster));
    bj_buf_str(out, ", partition ");
    bj_json_string(out, bj_slice_str(f->partition));
    bj_buf_str(out, ", QOS ");
    bj_json_string(out, bj_slice_str(f->qos));
    bj_buf_str(out, "\n\nFacts:\n");
    for (int i = 0; i < BJ_FACT_COUNT; i++)
        bj_buf_printf(out, "    %-18s %s\n", bj_fact_name(i),
                      rules_command_text_of(i, f->fact[i], number));
}

static void put_verdict(const struct bj_rule_trace *t, struct bj_buf *out)
{
    bool all = true;
    for (unsigned i = 0; i < t->rule->rows; i++)
        all = all && t->row[i].holds;
    bj_buf_printf(out, "%s (%s) ", t->rule->name, t->rule->severity);
    if (!t->applies && t->rule->enabled && all && t->unless)
        bj_buf_printf(out, "does not apply, because %s does\n", t->unless);
    else
        bj_buf_str(out, t->applies          ? "applies\n"
                        : !t->rule->enabled ? "is disabled\n"
                                            : "does not apply\n");
}

static void put_rule(const struct bj_rule_trace *t, struct bj_buf *out)
{
    char number[NUMBER];
    put_verdict(t, out);
    for (unsigned i = 0; i < t->rule->rows; i++) {
        const struct bj_rule_row *row = &t->rule->row[i];
        int fact = row->left_by < 0 ? row->left : -1;
        bj_buf_printf(out, "    %-3s  %.*s: %s", t->row[i].holds ? "yes" : "no",
                      (int)t->row[i].text.n, t->row[i].text.p,
                      rules_command_text_of(fact, t->row[i].left, number));
        if (row->right >= 0 || row->right_by >= 0)
            bj_buf_printf(out, ", %s",
                          rules_command_text_of(-1, t->row[i].right, number));
        bj_buf_str(out, "\n");
    }
}

int bj_rules_explain(struct bj_store *s, const struct bj_rules *rules,
                     const char *name, struct bj_buf *out, struct bj_err *err)
{
    struct bj_derive_facts f;
    struct bj_rule_match found[FOUND];
    struct bj_rule_trace t;
    int64_t id = 0;
    int r = bj_job_name_find(bj_store_db(s), name, &id, err);
    if (r == 0)
        r = bj_derive_facts_of(s, id, &f, err);
    if (r < 0)
        return bj_err_wrap(err, r, "rules of job '%.60s'", name);
    const struct bj_rule_job job = {bj_slice_str(f.cluster),
                                    bj_slice_str(f.partition),
                                    bj_slice_str(f.qos)};
    const struct bj_rule_facts facts = {0, f.fact, NULL};
    size_t n = bj_rules_judge(rules, &job, &facts, 1, found, FOUND), at = 0;
    put_facts(&f, out);
    bj_buf_str(out, "\nRules, and what their conditions compare:\n");
    while (bj_rules_trace(rules, &at, &job, f.fact, found, n, &t))
        put_rule(&t, out);
    return out->failed ? bj_err_set(err, -ENOMEM, "rules") : 0;
}
