/* The authenticated user, and lists of accounts, users and clusters for menus.
 */
#include "apiserver/frame/params.h"
#include "apiserver/frame/query.h"

static int on_base(struct bj_call *c)
{
    bj_call_open(c);
    bj_buf_str(&c->reply->body, "[]");
    bj_call_close(c, "");
    return 0;
}

static const struct bj_key me_keys[] = {
    {"user", "string", "Name of the authenticated user."},
    {"admin", "boolean", "Sees all jobs."},
    {"coordinator", "boolean", "Sees all jobs of some accounts."},
    {"accounts", "string", "These accounts, separated by commas."},
    {NULL, NULL, NULL},
};

static int on_me(struct bj_call *c)
{
    const char *names[BJ_KEYS];
    struct bj_buf accounts = {0};
    struct bj_rows rows;
    struct bj_params p;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r != 0)
        return r;
    for (unsigned i = 0; i < c->identity.accounts; i++) {
        bj_buf_str(&accounts, i ? "," : "");
        bj_buf_slice(&accounts, c->identity.account[i]);
    }
    bj_call_rows(c, &rows, names, bj_key_names(me_keys, names));
    bj_row_begin(&rows);
    bj_put_text(&rows, bj_slice_str(c->identity.user));
    bj_put_bool(&rows, c->identity.admin);
    bj_put_bool(&rows, c->identity.accounts > 0);
    bj_put_text(&rows,
                (struct bj_slice){accounts.p ? accounts.p : "", accounts.len});
    bj_row_end(&rows);
    bj_call_rows_end(c, &rows, "");
    c->reply->body.failed = c->reply->body.failed || accounts.failed;
    bj_buf_free(&accounts);
    return 0;
}

/* --- lists -----------------------------------------------------------------
 */

/* Write rows of two texts, a time, and the time in milliseconds, or only the
 * first of these, depending on the keys. */
static int put_rows(struct bj_call *c, struct bj_st *st, struct bj_rows *rows)
{
    int r;
    while ((r = bj_st_row(st, &c->err)) > 0) {
        bj_row_begin(rows);
        for (unsigned i = 0; i < rows->keys; i++) {
            int64_t sec = i >= 2 ? bj_st_get_i64(st, (int)i) : 0;
            if (i < 2)
                bj_put_text(rows, bj_st_get_text(st, (int)i));
            else if (sec == BJ_SQL_NULL)
                bj_put_null(rows);
            else if (i == 2)
                bj_put_time(rows, sec);
            else
                bj_put_time_ms(rows, sec);
        }
        bj_row_end(rows);
    }
    return r;
}

static int list(struct bj_call *c, struct bj_query *q)
{
    const char *names[BJ_KEYS];
    struct bj_st *st;
    struct bj_rows rows;
    int r = bj_query_open(q, c->reader, &st, &c->err);
    if (r < 0)
        return r;
    bj_call_rows(c, &rows, names, bj_key_names(c->endpoint->keys, names));
    r = put_rows(c, st, &rows);
    if (r == 0)
        bj_call_rows_end(c, &rows, "");
    return r;
}

/* Respond with a list whose SQL a function appends. */
static int with_query(struct bj_call *c,
                      int (*make)(struct bj_call *c, struct bj_query *q,
                                  const struct bj_params *p))
{
    struct bj_params p;
    int r = bj_params_read(c, c->endpoint->params, &p);
    struct bj_query q = {0};
    if (r == 0)
        r = make(c, &q, &p);
    if (r == 0)
        r = list(c, &q);
    bj_query_free(&q);
    return r;
}

static const struct bj_key account_keys[] = {
    {"account", "string", "Account."},
    {NULL, NULL, NULL},
};

static int make_accounts(struct bj_call *c, struct bj_query *q,
                         const struct bj_params *p)
{
    bj_query_sql(q, "SELECT DISTINCT n.name FROM assoc AS a JOIN account AS n "
                    "ON n.id = a.account WHERE n.name <> ''");
    int r = bj_query_scope(q, c, p, "a");
    bj_query_sql(q, " ORDER BY 1");
    return r;
}

static int on_accounts(struct bj_call *c)
{
    return with_query(c, make_accounts);
}

static const struct bj_key user_keys[] = {
    {"user", "string", "User. The own name is always listed."},
    {NULL, NULL, NULL},
};

static int make_users(struct bj_call *c, struct bj_query *q,
                      const struct bj_params *p)
{
    bj_query_sql(q, "SELECT n.name FROM assoc AS a JOIN user AS n ON n.id = "
                    "a.user WHERE n.name <> ''");
    int r = bj_query_scope(q, c, p, "a");
    /* Include the user, even without jobs. */
    bj_query_sql(q, c->identity.admin ? " GROUP BY 1" : " UNION SELECT ");
    if (!c->identity.admin)
        bj_query_text(q, bj_slice_str(c->identity.user));
    bj_query_sql(q, " ORDER BY 1");
    return r;
}

static int on_users(struct bj_call *c)
{
    return with_query(c, make_users);
}

static const struct bj_key cluster_keys[] = {
    {"cluster", "string", "Cluster."},
    {"batch_system", "string", "slurm, pbs or lsf."},
    {"last_update", "string", "Time up to which its accounting is complete."},
    {"last_update_ms", "integer", "The same time in milliseconds."},
    {NULL, NULL, NULL},
};

static int make_clusters(struct bj_call *c, struct bj_query *q,
                         const struct bj_params *p)
{
    (void)c;
    (void)p;
    bj_query_sql(q, "SELECT c.name, c.system, max(v.to_sec), max(v.to_sec) "
                    "FROM cluster AS c LEFT JOIN covered AS v ON v.cluster = "
                    "c.name GROUP BY c.id ORDER BY 1");
    return 0;
}

static int on_clusters(struct bj_call *c)
{
    return with_query(c, make_clusters);
}

enum {
    STORE_AND_USER = BJ_NEED_STORE | BJ_NEED_USER,
    SCOPE = BJ_BIT(BJ_PARAM_USER) | BJ_BIT(BJ_PARAM_ACCOUNT) |
            BJ_BIT(BJ_PARAM_PARTITION) | BJ_BIT(BJ_PARAM_CLUSTER) |
            BJ_BIT(BJ_PARAM_MINE)
};

#define BASE "Empty list, for the connection test of data sources."

const struct bj_endpoint bj_endpoints_lists[] = {
    {.path = "/api", .methods = BJ_HTTP_GET, .run = on_base, .help = BASE},
    {.path = "/api/v1", .methods = BJ_HTTP_GET, .run = on_base, .help = BASE},
    {.path = "/api/v1/me",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_USER,
     .run = on_me,
     .help = "The authenticated user and what they may see.",
     .keys = me_keys},
    {.path = "/api/v1/accounts",
     .methods = BJ_HTTP_GET,
     .needs = STORE_AND_USER,
     .run = on_accounts,
     .help = "Accounts of the jobs that the user may see.",
     .params = SCOPE,
     .keys = account_keys},
    {.path = "/api/v1/users",
     .methods = BJ_HTTP_GET,
     .needs = STORE_AND_USER,
     .run = on_users,
     .help = "Users of the jobs that the user may see.",
     .params = SCOPE,
     .keys = user_keys},
    {.path = "/api/v1/clusters",
     .methods = BJ_HTTP_GET,
     .needs = STORE_AND_USER,
     .run = on_clusters,
     .help = "Clusters, and the time up to which their accounting is complete.",
     .keys = cluster_keys},
    {.path = NULL},
};
