/* Computes the range of times from which a query reads samples. */
#ifndef BJ_PROMQL_REACH_H
#define BJ_PROMQL_REACH_H

#include "promql/promql.h"

/* Times in milliseconds since 1970, both included. */
struct bj_promql_span {
    int64_t from_ms, to_ms;
};

/* The span of a query that reads no series; every other span contains it. */
#define BJ_PROMQL_NO_SPAN ((struct bj_promql_span){INT64_MAX, INT64_MIN})

enum { BJ_PROMQL_LOOKBACK_MS = 300000 }; /* default of Prometheus */

/* Return the earliest and latest times of samples that the query may read when
 * it is evaluated at times from at.from_ms to at.to_ms. */
struct bj_promql_span bj_promql_reach(const struct bj_promql_node *tree,
                                      struct bj_promql_span at);

#endif
