/* Durations in ranges and offsets, and arithmetic in them, with the results of
 * Prometheus.  Functions that return false have set the parser's error. */
#ifndef BJ_PROMQL_DURATION_H
#define BJ_PROMQL_DURATION_H

#include "promql/parser.h"

/* Take the value of step() or range(). */
struct bj_promql_time bj_promql_time_of_query(const struct bj_promql_parser *p,
                                              int64_t ms);

/* Take a number (of seconds) or a duration such as "1h30m". */
bool bj_promql_time_literal(struct bj_promql_parser *p, struct bj_slice text,
                            struct bj_promql_time *ret);

/* Mark a value as the result of an operation. */
struct bj_promql_time bj_promql_time_result(struct bj_promql_time t);
struct bj_promql_time bj_promql_time_larger(struct bj_promql_time a,
                                            struct bj_promql_time b);
struct bj_promql_time bj_promql_time_smaller(struct bj_promql_time a,
                                             struct bj_promql_time b);
struct bj_promql_time bj_promql_time_negated(struct bj_promql_time t);

/* op: one of + - * / % ^ */
bool bj_promql_time_binary(struct bj_promql_parser *p, char op,
                           struct bj_promql_time a, struct bj_promql_time b,
                           struct bj_promql_time *ret);

/* Return the milliseconds of a duration, which may be negative; those of a
 * result are cut to whole ones, as in Prometheus. */
bool bj_promql_time_ms(struct bj_promql_parser *p, struct bj_promql_time t,
                       int64_t *ret);

/* The same for a duration that must be at least 1 ms. */
bool bj_promql_time_positive(struct bj_promql_parser *p,
                             struct bj_promql_time t, int64_t *ret);

#endif
