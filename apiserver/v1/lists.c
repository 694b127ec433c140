/* The authenticated user, lists of accounts, users and clusters for menus,
 * emission factors, and numbers of the site. */
#include "apiserver/frame/params.h"
#include "apiserver/frame/state.h"
#include "apiserver/v1/table.h"
#include "base/absent.h"
#include "base/constants.h"
#include "base/file.h"
#include "base/json.h"
#include "statsdb/tables/fragment.h"

#include <fcntl.h>
#include <stdlib.h>

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
static int list_with(struct bj_call *c, const char *select,
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
    return list_with(c, "SELECT DISTINCT ", make_accounts);
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
    return list_with(c, "SELECT ", make_users);
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
    return list_with(c, "SELECT ", make_clusters);
}

/* --- facts of the site -----------------------------------------------------
 */

enum { FILE_BYTES = 65536 };

struct span {
    int64_t from, to;
    uint64_t limit;
};

static int facts_span(struct bj_call *c, const struct bj_params *p,
                      uint64_t limit, struct span *ret)
{
    ret->limit =
        p->given[BJ_PARAM_LIMIT] ? (uint64_t)p->number[BJ_PARAM_LIMIT] : limit;
    if (ret->limit > c->worker->conf->max_rows)
        ret->limit = c->worker->conf->max_rows;
    return bj_params_period(c, p, &ret->from, &ret->to);
}

/* --- emission factors ------------------------------------------------------
 */

static const struct bj_column factor_columns[] = {
    BJ_COLUMN("cluster", TEXT,
              "(SELECT name FROM cluster WHERE id = s.cluster)",
              "Cluster; null: all."),
    BJ_COLUMN("provider", TEXT, "s.provider",
              "Provider; best: at each time the best of them."),
    BJ_COLUMN("kind", TEXT, "s.kind", "Kind of factor. Do not compare kinds."),
    BJ_COLUMN("zone", TEXT, "nullif(s.zone, '')", "Zone of the grid."),
    BJ_COLUMN("country", TEXT, "nullif(s.country, '')", "Country."),
    BJ_COLUMN("start", TIME, "f.start", "Start of the period."),
    BJ_COLUMN("start_ms", TIME_MS, "f.start", "The same time in milliseconds."),
    BJ_COLUMN("end", TIME, BJ_SQL_UNLESS_OPEN("f.\"end\""),
              "End of the period."),
    BJ_COLUMN("end_ms", TIME_MS, BJ_SQL_UNLESS_OPEN("f.\"end\""),
              "The same time in milliseconds."),
    BJ_COLUMN("grams_per_kwh", MILLI, "f.mg_per_kwh",
              "Grams of CO2 equivalent per kilowatt-hour."),
    BJ_COLUMN("basis", TEXT, BJ_SQL_BASIS("f.basis"),
              "live, stated, profile (of other days), year or constant."),
    BJ_COLUMN("estimated", BOOL, "f.estimated",
              "The factor is a forecast, an estimate or a profile."),
    BJ_COLUMN("fetched", TIME, "nullif(f.fetched, 0)",
              "Time of the query to the provider."),
    {.name = NULL},
};

static int make_factors(struct bj_call *c, struct bj_query *q,
                        const struct bj_params *p, struct span *s)
{
    int r = facts_span(c, p, c->worker->conf->max_rows, s);
    bj_query_sql(q, " FROM factor AS f JOIN factor_source AS s ON s.id ="
                    " f.source WHERE f.start <= ");
    bj_query_int(q, s->to);
    bj_query_sql(q, " AND f.\"end\" > ");
    bj_query_int(q, s->from);
    if (p->given[BJ_PARAM_CLUSTER]) {
        bj_query_sql(q, " AND (s.cluster IS NULL OR s.cluster IN (SELECT id"
                        " FROM cluster WHERE name");
        bj_query_in(q, p, BJ_PARAM_CLUSTER);
        bj_query_sql(q, "))");
    }
    bj_query_sql(q, " ORDER BY f.start, s.rank, s.id, f.basis LIMIT ");
    bj_query_int(q, (int64_t)s->limit + 1);
    return r;
}

static int facts_with(struct bj_call *c,
                      int (*make)(struct bj_call *c, struct bj_query *q,
                                  const struct bj_params *p, struct span *s))
{
    struct bj_params p;
    struct span s = {0};
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r != 0)
        return r;
    struct bj_query q = {0};
    struct bj_picked k;
    bj_picked_table(&k, c->endpoint->columns);
    bj_query_sql(&q, "SELECT ");
    bj_table_select(&q, &k);
    r = make(c, &q, &p, &s);
    if (r == 0)
        r = bj_table_reply(c, &q, &k, s.limit);
    bj_query_free(&q);
    return r;
}

static int on_factors(struct bj_call *c)
{
    return facts_with(c, make_factors);
}

/* --- the site --------------------------------------------------------------
 */

static const struct bj_column site_columns[] = {
    BJ_COLUMN(
        "time_zone", TEXT, "coalesce(s.time_zone, 'UTC')",
        "Time zone of the site: of days and months of usage, and of times in "
        "pages and reports."),
    BJ_COLUMN("currency", TEXT, "nullif(p.currency, '')",
              "Currency of the prices."),
    BJ_COLUMN("cpu_hour", MICRO, "p.cpu_hour",
              "Price of one allocated CPU for one hour; null: it is free."),
    BJ_COLUMN("gpu_hour", MICRO, "p.gpu_hour",
              "Price of one allocated GPU for one hour."),
    BJ_COLUMN("gib_hour", MICRO, "p.gib_hour",
              "Price of one GiB of allocated memory for one hour."),
    BJ_COLUMN("kwh", MICRO, "p.kwh", "Price of one kWh that jobs used."),
    BJ_COLUMN(
        "failed_nodes_free", BOOL, "p.failed_nodes_free",
        "Whether jobs that ended since a node failed are not charged; null: no "
        "prices."),
    {.name = NULL},
};

static int make_site(struct bj_call *c, struct bj_query *q,
                     const struct bj_params *p, struct span *s)
{
    (void)c;
    (void)p;
    s->limit = 1;
    bj_query_sql(q, " FROM (SELECT 1 AS id) AS one LEFT JOIN site AS s ON s.id"
                    " = one.id LEFT JOIN price AS p ON p.id = one.id");
    return 0;
}

static int on_site(struct bj_call *c)
{
    return facts_with(c, make_site);
}

/* --- numbers of the site ---------------------------------------------------
 */

static const struct bj_column constant_keys[] = {
    BJ_COLUMN("cluster", TEXT, NULL, "Cluster; null: all."),
    BJ_COLUMN("name", TEXT, NULL, "Name."),
    BJ_COLUMN("value", MICRO, NULL, "Number."),
    BJ_COLUMN("period", TEXT, NULL,
              "Period of the number, as in the file: year, 90d; null: none."),
    BJ_COLUMN("period_sec", INT, NULL,
              "The same in seconds; a year has 365 days."),
    {.name = NULL},
};

/* Invalid lines are skipped and counted, and the first one is reported. */
static unsigned put_constants(struct bj_rows *rows, struct bj_slice text,
                              struct bj_err *first)
{
    struct bj_constants lines = {.text = text, .file = "constants.file"};
    struct bj_constant v;
    struct bj_err err;
    unsigned bad = 0;
    for (int r; (r = bj_constants_next(&lines, &v, &err)) != 0;) {
        if (r < 0 && bad++ == 0)
            *first = err;
        if (r < 0)
            continue;
        bj_row_begin(rows);
        bj_put_text(rows, v.cluster);
        bj_put_text(rows, v.name);
        bj_put_kind(rows, BJ_AS_MICRO, v.micro);
        bj_put_text(rows, v.period);
        bj_put_kind(rows, BJ_AS_INT,
                    v.period_sec == BJ_ABSENT ? BJ_SQL_NULL
                                              : (int64_t)v.period_sec);
        bj_row_end(rows);
    }
    return bad;
}

static void end_constants(struct bj_call *c, struct bj_rows *rows, unsigned bad,
                          const struct bj_err *first)
{
    struct bj_buf more = {0};
    bj_buf_printf(&more, ",\"meta\":{\"bad_lines\":%u", bad);
    if (bad > 0) {
        bj_buf_str(&more, ",\"bad_line\":");
        bj_json_string(&more, bj_slice_str(first->msg));
    }
    bj_buf_put(&more, "}", 2); /* the end of the document */
    bj_call_rows_end(c, rows, more.failed ? "" : more.p);
    c->reply->body.failed |= more.failed;
    bj_buf_free(&more);
}

/* The file is small and read for each request, so that changes are visible at
 * once. */
static int on_constants(struct bj_call *c)
{
    const char *path = c->worker->conf->constants;
    const char *names[BJ_JOB_COLUMNS];
    char *text = malloc(FILE_BYTES);
    struct bj_slice s = {0};
    struct bj_err first;
    struct bj_params p;
    struct bj_rows rows;
    int r = text ? bj_params_read(c, c->endpoint->params, &p)
                 : bj_err_set(&c->err, -ENOMEM, "constants");
    if (r == 0 && path && *path)
        r = bj_file_read_all(AT_FDCWD, path, text, FILE_BYTES, &s, &c->err);
    if (r < 0 && text) {
        bj_call_log(c, "constants.file");
        r = bj_call_refuse(c, 503,
                           "The constants cannot be read at the moment.");
    }
    if (r == 0) {
        bj_call_rows(c, &rows, names, bj_column_names(constant_keys, names));
        const unsigned bad = put_constants(&rows, s, &first);
        end_constants(c, &rows, bad, &first);
    }
    free(text);
    return r;
}

/* --- endpoints -------------------------------------------------------------
 */

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

const struct bj_endpoint bj_endpoints_facts[] = {
    {.path = "/api/v1/emission-factors",
     .methods = BJ_HTTP_GET,
     .needs = STORE_AND_USER,
     .run = on_factors,
     .help = "Emission factors of electricity over time.",
     .params = BJ_BIT(BJ_PARAM_FROM) | BJ_BIT(BJ_PARAM_TO) |
               BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_LIMIT),
     .columns = factor_columns},
    {.path = "/api/v1/site",
     .methods = BJ_HTTP_GET,
     .needs = STORE_AND_USER,
     .run = on_site,
     .help = "Time zone and prices of the site.",
     .columns = site_columns},
    {.path = "/api/v1/constants",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_USER,
     .run = on_constants,
     .help = "Numbers of the site, such as allocations.",
     .columns = constant_keys},
    {.path = NULL},
};
