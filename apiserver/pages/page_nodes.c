/* The page of all nodes: their state and use now, and the worst of the last
 * week. */
#include "apiserver/frame/page.h"
#include "apiserver/pages/nodes.h"
#include "apiserver/pages/pages.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"

#include <stdlib.h>

enum {
    POINTS = 3,
    STEP = 120,
    WORST = 25,         /* nodes of that table */
    TILES = 1500,       /* more have no tiles */
    ROWS = 200,         /* of the list */
    HISTORY_STEP = 600, /* seconds, of the query of reasons */
    MASK = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_SHOW)
};

static bool page_known(double v)
{
    return v - v == 0;
}

static const struct {
    const char *title;
    enum bj_node_service service;
} nodes_services[] = {{"Full", BJ_NODE_FULL},
                      {"Partly used", BJ_NODE_PARTLY},
                      {"Free", BJ_NODE_FREE},
                      {"Out of service", BJ_NODE_OUT},
                      {"Not known", BJ_NODE_UNKNOWN}};
enum { SERVICES = sizeof(nodes_services) / sizeof(nodes_services[0]) };

const char *bj_node_service_title(enum bj_node_service service)
{
    for (size_t i = 0; i < SERVICES; i++)
        if (nodes_services[i].service == service)
            return nodes_services[i].title;
    return "Not known";
}

void bj_node_put_link(struct bj_buf *b, struct bj_slice name,
                      const char *to_root)
{
    bj_buf_printf(b, "<a href=\"%snodes/", to_root);
    bj_url_text(b, name);
    bj_buf_str(b, "\"><bdi>");
    bj_html_text(b, name);
    bj_buf_str(b, "</bdi></a>");
}

/* --- figures ---------------------------------------------------------------
 */

static void nodes_put_figures(struct bj_buf *b, const struct bj_nodes *n)
{
    char text[BJ_AMOUNT_COUNT];
    size_t unknown = 0;
    for (size_t i = 0; i < n->n; i++)
        unknown += bj_node_service_of(&n->v[i]) == BJ_NODE_UNKNOWN;
    bj_buf_str(b, "<dl class=\"card stats\">");
    for (size_t k = 0; k < SERVICES; k++) {
        int64_t nodes = 0;
        double cpus = 0, gpus = 0;
        for (size_t i = 0; i < n->n; i++) {
            const struct bj_node *v = &n->v[i];
            if (bj_node_service_of(v) != nodes_services[k].service)
                continue;
            const double free = v->value[BJ_NODE_CPUS] - v->value[BJ_NODE_HELD];
            const double idle =
                v->value[BJ_NODE_GPUS] - v->value[BJ_NODE_GPUS_HELD];
            nodes++;
            cpus += page_known(free) && free > 0 ? free : 0;
            gpus += page_known(idle) && idle > 0 ? idle : 0;
        }
        /* Where no state is known, none of the others is 0. */
        if (nodes == 0 &&
            (unknown == n->n || nodes_services[k].service == BJ_NODE_UNKNOWN))
            continue;
        bj_buf_printf(
            b, "<div><dt>%s</dt><dd>%s<div class=\"sub\">",
            bj_local_escaped(nodes_services[k].service == BJ_NODE_UNKNOWN
                                 ? "State not known"
                                 : nodes_services[k].title),
            bj_amount_count(text, nodes));
        if (nodes_services[k].service == BJ_NODE_PARTLY ||
            nodes_services[k].service == BJ_NODE_FREE) {
            bj_local_html(b, "{%s CPUs free}",
                          bj_amount_count(text, (int64_t)cpus));
            if (gpus > 0)
                bj_local_html(b, ", {%s GPUs free}",
                              bj_amount_count(text, (int64_t)gpus));
        }
        bj_buf_str(b, "</div></dd></div>");
    }
    bj_buf_str(b, "</dl>\n");
}

/* --- which nodes
 * --------------------------------------------------------------
 */

enum nodes_show { SHOW_ALL, SHOW_OUT, SHOW_WORST, SHOW_GPUS, SHOWS };

static const struct {
    const char *value, *title;
} nodes_shows[SHOWS] = {[SHOW_ALL] = {"", "All"},
                        [SHOW_OUT] = {"out", "Out of service"},
                        [SHOW_WORST] = {"worst", "Worst of the week"},
                        [SHOW_GPUS] = {"gpus", "With GPUs"}};

static bool nodes_is_shown(const struct bj_nodes *n, const struct bj_node *v,
                           enum nodes_show show)
{
    switch (show) {
    case SHOW_OUT:
        return bj_node_service_of(v) == BJ_NODE_OUT;
    case SHOW_WORST:
        return bj_node_trouble_of(n, v).look != BJ_LOOK_NONE;
    case SHOW_GPUS:
        return v->value[BJ_NODE_GPUS] > 0;
    default:
        return true;
    }
}

/* The number of these nodes; -1: it is known of no node whether it is one. */
static int64_t nodes_count(const struct bj_nodes *n, enum nodes_show show)
{
    int64_t nodes = 0;
    bool known = show == SHOW_ALL || show == SHOW_WORST;
    for (size_t i = 0; i < n->n; i++) {
        const struct bj_node *v = &n->v[i];
        known |= show == SHOW_GPUS ? page_known(v->value[BJ_NODE_GPUS])
                                   : bj_node_service_of(v) != BJ_NODE_UNKNOWN;
        nodes += nodes_is_shown(n, v, show);
    }
    return known ? nodes : -1;
}

static void nodes_put_tabs(struct bj_call *c, const struct bj_nodes *n)
{
    struct bj_buf *b = &c->reply->body, href = {0};
    bj_buf_str(b, "<ul class=\"tabs\">");
    for (unsigned i = 0; i < SHOWS; i++) {
        href.len = 0;
        bj_buf_str(&href, "nodes?");
        bj_page_args(&href, c, BJ_BIT(BJ_PARAM_SHOW));
        bj_buf_printf(&href, "show=%s", nodes_shows[i].value);
        bj_buf_put(&href, "", 1);
        b->failed |= href.failed;
        bj_widget_tab(b, href.failed ? "" : href.p, nodes_shows[i].title,
                      nodes_count(n, i), n->show == i);
    }
    bj_buf_str(b, "</ul>\n");
    bj_buf_free(&href);
}

/* --- the worst -------------------------------------------------------------
 */

struct worst {
    const struct bj_node *node;
    struct bj_node_trouble trouble;
};

/* The most serious first, then those with the most failed jobs. */
static int nodes_by_trouble(const void *a, const void *b)
{
    const struct worst *x = a, *y = b;
    if (x->trouble.rank != y->trouble.rank)
        return x->trouble.rank < y->trouble.rank ? -1 : 1;
    if (x->node->failed != y->node->failed)
        return x->node->failed > y->node->failed ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Append the first cells of a row: the node, what is wrong, how it shows. */
static void nodes_put_trouble(struct bj_buf *b, const struct bj_node *n,
                              const struct bj_node_trouble *t)
{
    bj_buf_str(b, "<tr><th scope=\"row\">");
    bj_node_put_link(b, n->name, "");
    bj_buf_str(b, "</th><td class=\"r\">");
    bj_widget_mark(b, t->look, bj_slice_str(bj_local(t->what)));
    bj_buf_str(b, "</td><td class=\"wrap w\">");
    bj_node_put_trouble(b, n, t);
    bj_buf_str(b, "</td>");
}

static void nodes_put_worst_row(struct bj_buf *b, const struct worst *w)
{
    char text[BJ_AMOUNT_COUNT];
    nodes_put_trouble(b, w->node, &w->trouble);
    bj_buf_printf(b, "<td class=\"n\" data-l=\"%s\">%s</td>",
                  bj_local_escaped("Jobs"),
                  bj_amount_count(text, w->node->jobs));
    bj_buf_printf(b, "<td class=\"n\" data-l=\"%s\">%s</td></tr>\n",
                  bj_local_escaped("Failed"),
                  bj_amount_count(text, w->node->failed));
}

void bj_nodes_put_worst(struct bj_buf *b, const struct bj_nodes *n, size_t most)
{
    struct worst *v = calloc(n->n + 1, sizeof(*v));
    size_t bad = 0;
    char text[BJ_AMOUNT_COUNT];
    b->failed |= !v;
    for (size_t i = 0; v && i < n->n; i++) {
        v[bad] = (struct worst){&n->v[i], bj_node_trouble_of(n, &n->v[i])};
        bad += v[bad].trouble.look != BJ_LOOK_NONE;
    }
    bj_widget_card(b, "Worst nodes of the last 7 days", NULL, NULL);
    if (bad == 0) {
        bj_local_html(b, "<p class=\"none\">{No node was slow, failed, or is "
                         "out of service, as far as it is known.}</p>");
    } else {
        qsort(v, bad, sizeof(*v), nodes_by_trouble);
        bj_widget_table(b, bj_local_escaped("Worst nodes of the last 7 days"),
                        "stack", true);
        bj_local_html(b, "<thead><tr><th scope=\"col\">{Node}</th><th "
                         "scope=\"col\">{What}</th><th scope=\"col\">{How it "
                         "shows}</th><th scope=\"col\" class=\"n\">{Jobs}</th>"
                         "<th scope=\"col\" class=\"n\">{Failed}</th></tr>"
                         "</thead><tbody>\n");
        for (size_t i = 0; i < bad && i < most; i++)
            nodes_put_worst_row(b, &v[i]);
        bj_widget_table_end(b);
    }
    if (bad > most)
        bj_local_html(b, "<p class=\"small\">{%d of %s.}</p>", (int)most,
                      bj_amount_count(text, (int64_t)bad));
    bj_widget_card_end(b);
    free(v);
}

static const struct bj_node_trouble nodes_out = {BJ_LOOK_BAD, "Out of service",
                                                 0},
                                    nodes_unmeasured = {BJ_LOOK_NOTE,
                                                        "Not measured", 0};

/* The nodes with that trouble: their number, and rows until *left is 0. */
static size_t nodes_put_rows(struct bj_buf *b, const struct bj_nodes *n,
                             const struct bj_node_trouble *t, size_t *left)
{
    size_t found = 0;
    for (size_t i = 0; i < n->n; i++) {
        const bool out = bj_node_service_of(&n->v[i]) == BJ_NODE_OUT;
        if (t == &nodes_out ? !out : out || n->v[i].value[BJ_NODE_UP] != 0)
            continue;
        found++;
        if (*left == 0)
            continue;
        --*left;
        nodes_put_trouble(b, &n->v[i], t);
        bj_buf_str(b, "</tr>\n");
    }
    return found;
}

/* In place of rows: whether the states are known at all. */
static void nodes_put_none_out(struct bj_buf *b, const struct bj_nodes *n)
{
    char text[BJ_AMOUNT_COUNT];
    size_t known = 0;
    for (size_t i = 0; i < n->n; i++)
        known += bj_node_service_of(&n->v[i]) != BJ_NODE_UNKNOWN;
    bj_local_html(b,
                  known == 0
                      ? "<p class=\"none\">{The states of nodes are not known: "
                        "no exporter reports them (cluster.by).}</p>"
                      : "<p class=\"none\">{No node is out of service, of %s "
                        "whose state is known.}</p>",
                  bj_amount_count(text, (int64_t)known));
}

void bj_nodes_put_out(struct bj_buf *b, const struct bj_grid *g,
                      const struct bj_nodes *n, size_t most)
{
    struct bj_buf rows = {0};
    char text[BJ_AMOUNT_COUNT];
    size_t left = most, found = nodes_put_rows(&rows, n, &nodes_out, &left);
    found += nodes_put_rows(&rows, n, &nodes_unmeasured, &left);
    bj_widget_card(b, "Nodes out of service", "nodes?show=out", "All");
    if (!bj_grid_put_why(b, g) && found == 0)
        nodes_put_none_out(b, n);
    if (found > 0) {
        bj_widget_table(b, bj_local_escaped("Nodes out of service"), "stack",
                        true);
        bj_local_html(b, "<thead><tr><th scope=\"col\">{Node}</th><th "
                         "scope=\"col\">{What}</th><th scope=\"col\">{How it "
                         "shows}</th></tr></thead><tbody>\n");
        bj_buf_slice(b, (struct bj_slice){rows.p, rows.len});
        bj_widget_table_end(b);
    }
    if (found > most)
        bj_local_html(b, "<p class=\"small\">{%d of %s.}</p>", (int)most,
                      bj_amount_count(text, (int64_t)found));
    bj_widget_card_end(b);
    b->failed |= rows.failed;
    bj_buf_free(&rows);
}

/* --- tiles and the list ----------------------------------------------------
 */

/* The class of a tile: the use of what is held, in four steps. */
static const char *nodes_class(const struct bj_node *n)
{
    const enum bj_node_service service = bj_node_service_of(n);
    const double held = n->value[BJ_NODE_HELD], busy = n->value[BJ_NODE_BUSY];
    if (service == BJ_NODE_OUT)
        return "down";
    if (service == BJ_NODE_FREE)
        return "free";
    if (!page_known(held) || !page_known(busy) || held <= 0)
        return "";
    const double part = busy / held;
    return part < 0.01  ? "ui"
           : part < 0.4 ? "u1"
           : part < 0.7 ? "u2"
           : part < 0.9 ? "u3"
                        : "u4";
}

static void nodes_put_tiles(struct bj_buf *b, const struct bj_nodes *n)
{
    bj_widget_card(b, "All nodes now", NULL, NULL);
    bj_buf_str(b, "<ol class=\"tiles\">");
    for (size_t i = 0; i < n->n && i < TILES; i++) {
        const struct bj_node *v = &n->v[i];
        const char *class = nodes_class(v);
        bj_buf_printf(b, "<li><a%s%s%s href=\"nodes/",
                      *class ? " class=\"" : "", class, *class ? "\"" : "");
        bj_url_text(b, v->name);
        bj_buf_str(b, "\" title=\"");
        bj_html_text(b, v->name);
        bj_buf_str(b, ": ");
        bj_buf_str(
            b, bj_local_escaped(bj_node_service_title(bj_node_service_of(v))));
        if (page_known(v->value[BJ_NODE_BUSY])) {
            bj_buf_str(b, ", ");
            bj_node_put_of(b, v->value[BJ_NODE_BUSY], v->value[BJ_NODE_CPUS]);
            bj_local_html(b, " {CPUs busy}");
        }
        bj_buf_str(b, "\">");
        bj_html_text(b, v->name);
        bj_buf_str(b, "</a></li>\n");
    }
    bj_local_html_str(b,
                      "</ol><p class=\"key\">{CPU use while held:} <span "
                      "class=\"k sq ui\">{idle}</span><span class=\"k sq u1\">"
                      "{below 40 %}</span><span class=\"k sq u2\">{40 to 70 "
                      "%}</span><span class=\"k sq u3\">{70 to 90 %}</span>"
                      "<span class=\"k sq u4\">{90 % and more}</span><span "
                      "class=\"k sq free\">{free}</span><span class=\"k sq "
                      "down\">{out of service}</span></p>");
    bj_widget_card_end(b);
}

static void nodes_put_amount(struct bj_buf *b, enum bj_amount_unit unit,
                             double v)
{
    if (page_known(v))
        bj_amount(b, unit, v);
    else
        bj_buf_str(b, "&ndash;");
}

static void nodes_put_row(struct bj_buf *b, const struct bj_node *v)
{
    char text[BJ_AMOUNT_COUNT];
    bj_buf_str(b, "<tr><th scope=\"row\">");
    bj_node_put_link(b, v->name, "");
    bj_buf_str(b, "</th><td class=\"r\">");
    bj_buf_str(b,
               bj_local_escaped(bj_node_service_title(bj_node_service_of(v))));
    if (v->state.n > 0 && bj_node_service_of(v) == BJ_NODE_OUT) {
        bj_buf_str(b, " <small>");
        bj_html_text(b, v->state);
        bj_node_put_reason(b, v);
        bj_buf_str(b, "</small>");
    }
    bj_buf_printf(b, "</td><td class=\"n\" data-l=\"%s\">",
                  bj_local_escaped("CPUs held"));
    bj_node_put_of(b, v->value[BJ_NODE_HELD], v->value[BJ_NODE_CPUS]);
    bj_buf_printf(b, "</td><td data-l=\"%s\">", bj_local_escaped("CPUs busy"));
    if (page_known(v->value[BJ_NODE_BUSY]) && v->value[BJ_NODE_CPUS] > 0)
        bj_widget_bar(b, BJ_LOOK_NONE, false,
                      100 * v->value[BJ_NODE_BUSY] / v->value[BJ_NODE_CPUS]);
    else
        bj_buf_str(b, "&ndash;");
    bj_buf_str(b, "</td><td class=\"n p\">");
    if (v->value[BJ_NODE_GPUS] > 0)
        bj_node_put_of(b, v->value[BJ_NODE_GPUS_HELD], v->value[BJ_NODE_GPUS]);
    bj_buf_str(b, "</td><td class=\"n p\">");
    nodes_put_amount(b, BJ_AMOUNT_PERCENT, v->value[BJ_NODE_MEMORY]);
    bj_buf_str(b, "</td><td class=\"n p\">");
    nodes_put_amount(b, BJ_AMOUNT_WATTS, v->value[BJ_NODE_WATTS]);
    bj_buf_printf(b, "</td><td class=\"n\" data-l=\"%s\">%s</td>",
                  bj_local_escaped("Jobs, 7 days"),
                  bj_amount_count(text, v->jobs));
    bj_buf_printf(b, "<td class=\"n\" data-l=\"%s\">%s</td></tr>\n",
                  bj_local_escaped("Failed"), bj_amount_count(text, v->failed));
}

static void nodes_put_list(struct bj_buf *b, const struct bj_nodes *n)
{
    char text[BJ_AMOUNT_COUNT];
    size_t rows = 0, shown = 0;
    for (size_t i = 0; i < n->n; i++)
        rows += nodes_is_shown(n, &n->v[i], n->show);
    bj_widget_card(b, n->show == SHOW_ALL ? "As a list" : "Nodes", NULL, NULL);
    bj_widget_table(b, bj_local_escaped("Nodes"), "stack", rows <= ROWS);
    bj_local_html(
        b, "<thead><tr><th scope=\"col\">{Node}</th><th scope=\"col\">{State}"
           "</th><th scope=\"col\" class=\"n\">{CPUs held}</th><th "
           "scope=\"col\">{CPUs busy}</th><th scope=\"col\" class=\"n p\">"
           "{GPUs held}</th><th scope=\"col\" class=\"n p\">{Memory}</th><th "
           "scope=\"col\" class=\"n p\">{Power}</th><th scope=\"col\" "
           "class=\"n\">{Jobs, 7 days}</th><th scope=\"col\" class=\"n\">"
           "{Failed}</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < n->n && shown < ROWS; i++)
        if (nodes_is_shown(n, &n->v[i], n->show) && ++shown)
            nodes_put_row(b, &n->v[i]);
    bj_widget_table_end(b);
    if (rows == 0)
        bj_local_html(b, "<p class=\"none\">{No node is of this kind, as far "
                         "as it is known.}</p>");
    if (rows > ROWS)
        bj_local_html(b, "<p class=\"small\">{%d of %s.}</p>", ROWS,
                      bj_amount_count(text, (int64_t)rows));
    bj_widget_card_end(b);
}

/* --- history ---------------------------------------------------------------
 */

static void nodes_put_history_row(struct bj_buf *b,
                                  const struct bj_node_reason *r,
                                  int64_t now_sec, bool has_node)
{
    bj_buf_str(b, "<tr>");
    if (has_node) {
        bj_buf_str(b, "<th scope=\"row\">");
        bj_node_put_link(b, r->node, "");
        bj_buf_str(b, "</th>");
    }
    bj_buf_str(b, "<td class=\"wrap w\"><bdi>");
    bj_html_text(b, r->text);
    bj_buf_printf(b, "</bdi></td><td data-l=\"%s\"><bdi>",
                  bj_local_escaped("Set by"));
    if (r->by.n > 0)
        bj_html_text(b, r->by);
    else
        bj_buf_str(b, "&ndash;");
    bj_buf_printf(b, "</bdi></td><td data-l=\"%s\">", bj_local_escaped("From"));
    bj_page_time(b, r->from);
    bj_buf_printf(b, "</td><td data-l=\"%s\">", bj_local_escaped("Until"));
    if (r->to + 2 * HISTORY_STEP > now_sec)
        bj_local_html(b, "{now}");
    else
        bj_page_time(b, r->to);
    bj_buf_str(b, "</td></tr>\n");
}

void bj_nodes_put_history(struct bj_buf *b, const struct bj_nodes *n,
                          int64_t now_sec, const struct bj_node *node)
{
    enum { MOST = 50 };
    static const char title[] = "Drained or down in the last 30 days";
    char text[BJ_AMOUNT_COUNT];
    if (n->reasons == 0)
        return;
    bj_widget_card(b, title, NULL, NULL);
    bj_widget_table(b, bj_local_escaped(title), "stack", true);
    bj_local_html(b, node ? "<thead><tr>"
                          : "<thead><tr><th scope=\"col\">{Node}</th>");
    bj_local_html(b, "<th scope=\"col\">{Reason}</th><th scope=\"col\">{Set "
                     "by}</th><th scope=\"col\">{From}</th><th "
                     "scope=\"col\">{Until}</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < n->reasons && i < MOST; i++)
        nodes_put_history_row(b, &n->reason[i], now_sec, !node);
    bj_widget_table_end(b);
    if (n->reasons > MOST)
        bj_local_html(b, "<p class=\"small\">{%d of %s.}</p>", MOST,
                      bj_amount_count(text, (int64_t)n->reasons));
    bj_local_html(b, "<p class=\"small mute\">{Reasons that the scheduler "
                     "had for states of nodes, to ten minutes, as far as "
                     "Prometheus goes back; a reason that came twice is one "
                     "row.}</p>");
    bj_widget_card_end(b);
}

/* --- the page --------------------------------------------------------------
 */

static void nodes_put_page(struct bj_call *c, const struct bj_grid *g)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_nodes *n = g->work;
    b->failed |= bj_nodes_take(n, g) < 0;
    bj_grid_put_why(b, g);
    if (n->n == 0) {
        bj_local_html(b, "<p class=\"none\">{No nodes are known: no jobs ended "
                         "on one in the last 7 days, and Prometheus has no "
                         "data of nodes.}</p>\n");
    } else {
        if (!g->why)
            nodes_put_figures(b, n);
        nodes_put_tabs(c, n);
        if (n->show == SHOW_ALL || n->show == SHOW_WORST)
            bj_nodes_put_worst(b, n, n->show == SHOW_WORST ? ROWS : WORST);
        if (n->show == SHOW_ALL && !g->why && n->n <= TILES)
            nodes_put_tiles(b, n);
        if (n->show != SHOW_WORST)
            nodes_put_list(b, n);
        if (n->show == SHOW_ALL || n->show == SHOW_OUT)
            bj_nodes_put_history(b, n, c->now_sec, NULL);
    }
    bj_local_html_str(b,
                      "<p class=\"small mute\">{Jobs and failed: those of the "
                      "last 7 days that you may see.} {A node is slow if jobs "
                      "of several users had its CPUs busy for less than 70 % "
                      "of the median of their nodes.} {State and CPUs held are "
                      "known if an exporter reports "
                      "them (cluster.by).}</p>\n");
    bj_page_close(c);
}

static int on_nodes(struct bj_call *c)
{
    struct bj_params p;
    struct bj_grid *g = NULL;
    struct bj_nodes *n = calloc(1, sizeof(*n));
    if (!n)
        return bj_err_set(&c->err, -ENOMEM, "nodes");
    int r = bj_params_read(c, MASK, &p);
    while (r == 0 && n->show < SHOWS &&
           !bj_slice_eq(bj_params_text(&p, BJ_PARAM_SHOW),
                        bj_slice_str(nodes_shows[n->show].value)))
        n->show++;
    if (r == 0 && n->show == SHOWS)
        r = bj_call_refuse(c, 400,
                           "The parameter show must be out, worst or gpus.");
    if (r == 0)
        r = bj_grid_new(c, bj_params_text(&p, BJ_PARAM_CLUSTER), POINTS, STEP,
                        &g);
    if (r != 0) {
        bj_nodes_free(n);
        return r;
    }
    g->work = n;
    g->free_work = bj_nodes_free;
    r = bj_nodes_week(c, &p, (struct bj_slice){NULL, 0}, n);
    if (r != 0) {
        bj_grid_drop(g);
        return r;
    }
    bj_nodes_query(g, c->identity.admin);
    if (c->identity.admin)
        bj_nodes_query_history(g);
    bj_page_frame(c, bj_local("Nodes"), "", 0);
    bj_local_html(&c->reply->body,
                  "<div class=\"head\"><div><h1>{Nodes}</h1></div><form "
                  "class=\"filters\">");
    bj_page_input(&c->reply->body, &p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_local_html(&c->reply->body, "<button>{Show}</button></form></div>\n");
    return bj_grid_run(c, g, nodes_put_page);
}

static int after_nodes(struct bj_call *c)
{
    return bj_grid_after(c, nodes_put_page);
}

const struct bj_endpoint bj_endpoints_page_nodes[] = {
    {.path = "/nodes",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_nodes,
     .after = after_nodes,
     .refused = bj_page_refuse,
     .to_root = "",
     .menu = "Nodes",
     .help = "Web page: all nodes now, and the worst of the last week.",
     .type = "text/html",
     .params = MASK},
    {.path = NULL},
};
