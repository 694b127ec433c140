/* /api/v1/jobs/JOB/series: the time series of a job in Prometheus.  The client
 * names metrics of a table; the queries are made here, after the access check,
 * and match only this job. */
#include "apiserver/series.h"

#include "apiserver/page.h"
#include "apiserver/room.h"
#include "apiserver/series_work.h"
#include "apiserver/state.h"
#include "apiserver/visible_job.h"
#include "base/clock.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    POINTS_MAX = 2000,
    CELLS_MAX = 20000,
    NUMBER_BYTES = 40,
    FIXED_KEYS = 4
};

static void free_work(struct bj_series_work *w)
{
    if (!w)
        return;
    bj_prompool_unref(w->prom);
    bj_buf_free(&w->query);
    bj_buf_free(&w->values);
    bj_arena_free(&w->arena);
    free(w);
}

/* --- the request -----------------------------------------------------------
 */

static int find_metric(struct bj_slice name)
{
    for (int i = 0; bj_series_metrics[i].name; i++)
        if (bj_slice_eq(bj_slice_str(bj_series_metrics[i].name), name))
            return i;
    return -1;
}

/* The named metrics, or all, in the order of the table. */
static int pick(struct bj_call *c, const struct bj_params *p,
                struct bj_series_work *w)
{
    bool want[BJ_SERIES_METRICS] = {false};
    for (unsigned i = 0; i < p->values; i++) {
        struct bj_slice s = p->value[i].text;
        int at = p->value[i].which == BJ_PARAM_METRIC ? find_metric(s) : 0;
        if (at < 0)
            return bj_call_refuse(
                c, 400, "Unknown metric '%.*s'; /api/v1/series lists them.",
                s.n < 60 ? (int)s.n : 60, s.p);
        if (p->value[i].which == BJ_PARAM_METRIC)
            want[at] = true;
    }
    for (int i = 0; bj_series_metrics[i].name; i++)
        if (want[i] || !p->given[BJ_PARAM_METRIC])
            w->metric[w->metrics++] = (unsigned char)i;
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

static int64_t scrape_sec(const struct bj_call *c)
{
    uint64_t usec = c->worker->conf->prom.server.scrape_usec;
    return (int64_t)((usec + 999999) / 1000000);
}

/* The shortest step with which all values fit into one answer, by the number of
 * nodes or GPUs in the store. */
static int64_t fitting_step(const struct bj_series_work *w,
                            const struct bj_visible_job *f, int64_t span)
{
    int64_t rows = w->by == BJ_SERIES_NODE  ? f->nodes
                   : w->by == BJ_SERIES_GPU ? f->gpus
                                            : 1;
    if (rows < 1 || rows >= CELLS_MAX || rows * w->metrics >= CELLS_MAX)
        return 1;
    int64_t at_once = rows * w->metrics;
    return span * at_once / (CELLS_MAX - at_once) + 1;
}

/* The requested part of the job's time: outside of it the same jobid may be
 * another job's. */
static int read_range(struct bj_call *c, const struct bj_params *p,
                      const struct bj_visible_job *f, struct bj_series_work *w)
{
    struct bj_prompool_range *ret = &w->range;
    int64_t least = scrape_sec(c);
    if (f->start == BJ_SQL_NULL) { /* it has not run yet */
        *ret = (struct bj_prompool_range){c->now_sec, c->now_sec - 1, least};
        return 0;
    }
    int64_t end = f->end == BJ_SQL_NULL ? c->now_sec : f->end + least;
    ret->from = f->start;
    ret->to = end < c->now_sec ? end : c->now_sec;
    if (p->given[BJ_PARAM_FROM] && p->number[BJ_PARAM_FROM] > ret->from)
        ret->from = p->number[BJ_PARAM_FROM];
    if (p->given[BJ_PARAM_TO] && p->number[BJ_PARAM_TO] < ret->to)
        ret->to = p->number[BJ_PARAM_TO];
    int64_t span = ret->to > ret->from ? ret->to - ret->from : 0;
    if (p->given[BJ_PARAM_STEP]) {
        ret->step = p->number[BJ_PARAM_STEP];
        if (ret->step < least)
            ret->step = least;
    } else {
        int64_t fits = fitting_step(w, f, span);
        ret->step = bj_series_step(span, fits > least ? fits : least);
    }
    if (span / ret->step >= POINTS_MAX)
        return bj_call_refuse(c, 400,
                              "That would be more than %d points; use a longer "
                              "step or a shorter time.",
                              POINTS_MAX);
    return 0;
}

static int prepare(struct bj_call *c, struct bj_params *p,
                   struct bj_series_work *w)
{
    const struct bj_prompool_conf *conf = &c->worker->conf->prom;
    struct bj_visible_job f;
    struct bj_buf selector = {0}, match = {0};
    int r = bj_visible_job_find(c, p, c->tail, &w->arena, &f);
    if (r == 0)
        r = pick(c, p, w);
    if (r == 0)
        r = read_by(c, p, &w->by);
    if (r == 0)
        r = read_range(c, p, &f, w);
    if (r == 0)
        r = bj_prom_matchers(&conf->server.match,
                             f.cluster.n > 0 ? f.cluster.p : "", &match,
                             &c->err);
    bj_buf_put(&match, "", 1);
    if (r != 0) {
        bj_buf_free(&match);
        return r;
    }
    struct bj_series_job job = {.id = f.id,
                                .user = f.user,
                                .cluster = f.cluster,
                                .uid = f.uid == BJ_SQL_NULL ? -1 : f.uid,
                                .match = match.p,
                                .cluster_label = conf->cluster_label};
    int64_t window = 4 * scrape_sec(c);
    bj_series_selector(&selector, &job);
    bj_series_query(&w->query, w->metric, w->metrics,
                    (struct bj_slice){selector.p, selector.len}, w->by,
                    window > w->range.step ? window : w->range.step);
    bj_buf_put(&w->query, "", 1);
    if (match.failed || selector.failed || w->query.failed)
        r = bj_err_set(&c->err, -ENOMEM, "series");
    bj_buf_free(&match);
    bj_buf_free(&selector);
    w->key = f.key;
    w->points =
        w->range.to < w->range.from
            ? 0
            : (unsigned)((w->range.to - w->range.from) / w->range.step) + 1;
    return r;
}

static int on_series(struct bj_call *c)
{
    struct bj_params p;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r != 0)
        return r;
    if (!c->worker->prom)
        return bj_call_refuse(
            c, 404, "No Prometheus server is configured (prometheus.url).");
    struct bj_series_work *w = calloc(1, sizeof(*w));
    if (!w)
        return bj_err_set(&c->err, -ENOMEM, "series");
    w->server = c->worker->server;
    w->prom = bj_prompool_ref(c->worker->prom);
    w->since_usec = bj_clock_boot_usec();
    r = prepare(c, &p, w);
    if (r == 0)
        c->work = w;
    else
        free_work(w);
    return r;
}

/* --- the response ----------------------------------------------------------
 */

static bool digits(struct bj_slice *s)
{
    size_t n = 0;
    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
        n++;
    s->p += n;
    s->n -= n;
    return n > 0;
}

static bool skip(struct bj_slice *s, const char *any)
{
    bool there = s->n > 0 && s->p[0] && strchr(any, s->p[0]);
    s->p += there;
    s->n -= there;
    return there;
}

/* Is it a number in JSON?  NaN and +Inf of Prometheus are not. */
static bool is_number(struct bj_slice s)
{
    if (s.n == 0 || s.n >= NUMBER_BYTES)
        return false;
    skip(&s, "-");
    if (s.n > 1 && s.p[0] == '0' && s.p[1] >= '0' && s.p[1] <= '9')
        return false;
    if (!digits(&s) || (skip(&s, ".") && !digits(&s)))
        return false;
    if (skip(&s, "eE")) {
        skip(&s, "+-");
        if (!digits(&s))
            return false;
    }
    return s.n == 0;
}

static struct bj_slice label(const struct bj_json *metric, const char *name)
{
    return bj_json_text(bj_json_get(metric, name));
}

/* The node: its name in the batch system, else the host of the scraped address.
 */
static struct bj_slice node_of(const struct bj_json *metric)
{
    struct bj_slice s = label(metric, "slurm_node");
    if (s.n > 0)
        return s;
    s = label(metric, "instance");
    size_t n = s.n;
    while (n > 0 && s.p[n - 1] >= '0' && s.p[n - 1] <= '9')
        n--;
    if (n > 1 && n < s.n && s.p[n - 1] == ':')
        s.n = n - 1;
    return s;
}

static struct bj_series_group *group_of(struct bj_series_work *w,
                                        const struct bj_json *metric)
{
    struct bj_slice node = node_of(metric), gpu = label(metric, "gpu");
    for (unsigned i = 0; i < w->groups; i++)
        if (bj_slice_eq(w->group[i].node, node) &&
            bj_slice_eq(w->group[i].gpu, gpu))
            return &w->group[i];
    uint64_t cells = (uint64_t)w->points * w->metrics;
    if (w->groups == BJ_SERIES_GROUPS || cells * (w->groups + 1) > CELLS_MAX) {
        w->too_much = true;
        return NULL;
    }
    struct bj_series_group *g = &w->group[w->groups++];
    g->node = bj_arena_copy(&w->arena, node);
    g->gpu = bj_arena_copy(&w->arena, gpu);
    g->cell = bj_arena_alloc(&w->arena, (size_t)cells * sizeof(*g->cell));
    return g;
}

static int metric_at(const struct bj_series_work *w, struct bj_slice name)
{
    for (unsigned i = 0; i < w->metrics; i++)
        if (bj_slice_eq(bj_slice_str(bj_series_metrics[w->metric[i]].name),
                        name))
            return (int)i;
    return -1;
}

/* One element: {"metric": {...}, "values": [[TIME, "VALUE"], ...]}. */
static int take_series(void *ctx, const struct bj_json *metric,
                       const struct bj_json *values, struct bj_err *err)
{
    struct bj_series_work *w = ctx;
    int at = metric_at(w, label(metric, "bj"));
    if (at < 0)
        return bj_err_set(err, -EPROTO,
                          "prometheus: a series that was not queried");
    struct bj_series_group *g = group_of(w, metric);
    if (!g)
        return bj_err_set(err, -EFBIG, "prometheus: too many values");
    if (!g->cell)
        return bj_err_set(err, -ENOMEM, "series");
    BJ_JSON_EACH(pair, values)
    {
        int64_t sec;
        struct bj_slice text = bj_json_text(bj_json_at(pair, 1));
        if (bj_json_i64(bj_json_at(pair, 0), &sec) < 0 || sec < w->range.from ||
            sec > w->range.to || !is_number(text))
            continue;
        size_t point = (size_t)((sec - w->range.from) / w->range.step);
        if (w->values.len == 0) /* index 0 means "no value" */
            bj_buf_put(&w->values, "", 1);
        g->cell[point * w->metrics + (size_t)at] = (uint32_t)w->values.len;
        bj_buf_slice(&w->values, text);
        bj_buf_put(&w->values, "", 1);
    }
    return w->arena.failed || w->values.failed
               ? bj_err_set(err, -ENOMEM, "series")
               : 0;
}

/* --- the answer ------------------------------------------------------------
 */

static void put_row(struct bj_rows *rows, const struct bj_series_work *w,
                    const struct bj_series_group *g, unsigned point)
{
    int64_t sec = w->range.from + (int64_t)point * w->range.step;
    struct bj_slice none = {0};
    bj_row_begin(rows);
    bj_put_time(rows, sec);
    bj_put_time_ms(rows, sec);
    bj_put_text(rows, g->node.n > 0 ? g->node : none);
    bj_put_text(rows, g->gpu.n > 0 ? g->gpu : none);
    for (unsigned m = 0; m < w->metrics; m++) {
        bj_put_number(rows, bj_slice_str(bj_series_value(w, g, point, m)));
    }
    bj_row_end(rows);
}

static bool empty(const struct bj_series_work *w,
                  const struct bj_series_group *g, unsigned point)
{
    for (unsigned m = 0; m < w->metrics; m++)
        if (bj_series_value(w, g, point, m))
            return false;
    return true;
}

static int write_rows(struct bj_call *c, const struct bj_series_work *w)
{
    const char *key[FIXED_KEYS + BJ_SERIES_METRICS] = {"time", "time_ms",
                                                       "node", "gpu"};
    struct bj_rows rows;
    struct bj_buf more = {0};
    for (unsigned i = 0; i < w->metrics; i++)
        key[FIXED_KEYS + i] = bj_series_metrics[w->metric[i]].name;
    bj_call_rows(c, &rows, key, FIXED_KEYS + w->metrics);
    for (unsigned i = 0; i < w->points; i++)
        for (unsigned g = 0; g < w->groups; g++)
            if (!empty(w, &w->group[g], i))
                put_row(&rows, w, &w->group[g], i);
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

/* A picture for pages. */
static int write_curve(struct bj_call *c, const struct bj_series_work *w)
{
    c->reply->type = "image/svg+xml";
    bj_call_header(c, "Content-Security-Policy", "default-src 'none'");
    bj_series_draw(&c->reply->body, w);
    return 0;
}

static int failed(struct bj_call *c, const struct bj_series_work *w, int code)
{
    if (w->too_much)
        return bj_call_refuse(
            c, 400,
            "That would be more than %d values; request fewer metrics, a "
            "longer step, or no rows by node.",
            CELLS_MAX);
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
                              "Too many answers are in flight; try again.");
    }
    int r = c->endpoint->series ? write_rows(c, w) : write_curve(c, w);
    bj_room_give_later(w->server);
    return r;
}

static int query_prometheus(struct bj_call *c, struct bj_series_work *w)
{
    /* The queries before it got no reply, or the client has disconnected. */
    if (bj_prompool_late(w->prom, w->since_usec) || bj_http_given_up(c->req))
        return bj_err_set(&c->err, -EBUSY,
                          "prometheus: the query waited too long");
    return bj_prompool_ask(
        w->prom, w->query.p, &w->range,
        &(struct bj_prom_sink){.ctx = w, .series = take_series}, &c->err);
}

/* May take twice prometheus.timeout, with the wait for its turn. */
static int after_series(struct bj_call *c)
{
    struct bj_series_work *w = c->work;
    int r = 0;
    if (w->points > 0 && w->metrics > 0)
        r = query_prometheus(c, w);
    r = r == 0 ? write_answer(c, w) : failed(c, w, r);
    free_work(w);
    c->work = NULL;
    return r;
}

/* --- the names -------------------------------------------------------------
 */

static const struct bj_key list_keys[] = {
    {"metric", "string", "Name, for the parameter metric."},
    {"unit", "string", "Unit."},
    {"help", "string", "Description."},
    {NULL, NULL, NULL},
};

static int on_list(struct bj_call *c)
{
    const char *names[BJ_KEYS];
    struct bj_rows rows;
    struct bj_params p;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r != 0)
        return r;
    bj_call_rows(c, &rows, names, bj_key_names(list_keys, names));
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
     .series = true},
    {.path = "/jobs/*/curve.svg",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_series,
     .after = after_series,
     .refused = bj_page_refuse,
     .up = "../../",
     .help = "Plot of time series of a job, for web pages.",
     .type = "image/svg+xml",
     .params = BJ_BIT(BJ_PARAM_METRIC) | BJ_BIT(BJ_PARAM_FROM) |
               BJ_BIT(BJ_PARAM_TO) | BJ_BIT(BJ_PARAM_STEP)},
    {.path = "/api/v1/series",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_USER,
     .run = on_list,
     .help = "The metrics of the time series of jobs.",
     .keys = list_keys},
    {.path = NULL},
};
