/* The start page: what needs the user now, what to change, and the user's jobs;
 * for admins what the cluster loses, nodes out of service, and whether the data
 * is complete. */
#include "apiserver/frame/state.h"
#include "apiserver/frame/widget.h"
#include "apiserver/job/visible_job.h"
#include "apiserver/pages/nodes.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/findings.h"
#include "apiserver/v1/jobs.h"
#include "apiserver/v1/storage.h"
#include "apiserver/v1/usage.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "report/model/reason.h"
#include "report/model/show.h"
#include "sched/state.h"
#include "statsdb/job/change.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEED = BJ_NEED_STORE | BJ_NEED_USER,
    MASK = BJ_BIT(BJ_PARAM_MINE),
    DAY = 86400,
    DAYS = 7,
    YEAR = 365,
    FEW = 5,
    SHOWN = 8,
    LOSING = 10,
    THREE = 3,
    MONTH_DAYS = 31,
    POINTS = 2, /* values of nodes, the newest of which count */
    STEP = 60,
    LATE_SEC = 3600 /* accounting that is older is late */
};

static bool home_known(double v)
{
    return v - v == 0;
}

/* --- one row of numbers ----------------------------------------------------*/

/* Numbers of the last row of a list; NaN: not known. */
struct home_row {
    const char *const *key; /* ends with NULL */
    double number[8];
    char currency[BJ_CURRENCY_MAX + 1];
};

static void home_take(void *ctx, const struct bj_cells *row)
{
    struct home_row *r = ctx;
    const struct bj_cell *currency = bj_cells_get(row, "currency");
    for (unsigned i = 0; r->key[i]; i++) {
        const struct bj_cell *v = bj_cells_get(row, r->key[i]);
        r->number[i] = __builtin_nan("");
        if (bj_cell_is_empty(v) || v->kind != BJ_CELL_NUMBER)
            continue;
        r->number[i] = (double)v->number;
        for (unsigned d = 0; d < v->digits; d++)
            r->number[i] /= 10;
    }
    r->currency[0] = '\0';
    if (!bj_cell_is_empty(currency))
        snprintf(r->currency, sizeof(r->currency), "%.*s",
                 (int)currency->text.n, currency->text.p);
}

/* Append an amount, or a dash. */
static void home_amount(struct bj_buf *b, double v)
{
    if (home_known(v))
        bj_amount(b, BJ_AMOUNT_PLAIN, v);
    else
        bj_buf_str(b, "–");
}

/* An amount as text, for formats. */
struct home_text {
    char text[BJ_AMOUNT_COUNT];
};

static struct home_text home_text(double v)
{
    struct home_text ret;
    struct bj_buf b = {0};
    home_amount(&b, v);
    snprintf(ret.text, sizeof(ret.text), "%.*s", b.failed ? 0 : (int)b.len,
             b.p ? b.p : "");
    bj_buf_free(&b);
    return ret;
}

/* --- figures ---------------------------------------------------------------*/

/* Jobs that have not ended, of the user or of all. */
struct home_open {
    int64_t running, cpus, gpus, pending, final;
};

static int home_read_open(struct bj_call *c, bool mine, struct home_open *ret)
{
    struct bj_query q = {0};
    struct bj_st *st = NULL;
    bj_query_sql(&q,
                 "SELECT j.state AS state, count(*) AS jobs, sum(j.cpus) AS "
                 "cpus, sum(j.gpus) AS gpus, (SELECT text FROM word "
                 "WHERE id = j.reason) AS why FROM "
                 "job AS j "
                 "WHERE j.\"end\" IS NULL AND j.state IN (1, 2)");
    int r = bj_query_visible(&q, c, mine, "j");
    bj_query_sql(&q, " GROUP BY j.state, j.reason");
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        const int64_t n = bj_st_i64(st, "jobs");
        const bool runs = bj_st_i64(st, "state") == BJ_STATE_RUNNING;
        const int64_t cpus = bj_st_i64(st, "cpus");
        const int64_t gpus = bj_st_i64(st, "gpus");
        r = 0;
        ret->running += runs ? n : 0;
        ret->pending += runs ? 0 : n;
        if (runs && cpus != BJ_SQL_NULL)
            ret->cpus += cpus;
        if (runs && gpus != BJ_SQL_NULL)
            ret->gpus += gpus;
        if (!runs && bj_reason_is_final(bj_st_text(st, "why")))
            ret->final += n;
    }
    bj_query_free(&q);
    return r;
}

static void home_put_open(struct bj_buf *b, const struct home_open *o)
{
    char n[4][BJ_AMOUNT_COUNT];
    bj_local_html(b,
                  "<dl class=\"card stats\"><div><dt>{Running}</dt><dd>%s <div "
                  "class=\"sub\">{%s CPUs, %s GPUs}</div></dd></div>\n",
                  bj_amount_count(n[0], o->running),
                  bj_amount_count(n[1], o->cpus),
                  bj_amount_count(n[2], o->gpus));
    bj_local_html(b, "<div><dt>{Waiting}</dt><dd>%s <div class=\"sub\">",
                  bj_amount_count(n[0], o->pending));
    if (o->final > 0)
        bj_local_html(b, "<a href=\"queue\">{%s will never start}</a>",
                      bj_amount_count(n[1], o->final));
    bj_buf_str(b, "</div></dd></div>\n");
}

static const char *const week_keys[] = {
    "jobs_ended",       "jobs_completed", "jobs_failed", "gpu_unused_hours",
    "cpu_unused_hours", "gpu_hours",      NULL};
static const char *const month_keys[] = {"cost", "core_hours", "gpu_hours",
                                         NULL};

/* Read sums of the usage from a time until now. */
static int home_usage(struct bj_call *c, const struct bj_params *filters,
                      int64_t from, struct home_row *row)
{
    struct bj_cells cells = {.row = home_take, .ctx = row};
    struct bj_params p = *filters;
    bool cut;
    p.given[BJ_PARAM_FROM] = p.given[BJ_PARAM_TO] = true;
    p.number[BJ_PARAM_FROM] = from;
    p.number[BJ_PARAM_TO] = c->now_sec;
    for (unsigned i = 0; row->key[i]; i++)
        row->number[i] = __builtin_nan("");
    int r = bj_usage_list(c, &p, &(struct bj_output){.cells = &cells}, &cut);
    c->reply->body.failed |= cells.text.failed;
    bj_cells_free(&cells);
    return r;
}

/* When the month of the site began. */
static int64_t home_month(const struct bj_call *c)
{
    struct bj_civil day;
    const int64_t today = bj_tz_day(bj_tz_used(), c->now_sec);
    bj_civil_from_days(today, &day);
    return bj_tz_midnight(bj_tz_used(), today - (int64_t)day.day + 1);
}

/* Hours of GPUs large, those of CPUs below; without GPUs only these. */
static void home_put_hours(struct bj_buf *b, double gpu, double cpu)
{
    const struct home_text gpus = home_text(gpu), cpus = home_text(cpu);
    if (gpu > 0)
        bj_local_html(b,
                      "%s <small>{GPU hours}</small> <div class=\"sub\">{%s "
                      "CPU hours}</div>",
                      gpus.text, cpus.text);
    else
        bj_local_html(b, "%s <small>{CPU hours}</small>", cpus.text);
}

static void home_put_week(struct bj_buf *b, const struct home_row *week,
                          const struct home_row *month)
{
    const struct home_text ended = home_text(week->number[0]),
                           completed = home_text(week->number[1]),
                           failed = home_text(week->number[2]),
                           cores = home_text(month->number[1]),
                           gpus = home_text(month->number[2]);
    bj_local_html(b,
                  "<div><dt>{Ended in the last %d days}</dt><dd>%s <div "
                  "class=\"sub\">{%s completed, %s failed}</div></dd></div>\n",
                  DAYS, ended.text, completed.text, failed.text);
    bj_local_html(b, "<div><dt>{Held and not used, %d days}</dt><dd>", DAYS);
    home_put_hours(b, week->number[3], week->number[4]);
    bj_local_html(b, "</dd></div>\n<div><dt>{This month so far}</dt><dd>");
    if (home_known(month->number[0])) {
        bj_amount_money(b, (int64_t)(month->number[0] * 1e6));
        bj_buf_str(b, " <small>");
        bj_html_text(b, bj_slice_str(month->currency));
        bj_local_html(b, "</small> <div class=\"sub\">");
        bj_local_html(b,
                      month->number[2] > 0
                          ? "{%s CPU hours, %s GPU hours}</div>"
                          : "{%s CPU hours}</div>",
                      cores.text, gpus.text);
    } else {
        home_put_hours(b, month->number[2], month->number[1]);
    }
    bj_buf_str(b, "</dd></div></dl>\n");
}

/* --- what needs the user now
 * ------------------------------------------------*/

struct home_todo {
    struct bj_buf *b;
    unsigned n;
};

/* Begin a row: a mark, then a sentence about a job. */
static void todo_begin(struct home_todo *t)
{
    if (t->n++ == 0) {
        bj_widget_card(t->b, "Needs you now", NULL, NULL);
        bj_buf_str(t->b, "<ul class=\"todo\">");
    }
    bj_buf_str(t->b, "<li>");
}

static void todo_job(struct bj_buf *b, const struct bj_cells *row,
                     struct bj_slice sentence)
{
    const struct bj_cell *key = bj_cells_get(row, "key"),
                         *name = bj_cells_get(row, "name"),
                         *id = bj_cells_get(row, "display_id");
    bj_buf_str(b, "<span><a href=\"jobs/");
    if (!bj_cell_is_empty(key))
        bj_url_text(b, key->text);
    bj_buf_str(b, "\"><bdi>");
    if (!bj_cell_is_empty(name))
        bj_html_text(b, name->text);
    else if (!bj_cell_is_empty(id))
        bj_html_text(b, id->text);
    bj_buf_str(b, "</bdi></a>: <bdi>");
    bj_html_text(b, sentence);
    bj_buf_str(b, "</bdi></span><span class=\"mute small nb\">");
    if (!bj_cell_is_empty(id))
        bj_html_text(b, id->text);
    bj_buf_str(b, "</span></li>\n");
}

static void todo_finding(void *ctx, const struct bj_cells *row)
{
    struct home_todo *t = ctx;
    const struct bj_cell *severity = bj_cells_get(row, "severity"),
                         *text = bj_cells_get(row, "text");
    if (bj_cell_is_empty(severity) || bj_cell_is_empty(text))
        return;
    todo_begin(t);
    bj_widget_severity(t->b, bj_look_of_severity(severity->text));
    todo_job(t->b, row, text->text);
}

static void todo_waiting(void *ctx, const struct bj_cells *row)
{
    struct home_todo *t = ctx;
    const struct bj_cell *reason = bj_cells_get(row, "reason");
    if (bj_cell_is_empty(reason) || !bj_reason_is_final(reason->text) ||
        t->n >= 2 * FEW)
        return;
    todo_begin(t);
    bj_widget_mark(t->b, BJ_LOOK_BAD, bj_slice_str(bj_local("Never starts")));
    todo_job(t->b, row, bj_slice_str(bj_reason_text(reason->text)));
}

/* Set the parameters of a list; names and values in turn, NULL ends. */
static int home_put(struct bj_call *c, struct bj_params *p,
                    const char *const *words)
{
    int r = 0;
    for (; *words && r == 0; words += 2)
        r = bj_params_put(c, p, ~0u, bj_slice_str(words[0]),
                          bj_slice_str(words[1]));
    return r;
}

static int home_todo(struct bj_call *c, const struct bj_params *filters)
{
    static const char *const running[] = {"running", "true", "sort", "cost",
                                          "limit",   "5",    NULL};
    static const char *const waiting[] = {
        "state", "pending", "fields", "key",   "fields", "display_id", "fields",
        "name",  "fields",  "reason", "limit", "500",    NULL};
    struct home_todo t = {.b = &c->reply->body};
    struct bj_cells cells = {.row = todo_finding, .ctx = &t};
    const struct bj_output out = {.cells = &cells};
    struct bj_params p = *filters;
    struct bj_findings_end found;
    struct bj_jobs_end end = {0};
    p.given[BJ_PARAM_FROM] = true;
    p.number[BJ_PARAM_FROM] = c->now_sec - YEAR * DAY;
    struct bj_params jobs = p;
    int r = home_put(c, &p, running);
    if (r == 0)
        r = bj_findings_list(c, &p, &out, &found);
    c->reply->body.failed |= cells.text.failed;
    bj_cells_free(&cells);
    cells = (struct bj_cells){.row = todo_waiting, .ctx = &t};
    if (r == 0)
        r = home_put(c, &jobs, waiting);
    if (r == 0)
        r = bj_jobs_list(c, &jobs, &out, &end);
    c->reply->body.failed |= cells.text.failed;
    bj_cells_free(&cells);
    if (t.n > 0)
        bj_buf_str(t.b, "</ul></section>\n");
    return r;
}

/* --- three things to change ------------------------------------------------*/

/* Read what the user's jobs of the last days wasted. */
static int home_read_changes(struct bj_call *c, struct bj_changes *ret)
{
    const struct bj_filter_time time = {c->now_sec - DAYS * DAY, c->now_sec, 0};
    struct bj_query q = {.time = &time};
    struct bj_st *st = NULL;
    int r = bj_changes_select(ret, bj_reader_db(c->reader), &q.b.sql, &c->err);
    if (r == 0)
        r = bj_query_visible(&q, c, true, "j");
    if (r == 0)
        r = bj_query_between(&q, c, "j.at", &time);
    bj_query_sql(&q, BJ_CHANGES_NEWEST);
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    if (r == 0)
        r = bj_changes_read(ret, st, &c->err);
    bj_query_free(&q);
    return r;
}

/* How many of the user's jobs of the last days have this name; BJ_SQL_NULL:
 * none. */
static int home_runs(struct bj_call *c, int64_t name, int64_t *ret)
{
    const struct bj_filter_time time = {c->now_sec - DAYS * DAY, c->now_sec, 0};
    struct bj_query q = {.time = &time};
    struct bj_st *st = NULL;
    bj_query_sql(&q, "SELECT count(*) AS jobs FROM job AS j WHERE +j.name ");
    if (name == BJ_SQL_NULL) {
        bj_query_sql(&q, "IS NULL");
    } else {
        bj_query_sql(&q, "= ");
        bj_query_int(&q, name);
    }
    int r = bj_query_visible(&q, c, true, "j");
    if (r == 0)
        r = bj_query_between(&q, c, "j.at", &time);
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    if (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        *ret = bj_st_i64(st, "jobs");
        r = 0;
    }
    bj_query_free(&q);
    return r;
}

static void home_put_wasted(struct bj_buf *b, const struct bj_change *v,
                            const struct bj_prices *prices)
{
    struct bj_buf text = {0};
    bj_show_wasted(&text, &v->wasted, v->cost, bj_slice_str(prices->currency));
    if (text.len > 0) {
        bj_buf_str(b, "<span class=\"save\">");
        bj_html_text(b, (struct bj_slice){text.p, text.len});
        bj_local_html_str(b, "</span> <span class=\"mute\">{held and not used}"
                             "</span> &middot; ");
    }
    b->failed |= text.failed;
    bj_buf_free(&text);
}

static int home_put_change(struct bj_call *c, const struct bj_change *v,
                           const struct bj_prices *prices)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_report report = {.interactive = false};
    char n[2][BJ_AMOUNT_COUNT];
    int64_t runs = v->runs;
    int r = home_runs(c, v->name, &runs);
    if (r == 0)
        r = bj_job_report(c, v->newest, &report);
    if (r != 0) {
        bj_report_free(&report);
        return r;
    }
    const struct bj_report_advice *a = bj_report_advice_of(&report, v->finding);
    const struct bj_report_finding *f = NULL;
    for (size_t i = 0; i < report.findings && !f; i++)
        if (bj_slice_eq(report.finding[i].finding, v->finding))
            f = &report.finding[i];
    bj_buf_str(b, "<section class=\"card do\"><p>");
    bj_widget_severity(b, bj_look_of_severity(v->severity));
    bj_buf_str(b, "</p><h3><bdi>");
    bj_html_text(b, v->job_name.n > 0
                        ? v->job_name
                        : bj_slice_str(bj_local("Jobs without a name")));
    bj_buf_str(b, "</bdi></h3><p class=\"small\"><bdi>");
    bj_html_text(b, f ? f->text : v->finding);
    bj_buf_str(b, "</bdi></p><p class=\"small\">");
    if (a)
        bj_show_advice_html(b, a->text);
    bj_local_html(b, "</p><p class=\"small\">{%s of %s runs.} ",
                  bj_amount_count(n[0], v->runs), bj_amount_count(n[1], runs));
    home_put_wasted(b, v, prices);
    bj_buf_str(b, "<a href=\"jobs/");
    bj_url_text(b, bj_report_text(&report, BJ_REPORT_KEY));
    bj_local_html_str(b, "\">{newest run}</a></p>");
    if (a && a->line.n > 0) {
        bj_buf_str(b, "<pre class=\"lines\" data-copy><code>");
        bj_html_text(b, a->line);
        bj_buf_str(b, "</code></pre>");
    }
    bj_buf_str(b, "</section>\n");
    bj_report_free(&report);
    return 0;
}

static int home_changes(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_changes all = {.n = 0};
    int r = home_read_changes(c, &all);
    if (r == 0 && all.n > 0) {
        bj_local_html_str(
            b, "<section><div class=\"bar-head\"><h2>{Three things to change "
               "this week}</h2><a class=\"small\" href=\"findings?mine=true\">"
               "{All findings of the last 7 days}</a></div>\n<div class=\"cols "
               "three\">");
        for (size_t i = 0; i < all.n && i < THREE && r == 0; i++)
            r = home_put_change(c, &all.v[i], &all.prices);
        bj_buf_str(b, "</div></section>\n");
    }
    bj_changes_free(&all);
    return r;
}

/* --- lists of the user's jobs
 * -----------------------------------------------*/

static const char *const running_columns[] = {"display_id",
                                              "start",
                                              "cpus",
                                              "now_cpus_busy",
                                              "now_memory_bytes",
                                              "gpus",
                                              "now_gpu_busy_percent",
                                              "finding_names",
                                              NULL};

static const char *const ended_columns[] = {
    "display_id", "state",         "end", "elapsed_seconds",
    "cost",       "finding_names", NULL};

static int home_list(struct bj_call *c, const struct bj_params *filters,
                     const char *state, const char *const *columns,
                     const char *none)
{
    struct bj_params p = *filters;
    struct bj_page_table table;
    struct bj_jobs_end end = {0};
    p.given[BJ_PARAM_FROM] = p.given[BJ_PARAM_LIMIT] = true;
    p.number[BJ_PARAM_FROM] = c->now_sec - YEAR * DAY;
    p.number[BJ_PARAM_LIMIT] = SHOWN;
    int r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_STATE), BJ_SLICE("state"),
                          bj_slice_str(state));
    if (r == 0)
        r = bj_page_fields(c, &p, columns);
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          BJ_SLICE("currency"));
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          BJ_SLICE("name"));
    bj_page_table_begin(&table, &c->reply->body, bj_job_columns, columns, "");
    if (r == 0)
        r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &table.cells},
                         &end);
    bj_page_table_end(&table, none);
    return r;
}

/* Waiting jobs by reason. */
static int home_waiting(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_query q = {0};
    struct bj_st *st = NULL;
    unsigned n = 0;
    char count[BJ_AMOUNT_COUNT];
    bj_query_sql(&q, "SELECT (SELECT text FROM word WHERE id = j.reason) AS "
                     "why, count(*) AS jobs, min(coalesce(j.eligible, "
                     "nullif(j.submit, 0))) AS since FROM job AS j "
                     "WHERE j.\"end\" IS NULL AND j.state = 1");
    int r = bj_query_visible(&q, c, true, "j");
    bj_query_sql(&q, " GROUP BY j.reason ORDER BY jobs DESC, why LIMIT 10");
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    bj_widget_card(b, "Waiting", "queue", "Queue");
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        const struct bj_slice reason = bj_st_text(st, "why");
        const char *text = bj_reason_text(reason);
        const int64_t since = bj_st_i64(st, "since");
        r = 0;
        if (n++ == 0)
            bj_local_html_str(
                b,
                "<table data-sort><thead><tr><th scope=\"col\">{Why}</th><th "
                "scope=\"col\" class=\"n\">{Jobs}</th><th scope=\"col\" "
                "class=\"n\">{Longest}</th></tr></thead><tbody>");
        bj_buf_str(b, "<tr><td class=\"wrap\"><bdi>");
        bj_html_text(b, text           ? bj_slice_str(text)
                        : reason.n > 0 ? reason
                                       : bj_slice_str(bj_local("not known")));
        bj_buf_printf(b, "</bdi></td><td class=\"n\">%s</td><td class=\"n\">",
                      bj_amount_count(count, bj_st_i64(st, "jobs")));
        if (since != BJ_SQL_NULL && since <= c->now_sec)
            bj_show_seconds(b, c->now_sec - since);
        bj_buf_str(b, "</td></tr>\n");
    }
    if (n > 0)
        bj_buf_str(b, "</tbody></table>\n");
    else
        bj_local_html_str(
            b, "<p class=\"none\">{You have no waiting jobs.}</p>\n");
    bj_widget_card_end(b);
    bj_query_free(&q);
    return r;
}

/* --- the month and storage
 * --------------------------------------------------*/

struct home_days {
    int64_t first; /* day since 1970 */
    unsigned days;
    double value[MONTH_DAYS];
    const char *key;
};

static void home_take_day(void *ctx, const struct bj_cells *row)
{
    struct home_days *d = ctx;
    const struct bj_cell *time = bj_cells_get(row, "time"),
                         *v = bj_cells_get(row, d->key);
    if (bj_cell_is_empty(time) || bj_cell_is_empty(v) ||
        v->kind != BJ_CELL_NUMBER)
        return;
    const int64_t at = bj_tz_day(bj_tz_used(), time->number) - d->first;
    if (at < 0 || at >= (int64_t)d->days)
        return;
    d->value[at] = (double)v->number;
    for (unsigned i = 0; i < v->digits; i++)
        d->value[at] /= 10;
}

static int home_days(struct bj_call *c, const struct bj_params *filters,
                     bool priced)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_params p = *filters;
    const int64_t from = home_month(c);
    struct home_days d = {.first = bj_tz_day(bj_tz_used(), from),
                          .key = priced ? "cost" : "core_hours"};
    struct bj_cells cells = {.row = home_take_day, .ctx = &d};
    bool cut;
    d.days = (unsigned)(bj_tz_day(bj_tz_used(), c->now_sec) - d.first) + 1;
    for (unsigned i = 0; i < d.days && i < MONTH_DAYS; i++)
        d.value[i] = __builtin_nan("");
    p.given[BJ_PARAM_FROM] = p.given[BJ_PARAM_TO] = true;
    p.number[BJ_PARAM_FROM] = from;
    p.number[BJ_PARAM_TO] = c->now_sec;
    int r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_GROUP_BY),
                          BJ_SLICE("group_by"), BJ_SLICE("day"));
    if (r == 0)
        r = bj_usage_list(c, &p, &(struct bj_output){.cells = &cells}, &cut);
    bj_widget_card(b,
                   priced ? "This month, cost of each day"
                          : "This month, CPU hours of each day",
                   "usage?group_by=day", "Usage");
    bj_widget_days(b, &(struct bj_widget_days){
                          .label = bj_local_escaped(
                              priced ? "This month, cost of each day"
                                     : "This month, CPU hours of each day"),
                          .value = d.value,
                          .days = d.days,
                          .first = d.first});
    bj_widget_card_end(b);
    b->failed |= cells.text.failed;
    bj_cells_free(&cells);
    return r;
}

static void home_put_storage(struct bj_buf *b, const struct bj_storage *s)
{
    enum { NEARLY = 90 };
    for (int i = 0; i < BJ_STORAGE_AMOUNTS; i++) {
        const int64_t used = s->used[i], limit = s->limit[i];
        if (used < 0 || limit <= 0)
            continue;
        const double percent = 100.0 * (double)used / (double)limit;
        bj_buf_str(b, "<tr><th scope=\"row\"><bdi>");
        bj_html_text(b, s->name);
        bj_local_html(b, "</bdi> <small>%s</small></th><td class=\"n\">",
                      i == BJ_STORAGE_FILES ? bj_local_escaped("files") : "");
        bj_widget_bar(b, percent > NEARLY ? BJ_LOOK_WARN : BJ_LOOK_NONE, false,
                      percent);
        bj_buf_str(b, "</td><td class=\"n\">");
        for (int k = 0; k < 2; k++) {
            if (k == 1)
                bj_local_html_str(b, " {of} ");
            if (i == BJ_STORAGE_FILES)
                bj_amount_whole(b, k ? limit : used);
            else
                bj_show_bytes(b, k ? limit : used);
        }
        bj_buf_str(b, "</td></tr>\n");
    }
}

/* The user's projects and quotas; bad lines are skipped. */
static void home_storage(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body;
    const char *path = c->worker->conf->storage;
    struct bj_slice rest = {0};
    char *text = NULL;
    struct bj_storage s;
    struct bj_err err;
    uint64_t line = 0;
    bool any = false;
    if (path && *path && bj_storage_read(path, &text, &rest, &err) == 0)
        for (int r; (r = bj_storage_next(&rest, &line, &s, &err)) != 0;) {
            if (r < 0 || !bj_slice_eq(s.user, bj_slice_str(c->identity.user)))
                continue;
            if (!any)
                bj_widget_card(b, "Storage", NULL, NULL);
            bj_buf_str(b, any ? "" : "<table><tbody>");
            any = true;
            home_put_storage(b, &s);
        }
    if (any)
        bj_buf_str(b, "</tbody></table></section>\n");
    free(text);
}

/* --- the user's page
 * --------------------------------------------------------*/

static void home_head(struct bj_call *c, const char *title, bool other)
{
    struct bj_buf *b = &c->reply->body;
    bj_page_frame(c, bj_local(title), "", 60);
    bj_buf_printf(b,
                  "<div class=\"head\"><div><h1>%s</h1><p class=\"meta\">"
                  "<span><bdi>",
                  bj_local_escaped(title));
    bj_html_text(b, bj_slice_str(c->identity.user));
    bj_buf_str(b, "</bdi></span><span>");
    bj_page_time(b, c->now_sec);
    bj_buf_str(b, "</span><span data-live-ctl></span></p></div><div "
                  "class=\"acts\">");
    if (other)
        bj_local_html_str(
            b, "<a class=\"btn\" href=\"home?mine=true\">{Your own jobs}</a>"
               "<a class=\"btn\" href=\"support\">{Support}</a>");
    else
        bj_local_html_str(
            b, "<a class=\"btn\" href=\"jobs?mine=true\">{All your jobs}</a>"
               "<a class=\"btn\" href=\"mail\">{Mails about jobs}</a>");
    bj_buf_str(b, "</div></div>\n");
}

/* What the figures say about the cards below them. */
struct home_site {
    bool has_prices;
    bool has_gpus; /* jobs held GPUs in the last week */
};

static int home_figures(struct bj_call *c, const struct bj_params *p, bool mine,
                        struct home_site *ret)
{
    struct home_open open = {0};
    struct home_row week = {.key = week_keys}, month = {.key = month_keys};
    int r = home_read_open(c, mine, &open);
    if (r == 0)
        r = home_usage(c, p, c->now_sec - DAYS * DAY, &week);
    if (r == 0)
        r = home_usage(c, p, home_month(c), &month);
    bj_buf_str(&c->reply->body, "<div id=\"figures\" data-live-part>");
    home_put_open(&c->reply->body, &open);
    home_put_week(&c->reply->body, &week, &month);
    bj_buf_str(&c->reply->body, "</div>\n");
    ret->has_prices = home_known(month.number[0]);
    ret->has_gpus = week.number[5] > 0;
    return r;
}

static int home_mine(struct bj_call *c, struct bj_params *p)
{
    struct bj_buf *b = &c->reply->body;
    struct home_site site = {false, false};
    home_head(c, "Your jobs", false);
    int r = bj_params_put(c, p, MASK, BJ_SLICE("mine"), BJ_SLICE("true"));
    if (r == 0)
        r = home_figures(c, p, true, &site);
    if (r == 0)
        r = home_todo(c, p);
    if (r == 0)
        r = home_changes(c);
    bj_buf_str(b, "<div class=\"cols wide-left\">");
    bj_widget_card(b, "Running now", "jobs?mine=true&amp;state=running", "All");
    bj_buf_str(b, "<div id=\"running\" data-live-part>");
    if (r == 0)
        r = home_list(c, p, "running", running_columns,
                      "You have no running jobs.");
    bj_buf_str(b, "</div>");
    bj_widget_card_end(b);
    if (r == 0)
        r = home_waiting(c);
    bj_buf_str(b, "</div>\n<div class=\"cols wide-left\">");
    bj_widget_card(b, "Ended lately", "jobs?mine=true&amp;state=ended", "All");
    if (r == 0)
        r = home_list(c, p, "ended", ended_columns, "No job has ended.");
    bj_widget_card_end(b);
    bj_buf_str(b, "<div class=\"cols\">");
    if (r == 0)
        r = home_days(c, p, site.has_prices);
    home_storage(c);
    bj_buf_str(b, "</div></div>\n");
    return r;
}

/* --- the admins' page
 * -------------------------------------------------------*/

static const char *const losing_columns[] = {"severity", "display_id", "text",
                                             "cpus",     "gpus",       "user",
                                             "since",    "action",     NULL};

static int home_losing(struct bj_call *c)
{
    static const char *const words[] = {"running", "true", "sort", "cost",
                                        "limit",   "10",   NULL};
    struct bj_params p = {.values = 0};
    struct bj_page_table table;
    struct bj_findings_end end;
    p.given[BJ_PARAM_FROM] = true;
    p.number[BJ_PARAM_FROM] = c->now_sec - YEAR * DAY;
    int r = home_put(c, &p, words);
    bj_widget_card(&c->reply->body, "Losing time now", "support", "All");
    bj_page_table_begin(&table, &c->reply->body, bj_finding_columns,
                        losing_columns, "");
    if (r == 0)
        r = bj_findings_list(c, &p, &(struct bj_output){.cells = &table.cells},
                             &end);
    bj_page_table_end(&table, "No rule finds anything in running jobs.");
    bj_widget_card_end(&c->reply->body);
    return r;
}

static const char *const gpu_columns[] = {
    "user", "gpu_unused_hours", "gpu_hours", "gpu_efficiency_percent", NULL};

static const char *const cpu_columns[] = {
    "user", "cpu_unused_hours", "core_hours", "cpu_efficiency_percent", NULL};

/* The users with the most unused hours; columns[1] is the order. */
static int home_wasters(struct bj_call *c, const char *const *columns,
                        const char *title)
{
    struct bj_params p = {.values = 0};
    const char *words[] = {"group_by", "user", "sort", columns[1], NULL};
    struct bj_page_table table;
    bool cut;
    p.given[BJ_PARAM_FROM] = p.given[BJ_PARAM_TO] = true;
    p.number[BJ_PARAM_FROM] = c->now_sec - DAYS * DAY;
    p.number[BJ_PARAM_TO] = c->now_sec;
    int r = home_put(c, &p, words);
    bj_widget_card(&c->reply->body, title, "support", "Support");
    bj_page_table_begin(&table, &c->reply->body, bj_usage_columns, columns, "");
    table.needs = columns[1];
    table.most = FEW;
    if (r == 0)
        r = bj_usage_list(c, &p, &(struct bj_output){.cells = &table.cells},
                          &cut);
    bj_page_table_end(&table, "No unused hours are known.");
    bj_widget_card_end(&c->reply->body);
    return r;
}

static void home_put_cluster(struct bj_call *c, struct bj_st *st)
{
    struct bj_buf *b = &c->reply->body;
    const int64_t upto = bj_st_i64(st, "upto");
    const int64_t age = upto == BJ_SQL_NULL ? BJ_SQL_NULL : c->now_sec - upto;
    bj_buf_str(b, "<li>");
    bj_widget_mark(b,
                   age == BJ_SQL_NULL ? BJ_LOOK_NONE
                   : age > LATE_SEC   ? BJ_LOOK_BAD
                                      : BJ_LOOK_OK,
                   bj_slice_str(bj_local("Accounting")));
    bj_buf_str(b, "<span><bdi>");
    bj_html_text(b, bj_st_text(st, "name"));
    bj_buf_str(b, "</bdi>: ");
    if (age == BJ_SQL_NULL) {
        bj_local_html_str(b, "{it is not known up to when it is complete}");
    } else {
        bj_local_html_str(b, "{complete up to} ");
        bj_page_time(b, upto);
    }
    bj_buf_str(b, "</span><span></span></li>\n");
}

/* Up to when accounting is complete, and records that belong to no job. */
static int home_complete(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_query q = {0};
    struct bj_st *st = NULL;
    char n[BJ_AMOUNT_COUNT];
    int64_t refused = 0;
    bj_widget_card(b, "Is the data complete?", NULL, NULL);
    bj_buf_str(b, "<ul class=\"todo\">");
    bj_query_sql(&q,
                 "SELECT c.name AS name, max(v.to_sec) AS upto FROM cluster "
                 "AS c LEFT JOIN covered AS v ON v.cluster = c.name GROUP "
                 "BY c.id, c.name ORDER BY name");
    int r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        r = 0;
        home_put_cluster(c, st);
    }
    bj_query_free(&q);
    q = (struct bj_query){.named = true};
    bj_query_sql(&q, "SELECT count(*) AS records FROM record_refused");
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    if (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        refused = bj_st_i64(st, "records");
        r = 0;
    }
    bj_query_free(&q);
    bj_buf_str(b, "<li>");
    bj_widget_mark(b, refused > 0 ? BJ_LOOK_WARN : BJ_LOOK_OK,
                   bj_slice_str(bj_local("Records of nodes")));
    bj_local_html(b,
                  refused == 0
                      ? "<span>{No record was refused.}"
                      : "<span>{%s records were refused: their job did not run "
                        "on that node.}",
                  bj_amount_count(n, refused));
    bj_buf_str(b, "</span><span></span></li></ul>\n");
    bj_widget_card_end(b);
    return r;
}

/* Append the nodes that are out of service, then what was written before. */
static void home_put_nodes(struct bj_call *c, const struct bj_grid *g)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_nodes *n = g->work;
    b->failed |= bj_nodes_take(n, g) < 0 || n->jobs.failed;
    bj_nodes_put_out(b, g, n, SHOWN);
    bj_buf_slice(b, (struct bj_slice){n->jobs.p, n->jobs.len});
    bj_page_close(c);
}

/* The states of the nodes are read after the store. */
static int home_new_nodes(struct bj_call *c, struct bj_grid **ret)
{
    struct bj_nodes *n = calloc(1, sizeof(*n));
    int r = n ? bj_grid_new(c, (struct bj_slice){NULL, 0}, POINTS, STEP, ret)
              : bj_err_set(&c->err, -ENOMEM, "nodes");
    if (r != 0) {
        bj_nodes_free(n);
        return r;
    }
    (*ret)->work = n;
    (*ret)->free_work = bj_nodes_free;
    bj_nodes_query(*ret, true);
    return 0;
}

/* The cards behind the one of the nodes. */
static int home_last(struct bj_call *c, bool has_gpus)
{
    struct bj_buf *b = &c->reply->body;
    int r = 0;
    bj_buf_str(b,
               has_gpus ? "<div class=\"cols two\">" : "<div class=\"cols\">");
    if (has_gpus)
        r = home_wasters(c, gpu_columns,
                         "Users with the most unused GPU hours");
    if (r == 0)
        r = home_wasters(c, cpu_columns,
                         "Users with the most unused CPU hours");
    bj_buf_str(b, "</div>\n");
    return r == 0 ? home_complete(c) : r;
}

static int home_all(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_grid *g = NULL;
    struct home_site site = {false, false};
    int r = home_new_nodes(c, &g);
    if (r != 0)
        return r;
    home_head(c, "Cluster", true);
    r = home_figures(c, p, false, &site);
    if (r == 0)
        r = home_losing(c);
    const size_t before = b->len;
    if (r == 0)
        r = home_last(c, site.has_gpus);
    if (r != 0) {
        bj_grid_drop(g);
        return r;
    }
    if (!b->failed) {
        struct bj_nodes *n = g->work;
        bj_buf_put(&n->jobs, b->p + before, b->len - before);
        b->len = before;
    }
    return bj_grid_run(c, g, home_put_nodes);
}

static int on_home(struct bj_call *c)
{
    struct bj_params p;
    int r = bj_params_read(c, MASK, &p);
    if (r != 0)
        return r;
    if (c->identity.admin &&
        !(p.given[BJ_PARAM_MINE] && p.number[BJ_PARAM_MINE]))
        return home_all(c, &p);
    r = home_mine(c, &p);
    bj_page_close(c);
    return r;
}

static int after_home(struct bj_call *c)
{
    return bj_grid_after(c, home_put_nodes);
}

const struct bj_endpoint bj_endpoints_page_home[] = {
    {.path = "/home",
     .methods = BJ_HTTP_GET,
     .needs = NEED,
     .run = on_home,
     .after = after_home,
     .refused = bj_page_refuse,
     .to_root = "",
     .menu = "Home",
     .help = "Web page: what needs the user now, what to change, and the "
             "user's jobs; for admins what the cluster loses.",
     .type = "text/html",
     .params = MASK},
    {.path = NULL},
};
