#include "mail/html.h"

#include "base/html.h"
#include "base/local.h"
#include "report/form/text_parts.h"
#include "report/model/show.h"
#include "statsdb/tables/best.h"

#include <inttypes.h>

enum { ROWS = 10, MICRO = 1000000, PERCENT = 10000 /* millionths */ };

static void put_text(struct bj_buf *b, const char *before, struct bj_slice s,
                     const char *behind)
{
    if (s.n == 0)
        return;
    bj_local_html_str(b, before);
    bj_html_text(b, s);
    bj_local_html_str(b, behind);
}

static void put_sentence(struct bj_buf *b, const char *before,
                         struct bj_slice s, const char *behind)
{
    if (s.n == 0)
        return;
    bj_buf_str(b, before);
    bj_show_advice_html(b, s);
    bj_buf_str(b, behind);
}

static bool is_link(struct bj_slice url)
{
    return bj_slice_starts(url, BJ_SLICE("https://")) ||
           bj_slice_starts(url, BJ_SLICE("http://"));
}

static void put_url(struct bj_buf *b, struct bj_slice url)
{
    if (is_link(url))
        put_text(b, " <a href=\"", url, "\">{More about this}</a>");
}

/* The values below contain no characters that HTML escapes. */
static void put_percent(struct bj_buf *b, int64_t ppm)
{
    int64_t percent = ppm < 0 ? 0 : ppm / PERCENT > 100 ? 100 : ppm / PERCENT;
    bj_buf_str(b, "<td class=\"n\">");
    if (ppm != BJ_SQL_NULL)
        bj_show_percent(b, ppm);
    bj_buf_str(b, "</td><td class=\"phone\">");
    if (ppm != BJ_SQL_NULL)
        bj_buf_printf(b,
                      "<div class=\"bar\"><div style=\"width:%" PRId64
                      "%%\"></div></div>",
                      percent);
    bj_buf_str(b, "</td>");
}

static void put_head(struct bj_buf *b, const char *title,
                     const char *const *column, unsigned columns)
{
    bj_buf_printf(b, "<h2>%s</h2>\n<table>\n<tr>", bj_local_escaped(title));
    for (unsigned i = 0; i < columns; i++)
        bj_buf_printf(b, "<th%s>%s</th>", i > 0 ? " class=\"n\"" : "",
                      bj_local_escaped(column[i]));
    bj_buf_str(b, "</tr>\n");
}

/* --- the verdict, advice and findings --------------------------------------
 */

static void put_advice(struct bj_buf *b, const struct bj_report *r)
{
    for (size_t i = 0; i < r->advices; i++) {
        const struct bj_report_advice *a = &r->advice[i];
        bj_local_html_str(b, i == 0 ? "<h2>{What to change}</h2>\n<ul>\n" : "");
        put_sentence(b, "<li>", a->text, "");
        put_text(b, "<br><code>", a->line, "</code>");
        put_url(b, a->url);
        bj_buf_str(b, "</li>\n");
    }
    bj_buf_str(b, r->advices > 0 ? "</ul>\n" : "");
    put_text(b, "<p>", r->next.note, "</p>\n");
}

static void put_findings(struct bj_buf *b, const struct bj_report *r)
{
    for (size_t i = 0; i < r->findings; i++) {
        const struct bj_report_finding *f = &r->finding[i];
        bj_local_html_str(b, i == 0 ? "<h2>{Findings}</h2>\n<ul>\n" : "");
        put_text(b, "<li><b class=\"", f->severity, "\">");
        put_text(b, "", f->severity, "</b> ");
        put_text(b, "<bdi>", f->text, "</bdi>");
        put_url(b, f->url);
        bj_buf_str(b, "</li>\n");
    }
    bj_buf_str(b, r->findings > 0 ? "</ul>\n" : "");
}

static void put_warnings(struct bj_buf *b, const struct bj_report *r)
{
    for (size_t i = 0; i < r->warnings; i++) {
        const struct bj_report_warning *w = &r->warning[i];
        bj_local_html_str(b,
                          i == 0 ? "<h2>{Warnings}</h2>\n<ul>\n<li>" : "<li>");
        bj_show_time(b, w->at);
        put_text(b, ": <bdi>", w->text, "</bdi></li>\n");
    }
    bj_buf_str(b, r->warnings > 0 ? "</ul>\n" : "");
}

static void put_verdict(struct bj_buf *b, const struct bj_report *r)
{
    const struct bj_report_verdict *v = &r->verdict;
    put_text(b, "<div class=\"verdict ", v->level, "\">\n");
    put_text(b, "<h2 class=\"", v->level, "\">");
    put_text(b, "<bdi>", v->wrong, "</bdi></h2>\n");
    put_text(b, "<p>", v->cost, "</p>\n");
    put_sentence(b, "<p><b>", v->todo, "</b></p>\n");
    bj_buf_str(b, "</div>\n");
}

/* --- tables ----------------------------------------------------------------
 */

static void put_figure(struct bj_buf *b, const struct bj_report *r,
                       const struct bj_report_figure *f)
{
    if (f->used == BJ_SQL_NULL && f->ppm == BJ_SQL_NULL)
        return;
    put_text(b, "<tr><th scope=\"row\">", f->label, "</th>");
    put_percent(b, f->ppm);
    bj_buf_str(b, "<td class=\"n\">");
    bj_report_amount_html(b, r, f, f->used);
    if (f->allocated != BJ_SQL_NULL) {
        bj_local_html_str(b, " {of} ");
        bj_report_amount_html(b, r, f, f->allocated);
    }
    if (f->quality.n > 0 && !bj_slice_eq(f->quality, BJ_SLICE("measured")))
        put_text(b, "<br><small>", f->quality, "</small>");
    bj_buf_str(b, "</td></tr>\n");
}

static void put_figures(struct bj_buf *b, const struct bj_report *r)
{
    bool any = false;
    for (unsigned i = 0; i < BJ_FIGURES; i++)
        any = any || r->figure[i].used != BJ_SQL_NULL;
    if (!any)
        return;
    bj_buf_str(b, "<h2>");
    if (r->array.tasks > 1)
        bj_local_html(b, "{Task %s: resources used}",
                      bj_report_text(r, BJ_REPORT_DISPLAY_ID).p);
    else
        bj_local_html_str(b, "{Resources used}");
    bj_buf_str(b, "</h2>\n<table>\n");
    for (unsigned i = 0; i < BJ_FIGURES; i++)
        put_figure(b, r, &r->figure[i]);
    bj_buf_str(b, "</table>\n");
}

/* Return the index of the row with the smallest value, and set the value to
 * INT64_MAX, so that each row is returned once. */
static size_t take_least(int64_t *v, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (v[i] < v[best])
            best = i;
    v[best] = INT64_MAX;
    return best;
}

static void put_node(struct bj_buf *b, const struct bj_report *r, size_t i)
{
    const struct bj_report_node *n = &r->node[i];
    put_text(b, "<tr><td>", n->node, "</td>");
    put_percent(b, n->cpu_ppm);
    bj_buf_str(b, "<td class=\"n\">");
    bj_show_bytes(b, n->memory_peak);
    bj_local_html_str(b, " {of} ");
    bj_show_bytes(b, n->memory_limit);
    bj_buf_str(b, "</td></tr>\n");
}

static void put_gpu(struct bj_buf *b, const struct bj_report *r, size_t i)
{
    const struct bj_report_gpu *g = &r->gpu[i];
    struct bj_buf name = {0};
    bj_show_gpu(&name, g->node, g->index, g->gpu);
    bj_buf_str(b, "<tr><td>");
    bj_html_text(b, (struct bj_slice){name.p, name.len});
    b->failed |= name.failed;
    bj_buf_free(&name);
    put_text(b, " <small>", g->model, "</small>");
    bj_buf_str(b, "</td>");
    put_percent(b, g->busy_ppm);
    bj_buf_str(b, "<td class=\"n\">");
    bj_show_bytes(b, g->memory_peak);
    bj_buf_str(b, "</td></tr>\n");
}

/* Append the rows with the least use, which indicate the problem. */
static void put_least(struct bj_buf *b, const char *const *head,
                      const struct bj_report *r, const int64_t *use, size_t n,
                      void (*put)(struct bj_buf *b, const struct bj_report *r,
                                  size_t i))
{
    struct bj_arena arena = {0};
    int64_t *v = bj_arena_alloc(&arena, n * sizeof(*v));
    put_head(b, n > ROWS ? head[1] : head[0], head + 2, 4);
    for (size_t i = 0; v && i < n; i++)
        v[i] = use[i];
    for (size_t i = 0; v && i < n && i < ROWS; i++)
        put(b, r, take_least(v, n));
    bj_buf_str(b, "</table>\n");
    b->failed |= !v;
    bj_arena_free(&arena);
}

static void put_parts(struct bj_buf *b, const struct bj_report *r)
{
    static const char *const nodes[] = {"CPUs and memory of nodes",
                                        "CPUs and memory of nodes, the 10 "
                                        "least busy",
                                        "Node",
                                        "CPUs",
                                        "",
                                        "Memory"};
    static const char *const gpus[] = {
        "GPUs", "GPUs, the 10 least busy", "GPU", "Busy", "", "Memory"};
    struct bj_arena arena = {0};
    int64_t *use = bj_arena_alloc(&arena, (r->nodes + r->gpus) * sizeof(*use));
    if (!use)
        b->failed = true;
    for (size_t i = 0; use && i < r->nodes; i++)
        use[i] = bj_report_rank(r->node[i].cpu_ppm);
    if (use && r->nodes > 1)
        put_least(b, nodes, r, use, r->nodes, put_node);
    for (size_t i = 0; use && i < r->gpus; i++)
        use[i] = bj_report_rank(r->gpu[i].busy_ppm);
    if (use && r->gpus > 0)
        put_least(b, gpus, r, use, r->gpus, put_gpu);
    struct bj_buf idle = {0};
    bj_report_idle(r, &idle);
    if (idle.len > 0)
        put_text(b, "<p>", (struct bj_slice){idle.p, idle.len}, "</p>\n");
    idle.len = 0;
    bj_report_sampled(r, &idle);
    if (idle.len > 0)
        put_text(b, "<p>", (struct bj_slice){idle.p, idle.len}, "</p>\n");
    b->failed |= idle.failed;
    bj_buf_free(&idle);
    bj_arena_free(&arena);
}

static void put_spread_value(struct bj_buf *b, unsigned which, int64_t v)
{
    bj_buf_str(b, "<td class=\"n\">");
    if (which == BJ_SPREAD_MEMORY)
        bj_show_bytes(b, v);
    else if (which == BJ_SPREAD_ELAPSED)
        bj_show_seconds(b, v);
    else
        bj_show_millionths(b, v);
    bj_buf_str(b, "</td>");
}

static void put_array(struct bj_buf *b, const struct bj_report *r)
{
    static const char *const labels[] = {[BJ_SPREAD_ELAPSED] = "Run time",
                                         [BJ_SPREAD_MEMORY] = "Memory",
                                         [BJ_SPREAD_CPU] = "Busy CPUs"};
    static const char *const head[] = {"", "least", "median", "95 %", "most"};
    if (r->array.tasks <= 1)
        return;
    put_head(b, "Tasks of the array that completed", head, 5);
    for (unsigned i = 0; i < BJ_SPREADS; i++) {
        const struct bj_report_spread *s = &r->array.spread[i];
        const int64_t v[] = {s->min, s->median, s->p95, s->max};
        if (s->tasks <= 0)
            continue;
        bj_buf_printf(b, "<tr><th scope=\"row\">%s</th>",
                      bj_local_escaped(labels[i]));
        for (unsigned k = 0; k < 4; k++)
            put_spread_value(b, i, v[k]);
        bj_buf_str(b, "</tr>\n");
    }
    bj_buf_str(b, "</table>\n");
}

static void put_when(struct bj_buf *b, const struct bj_report *r,
                     const char *label, enum bj_report_column c)
{
    int64_t sec = bj_report_number(r, c);
    if (sec == BJ_SQL_NULL)
        return;
    bj_buf_printf(b, "<tr><th scope=\"row\">%s</th><td>",
                  bj_local_escaped(label));
    bj_show_time(b, sec);
    bj_buf_str(b, "</td></tr>\n");
}

static void put_count(struct bj_buf *b, const struct bj_report *r,
                      const char *label, enum bj_report_column c)
{
    int64_t n = bj_report_number(r, c);
    if (n <= 0)
        return;
    bj_buf_printf(b, "<tr><th scope=\"row\">%s</th><td>",
                  bj_local_escaped(label));
    bj_show_number(b, n);
    bj_buf_str(b, "</td></tr>\n");
}

static void put_facts(struct bj_buf *b, const struct bj_report *r)
{
    bj_local_html_str(b, "<h2>{The job}</h2>\n<table>\n");
    put_count(b, r, "Nodes", BJ_REPORT_NODES);
    put_count(b, r, "CPUs", BJ_REPORT_CPUS);
    put_count(b, r, "GPUs", BJ_REPORT_GPUS);
    put_text(b, "<tr><th scope=\"row\">{On}</th><td>",
             bj_report_text(r, BJ_REPORT_NODELIST), "</td></tr>\n");
    put_when(b, r, "Submitted", BJ_REPORT_SUBMIT);
    put_when(b, r, "Started", BJ_REPORT_START);
    put_when(b, r, "Ended", BJ_REPORT_END);
    bj_buf_str(b, "</table>\n<p><small>");
    struct bj_buf zone = {0};
    bj_show_zone(&zone);
    bj_html_text(b, (struct bj_slice){zone.p, zone.len});
    b->failed |= zone.failed;
    bj_buf_free(&zone);
    bj_buf_str(b, "</small></p>\n");
}

void bj_mail_html_report(const struct bj_report *r, struct bj_buf *out)
{
    put_verdict(out, r);
    put_advice(out, r);
    put_figures(out, r);
    put_findings(out, r);
    put_warnings(out, r);
    put_parts(out, r);
    put_array(out, r);
    put_facts(out, r);
}
