/* Rules: which series are public, and which labels of personal series contain
 * owner and account. */
#ifndef BJ_PROMQL_RULES_H
#define BJ_PROMQL_RULES_H

#include "promql/promql.h"

/* The rule for one name, or for all names with a prefix.  The longest match
 * counts.  A name without a rule is personal, with the labels of the rule for
 * all names (prefix "") if there is one, else with "user" and "account". */
struct bj_promql_rule {
    struct bj_slice prefix; /* letters, digits, '_' and ':' */
    bool exact;             /* only this name */
    bool public;
    struct bj_slice user;    /* label with the owner; empty: both defaults */
    struct bj_slice account; /* label with the account; empty: none */
};

struct bj_promql_rules {
    const struct bj_promql_rule *v;
    size_t n;
};

/* The labels that hold the owner and the account of a series. */
struct bj_promql_labels {
    struct bj_slice user, account;
};

/* Does the selector read only public series, because it selects only public
 * names? */
bool bj_promql_is_public(const struct bj_promql_node *selector,
                         const struct bj_promql_rules *rules);

/* Return the labels for owner and account of the personal series that a
 * selector may read.  False: the labels may differ between names; *ret then has
 * those of names without a rule, and the selector must exclude the names of
 * bj_promql_other_names(). */
bool bj_promql_labels_of(const struct bj_promql_node *selector,
                         const struct bj_promql_rules *rules,
                         struct bj_promql_labels *ret);

/* Append a regular expression for the names whose labels differ from those of
 * names without a rule; nothing if there are none. */
void bj_promql_other_names(const struct bj_promql_rules *rules,
                           struct bj_buf *out);

/* Append two regular expressions: names that match the first and not the second
 * are public.  Some public names may be missing. */
void bj_promql_public_names(const struct bj_promql_rules *rules,
                            struct bj_buf *names, struct bj_buf *except);

/* Does the name have a rule other than that for all names? */
bool bj_promql_is_known(struct bj_slice name,
                        const struct bj_promql_rules *rules);

#endif
