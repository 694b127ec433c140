/* The web pages: lists of jobs, usage. */
#include "apiserver/jobs.h"
#include "apiserver/page_form.h"
#include "apiserver/state.h"
#include "apiserver/usage.h"
#include "base/stamp.h"

#include <stdio.h>

enum {
    NEED = BJ_NEED_STORE | BJ_NEED_USER,
    ROWS_MAX = 500, /* rows of a page */
    DAY = 86400,
    JOBS = BJ_JOBS_MASK | BJ_BIT(BJ_PARAM_CURSOR)
};

/* --- forms -----------------------------------------------------------------
 */

static void put_form(struct bj_call *c, const struct bj_params *p, bool jobs)
{
    static const struct bj_page_choice states[] = {{"all", "all"},
                                                   {"running", "running"},
                                                   {"pending", "waiting"},
                                                   {"ended", "ended"},
                                                   {"completed", "completed"},
                                                   {"failed", "failed"},
                                                   {"cancelled", "cancelled"},
                                                   {"timeout", "time limit"},
                                                   {"oom", "out of memory"},
                                                   {"node_fail", "node failed"},
                                                   {NULL, NULL}};
    static const struct bj_page_choice groups[] = {{"account", "account"},
                                                   {"user", "user"},
                                                   {"partition", "partition"},
                                                   {"cluster", "cluster"},
                                                   {"month", "month"},
                                                   {"day", "day"},
                                                   {NULL, NULL}};
    struct bj_buf *b = &c->reply->body;
    bj_buf_str(b, "<form>");
    bj_page_date(b, p, BJ_PARAM_FROM, "From");
    bj_page_date(b, p, BJ_PARAM_TO, "To");
    if (bj_page_sees_others(c))
        bj_page_input(b, p, BJ_PARAM_USER, "User", "text");
    bj_page_input(b, p, BJ_PARAM_ACCOUNT, "Account", "text");
    if (jobs) {
        bj_page_select(b, p, BJ_PARAM_STATE, "State", states);
        bj_page_input(b, p, BJ_PARAM_NAME, "Name", "text");
    } else {
        bj_page_select(b, p, BJ_PARAM_GROUP_BY, "By", groups);
    }
    bj_buf_str(b, "<button>Show</button></form>\n");
}

/* --- usage -----------------------------------------------------------------
 */

static const struct bj_page_column usage_columns[] = {
    {"cluster", "Cluster", BJ_SHOW_TEXT, false},
    {"account", "Account", BJ_SHOW_ACCOUNT, false},
    {"user", "User", BJ_SHOW_USER, false},
    {"partition", "Partition", BJ_SHOW_PARTITION, false},
    {"month", "Month", BJ_SHOW_TEXT, false},
    {"day", "Day", BJ_SHOW_TEXT, false},
    {"jobs_ended", "Jobs ended", BJ_SHOW_NUMBER, false},
    {"jobs_failed", "Failed", BJ_SHOW_NUMBER, false},
    {"wait_mean_seconds", "Mean wait", BJ_SHOW_SECONDS, false},
    {"core_hours", "Core hours", BJ_SHOW_ROUND, false},
    {"gpu_hours", "GPU hours", BJ_SHOW_ROUND, false},
    {"cpu_efficiency_percent", "CPU efficiency", BJ_SHOW_PERCENT, false},
    {"energy_kwh", "Energy, kWh", BJ_SHOW_ROUND, false},
    {"emissions_grams", "CO2 (estimate)", BJ_SHOW_GRAMS, false},
    {NULL, NULL, 0, false},
};

enum { USAGE_COLUMNS = sizeof(usage_columns) / sizeof(usage_columns[0]) };

/* Leave out the columns of groups that were not requested. */
static void choose(const struct bj_params *p, struct bj_page_column *ret)
{
    unsigned n = 0;
    for (unsigned i = 0; i < USAGE_COLUMNS; i++) {
        bool wanted = i >= 6;
        for (unsigned v = 0; v < p->values && !wanted; v++)
            wanted = p->value[v].which == BJ_PARAM_GROUP_BY &&
                     bj_slice_eq(p->value[v].text,
                                 bj_slice_str(usage_columns[i].key));
        if (wanted)
            ret[n++] = usage_columns[i];
    }
}

static int on_usage(struct bj_call *c)
{
    struct bj_params p;
    struct bj_page_column columns[USAGE_COLUMNS];
    struct bj_page_table table;
    bool cut = false;
    int r = bj_params_read(c, BJ_USAGE_MASK, &p);
    if (r == 0 && !p.given[BJ_PARAM_GROUP_BY])
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_GROUP_BY),
                          BJ_SLICE("group_by"), BJ_SLICE("account"));
    if (r != 0)
        return r;
    bj_page_times(c, &p);
    choose(&p, columns);
    bj_page_open(c, "Usage", "");
    put_form(c, &p, false);
    bj_page_table_begin(&table, &c->reply->body, columns, "");
    r = bj_usage_list(c, &p, &(struct bj_output){.cells = &table.cells}, &cut);
    bj_page_table_end(&table, "No usage in this time.");
    bj_buf_str(&c->reply->body,
               cut ? "<p>There are more rows: choose a shorter time or one "
                     "account.</p>\n"
                   : "");
    bj_buf_str(&c->reply->body,
               "<p>In whole days. Energy and CO2 are those of jobs that have "
               "ended, as far as they are known.</p>\n");
    bj_page_close(c);
    return r;
}

int bj_page_root(struct bj_call *c)
{
    bj_page_open(c, "Batch jobs", "");
    bj_buf_str(
        &c->reply->body,
        "<ul><li><a href=\"jobs\">Jobs</a></li>"
        "<li><a href=\"usage\">Usage</a></li>"
        "<li><a href=\"api/v1/openapi.json\">API description (OpenAPI)</a>"
        "</li></ul>\n");
    bj_page_close(c);
    return 0;
}

static int on_style(struct bj_call *c)
{
    c->reply->type = "text/css; charset=utf-8";
    bj_page_style(&c->reply->body);
    return 0;
}

#define PAGE(name, root, handler, mask, text)                                  \
    {                                                                          \
        .path = name, .methods = BJ_HTTP_GET, .needs = NEED, .run = handler,   \
        .refused = bj_page_refuse, .up = root, .help = text,                   \
        .type = "text/html", .params = mask                                    \
    }

const struct bj_endpoint bj_endpoints_pages[] = {
    PAGE("/usage", "", on_usage, BJ_USAGE_MASK, "Web page: usage."),
    {.path = "/style.css",
     .methods = BJ_HTTP_GET,
     .run = on_style,
     .help = "Style sheet of the web pages.",
     .type = "text/css"},
    {.path = NULL},
};
