/* Emission factors, and numbers of the site. */
#include "apiserver/frame/state.h"
#include "apiserver/v1/table.h"
#include "statsdb/tables/fragment.h"

#include "base/absent.h"
#include "base/constants.h"
#include "base/file.h"
#include "base/json.h"

#include <fcntl.h>
#include <stdlib.h>

enum { WEEK = 7 * 86400, FILE_BYTES = 65536 };
enum { STORE_AND_USER = BJ_NEED_STORE | BJ_NEED_USER };

struct span {
    int64_t from, to;
    uint64_t limit;
};

static int read_span(struct bj_call *c, const struct bj_params *p,
                     uint64_t limit, struct span *ret)
{
    ret->to = p->given[BJ_PARAM_TO] ? p->number[BJ_PARAM_TO] : c->now_sec;
    ret->from =
        p->given[BJ_PARAM_FROM] ? p->number[BJ_PARAM_FROM] : ret->to - WEEK;
    ret->limit =
        p->given[BJ_PARAM_LIMIT] ? (uint64_t)p->number[BJ_PARAM_LIMIT] : limit;
    if (ret->limit > c->worker->conf->max_rows)
        ret->limit = c->worker->conf->max_rows;
    return ret->from > ret->to
               ? bj_call_refuse(c, 400,
                                "The parameter from must not be later than to.")
               : 0;
}

/* --- emission factors ------------------------------------------------------
 */

static const struct bj_api_column factor_columns[] = {
    {"cluster", BJ_AS_TEXT, 0,
     "(SELECT name FROM cluster WHERE id = s.cluster)", "Cluster; null: all."},
    {"provider", BJ_AS_TEXT, 0, "s.provider",
     "Provider; best: at each time the best of them."},
    {"kind", BJ_AS_TEXT, 0, "s.kind", "Kind of factor. Do not compare kinds."},
    {"zone", BJ_AS_TEXT, 0, "nullif(s.zone, '')", "Zone of the grid."},
    {"country", BJ_AS_TEXT, 0, "nullif(s.country, '')", "Country."},
    {"start", BJ_AS_TIME, 0, "f.start", "Start of the period."},
    {"start_ms", BJ_AS_TIME_MS, 0, "f.start", "The same time in milliseconds."},
    {"end", BJ_AS_TIME, 0, BJ_SQL_UNLESS_OPEN("f.\"end\""),
     "End of the period."},
    {"end_ms", BJ_AS_TIME_MS, 0, BJ_SQL_UNLESS_OPEN("f.\"end\""),
     "The same time in milliseconds."},
    {"grams_per_kwh", BJ_AS_MILLI, 0, "f.mg_per_kwh",
     "Grams of CO2 equivalent per kilowatt-hour."},
    {"basis", BJ_AS_TEXT, 0, BJ_SQL_BASIS("f.basis"),
     "live, stated, profile (of other days), year or constant."},
    {"estimated", BJ_AS_BOOL, 0, "f.estimated",
     "The factor is a forecast, an estimate or a profile."},
    {"fetched", BJ_AS_TIME, 0, "nullif(f.fetched, 0)",
     "Time of the query to the provider."},
    {.key = NULL},
};

static int make_factors(struct bj_call *c, struct bj_query *q,
                        const struct bj_params *p, struct span *s)
{
    int r = read_span(c, p, c->worker->conf->max_rows, s);
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

static int with_query(struct bj_call *c,
                      int (*make)(struct bj_call *c, struct bj_query *q,
                                  const struct bj_params *p, struct span *s))
{
    struct bj_params p;
    struct span s = {0};
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r != 0)
        return r;
    struct bj_query q = {0};
    bj_query_sql(&q, "SELECT ");
    bj_table_select(&q, c->endpoint->columns);
    r = make(c, &q, &p, &s);
    if (r == 0)
        r = bj_table_reply(c, &q, c->endpoint->columns, s.limit);
    bj_query_free(&q);
    return r;
}

static int on_factors(struct bj_call *c)
{
    return with_query(c, make_factors);
}

/* --- the site --------------------------------------------------------------
 */

static const struct bj_api_column site_columns[] = {
    {"time_zone", BJ_AS_TEXT, 0, "coalesce(s.time_zone, 'UTC')",
     "Time zone of the site: of days and months of usage, and of times in "
     "pages and reports."},
    {"currency", BJ_AS_TEXT, 0, "nullif(p.currency, '')",
     "Currency of the prices."},
    {"cpu_hour", BJ_AS_MICRO, 0, "p.cpu_hour",
     "Price of one allocated CPU for one hour; null: it is free."},
    {"gpu_hour", BJ_AS_MICRO, 0, "p.gpu_hour",
     "Price of one allocated GPU for one hour."},
    {"gib_hour", BJ_AS_MICRO, 0, "p.gib_hour",
     "Price of one GiB of allocated memory for one hour."},
    {"kwh", BJ_AS_MICRO, 0, "p.kwh", "Price of one kWh that jobs used."},
    {"failed_nodes_free", BJ_AS_BOOL, 0, "p.failed_nodes_free",
     "Whether jobs that ended since a node failed are not charged; null: no "
     "prices."},
    {.key = NULL},
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
    return with_query(c, make_site);
}

/* --- numbers of the site ---------------------------------------------------
 */

static const struct bj_key constant_keys[] = {
    {"cluster", "string", "Cluster; null: all."},
    {"name", "string", "Name."},
    {"value", "number", "Number."},
    {"period", "string",
     "Period of the number, as in the file: year, 90d; null: none."},
    {"period_sec", "integer", "The same in seconds; a year has 365 days."},
    {NULL, NULL, NULL},
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
        bj_put_fixed(rows, v.micro, 6);
        bj_put_text(rows, v.period);
        if (v.period_sec == BJ_ABSENT)
            bj_put_null(rows);
        else
            bj_put_int(rows, (int64_t)v.period_sec);
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
    const char *names[BJ_KEYS];
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
        bj_call_rows(c, &rows, names, bj_key_names(constant_keys, names));
        const unsigned bad = put_constants(&rows, s, &first);
        end_constants(c, &rows, bad, &first);
    }
    free(text);
    return r;
}

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
     .keys = constant_keys},
    {.path = NULL},
};
