/* Restricts a query to the series that a user may see, by adding matchers to
 * every selector that can read personal series.  A query reads series only
 * through selectors, so its result then depends only on visible series. */
#ifndef BJ_PROMQL_RESTRICT_H
#define BJ_PROMQL_RESTRICT_H

#include "promql/rules.h"

struct bj_promql_viewer {
    struct bj_slice user; /* not empty */
    /* accounts that the user coordinates; not empty */
    const struct bj_slice *accounts;
    size_t account_count;
    struct bj_promql_rules rules;
};

/* Make a restricted copy of tree in arena.  Of personal series, it reads only
 * those with the viewer in the label for the owner, or one of the viewer's
 * accounts in the label for the account.  The copy shares parts with tree.  0;
 * -EACCES (the query cannot be restricted), -E2BIG (the result has too many
 * parts) or -ENOMEM, with a message. */
int bj_promql_restrict(const struct bj_promql_node *tree,
                       const struct bj_promql_viewer *viewer,
                       struct bj_arena *arena,
                       const struct bj_promql_node **ret, struct bj_err *err);

enum { BJ_PROMQL_MATCHES = 3 };

/* Restrict a selector of match[], of which a request may have several.  Returns
 * the number of resulting selectors, which together read all series of it that
 * the viewer may see, public ones included; or one of the errors above.  tree
 * NULL: all series. */
int bj_promql_restrict_match(
    const struct bj_promql_node *tree, const struct bj_promql_viewer *viewer,
    struct bj_arena *arena, const struct bj_promql_node *ret[BJ_PROMQL_MATCHES],
    struct bj_err *err);

#endif
