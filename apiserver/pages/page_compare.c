/* The page that compares two to four jobs: a column for each. */
#include "apiserver/frame/room.h"
#include "apiserver/frame/state.h"
#include "apiserver/frame/widget.h"
#include "apiserver/job/chart.h"
#include "apiserver/job/curves.h"
#include "apiserver/job/visible_job.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/jobs.h"
#include "base/html.h"
#include "base/local.h"
#include "sched/hostlist.h"

#include <stdlib.h>

enum { JOBS_MAX = 4, COMPARE = BJ_BIT(BJ_PARAM_JOB) };

static const char *const lines[] = {"display_id",
                                    "state",
                                    "name",
                                    "user",
                                    "account",
                                    "partition",
                                    "start",
                                    "elapsed_seconds",
                                    "wait_seconds",
                                    "time_limit_seconds",
                                    "nodes",
                                    "nodelist",
                                    "cpus",
                                    "cpu_efficiency_percent",
                                    "memory_allocated_bytes",
                                    "memory_peak_bytes",
                                    "memory_efficiency_percent",
                                    "gpus",
                                    "gpu_efficiency_percent",
                                    "cost",
                                    "energy_joules",
                                    "emissions_grams",
                                    "io_read_bytes",
                                    "io_write_bytes",
                                    "finding_names",
                                    NULL};
enum {
    LINES = sizeof(lines) / sizeof(lines[0]) - 1,
    NODES = LINES,
    VERDICT,
    ALL_LINES,
    NODES_MAX = 512, /* of a job that are compared */
    NODES_SHOWN = 8,
    POINTS_MAX = 300
};

/* The page between the two parts of its endpoint. */
struct compare {
    struct bj_buf line[ALL_LINES];
    size_t cell[ALL_LINES]; /* where the last cell of a line begins */
    bool differs[ALL_LINES];
    struct compare_job {
        struct bj_arena arena;
        struct bj_visible_job f;
        struct bj_buf name, nodes; /* its id, its node list; terminated */
        struct bj_curves curves;
    } job[JOBS_MAX];
    unsigned jobs;
};

static void compare_free(struct compare *t)
{
    for (unsigned i = 0; i < ALL_LINES; i++)
        bj_buf_free(&t->line[i]);
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        bj_arena_free(&t->job[i].arena);
        bj_buf_free(&t->job[i].name);
        bj_buf_free(&t->job[i].nodes);
        bj_curves_free(&t->job[i].curves);
    }
    free(t);
}

/* Begin the next cell of a line. */
static struct bj_buf *compare_cell(struct compare *t, unsigned line)
{
    bj_buf_str(&t->line[line], "<td class=\"wrap\">");
    return &t->line[line];
}

/* End the cell of a line that begins at from. */
static void compare_cell_end(struct compare *t, unsigned line, size_t from)
{
    struct bj_buf *b = &t->line[line];
    bj_buf_str(b, "</td>");
    if (b->failed)
        return;
    const struct bj_slice before = {b->p + t->cell[line], from - t->cell[line]},
                          now = {b->p + from, b->len - from};
    t->differs[line] |= from > 0 && !bj_slice_eq(before, now);
    t->cell[line] = from;
}

static void compare_put_row(void *ctx, const struct bj_cells *row)
{
    struct compare *t = ctx;
    struct compare_job *j = &t->job[t->jobs];
    const struct bj_cell *id = bj_cells_get(row, "display_id"),
                         *nodes = bj_cells_get(row, "nodelist");
    for (unsigned i = 0; i < LINES; i++) {
        const size_t from = t->line[i].len;
        bj_page_value(
            compare_cell(t, i), bj_job_column(bj_slice_str(lines[i])), row,
            &(struct bj_page_place){.to_root = "", .name_apart = true});
        compare_cell_end(t, i, from);
    }
    if (!bj_cell_is_empty(id))
        bj_buf_slice(&j->name, id->text);
    if (!bj_cell_is_empty(nodes))
        bj_buf_slice(&j->nodes, nodes->text);
}

static int compare_add_job(struct bj_call *c, struct bj_slice name,
                           struct compare *t)
{
    struct bj_params p = {.values = 0};
    struct bj_jobs_end end;
    struct compare_job *j = &t->job[t->jobs];
    struct bj_report report = {.interactive = false};
    struct bj_cells cells = {.row = compare_put_row, .ctx = t};
    int r = bj_visible_job_find(c, &p, name, &j->arena, &j->f);
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_JOB), BJ_SLICE("job"),
                          j->f.key);
    if (r == 0)
        r = bj_page_fields(c, &p, lines);
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          BJ_SLICE("currency"));
    if (r == 0)
        r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &cells}, &end);
    if (r == 0)
        r = bj_job_report(c, j->f.job, &report);
    if (r == 0) {
        const size_t from = t->line[VERDICT].len;
        bj_html_text(compare_cell(t, VERDICT), report.verdict.wrong);
        compare_cell_end(t, VERDICT, from);
        t->jobs++;
    }
    c->reply->body.failed |= cells.text.failed;
    bj_report_free(&report);
    bj_cells_free(&cells);
    return r;
}

/* --- nodes that differ -----------------------------------------------------
 */

/* Has the job this node among its first NODES_MAX ones? */
static bool compare_has_node(const struct compare_job *j, struct bj_slice node)
{
    struct bj_hostlist l;
    struct bj_slice name;
    if (bj_hostlist_begin(&l, (struct bj_slice){j->nodes.p, j->nodes.len},
                          BJ_HOSTS_SLURM) != 0)
        return false;
    for (unsigned i = 0; i < NODES_MAX && bj_hostlist_next(&l, &name); i++)
        if (bj_slice_eq(name, node))
            return true;
    return false;
}

/* Append the nodes of a job that not all of the others had. */
static void compare_put_nodes(struct compare *t, unsigned job)
{
    struct bj_buf *b = &t->line[NODES];
    const size_t from = b->len;
    const struct compare_job *j = &t->job[job];
    struct bj_hostlist l;
    struct bj_slice name;
    unsigned n = 0;
    compare_cell(t, NODES);
    if (j->nodes.len > 0 &&
        bj_hostlist_begin(&l, (struct bj_slice){j->nodes.p, j->nodes.len},
                          BJ_HOSTS_SLURM) == 0)
        for (unsigned i = 0; i < NODES_MAX && bj_hostlist_next(&l, &name);
             i++) {
            bool all = true;
            for (unsigned k = 0; k < t->jobs; k++)
                all = all && (k == job || compare_has_node(&t->job[k], name));
            if (all || n++ >= NODES_SHOWN)
                continue;
            bj_buf_str(b, n > 1 ? ", <a href=\"nodes/" : "<a href=\"nodes/");
            bj_url_text(b, name);
            bj_buf_str(b, "\">");
            bj_html_text(b, name);
            bj_buf_str(b, "</a>");
        }
    if (n > NODES_SHOWN)
        bj_local_html(b, " {and %u more}", n - NODES_SHOWN);
    if (n == 0)
        bj_buf_str(b, "<span class=\"none\">-</span>");
    compare_cell_end(t, NODES, from);
}

static void compare_put_table(struct bj_buf *b, struct compare *t)
{
    for (unsigned i = 0; i < t->jobs; i++)
        compare_put_nodes(t, i);
    bj_buf_str(b, "<section class=\"card\">");
    if (t->jobs > 1)
        bj_local_html_str(
            b, "<p class=\"sub\">{Values that are equal are grey.}</p>");
    bj_widget_table(b, bj_local_escaped("Compare jobs"), "", false);
    bj_buf_str(b, "<tbody>\n");
    for (unsigned i = 0; i < ALL_LINES; i++) {
        bj_buf_printf(b, "<tr%s><th scope=\"row\">%s</th>",
                      t->jobs > 1 && !t->differs[i] ? " class=\"mute\"" : "",
                      bj_local_escaped(
                          i == VERDICT ? "Verdict"
                          : i == NODES
                              ? "Nodes that differ"
                              : bj_job_column(bj_slice_str(lines[i]))->label));
        bj_buf_slice(b, (struct bj_slice){t->line[i].p, t->line[i].len});
        bj_buf_str(b, "</tr>\n");
        b->failed |= t->line[i].failed;
    }
    bj_widget_table_end(b);
    bj_buf_str(b, "</section>\n");
}

/* --- curves on one axis ----------------------------------------------------
 */

/* The values of a job at the points of a chart of all jobs: means of its own
 * points in each step. */
static const double *compare_values(const struct bj_chart *of, unsigned line,
                                    int64_t step, unsigned points,
                                    struct bj_arena *a)
{
    double *v = bj_arena_alloc(a, (points + 1) * sizeof(*v));
    for (unsigned i = 0; v && i < points; i++) {
        double sum = 0;
        unsigned n = 0;
        for (unsigned k = 0; k < of->points; k++) {
            const int64_t at = of->from + k * of->step - of->start;
            const double one = of->line[line].value[k];
            if (at >= i * step && at < (i + 1) * step && bj_chart_known(one)) {
                sum += one;
                n++;
            }
        }
        v[i] = n > 0 ? sum / n : __builtin_nan("");
    }
    return v;
}

/* Make the chart of one plan with a line for each job, over the time since its
 * start.  False: out of memory. */
static bool compare_chart(const struct compare *t,
                          const struct bj_chart_plan *p, struct bj_arena *a,
                          struct bj_chart *ret)
{
    struct bj_chart one[JOBS_MAX];
    int64_t step = 1, span = 0;
    *ret = (struct bj_chart){.title = bj_local(p->title)};
    for (unsigned i = 0; i < t->jobs; i++) {
        const struct bj_series_work *w = t->job[i].curves.work[BJ_SERIES_JOB];
        one[i] = (struct bj_chart){.points = 0};
        if (!w || t->job[i].curves.result[BJ_SERIES_JOB] != 0 ||
            w->s.groups == 0)
            continue;
        if (!bj_chart_make(&w->s, 0, p, w->start, a, &one[i]))
            return false;
        const int64_t end = one[i].from - one[i].start + bj_chart_span(&one[i]);
        step = one[i].step > step ? one[i].step : step;
        span = end > span ? end : span;
    }
    while (span / step >= POINTS_MAX)
        step *= 2;
    ret->step = step;
    ret->points = (unsigned)(span / step) + 1;
    for (unsigned i = 0; i < t->jobs; i++) {
        if (one[i].lines == 0 || one[i].line[0].limit)
            continue;
        const double *v = compare_values(&one[i], 0, step, ret->points, a);
        if (!v)
            return false;
        ret->unit = one[i].unit;
        ret->line[ret->lines++] =
            (struct bj_chart_line){t->job[i].name.p, v, false};
    }
    return true;
}

static void compare_put_curves(struct bj_buf *b, const struct compare *t)
{
    struct bj_arena arena = {0};
    unsigned n = 0;
    bj_local_html_str(b, "<section class=\"card\" data-zoom><div "
                         "class=\"bar-head\"><h2>{Over time since each start}"
                         "</h2></div><div class=\"charts\">\n");
    for (const struct bj_chart_plan *p = bj_chart_plans[BJ_SERIES_JOB];
         p->title; p++) {
        struct bj_chart k;
        if (!compare_chart(t, p, &arena, &k)) {
            b->failed = true;
        } else if (bj_chart_has_values(&k)) {
            bj_chart_figure(b, &k);
            n++;
        }
    }
    bj_buf_str(b, "</div>\n");
    if (n == 0)
        bj_local_html_str(b, "<p class=\"none\">{Prometheus has no samples of "
                             "these jobs.}</p>\n");
    bj_buf_str(b, "</section>\n");
    bj_arena_free(&arena);
}

/* --- the page --------------------------------------------------------------
 */

static void compare_put_form(struct bj_buf *b, const struct bj_params *p)
{
    bj_buf_str(b, "<form>");
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        bj_local_html(
            b, "<label>{Job %u}<input name=\"job\" type=\"text\" value=\"",
            i + 1);
        if (i < p->values)
            bj_html_text(b, p->value[i].text);
        bj_buf_str(b, "\"></label>\n");
    }
    bj_local_html(b, "<button>{Compare}</button></form>\n");
}

/* Append the page up to its curves, and prepare their queries. */
static int compare_put_page(struct bj_call *c, const struct bj_params *p,
                            struct compare *t)
{
    int r = 0;
    for (unsigned i = 0; i < p->values && i < JOBS_MAX && r == 0; i++)
        r = compare_add_job(c, p->value[i].text, t);
    if (r != 0)
        return r;
    bj_page_open(c, bj_local("Compare jobs"), "");
    compare_put_form(&c->reply->body, p);
    if (t->jobs > 0)
        compare_put_table(&c->reply->body, t);
    for (unsigned i = 0; i < t->jobs && r == 0 && c->worker->prom &&
                         bj_room_has_waiter(c->worker->server);
         i++) {
        struct compare_job *j = &t->job[i];
        bj_buf_put(&j->name, "", 1);
        c->reply->body.failed |= j->name.failed;
        if (j->f.start != BJ_SQL_NULL)
            r = bj_curves_prepare_whole(c, &j->f, &j->curves);
    }
    return r;
}

static bool compare_has_queries(const struct compare *t)
{
    for (unsigned i = 0; i < t->jobs; i++)
        if (t->job[i].curves.work[BJ_SERIES_JOB])
            return true;
    return false;
}

static int on_compare(struct bj_call *c)
{
    struct bj_params p;
    struct compare *t = NULL;
    int r = bj_params_read(c, COMPARE, &p);
    if (r == 0 && p.values > JOBS_MAX)
        r = bj_call_refuse(c, 400, "At most %d jobs can be compared.",
                           JOBS_MAX);
    if (r != 0)
        return r;
    t = calloc(1, sizeof(*t));
    if (!t)
        return bj_err_set(&c->err, -ENOMEM, "compare");
    r = compare_put_page(c, &p, t);
    if (r == 0 && !c->reply->body.failed && compare_has_queries(t)) {
        c->work = t;
        return 0;
    }
    if (r == 0)
        bj_page_close(c);
    compare_free(t);
    return r;
}

static int after_compare(struct bj_call *c)
{
    struct compare *t = c->work;
    struct bj_server *server = NULL;
    int r = 0;
    c->work = NULL;
    for (unsigned i = 0; i < t->jobs; i++)
        if (t->job[i].curves.work[BJ_SERIES_JOB])
            server = t->job[i].curves.work[BJ_SERIES_JOB]->server;
    for (unsigned i = 0; i < t->jobs; i++)
        bj_curves_query(c, &t->job[i].curves);
    if (bj_room_take_later(server)) {
        compare_put_curves(&c->reply->body, t);
        bj_page_close(c);
        bj_room_give_later(server);
    } else {
        bj_call_header(c, "Retry-After", "1");
        r = bj_call_refuse(c, 503,
                           "Too many responses are being sent; try again.");
    }
    compare_free(t);
    return r;
}

const struct bj_endpoint bj_endpoints_page_compare[] = {
    {.path = "/compare",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_compare,
     .after = after_compare,
     .refused = bj_page_refuse,
     .to_root = "",
     .help = "Web page: two to four jobs side by side.",
     .type = "text/html",
     .params = COMPARE},
    {.path = NULL},
};
