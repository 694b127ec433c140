/* Which series are public, and which labels of the others hold owner and
 * account. */
#ifndef BJ_PROMQL_RULES_H
#define BJ_PROMQL_RULES_H

#include "promql/promql.h"

/* The rule of one name, or of all names that begin with it.  The longest one
 * counts; a name without a rule is personal, with the labels of the rule of all
 * names (prefix "") if there is one, else with "user" and "account". */
struct bj_promql_rule {
    struct bj_slice prefix; /* of letters, digits, '_' and ':' */
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

/* The selector reads public series only: its name is set to a public one. */
bool bj_promql_is_public(const struct bj_promql_node *selector,
                         const struct bj_promql_rules *rules);

/* The labels of the personal series that a selector may read.  False: their
 * names may have different ones; *ret then has those of names without a rule,
 * and the selector must not read names of bj_promql_other_names(). */
bool bj_promql_labels_of(const struct bj_promql_node *selector,
                         const struct bj_promql_rules *rules,
                         struct bj_promql_labels *ret);

/* Append a regular expression for the names with other labels than those
 * without a rule; nothing when there are none. */
void bj_promql_other_names(const struct bj_promql_rules *rules,
                           struct bj_buf *out);

/* Append regular expressions: public names are those that match the first one
 * and not the second one.  Some public names may be missing. */
void bj_promql_public_names(const struct bj_promql_rules *rules,
                            struct bj_buf *names, struct bj_buf *except);

/* Has the name a rule other than that of all names? */
bool bj_promql_is_known(struct bj_slice name,
                        const struct bj_promql_rules *rules);

#endif
