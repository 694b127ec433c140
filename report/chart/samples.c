#include "report/chart/samples.h"

#include "base/json.h"
#include "report/chart/chart.h"

#include <string.h>

enum { NUMBER_BYTES = 40 };

void bj_samples_free(struct bj_samples *w)
{
    bj_buf_free(&w->values);
    bj_arena_free(&w->arena);
}

/* The shortest step with which all values fit into one result. */
static int64_t fitting_step(const struct bj_samples *s, int64_t rows,
                            int64_t span)
{
    if (rows < 1 || rows >= BJ_SAMPLES_CELLS ||
        rows * s->metrics >= BJ_SAMPLES_CELLS)
        return 1;
    int64_t at_once = rows * s->metrics;
    return span * at_once / (BJ_SAMPLES_CELLS - at_once) + 1;
}

int64_t bj_samples_step(const struct bj_samples *s, int64_t rows,
                        int64_t span_sec, unsigned most_points,
                        int64_t least_sec)
{
    int64_t fits = fitting_step(s, rows, span_sec);
    if (most_points > 0 && span_sec / most_points > fits)
        fits = span_sec / most_points;
    return bj_series_step(span_sec, fits > least_sec ? fits : least_sec);
}

int bj_samples_query(struct bj_samples *s, const struct bj_series_job *job,
                     int64_t scrape_sec, struct bj_buf *query,
                     struct bj_err *err)
{
    struct bj_buf selector = {0};
    s->window = 4 * scrape_sec > s->step ? 4 * scrape_sec : s->step;
    bj_series_selector(&selector, job);
    bj_series_query(query, s->metric, s->metrics,
                    (struct bj_slice){selector.p, selector.len}, s->by,
                    s->window);
    bj_buf_put(query, "", 1);
    int r = selector.failed || query->failed
                ? bj_err_set(err, -ENOMEM, "series")
                : 0;
    bj_buf_free(&selector);
    s->points =
        s->to < s->from ? 0 : (unsigned)((s->to - s->from) / s->step) + 1;
    return r;
}

/* --- the result ------------------------------------------------------------
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

static bool samples_skip(struct bj_slice *s, const char *any)
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
    samples_skip(&s, "-");
    if (s.n > 1 && s.p[0] == '0' && s.p[1] >= '0' && s.p[1] <= '9')
        return false;
    if (!digits(&s) || (samples_skip(&s, ".") && !digits(&s)))
        return false;
    if (samples_skip(&s, "eE")) {
        samples_skip(&s, "+-");
        if (!digits(&s))
            return false;
    }
    return s.n == 0;
}

static struct bj_slice label(const struct bj_json *metric, const char *name)
{
    return bj_json_text(bj_json_get(metric, name));
}

/* The name of the node in the batch system, else the host of the scraped
 * address. */
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

static struct bj_samples_group *group_of(struct bj_samples *w,
                                         const struct bj_json *metric)
{
    struct bj_slice node = node_of(metric), gpu = label(metric, "gpu");
    struct bj_slice index = label(metric, "index");
    for (unsigned i = 0; i < w->groups; i++)
        if (bj_slice_eq(w->group[i].node, node) &&
            bj_slice_eq(w->group[i].gpu, gpu))
            return &w->group[i];
    uint64_t cells = (uint64_t)w->points * w->metrics;
    if (w->groups == BJ_SAMPLES_GROUPS ||
        cells * (w->groups + 1) > BJ_SAMPLES_CELLS) {
        w->too_much = true;
        return NULL;
    }
    struct bj_samples_group *g = &w->group[w->groups++];
    g->node = bj_arena_copy(&w->arena, node);
    g->gpu = bj_arena_copy(&w->arena, gpu);
    g->index = bj_arena_copy(&w->arena, index);
    g->cell = bj_arena_alloc(&w->arena, (size_t)cells * sizeof(*g->cell));
    return g;
}

static int metric_at(const struct bj_samples *w, struct bj_slice name)
{
    for (unsigned i = 0; i < w->metrics; i++)
        if (bj_slice_eq(bj_slice_str(bj_series_metrics[w->metric[i]].name),
                        name))
            return (int)i;
    return -1;
}

/* One element: {"metric": {...}, "values": [[TIME, "VALUE"], ...]}. */
int bj_samples_take(void *ctx, const struct bj_json *metric,
                    const struct bj_json *values, struct bj_err *err)
{
    struct bj_samples *w = ctx;
    int at = metric_at(w, label(metric, "bj"));
    if (at < 0)
        return bj_err_set(
            err, -EPROTO,
            "prometheus: the reply has a series that was not queried");
    struct bj_samples_group *g = group_of(w, metric);
    if (!g)
        return bj_err_set(err, -EFBIG, "prometheus: too many values");
    if (!g->cell)
        return bj_err_set(err, -ENOMEM, "series");
    BJ_JSON_EACH(pair, values)
    {
        int64_t sec;
        struct bj_slice text = bj_json_text(bj_json_at(pair, 1));
        if (bj_json_i64(bj_json_at(pair, 0), &sec) < 0 || sec < w->from ||
            sec > w->to || !is_number(text))
            continue;
        size_t point = (size_t)((sec - w->from) / w->step);
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

bool bj_samples_number(const struct bj_samples *w,
                       const struct bj_samples_group *g, unsigned point,
                       unsigned metric, double *ret)
{
    const char *text = bj_samples_text(w, g, point, metric);
    if (!text)
        return false;
    return bj_chart_number(bj_slice_str(text), ret);
}
