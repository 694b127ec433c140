/* Paths of petricore's web application: plots, a pie, a PDF and the text of its
 * mail, from the reports of this server (docs/dialects.md).  The two paths with
 * JSON are in petricore_json.c. */
#include "apiserver/compat/petricore.h"

#include "apiserver/frame/state.h"
#include "apiserver/job/drawing.h"
#include "base/html.h"
#include "base/local.h"
#include "report/form/text.h"
#include "report/job/job_document.h"
#include "report/pdf/draw.h"

enum { JOB = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MINE) };

/* --- /plot/JOB/METRIC ------------------------------------------------------
 */

static struct bj_slice metric_of(struct bj_slice name)
{
    static const struct {
        const char *theirs, *ours;
    } names[] = {
        {"cpu_percent", "cpus_used"},       {"cpu_time_total", "cpus_used"},
        {"system_time", "cpus_system"},     {"rss", "memory_rss_bytes"},
        {"read_mb", "read_bytes_per_sec"},  {"write_mb", "write_bytes_per_sec"},
        {"spawned_processes", "processes"}, {"thread_count", "threads"}};
    if (bj_slice_starts(name, BJ_SLICE("jobs_"))) {
        name.p += 5;
        name.n -= 5;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (bj_slice_eq(name, bj_slice_str(names[i].theirs)))
            return bj_slice_str(names[i].ours);
    return name;
}

/* The chart of a job on several nodes has a row for each node. */
static int prepare_metric(struct bj_call *c, struct bj_slice job,
                          struct bj_slice metric, struct bj_params *p,
                          struct bj_drawing *d)
{
    const int own = BJ_BIT(BJ_PARAM_METRIC) | BJ_BIT(BJ_PARAM_BY);
    struct bj_visible_job f;
    int r = bj_visible_job_find(c, p, job, &d->arena, &f);
    if (r == 0 && bj_series_find(metric) < 0)
        r = bj_call_refuse(c, 404, "There is no plot of this metric.");
    if (r == 0)
        r = bj_params_put(c, p, own, BJ_SLICE("metric"), metric);
    if (r == 0)
        r = bj_params_put(c, p, own, BJ_SLICE("by"),
                          f.nodes != BJ_SQL_NULL && f.nodes > 1
                              ? BJ_SLICE("node")
                              : BJ_SLICE("job"));
    return r == 0 ? bj_plot_prepare(c, p, job, d) : r;
}

static int prepare_plot(struct bj_call *c, struct bj_params *p,
                        struct bj_drawing *d)
{
    struct bj_slice rest = c->req->tail, job = {0}, word;
    bj_slice_field(&rest, '/', &word); /* "plot" */
    if (!bj_slice_field(&rest, '/', &job) || job.n == 0 || rest.n == 0 ||
        memchr(rest.p, '/', rest.n))
        return bj_call_refuse(c, 404, "This path does not exist.");
    return prepare_metric(c, job, metric_of(rest), p, d);
}

static int on_plot(struct bj_call *c)
{
    return bj_drawing_begin(c, prepare_plot);
}

/* --- /pie/JOB/ -------------------------------------------------------------
 */

static bool add_part(struct bj_charts *c, const char *name, int64_t usec,
                     bool rest)
{
    struct bj_chart *k = &c->chart[0];
    double *value = bj_arena_alloc(&c->arena, sizeof(*value));
    if (!value)
        return false;
    *value = (double)usec / 3.6e9;
    k->line[k->lines++] = (struct bj_chart_line){bj_local(name), value, rest};
    return true;
}

/* The allocated CPU time of the job: user, system, and unused. */
static bool make_pie(const struct bj_report *r, const struct bj_petricore *x,
                     struct bj_charts *c)
{
    const struct bj_report_figure *f = &r->figure[BJ_FIGURE_CPU];
    const int64_t system = x->number[BJ_PETRICORE_SYSTEM_USEC];
    bool good = true;
    if (f->used == BJ_SQL_NULL)
        return true;
    c->chart[0] =
        (struct bj_chart){.kind = BJ_CHART_PIE,
                          .title = bj_local("CPU time that the job had"),
                          .unit = BJ_CHART_HOURS,
                          .step = 1,
                          .points = 1};
    c->charts = 1;
    if (system >= 0 && system <= f->used)
        good = add_part(c, "user", f->used - system, false) &&
               add_part(c, "system", system, false);
    else
        good = add_part(c, "used", f->used, false);
    if (f->allocated != BJ_SQL_NULL && f->allocated > f->used)
        good = good && add_part(c, "not used", f->allocated - f->used, true);
    return good;
}

static int prepare_pie(struct bj_call *c, struct bj_params *p,
                       struct bj_drawing *d)
{
    struct bj_petricore x;
    int r = bj_petricore_read(c, p, &d->f, &d->arena, &d->report, &x);
    if (r == 0 && !make_pie(&d->report, &x, &d->charts))
        r = bj_err_set(&c->err, -ENOMEM, "pie");
    if (r == 0 && d->charts.charts == 0)
        r = bj_call_refuse(c, 404, "The CPU time of this job is not known.");
    return r;
}

static int on_pie(struct bj_call *c)
{
    return bj_drawing_begin(c, prepare_pie);
}

static int after_pie(struct bj_call *c)
{
    struct bj_drawing *d = c->work;
    c->work = NULL;
    d->width = BJ_DRAW_WIDTH;
    int r = bj_drawing_image(c, d);
    bj_drawing_free(d);
    return r;
}

/* --- /mail/JOB -------------------------------------------------------------
 */

static int on_mail(struct bj_call *c)
{
    const struct bj_report_style style = {.ascii = true};
    struct bj_doc d = {.created_sec = 0};
    struct bj_buf *b = &c->reply->body;
    struct bj_arena arena = {0};
    struct bj_visible_job f;
    struct bj_report r = {.interactive = false};
    struct bj_petricore x;
    struct bj_params p;
    int e = bj_params_read(c, c->endpoint->params, &p);
    if (e == 0)
        e = bj_petricore_read(c, &p, &f, &arena, &r, &x);
    if (e == 0) {
        c->reply->type = "text/plain; charset=utf-8";
        bj_report_document(&r, &d);
        bj_doc_print(&d, &style, b);
        bj_doc_free(&d);
        bj_buf_str(b, "\nPlots: /pdf/");
        bj_url_text(b, f.key);
        bj_buf_printf(b, "\n\nWARNING=%s\n",
                      bj_slice_eq(r.verdict.level, BJ_SLICE("warning")) ||
                              bj_slice_eq(r.verdict.level, BJ_SLICE("critical"))
                          ? "true"
                          : "false");
    }
    bj_report_free(&r);
    bj_arena_free(&arena);
    return e;
}

const struct bj_endpoint bj_endpoints_petricore[] = {
    {.path = "/plot/**",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_plot,
     .after = bj_plot_reply,
     .help =
         "A plot of one metric of a job, as in petricore: cpu_percent, rss, "
         "read_mb, and others.",
     .type = "image/png",
     .params = JOB | BJ_BIT(BJ_PARAM_WIDTH)},
    {.path = "/pie/*/",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_pie,
     .after = after_pie,
     .help = "CPU time of a job as a pie: user, system, not used; as in "
             "petricore.",
     .type = "image/png",
     .params = JOB},
    {.path = "/pdf/*",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = bj_pdf_prepare,
     .after = bj_pdf_reply,
     .help = "The same as report.pdf of the job, as in petricore.",
     .type = "application/pdf",
     .params = JOB | BJ_BIT(BJ_PARAM_PAPER)},
    {.path = "/mail/*",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_mail,
     .help = "The report of a job as text, and WARNING=true or false, as in "
             "petricore.",
     .type = "text/plain",
     .params = JOB},
    {.path = "/api/v1/jobs/*/usage",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = bj_petricore_usage,
     .help = "What a job used, with the keys of petricore.",
     .params = JOB},
    {.path = "/api/v1/users/*",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = bj_petricore_user,
     .help = "Jobs, projects and quotas of a user, with the keys of "
             "petricore.",
     .params = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_LIMIT)},
    {.path = NULL},
};
