#include "apiserver/series_work.h"

#include "apiserver/state.h"
#include "base/clock.h"
#include "base/json.h"

#include <stdlib.h>

enum { POINTS_MAX = 2000, NUMBER_BYTES = 40 };

void bj_series_free(struct bj_series_work *w)
{
    if (!w)
        return;
    bj_prompool_unref(w->prom);
    bj_buf_free(&w->query);
    bj_buf_free(&w->values);
    bj_arena_free(&w->arena);
    free(w);
}

int bj_series_new(struct bj_call *c, struct bj_series_work **ret)
{
    struct bj_series_work *w = calloc(1, sizeof(*w));
    if (!w)
        return bj_err_set(&c->err, -ENOMEM, "series");
    w->server = c->worker->server;
    w->prom = bj_prompool_ref(c->worker->prom);
    w->since_usec = bj_clock_boot_usec();
    *ret = w;
    return 0;
}

int bj_series_find(struct bj_slice name)
{
    for (int i = 0; bj_series_metrics[i].name; i++)
        if (bj_slice_eq(bj_slice_str(bj_series_metrics[i].name), name))
            return i;
    return -1;
}

/* --- the request -----------------------------------------------------------
 */

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
    if (rows < 1 || rows >= BJ_SERIES_CELLS ||
        rows * w->metrics >= BJ_SERIES_CELLS)
        return 1;
    int64_t at_once = rows * w->metrics;
    return span * at_once / (BJ_SERIES_CELLS - at_once) + 1;
}

/* The requested part of the job's time: outside of it the same jobid may be
 * another job's. */
static int read_range(struct bj_call *c, const struct bj_params *p,
                      const struct bj_visible_job *f, struct bj_series_work *w)
{
    struct bj_prompool_range *ret = &w->range;
    int64_t least = scrape_sec(c);
    if (f->start == BJ_SQL_NULL) { /* it has not run yet */
        *ret = (struct bj_prompool_range){
            .from = c->now_sec, .to = c->now_sec - 1, .step = least};
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
        if (w->most_points > 0 && span / w->most_points > fits)
            fits = span / w->most_points;
        ret->step = bj_series_step(span, fits > least ? fits : least);
    }
    if (w->to_end)
        ret->from += span % ret->step;
    if (span / ret->step >= POINTS_MAX)
        return bj_call_refuse(c, 400,
                              "That would be more than %d points; use a longer "
                              "step or a shorter time.",
                              POINTS_MAX);
    return 0;
}

int bj_series_prepare(struct bj_call *c, const struct bj_params *p,
                      const struct bj_visible_job *f, struct bj_series_work *w)
{
    const struct bj_prompool_conf *conf = &c->worker->conf->prom;
    struct bj_buf selector = {0}, match = {0};
    int r = read_range(c, p, f, w);
    if (r == 0)
        r = bj_prom_matchers(&conf->server.match,
                             f->cluster.n > 0 ? f->cluster.p : "", &match,
                             &c->err);
    bj_buf_put(&match, "", 1);
    if (r != 0) {
        bj_buf_free(&match);
        return r;
    }
    struct bj_series_job job = {.id = f->id,
                                .user = f->user,
                                .cluster = f->cluster,
                                .uid = f->uid == BJ_SQL_NULL ? -1 : f->uid,
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
    w->points =
        w->range.to < w->range.from
            ? 0
            : (unsigned)((w->range.to - w->range.from) / w->range.step) + 1;
    return r;
}

/* --- the reply of Prometheus -----------------------------------------------
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
    if (w->groups == BJ_SERIES_GROUPS ||
        cells * (w->groups + 1) > BJ_SERIES_CELLS) {
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
        return bj_err_set(
            err, -EPROTO,
            "prometheus: the reply has a series that was not queried");
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

int bj_series_ask(struct bj_series_work *w, const struct bj_http_request *req,
                  struct bj_err *err)
{
    if (w->points == 0 || w->metrics == 0)
        return 0;
    /* The queries before it got no reply, or the client has disconnected. */
    if (bj_prompool_late(w->prom, w->since_usec) || bj_http_given_up(req))
        return bj_err_set(err, -EBUSY, "prometheus: the query waited too long");
    return bj_prompool_ask(
        w->prom, w->query.p, &w->range,
        &(struct bj_prom_sink){.ctx = w, .series = take_series}, err);
}
