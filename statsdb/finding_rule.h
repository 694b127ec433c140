/* The rows of finding_rule: a rule as it was when it found something. */
#ifndef BJ_STATSDB_FINDING_RULE_H
#define BJ_STATSDB_FINDING_RULE_H

#include "statsdb/rule.h"
#include "statsdb/store.h"

struct bj_finding_rules;

/* The store and the rules must outlive it. */
int bj_finding_rules_new(struct bj_store *s, const struct bj_rules *rules,
                         struct bj_finding_rules **ret, struct bj_err *err);
void bj_finding_rules_free(struct bj_finding_rules *f); /* NULL is fine */

/* The row number of a rule, which is added if it is new, in the caller's
 * transaction. */
int bj_finding_rules_id(struct bj_finding_rules *f, const struct bj_rule *rule,
                        int64_t *ret, struct bj_err *err);

/* Forget all numbers: the transaction was rolled back. */
void bj_finding_rules_clear(struct bj_finding_rules *f);

#endif
