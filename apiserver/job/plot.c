/* Charts of a job as PNG, and all of them as JSON. */
#include "apiserver/frame/state.h"
#include "apiserver/job/drawing.h"
#include "report/chart/charts.h"
#include "report/pdf/draw.h"

enum { JOB = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MINE) };

/* --- choice of the chart ----------------------------------------------------
 */

static const struct bj_series_metric *metric_of(const struct bj_samples *s,
                                                unsigned i)
{
    return &bj_series_metrics[s->metric[i]];
}

static int add_metric(struct bj_call *c, struct bj_slice name,
                      struct bj_samples *s)
{
    int at = bj_series_find(name);
    if (at < 0)
        return bj_call_refuse(
            c, 400, "Unknown metric '%.*s'; /api/v1/series lists them.",
            name.n < 60 ? (int)name.n : 60, name.p);
    if (s->metrics == BJ_CHARTS_METRICS)
        return bj_call_refuse(c, 400, "A plot has at most %d metrics.",
                              BJ_CHARTS_METRICS);
    s->metric[s->metrics++] = (unsigned char)at;
    if (bj_chart_unit_of(metric_of(s, s->metrics - 1)) !=
        bj_chart_unit_of(metric_of(s, 0)))
        return bj_call_refuse(c, 400,
                              "The metrics of a plot must have one unit.");
    return 0;
}

/* Add the limit of a single metric, as on the page of the job. */
static void add_limit(struct bj_samples *s)
{
    const char *first = metric_of(s, 0)->name;
    if (s->metrics != 1 || bj_chart_is_limit(metric_of(s, 0)))
        return;
    for (const struct bj_chart_plan *p = bj_chart_plans[BJ_SERIES_JOB];
         p->title; p++) {
        bool here = false;
        for (unsigned i = 0; i < BJ_CHARTS_METRICS && p->metric[i]; i++) {
            int at = bj_series_find(bj_slice_str(p->metric[i]));
            here = here || strcmp(p->metric[i], first) == 0;
            if (here && bj_chart_is_limit(&bj_series_metrics[at]))
                s->metric[s->metrics++] = (unsigned char)at;
        }
    }
}

static int read_by(struct bj_call *c, const struct bj_params *p,
                   enum bj_series_by *ret)
{
    struct bj_slice s = bj_params_text(p, BJ_PARAM_BY);
    *ret = bj_slice_eq(s, BJ_SLICE("node"))  ? BJ_SERIES_NODE
           : bj_slice_eq(s, BJ_SLICE("gpu")) ? BJ_SERIES_GPU
                                             : BJ_SERIES_JOB;
    return *ret != BJ_SERIES_JOB || s.n == 0 || bj_slice_eq(s, BJ_SLICE("job"))
               ? 0
               : bj_call_refuse(c, 400,
                                "The parameter by must be job, node or gpu.");
}

static int read_width(struct bj_call *c, const struct bj_params *p,
                      struct bj_drawing *d)
{
    int64_t n =
        p->given[BJ_PARAM_WIDTH] ? p->number[BJ_PARAM_WIDTH] : BJ_DRAW_WIDTH;
    if (n < BJ_DRAW_WIDTH_MIN || n > BJ_DRAW_WIDTH_MAX)
        return bj_call_refuse(c, 400, "The parameter width must be %d to %d.",
                              BJ_DRAW_WIDTH_MIN, BJ_DRAW_WIDTH_MAX);
    d->width = (unsigned)n;
    return 0;
}

int bj_plot_prepare(struct bj_call *c, const struct bj_params *p,
                    struct bj_slice job, struct bj_drawing *d)
{
    int r = bj_visible_job_find(c, p, job, &d->arena, &d->f);
    if (r == 0)
        r = bj_series_new(c, &d->one);
    for (unsigned i = 0; r == 0 && i < p->values; i++)
        if (p->value[i].which == BJ_PARAM_METRIC)
            r = add_metric(c, p->value[i].text, &d->one->s);
    if (r == 0)
        r = read_by(c, p, &d->one->s.by);
    if (r == 0)
        r = read_width(c, p, d);
    if (r == 0 && d->one->s.metrics == 0)
        r = bj_call_refuse(c, 400,
                           "The parameter metric is missing; /api/v1/series "
                           "lists the metrics.");
    if (r != 0)
        return r;
    if (d->one->s.by == BJ_SERIES_JOB)
        add_limit(&d->one->s);
    else
        d->one->most_points = BJ_CHARTS_ROW_POINTS;
    d->one->start = d->f.start;
    d->none = bj_curves_none(c, &d->f);
    if (!c->worker->prom)
        return bj_call_refuse(
            c, 404, "No Prometheus server is configured (prometheus.url).");
    return d->none ? bj_call_refuse(c, 404, "%s", d->none)
                   : bj_series_prepare(c, p, &d->f, d->one);
}

static int prepare_plot(struct bj_call *c, struct bj_params *p,
                        struct bj_drawing *d)
{
    return bj_plot_prepare(c, p, c->tail, d);
}

static int on_plot(struct bj_call *c)
{
    return bj_drawing_begin(c, prepare_plot);
}

/* --- the image -------------------------------------------------------------
 */

/* Make the requested chart; its title is that of its first metric. */
static bool make_chart(struct bj_drawing *d)
{
    const struct bj_samples *s = &d->one->s;
    struct bj_chart_plan plan = {.title = metric_of(s, 0)->label};
    struct bj_charts *c = &d->charts;
    for (unsigned i = 0; i < s->metrics; i++)
        plan.metric[i] = metric_of(s, i)->name;
    if (s->groups == 0)
        return true;
    if (s->by != BJ_SERIES_JOB)
        return bj_charts_add_rows(c, s, &plan, d->one->start);
    const struct bj_charts_job job = bj_curves_job(&d->f);
    bool made = bj_chart_make(s, 0, &plan, job.start, &c->arena, &c->chart[0]);
    /* of a single metric, as in add_limit */
    if (made && (s->metrics == 1 || bj_chart_is_limit(metric_of(s, 1))))
        bj_chart_add_allocated(&c->chart[0], &plan, &job, &c->arena);
    c->charts = made && bj_chart_has_values(&c->chart[0]);
    return made;
}

int bj_plot_reply(struct bj_call *c)
{
    struct bj_drawing *d = c->work;
    c->work = NULL;
    int r = bj_series_fetch(d->one, c->req, &c->err);
    if (r == 0 && !make_chart(d))
        r = bj_err_set(&c->err, -ENOMEM, "plot");
    if (r == -ENOMEM)
        ;
    else if (r != 0) {
        bj_call_log(c, "prometheus");
        bj_call_header(c, "Retry-After", "1");
        r = bj_call_refuse(
            c, d->one->s.too_much ? 400 : 503, "%s",
            bj_charts_why(&d->one->s, r, d->f.end == BJ_SQL_NULL));
    } else if (d->charts.charts == 0) {
        r = bj_call_refuse(c, 404,
                           "Prometheus has no samples of this metric "
                           "for this job.");
    } else {
        r = bj_drawing_image(c, d);
    }
    bj_drawing_free(d);
    return r;
}

/* --- all charts as JSON ----------------------------------------------------
 */

static int on_charts(struct bj_call *c)
{
    return bj_drawing_begin(c, bj_drawing_prepare);
}

static int after_charts(struct bj_call *c)
{
    struct bj_drawing *d = c->work;
    struct bj_buf json = {0};
    c->work = NULL;
    int r = bj_drawing_query(c, d);
    if (r == 0) {
        bj_buf_str(&json, "{\"status\":\"success\",\"data\":");
        bj_charts_write(&d->charts, &json);
        bj_buf_str(&json, "}\n");
        r = bj_drawing_reply(c, d, &json, "application/json");
    }
    bj_buf_free(&json);
    bj_drawing_free(d);
    return r;
}

const struct bj_endpoint bj_endpoints_plot[] = {
    {.path = "/api/v1/jobs/*/plot.png",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_plot,
     .after = bj_plot_reply,
     .help = "A plot of time series of a job; metrics of one unit. by=node and "
             "by=gpu plot the first metric, each node or GPU in a row.",
     .type = "image/png",
     .params = JOB | BJ_BIT(BJ_PARAM_METRIC) | BJ_BIT(BJ_PARAM_BY) |
               BJ_BIT(BJ_PARAM_FROM) | BJ_BIT(BJ_PARAM_TO) |
               BJ_BIT(BJ_PARAM_STEP) | BJ_BIT(BJ_PARAM_WIDTH)},
    {.path = "/api/v1/jobs/*/charts",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_charts,
     .after = after_charts,
     .help = "The values of all charts of a job, or the reason why there are "
             "none.",
     .params = JOB},
    {.path = NULL},
};
