#include "apiserver/frame/query.h"

#include "apiserver/frame/reader.h"

#include <stdio.h>
#include <stdlib.h>

void bj_query_free(struct bj_query *q)
{
    bj_sql_build_free(&q->b);
}

void bj_query_sql(struct bj_query *q, const char *sql)
{
    bj_sql_build_add(&q->b, sql);
}

void bj_query_int(struct bj_query *q, int64_t v)
{
    bj_sql_build_int(&q->b, v);
}

void bj_query_text(struct bj_query *q, struct bj_slice s)
{
    bj_sql_build_text(&q->b, s);
}

int bj_query_between(struct bj_query *q, struct bj_call *c, const char *at,
                     const struct bj_filter_time *time)
{
    struct bj_job_ranges own;
    const struct bj_job_ranges *months = q->months;
    int r = 0;
    if (!months)
        r = bj_filter_months(bj_reader_db(c->reader), time, &own, &c->err);
    if (r == 0)
        bj_filter_began(&q->b, at, time, months ? months : &own);
    return r;
}

struct bj_filter_texts bj_query_texts(const struct bj_params *p,
                                      enum bj_param which,
                                      struct bj_slice v[static BJ_PARAM_VALUES])
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->values; i++)
        if (p->value[i].which == which)
            v[n++] = p->value[i].text;
    return (struct bj_filter_texts){v, n};
}

void bj_query_in(struct bj_query *q, const struct bj_params *p,
                 enum bj_param which)
{
    bool first = true;
    bj_query_sql(q, " IN (");
    for (unsigned i = 0; i < p->values; i++) {
        if (p->value[i].which != which)
            continue;
        bj_query_sql(q, first ? "" : ",");
        bj_query_text(q, p->value[i].text);
        first = false;
    }
    bj_query_sql(q, first ? "NULL)" : ")"); /* an empty list matches no row */
}

/* Is this the name of a rule, with blanks or underscores? */
static bool is_rule(struct bj_slice text, struct bj_slice name)
{
    if (text.n != name.n)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if ((text.p[i] == ' ' ? '_' : text.p[i]) != name.p[i])
            return false;
    return true;
}

/* Mark the values that are this name. */
static void mark(const struct bj_params *p, struct bj_slice name,
                 bool known[static BJ_PARAM_VALUES])
{
    for (unsigned i = 0; i < p->values; i++)
        if (p->value[i].which == BJ_PARAM_FINDING &&
            is_rule(p->value[i].text, name))
            known[i] = true;
}

/* Refuse names that no rule has, unless the store has no rules. */
static int check_rules(struct bj_call *c, const struct bj_params *p)
{
    struct bj_query q = {0};
    struct bj_buf names = {0};
    struct bj_st *st = NULL;
    bool known[BJ_PARAM_VALUES] = {false};
    bj_query_sql(&q, "SELECT DISTINCT name FROM finding_rule ORDER BY name");
    int r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        r = 0;
        bj_buf_str(&names, names.len > 0 ? ", " : "");
        bj_buf_slice(&names, bj_st_get_text(st, 0));
        mark(p, bj_st_get_text(st, 0), known);
    }
    bj_query_free(&q);
    const bool any = names.len > 0;
    bj_buf_put(&names, "", 1);
    if (r == 0 && names.failed)
        r = bj_err_set(&c->err, -ENOMEM, "rules");
    for (unsigned i = 0; r == 0 && any && i < p->values; i++) {
        const struct bj_slice s = p->value[i].text;
        if (p->value[i].which == BJ_PARAM_FINDING && !known[i])
            r = bj_call_refuse(c, 400, "Unknown finding '%.*s'; known are %s.",
                               s.n < 60 ? (int)s.n : 60, s.p, names.p);
    }
    bj_buf_free(&names);
    return r;
}

int bj_query_rules(struct bj_query *q, struct bj_call *c,
                   const struct bj_params *p)
{
    const char *comma = "";
    int r = check_rules(c, p);
    if (r != 0)
        return r;
    bj_query_sql(q, " IN (SELECT id FROM finding_rule WHERE name IN (");
    for (unsigned i = 0; i < p->values; i++) {
        if (p->value[i].which != BJ_PARAM_FINDING)
            continue;
        bj_buf_printf(&q->b.sql, "%sreplace(", comma);
        bj_query_text(q, p->value[i].text);
        bj_query_sql(q, ", ' ', '_')");
        comma = ", ";
    }
    bj_query_sql(q, "))");
    return 0;
}

int bj_query_open(struct bj_query *q, struct bj_reader *reader,
                  struct bj_st **ret, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_sql_build_end(&q->b, err);
    if (r == 0)
        r = bj_reader_prepare(reader, q->b.sql.p, &st, err);
    if (r < 0)
        return r;
    bj_sql_build_bind(&q->b, st);
    *ret = st;
    return 0;
}

static void column(struct bj_query *q, const char *alias, const char *name)
{
    bj_buf_printf(&q->b.sql, "%s%s.\"%s\"", q->named ? "+" : "", alias, name);
}

static bool query_wanted(const struct bj_query *q, unsigned branch)
{
    return !q->branch || *q->branch == branch;
}

/* Append one of several alternative conditions that make a row visible. */
static void alternative(struct bj_query *q, const char *alias, const char *name,
                        int64_t id, bool first)
{
    bool narrow = q->time && !q->branch;
    bj_query_sql(q, first ? "" : " OR ");
    bj_query_sql(q, narrow ? "(" : "");
    column(q, alias, name);
    bj_query_sql(q, " = ");
    bj_query_int(q, id);
    if (!narrow)
        return;
    bj_buf_printf(&q->b.sql, " AND %s.at BETWEEN ", alias);
    bj_query_int(q, q->time->at_from);
    bj_query_sql(q, " AND ");
    bj_query_int(q, q->time->at_to);
    bj_query_sql(q, ")");
}

int bj_query_visible(struct bj_query *q, struct bj_call *c, bool mine,
                     const char *alias)
{
    int64_t id;
    bool first = true;
    if (c->identity.admin && !mine)
        return 0;
    int r = bj_words_find(c->reader, BJ_WORD_USER,
                          bj_slice_str(c->identity.user), &id, &c->err);
    bj_query_sql(q, " AND (");
    if (query_wanted(q, 0)) {
        alternative(q, alias, "user", id, first);
        first = false;
    }
    for (unsigned i = 0; r == 0 && !mine && i < c->identity.accounts; i++) {
        if (!query_wanted(q, i + 1))
            continue;
        r = bj_words_find(c->reader, BJ_WORD_ACCOUNT, c->identity.account[i],
                          &id, &c->err);
        alternative(q, alias, "account", id, first);
        first = false;
    }
    bj_query_sql(q, first ? "0)" : ")");
    return r;
}

/* The filters, in the order in which their indexes are preferred. */
static const struct {
    enum bj_param param;
    enum bj_word word;
    bool leads;
} filters[] = {
    {BJ_PARAM_USER, BJ_WORD_USER, true},
    {BJ_PARAM_ACCOUNT, BJ_WORD_ACCOUNT, true},
    {BJ_PARAM_PARTITION, BJ_WORD_PARTITION, false},
    {BJ_PARAM_CLUSTER, BJ_WORD_CLUSTER, false},
};
enum { FILTERS = sizeof(filters) / sizeof(filters[0]) };

static int query_find(void *ctx, enum bj_word which, struct bj_slice name,
                      int64_t *ret, struct bj_err *err)
{
    return bj_words_find(ctx, which, name, ret, err);
}

/* Append one filter. */
static int filter(struct bj_query *q, struct bj_call *c,
                  const struct bj_params *p, unsigned which, const char *alias,
                  bool leads)
{
    const enum bj_param param = filters[which].param;
    const struct bj_filter_names find = {query_find, c->reader};
    struct bj_slice v[BJ_PARAM_VALUES];
    struct bj_filter_texts names = bj_query_texts(p, param, v);
    char name[64];
    if (leads && q->branch)
        names = (struct bj_filter_texts){v + *q->branch, 1};
    snprintf(name, sizeof(name), "%s%s.\"%s\"", leads && !q->named ? "" : "+",
             alias, bj_param_rules[param].name);
    return bj_filter_names(&q->b, name, filters[which].word, names, &find,
                           &c->err);
}

static bool is_mine(const struct bj_params *p)
{
    return p->given[BJ_PARAM_MINE] && p->number[BJ_PARAM_MINE];
}

/* The filter whose index is used; FILTERS: that of the access rules, or none.
 */
static unsigned leader(const struct bj_call *c, const struct bj_params *p)
{
    unsigned i = 0;
    if (!c->identity.admin || is_mine(p))
        return FILTERS;
    while (i < FILTERS && !(filters[i].leads && p->given[filters[i].param]))
        i++;
    return i;
}

bool bj_query_wide(const struct bj_call *c, const struct bj_params *p)
{
    return c->identity.admin && !is_mine(p) && leader(c, p) == FILTERS;
}

unsigned bj_query_branches(const struct bj_call *c, const struct bj_params *p)
{
    unsigned lead = leader(c, p), n = 0;
    if (lead == FILTERS)
        return bj_query_wide(c, p) ? 0
               : is_mine(p)        ? 1
                                   : 1 + c->identity.accounts;
    for (unsigned i = 0; i < p->values; i++)
        n += p->value[i].which == filters[lead].param;
    return n;
}

int bj_query_lead(struct bj_query *q, struct bj_call *c,
                  const struct bj_params *p, const char *alias)
{
    bool mine = is_mine(p);
    unsigned lead = leader(c, p);
    bj_call_about(c, mine ? bj_slice_str(c->identity.user)
                          : bj_params_text(p, BJ_PARAM_USER));
    return lead < FILTERS ? filter(q, c, p, lead, alias, true)
                          : bj_query_visible(q, c, mine, alias);
}

int bj_query_rest(struct bj_query *q, struct bj_call *c,
                  const struct bj_params *p, const char *alias)
{
    unsigned lead = leader(c, p);
    int r = 0;
    for (unsigned i = 0; i < FILTERS && r == 0; i++)
        if (i != lead && p->given[filters[i].param])
            r = filter(q, c, p, i, alias, false);
    return r;
}

int bj_query_scope(struct bj_query *q, struct bj_call *c,
                   const struct bj_params *p, const char *alias)
{
    int r = bj_query_lead(q, c, p, alias);
    return r < 0 ? r : bj_query_rest(q, c, p, alias);
}
