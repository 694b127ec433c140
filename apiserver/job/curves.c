#include "apiserver/job/curves.h"
#include "report/model/show.h"

#include "apiserver/frame/state.h"
#include "apiserver/frame/widget.h"
#include "apiserver/job/chart.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"

enum {
    MULTIPLES = 12,     /* maximum number of charts of nodes or of GPUs */
    RECENT = 5,         /* number of steps for which a value is current */
    PAGE_USEC = 4000000 /* maximum time that a page waits for a query */
};

/* --- queries ---------------------------------------------------------------
 */

static int curves_prepare(struct bj_call *c, const struct bj_visible_job *f,
                          enum bj_series_by by, struct bj_curves *k)
{
    struct bj_params p = {.values = 0};
    int r = bj_series_new(c, &k->work[by]);
    if (r != 0)
        return r;
    struct bj_series_work *w = k->work[by];
    w->s.by = by;
    w->start = f->start;
    w->to_end = f->end == BJ_SQL_NULL;
    w->range.limit_usec = PAGE_USEC;
    bj_charts_pick(&w->s);
    if (by != BJ_SERIES_JOB)
        w->most_points = BJ_CHARTS_ROW_POINTS;
    return bj_series_prepare(c, &p, f, w);
}

struct bj_charts_job bj_curves_job(const struct bj_visible_job *f)
{
    return (struct bj_charts_job){.start = f->start,
                                  .cpus = f->cpus,
                                  .memory_requested = f->memory_requested};
}

const char *bj_curves_none(const struct bj_call *c,
                           const struct bj_visible_job *f)
{
    return f->start == BJ_SQL_NULL ? bj_local("The job has not started.")
           : !c->worker->prom ? bj_local("No Prometheus server is configured, "
                                         "so there are no charts.")
                              : NULL;
}

int bj_curves_prepare(struct bj_call *c, const struct bj_visible_job *f,
                      struct bj_curves *k)
{
    k->job = bj_curves_job(f);
    int r = curves_prepare(c, f, BJ_SERIES_JOB, k);
    if (r == 0 && f->nodes != BJ_SQL_NULL && f->nodes > 1)
        r = curves_prepare(c, f, BJ_SERIES_NODE, k);
    if (r == 0 && f->gpus != BJ_SQL_NULL && f->gpus > 0)
        r = curves_prepare(c, f, BJ_SERIES_GPU, k);
    return r;
}

void bj_curves_query(struct bj_call *c, struct bj_curves *k)
{
    int failed = 0;
    for (unsigned i = 0; i < BJ_CURVES; i++) {
        if (!k->work[i])
            continue;
        if (failed == 0)
            failed = bj_series_fetch(k->work[i], c->req, &c->err);
        k->result[i] = failed;
        if (failed != 0 && i == BJ_SERIES_JOB)
            bj_call_log(c, "prometheus");
    }
}

void bj_curves_free(struct bj_curves *k)
{
    for (unsigned i = 0; i < BJ_CURVES; i++) {
        bj_series_free(k->work[i]);
        k->work[i] = NULL;
    }
}

/* --- values ----------------------------------------------------------------
 */

static unsigned metric_at(const struct bj_samples *s, const char *name)
{
    unsigned i = 0;
    while (i < s->metrics &&
           strcmp(bj_series_metrics[s->metric[i]].name, name) != 0)
        i++;
    return i;
}

bool bj_curves_now(const struct bj_curves *k, const char *metric, double *ret)
{
    const struct bj_series_work *w = k->work[BJ_SERIES_JOB];
    const unsigned at = w ? metric_at(&w->s, metric) : 0;
    if (!w || k->result[BJ_SERIES_JOB] != 0 || w->s.groups == 0 ||
        at == w->s.metrics)
        return false;
    const bool percent =
        bj_chart_unit_of(&bj_series_metrics[w->s.metric[at]]) ==
        BJ_CHART_PERCENT;
    for (unsigned i = 1; i <= RECENT && i <= w->s.points; i++)
        if (bj_samples_number(&w->s, &w->s.group[0], w->s.points - i, at,
                              ret)) {
            *ret *= percent ? 100 : 1;
            return true;
        }
    return false;
}

int bj_curves_charts(const struct bj_curves *k, struct bj_charts *ret,
                     struct bj_err *err)
{
    static const enum bj_series_by order[BJ_CURVES] = {
        BJ_SERIES_JOB, BJ_SERIES_GPU, BJ_SERIES_NODE};
    for (unsigned n = 0; n < BJ_CURVES; n++) {
        const struct bj_series_work *w = k->work[order[n]];
        if (!w)
            continue;
        if (k->result[order[n]] != 0 || w->s.groups == 0) {
            if (ret->charts == 0)
                ret->why =
                    bj_charts_why(&w->s, k->result[order[n]], k->running);
            return 0;
        }
        if (!bj_charts_add(ret, &w->s, &k->job))
            return bj_err_set(err, -ENOMEM, "charts");
    }
    return 0;
}

/* --- charts ----------------------------------------------------------------
 */

/* "No samples of: GPU use, power." */
static void put_missing(struct bj_buf *b, const char *const *title, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        bj_local_html_str(b, i ? ", " : "<p class=\"none\">{No samples of:} ");
        bj_html_text(b, bj_slice_str(bj_local(title[i])));
    }
    bj_buf_str(b, n > 0 ? ".</p>\n" : "");
}

static void curves_put_job(struct bj_buf *b, const struct bj_curves *c)
{
    const struct bj_series_work *w = c->work[BJ_SERIES_JOB];
    const bool gpus = c->work[BJ_SERIES_GPU] != NULL;
    const char *missing[BJ_CHARTS];
    struct bj_arena arena = {0};
    unsigned n = 0;
    bj_buf_str(b, "<div class=\"charts\">\n");
    for (const struct bj_chart_plan *p = bj_chart_plans[BJ_SERIES_JOB];
         p->title; p++) {
        struct bj_chart k;
        if (!bj_chart_make(&w->s, 0, p, w->start, &arena, &k)) {
            b->failed = true;
            continue;
        }
        bj_chart_add_allocated(&k, p, &c->job, &arena);
        if (bj_chart_has_values(&k))
            bj_chart_figure(b, &k);
        else if (n < BJ_CHARTS && (gpus || strncmp(p->title, "GPU", 3) != 0))
            missing[n++] = p->title;
    }
    bj_buf_str(b, "</div>\n");
    put_missing(b, missing, n);
    bj_arena_free(&arena);
}

/* --- one chart for each node or GPU ----------------------------------------
 */

/* Append the name of a node or GPU. */
static void curves_name(struct bj_buf *b, const struct bj_samples_group *g)
{
    if (g->gpu.n > 0)
        bj_show_gpu(b, g->node, g->index, g->gpu);
    else
        bj_buf_clean(b, g->node);
}

static void put_one(struct bj_buf *b, const struct bj_series_work *w,
                    unsigned group, const struct bj_chart_plan *p)
{
    const struct bj_samples_group *g = &w->s.group[group];
    struct bj_arena arena = {0};
    struct bj_buf name = {0};
    struct bj_chart k;
    curves_name(&name, g);
    bool made = bj_chart_make(&w->s, group, p, w->start, &arena, &k);
    if (made) {
        k.of = (struct bj_slice){name.p, name.len};
        k.small = true;
        if (bj_chart_has_values(&k))
            bj_chart_figure(b, &k);
    }
    b->failed |= name.failed || !made;
    bj_arena_free(&arena);
    bj_buf_free(&name);
}

/* The use of a chart's first line in percent, at cells times; that of CPUs is a
 * part of the limit.  Returns its mean; NaN: not known. */
static double map_use(const struct bj_chart *k, unsigned cells, double *ret)
{
    double all = 0;
    unsigned known = 0;
    for (unsigned i = 0; i < cells; i++) {
        double sum = 0;
        unsigned n = 0;
        for (unsigned at = k->points * i / cells;
             at < k->points * (i + 1) / cells; at++) {
            const double v = k->line[0].value[at];
            const double of = k->unit == BJ_CHART_PERCENT ? 100
                              : k->lines > 1              ? k->line[1].value[at]
                                                          : __builtin_nan("");
            if (!bj_chart_known(v) || !bj_chart_known(of) || of <= 0)
                continue;
            sum += 100 * v / of;
            n++;
        }
        ret[i] = n > 0 ? sum / n : __builtin_nan("");
        all += sum;
        known += n;
    }
    return known > 0 ? all / known : __builtin_nan("");
}

static void map_put_row(struct bj_buf *b, const struct bj_series_work *w,
                        unsigned group)
{
    enum { CELLS = 96 };
    double use[CELLS];
    struct bj_arena arena = {0};
    struct bj_buf name = {0};
    struct bj_chart k;
    curves_name(&name, &w->s.group[group]);
    b->failed |= name.failed;
    if (bj_chart_make(&w->s, group, bj_chart_plans[w->s.by], w->start, &arena,
                      &k)) {
        const unsigned cells = k.points < CELLS ? k.points : CELLS;
        const double mean = map_use(&k, cells, use);
        bj_buf_str(b, "<tr><th scope=\"row\">");
        bj_html_text(b, (struct bj_slice){name.p, name.len});
        bj_buf_str(b, "</th><td class=\"st\">");
        bj_widget_strip(b, use, cells);
        bj_buf_str(b, "</td><td class=\"n\">");
        if (bj_chart_known(mean))
            bj_amount(b, BJ_AMOUNT_PERCENT, mean);
        else
            bj_buf_str(b, "–");
        bj_buf_str(b, "</td></tr>\n");
    } else {
        b->failed = true;
    }
    bj_arena_free(&arena);
    bj_buf_free(&name);
}

/* A row for each node or GPU with its use over time. */
static void put_map(struct bj_buf *b, const struct bj_series_work *w,
                    const unsigned *group, unsigned n)
{
    bj_local_html(
        b,
        "<table class=\"map\" data-dur=\"%lld\"><thead><tr><th "
        "scope=\"col\">%s</th><th scope=\"col\">{Use over time}</th><th "
        "scope=\"col\" class=\"n\">{Mean}</th></tr></thead><tbody>\n",
        (long long)((int64_t)w->s.points * w->range.step),
        bj_local_escaped(w->s.by == BJ_SERIES_GPU ? "GPU" : "Node"));
    for (unsigned i = 0; i < n; i++)
        map_put_row(b, w, group[i]);
    bj_local_html_str(
        b, "</tbody></table><p class=\"key\"><span class=\"k sq ui\">{idle}"
           "</span><span class=\"k sq u1\">{below 25 %}</span><span "
           "class=\"k sq u2\">{25 to 50 %}</span><span class=\"k sq u3\">{50 "
           "to 75 %}</span><span class=\"k sq u4\">{75 % and more}</span>{A "
           "thin line: not known.}</p>\n");
}

static void put_multiples(struct bj_buf *b, const struct bj_series_work *w)
{
    unsigned group[BJ_SAMPLES_GROUPS];
    unsigned n = bj_charts_choose(&w->s, MULTIPLES, group);
    b->failed |= n == 0;
    bj_local_html_str(b, w->s.by == BJ_SERIES_GPU ? "<h3>{Each GPU}</h3>\n"
                                                  : "<h3>{Each node}</h3>\n");
    if (n < w->s.groups)
        bj_local_html(
            b, "<p>{%u of %u: those that differ most from the median.}</p>\n",
            n, w->s.groups);
    put_map(b, w, group, n);
    for (const struct bj_chart_plan *p = bj_chart_plans[w->s.by]; p->title;
         p++) {
        bj_buf_str(b, "<div class=\"charts many\">\n");
        for (unsigned i = 0; i < n; i++)
            put_one(b, w, group[i], p);
        bj_buf_str(b, "</div>\n");
    }
}

/* --- all charts -------------------------------------------------------------
 */

void bj_curves_put(struct bj_buf *b, const struct bj_curves *k)
{
    static const enum bj_series_by order[BJ_CURVES] = {
        BJ_SERIES_JOB, BJ_SERIES_GPU, BJ_SERIES_NODE};
    for (unsigned n = 0; n < BJ_CURVES; n++) {
        const enum bj_series_by i = order[n];
        const struct bj_series_work *w = k->work[i];
        if (!w)
            continue;
        if (k->result[i] != 0 || w->s.groups == 0) {
            bj_buf_printf(b, "<p class=\"none\">%s</p>\n",
                          bj_charts_why(&w->s, k->result[i], k->running));
            break;
        }
        if (i == BJ_SERIES_JOB)
            curves_put_job(b, k);
        else
            put_multiples(b, w);
    }
}
