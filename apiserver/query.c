#include "apiserver/query.h"

#include "apiserver/words.h"

void bj_query_free(struct bj_query *q)
{
    bj_buf_free(&q->sql);
}

void bj_query_sql(struct bj_query *q, const char *sql)
{
    bj_buf_str(&q->sql, sql);
}

static void value(struct bj_query *q, struct bj_slice text, int64_t number)
{
    if (q->values == BJ_QUERY_VALUES) {
        q->full = true;
        return;
    }
    q->value[q->values].text = text;
    q->value[q->values++].number = number;
    bj_buf_str(&q->sql, "?");
}

void bj_query_int(struct bj_query *q, int64_t v)
{
    value(q, (struct bj_slice){0}, v);
}

void bj_query_text(struct bj_query *q, struct bj_slice s)
{
    value(q, (struct bj_slice){s.p ? s.p : "", s.n}, 0);
}

int bj_query_open(struct bj_query *q, struct bj_reader *r,
                  struct sqlite3_stmt **ret, struct bj_err *err)
{
    struct sqlite3_stmt *st;
    bj_buf_put(&q->sql, "", 1);
    if (q->full)
        return bj_err_set(err, -E2BIG, "query");
    if (q->sql.failed)
        return bj_err_set(err, -ENOMEM, "query");
    int rc = bj_reader_prepare(r, q->sql.p, &st, err);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < q->values; i++) {
        struct bj_slice s = q->value[i].text;
        if (s.p)
            sqlite3_bind_text64(st, (int)i + 1, s.p, s.n, SQLITE_STATIC,
                                SQLITE_UTF8);
        else
            sqlite3_bind_int64(st, (int)i + 1, q->value[i].number);
    }
    *ret = st;
    return 0;
}

static void column(struct bj_query *q, const char *alias, const char *name)
{
    bj_buf_printf(&q->sql, "%s%s.\"%s\"", q->named ? "+" : "", alias, name);
}

static bool wanted(const struct bj_query *q, unsigned branch)
{
    return !q->branch || *q->branch == branch;
}

int bj_query_visible(struct bj_query *q, struct bj_call *c, bool mine,
                     const char *alias)
{
    int64_t id;
    bool first = true;
    if (c->who.admin && !mine)
        return 0;
    int r = bj_words_find(c->reader, BJ_WORD_USER, bj_slice_str(c->who.user),
                          &id, &c->err);
    bj_query_sql(q, " AND (");
    if (wanted(q, 0)) {
        column(q, alias, "user");
        bj_query_sql(q, " = ");
        bj_query_int(q, id);
        first = false;
    }
    for (unsigned i = 0; r == 0 && !mine && i < c->who.accounts; i++) {
        if (!wanted(q, i + 1))
            continue;
        r = bj_words_find(c->reader, BJ_WORD_ACCOUNT, c->who.account[i], &id,
                          &c->err);
        bj_query_sql(q, first ? "" : " OR ");
        column(q, alias, "account");
        bj_query_sql(q, " = ");
        bj_query_int(q, id);
        first = false;
    }
    bj_query_sql(q, first ? "0)" : ")");
    return r;
}

/* One filter: the numbers of its values, of which those that no dictionary has
 * match nothing.  A list that is already narrowed by an index is not to lead
 * SQLite to another one: hence the '+'. */
static int filter(struct bj_query *q, struct bj_call *c,
                  const struct bj_params *p, enum bj_param which,
                  enum bj_word word, const char *alias, bool narrowed)
{
    int r = 0;
    if (!p->given[which])
        return 0;
    bj_query_sql(q, narrowed && !q->named ? " AND +" : " AND ");
    column(q, alias, bj_param_rules[which].name);
    bj_query_sql(q, " IN (");
    bool first = true;
    for (unsigned i = 0; i < p->values && r == 0; i++) {
        int64_t id = -1;
        if (p->value[i].which != which)
            continue;
        r = bj_words_find(c->reader, word, p->value[i].text, &id, &c->err);
        bj_query_sql(q, first ? "" : ",");
        bj_query_int(q, id);
        first = false;
    }
    bj_query_sql(q, ")");
    return r;
}

static bool is_mine(const struct bj_params *p)
{
    return p->given[BJ_PARAM_MINE] && p->number[BJ_PARAM_MINE];
}

bool bj_query_wide(const struct bj_call *c, const struct bj_params *p)
{
    return c->who.admin && !is_mine(p) && !p->given[BJ_PARAM_USER] &&
           !p->given[BJ_PARAM_ACCOUNT];
}

int bj_query_scope(struct bj_query *q, struct bj_call *c,
                   const struct bj_params *p, const char *alias)
{
    bool mine = is_mine(p);
    bool narrow = !c->who.admin || mine;
    bj_call_about(c, mine ? bj_slice_str(c->who.user)
                          : bj_params_text(p, BJ_PARAM_USER));
    int r = bj_query_visible(q, c, mine, alias);
    if (r == 0)
        r = filter(q, c, p, BJ_PARAM_USER, BJ_WORD_USER, alias, narrow);
    narrow = narrow || p->given[BJ_PARAM_USER];
    if (r == 0)
        r = filter(q, c, p, BJ_PARAM_ACCOUNT, BJ_WORD_ACCOUNT, alias, narrow);
    if (r == 0)
        r = filter(q, c, p, BJ_PARAM_PARTITION, BJ_WORD_PARTITION, alias, true);
    if (r == 0)
        r = filter(q, c, p, BJ_PARAM_CLUSTER, BJ_WORD_CLUSTER, alias, true);
    return r;
}
