/* Makes the query that the gate sends to a Prometheus server: parses the
 * client's query, restricts it to the series that the user may see, and prints
 * it from the tree. */
#ifndef BJ_APISERVER_GATE_GATE_QUERY_H
#define BJ_APISERVER_GATE_GATE_QUERY_H

#include "apiserver/gate/gate_params.h"
#include "base/arena.h"
#include "promql/reach.h"

/* When Prometheus evaluates a query. */
enum bj_gate_times {
    BJ_GATE_INSTANT,
    BJ_GATE_RANGED,
    BJ_GATE_NEVER /* it only takes the selectors, for exemplars */
};

/* Append the restricted query of p to b as the parameter query.  *ret: the
 * times that it reads.  0 or a refusal. */
int bj_gate_put_query(struct bj_call *c, const struct bj_gate_params *p,
                      enum bj_gate_times times, struct bj_arena *arena,
                      struct bj_buf *b, struct bj_promql_span *ret);

/* Append the parameters start and end of a request for names, and return this
 * period.  If p has no start, it is the earliest that gate.max-range allows.  0
 * or a refusal. */
int bj_gate_put_range(struct bj_call *c, const struct bj_gate_params *p,
                      struct bj_buf *b, struct bj_promql_span *ret);

/* Append all selectors of p, restricted, or one for all series that the user
 * may see. */
int bj_gate_put_matches(struct bj_call *c, const struct bj_gate_params *p,
                        struct bj_arena *arena, struct bj_buf *b);

/* Check that p has a query that can be parsed; append it unchanged. */
int bj_gate_put_text(struct bj_call *c, const struct bj_gate_params *p,
                     struct bj_arena *arena, struct bj_buf *b);

#endif
