/* The samples of a job: Prometheus' result of a query of report/chart/series.h.
 */
#ifndef BJ_REPORT_CHART_SAMPLES_H
#define BJ_REPORT_CHART_SAMPLES_H

#include "base/arena.h"
#include "base/err.h"
#include "report/chart/series.h"

#include <stdbool.h>

struct bj_json;

/* maximum numbers */
enum { BJ_SAMPLES_GROUPS = 2000, BJ_SAMPLES_CELLS = 20000 };

/* The samples of one node, or of one of its GPUs. */
struct bj_samples_group {
    struct bj_slice node, gpu;
    struct bj_slice index; /* of the GPU on its node; n 0: unknown */
    /* [point * metrics + metric]: position in values; 0: no value */
    uint32_t *cell;
};

/* Zero-initialise, then set by, metric, metrics and the times. */
struct bj_samples {
    enum bj_series_by by;
    unsigned char metric[BJ_SERIES_METRICS]; /* in bj_series_metrics */
    unsigned metrics;
    int64_t from, to, step; /* seconds */
    int64_t window; /* seconds over which rates are taken; 0: not queried */
    unsigned points;
    struct bj_samples_group group[BJ_SAMPLES_GROUPS];
    unsigned groups;
    bool too_much; /* the result has more values than there is room for */
    struct bj_arena arena;
    struct bj_buf values; /* numbers as texts, each with a NUL after it */
};

/* Return a round step, with which all values of the time span fit into one
 * result: about 300 points, or most_points if not 0; at least least_sec.  rows:
 * number of nodes or GPUs. */
int64_t bj_samples_step(const struct bj_samples *s, int64_t rows,
                        int64_t span_sec, unsigned most_points,
                        int64_t least_sec);

/* Append the query, with a NUL at its end, for the time from s->from to s->to,
 * and set s->points; 0 points: there is nothing to query.  -ENOMEM. */
int bj_samples_query(struct bj_samples *s, const struct bj_series_job *job,
                     int64_t scrape_sec, struct bj_buf *query,
                     struct bj_err *err);

void bj_samples_free(struct bj_samples *s);

/* Add a series of the result: a callback of struct bj_prom_sink; ctx is a
 * struct bj_samples.
 * -EPROTO: the series was not queried; -EFBIG: too many values (too_much is
 * set); -ENOMEM. */
int bj_samples_take(void *ctx, const struct bj_json *metric,
                    const struct bj_json *values, struct bj_err *err);

/* Return a value as text, or NULL. */
static inline const char *bj_samples_text(const struct bj_samples *s,
                                          const struct bj_samples_group *g,
                                          unsigned point, unsigned metric)
{
    uint32_t at = g->cell[(size_t)point * s->metrics + metric];
    return at > 0 ? s->values.p + at : NULL;
}

/* Return a value as a number; false: it is unknown. */
bool bj_samples_number(const struct bj_samples *s,
                       const struct bj_samples_group *g, unsigned point,
                       unsigned metric, double *ret);

#endif
