/* The page of usage by account, user, partition, cluster, month or day. */
#include "apiserver/frame/state.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/usage.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "report/period/period.h"
#include "statsdb/derive/price.h"

#include <string.h>

enum {
    NEED = BJ_NEED_STORE | BJ_NEED_USER,
    DAY = 86400,
    GROUPS = 7,
    ROWS_MAX = 250 /* maximum number of rows of a page */
};

#define GROUP_COLUMNS                                                          \
    "faculty", "cluster", "account", "user", "partition", "month", "day"
#define USE_COLUMNS                                                            \
    "core_hours", "cpu_efficiency_percent", "cpu_unused_hours", "gpu_hours",   \
        "gpu_efficiency_percent", "gpu_unused_hours", "energy_kwh",            \
        "emissions_grams", "cost", NULL

static const char *const usage_columns[] = {
    GROUP_COLUMNS,    "jobs_ended",        "jobs_completed",
    "jobs_failed",    "jobs_timeout",      "jobs_oom",
    "jobs_cancelled", "wait_mean_seconds", USE_COLUMNS,
};

static const char *const brief_columns[] = {
    GROUP_COLUMNS,
    "jobs_ended",
    USE_COLUMNS,
};

enum { COLUMNS = sizeof(usage_columns) / sizeof(usage_columns[0]) };

static bool is_grouped(const struct bj_params *p, const char *key)
{
    for (unsigned v = 0; v < p->values; v++)
        if (p->value[v].which == BJ_PARAM_GROUP_BY &&
            bj_slice_eq(p->value[v].text, bj_slice_str(key)))
            return true;
    return false;
}

/* Choose columns: no groups that were not requested, which come first in each
 * table, and no cost if the site has no prices. */
static int choose_columns(struct bj_call *c, const struct bj_params *p,
                          const char *const *from, const char **ret)
{
    struct bj_prices prices;
    int r = bj_prices_read(bj_reader_db(c->reader), &prices, &c->err);
    for (unsigned i = 0; from[i]; i++)
        if (i < GROUPS                     ? is_grouped(p, from[i])
            : strcmp(from[i], "cost") == 0 ? bj_prices_are(&prices)
                                           : true)
            *ret++ = from[i];
    *ret = NULL;
    return r;
}

/* Remove all groups, for one row of totals. */
static void without_groups(struct bj_params *p)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->values; i++)
        if (p->value[i].which != BJ_PARAM_GROUP_BY)
            p->value[n++] = p->value[i];
    p->values = n;
    p->given[BJ_PARAM_GROUP_BY] = false;
}

/* The column by which rows are sorted; NULL: no column. */
static const char *order_key(const struct bj_params *p)
{
    const struct bj_slice name = bj_params_text(p, BJ_PARAM_SORT);
    for (unsigned i = 0; brief_columns[i]; i++)
        if (bj_slice_eq(name, bj_slice_str(brief_columns[i])))
            return brief_columns[i];
    return NULL;
}

/* Append the rows.  most: maximum number of rows, without a total; 0: ROWS_MAX
 * rows, and the total. */
static int usage_put_rows(struct bj_call *c, const struct bj_params *p,
                          const struct bj_page_place *at,
                          const char *const *from, uint64_t most)
{
    const char *columns[COLUMNS];
    struct bj_page_table table;
    struct bj_params all = *p;
    bool cut = false, cut_total;
    int r = choose_columns(c, p, from, columns);
    without_groups(&all);
    bj_page_table_begin(&table, &c->reply->body, bj_usage_columns, columns,
                        at->to_root);
    table.at = *at;
    table.most = most ? most : ROWS_MAX;
    if (most > 0 && p->given[BJ_PARAM_SORT])
        table.needs = order_key(p);
    const struct bj_output out = {.cells = &table.cells};
    if (r == 0)
        r = bj_usage_list(c, p, &out, &cut);
    if (r == 0 && table.rows > 1 && most == 0) {
        bj_page_table_total(&table);
        r = bj_usage_list(c, &all, &out, &cut_total);
    }
    table.is_part = cut || (most == 0 && table.rows > ROWS_MAX);
    bj_page_table_end(&table, "No usage in this time.");
    if (most == 0 && (cut || table.rows > ROWS_MAX))
        bj_local_html(
            &c->reply->body,
            "<p>{There are more rows; the total includes them. Choose a "
            "shorter time or one account to see them.}</p>\n");
    return r;
}

int bj_page_usage_table(struct bj_call *c, const struct bj_params *p,
                        const struct bj_page_place *at)
{
    return usage_put_rows(c, p, at, usage_columns, 0);
}

int bj_page_usage_brief(struct bj_call *c, const struct bj_params *p,
                        const struct bj_page_place *at, uint64_t most)
{
    return usage_put_rows(c, p, at, brief_columns, most);
}

/* --- the page --------------------------------------------------------------
 */

static void usage_put_form(struct bj_call *c, const struct bj_params *p)
{
    static const struct bj_page_choice groups[] = {
        {"faculty", "faculty"}, {"account", "account"},
        {"user", "user"},       {"partition", "partition"},
        {"cluster", "cluster"}, {"month", "month"},
        {"day", "day"},         {NULL, NULL}};
    static const struct bj_page_choice orders[] = {
        {"", "most CPU hours first"},
        {"gpu_hours", "most GPU hours first"},
        {"energy_kwh", "most energy first"},
        {"cpu_unused_hours", "most unused CPU hours first"},
        {"gpu_unused_hours", "most unused GPU hours first"},
        {NULL, NULL}};
    struct bj_buf *b = &c->reply->body;
    bj_buf_str(b, "<form>");
    bj_page_select(b, p, BJ_PARAM_GROUP_BY, "By",
                   groups + !bj_page_has_faculties(c));
    bj_page_select(b, p, BJ_PARAM_SORT, "Order", orders);
    bj_page_date(b, p, BJ_PARAM_FROM, "From");
    bj_page_date(b, p, BJ_PARAM_TO, "To");
    if (bj_page_sees_others(c))
        bj_page_input(b, p, BJ_PARAM_USER, "User", "text");
    bj_page_input(b, p, BJ_PARAM_ACCOUNT, "Account", "text");
    bj_page_input(b, p, BJ_PARAM_PARTITION, "Partition", "text");
    bj_page_input(b, p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_local_html(b, "<button>{Show}</button></form>\n");
}

static void put_date(struct bj_buf *b, const char *name, int64_t day,
                     const char *end)
{
    struct bj_civil date;
    bj_civil_from_days(day, &date);
    bj_buf_printf(b, "%s=%04d-%02u-%02u%s", name, date.year, date.month,
                  date.day, end);
}

bool bj_page_has_faculties(const struct bj_call *c)
{
    const char *path = c->worker->conf->faculties;
    return path && *path;
}

void bj_page_periods(struct bj_call *c, const char *page)
{
    struct bj_buf *b = &c->reply->body, args = {0};
    const int64_t today = bj_tz_day(bj_tz_used(), c->now_sec);
    struct bj_civil now;
    bj_civil_from_days(today, &now);
    const int64_t first = today - (int64_t)now.day + 1;
    struct bj_civil before;
    bj_civil_from_days(first - 1, &before);
    const struct {
        const char *name;
        int64_t from, to;
    } periods[] = {
        {"this month", first, today},
        {"last month", first - (int64_t)before.day, first - 1},
        {"7 days", today - 6, today},
        {"90 days", today - 89, today},
        {"a year", today - 364, today},
    };
    bj_page_args(&args, c, BJ_BIT(BJ_PARAM_FROM) | BJ_BIT(BJ_PARAM_TO));
    bj_buf_str(b, "<p class=\"sub screen\">");
    for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
        bj_buf_printf(b, "%s<a href=\"%s?", i ? " &middot; " : "", page);
        bj_buf_slice(b, (struct bj_slice){args.p, args.len});
        put_date(b, "from", periods[i].from, "&amp;");
        put_date(b, "to", periods[i].to, "");
        bj_buf_printf(b, "\">%s</a>", bj_local_escaped(periods[i].name));
    }
    bj_buf_str(b, "</p>\n");
    b->failed |= args.failed;
    bj_buf_free(&args);
}

static int usage_put_table(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf filters = {0}, times = {0};
    bj_page_args(&filters, c,
                 BJ_BIT(BJ_PARAM_FROM) | BJ_BIT(BJ_PARAM_TO) |
                     BJ_BIT(BJ_PARAM_GROUP_BY));
    put_date(&times, "from", bj_tz_day(bj_tz_used(), p->number[BJ_PARAM_FROM]),
             "&amp;");
    put_date(&times, "to", bj_tz_day(bj_tz_used(), p->number[BJ_PARAM_TO]), "");
    bj_buf_put(&filters, "", 1);
    bj_buf_put(&times, "", 1);
    c->reply->body.failed |= filters.failed || times.failed;
    int r =
        filters.failed || times.failed
            ? bj_err_set(&c->err, -ENOMEM, "usage")
            : bj_page_usage_table(c, p,
                                  &(struct bj_page_place){.to_root = "",
                                                          .filters = filters.p,
                                                          .times = times.p});
    bj_buf_free(&filters);
    bj_buf_free(&times);
    return r;
}

void bj_page_usage_note(struct bj_buf *b)
{
    bj_buf_str(b, "<p class=\"mute\">");
    struct bj_buf zone = bj_page_zone(b);
    bj_local_html(b, BJ_USED_IN_PERIOD, zone.failed ? "" : zone.p);
    bj_buf_free(&zone);
    bj_local_html_str(
        b, " {\"Unused\" is what they held and did not use, as far as it is "
           "known. \"Known\" is the part of the GPU or CPU hours for which a "
           "value is known: GPU use, energy, emissions and the cost of the "
           "energy are known when a job has ended. \"Jobs ended\" counts the "
           "jobs that ended in these days.}</p>\n");
}

static int on_usage(struct bj_call *c)
{
    struct bj_params p;
    int r = bj_params_read(c, BJ_USAGE_MASK, &p);
    if (r == 0 && !p.given[BJ_PARAM_GROUP_BY])
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_GROUP_BY),
                          BJ_SLICE("group_by"), BJ_SLICE("account"));
    if (r != 0)
        return r;
    bj_page_times(c, &p);
    bj_page_open(c, bj_local("Usage"), "");
    usage_put_form(c, &p);
    bj_page_periods(c, "usage");
    bj_buf_str(&c->reply->body, "<section class=\"card\">");
    r = usage_put_table(c, &p);
    bj_buf_str(&c->reply->body, "</section>\n");
    bj_page_usage_note(&c->reply->body);
    bj_page_close(c);
    return r;
}

const struct bj_endpoint bj_endpoints_page_usage[] = {
    {.path = "/usage",
     .methods = BJ_HTTP_GET,
     .needs = NEED,
     .run = on_usage,
     .refused = bj_page_refuse,
     .to_root = "",
     .menu = "Usage",
     .help = "Web page: usage.",
     .type = "text/html",
     .params = BJ_USAGE_MASK},
    {.path = NULL},
};
