#include "report/chart/charts.h"

#include "base/json.h"
#include "base/local.h"
#include "report/model/show.h"
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

/* At its start a job fills only a part of the window of a rate, which would
 * rise from 0 there: until the window is full the rate is not known.  Of a job
 * of a few windows it is kept. */
static double *charts_values(const struct bj_samples *s, unsigned group,
                             unsigned metric, int64_t start, struct bj_arena *a)
{
    enum { WINDOWS = 4 };
    double *ret = bj_chart_values(s, group, metric, a);
    const bool rate =
        strstr(bj_series_metrics[s->metric[metric]].promql, "rate(");
    if (!ret || !rate || start < 0 || s->to - start < WINDOWS * s->window)
        return ret;
    for (unsigned i = 0;
         i < s->points && s->from + i * s->step < start + s->window; i++)
        ret[i] = __builtin_nan("");
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

static struct bj_chart own_charts_begin(const struct bj_samples *s,
                                        const char *title, int64_t start)
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
    *k = own_charts_begin(s, p->title, start);
    for (unsigned i = 0; i < BJ_CHARTS_METRICS && p->metric[i]; i++) {
        unsigned at = metric_at(s, p->metric[i]);
        double mean, highest;
        if (at == s->metrics)
            continue;
        const struct bj_series_metric *m = &bj_series_metrics[s->metric[at]];
        double *value = charts_values(s, group, at, start, a);
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

static int charts_compare(struct bj_slice a, struct bj_slice b)
{
    return strverscmp(a.p ? a.p : "", b.p ? b.p : "");
}

/* Order by name, with numbers in names compared as numbers. */
static int charts_by_name(const void *a, const void *b, void *samples)
{
    const struct bj_samples *s = samples;
    const struct rank *x = a, *y = b;
    int r = charts_compare(s->group[x->group].node, s->group[y->group].node);
    if (r == 0)
        r = charts_compare(s->group[x->group].index, s->group[y->group].index);
    return r != 0
               ? r
               : charts_compare(s->group[x->group].gpu, s->group[y->group].gpu);
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
    qsort_r(rank, n, sizeof(*rank), charts_by_name, (void *)s);
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

static const char *charts_name_of(struct bj_charts *c,
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
static struct bj_chart *charts_place_of(struct bj_charts *c,
                                        const struct bj_chart *k, bool replace)
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
    struct bj_chart k = own_charts_begin(s, p->title, start);
    const unsigned at = metric_at(s, p->metric[0]);
    if (c->charts == BJ_CHARTS || n == 0 || at == s->metrics)
        return n > 0 || s->groups == 0;
    k.kind = BJ_CHART_ROWS;
    k.unit = bj_chart_unit_of(&bj_series_metrics[s->metric[at]]);
    k.of = bj_slice_str(
        bj_local(s->by == BJ_SERIES_GPU ? "each GPU" : "each node"));
    k.all = s->groups > n ? s->groups : 0;
    for (unsigned i = 0; i < n; i++) {
        double *value = charts_values(s, group[i], at, start, &c->arena);
        if (value)
            k.line[k.lines++] = (struct bj_chart_line){
                charts_name_of(c, &s->group[group[i]]), value, false};
    }
    if (bj_chart_has_values(&k))
        *charts_place_of(c, &k, s->by == BJ_SERIES_GPU) = k;
    return !c->arena.failed;
}

static bool charts_add_job(struct bj_charts *c, const struct bj_samples *s,
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
        return charts_add_job(c, s, job);
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

/* --- JSON ---------------------------------------------------------------
 */

enum { POINTS_MAX = BJ_SAMPLES_CELLS, DAY_SEC = 86400 };

static const char *const kinds[BJ_CHART_KINDS] = {[BJ_CHART_CURVES] = "curves",
                                                  [BJ_CHART_ROWS] = "rows",
                                                  [BJ_CHART_DAYS] = "days",
                                                  [BJ_CHART_PIE] = "pie"};
static const char *const units[BJ_CHART_UNITS] = {
    [BJ_CHART_PLAIN] = "count",     [BJ_CHART_BYTES] = "bytes",
    [BJ_CHART_PERCENT] = "percent", [BJ_CHART_BYTES_PER_SEC] = "bytes/s",
    [BJ_CHART_WATTS] = "watts",     [BJ_CHART_PER_SEC] = "1/s",
    [BJ_CHART_HOURS] = "hours"};

/* --- writing ---------------------------------------------------------------
 */

static void charts_put_line(const struct bj_chart *k, unsigned line,
                            struct bj_buf *out)
{
    const struct bj_chart_line *l = &k->line[line];
    bj_buf_str(out, line > 0 ? ",{\"name\":" : "{\"name\":");
    bj_json_string(out, bj_slice_str(l->name));
    bj_buf_printf(out, ",\"limit\":%s,\"values\":[",
                  l->limit ? "true" : "false");
    for (unsigned i = 0; i < k->points; i++) {
        bj_buf_str(out, i > 0 ? "," : "");
        if (bj_chart_known(l->value[i]))
            bj_buf_printf(out, "%.9g", l->value[i]);
        else
            bj_buf_str(out, "null");
    }
    bj_buf_str(out, "]}");
}

static void put_chart(const struct bj_chart *k, struct bj_buf *out)
{
    bj_buf_str(out, "{\"title\":");
    bj_json_string(out, bj_slice_str(k->title));
    bj_buf_str(out, ",\"of\":");
    if (k->of.n > 0)
        bj_json_string(out, k->of);
    else
        bj_buf_str(out, "null");
    bj_buf_printf(out,
                  ",\"kind\":\"%s\",\"unit\":\"%s\",\"start_ms\":%lld,"
                  "\"from_ms\":%lld,\"step_sec\":%lld,\"chosen_from\":",
                  kinds[k->kind], units[k->unit], (long long)k->start * 1000,
                  (long long)k->from * 1000, (long long)k->step);
    if (k->all > 0)
        bj_buf_u64(out, k->all);
    else
        bj_buf_str(out, "null");
    bj_buf_str(out, ",\"lines\":[");
    for (unsigned i = 0; i < k->lines; i++)
        charts_put_line(k, i, out);
    bj_buf_str(out, "],\"marks\":[");
    for (unsigned i = 0; i < k->marks; i++) {
        bj_buf_printf(
            out, "%s{\"at_ms\":%lld,\"bad\":%s,\"text\":", i > 0 ? "," : "",
            (long long)k->mark[i].at * 1000, k->mark[i].bad ? "true" : "false");
        bj_json_string(out, bj_slice_str(k->mark[i].text));
        bj_buf_str(out, "}");
    }
    bj_buf_str(out, "]}");
}

void bj_charts_write(const struct bj_charts *c, struct bj_buf *out)
{
    bj_buf_str(out, "{\"charts\":[");
    for (unsigned i = 0; i < c->charts; i++) {
        bj_buf_str(out, i > 0 ? ",\n" : "");
        put_chart(&c->chart[i], out);
    }
    bj_buf_str(out, "],\"reason\":");
    if (c->why)
        bj_json_string(out, bj_slice_str(c->why));
    else
        bj_buf_str(out, "null");
    bj_buf_str(out, "}");
}

/* --- reading ---------------------------------------------------------------
 */

#define TIME_MAX                                                               \
    INT64_C(253402300800000) /* the year 10000, in milliseconds                \
                              */

static int charts_refuse(struct bj_err *err, const char *what)
{
    return bj_err_set(err, -EBADMSG, "charts: %s", what);
}

static int name_in(const struct bj_json *object, const char *key,
                   const char *const *names, unsigned n)
{
    struct bj_slice s = bj_json_text(bj_json_get(object, key));
    for (unsigned i = 0; i < n; i++)
        if (bj_slice_eq(s, bj_slice_str(names[i])))
            return (int)i;
    return -1;
}

/* Clean text; "" where there is none. */
static const char *copy_text(const struct bj_json *v, struct bj_arena *a)
{
    struct bj_buf b = {0};
    bj_buf_clean(&b, bj_json_text(v));
    struct bj_slice s = bj_arena_copy(a, (struct bj_slice){b.p, b.len});
    a->failed |= b.failed;
    bj_buf_free(&b);
    return s.p ? s.p : "";
}

static int charts_read_line(const struct bj_json *v, struct bj_arena *a,
                            struct bj_chart *k, struct bj_err *err)
{
    const struct bj_json *values = bj_json_get(v, "values");
    const size_t n = bj_json_len(values);
    bool limit = false;
    unsigned i = 0;
    if (k->lines == BJ_CHART_LINES)
        return charts_refuse(err, "too many lines");
    if (bj_json_kind(values) != BJ_JSON_ARRAY || n > POINTS_MAX ||
        (k->lines > 0 && n != k->points))
        return charts_refuse(err, "the values of a line do not fit");
    bj_json_bool(bj_json_get(v, "limit"), &limit);
    double *value = bj_arena_alloc(a, (n + 1) * sizeof(*value));
    if (!value)
        return bj_err_set(err, -ENOMEM, "charts");
    BJ_JSON_EACH(one, values)
    {
        struct bj_slice s = bj_json_kind(one) == BJ_JSON_NUMBER
                                ? bj_json_text(one)
                                : (struct bj_slice){0};
        if (!bj_chart_number(s, &value[i]))
            value[i] = __builtin_nan("");
        if (value[i] > 1e18 || value[i] < 1e-6)
            value[i] = value[i] > 1 ? 1e18 : 0;
        i++;
    }
    k->points = i;
    k->line[k->lines++] = (struct bj_chart_line){
        copy_text(bj_json_get(v, "name"), a), value, limit};
    return 0;
}

static int charts_read_mark(const struct bj_json *v, struct bj_arena *a,
                            struct bj_chart *k, struct bj_err *err)
{
    int64_t at;
    bool bad = false;
    if (k->marks == BJ_CHART_MARKS)
        return charts_refuse(err, "too many marks");
    if (bj_json_i64(bj_json_get(v, "at_ms"), &at) < 0 || at < 0 ||
        at > TIME_MAX)
        return charts_refuse(err, "a mark without a time");
    bj_json_bool(bj_json_get(v, "bad"), &bad);
    k->mark[k->marks++] = (struct bj_chart_mark){
        at / 1000, copy_text(bj_json_get(v, "text"), a), bad};
    return 0;
}

static int read_chart(const struct bj_json *v, struct bj_arena *a,
                      struct bj_chart *k, struct bj_err *err)
{
    const int kind = name_in(v, "kind", kinds, BJ_CHART_KINDS);
    const int unit = name_in(v, "unit", units, BJ_CHART_UNITS);
    int64_t start, from, step;
    if (kind < 0 || unit < 0 ||
        bj_json_i64(bj_json_get(v, "start_ms"), &start) < 0 ||
        bj_json_i64(bj_json_get(v, "from_ms"), &from) < 0 ||
        bj_json_i64(bj_json_get(v, "step_sec"), &step) < 0 || start < 0 ||
        start > TIME_MAX || from < 0 || from > TIME_MAX || step < 1 ||
        step > 1000 * DAY_SEC)
        return charts_refuse(err, "unknown kind or unit, or no times");
    *k = (struct bj_chart){
        .kind = (enum bj_chart_kind)kind,
        .unit = (enum bj_chart_unit)unit,
        .title = copy_text(bj_json_get(v, "title"), a),
        .of = bj_slice_str(copy_text(bj_json_get(v, "of"), a)),
        .start = start / 1000,
        .from = from / 1000,
        .step = step,
        .all = (unsigned)bj_json_u64_or(bj_json_get(v, "chosen_from"), 0)};
    int r = 0;
    BJ_JSON_EACH(line, bj_json_get(v, "lines"))
    {
        if (r == 0)
            r = charts_read_line(line, a, k, err);
    }
    BJ_JSON_EACH(mark, bj_json_get(v, "marks"))
    {
        if (r == 0)
            r = charts_read_mark(mark, a, k, err);
    }
    return r;
}

int bj_charts_parse(const struct bj_json *object, struct bj_charts *ret,
                    struct bj_err *err)
{
    const struct bj_json *list = bj_json_get(object, "charts");
    const struct bj_json *why = bj_json_get(object, "reason");
    int r =
        bj_json_kind(list) == BJ_JSON_ARRAY ? 0 : charts_refuse(err, "no list");
    BJ_JSON_EACH(v, list)
    {
        if (r == 0 && ret->charts == BJ_CHARTS)
            r = charts_refuse(err, "too many");
        if (r == 0)
            r = read_chart(v, &ret->arena, &ret->chart[ret->charts], err);
        ret->charts += r == 0;
    }
    if (bj_json_kind(why) == BJ_JSON_STRING)
        ret->why = copy_text(why, &ret->arena);
    return r == 0 && ret->arena.failed ? bj_err_set(err, -ENOMEM, "charts") : r;
}

/* --- queries ------------------------------------------------------------
 */

enum { SECOND = 1000000 };

struct job_query {
    const struct bj_prom_conf *conf;
    struct bj_prom *prom;
    const struct bj_report *r;
    struct bj_buf match;
    int64_t start, end, rows;
};

static int charts_begin(struct job_query *a, const atomic_bool *stop,
                        uint64_t limit_usec, struct bj_err *err)
{
    struct bj_buf cluster = {0};
    bj_buf_slice(&cluster, bj_report_text(a->r, BJ_REPORT_CLUSTER));
    bj_buf_put(&cluster, "", 1);
    int r = cluster.failed
                ? bj_err_set(err, -ENOMEM, "charts")
                : bj_prom_matchers(&a->conf->match, cluster.p, &a->match, err);
    bj_buf_put(&a->match, "", 1);
    bj_buf_free(&cluster);
    if (r == 0 && a->match.failed)
        r = bj_err_set(err, -ENOMEM, "charts");
    if (r == 0)
        r = bj_prom_new(a->conf, stop, &a->prom, err);
    if (r == 0)
        bj_prom_limit(a->prom, limit_usec);
    return r;
}

static int charts_query(const struct job_query *a, struct bj_samples *s,
                        struct bj_err *err)
{
    const int64_t scrape = (int64_t)(a->conf->scrape_usec / SECOND);
    const struct bj_series_job job = {.id =
                                          bj_report_text(a->r, BJ_REPORT_JOBID),
                                      .uid = -1,
                                      .match = a->match.p};
    struct bj_buf text = {0};
    bj_charts_pick(s);
    s->from = a->start;
    s->to = a->end;
    s->step = bj_samples_step(s, a->rows, s->to > s->from ? s->to - s->from : 0,
                              s->by == BJ_SERIES_JOB ? 0 : BJ_CHARTS_ROW_POINTS,
                              scrape);
    int r = bj_samples_query(s, &job, scrape, &text, err);
    if (r == 0 && s->points > 0)
        r = bj_prom_range(
            a->prom, text.p, s->from, s->to, s->step,
            &(struct bj_prom_sink){.ctx = s, .series = bj_samples_take}, err);
    bj_buf_free(&text);
    return r;
}

/* Query and add one kind of charts. */
static int charts_add(struct job_query *a, enum bj_series_by by, int64_t rows,
                      struct bj_charts *ret, struct bj_err *err)
{
    const struct bj_charts_job job = {
        .start = bj_report_number(a->r, BJ_REPORT_START),
        .cpus = bj_report_number(a->r, BJ_REPORT_CPUS),
        .memory_requested = bj_report_number(a->r, BJ_REPORT_MEMORY_REQUESTED)};
    struct bj_samples *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "charts");
    s->by = by;
    a->rows = rows;
    int r = charts_query(a, s, err);
    if (r == 0 && !bj_charts_add(ret, s, &job))
        r = bj_err_set(err, -ENOMEM, "charts");
    if (r != -ENOMEM && ret->charts == 0)
        ret->why = bj_charts_why(
            s, r, bj_report_number(a->r, BJ_REPORT_END) == BJ_SQL_NULL);
    bj_samples_free(s);
    free(s);
    return r;
}

int bj_charts_query(const struct bj_prom_conf *conf, const atomic_bool *stop,
                    uint64_t limit_usec, const struct bj_report *report,
                    int64_t now_sec, struct bj_charts *ret, struct bj_err *err)
{
    const int64_t gpus = bj_report_number(report, BJ_REPORT_GPUS);
    const int64_t nodes = bj_report_number(report, BJ_REPORT_NODES);
    const int64_t end = bj_report_number(report, BJ_REPORT_END);
    struct job_query a = {.conf = conf,
                          .r = report,
                          .start = bj_report_number(report, BJ_REPORT_START)};
    if (a.start == BJ_SQL_NULL) {
        ret->why = bj_local("The job has not started.");
        return 0;
    }
    a.end = end == BJ_SQL_NULL ? now_sec
                               : end + (int64_t)(conf->scrape_usec / SECOND);
    a.end = a.end < now_sec ? a.end : now_sec;
    int r = charts_begin(&a, stop, limit_usec, err);
    if (r == 0)
        r = charts_add(&a, BJ_SERIES_JOB, 1, ret, err);
    if (r == 0 && ret->charts > 0 && gpus > 1)
        r = charts_add(&a, BJ_SERIES_GPU, gpus, ret, err);
    if (r == 0 && ret->charts > 0 && nodes > 1)
        r = charts_add(&a, BJ_SERIES_NODE, nodes, ret, err);
    if (r < 0 && r != -ENOMEM && ret->charts == 0 && !ret->why)
        ret->why = bj_local("The Prometheus server cannot be asked.");
    bj_prom_free(a.prom);
    bj_buf_free(&a.match);
    return r == -ENOMEM ? r : 0;
}
