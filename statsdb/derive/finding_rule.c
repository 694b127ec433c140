#include "statsdb/derive/finding_rule.h"

#include "store/db.h"

#include <stdlib.h>
#include <string.h>

struct bj_finding_rules {
    const struct bj_rules *rules;
    struct bj_st *add, *find;
    int64_t id[BJ_RULES_MAX]; /* 0: not yet known */
};

int bj_finding_rules_new(struct bj_store *s, const struct bj_rules *rules,
                         struct bj_finding_rules **ret, struct bj_err *err)
{
    struct bj_finding_rules *f = calloc(1, sizeof(*f));
    if (!f)
        return bj_err_set(err, -ENOMEM, "rules");
    f->rules = rules;
    int r = bj_db_prepare(
        bj_store_db(s),
        "INSERT INTO finding_rule(name, severity, condition, text, advice,"
        " url) VALUES(?1, ?2, ?3, ?4, coalesce(?5, ''), coalesce(?6, ''))"
        " ON CONFLICT DO NOTHING",
        &f->add, err);
    if (r == 0)
        r = bj_db_prepare(
            bj_store_db(s),
            "SELECT id FROM finding_rule WHERE name = ?1 AND severity = ?2 AND"
            " condition = ?3 AND text = ?4 AND advice = coalesce(?5, '') AND"
            " url = coalesce(?6, '')",
            &f->find, err);
    if (r < 0) {
        bj_finding_rules_free(f);
        return r;
    }
    *ret = f;
    return 0;
}

void bj_finding_rules_free(struct bj_finding_rules *f)
{
    if (!f)
        return;
    bj_st_finalize(f->add);
    bj_st_finalize(f->find);
    free(f);
}

static void bind(struct bj_st *st, const struct bj_rule *rule)
{
    const char *const of[] = {rule->name, rule->severity, rule->condition,
                              rule->text, rule->advice,   rule->url};
    for (int i = 0; i < 6; i++)
        bj_st_bind_filled(st, i + 1, bj_slice_str(of[i]));
}

/* 1 and the number, or 0: the store does not have the rule. */
static int finding_rule_find(struct bj_finding_rules *f,
                             const struct bj_rule *rule, int64_t *ret,
                             struct bj_err *err)
{
    bind(f->find, rule);
    int r = bj_st_row(f->find, err);
    if (r > 0)
        *ret = bj_st_get_i64(f->find, 0);
    bj_st_reset(f->find);
    return r;
}

int bj_finding_rules_id(struct bj_finding_rules *f, const struct bj_rule *rule,
                        int64_t *ret, struct bj_err *err)
{
    int64_t *id = &f->id[rule - bj_rules_at(f->rules, 0)];
    int r = *id == 0 ? finding_rule_find(f, rule, id, err) : 1;
    if (r == 0) {
        bind(f->add, rule);
        r = bj_st_run(f->add, err);
        if (r == 0)
            r = finding_rule_find(f, rule, id, err);
        if (r == 0)
            r = bj_err_set(err, -EPROTO,
                           "a rule was neither found nor inserted");
    }
    if (r < 0)
        return r;
    *ret = *id;
    return 0;
}

void bj_finding_rules_clear(struct bj_finding_rules *f)
{
    if (f)
        memset(f->id, 0, sizeof(f->id));
}
