/* The web pages: jobs, one job, usage. */
#include "apiserver/job_name.h"
#include "apiserver/jobs.h"
#include "apiserver/page.h"
#include "apiserver/parts.h"
#include "apiserver/state.h"
#include "apiserver/usage.h"
#include "apiserver/visible_job.h"
#include "base/html.h"
#include "base/stamp.h"

#include <stdio.h>

enum {
    NEED = BJ_NEED_STORE | BJ_NEED_USER,
    ROWS_MAX = 500, /* rows of a page */
    DAY = 86400,
    JOBS = BJ_JOBS_MASK | BJ_BIT(BJ_PARAM_CURSOR),
    ONE = BJ_BIT(BJ_PARAM_CLUSTER)
};

static bool sees_others(const struct bj_call *c)
{
    return c->who.admin || c->who.accounts > 0;
}

/* --- forms -----------------------------------------------------------------
 */

static void put_input(struct bj_buf *b, const struct bj_params *p,
                      enum bj_param which, const char *title, const char *type)
{
    bj_buf_printf(b, "<label>%s<input name=\"%s\" type=\"%s\" value=\"", title,
                  bj_param_rules[which].name, type);
    bj_html_text(b, bj_params_text(p, which));
    bj_buf_str(b, "\"></label>\n");
}

static void put_choice(struct bj_buf *b, const struct bj_params *p,
                       enum bj_param which, const char *title,
                       const char *const *choices)
{
    struct bj_slice now = bj_params_text(p, which);
    bj_buf_printf(b, "<label>%s<select name=\"%s\">", title,
                  bj_param_rules[which].name);
    for (unsigned i = 0; choices[i]; i++)
        bj_buf_printf(b, "<option%s>%s</option>",
                      bj_slice_eq(now, bj_slice_str(choices[i])) ? " selected"
                                                                 : "",
                      choices[i]);
    bj_buf_str(b, "</select></label>\n");
}

/* Forms have dates instead of times: the default is a week, and the last day is
 * included. */
static void settle_times(const struct bj_call *c, struct bj_params *p)
{
    int64_t *from = &p->number[BJ_PARAM_FROM], *to = &p->number[BJ_PARAM_TO];
    if (!p->given[BJ_PARAM_TO])
        *to = c->now_sec;
    else if (*to % DAY == 0)
        *to += DAY - 1;
    if (!p->given[BJ_PARAM_FROM])
        *from = *to - 7 * DAY;
    p->given[BJ_PARAM_FROM] = p->given[BJ_PARAM_TO] = true;
}

static void put_date(struct bj_buf *b, enum bj_param which, const char *title,
                     int64_t sec)
{
    struct bj_civil day;
    bj_civil_from_days(sec / DAY, &day);
    bj_buf_printf(b,
                  "<label>%s<input name=\"%s\" type=\"date\" value=\""
                  "%04d-%02u-%02u\"></label>\n",
                  title, bj_param_rules[which].name, day.year, day.month,
                  day.day);
}

static void put_form(struct bj_call *c, const struct bj_params *p, bool jobs)
{
    static const char *const states[] = {
        "all",       "running", "pending", "ended",     "completed", "failed",
        "cancelled", "timeout", "oom",     "node_fail", NULL};
    static const char *const groups[] = {
        "account", "user", "partition", "cluster", "month", "day", NULL};
    struct bj_buf *b = &c->reply->body;
    bj_buf_str(b, "<form>");
    put_date(b, BJ_PARAM_FROM, "From", p->number[BJ_PARAM_FROM]);
    put_date(b, BJ_PARAM_TO, "To", p->number[BJ_PARAM_TO]);
    if (sees_others(c))
        put_input(b, p, BJ_PARAM_USER, "User", "text");
    put_input(b, p, BJ_PARAM_ACCOUNT, "Account", "text");
    if (jobs) {
        put_choice(b, p, BJ_PARAM_STATE, "State", states);
        put_input(b, p, BJ_PARAM_NAME, "Name", "text");
    } else {
        put_choice(b, p, BJ_PARAM_GROUP_BY, "By", groups);
    }
    bj_buf_str(b, "<button>Show</button></form>\n");
}

/* --- jobs ----------------------------------------------------------------
 */

static const struct bj_page_column job_columns[] = {
    {"display_id", "Job", BJ_SHOW_JOB},
    {"state", "State", BJ_SHOW_STATE},
    {"name", "Name", BJ_SHOW_TEXT},
    {"user", "User", BJ_SHOW_TEXT},
    {"account", "Account", BJ_SHOW_TEXT},
    {"partition", "Partition", BJ_SHOW_TEXT},
    {"start", "Started", BJ_SHOW_TIME},
    {"elapsed_seconds", "Elapsed", BJ_SHOW_SECONDS},
    {"cpus", "CPUs", BJ_SHOW_NUMBER},
    {"gpus", "GPUs", BJ_SHOW_NUMBER},
    {"cpu_efficiency_percent", "CPU used", BJ_SHOW_PERCENT},
    {"memory_efficiency_percent", "Memory used", BJ_SHOW_PERCENT},
    {"energy_joules", "Energy", BJ_SHOW_JOULES},
    {"emissions_grams", "CO2", BJ_SHOW_GRAMS},
    {"finding_names", "Findings", BJ_SHOW_TEXT},
    {NULL, NULL, 0},
};

/* Request the fields that columns show. */
static int request_fields(struct bj_call *c, struct bj_params *p,
                          const struct bj_page_column *columns)
{
    int r = bj_params_put(c, p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          BJ_SLICE("key"));
    for (; columns->key && r == 0; columns++)
        r = bj_params_put(c, p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          bj_slice_str(columns->key));
    return r;
}

/* Users who see only their own jobs do not need the column user. */
static void leave_out(struct bj_call *c, struct bj_page_column *ret)
{
    for (size_t i = 0; i < sizeof(job_columns) / sizeof(job_columns[0]); i++)
        if (sees_others(c) || !job_columns[i].key ||
            strcmp(job_columns[i].key, "user") != 0)
            *ret++ = job_columns[i];
}

struct next {
    struct bj_buf *b;
    const char *cursor;
};

/* The parameters of this page, for the link to the next. */
static int put_arg(void *ctx, struct bj_slice key, struct bj_slice value)
{
    struct next *n = ctx;
    if (bj_slice_eq(key, BJ_SLICE("cursor")))
        return 0;
    bj_url_text(n->b, key);
    bj_buf_str(n->b, "=");
    bj_url_text(n->b, value);
    bj_buf_str(n->b, "&amp;");
    return 0;
}

static void put_next(struct bj_call *c, const struct bj_jobs_end *end)
{
    struct next n = {&c->reply->body, end->next};
    struct bj_civil day;
    if (!*end->next)
        return;
    bj_buf_str(n.b, "<p>");
    bj_civil_from_days(end->at / DAY, &day);
    if (end->partial)
        bj_buf_printf(n.b,
                      "The search took too long and stopped at jobs that "
                      "started on %04d-%02u-%02u. ",
                      day.year, day.month, day.day);
    bj_buf_str(n.b, "<a href=\"jobs?");
    bj_http_each_arg(c->req, put_arg, &n);
    bj_buf_printf(n.b, "cursor=%s\">%s</a></p>\n", end->next,
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
    settle_times(c, &p);
    list = p;
    if (list.given[BJ_PARAM_LIMIT] && list.number[BJ_PARAM_LIMIT] > ROWS_MAX)
        list.number[BJ_PARAM_LIMIT] = ROWS_MAX;
    r = request_fields(c, &list, job_columns);
    if (r != 0)
        return r;
    bj_page_open(c, sees_others(c) ? "Jobs" : "My jobs", "");
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

/* --- one job ---------------------------------------------------------------
 */

static const struct bj_page_column one_columns[] = {
    {"state", "State", BJ_SHOW_STATE},
    {"name", "Name", BJ_SHOW_TEXT},
    {"user", "User", BJ_SHOW_TEXT},
    {"account", "Account", BJ_SHOW_TEXT},
    {"cluster", "Cluster", BJ_SHOW_TEXT},
    {"partition", "Partition", BJ_SHOW_TEXT},
    {"state_raw", "Scheduler state", BJ_SHOW_TEXT},
    {"reason", "Reason", BJ_SHOW_TEXT},
    {"exit_code", "Exit code", BJ_SHOW_NUMBER},
    {"exit_signal", "Signal", BJ_SHOW_NUMBER},
    {"submit", "Submitted", BJ_SHOW_TIME},
    {"start", "Started", BJ_SHOW_TIME},
    {"end", "Ended", BJ_SHOW_TIME},
    {"wait_seconds", "Waited", BJ_SHOW_SECONDS},
    {"elapsed_seconds", "Elapsed", BJ_SHOW_SECONDS},
    {"time_limit_seconds", "Time limit", BJ_SHOW_SECONDS},
    {"nodes", "Nodes", BJ_SHOW_NUMBER},
    {"nodelist", "Node list", BJ_SHOW_TEXT},
    {"cpus", "CPUs", BJ_SHOW_NUMBER},
    {"gpus", "GPUs", BJ_SHOW_NUMBER},
    {"gpu_model", "GPU model", BJ_SHOW_TEXT},
    {"memory_allocated_bytes", "Memory allocated", BJ_SHOW_BYTES},
    {"work_dir", "Working directory", BJ_SHOW_TEXT},
    {"submit_line", "Submit line", BJ_SHOW_TEXT},
    {NULL, NULL, 0},
};

static const struct bj_page_column use_columns[] = {
    {"cpu_efficiency_percent", "CPU used", BJ_SHOW_PERCENT},
    {"cpu_efficiency_source", "Source of CPU used", BJ_SHOW_TEXT},
    {"memory_efficiency_percent", "Memory used", BJ_SHOW_PERCENT},
    {"memory_efficiency_source", "Source of memory used", BJ_SHOW_TEXT},
    {"memory_peak_bytes", "Memory peak", BJ_SHOW_BYTES},
    {"time_efficiency_percent", "Time limit used", BJ_SHOW_PERCENT},
    {"gpu_efficiency_percent", "GPUs busy", BJ_SHOW_PERCENT},
    {"gpus_unused", "GPUs never used", BJ_SHOW_NUMBER},
    {"gpu_idle_seconds", "GPU time idle", BJ_SHOW_SECONDS},
    {"energy_joules", "Energy", BJ_SHOW_JOULES},
    {"energy_source", "Source of energy", BJ_SHOW_TEXT},
    {"energy_policy", "Energy split by", BJ_SHOW_TEXT},
    {"emissions_grams", "CO2 (estimate)", BJ_SHOW_GRAMS},
    {NULL, NULL, 0},
};

static const struct bj_page_column finding_columns[] = {
    {"severity", "Severity", BJ_SHOW_STATE},
    {"finding", "Rule", BJ_SHOW_TEXT},
    {"text", "Description", BJ_SHOW_SENTENCE},
    {NULL, NULL, 0},
};

static const struct bj_page_column step_columns[] = {
    {"step", "Step", BJ_SHOW_TEXT},
    {"name", "Name", BJ_SHOW_TEXT},
    {"state", "State", BJ_SHOW_STATE},
    {"start", "Started", BJ_SHOW_TIME},
    {"elapsed_seconds", "Elapsed", BJ_SHOW_SECONDS},
    {"cpus", "CPUs", BJ_SHOW_NUMBER},
    {"nodes", "Nodes", BJ_SHOW_NUMBER},
    {"cpu_efficiency_percent", "CPU used", BJ_SHOW_PERCENT},
    {"memory_task_peak_bytes", "Memory peak of a task", BJ_SHOW_BYTES},
    {NULL, NULL, 0},
};

static int put_part(struct bj_call *c, enum bj_part which, int64_t job,
                    const struct bj_page_column *columns, const char *title,
                    const char *none)
{
    struct bj_page_table table;
    bj_buf_printf(&c->reply->body, "<h2>%s</h2>\n", title);
    bj_page_table_begin(&table, &c->reply->body, columns, "../");
    int r = bj_parts_rows(c, which, job,
                          &(struct bj_output){.cells = &table.cells});
    bj_page_table_end(&table, none);
    return r;
}

static void put_curves(struct bj_call *c, const struct bj_visible_job *f)
{
    static const struct {
        const char *title, *metrics;
    } curves[] = {
        {"CPUs", "cpus_used,cpus_allocated"},
        {"Memory", "memory_bytes,memory_limit_bytes"},
        {"Bytes read and written per second",
         "read_bytes_per_sec,write_bytes_per_sec"},
        {"GPUs busy", "gpu_busy_ratio"},
        {"Power", "power_watts,gpu_power_watts"},
    };
    struct bj_buf *b = &c->reply->body;
    if (!c->worker->prom || f->start == BJ_SQL_NULL)
        return;
    bj_buf_str(b, "<h2>Time series</h2>\n");
    for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++) {
        bj_buf_str(b, "<p><img width=\"800\" height=\"180\" src=\"");
        bj_url_text(b, f->key);
        bj_buf_printf(b, "/curve.svg?metric=%s\" alt=\"%s\"></p>\n",
                      curves[i].metrics, curves[i].title);
    }
}

/* The row of the job: the upper part of its page. */
static void put_one(void *ctx, const struct bj_cells *row)
{
    struct bj_call *c = ctx;
    struct bj_buf *b = &c->reply->body, title = {0};
    bj_buf_str(&title, "Job ");
    bj_cell_text(&title, bj_cells_get(row, "display_id"));
    bj_buf_put(&title, "", 1);
    b->failed |= title.failed;
    bj_page_open(c, title.failed ? "" : title.p, "../");
    bj_buf_free(&title);
    bj_page_list(b, one_columns, row, "");
    bj_buf_str(b, "<h2>Usage</h2>\n");
    bj_page_list(b, use_columns, row,
                 "Known when the job has ended, if any source reports it.");
}

static int request_one(struct bj_call *c, struct bj_params *p,
                       const struct bj_visible_job *f)
{
    int r = bj_params_put(c, p, BJ_BIT(BJ_PARAM_JOB), BJ_SLICE("job"), f->key);
    if (r == 0)
        r = bj_params_put(c, p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          BJ_SLICE("display_id"));
    if (r == 0)
        r = request_fields(c, p, one_columns);
    return r == 0 ? request_fields(c, p, use_columns) : r;
}

static int put_parts(struct bj_call *c, const struct bj_visible_job *f)
{
    struct bj_buf *b = &c->reply->body;
    int r = put_part(c, BJ_PART_FINDINGS, f->job, finding_columns, "Findings",
                     "No rule has found anything.");
    put_curves(c, f);
    if (r == 0)
        r = put_part(c, BJ_PART_STEPS, f->job, step_columns, "Steps",
                     "No steps are known.");
    bj_buf_str(b, "<p><a href=\"../api/v1/jobs/");
    bj_url_text(b, f->key);
    bj_buf_str(b, "\">All fields as JSON</a></p>\n");
    bj_page_close(c);
    return r;
}

static int one_page(struct bj_call *c, struct bj_arena *arena)
{
    struct bj_params p;
    struct bj_visible_job f;
    struct bj_jobs_end end;
    struct bj_cells cells = {.row = put_one, .ctx = c};
    int r = bj_params_read(c, ONE, &p);
    if (r == 0)
        r = bj_visible_job_find(c, &p, c->tail, arena, &f);
    if (r == 0)
        r = request_one(c, &p, &f);
    if (r == 0)
        r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &cells}, &end);
    if (r == 0 && cells.text.failed)
        r = bj_err_set(&c->err, -ENOMEM, "page");
    bj_cells_free(&cells);
    return r == 0 ? put_parts(c, &f) : r;
}

static int on_one(struct bj_call *c)
{
    struct bj_arena arena = {0};
    int r = one_page(c, &arena);
    bj_arena_free(&arena);
    return r;
}

/* --- usage -----------------------------------------------------------------
 */

static const struct bj_page_column usage_columns[] = {
    {"cluster", "Cluster", BJ_SHOW_TEXT},
    {"account", "Account", BJ_SHOW_TEXT},
    {"user", "User", BJ_SHOW_TEXT},
    {"partition", "Partition", BJ_SHOW_TEXT},
    {"month", "Month", BJ_SHOW_TEXT},
    {"day", "Day", BJ_SHOW_TEXT},
    {"jobs_ended", "Jobs ended", BJ_SHOW_NUMBER},
    {"jobs_failed", "Failed", BJ_SHOW_NUMBER},
    {"wait_mean_seconds", "Mean wait", BJ_SHOW_SECONDS},
    {"core_hours", "Core hours", BJ_SHOW_ROUND},
    {"gpu_hours", "GPU hours", BJ_SHOW_ROUND},
    {"cpu_efficiency_percent", "CPU used", BJ_SHOW_PERCENT},
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
    settle_times(c, &p);
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
    bj_buf_str(&c->reply->body, bj_page_style);
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
    PAGE("/jobs/*", "../", on_one, ONE, "Web page: one job."),
    PAGE("/usage", "", on_usage, BJ_USAGE_MASK, "Web page: usage."),
    {.path = "/style.css",
     .methods = BJ_HTTP_GET,
     .run = on_style,
     .help = "Style sheet of the web pages.",
     .type = "text/css"},
    {.path = NULL},
};
