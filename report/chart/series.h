/* The time series of jobs: their names and PromQL. */
#ifndef BJ_REPORT_CHART_SERIES_H
#define BJ_REPORT_CHART_SERIES_H

#include "base/buf.h"

#include <stdint.h>

/* What one group of series describes. */
enum bj_series_by { BJ_SERIES_JOB, BJ_SERIES_NODE, BJ_SERIES_GPU };

/* One metric.  promql has $S for the selector of the job's series, $B for the
 * labels to group by, $W for the window of rates. */
struct bj_series_metric {
    const char *name;
    const char *label; /* in legends */
    const char *unit, *promql, *help;
};

enum { BJ_SERIES_METRICS = 32 }; /* at most */

/* Ends with name NULL. */
extern const struct bj_series_metric bj_series_metrics[];

/* The index of a metric in the table; -1: unknown. */
int bj_series_find(struct bj_slice name);

/* The job whose series are queried. */
struct bj_series_job {
    struct bj_slice id, user, cluster;
    int64_t uid;               /* negative: unknown */
    const char *match;         /* further matchers; NULL or empty: none */
    const char *cluster_label; /* NULL or empty: none */
};

/* Append the selector, "{jobid=\"4711\",...}".  Series without a label for user
 * or cluster match; those with another value do not. */
void bj_series_selector(struct bj_buf *b, const struct bj_series_job *j);

/* Append one query for n metrics, by their indexes in the table.  Each series
 * of the result has the name of the metric as label "bj". */
void bj_series_query(struct bj_buf *b, const unsigned char *metric, unsigned n,
                     struct bj_slice selector, enum bj_series_by by,
                     int64_t window_sec);

/* Return a round step for a time span: about 300 points, at least least_sec. */
int64_t bj_series_step(int64_t span_sec, int64_t least_sec);

#endif
