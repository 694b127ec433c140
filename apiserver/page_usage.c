/* The page of usage by account, user, partition, cluster, month or day. */
#include "apiserver/page_usage.h"
#include "apiserver/page_form.h"
#include "apiserver/usage.h"
#include "base/stamp.h"

enum {
    NEED = BJ_NEED_STORE | BJ_NEED_USER,
    DAY = 86400,
    GROUPS = 6,
    ROWS_MAX = 250 /* of a page */
};

static const struct bj_page_column usage_columns[] = {
    {"cluster", "Cluster", BJ_SHOW_GROUP, false},
    {"account", "Account", BJ_SHOW_GROUP, false},
    {"user", "User", BJ_SHOW_GROUP, false},
    {"partition", "Partition", BJ_SHOW_GROUP, false},
    {"month", "Month", BJ_SHOW_GROUP, false},
    {"day", "Day", BJ_SHOW_GROUP, false},
    {"jobs_ended", "Jobs ended", BJ_SHOW_NUMBER, false},
    {"jobs_completed", "Completed", BJ_SHOW_NUMBER, false},
    {"jobs_failed", "Failed", BJ_SHOW_NUMBER, false},
    {"jobs_timeout", "Time limit reached", BJ_SHOW_NUMBER, false},
    {"jobs_oom", "Out of memory", BJ_SHOW_NUMBER, false},
    {"jobs_cancelled", "Cancelled", BJ_SHOW_NUMBER, false},
    {"wait_mean_seconds", "Mean wait", BJ_SHOW_SECONDS, false},
    {"core_hours", "Core hours", BJ_SHOW_ROUND, false},
    {"cpu_efficiency_percent", "CPU efficiency", BJ_SHOW_PERCENT, false},
    {"cpu_unused_hours", "Core hours unused", BJ_SHOW_ROUND, false},
    {"gpu_hours", "GPU hours", BJ_SHOW_ROUND, false},
    {"gpu_efficiency_percent", "GPU efficiency", BJ_SHOW_GPU, false},
    {"gpu_unused_hours", "GPU hours unused", BJ_SHOW_ROUND, false},
    {"energy_kwh", "Energy", BJ_SHOW_KWH, false},
    {"emissions_grams", "CO2e (estimate)", BJ_SHOW_GRAMS, false},
    {NULL, NULL, 0, false},
};
enum { COLUMNS = sizeof(usage_columns) / sizeof(usage_columns[0]) };

/* Leave out the columns of groups that were not requested. */
static void choose(const struct bj_params *p, struct bj_page_column *ret)
{
    unsigned n = 0;
    for (unsigned i = 0; i < COLUMNS; i++) {
        bool wanted = i >= GROUPS;
        for (unsigned v = 0; v < p->values && !wanted; v++)
            wanted = p->value[v].which == BJ_PARAM_GROUP_BY &&
                     bj_slice_eq(p->value[v].text,
                                 bj_slice_str(usage_columns[i].key));
        if (wanted)
            ret[n++] = usage_columns[i];
    }
}

/* The same without groups: one row. */
static void without_groups(struct bj_params *p)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->values; i++)
        if (p->value[i].which != BJ_PARAM_GROUP_BY)
            p->value[n++] = p->value[i];
    p->values = n;
    p->given[BJ_PARAM_GROUP_BY] = false;
}

int bj_page_usage_table(struct bj_call *c, const struct bj_params *p,
                        const struct bj_page_place *at)
{
    struct bj_page_column columns[COLUMNS];
    struct bj_page_table table;
    struct bj_params all = *p;
    bool cut = false, cut_total;
    choose(p, columns);
    without_groups(&all);
    bj_page_table_begin(&table, &c->reply->body, columns, at->up);
    table.at = *at;
    table.most = ROWS_MAX;
    const struct bj_output out = {.cells = &table.cells};
    int r = bj_usage_list(c, p, &out, &cut);
    if (r == 0 && table.rows > 1) {
        bj_page_table_total(&table);
        r = bj_usage_list(c, &all, &out, &cut_total);
    }
    bj_page_table_end(&table, "No usage in this time.");
    if (cut || table.rows > ROWS_MAX)
        bj_buf_str(&c->reply->body,
                   "<p>There are more rows; the total includes them. Choose a "
                   "shorter time or one account to see them.</p>\n");
    return r;
}

/* --- the page --------------------------------------------------------------
 */

static void put_form(struct bj_call *c, const struct bj_params *p)
{
    static const struct bj_page_choice groups[] = {{"account", "account"},
                                                   {"user", "user"},
                                                   {"partition", "partition"},
                                                   {"cluster", "cluster"},
                                                   {"month", "month"},
                                                   {"day", "day"},
                                                   {NULL, NULL}};
    static const struct bj_page_choice orders[] = {
        {"", "most core hours first"},
        {"gpu_hours", "most GPU hours first"},
        {"energy_kwh", "most energy first"},
        {"cpu_unused_hours", "most unused core hours first"},
        {"gpu_unused_hours", "most unused GPU hours first"},
        {NULL, NULL}};
    struct bj_buf *b = &c->reply->body;
    bj_buf_str(b, "<form>");
    bj_page_select(b, p, BJ_PARAM_GROUP_BY, "By", groups);
    bj_page_select(b, p, BJ_PARAM_SORT, "Order", orders);
    bj_page_date(b, p, BJ_PARAM_FROM, "From");
    bj_page_date(b, p, BJ_PARAM_TO, "To");
    if (bj_page_sees_others(c))
        bj_page_input(b, p, BJ_PARAM_USER, "User", "text");
    bj_page_input(b, p, BJ_PARAM_ACCOUNT, "Account", "text");
    bj_page_input(b, p, BJ_PARAM_PARTITION, "Partition", "text");
    bj_page_input(b, p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_buf_str(b, "<button>Show</button></form>\n");
}

static void put_date(struct bj_buf *b, const char *name, int64_t day,
                     const char *end)
{
    struct bj_civil date;
    bj_civil_from_days(day, &date);
    bj_buf_printf(b, "%s=%04d-%02u-%02u%s", name, date.year, date.month,
                  date.day, end);
}

/* Links to whole months and the last days. */
static void put_periods(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body, args = {0};
    const int64_t today = c->now_sec / DAY;
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
        bj_buf_printf(b, "%s<a href=\"usage?", i ? " &middot; " : "");
        bj_buf_slice(b, (struct bj_slice){args.p, args.len});
        put_date(b, "from", periods[i].from, "&amp;");
        put_date(b, "to", periods[i].to, "");
        bj_buf_printf(b, "\">%s</a>", periods[i].name);
    }
    bj_buf_str(b, "</p>\n");
    b->failed |= args.failed;
    bj_buf_free(&args);
}

static int put_table(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf filters = {0}, times = {0};
    bj_page_args(&filters, c,
                 BJ_BIT(BJ_PARAM_FROM) | BJ_BIT(BJ_PARAM_TO) |
                     BJ_BIT(BJ_PARAM_GROUP_BY));
    put_date(&times, "from", p->number[BJ_PARAM_FROM] / DAY, "&amp;");
    put_date(&times, "to", p->number[BJ_PARAM_TO] / DAY, "");
    bj_buf_put(&filters, "", 1);
    bj_buf_put(&times, "", 1);
    c->reply->body.failed |= filters.failed || times.failed;
    int r = filters.failed || times.failed
                ? bj_err_set(&c->err, -ENOMEM, "usage")
                : bj_page_usage_table(
                      c, p, &(struct bj_page_place){"", filters.p, times.p});
    bj_buf_free(&filters);
    bj_buf_free(&times);
    return r;
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
    bj_page_open(c, "Usage", "");
    put_form(c, &p);
    put_periods(c);
    r = put_table(c, &p);
    bj_buf_str(&c->reply->body,
               "<p class=\"note\">Whole UTC days. GPU efficiency, energy and "
               "emissions cover only jobs that have ended; \"known\" is the "
               "part of the GPU or core "
               "hours for which they are known.</p>\n");
    bj_page_close(c);
    return r;
}

const struct bj_endpoint bj_endpoints_page_usage[] = {
    {.path = "/usage",
     .methods = BJ_HTTP_GET,
     .needs = NEED,
     .run = on_usage,
     .refused = bj_page_refuse,
     .up = "",
     .help = "Web page: usage.",
     .type = "text/html",
     .params = BJ_USAGE_MASK},
    {.path = NULL},
};
