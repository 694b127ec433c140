/* The charts of a job: for the whole job, for each GPU, for each node; their
 * queries, and the page. */
#ifndef BJ_APISERVER_CURVES_H
#define BJ_APISERVER_CURVES_H

#include "apiserver/series_work.h"
#include "report/charts.h"

enum { BJ_CURVES = BJ_SERIES_GPU + 1 };

/* Zero-initialise. */
struct bj_curves {
    struct bj_series_work *work[BJ_CURVES]; /* NULL: not queried */
    int result[BJ_CURVES];                  /* of bj_series_ask */
    bool running;
    int64_t memory_requested; /* bytes; BJ_SQL_NULL: unknown */
};

/* Why a job can have no charts, before anything is asked; NULL: it may. */
const char *bj_curves_none(const struct bj_call *c,
                           const struct bj_visible_job *f);

/* Make the queries of a job that has started.  0, a refusal or -ENOMEM. */
int bj_curves_prepare(struct bj_call *c, const struct bj_visible_job *f,
                      struct bj_curves *k);

/* Ask Prometheus; after the first failure no further query is sent. */
void bj_curves_ask(struct bj_call *c, struct bj_curves *k);
void bj_curves_free(struct bj_curves *k);

/* Append the charts to a page, or a sentence that says why there are none. */
void bj_curves_put(struct bj_buf *b, const struct bj_curves *k);

/* The charts for PDF, or why there are none.  -ENOMEM. */
int bj_curves_charts(const struct bj_curves *k, struct bj_charts *ret,
                     struct bj_err *err);

/* The value of a metric of the whole job at the end of the time; false: it is
 * unknown, or older than some intervals. */
bool bj_curves_now(const struct bj_curves *k, const char *metric, double *ret);

#endif
