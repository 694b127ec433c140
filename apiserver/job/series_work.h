/* A query of series, between the two parts of its endpoint. */
#ifndef BJ_APISERVER_JOB_SERIES_WORK_H
#define BJ_APISERVER_JOB_SERIES_WORK_H

#include "apiserver/conf/prompool.h"
#include "apiserver/frame/call.h"
#include "apiserver/job/visible_job.h"
#include "base/arena.h"
#include "report/chart/samples.h"

struct bj_series_work {
    struct bj_server *server;
    struct bj_prompool *prom;
    struct bj_prompool_range range;
    uint64_t since_usec; /* time of the request's arrival */
    struct bj_samples s; /* its metrics, and the values */
    struct bj_buf query;
    struct bj_slice key;  /* key of the job */
    int64_t start;        /* start of the job, in seconds since 1970 */
    unsigned most_points; /* maximum number of points if the request has no
                             step; 0: about 300 */
    bool to_end; /* align the last point with the end of the time, instead of
                    the first with its start */
    struct bj_arena arena;
};

/* Make a query for the call's Prometheus server.  0 or -ENOMEM; free it with
 * bj_series_free. */
int bj_series_new(struct bj_call *c, struct bj_series_work **ret);
void bj_series_free(struct bj_series_work *w); /* NULL is fine */

/* Make the query of the metrics w->s.metric by w->s.by, for the time of the
 * job, or the part of it that from, to and step in p select.  0, a refusal or
 * -ENOMEM. */
int bj_series_prepare(struct bj_call *c, const struct bj_params *p,
                      const struct bj_visible_job *f, struct bj_series_work *w);

/* Query and wait, at most twice prometheus.timeout including the wait for a
 * free client; the values are stored in w->s.  0; -EBUSY: too many queries;
 * -EFBIG: too many values (w->s.too_much is set); -ENOMEM; or the errors of
 * bj_prom_range. */
int bj_series_fetch(struct bj_series_work *w, const struct bj_http_request *req,
                    struct bj_err *err);

#endif
