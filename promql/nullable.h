/* Does a regular expression of RE2 match the empty string? */
#ifndef BJ_PROMQL_NULLABLE_H
#define BJ_PROMQL_NULLABLE_H

#include "base/slice.h"

/* False also for an expression that this function does not understand;
 * Prometheus then decides. */
bool bj_promql_nullable(struct bj_slice re);

#endif
