#include "apiserver/curves.h"

#include "base/html.h"
#include "base/json.h"

#include <stdlib.h>

enum {
    METRICS = 4,    /* of a chart, at most */
    MULTIPLES = 12, /* charts of nodes or of GPUs, at most */
    SMALL_POINTS = 80,
    RECENT = 5,         /* a value is current for so many steps */
    PAGE_USEC = 4000000 /* a page waits no longer for a query */
};

struct plan {
    const char *title;
    const char *metric[METRICS];
};

static const struct plan of_job[] = {
    {"CPUs", {"cpus_used", "cpus_allocated"}},
    {"Memory", {"memory_bytes", "memory_held_bytes", "memory_limit_bytes"}},
    {"GPU use", {"gpu_busy_ratio"}},
    {"GPU memory", {"gpu_memory_bytes"}},
    {"Data read and written", {"read_bytes_per_sec", "write_bytes_per_sec"}},
    {"Power", {"power_watts", "gpu_power_watts"}},
    {NULL, {NULL}},
};
static const struct plan of_nodes[] = {
    {"CPUs", {"cpus_used", "cpus_allocated"}},
    {"Memory", {"memory_bytes", "memory_limit_bytes"}},
    {NULL, {NULL}},
};
static const struct plan of_gpus[] = {
    {"GPU use", {"gpu_busy_ratio"}},
    {"GPU memory", {"gpu_memory_bytes"}},
    {NULL, {NULL}},
};
static const struct plan *const plans[BJ_CURVES] = {
    [BJ_SERIES_JOB] = of_job,
    [BJ_SERIES_NODE] = of_nodes,
    [BJ_SERIES_GPU] = of_gpus,
};

/* --- queries ---------------------------------------------------------------
 */

static void pick(struct bj_series_work *w)
{
    for (const struct plan *p = plans[w->by]; p->title; p++)
        for (unsigned i = 0; i < METRICS && p->metric[i]; i++)
            w->metric[w->metrics++] =
                (unsigned char)bj_series_find(bj_slice_str(p->metric[i]));
}

static int prepare(struct bj_call *c, const struct bj_visible_job *f,
                   enum bj_series_by by, struct bj_curves *k)
{
    struct bj_params p = {.values = 0};
    int r = bj_series_new(c, &k->work[by]);
    if (r != 0)
        return r;
    struct bj_series_work *w = k->work[by];
    w->by = by;
    w->start = f->start;
    w->to_end = f->end == BJ_SQL_NULL;
    w->range.limit_usec = PAGE_USEC;
    pick(w);
    if (by != BJ_SERIES_JOB)
        w->most_points = SMALL_POINTS;
    return bj_series_prepare(c, &p, f, w);
}

int bj_curves_prepare(struct bj_call *c, const struct bj_visible_job *f,
                      struct bj_curves *k)
{
    int r = prepare(c, f, BJ_SERIES_JOB, k);
    if (r == 0 && f->nodes != BJ_SQL_NULL && f->nodes > 1)
        r = prepare(c, f, BJ_SERIES_NODE, k);
    if (r == 0 && f->gpus != BJ_SQL_NULL && f->gpus > 0)
        r = prepare(c, f, BJ_SERIES_GPU, k);
    return r;
}

void bj_curves_ask(struct bj_call *c, struct bj_curves *k)
{
    int failed = 0;
    for (unsigned i = 0; i < BJ_CURVES; i++) {
        if (!k->work[i])
            continue;
        if (failed == 0)
            failed = bj_series_ask(k->work[i], c->req, &c->err);
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

enum bj_chart_unit bj_curves_unit(const struct bj_series_metric *m)
{
    static const struct {
        const char *name;
        enum bj_chart_unit unit;
    } units[] = {{"bytes", BJ_CHART_BYTES},
                 {"bytes/s", BJ_CHART_BYTES_PER_SEC},
                 {"ratio", BJ_CHART_PERCENT},
                 {"watts", BJ_CHART_WATTS},
                 {"1/s", BJ_CHART_PER_SEC}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(m->unit, units[i].name) == 0)
            return units[i].unit;
    return BJ_CHART_PLAIN;
}

bool bj_curves_is_limit(const struct bj_series_metric *m)
{
    return strstr(m->name, "_limit_bytes") || strstr(m->name, "_allocated");
}

double *bj_curves_values(const struct bj_series_work *w, unsigned group,
                         unsigned metric)
{
    const struct bj_series_metric *m = &bj_series_metrics[w->metric[metric]];
    const double by = bj_curves_unit(m) == BJ_CHART_PERCENT ? 1e4 : 1e6;
    double *ret = malloc((w->points + 1) * sizeof(*ret));
    for (unsigned i = 0; ret && i < w->points; i++) {
        int64_t v;
        const char *text = bj_series_value(w, &w->group[group], i, metric);
        bool good = text && bj_decimal_i64(bj_slice_str(text), 6, &v) >= 0;
        ret[i] = good ? (double)v / by : __builtin_nan("");
    }
    return ret;
}

static unsigned metric_at(const struct bj_series_work *w, const char *name)
{
    unsigned i = 0;
    while (i < w->metrics &&
           strcmp(bj_series_metrics[w->metric[i]].name, name) != 0)
        i++;
    return i;
}

bool bj_curves_now(const struct bj_curves *k, const char *metric, double *ret)
{
    const struct bj_series_work *w = k->work[BJ_SERIES_JOB];
    unsigned at = w ? metric_at(w, metric) : 0;
    if (!w || k->result[BJ_SERIES_JOB] != 0 || w->groups == 0 ||
        at == w->metrics)
        return false;
    double *value = bj_curves_values(w, 0, at);
    bool found = false;
    for (unsigned i = 1; value && i <= RECENT && i <= w->points && !found; i++)
        if (value[w->points - i] == value[w->points - i]) { /* no NaN */
            *ret = value[w->points - i];
            found = true;
        }
    free(value);
    return found;
}

/* --- charts ----------------------------------------------------------------
 */

/* A chart of one group; its values must be freed. */
static bool make_chart(const struct bj_series_work *w, unsigned group,
                       const struct plan *p, struct bj_chart *k)
{
    *k = (struct bj_chart){.title = p->title,
                           .start = w->start,
                           .from = w->range.from,
                           .step = w->range.step,
                           .points = w->points};
    for (unsigned i = 0; i < METRICS && p->metric[i]; i++) {
        unsigned at = metric_at(w, p->metric[i]);
        const struct bj_series_metric *m = &bj_series_metrics[w->metric[at]];
        double *value = bj_curves_values(w, group, at);
        double mean, highest;
        if (!value)
            return false;
        k->unit = bj_curves_unit(m);
        k->line[k->lines] =
            (struct bj_chart_line){m->label, value, bj_curves_is_limit(m)};
        k->lines++;
        if (!bj_chart_mean(k, k->lines - 1, &mean, &highest)) {
            k->lines--; /* nothing is known */
            free(value);
        }
    }
    return true;
}

static void free_chart(struct bj_chart *k)
{
    for (unsigned i = 0; i < k->lines; i++)
        free((void *)k->line[i].value);
}

/* The memory that the job requested, where its cgroups have no limit. */
static void add_requested(struct bj_chart *k, const struct bj_curves *c,
                          const struct plan *p)
{
    if (p != &of_job[1] || c->memory_requested == BJ_SQL_NULL ||
        c->memory_requested <= 0 || k->lines == 0 ||
        k->line[k->lines - 1].limit)
        return;
    double *value = malloc((k->points + 1) * sizeof(*value));
    for (unsigned i = 0; value && i < k->points; i++)
        value[i] = (double)c->memory_requested;
    if (value)
        k->line[k->lines++] =
            (struct bj_chart_line){"Memory requested", value, true};
}

/* "No samples of: GPU use, power." */
static void put_missing(struct bj_buf *b, const char *const *title, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        bj_buf_str(b, i ? ", " : "<p class=\"none\">No samples of: ");
        bj_buf_str(b, title[i]);
    }
    bj_buf_str(b, n > 0 ? ".</p>\n" : "");
}

static void put_job(struct bj_buf *b, const struct bj_curves *c)
{
    const struct bj_series_work *w = c->work[BJ_SERIES_JOB];
    const bool gpus = c->work[BJ_SERIES_GPU] != NULL;
    const char *missing[sizeof(of_job) / sizeof(of_job[0])];
    unsigned n = 0;
    bj_buf_str(b, "<div class=\"charts\">\n");
    for (const struct plan *p = of_job; p->title; p++) {
        struct bj_chart k;
        if (make_chart(w, 0, p, &k)) {
            add_requested(&k, c, p);
            if (bj_chart_has_values(&k))
                bj_chart_figure(b, &k);
            else if (gpus || strncmp(p->title, "GPU", 3) != 0)
                missing[n++] = p->title;
        } else {
            b->failed = true;
        }
        free_chart(&k);
    }
    bj_buf_str(b, "</div>\n");
    put_missing(b, missing, n);
}

/* --- one chart for each node or GPU ----------------------------------------
 */

struct rank {
    unsigned group;
    double mean, distance; /* from the median */
};

static int by_mean(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return (x->mean > y->mean) - (x->mean < y->mean);
}

static int by_distance(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? 1 : -1;
    return x->group < y->group ? -1 : x->group > y->group;
}

static int by_group(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return x->group < y->group ? -1 : x->group > y->group;
}

/* Which groups to show: all, or those furthest from the median of their first
 * metric. */
static unsigned choose(const struct bj_series_work *w, struct rank *rank)
{
    for (unsigned i = 0; i < w->groups; i++) {
        double highest;
        struct bj_chart k;
        const struct plan one = {"", {plans[w->by]->metric[0]}};
        rank[i] = (struct rank){.group = i};
        if (make_chart(w, i, &one, &k) && k.lines > 0)
            bj_chart_mean(&k, 0, &rank[i].mean, &highest);
        free_chart(&k);
    }
    if (w->groups <= MULTIPLES)
        return w->groups;
    qsort(rank, w->groups, sizeof(*rank), by_mean);
    double median = rank[w->groups / 2].mean;
    for (unsigned i = 0; i < w->groups; i++)
        rank[i].distance = rank[i].mean > median ? rank[i].mean - median
                                                 : median - rank[i].mean;
    qsort(rank, w->groups, sizeof(*rank), by_distance);
    qsort(rank, MULTIPLES, sizeof(*rank), by_group);
    return MULTIPLES;
}

static void put_one(struct bj_buf *b, const struct bj_series_work *w,
                    unsigned group, const struct plan *p)
{
    const struct bj_series_group *g = &w->group[group];
    struct bj_buf name = {0};
    struct bj_chart k;
    bj_buf_slice(&name, g->node);
    if (g->gpu.n > 0) {
        bj_buf_str(&name, name.len > 0 ? " GPU " : "GPU ");
        bj_buf_slice(&name, g->gpu);
    }
    if (make_chart(w, group, p, &k)) {
        k.of = (struct bj_slice){name.p, name.len};
        k.small = true;
        if (bj_chart_has_values(&k))
            bj_chart_figure(b, &k);
    } else {
        b->failed = true;
    }
    free_chart(&k);
    b->failed |= name.failed;
    bj_buf_free(&name);
}

static void put_multiples(struct bj_buf *b, const struct bj_series_work *w)
{
    const char *what = w->by == BJ_SERIES_GPU ? "GPU" : "node";
    struct rank *rank = malloc((w->groups + 1) * sizeof(*rank));
    if (!rank) {
        b->failed = true;
        return;
    }
    unsigned n = choose(w, rank);
    bj_buf_printf(b, "<h3>Each %s</h3>\n", what);
    if (n < w->groups)
        bj_buf_printf(b,
                      "<p>%u of %u: those that differ most from the median."
                      "</p>\n",
                      n, w->groups);
    for (const struct plan *p = plans[w->by]; p->title; p++) {
        bj_buf_str(b, "<div class=\"charts many\">\n");
        for (unsigned i = 0; i < n; i++)
            put_one(b, w, rank[i].group, p);
        bj_buf_str(b, "</div>\n");
    }
    free(rank);
}

/* --- all of them -----------------------------------------------------------
 */

static const char *why_none(const struct bj_series_work *w, int result,
                            bool running)
{
    if (w->too_much)
        return "The job has too many nodes or GPUs for these charts; the API "
               "has their series.";
    if (result == -EBUSY)
        return "Too many queries of time series are running; try again.";
    if (result == -ETIMEDOUT)
        return "The Prometheus server took too long; try again later.";
    if (result != 0)
        return "The Prometheus server did not answer, so there are no charts "
               "now; try again later.";
    if (running)
        return "Prometheus has no samples of this job yet. It may have just "
               "started, or its nodes are not monitored.";
    return "Prometheus has no samples of this job. It may have been too short, "
           "or its samples are no longer kept, or its nodes were not "
           "monitored.";
}

void bj_curves_put(struct bj_buf *b, const struct bj_curves *k)
{
    static const enum bj_series_by order[BJ_CURVES] = {
        BJ_SERIES_JOB, BJ_SERIES_GPU, BJ_SERIES_NODE};
    for (unsigned n = 0; n < BJ_CURVES; n++) {
        const enum bj_series_by i = order[n];
        const struct bj_series_work *w = k->work[i];
        if (!w)
            continue;
        if (k->result[i] != 0 || w->groups == 0) {
            bj_buf_printf(b, "<p class=\"none\">%s</p>\n",
                          why_none(w, k->result[i], k->running));
            break;
        }
        if (i == BJ_SERIES_JOB)
            put_job(b, k);
        else
            put_multiples(b, w);
    }
}
