/* Restriction of a query to the series that a user may see: matchers are added
 * to every selector that can read personal series.  A query reads series only
 * through selectors, so its answer then depends on visible series alone. */
#ifndef BJ_PROMQL_RESTRICT_H
#define BJ_PROMQL_RESTRICT_H

#include "promql/promql.h"

/* Series whose names begin with prefix are public, or personal.  The longest
 * prefix counts; names without one are personal. */
struct bj_promql_rule {
    struct bj_slice prefix;
    bool public;
};

struct bj_promql_viewer {
    struct bj_slice user;            /* not empty */
    const struct bj_slice *accounts; /* that the user coordinates; none empty */
    size_t account_count;
    const struct bj_promql_rule *rules;
    size_t rule_count;
};

/* A copy of tree, in arena, that reads of personal series only those whose
 * label user is the viewer, or whose label account is one of the accounts.  The
 * copy shares parts with tree.  0; -EACCES (a query that cannot be restricted),
 * -E2BIG (the result has too many parts) or -ENOMEM, with a message. */
int bj_promql_restrict(const struct bj_promql_node *tree,
                       const struct bj_promql_viewer *viewer,
                       struct bj_arena *arena,
                       const struct bj_promql_node **ret, struct bj_err *err);

/* The selector reads public series only: its name is set to a public one. */
bool bj_promql_is_public(const struct bj_promql_node *selector,
                         const struct bj_promql_viewer *viewer);

#endif
