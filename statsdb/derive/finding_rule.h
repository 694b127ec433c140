/* The rows of the table finding_rule: rules as they were when they caused a
 * finding. */
#ifndef BJ_STATSDB_DERIVE_FINDING_RULE_H
#define BJ_STATSDB_DERIVE_FINDING_RULE_H

#include "statsdb/derive/rule.h"
#include "statsdb/tables/store.h"

struct bj_finding_rules;

/* The store and the rules must outlive *ret. */
int bj_finding_rules_new(struct bj_store *s, const struct bj_rules *rules,
                         struct bj_finding_rules **ret, struct bj_err *err);
void bj_finding_rules_free(struct bj_finding_rules *f); /* NULL is fine */

/* Return the row number of a rule, which is added if it is new, in the caller's
 * transaction. */
int bj_finding_rules_id(struct bj_finding_rules *f, const struct bj_rule *rule,
                        int64_t *ret, struct bj_err *err);

/* Forget all row numbers, after a rollback. */
void bj_finding_rules_clear(struct bj_finding_rules *f);

#endif
