/* The authenticated user, and lists of accounts, users and clusters for menus.
 */
#include "apiserver/frame/params.h"
#include "apiserver/v1/table.h"

static int on_base(struct bj_call *c)
{
    bj_call_open(c);
    bj_buf_str(&c->reply->body, "[]");
    bj_call_close(c, "");
    return 0;
}

static const struct bj_column me_keys[] = {
    BJ_COLUMN("user", TEXT, NULL, "Name of the authenticated user."),
    BJ_COLUMN("admin", BOOL, NULL, "Sees all jobs."),
    BJ_COLUMN("coordinator", BOOL, NULL, "Sees all jobs of some accounts."),
    BJ_COLUMN("accounts", TEXT, NULL, "These accounts, separated by commas."),
    {.name = NULL},
};

static int on_me(struct bj_call *c)
{
    const char *names[BJ_JOB_COLUMNS];
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
    bj_call_rows(c, &rows, names, bj_column_names(me_keys, names));
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

/* Respond with a list of the endpoint's columns: select is before their SQL,
 * and a function appends what comes after. */
static int with_query(struct bj_call *c, const char *select,
                      int (*make)(struct bj_call *c, struct bj_query *q,
                                  const struct bj_params *p))
{
    struct bj_params p;
    int r = bj_params_read(c, c->endpoint->params, &p);
    struct bj_query q = {0};
    struct bj_picked k;
    bj_picked_table(&k, c->endpoint->columns);
    bj_query_sql(&q, select);
    bj_table_select(&q, &k);
    if (r == 0)
        r = make(c, &q, &p);
    if (r == 0)
        r = bj_table_reply(c, &q, &k, BJ_TABLE_ALL);
    bj_query_free(&q);
    return r;
}

static const struct bj_column account_keys[] = {
    BJ_COLUMN("account", TEXT, "n.name", "Account."),
    {.name = NULL},
};

static int make_accounts(struct bj_call *c, struct bj_query *q,
                         const struct bj_params *p)
{
    bj_query_sql(q, " FROM assoc AS a JOIN account AS n ON n.id = a.account"
                    " WHERE n.name <> ''");
    int r = bj_query_scope(q, c, p, "a");
    bj_query_sql(q, " ORDER BY 1");
    return r;
}

static int on_accounts(struct bj_call *c)
{
    return with_query(c, "SELECT DISTINCT ", make_accounts);
}

static const struct bj_column user_keys[] = {
    BJ_COLUMN("user", TEXT, "n.name", "User. The own name is always listed."),
    {.name = NULL},
};

static int make_users(struct bj_call *c, struct bj_query *q,
                      const struct bj_params *p)
{
    bj_query_sql(q, " FROM assoc AS a JOIN user AS n ON n.id = "
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
    return with_query(c, "SELECT ", make_users);
}

static const struct bj_column cluster_keys[] = {
    BJ_COLUMN("cluster", TEXT, "c.name", "Cluster."),
    BJ_COLUMN("batch_system", TEXT, "c.system", "slurm, pbs or lsf."),
    BJ_COLUMN("last_update", TIME, "max(v.to_sec)",
              "Time up to which its accounting is complete."),
    BJ_COLUMN("last_update_ms", TIME_MS, "max(v.to_sec)",
              "The same time in milliseconds."),
    {.name = NULL},
};

static int make_clusters(struct bj_call *c, struct bj_query *q,
                         const struct bj_params *p)
{
    (void)c;
    (void)p;
    bj_query_sql(q, " FROM cluster AS c LEFT JOIN covered AS v ON v.cluster = "
                    "c.name GROUP BY c.id ORDER BY 1");
    return 0;
}

static int on_clusters(struct bj_call *c)
{
    return with_query(c, "SELECT ", make_clusters);
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
     .columns = me_keys},
    {.path = "/api/v1/accounts",
     .methods = BJ_HTTP_GET,
     .needs = STORE_AND_USER,
     .run = on_accounts,
     .help = "Accounts of the jobs that the user may see.",
     .params = SCOPE,
     .columns = account_keys},
    {.path = "/api/v1/users",
     .methods = BJ_HTTP_GET,
     .needs = STORE_AND_USER,
     .run = on_users,
     .help = "Users of the jobs that the user may see.",
     .params = SCOPE,
     .columns = user_keys},
    {.path = "/api/v1/clusters",
     .methods = BJ_HTTP_GET,
     .needs = STORE_AND_USER,
     .run = on_clusters,
     .help = "Clusters, and the time up to which their accounting is complete.",
     .columns = cluster_keys},
    {.path = NULL},
};
