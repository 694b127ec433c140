/* The page of a node: what is wrong with it, its values now and over the last
 * week, its jobs, and its changes of state. */
#include "apiserver/frame/state.h"
#include "apiserver/job/chart.h"
#include "apiserver/pages/nodes.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/jobs.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTS = 168, /* hours of a week */
    STEP = 3600,
    JOBS = 50,
    EVENTS = 40,
    MASK = BJ_BIT(BJ_PARAM_CLUSTER)
};

static bool node_known(double v)
{
    return v - v == 0;
}

/* --- verdict and values now ------------------------------------------------
 */

static void node_put_verdict(struct bj_call *c, const struct bj_nodes *all,
                             const struct bj_node *n)
{
    struct bj_buf *b = &c->reply->body;
    const struct bj_node_trouble t = bj_node_trouble_of(all, n);
    if (t.look == BJ_LOOK_NONE)
        return;
    bj_buf_printf(b, "<section class=\"card verdict %s\">",
                  bj_look_class(t.look));
    bj_widget_severity(b, t.look);
    bj_buf_printf(b, "<h2>%s</h2><p>", bj_local_escaped(t.what));
    bj_node_put_trouble(b, n, &t);
    bj_buf_str(b, "</p></section>\n");
}

static void node_put_use(struct bj_buf *b, const char *title, double part,
                         double all)
{
    if (!node_known(part) || !(all > 0))
        return;
    bj_buf_printf(b, "<tr><th scope=\"row\">%s</th><td>",
                  bj_local_escaped(title));
    bj_widget_bar(b, BJ_LOOK_NONE, false, 100 * part / all);
    bj_buf_str(b, "</td><td class=\"n\">");
    bj_node_put_of(b, part, all);
    bj_buf_str(b, "</td></tr>\n");
}

static void node_put_fact(struct bj_buf *b, const char *title,
                          enum bj_amount_unit unit, double v)
{
    if (!node_known(v))
        return;
    bj_buf_printf(b, "<div><dt>%s</dt><dd>", bj_local_escaped(title));
    bj_amount(b, unit, v);
    bj_buf_str(b, "</dd></div>");
}

static void node_put_now(struct bj_buf *b, const struct bj_node *n)
{
    const double *v = n->value;
    char text[BJ_AMOUNT_COUNT];
    bj_widget_card(b, "Now", NULL, NULL);
    const size_t before = b->len;
    bj_local_html(b, "<table class=\"use\"><thead><tr><th scope=\"col\">{What}"
                     "</th><th scope=\"col\">{Part}</th><th scope=\"col\" "
                     "class=\"n\">{Amount}</th></tr></thead><tbody>\n");
    const size_t head = b->len;
    node_put_use(b, "CPUs held", v[BJ_NODE_HELD], v[BJ_NODE_CPUS]);
    node_put_use(b, "CPUs busy", v[BJ_NODE_BUSY], v[BJ_NODE_CPUS]);
    node_put_use(b, "GPUs held", v[BJ_NODE_GPUS_HELD], v[BJ_NODE_GPUS]);
    node_put_use(b, "GPUs busy", v[BJ_NODE_GPUS_BUSY], v[BJ_NODE_GPUS]);
    if (b->len == head && !b->failed)
        b->len = before;
    else
        bj_buf_str(b, "</tbody></table>");
    bj_buf_str(b, "<dl class=\"facts\">");
    node_put_fact(b, "Memory in use", BJ_AMOUNT_PERCENT, v[BJ_NODE_MEMORY]);
    node_put_fact(b, "Power now", BJ_AMOUNT_WATTS, v[BJ_NODE_WATTS]);
    node_put_fact(b, "Up for, hours", BJ_AMOUNT_PLAIN,
                  v[BJ_NODE_UPTIME] / 3600);
    node_put_fact(b, "GPU errors, 7 days", BJ_AMOUNT_PLAIN, v[BJ_NODE_XID]);
    if (bj_node_gpu_health(n))
        bj_local_html(b, "<div><dt>{GPU health}</dt><dd>%s</dd></div>",
                      bj_local_escaped(bj_node_gpu_health(n)));
    bj_local_html(b, "<div><dt>{Jobs, 7 days}</dt><dd>%s</dd></div>",
                  bj_amount_count(text, n->jobs));
    bj_local_html(b, "<div><dt>{Failed}</dt><dd>%s</dd></div></dl>",
                  bj_amount_count(text, n->failed));
    bj_widget_card_end(b);
}

/* --- jobs ------------------------------------------------------------------
 */

static const char *const node_keys[] = {
    "key",  "display_id", "name",
    "user", "state",      "start",
    "end",  "cpus",       "cpu_efficiency_percent",
    NULL};

struct node_jobs {
    struct bj_cells cells;
    struct bj_buf *b;
    int64_t from, to;
    uint64_t rows;
};

/* The time of a job within the week, as a strip. */
static void node_put_span(struct bj_buf *b, const struct node_jobs *j,
                          const struct bj_cells *row)
{
    const struct bj_cell *start = bj_cells_get(row, "start");
    const struct bj_cell *end = bj_cells_get(row, "end");
    const double all = (double)(j->to - j->from);
    double first, last = all;
    if (!start || start->kind != BJ_CELL_TIME)
        return;
    first = (double)(start->number - j->from);
    if (end && end->kind == BJ_CELL_TIME)
        last = (double)(end->number - j->from);
    first = first < 0 ? 0 : first > all ? all : first;
    last = last < first ? first : last > all ? all : last;
    const double width = 1000 * (last - first) / all;
    bj_buf_printf(b,
                  "<svg class=\"strip\" viewBox=\"0 0 1000 1\" "
                  "preserveAspectRatio=\"none\" aria-hidden=\"true\"><path "
                  "class=\"u3\" d=\"M%.4g 0h%.4gv1h-%.4gz\"/></svg>",
                  1000 * first / all, width < 2 ? 2 : width,
                  width < 2 ? 2 : width);
}

static void node_put_time(struct bj_buf *b, const struct bj_cells *row,
                          const char *key)
{
    const struct bj_cell *v = bj_cells_get(row, key);
    if (v && v->kind == BJ_CELL_TIME)
        bj_page_time(b, v->number);
}

static void node_put_job(void *ctx, const struct bj_cells *row)
{
    struct node_jobs *j = ctx;
    struct bj_buf *b = j->b;
    const struct bj_cell *state = bj_cells_get(row, "state");
    const struct bj_cell *use = bj_cells_get(row, "cpu_efficiency_percent");
    j->rows++;
    bj_buf_str(b, "<tr><th scope=\"row\" class=\"wrap\">");
    bj_page_named(b, row, "../");
    bj_buf_str(b, "</th><td class=\"r\">");
    if (state)
        bj_widget_state(b, state->text);
    bj_buf_str(b, "</td><td><bdi>");
    bj_page_text(b, row, "user");
    bj_buf_printf(b, "</bdi></td><td class=\"p\">");
    node_put_time(b, row, "start");
    bj_buf_str(b, "</td><td class=\"p\">");
    node_put_time(b, row, "end");
    bj_buf_str(b, "</td><td class=\"st p\">");
    node_put_span(b, j, row);
    bj_buf_printf(b, "</td><td class=\"n\" data-l=\"%s\">",
                  bj_local_escaped("CPUs"));
    bj_page_text(b, row, "cpus");
    bj_buf_printf(b, "</td><td data-l=\"%s\">", bj_local_escaped("CPU use"));
    if (use && use->kind == BJ_CELL_NUMBER) {
        double v = (double)use->number;
        for (unsigned i = 0; i < use->digits; i++)
            v /= 10;
        bj_widget_bar(b, BJ_LOOK_NONE, false, v);
    } else {
        bj_buf_str(b, "&ndash;");
    }
    bj_buf_str(b, "</td></tr>\n");
}

/* The jobs that ran on the node within the last week, the newest first: jobs
 * whose strips overlap shared it. */
static int node_put_jobs(struct bj_call *c, const struct bj_params *filters)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_params p = *filters;
    struct bj_jobs_end end = {0};
    struct node_jobs j = {
        .b = b, .from = c->now_sec - POINTS * STEP, .to = c->now_sec};
    j.cells = (struct bj_cells){.row = node_put_job, .ctx = &j};
    int r =
        bj_params_put(c, &p, BJ_BIT(BJ_PARAM_NODE), BJ_SLICE("node"), c->tail);
    for (unsigned i = 0; node_keys[i] && r == 0; i++)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          bj_slice_str(node_keys[i]));
    if (r != 0)
        return r;
    p.given[BJ_PARAM_FROM] = p.given[BJ_PARAM_LIMIT] = true;
    p.number[BJ_PARAM_FROM] = j.from;
    p.number[BJ_PARAM_LIMIT] = JOBS;
    bj_widget_card(b, "Jobs on this node in the last 7 days", NULL, NULL);
    const size_t before = b->len;
    bj_widget_table(b, bj_local_escaped("Jobs on this node"), "stack", true);
    const size_t head = b->len;
    bj_local_html(b, "<thead><tr><th scope=\"col\">{Job}</th><th "
                     "scope=\"col\">{State}</th><th scope=\"col\">{User}</th>"
                     "<th scope=\"col\" class=\"p\">{Started}</th><th "
                     "scope=\"col\" class=\"p\">{Ended}</th><th scope=\"col\" "
                     "class=\"p\">{When}</th><th scope=\"col\" class=\"n\">"
                     "{CPUs}</th><th scope=\"col\">{CPU use}</th></tr></thead>"
                     "<tbody>\n");
    r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &j.cells}, &end);
    if (*end.next)
        bj_widget_table_part(b, head);
    bj_widget_table_end(b);
    if (j.rows == 0 && !b->failed)
        b->len = before;
    if (j.rows == 0)
        bj_local_html(b, "<p class=\"none\">{No jobs that you may see.}</p>");
    else
        bj_local_html(b, "<p class=\"small\">{Jobs whose times overlap shared "
                         "the node. CPU use is that of the whole job.} <a "
                         "href=\"../jobs?node=");
    if (j.rows > 0) {
        bj_url_text(b, c->tail);
        bj_local_html(b, "\">{All its jobs}</a></p>");
    }
    bj_widget_card_end(b);
    bj_cells_free(&j.cells);
    return r;
}

/* --- curves and events -----------------------------------------------------
 */

static const struct bj_grid_row *node_row(const struct bj_grid *g,
                                          const char *part)
{
    for (size_t i = 0; i < g->rows; i++)
        if (strcmp(g->row[i].part, part) == 0)
            return &g->row[i];
    return NULL;
}

static void node_put_chart(struct bj_buf *b, const struct bj_grid *g,
                           const char *title, enum bj_chart_unit unit,
                           const char *const part[2], const char *const name[2])
{
    char words[BJ_GRID_SINCE];
    struct bj_chart chart = bj_grid_chart(g, title, unit, words);
    for (int i = 0; i < 2 && part[i]; i++) {
        const struct bj_grid_row *row = node_row(g, part[i]);
        if (row)
            chart.line[chart.lines++] =
                (struct bj_chart_line){bj_local(name[i]), row->value, false};
    }
    if (chart.lines > 0 && bj_chart_has_values(&chart))
        bj_chart_figure(b, &chart);
}

static void node_put_charts(struct bj_buf *b, const struct bj_grid *g)
{
    bj_local_html(b, "<section class=\"card\" data-zoom><h2>{The last 7 "
                     "days}</h2><div class=\"charts\">\n");
    node_put_chart(b, g, "CPUs", BJ_CHART_PLAIN,
                   (const char *const[]){"busy", "held"},
                   (const char *const[]){"busy", "held"});
    node_put_chart(b, g, "Memory in use", BJ_CHART_PERCENT,
                   (const char *const[]){"memory", NULL},
                   (const char *const[]){"used", NULL});
    node_put_chart(b, g, "GPUs", BJ_CHART_PLAIN,
                   (const char *const[]){"gpus_busy", "gpus_held"},
                   (const char *const[]){"busy", "held"});
    node_put_chart(b, g, "Power", BJ_CHART_WATTS,
                   (const char *const[]){"watts", NULL},
                   (const char *const[]){"used", NULL});
    bj_buf_str(b, "</div></section>\n");
}

/* The state of the node at a point, or its reason; {NULL, 0}: not known. */
static struct bj_slice node_text_at(const struct bj_grid *g, unsigned i,
                                    bool (*is_of)(const struct bj_grid_row *))
{
    for (size_t k = 0; k < g->rows; k++)
        if (is_of(&g->row[k]) && g->row[k].value[i] > 0) {
            struct bj_slice s = g->row[k].label[2];
            s.n -= is_of == bj_nodes_is_state && s.n > 0 && s.p[s.n - 1] == '+';
            return s;
        }
    return (struct bj_slice){NULL, 0};
}

static void node_put_event(struct bj_buf *b, const struct bj_grid *g,
                           unsigned at, bool has_reasons)
{
    const struct bj_slice state = node_text_at(g, at, bj_nodes_is_state);
    bj_buf_str(b, "<tr><td>");
    bj_page_time(b, g->range.from + (int64_t)at * STEP);
    bj_buf_str(b, "</td><td>");
    if (state.n > 0)
        bj_html_text(b, state);
    else
        bj_local_html(b, "{not known}");
    if (has_reasons) {
        bj_buf_str(b, "</td><td class=\"wrap\"><bdi>");
        bj_html_text(b, node_text_at(g, at, bj_nodes_is_reason));
        bj_buf_str(b, "</bdi>");
    }
    bj_buf_str(b, "</td></tr>\n");
}

/* The changes of state and reason that the scheduler reported, newest first. */
static void node_put_events(struct bj_buf *b, const struct bj_grid *g)
{
    unsigned at[EVENTS], n = 0;
    bool any = false, has_reasons = false;
    for (size_t k = 0; k < g->rows; k++)
        has_reasons |= bj_nodes_is_reason(&g->row[k]);
    for (unsigned i = POINTS - 1; i > 0 && n < EVENTS; i--) {
        any |= node_text_at(g, i, bj_nodes_is_state).n > 0;
        if (!bj_slice_eq(node_text_at(g, i, bj_nodes_is_state),
                         node_text_at(g, i - 1, bj_nodes_is_state)) ||
            !bj_slice_eq(node_text_at(g, i, bj_nodes_is_reason),
                         node_text_at(g, i - 1, bj_nodes_is_reason)))
            at[n++] = i;
    }
    if (!any)
        return;
    bj_widget_card(b, "State, 7 days", NULL, NULL);
    bj_widget_table(b, bj_local_escaped("State, 7 days"), "", true);
    bj_local_html(b, "<thead><tr><th scope=\"col\">{Since}</th><th "
                     "scope=\"col\">{State}</th>");
    if (has_reasons)
        bj_local_html(b, "<th scope=\"col\">{Reason}</th>");
    bj_buf_str(b, "</tr></thead><tbody>\n");
    for (unsigned i = 0; i < n; i++)
        node_put_event(b, g, at[i], has_reasons);
    if (n < EVENTS)
        node_put_event(b, g, 0, has_reasons);
    bj_widget_table_end(b);
    bj_local_html(b, "<p class=\"small\">{As the scheduler reported it, to the "
                     "hour; shorter changes are not shown.}</p>");
    bj_widget_card_end(b);
}

/* --- the page --------------------------------------------------------------
 */

static const struct bj_node *node_find(const struct bj_nodes *n,
                                       struct bj_slice name)
{
    for (size_t i = 0; i < n->n; i++)
        if (bj_slice_eq(n->v[i].name, name))
            return &n->v[i];
    /* the scraped address may have a domain */
    for (size_t i = 0; i < n->n; i++)
        if (bj_slice_starts(n->v[i].name, name))
            return &n->v[i];
    return NULL;
}

static void node_put_page(struct bj_call *c, const struct bj_grid *g)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_nodes *n = g->work;
    b->failed |= bj_nodes_take(n, g) < 0;
    const struct bj_node *node = node_find(n, c->tail);
    bj_grid_put_why(b, g);
    if (node) {
        node_put_verdict(c, n, node);
        node_put_now(b, node);
    } else if (!g->why) {
        bj_local_html(b, "<p class=\"none\">{Prometheus has no data of this "
                         "node.}</p>\n");
    }
    if (!g->why && node)
        node_put_charts(b, g);
    bj_buf_put(b, n->jobs.p, n->jobs.len);
    b->failed |= n->jobs.failed;
    if (!g->why && node) {
        node_put_events(b, g);
        bj_nodes_put_history(b, n, c->now_sec, node);
    }
    bj_page_close(c);
}

static int node_open(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body, title = {0};
    bj_buf_str(&title, bj_local("Node"));
    bj_buf_str(&title, " ");
    bj_buf_slice(&title, c->tail);
    bj_buf_put(&title, "", 1);
    b->failed |= title.failed;
    bj_page_frame(c, title.failed ? "" : title.p, "../", 0);
    bj_buf_free(&title);
    bj_local_html(b, "<div class=\"head\"><div><p class=\"small\"><a "
                     "href=\"../nodes\">{Nodes}</a></p><h1><bdi>");
    bj_html_text(b, c->tail);
    bj_local_html(b, "</bdi></h1></div><div class=\"acts\"><a class=\"btn\" "
                     "href=\"../jobs?node=");
    bj_url_text(b, c->tail);
    bj_local_html(b, "\">{All its jobs}</a></div></div>\n");
    return b->failed ? bj_err_set(&c->err, -ENOMEM, "node") : 0;
}

static int on_node(struct bj_call *c)
{
    struct bj_params p;
    struct bj_grid *g = NULL;
    struct bj_nodes *n = calloc(1, sizeof(*n));
    if (!n)
        return bj_err_set(&c->err, -ENOMEM, "node");
    int r = bj_params_read(c, MASK, &p);
    if (r == 0)
        r = bj_grid_new(c, bj_params_text(&p, BJ_PARAM_CLUSTER), POINTS, STEP,
                        &g);
    if (r != 0) {
        bj_nodes_free(n);
        return r;
    }
    g->work = n;
    g->free_work = bj_nodes_free;
    r = bj_grid_node(g, c->tail);
    if (r == 0)
        r = bj_nodes_week(c, &p, c->tail, n);
    if (r == 0)
        r = node_open(c);
    const size_t len = c->reply->body.len;
    if (r == 0)
        r = node_put_jobs(c, &p);
    if (r != 0) {
        bj_grid_drop(g);
        return r;
    }
    /* the second part writes what comes before them */
    bj_buf_put(&n->jobs, c->reply->body.p + len, c->reply->body.len - len);
    c->reply->body.len = len;
    bj_nodes_query(g, c->identity.admin);
    if (c->identity.admin)
        bj_nodes_query_history(g);
    return bj_grid_run(c, g, node_put_page);
}

static int after_node(struct bj_call *c)
{
    return bj_grid_after(c, node_put_page);
}

const struct bj_endpoint bj_endpoints_page_node[] = {
    {.path = "/nodes/*",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_node,
     .after = after_node,
     .refused = bj_page_refuse,
     .to_root = "../",
     .help = "Web page: one node: what is wrong with it, its jobs, its values "
             "over the last week.",
     .type = "text/html",
     .params = MASK},
    {.path = NULL},
};
