/* Shared by rule*.c only. */
#ifndef BJ_STATSDB_DERIVE_RULE_IMPL_H
#define BJ_STATSDB_DERIVE_RULE_IMPL_H

#include "base/arena.h"
#include "statsdb/derive/rule.h"

/* A named number, for the conditions of one rule. */
struct bj_threshold {
    struct bj_slice name;
    double value;
};

/* A rule as text, with the values of the rule that it overrides. */
struct bj_rule_text {
    struct bj_slice name, severity, text, advice, url;
    struct bj_slice when[BJ_RULE_ROWS];
    unsigned rows;
    struct bj_threshold set[BJ_RULE_THRESHOLDS];
    unsigned sets;
    struct bj_slice unless[BJ_RULE_ROWS]; /* findings that exclude the rule */
    unsigned unlesses;
    struct bj_slice cluster[BJ_RULE_WHERE], partition[BJ_RULE_WHERE],
        qos[BJ_RULE_WHERE];
    unsigned clusters, partitions, qoses; /* 0: all */
    uint32_t running_sec;
    struct bj_rule_action action[BJ_RULE_ACTIONS];
    unsigned actions;
    bool enabled;
};

struct bj_rules {
    struct bj_arena arena;
    struct bj_rule rule[BJ_RULES_MAX];
    struct bj_rule_text *text[BJ_RULES_MAX]; /* in the arena */
    bool first[BJ_RULES_MAX];                /* the first rule of its name */
    size_t n;
    char sign[17];
};

/* Add a rule; t is copied, but its slices must stay valid.  -EINVAL: a
 * condition is wrong. */
int bj_rules_add(struct bj_rules *r, const struct bj_rule_text *t,
                 struct bj_err *err);

/* Find the last rule of that name without cluster, partition and QOS, or NULL.
 */
const struct bj_rule_text *bj_rules_base(const struct bj_rules *r,
                                         struct bj_slice name);

/* Parse a number with a unit: s, m, h, d; K, M, G, T (powers of 1024);
 * %.  -EINVAL. */
int bj_rule_number(struct bj_slice s, double *ret);

/* Parse "warn after 45m" or "cancel after 1h".  -EINVAL. */
int bj_rule_action(struct bj_slice s, struct bj_rule_action *ret);

/* Parse a condition. */
int bj_rule_row(struct bj_slice s, const struct bj_threshold *set,
                unsigned sets, struct bj_rule_row *ret, struct bj_err *err);

/* Does a condition hold? Returns both sides. */
bool bj_rule_row_holds(const struct bj_rule_row *row,
                       const double fact[BJ_FACT_COUNT], double *ret_left,
                       double *ret_right);

/* The built-in rules, each a text of YAML; NULL at the end. */
extern const char *const bj_rules_builtin[];

#endif
