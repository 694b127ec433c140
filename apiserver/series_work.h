/* The state of a query of series between its two parts. */
#ifndef BJ_APISERVER_SERIES_WORK_H
#define BJ_APISERVER_SERIES_WORK_H

#include "apiserver/call.h"
#include "apiserver/series.h"
#include "apiserver/visible_job.h"
#include "base/arena.h"

enum { BJ_SERIES_GROUPS = 2000, BJ_SERIES_CELLS = 20000 }; /* at most */

/* The rows of one node, or of one of its GPUs. */
struct bj_series_group {
    struct bj_slice node, gpu;
    uint32_t *cell; /* [point * metrics + metric]: where in values, or 0 */
};

struct bj_series_work {
    struct bj_server *server;
    struct bj_prompool *prom;
    struct bj_prompool_range range;
    uint64_t since_usec; /* time of the request's arrival */
    enum bj_series_by by;
    unsigned char metric[BJ_SERIES_METRICS];
    unsigned metrics;
    struct bj_buf query;
    struct bj_slice key; /* of the job */
    int64_t start;       /* of the job, in seconds since 1970 */
    unsigned points;
    unsigned most_points; /* if the request names no step; 0: about 300 */
    bool to_end; /* the last point is the end of the time, not the first its
                    start */
    struct bj_series_group group[BJ_SERIES_GROUPS];
    unsigned groups;
    bool too_much;
    struct bj_arena arena;
    struct bj_buf values; /* numbers as texts, each with a NUL after it */
};

/* A value as text, or NULL. */
static inline const char *bj_series_value(const struct bj_series_work *w,
                                          const struct bj_series_group *g,
                                          unsigned point, unsigned metric)
{
    uint32_t at = g->cell[(size_t)point * w->metrics + metric];
    return at > 0 ? w->values.p + at : NULL;
}

/* A query that uses the Prometheus server of the call.  0 or -ENOMEM; free it
 * with bj_series_free. */
int bj_series_new(struct bj_call *c, struct bj_series_work **ret);
void bj_series_free(struct bj_series_work *w); /* NULL is fine */

/* The place of a metric in bj_series_metrics; -1: unknown. */
int bj_series_find(struct bj_slice name);

/* Make the query of w->metric by w->by, for the time of the job or the part of
 * it that from, to and step of p select.  0, a refusal or -ENOMEM. */
int bj_series_prepare(struct bj_call *c, const struct bj_params *p,
                      const struct bj_visible_job *f, struct bj_series_work *w);

/* Query and wait, at most twice prometheus.timeout with the wait for its turn;
 * the values go to w->group.  0; -EBUSY: too many queries; -EFBIG with
 * w->too_much; -ENOMEM; or as bj_prom_range. */
int bj_series_ask(struct bj_series_work *w, const struct bj_http_request *req,
                  struct bj_err *err);

#endif
