#include "report/chart/charts.h"
#include "report/model/show.h"

#include "base/local.h"

#include "store/db.h"

#include <stdlib.h>
#include <string.h>

static const struct bj_chart_plan of_job[] = {
    {"CPUs", {"cpus_used"}},
    {"Memory", {"memory_bytes", "memory_held_bytes", "memory_limit_bytes"}},
    {"GPU use", {"gpu_busy_ratio"}},
    {"GPU memory", {"gpu_memory_bytes"}},
    {"Data read and written", {"read_bytes_per_sec", "write_bytes_per_sec"}},
    {"Power", {"power_watts", "gpu_power_watts"}},
    {NULL, {NULL}},
};
static const struct bj_chart_plan of_nodes[] = {
    {"CPUs", {"cpus_used", "cpus_usable"}},
    {"Memory", {"memory_bytes", "memory_limit_bytes"}},
    {NULL, {NULL}},
};
static const struct bj_chart_plan of_gpus[] = {
    {"GPU use", {"gpu_busy_ratio"}},
    {"GPU memory", {"gpu_memory_bytes"}},
    {NULL, {NULL}},
};
const struct bj_chart_plan *const bj_chart_plans[BJ_SERIES_GPU + 1] = {
    [BJ_SERIES_JOB] = of_job,
    [BJ_SERIES_NODE] = of_nodes,
    [BJ_SERIES_GPU] = of_gpus,
};

void bj_charts_pick(struct bj_samples *s)
{
    for (const struct bj_chart_plan *p = bj_chart_plans[s->by]; p->title; p++)
        for (unsigned i = 0; i < BJ_CHARTS_METRICS && p->metric[i]; i++)
            s->metric[s->metrics++] =
                (unsigned char)bj_series_find(bj_slice_str(p->metric[i]));
}

/* --- values ----------------------------------------------------------------
 */

enum bj_chart_unit bj_chart_unit_of(const struct bj_series_metric *m)
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

bool bj_chart_is_limit(const struct bj_series_metric *m)
{
    return strstr(m->name, "_limit_bytes") || strstr(m->name, "_usable");
}

double *bj_chart_values(const struct bj_samples *s, unsigned group,
                        unsigned metric, struct bj_arena *a)
{
    const struct bj_series_metric *m = &bj_series_metrics[s->metric[metric]];
    const double by = bj_chart_unit_of(m) == BJ_CHART_PERCENT ? 100 : 1;
    double *ret = bj_arena_alloc(a, (s->points + 1) * sizeof(*ret));
    for (unsigned i = 0; ret && i < s->points; i++) {
        double v;
        ret[i] = bj_samples_number(s, &s->group[group], i, metric, &v)
                     ? v * by
                     : __builtin_nan("");
    }
    return ret;
}

static unsigned metric_at(const struct bj_samples *s, const char *name)
{
    unsigned i = 0;
    while (i < s->metrics &&
           strcmp(bj_series_metrics[s->metric[i]].name, name) != 0)
        i++;
    return i;
}

/* --- one chart -------------------------------------------------------------
 */

static struct bj_chart begin(const struct bj_samples *s, const char *title,
                             int64_t start)
{
    return (struct bj_chart){.title = bj_local(title),
                             .start = start,
                             .from = s->from,
                             .step = s->step,
                             .points = s->points};
}

bool bj_chart_make(const struct bj_samples *s, unsigned group,
                   const struct bj_chart_plan *p, int64_t start,
                   struct bj_arena *a, struct bj_chart *k)
{
    *k = begin(s, p->title, start);
    for (unsigned i = 0; i < BJ_CHARTS_METRICS && p->metric[i]; i++) {
        unsigned at = metric_at(s, p->metric[i]);
        double mean, highest;
        if (at == s->metrics)
            continue;
        const struct bj_series_metric *m = &bj_series_metrics[s->metric[at]];
        double *value = bj_chart_values(s, group, at, a);
        if (!value)
            return false;
        k->unit = bj_chart_unit_of(m);
        k->line[k->lines] = (struct bj_chart_line){bj_local(m->label), value,
                                                   bj_chart_is_limit(m)};
        k->lines++;
        if (!bj_chart_mean(k, k->lines - 1, &mean, &highest))
            k->lines--; /* no value is known */
    }
    return true;
}

void bj_chart_add_allocated(struct bj_chart *k, const struct bj_chart_plan *p,
                            const struct bj_charts_job *job, struct bj_arena *a)
{
    const struct {
        const char *metric, *name;
        int64_t amount;
    } lines[] = {{"cpus_used", "CPUs allocated", job->cpus},
                 {"memory_bytes", "Memory requested", job->memory_requested}};
    for (size_t n = 0; n < sizeof(lines) / sizeof(lines[0]); n++) {
        /* BJ_SQL_NULL is negative */
        if (strcmp(p->metric[0], lines[n].metric) != 0 ||
            lines[n].amount <= 0 || k->lines == 0 ||
            k->line[k->lines - 1].limit)
            continue;
        double *value = bj_arena_alloc(a, (k->points + 1) * sizeof(*value));
        for (unsigned i = 0; value && i < k->points; i++)
            value[i] = (double)lines[n].amount;
        if (value)
            k->line[k->lines++] =
                (struct bj_chart_line){bj_local(lines[n].name), value, true};
    }
}

/* --- choice of nodes or GPUs -----------------------------------------------
 */

struct rank {
    unsigned group;
    double mean, distance; /* distance from the median */
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

static int compare(struct bj_slice a, struct bj_slice b)
{
    return strverscmp(a.p ? a.p : "", b.p ? b.p : "");
}

/* Order by name, with numbers in names compared as numbers. */
static int by_name(const void *a, const void *b, void *samples)
{
    const struct bj_samples *s = samples;
    const struct rank *x = a, *y = b;
    int r = compare(s->group[x->group].node, s->group[y->group].node);
    if (r == 0)
        r = compare(s->group[x->group].index, s->group[y->group].index);
    return r != 0 ? r : compare(s->group[x->group].gpu, s->group[y->group].gpu);
}

static double mean_of(const struct bj_samples *s, unsigned group)
{
    double sum = 0, v;
    unsigned n = 0;
    for (unsigned i = 0; i < s->points; i++)
        if (bj_samples_number(s, &s->group[group], i, 0, &v)) {
            sum += v;
            n++;
        }
    return n > 0 ? sum / n : 0;
}

static void by_difference(struct rank *rank, unsigned n)
{
    qsort(rank, n, sizeof(*rank), by_mean);
    double median = rank[n / 2].mean;
    for (unsigned i = 0; i < n; i++)
        rank[i].distance = rank[i].mean > median ? rank[i].mean - median
                                                 : median - rank[i].mean;
    qsort(rank, n, sizeof(*rank), by_distance);
}

unsigned bj_charts_choose(const struct bj_samples *s, unsigned most,
                          unsigned *ret)
{
    struct rank *rank = calloc(s->groups + 1, sizeof(*rank));
    unsigned n = s->groups < most ? s->groups : most;
    if (!rank)
        return 0;
    for (unsigned i = 0; i < s->groups; i++)
        rank[i] = (struct rank){.group = i,
                                .mean = s->groups > most ? mean_of(s, i) : 0};
    if (s->groups > most)
        by_difference(rank, s->groups);
    qsort_r(rank, n, sizeof(*rank), by_name, (void *)s);
    for (unsigned i = 0; i < n; i++)
        ret[i] = rank[i].group;
    free(rank);
    return n;
}

/* --- all of a job ----------------------------------------------------------
 */

void bj_charts_free(struct bj_charts *c)
{
    bj_arena_free(&c->arena);
    *c = (struct bj_charts){.charts = 0};
}

static const char *name_of(struct bj_charts *c,
                           const struct bj_samples_group *g)
{
    struct bj_buf name = {0};
    if (g->gpu.n > 0)
        bj_show_gpu(&name, g->node, g->index, g->gpu);
    else
        bj_buf_clean(&name, g->node);
    struct bj_slice s =
        bj_arena_copy(&c->arena, (struct bj_slice){name.p, name.len});
    c->arena.failed |= name.failed;
    bj_buf_free(&name);
    return s.p ? s.p : "";
}

/* The place of a chart; one of GPUs replaces the chart of their mean or sum. */
static struct bj_chart *place_of(struct bj_charts *c, const struct bj_chart *k,
                                 bool replace)
{
    for (unsigned i = 0; replace && i < c->charts; i++)
        if (strcmp(c->chart[i].title, k->title) == 0)
            return &c->chart[i];
    return &c->chart[c->charts++];
}

bool bj_charts_add_rows(struct bj_charts *c, const struct bj_samples *s,
                        const struct bj_chart_plan *p, int64_t start)
{
    unsigned group[BJ_SAMPLES_GROUPS];
    unsigned n = bj_charts_choose(s, BJ_CHART_LINES, group);
    struct bj_chart k = begin(s, p->title, start);
    const unsigned at = metric_at(s, p->metric[0]);
    if (c->charts == BJ_CHARTS || n == 0 || at == s->metrics)
        return n > 0 || s->groups == 0;
    k.kind = BJ_CHART_ROWS;
    k.unit = bj_chart_unit_of(&bj_series_metrics[s->metric[at]]);
    k.of = bj_slice_str(
        bj_local(s->by == BJ_SERIES_GPU ? "each GPU" : "each node"));
    k.all = s->groups > n ? s->groups : 0;
    for (unsigned i = 0; i < n; i++) {
        double *value = bj_chart_values(s, group[i], at, &c->arena);
        if (value)
            k.line[k.lines++] = (struct bj_chart_line){
                name_of(c, &s->group[group[i]]), value, false};
    }
    if (bj_chart_has_values(&k))
        *place_of(c, &k, s->by == BJ_SERIES_GPU) = k;
    return !c->arena.failed;
}

static bool add_job(struct bj_charts *c, const struct bj_samples *s,
                    const struct bj_charts_job *job)
{
    for (const struct bj_chart_plan *p = of_job; p->title; p++) {
        struct bj_chart *k = &c->chart[c->charts];
        if (c->charts == BJ_CHARTS)
            return true;
        if (!bj_chart_make(s, 0, p, job->start, &c->arena, k))
            return false;
        bj_chart_add_allocated(k, p, job, &c->arena);
        c->charts += bj_chart_has_values(k);
    }
    return !c->arena.failed;
}

bool bj_charts_add(struct bj_charts *c, const struct bj_samples *s,
                   const struct bj_charts_job *job)
{
    bool good = true;
    if (s->groups == 0)
        return true;
    if (s->by == BJ_SERIES_JOB)
        return add_job(c, s, job);
    for (const struct bj_chart_plan *p = bj_chart_plans[s->by];
         good && s->groups > 1 && p->title; p++)
        good = bj_charts_add_rows(c, s, p, job->start);
    return good;
}

static const char *why(const struct bj_samples *s, int result, bool running)
{
    if (s && s->too_much)
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

const char *bj_charts_why(const struct bj_samples *s, int result, bool running)
{
    return bj_local(why(s, result, running));
}
