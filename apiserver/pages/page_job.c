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
#include "report/model/show.h"
#include "sched/hostlist.h"

#include <stdio.h>
#include <stdlib.h>

/* The page between the two parts of its endpoint. */
struct job_page {
    struct bj_visible_job f;
    struct bj_arena arena;
    struct bj_curves curves;
    struct bj_buf parts;   /* its tables of nodes, GPUs and what they used */
    struct bj_buf details; /* HTML of the end of the page */
    bool live;             /* reload the page at intervals */
    bool is_oom;           /* it ended because it ran out of memory */
    const char *no_curves; /* the reason if there are no charts; NULL: there are
                              charts */
};

static bool job_has_ended(const struct job_page *g)
{
    return g->f.end != BJ_SQL_NULL;
}

/* --- parts of the report ---------------------------------------------------
 */

static void job_put_meter(struct bj_buf *b, enum bj_doc_judge judge,
                          int64_t ppm)
{
    static const enum bj_form forms[] = {[BJ_DOC_NOT_JUDGED] = BJ_SHOW_PART,
                                         [BJ_DOC_JUDGE_CPU] = BJ_SHOW_PERCENT,
                                         [BJ_DOC_JUDGE_MEMORY] = BJ_SHOW_MEMORY,
                                         [BJ_DOC_JUDGE_GPU] = BJ_SHOW_GPU,
                                         [BJ_DOC_JUDGE_TIME] =
                                             BJ_SHOW_TIME_USED};
    bj_page_amount(b, forms[judge], (double)ppm / 1e4);
}

/* A level that is not known has no mark. */
static void job_put_mark(struct bj_buf *b, struct bj_slice severity)
{
    const enum bj_look look = bj_look_of_severity(severity);
    if (look != BJ_LOOK_NONE)
        bj_widget_severity(b, look);
}

static const struct bj_html_page job_html = {"../jobs?job=", "../nodes/",
                                             job_put_meter, job_put_mark};

/* Append a section of the report as a card, if it has rows. */
static void job_put_card(struct bj_buf *b, const struct bj_doc *d,
                         enum bj_doc_name name)
{
    if (d->section[name].rows == 0)
        return;
    bj_buf_str(b, "<section class=\"card\">");
    bj_doc_html_section(d, name, &job_html, b);
    bj_buf_str(b, "</section>\n");
}

/* Append what was used, and how that is known. */
static void job_put_figures(struct bj_buf *b, const struct bj_doc *d)
{
    if (d->section[BJ_DOC_HELD].rows == 0)
        return;
    bj_widget_card(b, "Resources used", NULL, NULL);
    bj_widget_table(b, bj_local_escaped("Resources used"), "dense", false);
    bj_local_html_str(
        b, "<thead><tr><td></td><th scope=\"col\" class=\"n\">{Held}</th><th "
           "scope=\"col\" class=\"n\">{Used}</th><th scope=\"col\">"
           "{Efficiency}</th><th scope=\"col\">{Source}</th></tr></thead>"
           "<tbody>\n");
    bj_doc_html_section(d, BJ_DOC_HELD, &job_html, b);
    bj_widget_table_end(b);
    bj_widget_card_end(b);
}

/* Append a value that the charts of a running job end with, if it is known. */
static void job_put_live(struct bj_buf *b, const struct job_page *g,
                         const char *title, const char *metric,
                         enum bj_form form, const char *unit)
{
    double v;
    if (!bj_curves_now(&g->curves, metric, &v))
        return;
    bj_buf_printf(b, "<div><dt>%s</dt><dd>", bj_local_escaped(title));
    bj_page_amount(b, form, v);
    bj_buf_printf(b, " %s</dd></div>\n", bj_local_escaped(unit));
}

/* --- the verdict -----------------------------------------------------------
 */

/* Append the verdict with findings and advice, beside what was requested and
 * used. */
static void job_put_answer(struct bj_buf *b, const struct bj_report *r,
                           const struct bj_doc *d)
{
    bj_buf_str(b, "<div class=\"cols two\" id=\"answer\" data-live-part>\n");
    bj_doc_html_section(d, BJ_DOC_VERDICT, &job_html, b);
    if (d->section[BJ_DOC_REQUEST].rows > 0) {
        bj_widget_card(b,
                       r->array.tasks > 1 ? "This task: requested and used"
                       : bj_report_number(r, BJ_REPORT_START) == BJ_SQL_NULL
                           ? "Requested"
                           : "Requested and used",
                       NULL, NULL);
        bj_doc_html_section(d, BJ_DOC_REQUEST, &job_html, b);
        bj_widget_card_end(b);
    }
    bj_buf_str(b, "</div>\n");
}

/* Append verdict, request and array of the job's report, and keep its tables
 * for later.  0, a refusal, or an error of the store. */
static int job_verdict(struct bj_call *c, struct job_page *g)
{
    struct bj_report report = {.interactive = false};
    struct bj_doc d = {.created_sec = 0};
    int r = bj_job_report(c, g->f.job, &report);
    if (r == 0) {
        bj_report_document(&report, &d);
        job_put_answer(&c->reply->body, &report, &d);
        r = bj_page_array(c, &report, &d, &job_html);
    }
    if (r == 0) {
        job_put_card(&g->parts, &d, BJ_DOC_NODES);
        job_put_card(&g->parts, &d, BJ_DOC_GPUS);
        bj_doc_html_section(&d, BJ_DOC_SAMPLED, &job_html, &g->parts);
        job_put_figures(&g->parts, &d);
    }
    bj_doc_free(&d);
    bj_report_free(&report);
    return r;
}

/* The page of one job: the verdict first, then what it requested and used,
 * charts, nodes and GPUs, steps, and the accounting. */

enum { ONE = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_LIVE) };

static void job_free_page(struct job_page *g)
{
    if (!g)
        return;
    bj_curves_free(&g->curves);
    bj_buf_free(&g->parts);
    bj_buf_free(&g->details);
    bj_arena_free(&g->arena);
    free(g);
}

/* --- the row of the job ----------------------------------------------------
 */

static const char *const detail_columns[] = {"state_raw",
                                             "reason",
                                             "exit_code",
                                             "exit_signal",
                                             "submit",
                                             "eligible",
                                             "start",
                                             "end",
                                             "wait_seconds",
                                             "suspended_seconds",
                                             "restarts",
                                             "priority",
                                             "qos",
                                             "nodes",
                                             "nodelist",
                                             "tasks",
                                             "gpu_model",
                                             "tres_requested",
                                             "tres_allocated",
                                             "measured_nodes",
                                             "energy_policy",
                                             "work_dir",
                                             "submit_line",
                                             "comment",
                                             "key",
                                             NULL};

/* Columns shown with the title. */
static const char *const title_fields[] = {"display_id",
                                           "name",
                                           "state",
                                           "user",
                                           "account",
                                           "partition",
                                           "cluster",
                                           "nodes",
                                           "cpus",
                                           "gpus",
                                           "gpu_model",
                                           "memory_allocated_bytes",
                                           "nodelist",
                                           "start",
                                           "end",
                                           "submit",
                                           "elapsed_seconds",
                                           "time_limit_seconds",
                                           "wait_seconds"};

static struct bj_slice job_text_of(const struct bj_cells *row, const char *key)
{
    const struct bj_cell *v = bj_cells_get(row, key);
    return bj_cell_is_empty(v) ? (struct bj_slice){0} : v->text;
}

/* Append a word and a link to a page of that name. */
static void job_put_of(struct bj_buf *b, const char *word, const char *path,
                       struct bj_slice name)
{
    if (name.n == 0)
        return;
    bj_buf_printf(b, "<span>%s <a href=\"../%s", bj_local_escaped(word), path);
    bj_url_text(b, name);
    bj_buf_str(b, "\"><bdi>");
    bj_html_text(b, name);
    bj_buf_str(b, "</bdi></a></span>");
}

/* "2 nodes: g001, g002", with links */
static void job_put_hosts(struct bj_buf *b, const struct bj_cells *row)
{
    enum { HOSTS = 6 };
    const int64_t nodes = bj_page_whole(row, "nodes");
    struct bj_hostlist l;
    struct bj_slice name;
    char n[BJ_AMOUNT_COUNT];
    if (nodes <= 0)
        return;
    bj_local_html(b, nodes == 1 ? "<span>{%s node}" : "<span>{%s nodes}",
                  bj_amount_count(n, nodes));
    if (bj_hostlist_begin(&l, job_text_of(row, "nodelist"), BJ_HOSTS_SLURM) ==
        0) {
        unsigned i = 0;
        for (; i < HOSTS && bj_hostlist_next(&l, &name); i++) {
            bj_buf_str(b,
                       i ? ", <a href=\"../nodes/" : ": <a href=\"../nodes/");
            bj_url_text(b, name);
            bj_buf_str(b, "\"><bdi>");
            bj_html_text(b, name);
            bj_buf_str(b, "</bdi></a>");
        }
        if (nodes > HOSTS && i == HOSTS)
            bj_local_html(b, " {and %s more}",
                          bj_amount_count(n, nodes - HOSTS));
    }
    bj_buf_str(b, "</span>");
}

/* "64 CPUs, 8 GPUs (A100), 512 GiB" */
static void job_put_size(struct bj_buf *b, const struct bj_cells *row)
{
    const int64_t cpus = bj_page_whole(row, "cpus"),
                  gpus = bj_page_whole(row, "gpus"),
                  memory = bj_page_whole(row, "memory_allocated_bytes");
    const struct bj_slice model = job_text_of(row, "gpu_model");
    const char *before = "<span>";
    char n[BJ_AMOUNT_COUNT];
    if (cpus > 0) {
        bj_buf_str(b, before);
        bj_local_html(b, cpus == 1 ? "{%s CPU}" : "{%s CPUs}",
                      bj_amount_count(n, cpus));
        before = ", ";
    }
    if (gpus > 0) {
        bj_buf_str(b, before);
        bj_local_html(b, gpus == 1 ? "{%s GPU}" : "{%s GPUs}",
                      bj_amount_count(n, gpus));
        bj_buf_str(b, model.n > 0 ? " (" : "");
        bj_html_text(b, model);
        bj_buf_str(b, model.n > 0 ? ")" : "");
        before = ", ";
    }
    if (memory > 0) {
        bj_buf_str(b, before);
        bj_show_bytes(b, memory);
        before = ", ";
    }
    bj_buf_str(b, *before == ',' ? "</span>" : "");
}

static void job_put_span(struct bj_buf *b, const char *word, int64_t sec,
                         int64_t of)
{
    if (sec == BJ_SQL_NULL)
        return;
    bj_buf_printf(b, "<span>%s ", bj_local_escaped(word));
    bj_show_seconds(b, sec);
    if (of != BJ_SQL_NULL) {
        bj_local_html_str(b, " {of} ");
        bj_show_seconds(b, of);
    }
    bj_buf_str(b, "</span>");
}

static void job_put_when(struct bj_buf *b, const char *word,
                         const struct bj_cells *row, const char *key)
{
    const struct bj_cell *v = bj_cells_get(row, key);
    if (bj_cell_is_empty(v) || v->kind != BJ_CELL_TIME)
        return;
    bj_buf_printf(b, "<span>%s ", bj_local_escaped(word));
    bj_page_time(b, v->number);
    bj_buf_str(b, "</span>");
}

/* Who ran it, where, how large and when. */
static void job_put_meta(struct bj_buf *b, const struct job_page *g,
                         const struct bj_cells *row)
{
    bj_buf_str(b, "<p class=\"meta\">");
    job_put_of(b, "User", "users/", job_text_of(row, "user"));
    job_put_of(b, "Account", "accounts/", job_text_of(row, "account"));
    job_put_of(b, "Partition",
               "jobs?partition=", job_text_of(row, "partition"));
    job_put_of(b, "Cluster", "jobs?cluster=", job_text_of(row, "cluster"));
    job_put_hosts(b, row);
    job_put_size(b, row);
    bj_buf_str(b, "</p><p class=\"meta small\">");
    if (g->f.start == BJ_SQL_NULL)
        job_put_when(b, "Submitted", row, "submit");
    job_put_when(b, "Started", row, "start");
    job_put_when(b, "Ended", row, "end");
    job_put_span(b, job_has_ended(g) ? "Ran" : "Has run",
                 bj_page_whole(row, "elapsed_seconds"),
                 bj_page_whole(row, "time_limit_seconds"));
    job_put_span(b, "Waited", bj_page_whole(row, "wait_seconds"), BJ_SQL_NULL);
    bj_buf_str(b, "</p>");
}

/* May the user read the batch script of the job here? */
static bool job_has_script(const struct bj_call *c, const struct job_page *g)
{
    const struct bj_api_conf *conf = c->worker->conf;
    return bj_api_conf_scripts(conf) &&
           (c->identity.admin ||
            bj_slice_eq(g->f.user, bj_slice_str(c->identity.user)));
}

/* Links to other forms of the page, and to similar jobs. */
static void job_put_acts(struct bj_buf *b, const struct job_page *g,
                         struct bj_slice name, bool script)
{
    bj_buf_str(b,
               "<div class=\"acts\"><a class=\"btn\" href=\"../api/v1/jobs/");
    bj_url_text(b, g->f.key);
    bj_local_html_str(b, "/report.pdf\">{PDF}</a><a class=\"btn\" "
                         "href=\"../compare?job=");
    bj_url_text(b, g->f.key);
    bj_local_html_str(b, "\">{Compare}</a>");
    if (name.n > 0) {
        bj_buf_str(b, "<a class=\"btn\" href=\"../jobs?name=");
        bj_url_text(b, name);
        bj_local_html_str(b, "\">{Same name}</a>");
    }
    bj_buf_str(b, "<a class=\"btn\" href=\"../api/v1/jobs/");
    bj_url_text(b, g->f.key);
    bj_local_html_str(b, "\">{Data}</a>");
    if (script) {
        bj_buf_str(b, "<a class=\"btn\" href=\"../api/v1/jobs/");
        bj_url_text(b, g->f.key);
        bj_local_html_str(b, "/script\">{Batch script}</a>");
    }
    bj_buf_str(b, "</div>");
}

static void job_put_title(struct bj_call *c, const struct job_page *g,
                          const struct bj_cells *row)
{
    enum { LIVE_SEC = 30 };
    const bool live = g->live && !job_has_ended(g);
    const struct bj_slice name = bj_slice_trim(job_text_of(row, "name"));
    struct bj_buf *b = &c->reply->body, id = {0}, title = {0};
    bj_local_put(&id, "{Job} ");
    bj_cell_text(&id, bj_cells_get(row, "display_id"));
    bj_buf_slice(&title, (struct bj_slice){id.p, id.len});
    bj_buf_str(&title, name.n > 0 ? ", " : "");
    bj_buf_slice(&title, name);
    bj_buf_put(&title, "", 1);
    b->failed |= id.failed | title.failed;
    bj_page_frame(c, title.failed ? "" : title.p, "../", live ? LIVE_SEC : 0);
    bj_buf_str(b, "<div class=\"head\"><div><h1>");
    if (name.n > 0) {
        bj_buf_str(b, "<bdi>");
        bj_html_text(b, name);
        bj_buf_str(b, "</bdi> <small>");
    }
    bj_html_text(b, (struct bj_slice){id.p, id.len});
    bj_buf_str(b, name.n > 0 ? "</small> " : " ");
    bj_widget_state(b, job_text_of(row, "state"));
    bj_buf_str(b, "</h1>");
    job_put_meta(b, g, row);
    if (!job_has_ended(g))
        bj_buf_printf(b,
                      "<p class=\"sub screen\"><span data-live-ctl>%s <a "
                      "href=\"?live=%s\">%s</a></span></p>",
                      g->live ? bj_local_escaped("This page reloads every "
                                                 "minute.")
                              : "",
                      g->live ? "false" : "true",
                      bj_local_escaped(g->live ? "Stop reloading."
                                               : "Reload every minute."));
    bj_buf_str(b, "</div>");
    job_put_acts(b, g, name, job_has_script(c, g));
    bj_buf_str(b, "</div>\n");
    bj_buf_free(&id);
    bj_buf_free(&title);
}

struct job_filling {
    struct bj_call *c;
    struct job_page *g;
};

static void job_take_row(void *ctx, const struct bj_cells *row)
{
    struct job_filling *f = ctx;
    struct job_page *g = f->g;
    g->is_oom = bj_slice_eq(job_text_of(row, "state"), BJ_SLICE("oom"));
    job_put_title(f->c, g, row);
    bj_widget_card(&g->details, "Accounting", NULL, NULL);
    bj_page_list(&g->details, detail_columns, row, "No values found.");
    bj_widget_card_end(&g->details);
}

/* --- the page --------------------------------------------------------------
 */

static const char *const step_columns[] = {"step",
                                           "name",
                                           "state",
                                           "start",
                                           "elapsed_seconds",
                                           "cpus",
                                           "nodes",
                                           "cpu_efficiency_percent",
                                           "memory_task_peak_bytes",
                                           NULL};

/* Mark the time of the curves when something happened. */
static void job_mark(struct job_page *g, int64_t at, struct bj_slice text,
                     bool bad)
{
    struct bj_curves *k = &g->curves;
    const struct bj_slice copy = bj_arena_copy(&g->arena, text);
    if (k->marks < BJ_CHART_MARKS && copy.p)
        k->mark[k->marks++] =
            (struct bj_chart_mark){.at = at, .text = copy.p, .bad = bad};
}

struct job_steps {
    struct job_page *g;
    struct bj_page_table *table;
    void (*take)(void *table, const struct bj_cells *row);
    unsigned marked;
    bool oom; /* one ran out of memory */
};

/* Append a step; one that began later than the job, or ran out of memory, is
 * marked in the curves. */
static void job_take_step(void *ctx, const struct bj_cells *row)
{
    enum { STEPS_MARKED = 6, LATER_SEC = 60 };
    struct job_steps *s = ctx;
    struct job_page *g = s->g;
    const struct bj_cell *start = bj_cells_get(row, "start");
    const struct bj_slice step = job_text_of(row, "step");
    const int64_t elapsed = bj_page_whole(row, "elapsed_seconds");
    s->take(s->table, row);
    if (bj_cell_is_empty(start) || start->kind != BJ_CELL_TIME || step.n == 0)
        return;
    if (bj_slice_eq(job_text_of(row, "state"), BJ_SLICE("oom")) &&
        elapsed != BJ_SQL_NULL) {
        job_mark(g, start->number + elapsed,
                 bj_slice_str(bj_local("out of memory")), true);
        s->oom = true;
    }
    if (step.p[0] < '0' || step.p[0] > '9' || s->marked == STEPS_MARKED ||
        start->number < g->f.start + LATER_SEC)
        return;
    struct bj_buf text = {0};
    bj_local_str(&text, "{step} ");
    bj_buf_clean(&text, step);
    if (!text.failed)
        job_mark(g, start->number, (struct bj_slice){text.p, text.len}, false);
    bj_buf_free(&text);
    s->marked++;
}

/* Insert the steps before the details. */
static int job_put_steps(struct bj_call *c, struct job_page *g)
{
    struct job_steps s = {.g = g};
    struct bj_page_table table;
    struct bj_buf steps = {0};
    bj_widget_card(&steps, "Steps", NULL, NULL);
    bj_page_table_begin(&table, &steps, bj_step_columns, step_columns, "../");
    s.table = &table;
    s.take = table.cells.row;
    table.cells.row = job_take_step;
    table.cells.ctx = &s;
    int r = bj_parts_rows(c, BJ_PART_STEPS, g->f.job,
                          &(struct bj_output){.cells = &table.cells});
    bj_page_table_end(&table, "No steps found.");
    if (g->is_oom && !s.oom && job_has_ended(g))
        job_mark(g, g->f.end, bj_slice_str(bj_local("out of memory")), true);
    bj_widget_card_end(&steps);
    bj_buf_slice(&steps, (struct bj_slice){g->details.p, g->details.len});
    steps.failed |= g->details.failed;
    bj_buf_free(&g->details);
    g->details = steps;
    return r;
}

static void job_put_curves(struct bj_buf *b, const struct job_page *g)
{
    bj_local_html_str(b, "<section class=\"card\" id=\"curves\" data-live-part "
                         "data-zoom><div class=\"bar-head\"><h2>{Over time}"
                         "</h2></div>\n");
    if (!job_has_ended(g) && g->f.start != BJ_SQL_NULL && !g->no_curves) {
        bj_buf_str(b, "<dl class=\"facts\">");
        if (g->f.gpus > 0)
            job_put_live(b, g, "GPU memory now", "gpu_memory_bytes",
                         BJ_SHOW_BYTES, "");
        job_put_live(b, g, "Power now", "power_watts", BJ_SHOW_ROUND, "W");
        bj_buf_str(b, "</dl>\n");
    }
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
    job_put_curves(b, g);
    bj_buf_slice(b, (struct bj_slice){g->parts.p, g->parts.len});
    bj_buf_slice(b, (struct bj_slice){g->details.p, g->details.len});
    b->failed |= g->parts.failed | g->details.failed;
    bj_local_html(b, "<section class=\"card screen\"><p>{Data:} <a "
                     "href=\"../api/v1/jobs/");
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
    bj_local_html(b, "\"><label>{Compare with job}<input name=\"job\" "
                     "type=\"text\"></label><button>{Compare}</button></form>"
                     "</section>\n");
    bj_page_close(c);
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
        r = bj_page_fields(c, p, detail_columns);
    for (size_t i = 0;
         r == 0 && i < sizeof(title_fields) / sizeof(title_fields[0]); i++)
        r = job_put_field(c, p, title_fields[i]);
    return r;
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
    static const char *const columns[] = {
        "display_id", "cluster", "state",           "name", "user",
        "submit",     "start",   "elapsed_seconds", NULL};
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
    bj_buf_reset(&c->reply->body);
    bj_page_open(c, bj_local("Several jobs have this id"), "../");
    bj_local_html(&c->reply->body,
                  "<p>{Ids repeat after some time, and clusters may use the "
                  "same ones. Select one:}</p>\n");
    bj_page_table_begin(&table, &c->reply->body, bj_job_columns, columns,
                        "../");
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
