/* The page of a job. */
#include "apiserver/frame/page.h"
#include "apiserver/frame/room.h"
#include "apiserver/frame/state.h"
#include "apiserver/frame/widget.h"
#include "apiserver/job/curves.h"
#include "apiserver/job/job_name.h"
#include "apiserver/job/visible_job.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/jobs.h"
#include "apiserver/v1/parts.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "report/form/html.h"
#include "report/job/job.h"

#include <stdio.h>
#include <stdlib.h>

/* The page between the two parts of its endpoint. */
struct job_page {
    struct bj_visible_job f;
    struct bj_arena arena;
    struct bj_curves curves;
    struct bj_buf figures; /* rows of its report: what it holds and uses */
    struct bj_buf parts;   /* its tables of nodes and GPUs */
    struct bj_buf details; /* HTML of the end of the page */
    bool is_array_task;    /* the job is a task of an array */
    bool live;             /* reload the page at intervals */
    const char *no_curves; /* the reason if there are no charts; NULL: there are
                              charts */
};

static bool job_has_ended(const struct job_page *g)
{
    return g->f.end != BJ_SQL_NULL;
}

/* --- requested and used ----------------------------------------------------
 */

/* Append a value that the charts of a running job end with, if it is known. */
static void job_put_live(struct bj_buf *b, const struct job_page *g,
                         const char *title, const char *metric,
                         enum bj_page_form form, const char *unit)
{
    double v;
    if (job_has_ended(g) || !bj_curves_now(&g->curves, metric, &v))
        return;
    bj_buf_printf(b,
                  "<tr><th scope=\"row\">%s</th><td class=\"n\"></td>"
                  "<td class=\"n\">",
                  bj_local_escaped(title));
    bj_page_amount(b, form, v);
    bj_buf_printf(b, " %s</td><td></td><td class=\"note\"></td></tr>\n",
                  bj_local_escaped(unit));
}

/* --- the report ------------------------------------------------------------
 */

static void job_put_meter(struct bj_buf *b, enum bj_doc_judge judge,
                          int64_t ppm)
{
    static const enum bj_page_form forms[] = {
        [BJ_DOC_NOT_JUDGED] = BJ_SHOW_PART,
        [BJ_DOC_JUDGE_CPU] = BJ_SHOW_PERCENT,
        [BJ_DOC_JUDGE_MEMORY] = BJ_SHOW_MEMORY,
        [BJ_DOC_JUDGE_GPU] = BJ_SHOW_GPU,
        [BJ_DOC_JUDGE_TIME] = BJ_SHOW_TIME_USED};
    bj_page_amount(b, forms[judge], (double)ppm / 1e4);
}

static const struct bj_html_page job_html = {"../jobs?job=", job_put_meter};

static void job_uses(struct bj_buf *b, const struct job_page *g)
{
    bj_local_html(b, g->is_array_task
                         ? "<h2>{This task: requested and used}</h2>\n"
                         : "<h2>{Requested and used}</h2>\n");
    bj_widget_table(b, bj_local_escaped("Requested and used"), "uses");
    bj_buf_str(b, "<thead><tr><td></td><th scope=\"col\" class=\"n\">");
    /* a job that waits holds nothing */
    bj_local_html(b, g->f.start != BJ_SQL_NULL ? "{Held}" : "{Requested}");
    bj_local_html(b, "</th><th scope=\"col\" class=\"n\">{Used}</th><th "
                     "scope=\"col\">{Efficiency}</th><td></td></tr></thead>"
                     "<tbody>\n");
    bj_buf_slice(b, (struct bj_slice){g->figures.p, g->figures.len});
    b->failed |= g->figures.failed;
    job_put_live(b, g, "GPU memory", "gpu_memory_bytes", BJ_SHOW_BYTES, "now");
    job_put_live(b, g, "Power", "power_watts", BJ_SHOW_ROUND, "W now");
    bj_buf_str(b, "</tbody></table></div>\n");
}

/* --- the tasks of an array ------------------------------------------------*/

/* The array on the page of one of its tasks: how its tasks ended, what they
 * used, and a link to each. */
enum { TASKS = 300 /* maximum number of tasks with a link */ };

/* --- tasks ------------------------------------------------------------------
 */

/* The letter for a state, in addition to the colour; none: completed. */
static const char *job_letter_of(struct bj_slice state)
{
    static const struct {
        const char *state, *letter;
    } letters[] = {{"failed", "F"},    {"timeout", "T"},   {"oom", "M"},
                   {"cancelled", "C"}, {"running", "R"},   {"pending", "W"},
                   {"completed", ""},  {"node_fail", "F"}, {"boot_fail", "F"}};
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
        if (bj_slice_eq(state, bj_slice_str(letters[i].state)))
            return letters[i].letter;
    return "?";
}

struct job_tasks {
    struct bj_buf *b;
    unsigned n;
};

static void job_put_task(void *ctx, const struct bj_cells *row)
{
    struct job_tasks *t = ctx;
    const struct bj_cell *key = bj_cells_get(row, "key"),
                         *state = bj_cells_get(row, "state"),
                         *task = bj_cells_get(row, "array_task"),
                         *id = bj_cells_get(row, "display_id");
    if (bj_cell_is_empty(key) || bj_cell_is_empty(state))
        return;
    bj_buf_str(t->b, t->n++ == 0 ? "<p class=\"tasks\">" : "");
    bj_buf_str(t->b, "<a class=\"");
    bj_html_text(t->b, state->text);
    bj_buf_str(t->b, "\" href=\"");
    bj_url_text(t->b, key->text);
    bj_buf_str(t->b, "\" title=\"");
    bj_cell_text(t->b, id);
    bj_buf_str(t->b, ": ");
    bj_html_text(t->b, state->text);
    bj_buf_str(t->b, "\">");
    if (bj_cell_is_empty(task))
        bj_cell_text(t->b, id);
    else
        bj_cell_text(t->b, task);
    bj_buf_printf(t->b, "%s</a> ", job_letter_of(state->text));
}

static int job_put_tasks(struct bj_call *c, int64_t array,
                         struct bj_slice cluster)
{
    static const char *const fields[] = {"key", "state", "array_task",
                                         "display_id"};
    char id[24];
    struct bj_params p = {.values = 0};
    struct bj_jobs_end end = {0};
    struct job_tasks tasks = {.b = &c->reply->body};
    struct bj_cells cells = {.row = job_put_task, .ctx = &tasks};
    snprintf(id, sizeof(id), "%lld", (long long)array);
    int r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_JOB), BJ_SLICE("job"),
                          bj_slice_str(id));
    if (r == 0 && cluster.n > 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_CLUSTER), BJ_SLICE("cluster"),
                          cluster);
    for (size_t i = 0; r == 0 && i < sizeof(fields) / sizeof(fields[0]); i++)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          bj_slice_str(fields[i]));
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_ORDER), BJ_SLICE("order"),
                          BJ_SLICE("asc"));
    p.given[BJ_PARAM_LIMIT] = true;
    p.number[BJ_PARAM_LIMIT] = TASKS;
    if (r == 0)
        r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &cells}, &end);
    if (tasks.n > 0)
        bj_local_html(
            &c->reply->body,
            "</p>\n<p class=\"mute\">%s {By start. F: failed, T: time limit, "
            "M: out of memory, C: cancelled, R: running, W: waiting.}</p>\n",
            *end.next ? bj_local_escaped("The first tasks.") : "");
    c->reply->body.failed |= cells.text.failed;
    bj_cells_free(&cells);
    return r;
}

static int job_array(struct bj_call *c, const struct bj_report *r,
                     const struct bj_doc *d)
{
    struct bj_buf *b = &c->reply->body;
    const long long id = (long long)bj_report_number(r, BJ_REPORT_ARRAY);
    char n[BJ_AMOUNT_COUNT];
    if (r->array.tasks <= 1)
        return 0;
    bj_doc_html_section(d, BJ_DOC_ARRAY, &job_html, b);
    bj_local_html(b,
                  "<p><a href=\"../jobs?job=%lld\">{All %s tasks of array "
                  "%lld}</a></p>\n",
                  id, bj_amount_count(n, r->array.tasks), id);
    return job_put_tasks(c, (int64_t)id, bj_report_text(r, BJ_REPORT_CLUSTER));
}

/* --- the verdict -----------------------------------------------------------
 */

/* Append verdict, findings, advice and the array of the job's report.  0, a
 * refusal, or an error of the store. */
static int job_verdict(struct bj_call *c, struct job_page *g)
{
    struct bj_report report = {.interactive = false};
    struct bj_doc d = {.created_sec = 0};
    int r = bj_job_report(c, g->f.job, &report);
    if (r == 0) {
        bj_report_document(&report, &d);
        struct bj_buf *b = &c->reply->body;
        bj_doc_html_section(&d, BJ_DOC_VERDICT, &job_html, b);
        bj_buf_str(b, "<p class=\"sub screen\"><a href=\"../api/v1/jobs/");
        bj_url_text(b, bj_report_text(&report, BJ_REPORT_KEY));
        bj_local_html(b, "/report.pdf\">{Report as PDF}</a></p>\n");
        r = job_array(c, &report, &d);
    }
    g->is_array_task = report.array.tasks > 1;
    if (r == 0) {
        bj_doc_html_section(&d, BJ_DOC_NODES, &job_html, &g->parts);
        bj_doc_html_section(&d, BJ_DOC_GPUS, &job_html, &g->parts);
        bj_doc_html_section(&d, BJ_DOC_SAMPLED, &job_html, &g->parts);
    }
    if (r == 0)
        bj_doc_html_section(&d, BJ_DOC_HELD, &job_html, &g->figures);
    bj_doc_free(&d);
    bj_report_free(&report);
    return r;
}

/* The page of one job: the verdict first, then what it requested and used,
 * charts, steps, and the accounting. */

enum { ONE = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_LIVE) };

static void job_free_page(struct job_page *g)
{
    if (!g)
        return;
    bj_curves_free(&g->curves);
    bj_buf_free(&g->figures);
    bj_buf_free(&g->parts);
    bj_buf_free(&g->details);
    bj_arena_free(&g->arena);
    free(g);
}

/* --- the row of the job ----------------------------------------------------
 */

static const struct bj_page_column detail_columns[] = {
    {"state_raw", "State in the scheduler", BJ_SHOW_TEXT, false},
    {"reason", "Reason", BJ_SHOW_TEXT, false},
    {"exit_code", "Exit code", BJ_SHOW_NUMBER, false},
    {"exit_signal", "Signal", BJ_SHOW_NUMBER, false},
    {"submit", "Submitted", BJ_SHOW_TIME, false},
    {"eligible", "Eligible", BJ_SHOW_TIME, false},
    {"start", "Started", BJ_SHOW_TIME, false},
    {"end", "Ended", BJ_SHOW_TIME, false},
    {"wait_seconds", "Waited", BJ_SHOW_SECONDS, false},
    {"suspended_seconds", "Suspended", BJ_SHOW_SECONDS, false},
    {"restarts", "Restarts", BJ_SHOW_NUMBER, false},
    {"priority", "Priority", BJ_SHOW_NUMBER, false},
    {"qos", "QOS", BJ_SHOW_TEXT, false},
    {"nodes", "Nodes", BJ_SHOW_NUMBER, false},
    {"nodelist", "Node list", BJ_SHOW_TEXT, false},
    {"tasks", "Tasks", BJ_SHOW_NUMBER, false},
    {"gpu_model", "GPU model", BJ_SHOW_TEXT, false},
    {"tres_requested", "Resources requested", BJ_SHOW_TEXT, false},
    {"tres_allocated", "Resources allocated", BJ_SHOW_TEXT, false},
    {"measured_nodes", "Nodes measured", BJ_SHOW_NUMBER, false},
    {"energy_policy", "Energy attributed by", BJ_SHOW_TEXT, false},
    {"work_dir", "Working directory", BJ_SHOW_TEXT, false},
    {"submit_line", "Submit line", BJ_SHOW_TEXT, false},
    {"comment", "Comment", BJ_SHOW_TEXT, false},
    {"key", "Key", BJ_SHOW_TEXT, false},
    {NULL, NULL, 0, false},
};

/* Columns shown below the title. */
static const struct bj_page_column head_columns[] = {
    {"state", "State", BJ_SHOW_STATE, false},
    {"name", "Name", BJ_SHOW_TEXT, false},
    {"user", "User", BJ_SHOW_GROUP, false},
    {"account", "Account", BJ_SHOW_GROUP, false},
    {"partition", "Partition", BJ_SHOW_PARTITION, false},
    {"cluster", "Cluster", BJ_SHOW_CLUSTER, false},
    {NULL, NULL, 0, false},
};

static void job_put_title(struct bj_call *c, const struct bj_cells *row)
{
    struct bj_buf *b = &c->reply->body, title = {0};
    bj_local_put(&title, "{Job} ");
    bj_cell_text(&title, bj_cells_get(row, "display_id"));
    bj_buf_put(&title, "", 1);
    b->failed |= title.failed;
    bj_page_open(c, title.failed ? "" : title.p, "../");
    bj_buf_free(&title);
    bj_page_list(b, head_columns, row, "");
}

struct job_filling {
    struct bj_call *c;
    struct job_page *g;
};

static void job_take_row(void *ctx, const struct bj_cells *row)
{
    struct job_filling *f = ctx;
    struct job_page *g = f->g;
    job_put_title(f->c, row);
    bj_local_html(&g->details, "<h2>{Accounting}</h2>\n");
    bj_page_list(&g->details, detail_columns, row, "No values found.");
}

/* --- the page --------------------------------------------------------------
 */

static const struct bj_page_column step_columns[] = {
    {"step", "Step", BJ_SHOW_TEXT, false},
    {"name", "Name", BJ_SHOW_TEXT, false},
    {"state", "State", BJ_SHOW_STATE, false},
    {"start", "Started", BJ_SHOW_TIME, false},
    {"elapsed_seconds", "Elapsed", BJ_SHOW_SECONDS, false},
    {"cpus", "CPUs", BJ_SHOW_NUMBER, false},
    {"nodes", "Nodes", BJ_SHOW_NUMBER, false},
    {"cpu_efficiency_percent", "CPU efficiency", BJ_SHOW_PERCENT, false},
    {"memory_task_peak_bytes", "Memory of the largest task", BJ_SHOW_BYTES,
     false},
    {NULL, NULL, 0, false},
};

/* Insert the steps before the details. */
static int job_put_steps(struct bj_call *c, struct job_page *g)
{
    struct bj_page_table table;
    struct bj_buf steps = {0};
    bj_local_html(&steps, "<h2>{Steps}</h2>\n");
    bj_page_table_begin(&table, &steps, step_columns, "../");
    int r = bj_parts_rows(c, BJ_PART_STEPS, g->f.job,
                          &(struct bj_output){.cells = &table.cells});
    bj_page_table_end(&table, "No steps found.");
    bj_buf_slice(&steps, (struct bj_slice){g->details.p, g->details.len});
    steps.failed |= g->details.failed;
    bj_buf_free(&g->details);
    g->details = steps;
    return r;
}

static void job_put_curves(struct bj_buf *b, const struct job_page *g)
{
    bj_local_html_str(b, "<section class=\"card\" data-zoom><div "
                         "class=\"bar-head\"><h2>{Over time}</h2></div>\n");
    if (g->f.start == BJ_SQL_NULL)
        bj_local_html(b, "<p class=\"none\">{The job has not started.}</p>\n");
    else if (g->no_curves)
        bj_buf_printf(b, "<p class=\"none\">%s</p>\n",
                      bj_local_escaped(g->no_curves));
    else
        bj_curves_put(b, &g->curves);
    bj_buf_str(b, "</section>\n");
}

/* Append the page below the verdict. */
static void job_put_lower(struct bj_call *c, struct job_page *g)
{
    struct bj_buf *b = &c->reply->body;
    job_uses(b, g);
    bj_buf_slice(b, (struct bj_slice){g->parts.p, g->parts.len});
    b->failed |= g->parts.failed;
    job_put_curves(b, g);
    bj_buf_slice(b, (struct bj_slice){g->details.p, g->details.len});
    b->failed |= g->details.failed;
    bj_local_html(b, "<p class=\"screen\">{Data:} <a href=\"../api/v1/jobs/");
    bj_url_text(b, g->f.key);
    bj_local_html(b, "\">{all fields (JSON)}</a>");
    if (!g->no_curves && g->f.start != BJ_SQL_NULL) {
        bj_buf_str(b, ", <a href=\"../api/v1/jobs/");
        bj_url_text(b, g->f.key);
        bj_local_html(b, "/series\">{time series (JSON)}</a>");
    }
    bj_buf_str(b, "</p>\n<form action=\"../compare\"><input type=\"hidden\" "
                  "name=\"job\" value=\"");
    bj_html_text(b, g->f.key);
    bj_local_html(b,
                  "\"><label>{Compare with job}<input name=\"job\" "
                  "type=\"text\"></label><button>{Compare}</button></form>\n");
    bj_page_close(c);
}

static void job_put_refresh(struct bj_call *c, const struct job_page *g)
{
    struct bj_buf *b = &c->reply->body;
    if (job_has_ended(g))
        return;
    if (g->live)
        bj_call_header(c, "Refresh", "60");
    bj_buf_printf(
        b,
        "<p class=\"sub screen\">%s <a href=\"?live=%s\">%s</a></p>"
        "\n",
        g->live ? bj_local_escaped("This page reloads every minute.") : "",
        g->live ? "false" : "true",
        bj_local_escaped(g->live ? "Stop reloading." : "Reload every minute."));
}

static int job_put_field(struct bj_call *c, struct bj_params *p,
                         const char *key)
{
    return bj_params_put(c, p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                         bj_slice_str(key));
}

static int job_request_row(struct bj_call *c, struct bj_params *p,
                           const struct job_page *g)
{
    int r =
        bj_params_put(c, p, BJ_BIT(BJ_PARAM_JOB), BJ_SLICE("job"), g->f.key);
    if (r == 0)
        r = bj_page_fields(c, p, head_columns);
    if (r == 0)
        r = bj_page_fields(c, p, detail_columns);
    return r == 0 ? job_put_field(c, p, "display_id") : r;
}

static int job_read_row(struct bj_call *c, struct bj_params *p,
                        struct job_page *g)
{
    struct bj_jobs_end end;
    struct job_filling filling = {c, g};
    struct bj_cells cells = {.row = job_take_row, .ctx = &filling};
    int r = job_request_row(c, p, g);
    if (r == 0)
        r = bj_jobs_list(c, p, &(struct bj_output){.cells = &cells}, &end);
    if (r == 0 && cells.text.failed)
        r = bj_err_set(&c->err, -ENOMEM, "page");
    bj_cells_free(&cells);
    return r;
}

/* Make the page without the data from Prometheus. */
static int job_make_page(struct bj_call *c, struct job_page *g)
{
    struct bj_params p;
    int r = bj_params_read(c, ONE, &p);
    if (r == 0)
        r = bj_visible_job_find(c, &p, c->tail, &g->arena, &g->f);
    g->live = !p.given[BJ_PARAM_LIVE] || p.number[BJ_PARAM_LIVE];
    if (r == 0)
        r = job_read_row(c, &p, g);
    if (r == 0)
        r = job_verdict(c, g);
    if (r == 0)
        r = job_put_steps(c, g);
    if (r != 0)
        return r;
    job_put_refresh(c, g);
    if (!c->worker->prom)
        g->no_curves = "No Prometheus server is configured, so there are no "
                       "charts.";
    else if (!bj_room_has_waiter(c->worker->server))
        g->no_curves = "Prometheus is busy, so there are no charts now; reload "
                       "the page to try again.";
    g->curves.running = !job_has_ended(g);
    return g->no_curves || g->f.start == BJ_SQL_NULL
               ? 0
               : bj_curves_prepare(c, &g->f, &g->curves);
}

/* If several jobs have this id, list them. */
static int job_put_choice(struct bj_call *c)
{
    static const struct bj_page_column columns[] = {
        {"display_id", "Job", BJ_SHOW_JOB, false},
        {"cluster", "Cluster", BJ_SHOW_TEXT, false},
        {"state", "State", BJ_SHOW_STATE, false},
        {"name", "Name", BJ_SHOW_TEXT, false},
        {"user", "User", BJ_SHOW_TEXT, false},
        {"submit", "Submitted", BJ_SHOW_TIME, false},
        {"start", "Started", BJ_SHOW_TIME, false},
        {"elapsed_seconds", "Elapsed", BJ_SHOW_SECONDS, false},
        {NULL, NULL, 0, false},
    };
    struct bj_params p;
    struct bj_jobs_end end;
    struct bj_page_table table;
    int r = bj_params_read(c, ONE, &p);
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_JOB), BJ_SLICE("job"),
                          c->tail);
    if (r == 0)
        r = bj_page_fields(c, &p, columns);
    if (r != 0)
        return r;
    c->reply->status = 300;
    c->reply->body.len = 0;
    bj_page_open(c, bj_local("Several jobs have this id"), "../");
    bj_local_html(&c->reply->body,
                  "<p>{Ids repeat after some time, and clusters may use the "
                  "same ones. Select one:}</p>\n");
    bj_page_table_begin(&table, &c->reply->body, columns, "../");
    r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &table.cells}, &end);
    bj_page_table_end(&table, "No job found with this id.");
    bj_page_close(c);
    return r;
}

static int on_one(struct bj_call *c)
{
    struct job_page *g = calloc(1, sizeof(*g));
    if (!g)
        return bj_err_set(&c->err, -ENOMEM, "page");
    int r = job_make_page(c, g);
    if (r == 409)
        r = job_put_choice(c);
    else if (r == 0 && g->curves.work[BJ_SERIES_JOB]) {
        c->work = g;
        return 0;
    } else if (r == 0) {
        job_put_lower(c, g);
    }
    job_free_page(g);
    return r;
}

static int after_job(struct bj_call *c)
{
    struct job_page *g = c->work;
    struct bj_server *server = g->curves.work[BJ_SERIES_JOB]->server;
    int r = 0;
    c->work = NULL;
    bj_curves_query(c, &g->curves);
    if (bj_room_take_later(server)) {
        job_put_lower(c, g);
        bj_room_give_later(server);
    } else {
        bj_call_header(c, "Retry-After", "1");
        r = bj_call_refuse(c, 503,
                           "Too many responses are being sent; try again.");
    }
    job_free_page(g);
    return r;
}

const struct bj_endpoint bj_endpoints_page_job[] = {
    {.path = "/jobs/*",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_one,
     .after = after_job,
     .refused = bj_page_refuse,
     .to_root = "../",
     .help = "Web page: one job.",
     .type = "text/html",
     .params = ONE},
    {.path = NULL},
};
