/* The page with a list of jobs. */
#include "apiserver/frame/state.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/jobs.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"

#include <stdio.h>

enum {
    NEED = BJ_NEED_STORE | BJ_NEED_USER,
    ROWS_MAX = 500, /* maximum number of rows of a page */
    DAY = 86400,
    JOBS = BJ_JOBS_MASK | BJ_BIT(BJ_PARAM_CURSOR)
};

/* Columns of ended jobs, of running ones, or of all. */
enum of { ALL, ENDED, RUNNING };

static const struct {
    struct bj_page_column column;
    enum of of;
} job_columns[] = {
    {{"display_id", "Job", BJ_SHOW_JOB, false}, ALL},
    {{"state", "State", BJ_SHOW_STATE, false}, ALL},
    {{"finding_names", "Findings", BJ_SHOW_FINDINGS, false}, ALL},
    {{"name", "Name", BJ_SHOW_TEXT, false}, ALL},
    {{"user", "User", BJ_SHOW_USER, false}, ALL},
    {{"account", "Account", BJ_SHOW_ACCOUNT, false}, ALL},
    {{"partition", "Partition", BJ_SHOW_PARTITION, false}, ALL},
    {{"start", "Started", BJ_SHOW_TIME, true}, ALL},
    {{"elapsed_seconds", "Elapsed", BJ_SHOW_SECONDS, true}, ALL},
    {{"cpus", "CPUs", BJ_SHOW_NUMBER, true}, ALL},
    {{"gpus", "GPUs", BJ_SHOW_NUMBER, true}, ALL},
    {{"cpu_efficiency_percent", "CPU efficiency", BJ_SHOW_PERCENT, true},
     ENDED},
    {{"memory_efficiency_percent", "Memory efficiency", BJ_SHOW_MEMORY, true},
     ENDED},
    {{"gpu_efficiency_percent", "GPU efficiency", BJ_SHOW_GPU, true}, ENDED},
    {{"energy_joules", "Energy", BJ_SHOW_JOULES, true}, ENDED},
    {{"now_cpus_busy", "CPUs now", BJ_SHOW_NUMBER, false}, RUNNING},
    {{"now_memory_bytes", "Memory now", BJ_SHOW_BYTES, false}, RUNNING},
    {{"now_gpu_busy_percent", "GPU use now", BJ_SHOW_PART, false}, RUNNING},
    {{"idle_since", "Idle since", BJ_SHOW_TIME, false}, RUNNING},
};
enum { COLUMNS = sizeof(job_columns) / sizeof(job_columns[0]) };

/* --- the form --------------------------------------------------------------
 */

static const struct bj_page_choice states[] = {
    {"all", "all"},
    {"running", "running"},
    {"pending", "waiting"},
    {"ended", "ended"},
    {"completed", "completed"},
    {"failed", "failed"},
    {"cancelled", "cancelled"},
    {"timeout", "time limit reached"},
    {"oom", "out of memory"},
    {"node_fail", "node failed"},
    {NULL, NULL}};
static const struct bj_page_choice orders[] = {
    {"", "newest first"},
    {"elapsed_seconds", "longest first"},
    {"wait_seconds", "longest wait first"},
    {"cpus", "most CPUs first"},
    {"gpus", "most GPUs first"},
    {"cpu_efficiency_percent", "CPU efficiency"},
    {"memory_efficiency_percent", "memory efficiency"},
    {"gpu_efficiency_percent", "GPU efficiency"},
    {"energy_joules", "most energy first"},
    {"findings", "most findings first"},
    {NULL, NULL}};
static const struct bj_page_choice directions[] = {
    {"", "falling"}, {"asc", "rising"}, {NULL, NULL}};
static const struct bj_page_choice gpus[] = {
    {"", "any"}, {"true", "with GPUs"}, {"false", "without"}, {NULL, NULL}};

static void put_more(struct bj_call *c, const struct bj_params *p)
{
    static const enum bj_param more[] = {
        BJ_PARAM_USER,    BJ_PARAM_ACCOUNT, BJ_PARAM_PARTITION,
        BJ_PARAM_CLUSTER, BJ_PARAM_NODE,    BJ_PARAM_FINDING,
        BJ_PARAM_GPU,     BJ_PARAM_SORT,    BJ_PARAM_ORDER};
    struct bj_buf *b = &c->reply->body;
    bool open = false;
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        open = open || p->given[more[i]];
    bj_local_html(
        b, "<details%s><summary>{More filters and order}</summary><div>\n",
        open ? " open" : "");
    if (bj_page_sees_others(c))
        bj_page_input(b, p, BJ_PARAM_USER, "User", "text");
    bj_page_input(b, p, BJ_PARAM_ACCOUNT, "Account", "text");
    bj_page_input(b, p, BJ_PARAM_PARTITION, "Partition", "text");
    bj_page_input(b, p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_page_input(b, p, BJ_PARAM_NODE, "Node", "text");
    bj_page_input(b, p, BJ_PARAM_FINDING, "Finding", "text");
    bj_page_select(b, p, BJ_PARAM_GPU, "GPUs", gpus);
    bj_page_select(b, p, BJ_PARAM_SORT, "Order", orders);
    bj_page_select(b, p, BJ_PARAM_ORDER, "Direction", directions);
    bj_buf_str(b, "</div></details>\n");
}

static void jobs_put_form(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf *b = &c->reply->body;
    bj_buf_str(b, "<form>");
    bj_page_input(b, p, BJ_PARAM_JOB, "Job or array id", "search");
    bj_page_input(b, p, BJ_PARAM_NAME, "Name", "text");
    bj_page_select(b, p, BJ_PARAM_STATE, "State", states);
    bj_page_date(b, p, BJ_PARAM_FROM, "From");
    bj_page_date(b, p, BJ_PARAM_TO, "To");
    bj_local_html(b, "<button>{Show}</button>\n");
    put_more(c, p);
    bj_buf_str(b, "</form>\n");
}

/* --- the list --------------------------------------------------------------
 */

/* Does the list have running jobs only? */
static bool only_running(const struct bj_params *p)
{
    return p->given[BJ_PARAM_STATE] &&
           bj_slice_eq(bj_params_text(p, BJ_PARAM_STATE), BJ_SLICE("running"));
}

/* The columns of a list: without the user for users who see only their own
 * jobs. */
static void choose_columns(struct bj_call *c, const struct bj_params *p,
                           struct bj_page_column ret[COLUMNS + 1])
{
    const enum of left_out = only_running(p) ? ENDED : RUNNING;
    for (size_t i = 0; i < COLUMNS; i++)
        if (job_columns[i].of != left_out &&
            (bj_page_sees_others(c) ||
             strcmp(job_columns[i].column.key, "user") != 0))
            *ret++ = job_columns[i].column;
    *ret = (struct bj_page_column){NULL, NULL, 0, false};
}

static void jobs_day_of(int64_t sec, char ret[16])
{
    struct bj_civil day;
    bj_civil_from_days(bj_tz_day(bj_tz_used(), sec), &day);
    snprintf(ret, 16, "%04d-%02u-%02u", day.year, day.month, day.day);
}

static void put_next(struct bj_call *c, const struct bj_params *p,
                     const struct bj_jobs_end *end)
{
    struct bj_buf *b = &c->reply->body;
    const bool sorted = p->given[BJ_PARAM_SORT];
    if (end->partial) {
        char day[16];
        jobs_day_of(end->at, day);
        bj_local_html(b,
                      sorted ? "<p>{There are too many jobs to sort: only "
                               "those since %s are listed.}</p>\n"
                             : "<p>{The search took too long and stopped at "
                               "jobs that started on %s.}</p>\n",
                      day);
    }
    if (!*end->next)
        return;
    bj_buf_str(b, "<p><a rel=\"next\" href=\"jobs?");
    bj_page_args(b, c, BJ_BIT(BJ_PARAM_CURSOR));
    bj_buf_printf(b, "cursor=%s\">%s</a></p>\n", end->next,
                  bj_local_escaped(end->partial && !sorted ? "Continue"
                                   : sorted                ? "More jobs"
                                                           : "Older jobs"));
}

/* "1,234 jobs" or "more than 10,000 jobs" */
static void put_count(struct bj_buf *b, const struct bj_jobs_end *end)
{
    char n[BJ_AMOUNT_COUNT];
    if (end->total < 0)
        return;
    bj_local_html(b,
                  end->at_least ? "<p class=\"sub\">{More than %s jobs}</p>\n"
                  : end->total == 1 ? "<p class=\"sub\">{%s job}</p>\n"
                                    : "<p class=\"sub\">{%s jobs}</p>\n",
                  bj_amount_count(n, end->total));
}

static int jobs_put_list(struct bj_call *c, const struct bj_params *p,
                         const struct bj_params *list,
                         const struct bj_page_column *columns,
                         struct bj_jobs_end *end)
{
    struct bj_page_table table;
    struct bj_buf rows = {0}, link = {0};
    bj_buf_str(&link, "jobs?");
    bj_page_args(&link, c,
                 BJ_BIT(BJ_PARAM_CURSOR) | BJ_BIT(BJ_PARAM_SORT) |
                     BJ_BIT(BJ_PARAM_ORDER));
    bj_buf_put(&link, "", 1);
    bj_page_table_begin(&table, &rows, columns, "");
    table.link = link.failed ? NULL : link.p;
    table.sorted = p->given[BJ_PARAM_SORT] ? bj_params_text(p, BJ_PARAM_SORT)
                                           : BJ_SLICE("start");
    table.ascending =
        bj_slice_eq(bj_params_text(p, BJ_PARAM_ORDER), BJ_SLICE("asc"));
    int r =
        bj_jobs_list(c, list, &(struct bj_output){.cells = &table.cells}, end);
    bj_page_table_end(&table, end->partial ? "No jobs found so far."
                              : p->given[BJ_PARAM_JOB]
                                  ? "You have no job with this id."
                                  : "No jobs found in this time.");
    put_count(&c->reply->body, end);
    bj_buf_slice(&c->reply->body, (struct bj_slice){rows.p, rows.len});
    c->reply->body.failed |= rows.failed || link.failed;
    bj_buf_free(&rows);
    bj_buf_free(&link);
    return r;
}

static int on_jobs(struct bj_call *c)
{
    struct bj_params p, list;
    struct bj_jobs_end end = {0};
    struct bj_page_column columns[COLUMNS + 1];
    int r = bj_params_read(c, JOBS, &p);
    if (r != 0)
        return r;
    bj_page_times(c, &p);
    /* The list in order of start times needs no sort. */
    if (bj_slice_eq(bj_params_text(&p, BJ_PARAM_SORT), BJ_SLICE("start")))
        p.given[BJ_PARAM_SORT] = false;
    list = p;
    if (list.given[BJ_PARAM_LIMIT] && list.number[BJ_PARAM_LIMIT] > ROWS_MAX)
        list.number[BJ_PARAM_LIMIT] = ROWS_MAX;
    list.given[BJ_PARAM_TOTAL] = true;
    list.number[BJ_PARAM_TOTAL] = 1;
    choose_columns(c, &p, columns);
    r = bj_page_fields(c, &list, columns);
    if (r != 0)
        return r;
    bj_page_open(c, bj_local(bj_page_sees_others(c) ? "Jobs" : "My jobs"), "");
    jobs_put_form(c, &p);
    r = jobs_put_list(c, &p, &list, columns, &end);
    put_next(c, &p, &end);
    bj_page_close(c);
    return r;
}

const struct bj_endpoint bj_endpoints_page_jobs[] = {
    {.path = "/jobs",
     .methods = BJ_HTTP_GET,
     .needs = NEED,
     .run = on_jobs,
     .refused = bj_page_refuse,
     .to_root = "",
     .help = "Web page: jobs.",
     .type = "text/html",
     .params = JOBS},
    {.path = NULL},
};
