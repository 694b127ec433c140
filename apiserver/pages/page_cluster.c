/* The page of the cluster: nodes, CPUs and GPUs by state, now and over the last
 * day, from the cluster collector through Prometheus. */
#include "apiserver/job/chart.h"
#include "apiserver/pages/grid.h"
#include "apiserver/pages/pages.h"
#include "base/html.h"
#include "base/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTS = 96, /* points of a day */
    STEP = 900,
    STATES = 60, /* maximum number of states with their flags */
    MASK = BJ_BIT(BJ_PARAM_CLUSTER)
};

/* The columns of the table. */
static const struct {
    const char *part, *metric, *title;
} columns[] = {
    {"nodes", "batchjob_cluster_nodes", "Nodes"},
    {"cpus", "batchjob_cluster_cpus", "CPUs"},
    {"cpus_allocated", "batchjob_cluster_cpus_allocated", "CPUs in use"},
    {"cpus_idle", "batchjob_cluster_cpus_idle", "CPUs free"},
    {"gpus", "batchjob_cluster_gpus", "GPUs"},
    {"gpus_allocated", "batchjob_cluster_gpus_allocated", "GPUs in use"},
    {"gpus_idle", "batchjob_cluster_gpus_idle", "GPUs free"},
    {"gpus_blocked", "batchjob_cluster_gpus_blocked", "GPUs blocked"},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static bool cluster_known(double v)
{
    return v - v == 0;
}

/* --- now -------------------------------------------------------------------
 */

static void put_state(struct bj_buf *b, const struct bj_slice *label)
{
    bj_html_text(b, label[0]);
    if (label[1].n > 0) {
        bj_buf_str(b, " (");
        bj_html_text(b, label[1]);
        bj_buf_str(b, ")");
    }
}

static void cluster_put_cell(struct bj_buf *b, const bool *has, unsigned column,
                             double v)
{
    if (!has[column])
        return;
    bj_buf_printf(b, "<td class=\"n%s\" data-l=\"%s\">",
                  cluster_known(v) ? "" : " e",
                  bj_local_escaped(columns[column].title));
    if (cluster_known(v))
        bj_page_amount(b, BJ_SHOW_NUMBER, v);
    else
        bj_buf_str(b, "<span class=\"none\">-</span>");
    bj_buf_str(b, "</td>");
}

static int by_nodes(const void *a, const void *b)
{
    const struct bj_grid_row *const *x = a, *const *y = b;
    double p = (*x)->value[POINTS - 1], q = (*y)->value[POINTS - 1];
    p = cluster_known(p) ? p : -1;
    q = cluster_known(q) ? q : -1;
    return (p < q) - (p > q);
}

static void cluster_put_head(struct bj_buf *b, const bool *has)
{
    bj_local_html(
        b,
        "<div class=\"wide\"><table class=\"stack\" data-sort><thead><tr><th "
        "scope=\"col\">{State}</th>");
    for (unsigned i = 0; i < COLUMNS; i++)
        if (has[i])
            bj_buf_printf(b, "<th scope=\"col\" class=\"n\">%s</th>",
                          bj_local_escaped(columns[i].title));
    bj_buf_str(b, "</tr></thead><tbody>\n");
}

static void put_total(struct bj_buf *b, const bool *has, const double *sum)
{
    bj_local_html(b, "</tbody><tfoot><tr><td data-l=\"{State}\">{Total}</td>");
    for (unsigned i = 0; i < COLUMNS; i++)
        cluster_put_cell(b, has, i, sum[i]);
    bj_buf_str(b, "</tr></tfoot></table></div>\n");
}

/* Append rows of the current states of nodes, the most frequent first. */
static void put_now(struct bj_buf *b, const struct bj_grid *g)
{
    const struct bj_grid_row *row[STATES];
    double sum[COLUMNS];
    bool has[COLUMNS] = {false};
    unsigned n = 0;
    for (size_t i = 0; i < g->rows && n < STATES; i++)
        if (g->row[i].part == columns[0].part && bj_grid_now(g, &g->row[i]) > 0)
            row[n++] = &g->row[i];
    bj_local_html(b, "<h2>{Now}</h2>\n");
    if (n == 0) {
        bj_local_html(b, "<p class=\"none\">{The Prometheus server has no data "
                         "of nodes by state. An exporter with the collector "
                         "\"cluster\" provides them.}</p>\n");
        return;
    }
    qsort(row, n, sizeof(*row), by_nodes);
    for (unsigned i = 0; i < COLUMNS; i++) {
        sum[i] = __builtin_nan("");
        for (size_t k = 0; k < g->rows; k++)
            has[i] |= g->row[k].part == columns[i].part;
    }
    cluster_put_head(b, has);
    for (unsigned i = 0; i < n; i++) {
        bj_local_html(b, "<tr><td class=\"wrap\" data-l=\"{State}\">");
        put_state(b, row[i]->label);
        bj_buf_str(b, "</td>");
        for (unsigned k = 0; k < COLUMNS; k++) {
            double v =
                bj_grid_now(g, bj_grid_find(g, columns[k].part, row[i]->label));
            cluster_put_cell(b, has, k, v);
            sum[k] = !cluster_known(v)       ? sum[k]
                     : cluster_known(sum[k]) ? sum[k] + v
                                             : v;
        }
        bj_buf_str(b, "</tr>\n");
    }
    put_total(b, has, sum);
}

/* --- over the last day -----------------------------------------------------
 */

enum kind { IN_USE, IDLE, AWAY, OTHER, KINDS };

static bool has(struct bj_slice s, const char *text)
{
    return memmem(s.p, s.n, text, strlen(text)) != NULL;
}

static enum kind cluster_kind_of(const struct bj_slice *label)
{
    static const char *const away[] = {"drain", "fail", "not_responding",
                                       "maint", "power"};
    for (size_t i = 0; i < sizeof(away) / sizeof(away[0]); i++)
        if (has(label[1], away[i]))
            return AWAY;
    static const struct {
        const char *state;
        enum kind kind;
    } states[] = {{"allocated", IN_USE},
                  {"mixed", IN_USE},
                  {"idle", IDLE},
                  {"down", AWAY},
                  {"error", AWAY}};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (bj_slice_eq(label[0], bj_slice_str(states[i].state)))
            return states[i].kind;
    return OTHER;
}

static void put_chart(struct bj_buf *b, const struct bj_grid *g,
                      const char *part, const char *title)
{
    static const char *const names[KINDS] = {"In use", "Idle",
                                             "Down or drained", "Other"};
    double value[KINDS][POINTS], used[KINDS] = {0};
    char words[BJ_GRID_SINCE];
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned i = 0; i < POINTS; i++)
            value[k][i] = __builtin_nan("");
    for (size_t r = 0; r < g->rows; r++)
        for (unsigned i = 0; g->row[r].part == part && i < POINTS; i++) {
            enum kind k = cluster_kind_of(g->row[r].label);
            double v = g->row[r].value[i];
            if (!cluster_known(v))
                continue;
            value[k][i] = cluster_known(value[k][i]) ? value[k][i] + v : v;
            used[k] += v;
        }
    struct bj_chart chart = bj_grid_chart(g, title, BJ_CHART_PLAIN, words);
    for (unsigned k = 0; k < KINDS; k++)
        if (used[k] > 0)
            chart.line[chart.lines++] =
                (struct bj_chart_line){bj_local(names[k]), value[k], false};
    if (bj_chart_has_values(&chart))
        bj_chart_figure(b, &chart);
}

/* --- the page --------------------------------------------------------------
 */

static void add_queries(struct bj_grid *g)
{
    char promql[160];
    g->labels[0] = "state";
    g->labels[1] = "flags";
    for (unsigned i = 0; i < COLUMNS; i++) {
        snprintf(promql, sizeof(promql),
                 "sum by(state,flags)(max without(instance,job)(%s$S))",
                 columns[i].metric);
        bj_grid_add(g, columns[i].part, promql);
    }
}

static void cluster_put_page(struct bj_call *c, const struct bj_grid *g)
{
    struct bj_buf *b = &c->reply->body;
    if (!bj_grid_put_why(b, g)) {
        put_now(b, g);
        bj_local_html(b, "<h2>{The last day}</h2>\n<div class=\"charts\">\n");
        put_chart(b, g, columns[0].part, "Nodes by state");
        put_chart(b, g, columns[1].part, "CPUs by state of their node");
        put_chart(b, g, columns[4].part, "GPUs by state of their node");
        bj_local_html(
            b, "</div>\n<p class=\"mute\">{In use: allocated or mixed. Down or "
               "drained: down, draining, drained, failing, in maintenance, not "
               "responding, or switched off. GPUs are blocked when their node "
               "has no CPUs left for them.}</p>\n");
    }
    bj_page_close(c);
}

static int on_cluster(struct bj_call *c)
{
    struct bj_params p;
    struct bj_grid *g = NULL;
    int r = bj_params_read(c, MASK, &p);
    if (r == 0)
        r = bj_grid_new(c, bj_params_text(&p, BJ_PARAM_CLUSTER), POINTS, STEP,
                        &g);
    if (r != 0)
        return r;
    add_queries(g);
    bj_page_open(c, bj_local("Cluster"), "");
    bj_buf_str(&c->reply->body, "<form>");
    bj_page_input(&c->reply->body, &p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_local_html(&c->reply->body, "<button>{Show}</button></form>\n");
    return bj_grid_run(c, g, cluster_put_page);
}

static int after_cluster(struct bj_call *c)
{
    return bj_grid_after(c, cluster_put_page);
}

const struct bj_endpoint bj_endpoints_page_cluster[] = {
    {.path = "/cluster",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_USER,
     .run = on_cluster,
     .after = after_cluster,
     .refused = bj_page_refuse,
     .to_root = "",
     .menu = "Cluster",
     .help = "Web page: nodes, CPUs and GPUs by state.",
     .type = "text/html",
     .params = MASK},
    {.path = NULL},
};
