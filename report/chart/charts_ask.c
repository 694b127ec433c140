#include "report/chart/charts_ask.h"

#include "base/local.h"

#include <stdlib.h>

enum { SECOND = 1000000 };

struct job_query {
    const struct bj_prom_conf *conf;
    struct bj_prom *prom;
    const struct bj_report *r;
    struct bj_buf match;
    int64_t start, end, rows;
};

static int begin(struct job_query *a, const atomic_bool *stop,
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

static int query(const struct job_query *a, struct bj_samples *s,
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
static int add(struct job_query *a, enum bj_series_by by, int64_t rows,
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
    int r = query(a, s, err);
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
    int r = begin(&a, stop, limit_usec, err);
    if (r == 0)
        r = add(&a, BJ_SERIES_JOB, 1, ret, err);
    if (r == 0 && ret->charts > 0 && gpus > 1)
        r = add(&a, BJ_SERIES_GPU, gpus, ret, err);
    if (r == 0 && ret->charts > 0 && nodes > 1)
        r = add(&a, BJ_SERIES_NODE, nodes, ret, err);
    if (r < 0 && r != -ENOMEM && ret->charts == 0 && !ret->why)
        ret->why = bj_local("The Prometheus server cannot be asked.");
    bj_prom_free(a.prom);
    bj_buf_free(&a.match);
    return r == -ENOMEM ? r : 0;
}
