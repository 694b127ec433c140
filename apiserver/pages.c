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

/* --- jobs ----------------------------------------------------------------
 */

static const struct bj_page_column job_columns[] = {
    {"display_id", "Job", BJ_SHOW_JOB},
    {"state", "State", BJ_SHOW_STATE},
    {"name", "Name", BJ_SHOW_TEXT},
    {"user", "User", BJ_SHOW_USER},
    {"account", "Account", BJ_SHOW_ACCOUNT},
    {"partition", "Partition", BJ_SHOW_PARTITION},
    {"start", "Started", BJ_SHOW_TIME},
    {"elapsed_seconds", "Elapsed", BJ_SHOW_SECONDS},
    {"cpus", "CPUs", BJ_SHOW_NUMBER},
    {"gpus", "GPUs", BJ_SHOW_NUMBER},
    {"cpu_efficiency_percent", "CPU efficiency", BJ_SHOW_PERCENT},
    {"memory_efficiency_percent", "Memory efficiency", BJ_SHOW_MEMORY},
    {"energy_joules", "Energy", BJ_SHOW_JOULES},
    {"emissions_grams", "CO2", BJ_SHOW_GRAMS},
    {"finding_names", "Findings", BJ_SHOW_SENTENCE},
    {NULL, NULL, 0},
};

/* Users who see only their own jobs do not need the column user. */
static void leave_out(struct bj_call *c, struct bj_page_column *ret)
{
    for (size_t i = 0; i < sizeof(job_columns) / sizeof(job_columns[0]); i++)
        if (bj_page_sees_others(c) || !job_columns[i].key ||
            strcmp(job_columns[i].key, "user") != 0)
            *ret++ = job_columns[i];
}

static void put_next(struct bj_call *c, const struct bj_jobs_end *end)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_civil day;
    if (!*end->next)
        return;
    bj_buf_str(b, "<p>");
    bj_civil_from_days(end->at / DAY, &day);
    if (end->partial)
        bj_buf_printf(b,
                      "The search took too long and stopped at jobs that "
                      "started on %04d-%02u-%02u. ",
                      day.year, day.month, day.day);
    bj_buf_str(b, "<a href=\"jobs?");
    bj_page_args(b, c, BJ_BIT(BJ_PARAM_CURSOR));
    bj_buf_printf(b, "cursor=%s\">%s</a></p>\n", end->next,
                  end->partial ? "Continue" : "Older jobs");
}

static int on_jobs(struct bj_call *c)
{
    struct bj_params p, list;
    struct bj_jobs_end end = {0};
    struct bj_page_column columns[sizeof(job_columns) / sizeof(job_columns[0])];
    struct bj_page_table table;
    int r = bj_params_read(c, JOBS, &p);
    if (r != 0)
        return r;
    bj_page_times(c, &p);
    list = p;
    if (list.given[BJ_PARAM_LIMIT] && list.number[BJ_PARAM_LIMIT] > ROWS_MAX)
        list.number[BJ_PARAM_LIMIT] = ROWS_MAX;
    r = bj_page_fields(c, &list, job_columns);
    if (r != 0)
        return r;
    bj_page_open(c, bj_page_sees_others(c) ? "Jobs" : "My jobs", "");
    put_form(c, &p, true);
    leave_out(c, columns);
    bj_page_table_begin(&table, &c->reply->body, columns, "");
    r = bj_jobs_list(c, &list, &(struct bj_output){.cells = &table.cells},
                     &end);
    bj_page_table_end(&table, end.partial ? "No jobs found so far."
                                          : "No jobs found in this time.");
    put_next(c, &end);
    bj_page_close(c);
    return r;
}

/* --- usage -----------------------------------------------------------------
 */

static const struct bj_page_column usage_columns[] = {
    {"cluster", "Cluster", BJ_SHOW_TEXT},
    {"account", "Account", BJ_SHOW_ACCOUNT},
    {"user", "User", BJ_SHOW_USER},
    {"partition", "Partition", BJ_SHOW_PARTITION},
    {"month", "Month", BJ_SHOW_TEXT},
    {"day", "Day", BJ_SHOW_TEXT},
    {"jobs_ended", "Jobs ended", BJ_SHOW_NUMBER},
    {"jobs_failed", "Failed", BJ_SHOW_NUMBER},
    {"wait_mean_seconds", "Mean wait", BJ_SHOW_SECONDS},
    {"core_hours", "Core hours", BJ_SHOW_ROUND},
    {"gpu_hours", "GPU hours", BJ_SHOW_ROUND},
    {"cpu_efficiency_percent", "CPU efficiency", BJ_SHOW_PERCENT},
    {"energy_kwh", "Energy, kWh", BJ_SHOW_ROUND},
    {"emissions_grams", "CO2 (estimate)", BJ_SHOW_GRAMS},
    {NULL, NULL, 0},
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
    PAGE("/jobs", "", on_jobs, JOBS, "Web page: jobs."),
    PAGE("/usage", "", on_usage, BJ_USAGE_MASK, "Web page: usage."),
    {.path = "/style.css",
     .methods = BJ_HTTP_GET,
     .run = on_style,
     .help = "Style sheet of the web pages.",
     .type = "text/css"},
    {.path = NULL},
};
