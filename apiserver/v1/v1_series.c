/* /api/v1/jobs/JOB/series: the time series of a job in Prometheus.  The client
 * chooses metrics of a table; this program makes the queries, after the access
 * check, so that they match only this job. */
#include "apiserver/frame/page.h"
#include "apiserver/frame/room.h"
#include "apiserver/frame/state.h"
#include "apiserver/job/chart.h"
#include "apiserver/job/curves.h"
#include "base/json.h"

enum { SVG_LINES = 5 };
/* --- the request -----------------------------------------------------------
 */

/* Select the named metrics, or all, in the order of the table. */
static int series_pick(struct bj_call *c, const struct bj_params *p,
                       struct bj_series_work *w)
{
    bool want[BJ_SERIES_METRICS] = {false};
    for (unsigned i = 0; i < p->values; i++) {
        struct bj_slice s = p->value[i].text;
        int at = p->value[i].which == BJ_PARAM_METRIC ? bj_series_find(s) : 0;
        if (at < 0)
            return bj_call_refuse(
                c, 400, "Unknown metric '%.*s'; /api/v1/series lists them.",
                s.n < 60 ? (int)s.n : 60, s.p);
        if (p->value[i].which == BJ_PARAM_METRIC)
            want[at] = true;
    }
    for (int i = 0; bj_series_metrics[i].name; i++)
        if (want[i] || !p->given[BJ_PARAM_METRIC])
            w->s.metric[w->s.metrics++] = (unsigned char)i;
    return 0;
}

static int read_by(struct bj_call *c, const struct bj_params *p,
                   enum bj_series_by *ret)
{
    static const char *const names[] = {"job", "node", "gpu"};
    struct bj_slice s = bj_params_text(p, BJ_PARAM_BY);
    *ret = BJ_SERIES_JOB;
    if (s.n == 0)
        return 0;
    for (unsigned i = 0; i < 3; i++)
        if (bj_slice_eq(bj_slice_str(names[i]), s)) {
            *ret = (enum bj_series_by)i;
            return 0;
        }
    return bj_call_refuse(c, 400, "The parameter by must be job, node or gpu.");
}

static int series_prepare(struct bj_call *c, struct bj_params *p,
                          struct bj_series_work *w)
{
    struct bj_visible_job f;
    int r = bj_visible_job_find(c, p, c->tail, &w->arena, &f);
    if (r == 0)
        r = series_pick(c, p, w);
    if (r == 0)
        r = read_by(c, p, &w->s.by);
    if (r != 0)
        return r;
    w->key = f.key;
    w->start = f.start;
    return bj_series_prepare(c, p, &f, w);
}

static int on_series(struct bj_call *c)
{
    struct bj_params p;
    struct bj_series_work *w;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r != 0)
        return r;
    if (!c->worker->prom)
        return bj_call_refuse(
            c, 404, "No Prometheus server is configured (prometheus.url).");
    r = bj_series_new(c, &w);
    if (r != 0)
        return r;
    r = series_prepare(c, &p, w);
    if (r == 0)
        c->work = w;
    else
        bj_series_free(w);
    return r;
}

/* --- the response -----------------------------------------------------------
 */

/* The columns before those of the metrics. */
static const struct bj_column fixed_keys[] = {
    BJ_COLUMN("time", TIME, NULL, "Time of the values."),
    BJ_COLUMN("time_ms", TIME_MS, NULL, "The same time in milliseconds."),
    BJ_COLUMN("node", TEXT, NULL, "Node; null for the whole job."),
    BJ_COLUMN("gpu", TEXT, NULL, "GPU; null without by=gpu."),
    {.name = NULL},
};

static void series_put_row(struct bj_rows *rows, const struct bj_series_work *w,
                           const struct bj_samples_group *g, unsigned point)
{
    int64_t sec = w->range.from + (int64_t)point * w->range.step;
    struct bj_slice none = {0};
    bj_row_begin(rows);
    bj_put_time(rows, sec);
    bj_put_time_ms(rows, sec);
    bj_put_text(rows, g->node.n > 0 ? g->node : none);
    bj_put_text(rows, g->gpu.n > 0 ? g->gpu : none);
    for (unsigned m = 0; m < w->s.metrics; m++) {
        bj_put_number(rows, bj_slice_str(bj_samples_text(&w->s, g, point, m)));
    }
    bj_row_end(rows);
}

static bool empty(const struct bj_series_work *w,
                  const struct bj_samples_group *g, unsigned point)
{
    for (unsigned m = 0; m < w->s.metrics; m++)
        if (bj_samples_text(&w->s, g, point, m))
            return false;
    return true;
}

static int series_write_rows(struct bj_call *c, const struct bj_series_work *w)
{
    const char *key[BJ_JOB_COLUMNS];
    const unsigned fixed = bj_column_names(fixed_keys, key);
    struct bj_rows rows;
    struct bj_buf more = {0};
    for (unsigned i = 0; i < w->s.metrics; i++)
        key[fixed + i] = bj_series_metrics[w->s.metric[i]].name;
    bj_call_rows(c, &rows, key, fixed + w->s.metrics);
    for (unsigned i = 0; i < w->s.points; i++)
        for (unsigned g = 0; g < w->s.groups; g++)
            if (!empty(w, &w->s.group[g], i))
                series_put_row(&rows, w, &w->s.group[g], i);
    bj_buf_str(&more, ",\"meta\":{\"job\":");
    bj_json_string(&more, w->key);
    bj_buf_printf(&more,
                  ",\"rows\":%llu,\"step_sec\":%lld,\"from_ms\":%lld,"
                  "\"to_ms\":%lld}",
                  (unsigned long long)rows.n, (long long)w->range.step,
                  (long long)w->range.from * 1000,
                  (long long)w->range.to * 1000);
    bj_buf_put(&more, "", 1);
    bj_call_rows_end(c, &rows, more.failed ? "" : more.p);
    c->reply->body.failed = c->reply->body.failed || more.failed;
    bj_buf_free(&more);
    return 0;
}

/* Write a chart as a separate document; all lines have the unit of the first.
 */
static int write_chart(struct bj_call *c, const struct bj_series_work *w)
{
    struct bj_arena arena = {0};
    struct bj_chart k = {.title = "Job",
                         .start = w->start,
                         .from = w->range.from,
                         .step = w->range.step,
                         .points = w->s.groups > 0 ? w->s.points : 0};
    for (unsigned i = 0; i < w->s.metrics && i < SVG_LINES; i++) {
        const struct bj_series_metric *m = &bj_series_metrics[w->s.metric[i]];
        k.unit = i == 0 ? bj_chart_unit_of(m) : k.unit;
        if (k.points == 0 || bj_chart_unit_of(m) != k.unit)
            continue;
        k.line[k.lines].name = m->label;
        k.line[k.lines].limit = bj_chart_is_limit(m);
        k.line[k.lines].value = bj_chart_values(&w->s, 0, i, &arena);
        c->reply->body.failed |= !k.line[k.lines].value;
        k.lines += k.line[k.lines].value != NULL;
    }
    c->reply->type = "image/svg+xml";
    bj_call_header(c, "Content-Security-Policy",
                   "default-src 'none'; style-src 'unsafe-inline'");
    bj_chart_svg(&c->reply->body, &k, true);
    bj_arena_free(&arena);
    return 0;
}

static int series_failed(struct bj_call *c, const struct bj_series_work *w,
                         int code)
{
    if (w->s.too_much)
        return bj_call_refuse(
            c, 400,
            "That would be more than %d values; request fewer metrics, a "
            "longer step, or no rows by node.",
            BJ_SAMPLES_CELLS);
    if (code == -ENOMEM)
        return code;
    bj_call_log(c, "prometheus");
    if (code == -EBUSY) {
        bj_call_header(c, "Retry-After", "1");
        return bj_call_refuse(
            c, 503, "Too many queries of time series are running; try again.");
    }
    if (code == -ETIMEDOUT)
        return bj_call_refuse(c, 503,
                              "The Prometheus server took too long; request "
                              "fewer metrics or a longer step.");
    return bj_call_refuse(c, 503, "The Prometheus server did not answer.");
}

static int write_answer(struct bj_call *c, const struct bj_series_work *w)
{
    if (!bj_room_take_later(w->server)) {
        bj_call_header(c, "Retry-After", "1");
        return bj_call_refuse(c, 503,
                              "Too many responses are being sent; try again.");
    }
    int r = c->endpoint->series ? series_write_rows(c, w) : write_chart(c, w);
    bj_room_give_later(w->server);
    return r;
}

/* May last twice prometheus.timeout, including the wait for a free client. */
static int after_series(struct bj_call *c)
{
    struct bj_series_work *w = c->work;
    int r = bj_series_fetch(w, c->req, &c->err);
    r = r == 0 ? write_answer(c, w) : series_failed(c, w, r);
    bj_series_free(w);
    c->work = NULL;
    return r;
}

/* --- names of metrics -------------------------------------------------------
 */

static const struct bj_column list_keys[] = {
    BJ_COLUMN("metric", TEXT, NULL, "Name, for the parameter metric."),
    BJ_COLUMN("unit", TEXT, NULL, "Unit."),
    BJ_COLUMN("help", TEXT, NULL, "Description."),
    {.name = NULL},
};

static int on_list(struct bj_call *c)
{
    const char *names[BJ_JOB_COLUMNS];
    struct bj_rows rows;
    struct bj_params p;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r != 0)
        return r;
    bj_call_rows(c, &rows, names, bj_column_names(list_keys, names));
    for (const struct bj_series_metric *m = bj_series_metrics; m->name; m++) {
        bj_row_begin(&rows);
        bj_put_text(&rows, bj_slice_str(m->name));
        bj_put_text(&rows, bj_slice_str(m->unit));
        bj_put_text(&rows, bj_slice_str(m->help));
        bj_row_end(&rows);
    }
    bj_call_rows_end(c, &rows, "");
    return 0;
}

const struct bj_endpoint bj_endpoints_series[] = {
    {.path = "/api/v1/jobs/*/series",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_series,
     .after = after_series,
     .help = "Time series of a job from Prometheus.",
     .params = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MINE) |
               BJ_BIT(BJ_PARAM_METRIC) | BJ_BIT(BJ_PARAM_BY) |
               BJ_BIT(BJ_PARAM_FROM) | BJ_BIT(BJ_PARAM_TO) |
               BJ_BIT(BJ_PARAM_STEP),
     .columns = fixed_keys,
     .series = true},
    {.path = "/jobs/*/curve.svg",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_series,
     .after = after_series,
     .refused = bj_page_refuse,
     .to_root = "../../",
     .help = "Plot of time series of a job, for web pages.",
     .type = "image/svg+xml",
     .params = BJ_BIT(BJ_PARAM_METRIC) | BJ_BIT(BJ_PARAM_FROM) |
               BJ_BIT(BJ_PARAM_TO) | BJ_BIT(BJ_PARAM_STEP)},
    {.path = "/api/v1/series",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_USER,
     .run = on_list,
     .help = "The metrics of the time series of jobs.",
     .columns = list_keys},
    {.path = NULL},
};
