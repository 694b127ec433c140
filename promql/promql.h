/* PromQL: parses a query into a tree and prints a tree as a query.  The
 * language is that of Prometheus 3.x (its promql/parser), without durations
 * that are not a whole number of milliseconds.  Arithmetic in durations
 * (`m[1m+step()]`) is computed while parsing; the tree contains its result.
 * VictoriaMetrics' additions are not PromQL and are refused.
 *
 * Queries are not evaluated, and regular expressions are not compiled:
 * Prometheus refuses the wrong ones. */
#ifndef BJ_PROMQL_PROMQL_H
#define BJ_PROMQL_PROMQL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits; longer, deeper or larger queries are refused. */
enum {
    BJ_PROMQL_TEXT_MAX = 128 * 1024, /* bytes */
    BJ_PROMQL_DEPTH_MAX = 100,       /* levels of the tree */
    BJ_PROMQL_NODES_MAX = 2000
};

enum bj_promql_kind {
    BJ_PROMQL_NUMBER,
    BJ_PROMQL_STRING,
    BJ_PROMQL_SELECTOR, /* m{a="b"} */
    BJ_PROMQL_RANGE,    /* m{a="b"}[5m]; the child is the selector */
    BJ_PROMQL_SUBQUERY, /* expr[1h:1m] */
    BJ_PROMQL_PAREN,
    BJ_PROMQL_UNARY,
    BJ_PROMQL_BINARY,
    BJ_PROMQL_CALL,
    BJ_PROMQL_AGGREGATE /* two children: the parameter comes first */
};

enum bj_promql_type {
    BJ_PROMQL_T_SCALAR,
    BJ_PROMQL_T_VECTOR,
    BJ_PROMQL_T_RANGE,
    BJ_PROMQL_T_STRING
};

enum bj_promql_match {
    BJ_PROMQL_EQ,
    BJ_PROMQL_NE,
    BJ_PROMQL_RE,
    BJ_PROMQL_NRE
};

/* One matcher; the metric name is a matcher of the label __name__. */
struct bj_promql_matcher {
    struct bj_slice label, value; /* decoded; any bytes */
    enum bj_promql_match op;
    struct bj_promql_matcher *next;
};

struct bj_promql_label {
    struct bj_slice name;
    struct bj_promql_label *next;
};

enum bj_promql_grouping {
    BJ_PROMQL_UNGROUPED,
    BJ_PROMQL_BY,       /* aggregations */
    BJ_PROMQL_WITHOUT,  /* aggregations */
    BJ_PROMQL_ON,       /* binary operators */
    BJ_PROMQL_IGNORING, /* binary operators */
};

/* The time of the modifier @. */
enum bj_promql_at {
    BJ_PROMQL_AT_NONE,
    BJ_PROMQL_AT_TIME,
    BJ_PROMQL_AT_START,
    BJ_PROMQL_AT_END
};

struct bj_promql_node {
    enum bj_promql_kind kind;
    enum bj_promql_type type;
    /* NUMBER: its text, which all servers parse in the same way; STRING: its
     * bytes; UNARY, BINARY, CALL, AGGREGATE: operator or function in lower case
     */
    struct bj_slice text;
    struct bj_promql_node *child, *last, *next; /* children in order */
    unsigned depth; /* 1 + the greatest depth of a child */
    /* SELECTOR */
    bool name_outside;  /* the name is in front of the braces */
    bool may_match_all; /* the matchers of info() */
    struct bj_promql_matcher *matchers, *last_matcher;
    const char *extent; /* "anchored", "smoothed" or NULL; RANGE as well */
    /* SELECTOR, RANGE, SUBQUERY; times in milliseconds */
    bool has_offset;
    int64_t offset_ms;
    enum bj_promql_at at;
    struct bj_slice at_time;   /* seconds, a number's text with its sign */
    int64_t range_ms, step_ms; /* step: 0 when left out */
    /* AGGREGATE, BINARY */
    enum bj_promql_grouping grouping;
    struct bj_promql_label *labels, *include; /* include: of group_left/right */
    /* BINARY */
    bool returns_bool;
    const char *group; /* "group_left", "group_right" or NULL */
    struct bj_slice fill_left, fill_right; /* numbers; empty: none */
};

/* What step() and range() in durations are; both are 0 in an instant query. */
struct bj_promql_times {
    int64_t step_ms;  /* between two evaluations */
    int64_t range_ms; /* from the first to the last evaluation */
};

/* Parse text into a tree in arena; text need not outlive the call.  times:
 * those of the query; NULL: it is not evaluated, and durations with step() or
 * range() have some value.  0, -EINVAL (not PromQL, or a refused part of it),
 * -E2BIG (over a limit) or -ENOMEM, with a message "LINE:COLUMN: ...". */
int bj_promql_parse(struct bj_slice text, const struct bj_promql_times *times,
                    struct bj_arena *arena, const struct bj_promql_node **ret,
                    struct bj_err *err);

/* Parse one selector, as in match[] of the HTTP API; otherwise like
 * bj_promql_parse. */
int bj_promql_parse_selector(struct bj_slice text, struct bj_arena *arena,
                             const struct bj_promql_node **ret,
                             struct bj_err *err);

/* Append the query in a form that all servers parse in the same way: names
 * inside the braces, operands of operators in parentheses unless they are
 * simple, durations in s or ms.  Parsing and printing that text again results
 * in the same text.  Check b->failed. */
void bj_promql_print(const struct bj_promql_node *tree, struct bj_buf *b);

/* Call visit for each node, parents first, until it returns a value other than
 * 0, which is returned. */
int bj_promql_walk(const struct bj_promql_node *tree,
                   int (*visit)(const struct bj_promql_node *node, void *arg),
                   void *arg);

#endif
