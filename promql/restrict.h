/* Restriction of a query to the series that a user may see: matchers are added
 * to every selector that can read personal series.  A query reads series only
 * through selectors, so its answer then depends on visible series alone. */
#ifndef BJ_PROMQL_RESTRICT_H
#define BJ_PROMQL_RESTRICT_H

#include "promql/rules.h"

struct bj_promql_viewer {
    struct bj_slice user;            /* not empty */
    const struct bj_slice *accounts; /* that the user coordinates; none empty */
    size_t account_count;
    struct bj_promql_rules rules;
};

/* A copy of tree, in arena, that reads of personal series only those whose
 * label for the owner is the viewer, or whose label for the account is one of
 * the accounts.  The copy shares parts with tree.  0; -EACCES (a query that
 * cannot be restricted), -E2BIG (the result has too many parts) or -ENOMEM,
 * with a message. */
int bj_promql_restrict(const struct bj_promql_node *tree,
                       const struct bj_promql_viewer *viewer,
                       struct bj_arena *arena,
                       const struct bj_promql_node **ret, struct bj_err *err);

enum { BJ_PROMQL_MATCHES = 3 };

/* The same for a selector of match[], of which a request may have several: as
 * many selectors as the function returns, which together read what the viewer
 * may see of it, public series included.  tree NULL: of all series.  Negative:
 * the errors above. */
int bj_promql_restrict_match(
    const struct bj_promql_node *tree, const struct bj_promql_viewer *viewer,
    struct bj_arena *arena, const struct bj_promql_node *ret[BJ_PROMQL_MATCHES],
    struct bj_err *err);

#endif
