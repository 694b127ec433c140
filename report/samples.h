/* The samples of a job: the answer of Prometheus to a query of
 * report/series.h. */
#ifndef BJ_REPORT_SAMPLES_H
#define BJ_REPORT_SAMPLES_H

#include "base/arena.h"
#include "base/err.h"
#include "report/series.h"

#include <stdbool.h>

struct bj_json;

enum { BJ_SAMPLES_GROUPS = 2000, BJ_SAMPLES_CELLS = 20000 }; /* at most */

/* The samples of one node, or of one of its GPUs. */
struct bj_samples_group {
    struct bj_slice node, gpu;
    uint32_t *cell; /* [point * metrics + metric]: where in values, or 0 */
};

/* Zero-initialise, and set what the query asks for. */
struct bj_samples {
    enum bj_series_by by;
    unsigned char metric[BJ_SERIES_METRICS]; /* in bj_series_metrics */
    unsigned metrics;
    int64_t from, to, step; /* seconds */
    unsigned points;
    struct bj_samples_group group[BJ_SAMPLES_GROUPS];
    unsigned groups;
    bool too_much; /* the answer has more values than there is room for */
    struct bj_arena arena;
    struct bj_buf values; /* numbers as texts, each with a NUL after it */
};

/* A round step for a span of time with which all values fit into one answer:
 * about 300 points, or most_points (0: no matter); at least least_sec.  rows:
 * how many nodes or GPUs there are. */
int64_t bj_samples_step(const struct bj_samples *s, int64_t rows,
                        int64_t span_sec, unsigned most_points,
                        int64_t least_sec);

/* Append the query, with a NUL at its end, for the time from s->from to s->to,
 * and set s->points; 0 points: there is nothing to ask for.  -ENOMEM. */
int bj_samples_query(struct bj_samples *s, const struct bj_series_job *job,
                     int64_t scrape_sec, struct bj_buf *query,
                     struct bj_err *err);

void bj_samples_free(struct bj_samples *s);

/* A series of the answer: of struct bj_prom_sink; ctx is struct bj_samples.
 * -EPROTO: it was not queried; -EFBIG, with too_much set; -ENOMEM. */
int bj_samples_take(void *ctx, const struct bj_json *metric,
                    const struct bj_json *values, struct bj_err *err);

/* A value as text, or NULL. */
static inline const char *bj_samples_text(const struct bj_samples *s,
                                          const struct bj_samples_group *g,
                                          unsigned point, unsigned metric)
{
    uint32_t at = g->cell[(size_t)point * s->metrics + metric];
    return at > 0 ? s->values.p + at : NULL;
}

/* The same as a number; false: it is unknown. */
bool bj_samples_number(const struct bj_samples *s,
                       const struct bj_samples_group *g, unsigned point,
                       unsigned metric, double *ret);

#endif
