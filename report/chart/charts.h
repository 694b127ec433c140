/* Makes the charts of a job from its samples, for pages, PDF, mails and PNG. */
#ifndef BJ_REPORT_CHART_CHARTS_H
#define BJ_REPORT_CHART_CHARTS_H

#include "base/buf.h"
#include "base/err.h"
#include "report/chart/chart.h"
#include "report/chart/samples.h"
#include "report/model/report.h"
#include "statsdb/prom/prom.h"

enum {
    BJ_CHARTS = 12,           /* maximum number for a job */
    BJ_CHARTS_METRICS = 4,    /* maximum number in a chart */
    BJ_CHARTS_ROW_POINTS = 80 /* points of a row */
};

/* A chart of one unit. */
struct bj_chart_plan {
    const char *title;
    const char *metric[BJ_CHARTS_METRICS];
};

/* The plans, indexed by enum bj_series_by; each table ends with title NULL. */
extern const struct bj_chart_plan *const bj_chart_plans[BJ_SERIES_GPU + 1];

/* Select all metrics of the plans for s->by. */
void bj_charts_pick(struct bj_samples *s);

/* The unit of the chart for a metric. */
enum bj_chart_unit bj_chart_unit_of(const struct bj_series_metric *m);

/* Is the metric a limit instead of a use? */
bool bj_chart_is_limit(const struct bj_series_metric *m);

/* Return the values of one metric of a group in the unit of its chart, one for
 * each point, in the arena; NULL: out of memory. */
double *bj_chart_values(const struct bj_samples *s, unsigned group,
                        unsigned metric, struct bj_arena *a);

/* Make a chart of one group; lines without values are left out.  start: start
 * of the job.  False: out of memory. */
bool bj_chart_make(const struct bj_samples *s, unsigned group,
                   const struct bj_chart_plan *p, int64_t start,
                   struct bj_arena *a, struct bj_chart *ret);

/* What the scheduler knows of a job; BJ_SQL_NULL: unknown. */
struct bj_charts_job {
    int64_t start;            /* seconds since 1970 */
    int64_t cpus;             /* allocated, on all nodes */
    int64_t memory_requested; /* bytes, on all nodes */
};

/* Add the allocated CPUs or the requested memory to a chart of the whole job
 * that begins with its CPUs or memory and has no limit. */
void bj_chart_add_allocated(struct bj_chart *k, const struct bj_chart_plan *p,
                            const struct bj_charts_job *job,
                            struct bj_arena *a);

/* Choose the groups to show, in order: all, or if there are more than most,
 * those furthest from the median of their first metric.  ret has room for
 * s->groups.  Returns their number; 0 also if out of memory. */
unsigned bj_charts_choose(const struct bj_samples *s, unsigned most,
                          unsigned *ret);

/* --- all of a job ----------------------------------------------------------
 */

/* Zero-initialise. */
struct bj_charts {
    struct bj_arena arena;
    struct bj_chart chart[BJ_CHARTS];
    unsigned charts;
    const char *why; /* the reason if there are no charts, a sentence; NULL:
                        there are charts, or none are expected */
};

void bj_charts_free(struct bj_charts *c);

/* Add the charts of samples.  Add those of the whole job before those of its
 * GPUs and nodes, each of which is a row.  False: out of memory. */
bool bj_charts_add(struct bj_charts *c, const struct bj_samples *s,
                   const struct bj_charts_job *job);

/* Add one chart of rows, with one metric of each node or GPU. */
bool bj_charts_add_rows(struct bj_charts *c, const struct bj_samples *s,
                        const struct bj_chart_plan *p, int64_t start);

/* The reason why a query with that result led to no charts; static text.  s may
 * be NULL. */
const char *bj_charts_why(const struct bj_samples *s, int result, bool running);

/* Writes charts as JSON, as in /api/v1/jobs/JOB/charts, and reads them. */

struct bj_json;

/* Append the object: {"charts":[...],"reason":null}. */
void bj_charts_write(const struct bj_charts *c, struct bj_buf *out);

/* Read such an object.  -EBADMSG: not charts, or too many; -ENOMEM.  Free them
 * in any case. */
int bj_charts_parse(const struct bj_json *object, struct bj_charts *ret,
                    struct bj_err *err);

/* The charts of a job from a Prometheus server, for programs that have the
 * store. */

/* Query the charts of the job of a report, for its whole time.  Series are
 * selected as for its measured values: by jobid and the labels of the cluster
 * (prometheus.match).  Each query is limited to limit_usec.  Without samples,
 * or if the server does not respond, ret->why is set, and err has the reason. 0
 * or -ENOMEM. */
int bj_charts_query(const struct bj_prom_conf *conf, const atomic_bool *stop,
                    uint64_t limit_usec, const struct bj_report *r,
                    int64_t now_sec, struct bj_charts *ret, struct bj_err *err);

#endif
