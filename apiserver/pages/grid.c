#include "apiserver/pages/grid.h"

#include "apiserver/frame/room.h"
#include "apiserver/frame/state.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/local.h"
#include "base/stamp.h"
#include "statsdb/prom/prom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECENT = 3, LIMIT_USEC = 4000000 };

void bj_grid_drop(struct bj_grid *g)
{
    if (!g)
        return;
    if (g->free_work)
        g->free_work(g->work);
    bj_prompool_unref(g->prom);
    bj_buf_free(&g->selector);
    bj_buf_free(&g->node);
    bj_buf_free(&g->query);
    bj_arena_free(&g->arena);
    free(g->row);
    free(g);
}

/* --- the query -------------------------------------------------------------
 */

/* Is it a name of a cluster that cannot change the query? */
static bool grid_is_plain(struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') ||
              (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
              (s.p[i] >= '0' && s.p[i] <= '9') ||
              (s.p[i] && strchr("._-", s.p[i]))))
            return false;
    return true;
}

static int make_selector(struct bj_call *c, struct bj_slice cluster,
                         struct bj_grid *g)
{
    const struct bj_prompool_conf *conf = &c->worker->conf->prom;
    struct bj_buf name = {0};
    if (!grid_is_plain(cluster))
        return bj_call_refuse(c, 400, "Unknown cluster.");
    bj_buf_slice(&name, cluster);
    bj_buf_put(&name, "", 1);
    bj_buf_str(&g->selector, "{");
    int r = name.failed ? bj_err_set(&c->err, -ENOMEM, "grid")
                        : bj_prom_matchers(&conf->server.match, name.p,
                                           &g->selector, &c->err);
    if (r == 0 && cluster.n > 0 && conf->cluster_label &&
        conf->cluster_label[0])
        bj_buf_printf(&g->selector, "%s=~\"%s|\"", conf->cluster_label, name.p);
    bj_buf_str(&g->selector, "}");
    bj_buf_put(&g->selector, "", 1);
    bj_buf_free(&name);
    return r;
}

int bj_grid_new(struct bj_call *c, struct bj_slice cluster, unsigned points,
                int64_t step, struct bj_grid **ret)
{
    struct bj_grid *g = calloc(1, sizeof(*g));
    if (!g)
        return bj_err_set(&c->err, -ENOMEM, "grid");
    const int64_t now = c->now_sec;
    g->server = c->worker->server;
    g->prom = bj_prompool_ref(c->worker->prom);
    g->since_usec = bj_clock_boot_usec();
    g->points = points;
    g->range = (struct bj_prompool_range){.from = now - (points - 1) * step,
                                          .to = now,
                                          .step = step,
                                          .limit_usec = LIMIT_USEC};
    int r = make_selector(c, cluster, g);
    if (!g->prom)
        g->why = "No Prometheus server is configured (prometheus.url).";
    else if (!bj_room_has_waiter(g->server))
        g->why = "Prometheus is busy; reload the page to try again.";
    if (r != 0) {
        bj_grid_drop(g);
        return r;
    }
    *ret = g;
    return 0;
}

int bj_grid_node(struct bj_grid *g, struct bj_slice node)
{
    bj_buf_slice(&g->node, node);
    return g->node.failed ? -ENOMEM : 0;
}

/* The value of $S, $N or $I. */
static void put_selector(const void *ctx, char x, struct bj_buf *b)
{
    const struct bj_grid *g = ctx;
    const struct bj_slice node = {g->node.p, g->node.len};
    if (g->selector.failed)
        return;
    /* the selector without its last bracket */
    struct bj_slice all = {g->selector.p, g->selector.len - 1};
    if (x == 'S' || node.n == 0) {
        bj_buf_slice(b, all);
        return;
    }
    all.n--;
    bj_buf_slice(b, all);
    if (all.n > 1 && all.p[all.n - 1] != ',')
        bj_buf_str(b, ",");
    bj_buf_str(b, x == 'N' ? "node=\"" : "instance=~\"");
    bj_prom_put(b, node, x == 'I');
    bj_buf_str(b, x == 'N' ? "\"}" : "(\\\\.[^:]*)?(:[0-9]+)?\"}");
}

void bj_grid_add(struct bj_grid *g, const char *part, const char *promql)
{
    struct bj_buf *b = &g->query;
    bj_buf_str(b, g->parts > 0 ? " or label_replace(" : "label_replace(");
    bj_prom_expand(b, promql, put_selector, g);
    bj_buf_printf(b, ",\"bj\",\"%s\",\"\",\"\")", part);
    g->part[g->parts++] = part;
}

/* --- the reply -------------------------------------------------------------
 */

static struct bj_slice label_of(const struct bj_json *metric, const char *name)
{
    struct bj_slice s = bj_json_text(bj_json_get(metric, name));
    return s.p ? s : BJ_SLICE("");
}

static double *values_of(struct bj_grid *g)
{
    double *v = bj_arena_alloc(&g->arena, g->points * sizeof(*v));
    for (unsigned i = 0; v && i < g->points; i++)
        v[i] = __builtin_nan("");
    return v;
}

static int on_series(void *ctx, const struct bj_json *metric,
                     const struct bj_json *values, struct bj_err *err)
{
    struct bj_grid *g = ctx;
    unsigned part = 0;
    while (part < g->parts &&
           !bj_slice_eq(label_of(metric, "bj"), bj_slice_str(g->part[part])))
        part++;
    if (part == g->parts)
        return bj_err_set(err, -EPROTO,
                          "prometheus: a series that was not queried");
    if (g->rows == BJ_GRID_ROWS)
        return bj_err_set(err, -EFBIG, "prometheus: too many series");
    if (!BJ_GROW(g->row, g->rows + 1, g->room))
        return bj_err_set(err, -ENOMEM, "grid");
    struct bj_grid_row *row = &g->row[g->rows++];
    *row = (struct bj_grid_row){.part = g->part[part], .value = values_of(g)};
    for (unsigned i = 0; i < BJ_GRID_LABELS && g->labels[i]; i++)
        row->label[i] =
            bj_arena_copy(&g->arena, label_of(metric, g->labels[i]));
    if (g->arena.failed)
        return bj_err_set(err, -ENOMEM, "grid");
    BJ_JSON_EACH(pair, values)
    {
        int64_t v, sec;
        if (bj_prom_value(pair, 6, &v, &sec) == 0 && sec >= g->range.from &&
            sec <= g->range.to)
            row->value[(sec - g->range.from) / g->range.step] = (double)v / 1e6;
    }
    return 0;
}

static int query_prom(struct bj_grid *g, const struct bj_http_request *req,
                      struct bj_err *err)
{
    const struct bj_prom_sink sink = {.ctx = g, .series = on_series};
    bj_buf_put(&g->query, "", 1);
    if (g->query.failed || g->selector.failed)
        return bj_err_set(err, -ENOMEM, "grid");
    if (g->why)
        return 0;
    int r = bj_prompool_late(g->prom, g->since_usec) || bj_http_client_gone(req)
                ? -EBUSY
                : bj_prompool_query(g->prom, g->query.p, &g->range, &sink, err);
    if (r == -ENOMEM)
        return r;
    if (r == -EBUSY)
        g->why = "Prometheus is busy; reload the page to try again.";
    else if (r == -EFBIG)
        g->why = "There are too many series; choose a cluster.";
    else if (r < 0)
        g->why = "The Prometheus server did not answer.";
    if (r < 0)
        g->rows = 0;
    return 0;
}

int bj_grid_run(struct bj_call *c, struct bj_grid *g, bj_grid_page *put)
{
    if (!g->why) {
        c->work = g;
        return 0;
    }
    put(c, g);
    bj_grid_drop(g);
    return 0;
}

int bj_grid_after(struct bj_call *c, bj_grid_page *put)
{
    struct bj_grid *g = c->work;
    c->work = NULL;
    int r = query_prom(g, c->req, &c->err);
    if (r == 0 && bj_room_take_later(g->server)) {
        put(c, g);
        bj_room_give_later(g->server);
    } else if (r == 0) {
        bj_call_header(c, "Retry-After", "1");
        r = bj_call_refuse(c, 503,
                           "Too many answers are in flight; try again.");
    }
    bj_grid_drop(g);
    return r;
}

const struct bj_grid_row *bj_grid_find(const struct bj_grid *g,
                                       const char *part,
                                       const struct bj_slice *label)
{
    for (size_t i = 0; i < g->rows; i++) {
        bool same = g->row[i].part == part;
        for (unsigned k = 0; same && k < BJ_GRID_LABELS && g->labels[k]; k++)
            same = bj_slice_eq(g->row[i].label[k], label[k]);
        if (same)
            return &g->row[i];
    }
    return NULL;
}

double bj_grid_now(const struct bj_grid *g, const struct bj_grid_row *row)
{
    for (unsigned i = 1; row && i <= RECENT && i <= g->points; i++) {
        double v = row->value[g->points - i];
        if (v - v == 0)
            return v;
    }
    return __builtin_nan("");
}

struct bj_chart bj_grid_chart(const struct bj_grid *g, const char *title,
                              enum bj_chart_unit unit,
                              char words[static BJ_GRID_SINCE])
{
    char since[BJ_STAMP_MAX];
    bj_stamp_text(g->range.from * 1000000, 0,
                  bj_tz_offset(bj_tz_used(), g->range.from) / 60, since);
    snprintf(words, BJ_GRID_SINCE, "%.10s %.5s %s", since, since + 11,
             bj_tz_name(bj_tz_used()));
    return (struct bj_chart){.title = bj_local(title),
                             .since = words,
                             .unit = unit,
                             .start = g->range.from,
                             .from = g->range.from,
                             .step = g->range.step,
                             .points = g->points};
}

bool bj_grid_put_why(struct bj_buf *b, const struct bj_grid *g)
{
    if (g->why)
        bj_buf_printf(b, "<p class=\"none\">%s</p>\n",
                      bj_local_escaped(g->why));
    return g->why != NULL;
}
