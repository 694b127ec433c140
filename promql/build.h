/* Builds nodes of the tree, with the checks that Prometheus does.  All
 * functions return NULL or false if the query is wrong or memory is exhausted,
 * and set the parser's error. */
#ifndef BJ_PROMQL_BUILD_H
#define BJ_PROMQL_BUILD_H

#include "promql/duration.h"

/* Make an empty node; the grammar also collects arguments, modifiers and
 * matchers in nodes. */
struct bj_promql_node *bj_promql_node(struct bj_promql_parser *p,
                                      enum bj_promql_kind kind);

/* Append a child. */
void bj_promql_add(struct bj_promql_parser *p, struct bj_promql_node *n,
                   struct bj_promql_node *child);

struct bj_promql_node *bj_promql_literal(struct bj_promql_parser *p,
                                         enum bj_promql_kind kind,
                                         struct bj_slice text);
struct bj_promql_node *bj_promql_paren(struct bj_promql_parser *p,
                                       struct bj_promql_node *inner);
struct bj_promql_node *bj_promql_unary(struct bj_promql_parser *p, char sign,
                                       struct bj_promql_node *operand);

/* Set the operands of node, an empty BINARY with its modifiers. */
struct bj_promql_node *bj_promql_binary(struct bj_promql_parser *p,
                                        const char *op,
                                        struct bj_promql_node *node,
                                        struct bj_promql_node *left,
                                        struct bj_promql_node *right);

/* Make an aggregation; clause may be NULL; the children of args become those of
 * the result. */
struct bj_promql_node *bj_promql_aggregate(struct bj_promql_parser *p,
                                           struct bj_slice name,
                                           struct bj_promql_node *clause,
                                           struct bj_promql_node *args);
struct bj_promql_node *bj_promql_call(struct bj_promql_parser *p,
                                      struct bj_slice name,
                                      struct bj_promql_node *args);

struct bj_promql_node *bj_promql_selector(struct bj_promql_parser *p,
                                          struct bj_slice name,
                                          struct bj_promql_node *braces);
struct bj_promql_node *bj_promql_range(struct bj_promql_parser *p,
                                       struct bj_promql_node *selector,
                                       struct bj_promql_time range);
/* step may be NULL. */
struct bj_promql_node *bj_promql_subquery(struct bj_promql_parser *p,
                                          struct bj_promql_node *operand,
                                          struct bj_promql_time range,
                                          const struct bj_promql_time *step);

/* Set modifiers of a selector, range or subquery. */
bool bj_promql_offset(struct bj_promql_parser *p, struct bj_promql_node *n,
                      struct bj_promql_time offset);
bool bj_promql_at_time(struct bj_promql_parser *p, struct bj_promql_node *n,
                       bool negative, struct bj_slice time);
bool bj_promql_at(struct bj_promql_parser *p, struct bj_promql_node *n,
                  enum bj_promql_at at);
bool bj_promql_extent(struct bj_promql_parser *p, struct bj_promql_node *n,
                      const char *extent);

struct bj_promql_matcher *bj_promql_matcher(struct bj_promql_parser *p,
                                            struct bj_slice label,
                                            enum bj_promql_match op,
                                            struct bj_slice value);
void bj_promql_add_matcher(struct bj_promql_node *n,
                           struct bj_promql_matcher *m);

/* Prepend a label to a list of labels. */
struct bj_promql_label *bj_promql_label(struct bj_promql_parser *p,
                                        struct bj_slice name,
                                        struct bj_promql_label *rest);
struct bj_promql_label *bj_promql_in_order(struct bj_promql_label *reversed);
struct bj_promql_node *bj_promql_group_by(struct bj_promql_node *n,
                                          enum bj_promql_grouping grouping,
                                          struct bj_promql_label *labels);

/* Return a number with its sign as decimal text; a duration becomes seconds. */
struct bj_slice bj_promql_signed(struct bj_promql_parser *p, bool negative,
                                 struct bj_slice number);

/* Set the parser's error to a syntax error at the last token. */
void bj_promql_unexpected(struct bj_promql_parser *p, const char *what);

#endif
