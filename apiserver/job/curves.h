/* The charts of a job, for the whole job, each GPU and each node: their queries
 * and their part of the page. */
#ifndef BJ_APISERVER_JOB_CURVES_H
#define BJ_APISERVER_JOB_CURVES_H

#include "apiserver/job/series_work.h"
#include "report/chart/charts.h"

enum { BJ_CURVES = BJ_SERIES_GPU + 1 };

/* Zero-initialise. */
struct bj_curves {
    struct bj_series_work *work[BJ_CURVES]; /* NULL: not queried */
    int result[BJ_CURVES];                  /* results of bj_series_fetch */
    bool running;
    struct bj_charts_job job; /* set by bj_curves_prepare */
    /* what happened to the job, for its CPUs and memory; texts must stay */
    struct bj_chart_mark mark[BJ_CHART_MARKS];
    unsigned marks;
};

/* The values of a job for its charts. */
struct bj_charts_job bj_curves_job(const struct bj_visible_job *f);

/* The reason why a job cannot have charts, before any query; NULL: it may have
 * some. */
const char *bj_curves_none(const struct bj_call *c,
                           const struct bj_visible_job *f);

/* Make the queries of a job that has started.  0, a refusal or -ENOMEM. */
int bj_curves_prepare(struct bj_call *c, const struct bj_visible_job *f,
                      struct bj_curves *k);

/* The same without those of its nodes and GPUs. */
int bj_curves_prepare_whole(struct bj_call *c, const struct bj_visible_job *f,
                            struct bj_curves *k);

/* Query Prometheus; after the first failure no further query is sent. */
void bj_curves_query(struct bj_call *c, struct bj_curves *k);
void bj_curves_free(struct bj_curves *k);

/* Append the charts to a page, or a sentence with the reason if there are none.
 */
void bj_curves_put(struct bj_buf *b, const struct bj_curves *k);

/* Return the charts for a PDF, or the reason why there are none.  -ENOMEM. */
int bj_curves_charts(const struct bj_curves *k, struct bj_charts *ret,
                     struct bj_err *err);

/* Return the value of a metric of the whole job at the end of the queried time;
 * false: it is unknown, or older than some intervals. */
bool bj_curves_now(const struct bj_curves *k, const char *metric, double *ret);

#endif
