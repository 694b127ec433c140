#include "acct/query.h"

#include "acct/list.h"
#include "base/array.h"
#include "sched/hostlist.h"
#include "sched/state.h"
#include "statsdb/job/job_name.h"
#include "statsdb/tables/job_month.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A statement that is being built. */
struct job_query {
    struct bj_sql_build b;
    struct bj_err err;
};

static void add(struct job_query *q, const char *sql)
{
    bj_sql_build_add(&q->b, sql);
}

/* --- lists -----------------------------------------------------------------
 */

/* "AND j.user = (...)": one value, so that an index provides the order; a plus
 * keeps SQLite from using an unsuitable index. */
static void by_name(struct job_query *q, const struct bj_strv *list,
                    const char *table, bool drives)
{
    struct bj_acct_at at = {0};
    struct bj_slice v;
    unsigned n = bj_acct_list_count(list);
    if (n == 0)
        return;
    bj_buf_printf(&q->b.sql,
                  " AND %sj.\"%s\" %s (SELECT id FROM \"%s\" WHERE name IN (",
                  drives ? "" : "+", table, n == 1 ? "=" : "IN", table);
    for (n = 0; bj_acct_list_next(list, &at, &v); n++) {
        add(q, n ? ", " : "");
        bj_sql_build_text(&q->b, v);
    }
    add(q, "))");
}

bool bj_acct_only_open(const struct bj_strv *states)
{
    struct bj_acct_at at = {0};
    struct bj_slice v;
    bool any = false;
    while (bj_acct_list_next(states, &at, &v)) {
        if (!bj_state_is_open(bj_state_from_people(v)))
            return false;
        any = true;
    }
    return any;
}

static void no_state(struct job_query *q, struct bj_slice v)
{
    struct bj_buf names = {0};
    for (unsigned i = 0; i < BJ_STATES; i++)
        bj_buf_printf(&names, "%s%s", i > 0 ? ", " : "",
                      bj_state_name((enum bj_job_state)i));
    bj_buf_put(&names, "", 1);
    bj_err_set(&q->err, -EINVAL,
               "state: unknown state '%.*s'; expected %s, or a state of Slurm",
               (int)(v.n < 40 ? v.n : 40), v.p, names.failed ? "" : names.p);
    bj_buf_free(&names);
}

static void by_state(struct job_query *q, const struct bj_strv *list,
                     bool drives)
{
    struct bj_acct_at at = {0};
    struct bj_slice v;
    unsigned n = 0;
    while (bj_acct_list_next(list, &at, &v)) {
        enum bj_job_state s = bj_state_from_people(v);
        if (s == BJ_STATES)
            no_state(q, v);
        if (n == 0)
            bj_buf_printf(&q->b.sql, " AND %sj.state IN (", drives ? "" : "+");
        bj_buf_printf(&q->b.sql, "%s%d", n++ ? ", " : "", (int)s);
    }
    add(q, n ? ")" : "");
}

/* --- nodes -----------------------------------------------------------------
 */

enum { NODES = 10000 }; /* maximum */

/* Add the number of a node, unless no job ran there. */
static int add_node(struct bj_st *st, struct bj_slice name, unsigned *n,
                    struct bj_buf *ret, struct bj_err *err)
{
    if (++*n > NODES)
        return bj_err_set(err, -E2BIG, "node: more than %d nodes", NODES);
    bj_st_bind_text(st, 1, name);
    int r = bj_st_row(st, err);
    if (r > 0)
        bj_buf_printf(ret, ", %lld", (long long)bj_st_get_i64(st, 0));
    bj_st_reset(st);
    return r < 0 ? r : 0;
}

static int add_nodes(struct bj_st *st, struct bj_slice text, unsigned *n,
                     struct bj_buf *ret, struct bj_err *err)
{
    struct bj_hostlist list;
    struct bj_slice name;
    int r = 0;
    if (!memchr(text.p, '[', text.n))
        return add_node(st, text, n, ret, err);
    if (bj_hostlist_begin(&list, text, BJ_HOSTS_SLURM) < 0)
        return bj_err_set(err, -EINVAL,
                          "node: '%.*s' is not a list of nodes, such as "
                          "n[101-104,107]",
                          (int)(text.n < 60 ? text.n : 60), text.p);
    while (r == 0 && bj_hostlist_next(&list, &name))
        r = add_node(st, name, n, ret, err);
    return r;
}

/* Make "NULL, 3, 4": the numbers of the nodes of lists.  Nothing: no lists. */
static int find_nodes(struct bj_db *db, const struct bj_strv *list,
                      struct bj_buf *ret, struct bj_err *err)
{
    struct bj_acct_at at = {0};
    struct bj_slice v;
    struct bj_st *st = NULL;
    unsigned n = 0;
    if (bj_acct_list_count(list) == 0)
        return 0;
    bj_buf_str(ret, "NULL");
    int r = bj_db_prepare(db, "SELECT id FROM host WHERE name = ?1", &st, err);
    while (r == 0 && bj_acct_list_next(list, &at, &v))
        r = add_nodes(st, v, &n, ret, err);
    bj_st_finalize(st);
    return r == 0 && ret->failed ? bj_err_set(err, -ENOMEM, "nodes") : r;
}

static void by_nodes(struct job_query *q, const struct bj_buf *nodes)
{
    if (nodes->len > 0)
        bj_buf_printf(&q->b.sql,
                      " AND +j.hosts IN (SELECT hosts FROM hosts_host WHERE"
                      " host IN (%.*s))",
                      (int)nodes->len, nodes->p);
}

/* --- ids -------------------------------------------------------------------
 */

static void by_ids(struct job_query *q, const struct bj_strv *list)
{
    struct bj_acct_at at = {0};
    struct bj_slice v;
    unsigned n = 0;
    while (bj_acct_list_next(list, &at, &v)) {
        struct bj_job_name name = bj_job_name_parse(v);
        add(q, n++ ? " AS n UNION ALL SELECT id FROM ("
                   : " AND j.id IN (SELECT id FROM (");
        bj_job_name_query(&name, BJ_NAME_WITH_PARTS, &q->b);
        add(q, ")");
    }
    add(q, n ? " AS n)" : "");
}

/* --- the statement ---------------------------------------------------------
 */

static void by_time(struct job_query *q, const struct bj_acct_filter *f,
                    const struct bj_job_ranges *months, bool drives)
{
    const char *plus = drives ? "" : "+";
    if (f->ran) {
        add(q, " AND j.start IS NOT NULL AND (j.\"end\" IS NULL OR"
               " j.\"end\" >= ");
        bj_sql_build_int(&q->b, f->since_sec > 0 ? f->since_sec : 0);
        add(q, ")");
    }
    if (f->since_sec > INT64_MIN && !f->ran) {
        bj_buf_printf(&q->b.sql, " AND %sj.at >= ", plus);
        bj_sql_build_int(&q->b, f->since_sec);
    }
    if (f->until_sec < INT64_MAX) {
        bj_buf_printf(&q->b.sql, " AND %sj.at < ", plus);
        bj_sql_build_int(&q->b, f->until_sec);
    }
    bj_job_ranges_put(months, "j.id", &q->b.sql);
}

static void build(struct job_query *q, const struct bj_acct_filter *f,
                  const struct bj_buf *nodes,
                  const struct bj_job_ranges *months)
{
    bool ids = bj_acct_list_count(&f->job) > 0;
    bool open = !ids && bj_acct_only_open(&f->state);
    bool user = !ids && !open && bj_acct_list_count(&f->user) > 0;
    bool account =
        !ids && !open && !user && bj_acct_list_count(&f->account) > 0;
    add(q, "SELECT j.id FROM job AS j WHERE true");
    by_ids(q, &f->job);
    if (open)
        add(q, " AND j.\"end\" IS NULL");
    by_name(q, &f->user, "user", user);
    by_name(q, &f->account, "account", account);
    by_name(q, &f->partition, "partition", false);
    if (open && bj_acct_list_count(&f->cluster) == 0)
        add(q, " AND j.cluster IN (SELECT id FROM cluster)");
    by_name(q, &f->cluster, "cluster", open);
    by_state(q, &f->state, open);
    by_nodes(q, nodes);
    by_time(q, f, months, !ids && !open);
    add(q, " ORDER BY j.at DESC, j.id DESC LIMIT ");
    bj_sql_build_int(&q->b, f->limit ? (int64_t)f->limit : INT64_MAX);
}

static int append(struct bj_acct_ids *ids, int64_t id)
{
    if (!BJ_GROW(ids->v, ids->n + 1, ids->cap))
        return -ENOMEM;
    ids->v[ids->n++] = id;
    return 0;
}

static int take_ids(struct bj_store *s, const struct job_query *q,
                    struct bj_acct_ids *ret, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(bj_store_db(s), q->b.sql.p, &st, err);
    if (r < 0)
        return r;
    bj_sql_build_bind(&q->b, st);
    while ((r = bj_st_row(st, err)) > 0 &&
           (r = append(ret, bj_st_get_i64(st, 0))) == 0) {
    }
    bj_st_finalize(st);
    return r == -ENOMEM ? bj_err_set(err, r, "jobs") : r;
}

int bj_acct_find(struct bj_store *s, const struct bj_acct_filter *f,
                 struct bj_acct_ids *ret, struct bj_err *err)
{
    struct job_query q = {.b.dialect = bj_db_dialect(bj_store_db(s))};
    struct bj_job_ranges months;
    struct bj_buf nodes = {0};
    *ret = (struct bj_acct_ids){NULL, 0, 0};
    /* INT64_MIN (no limit) would become SQL's NULL. */
    const int64_t since = f->since_sec > 0 ? f->since_sec : 0;
    int r = bj_job_months_find(bj_store_db(s), f->ran ? 0 : since, f->until_sec,
                               f->ran ? since : 0, &months, err);
    if (r == 0)
        r = find_nodes(bj_store_db(s), &f->node, &nodes, err);
    if (r == 0)
        build(&q, f, &nodes, &months);
    if (r == 0 && q.err.code < 0)
        r = bj_err_copy(err, q.err.code, &q.err);
    if (r == 0)
        r = bj_sql_build_end(&q.b, err);
    if (r == 0)
        r = take_ids(s, &q, ret, err);
    bj_sql_build_free(&q.b);
    bj_buf_free(&nodes);
    if (r < 0) {
        free(ret->v);
        *ret = (struct bj_acct_ids){NULL, 0, 0};
    }
    return r;
}
