#include "promql/reach.h"

#include "base/json.h"

static const int64_t far_ms = INT64_MAX / 4; /* sums do not overflow */

/* The time of "@ time", rounded down and up to whole milliseconds. */
static struct bj_promql_span fixed(struct bj_slice seconds)
{
    int64_t ms;
    if (bj_decimal_i64(seconds, 3, &ms) < 0 || ms < -far_ms || ms > far_ms)
        return (struct bj_promql_span){-far_ms, far_ms};
    return (struct bj_promql_span){ms - 1, ms + 1};
}

/* The evaluation times of a selector or subquery, from its @ and offset; query:
 * evaluation times of the whole query. */
static struct bj_promql_span modified(const struct bj_promql_node *n,
                                      struct bj_promql_span at,
                                      struct bj_promql_span query)
{
    if (n->at == BJ_PROMQL_AT_TIME)
        at = fixed(n->at_time);
    else if (n->at == BJ_PROMQL_AT_START)
        at = (struct bj_promql_span){query.from_ms, query.from_ms};
    else if (n->at == BJ_PROMQL_AT_END)
        at = (struct bj_promql_span){query.to_ms, query.to_ms};
    at.from_ms -= n->offset_ms;
    at.to_ms -= n->offset_ms;
    return at;
}

static struct bj_promql_span of_selector(const struct bj_promql_node *n,
                                         struct bj_promql_span at,
                                         struct bj_promql_span query)
{
    at = modified(n, at, query);
    at.from_ms -= n->range_ms;
    if (n->range_ms == 0 || n->extent)
        at.from_ms -= BJ_PROMQL_LOOKBACK_MS;
    if (n->extent)
        at.to_ms += BJ_PROMQL_LOOKBACK_MS;
    return at;
}

/* The depth is bounded by the parser. */
static struct bj_promql_span reach(const struct bj_promql_node *n,
                                   struct bj_promql_span at,
                                   struct bj_promql_span query)
{
    struct bj_promql_span all = BJ_PROMQL_NO_SPAN;
    const bool info =
        n->kind == BJ_PROMQL_CALL && bj_slice_eq(n->text, BJ_SLICE("info"));
    if (n->kind == BJ_PROMQL_SELECTOR || n->kind == BJ_PROMQL_RANGE)
        return of_selector(n, at, query);
    if (n->kind == BJ_PROMQL_SUBQUERY) {
        at = modified(n, at, query);
        at.from_ms -= n->range_ms;
    }
    if (info) /* reads target_info without a selector */
        all = (struct bj_promql_span){at.from_ms - BJ_PROMQL_LOOKBACK_MS,
                                      at.to_ms};
    for (const struct bj_promql_node *k = n->child; k; k = k->next) {
        struct bj_promql_span one = reach(k, at, query);
        all.from_ms = one.from_ms < all.from_ms ? one.from_ms : all.from_ms;
        all.to_ms = one.to_ms > all.to_ms ? one.to_ms : all.to_ms;
    }
    return all;
}

struct bj_promql_span bj_promql_reach(const struct bj_promql_node *tree,
                                      struct bj_promql_span at)
{
    return reach(tree, at, at);
}
