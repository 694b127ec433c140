#include "apiserver/gate/gate_query.h"

#include "apiserver/frame/state.h"
#include "base/opt_value.h"
#include "promql/restrict.h"

#include <stdio.h>

/* --- limits ----------------------------------------------------------------
 */

enum { DEFAULT_STEP_MS = 60000 }; /* evaluation interval of Prometheus */

/* How far back and how often a part of a query reads. */
struct cost {
    uint64_t span_ms, points;
    uint64_t max_points;
    bool too_many;
};

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? (uint64_t)-v : (uint64_t)v;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The depth is bounded by the parser. */
static uint64_t span_of(const struct bj_promql_node *n, uint64_t points,
                        struct cost *c)
{
    uint64_t inside = 0, own = magnitude(n->offset_ms);
    if (n->kind == BJ_PROMQL_RANGE || n->kind == BJ_PROMQL_SUBQUERY)
        own += magnitude(n->range_ms);
    if (n->kind == BJ_PROMQL_SUBQUERY) {
        int64_t step = n->step_ms > 0 ? n->step_ms : DEFAULT_STEP_MS;
        points *= (uint64_t)(n->range_ms / step) + 1;
        c->too_many = c->too_many || points > c->max_points;
        points = points > c->max_points ? 1 : points;
    }
    for (const struct bj_promql_node *k = n->child; k; k = k->next)
        inside = larger(inside, span_of(k, points, c));
    return own + inside;
}

static int check_steps(struct bj_call *c, const struct bj_gate_params *p)
{
    const struct bj_gate_conf *conf = &c->worker->conf->gate;
    int64_t start = p->ms[BJ_GATE_START], end = p->ms[BJ_GATE_END];
    if (p->text[BJ_GATE_START].n == 0 || p->text[BJ_GATE_END].n == 0 ||
        p->text[BJ_GATE_STEP].n == 0)
        return bj_call_refuse(
            c, 400, "The parameters start, end and step are required.");
    if (end < start)
        return bj_call_refuse(c, 400, "The end must not be before the start.");
    if ((uint64_t)(end - start) / (uint64_t)p->ms[BJ_GATE_STEP] > conf->steps)
        return bj_call_refuse(c, 400,
                              "The query has more than %llu steps; use a "
                              "longer step or a shorter range.",
                              (unsigned long long)conf->steps);
    return 0;
}

static int check_span(struct bj_call *c, uint64_t span_ms)
{
    uint64_t max = c->worker->conf->gate.range_usec;
    char text[BJ_AMOUNT_MAX];
    if (max == 0 || span_ms <= max / 1000)
        return 0;
    return bj_call_refuse(c, 400,
                          "The query spans more than %s (gate.max-range).",
                          bj_duration_text(max, text));
}

static int check_cost(struct bj_call *c, const struct bj_promql_node *tree,
                      uint64_t range_ms)
{
    const struct bj_gate_conf *conf = &c->worker->conf->gate;
    struct cost k = {.max_points = conf->steps};
    int r = check_span(c, range_ms + span_of(tree, 1, &k));
    if (r != 0)
        return r;
    if (k.too_many)
        return bj_call_refuse(c, 400,
                              "A subquery has more than %llu steps; use a "
                              "longer step or a shorter range.",
                              (unsigned long long)conf->steps);
    return 0;
}

/* --- restriction ------------------------------------------------------------
 */

static int refuse(struct bj_call *c, int code, const struct bj_err *err)
{
    if (code == -ENOMEM)
        return bj_call_refuse(c, 500, "The server is out of memory.");
    return bj_call_refuse(c, code == -EACCES ? 403 : 400, "%s", err->msg);
}

static struct bj_promql_viewer viewer_of(const struct bj_call *c)
{
    const struct bj_gate_conf *conf = &c->worker->conf->gate;
    return (struct bj_promql_viewer){.user = bj_slice_str(c->identity.user),
                                     .accounts = c->identity.account,
                                     .account_count = c->identity.accounts,
                                     .rules = {conf->rule, conf->rules}};
}

static int parse(struct bj_call *c, const struct bj_gate_params *p,
                 const struct bj_promql_times *times, struct bj_arena *arena,
                 const struct bj_promql_node **ret)
{
    struct bj_err err = {0};
    if (p->text[BJ_GATE_QUERY].n == 0)
        return bj_call_refuse(c, 400, "The parameter query is required.");
    int r = bj_promql_parse(p->text[BJ_GATE_QUERY], times, arena, ret, &err);
    return r == 0 ? 0 : refuse(c, r, &err);
}

static int put_tree(struct bj_call *c, const char *name,
                    const struct bj_promql_node *tree, struct bj_buf *b)
{
    struct bj_buf text = {0};
    bj_promql_print(tree, &text);
    bj_gate_param_put(b, name, (struct bj_slice){text.p, text.len});
    bool failed = text.failed || b->failed;
    bj_buf_free(&text);
    return failed ? bj_call_refuse(c, 500, "The server is out of memory.") : 0;
}

/* The times at which the query is evaluated. */
static struct bj_promql_span times_of(const struct bj_call *c,
                                      const struct bj_gate_params *p,
                                      enum bj_gate_times times)
{
    int64_t at =
        p->text[BJ_GATE_TIME].n > 0 ? p->ms[BJ_GATE_TIME] : c->now_sec * 1000;
    if (times != BJ_GATE_RANGED)
        return (struct bj_promql_span){at, at};
    return (struct bj_promql_span){p->ms[BJ_GATE_START], p->ms[BJ_GATE_END]};
}

int bj_gate_put_query(struct bj_call *c, const struct bj_gate_params *p,
                      enum bj_gate_times times, struct bj_arena *arena,
                      struct bj_buf *b, struct bj_promql_span *ret)
{
    const struct bj_promql_node *tree = NULL;
    const struct bj_promql_viewer viewer = viewer_of(c);
    const struct bj_promql_span at = times_of(c, p, times);
    const struct bj_promql_times t = {p->ms[BJ_GATE_STEP],
                                      at.to_ms - at.from_ms};
    static const struct bj_promql_times instant;
    struct bj_err err = {0};
    int r = times == BJ_GATE_RANGED ? check_steps(c, p) : 0;
    if (r == 0)
        r = parse(c, p,
                  times == BJ_GATE_RANGED    ? &t
                  : times == BJ_GATE_INSTANT ? &instant
                                             : NULL,
                  arena, &tree);
    if (r == 0)
        r = check_cost(c, tree, (uint64_t)(at.to_ms - at.from_ms));
    if (r != 0)
        return r;
    *ret = bj_promql_reach(tree, at);
    if (!c->identity.admin &&
        (r = bj_promql_restrict(tree, &viewer, arena, &tree, &err)) < 0)
        return refuse(c, r, &err);
    return put_tree(c, "query", tree, b);
}

int bj_gate_put_range(struct bj_call *c, const struct bj_gate_params *p,
                      struct bj_buf *b, struct bj_promql_span *ret)
{
    const int64_t max = (int64_t)(c->worker->conf->gate.range_usec / 1000);
    const bool has_end = p->text[BJ_GATE_END].n > 0;
    const bool has_start = p->text[BJ_GATE_START].n > 0;
    int64_t end = has_end ? p->ms[BJ_GATE_END] : c->now_sec * 1000;
    int64_t start = has_start ? p->ms[BJ_GATE_START]
                    : max > 0 ? end - max
                              : INT64_MIN / 4;
    if (end < start && has_end)
        return bj_call_refuse(c, 400, "The end must not be before the start.");
    end = end < start ? start : end;
    int r = check_span(c, (uint64_t)(end - start));
    if (r != 0)
        return r;
    if (has_start || max > 0)
        bj_gate_time_put(b, BJ_GATE_START, start);
    bj_gate_param_pass(b, p, BJ_GATE_END);
    *ret = (struct bj_promql_span){start, end};
    return 0;
}

/* Append one selector, restricted; NULL: all series. */
static int put_match(struct bj_call *c, const struct bj_promql_node *tree,
                     struct bj_arena *arena, struct bj_buf *b)
{
    const struct bj_promql_node *all[BJ_PROMQL_MATCHES] = {tree};
    const struct bj_promql_viewer viewer = viewer_of(c);
    struct bj_err err = {0};
    int n = tree != NULL, r = 0;
    if (!c->identity.admin)
        n = bj_promql_restrict_match(tree, &viewer, arena, all, &err);
    if (n < 0)
        return refuse(c, n, &err);
    for (int i = 0; r == 0 && i < n; i++)
        r = put_tree(c, "match[]", all[i], b);
    return r;
}

int bj_gate_put_matches(struct bj_call *c, const struct bj_gate_params *p,
                        struct bj_arena *arena, struct bj_buf *b)
{
    struct bj_err err = {0};
    int r = p->matches == 0 ? put_match(c, NULL, arena, b) : 0;
    for (unsigned i = 0; r == 0 && i < p->matches; i++) {
        const struct bj_promql_node *tree = NULL;
        r = bj_promql_parse_selector(p->match[i], arena, &tree, &err);
        r = r < 0 ? refuse(c, r, &err) : put_match(c, tree, arena, b);
    }
    return r;
}

int bj_gate_put_text(struct bj_call *c, const struct bj_gate_params *p,
                     struct bj_arena *arena, struct bj_buf *b)
{
    const struct bj_promql_node *tree = NULL;
    int r = parse(c, p, NULL, arena, &tree);
    if (r == 0)
        bj_gate_param_put(b, "query", p->text[BJ_GATE_QUERY]);
    return r;
}
