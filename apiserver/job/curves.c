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

int bj_curves_prepare_whole(struct bj_call *c, const struct bj_visible_job *f,
                            struct bj_curves *k)
{
    k->job = bj_curves_job(f);
    return curves_prepare(c, f, BJ_SERIES_JOB, k);
}

int bj_curves_prepare(struct bj_call *c, const struct bj_visible_job *f,
                      struct bj_curves *k)
{
    int r = bj_curves_prepare_whole(c, f, k);
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

/* Is it a chart with the marks of the job? */
static bool curves_has_marks(const struct bj_chart_plan *p)
{
    return strcmp(p->metric[0], "cpus_used") == 0 ||
           strcmp(p->metric[0], "memory_bytes") == 0;
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
        if (curves_has_marks(p)) {
            memcpy(k.mark, c->mark, sizeof(k.mark));
            k.marks = c->marks;
        }
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

enum {
    CELLS = 96,
    DIFFERS = 20 /* percent from the median: a row stands out */
};

struct map_row {
    unsigned group, cells;
    double use[CELLS], mean, distance; /* NaN: not known */
};

static bool map_make_row(const struct bj_series_work *w, unsigned group,
                         struct map_row *ret)
{
    struct bj_arena arena = {0};
    struct bj_chart k;
    *ret = (struct map_row){.group = group, .mean = __builtin_nan("")};
    const bool made = bj_chart_make(&w->s, group, bj_chart_plans[w->s.by],
                                    w->start, &arena, &k);
    if (made) {
        ret->cells = k.points < CELLS ? k.points : CELLS;
        ret->mean = map_use(&k, ret->cells, ret->use);
    }
    bj_arena_free(&arena);
    return made;
}

/* The median of the known means; NaN: none is known. */
static double map_median(const struct map_row *row, unsigned n)
{
    double known[MULTIPLES];
    unsigned k = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned at = k;
        if (!bj_chart_known(row[i].mean))
            continue;
        for (; at > 0 && known[at - 1] > row[i].mean; at--)
            known[at] = known[at - 1];
        known[at] = row[i].mean;
        k++;
    }
    return k == 0  ? __builtin_nan("")
           : k % 2 ? known[k / 2]
                   : (known[k / 2 - 1] + known[k / 2]) / 2;
}

/* Those that stand out first, the most different one of them the first; the
 * others in their order. */
static void map_sort(struct map_row *row, unsigned n)
{
    const double median = map_median(row, n);
    for (unsigned i = 0; i < n; i++) {
        const double d = row[i].mean - median;
        row[i].distance = d >= DIFFERS ? d : d <= -DIFFERS ? -d : 0;
    }
    for (unsigned i = 1; i < n; i++) {
        const struct map_row one = row[i];
        unsigned at = i;
        for (; at > 0 && (row[at - 1].distance < one.distance ||
                          (row[at - 1].distance == one.distance &&
                           one.distance > 0 && row[at - 1].mean > one.mean));
             at--)
            row[at] = row[at - 1];
        row[at] = one;
    }
}

static bool map_never_used(const struct map_row *r)
{
    for (unsigned i = 0; i < r->cells; i++)
        if (bj_chart_known(r->use[i]) && r->use[i] >= 1)
            return false;
    return bj_chart_known(r->mean);
}

static void map_put_row(struct bj_buf *b, const struct bj_series_work *w,
                        const struct map_row *r)
{
    const struct bj_samples_group *g = &w->s.group[r->group];
    struct bj_buf name = {0};
    curves_name(&name, g);
    b->failed |= name.failed;
    bj_buf_str(b, r->distance > 0 ? "<tr class=\"odd\"><th scope=\"row\">"
                                  : "<tr><th scope=\"row\">");
    bj_buf_str(b, "<a href=\"../nodes/");
    bj_url_text(b, g->node);
    bj_buf_str(b, "\">");
    bj_html_text(b, (struct bj_slice){name.p, name.len});
    bj_buf_str(b, "</a></th><td class=\"st\">");
    bj_widget_strip(b, r->use, r->cells);
    bj_buf_str(b, "</td><td class=\"n\">");
    if (bj_chart_known(r->mean))
        bj_amount(b, BJ_AMOUNT_PERCENT, r->mean);
    else
        bj_buf_str(b, "–");
    bj_buf_str(b, "</td><td>");
    if (map_never_used(r))
        bj_widget_mark(b, BJ_LOOK_WARN, bj_slice_str(bj_local("never used")));
    bj_buf_str(b, "</td></tr>\n");
    bj_buf_free(&name);
}

/* The times since the start, below the rows. */
static void map_put_axis(struct bj_buf *b, const struct bj_series_work *w)
{
    enum { TICKS = 4 };
    struct bj_chart_tick tick[BJ_CHART_TICKS];
    const unsigned n =
        bj_chart_times(0, (int64_t)w->s.points * w->s.step, TICKS, tick);
    bj_buf_str(b, "<tr><td></td><td class=\"st\"><svg class=\"ax\" "
                  "aria-hidden=\"true\">");
    for (unsigned i = 0; i < n; i++) {
        const double x = 100 * tick[i].at;
        bj_buf_printf(b, "<text x=\"%.3g%%\" y=\"13\"%s>%s</text>", x,
                      i == 0   ? ""
                      : x > 96 ? " text-anchor=\"end\""
                               : " text-anchor=\"middle\"",
                      tick[i].label);
    }
    bj_buf_str(b, "</svg></td><td colspan=\"2\"></td></tr>\n");
}

/* A row for each node or GPU with its use over time. */
static void put_map(struct bj_buf *b, const struct bj_series_work *w,
                    const unsigned *group, unsigned n)
{
    struct map_row row[MULTIPLES];
    for (unsigned i = 0; i < n; i++)
        b->failed |= !map_make_row(w, group[i], &row[i]);
    map_sort(row, n);
    bj_local_html(
        b,
        "<table class=\"map\" data-dur=\"%lld\"><thead><tr><th "
        "scope=\"col\">%s</th><th scope=\"col\">{Time since the start}</th><th "
        "scope=\"col\" class=\"n\">{Mean}</th><td></td></tr></thead><tbody>\n",
        (long long)((int64_t)w->s.points * w->range.step),
        bj_local_escaped(w->s.by == BJ_SERIES_GPU ? "GPU" : "Node"));
    for (unsigned i = 0; i < n; i++)
        map_put_row(b, w, &row[i]);
    map_put_axis(b, w);
    bj_buf_str(b, "</tbody></table>\n");
}

/* What the levels of maps mean. */
static void put_map_key(struct bj_buf *b)
{
    bj_local_html_str(
        b, "<p class=\"key\"><span class=\"k sq ui\">{idle}"
           "</span><span class=\"k sq u1\">{below 25 %}</span><span "
           "class=\"k sq u2\">{25 to 50 %}</span><span class=\"k sq u3\">{50 "
           "to 75 %}</span><span class=\"k sq u4\">{75 % and more}</span>{A "
           "thin line: not known.}</p>\n");
}

/* The map of the nodes or GPUs that differ most. */
static void put_multiple_map(struct bj_buf *b, const struct bj_series_work *w)
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
}

static void put_multiples(struct bj_buf *b, const struct bj_series_work *w)
{
    unsigned group[BJ_SAMPLES_GROUPS];
    unsigned n = bj_charts_choose(&w->s, MULTIPLES, group);
    b->failed |= n == 0;
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

/* Has the query of this kind led to values?  If not, append why. */
static bool curves_has(struct bj_buf *b, const struct bj_curves *k,
                       enum bj_series_by by)
{
    const struct bj_series_work *w = k->work[by];
    if (k->result[by] == 0 && w->s.groups > 0)
        return true;
    bj_buf_printf(b, "<p class=\"none\">%s</p>\n",
                  bj_charts_why(&w->s, k->result[by], k->running));
    return false;
}

void bj_curves_put(struct bj_buf *b, const struct bj_curves *k)
{
    static const enum bj_series_by parts[] = {BJ_SERIES_GPU, BJ_SERIES_NODE};
    const struct bj_series_work *shown[2] = {NULL, NULL};
    if (!k->work[BJ_SERIES_JOB] || !curves_has(b, k, BJ_SERIES_JOB))
        return;
    for (unsigned i = 0; i < 2; i++)
        if (k->work[parts[i]] && curves_has(b, k, parts[i])) {
            shown[i] = k->work[parts[i]];
            put_multiple_map(b, shown[i]);
        }
    if (shown[0] || shown[1])
        put_map_key(b);
    curves_put_job(b, k);
    for (unsigned i = 0; i < 2; i++)
        if (shown[i])
            put_multiples(b, shown[i]);
}
