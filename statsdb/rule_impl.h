/* What rule.c, rule_row.c, rule_file.c and rule_table.c share. */
#ifndef BJ_STATSDB_RULE_IMPL_H
#define BJ_STATSDB_RULE_IMPL_H

#include "base/arena.h"
#include "statsdb/rule.h"

/* A number with a name, for rows of one rule. */
struct bj_threshold {
    struct bj_slice name;
    double value;
};

/* A rule as it is written, whole: what an override does not say has been taken
 * from the rule it overrides. */
struct bj_rule_text {
    struct bj_slice name, severity, text;
    struct bj_slice when[BJ_RULE_ROWS];
    unsigned rows;
    struct bj_threshold set[BJ_RULE_THRESHOLDS];
    unsigned sets;
    struct bj_slice unless[BJ_RULE_ROWS]; /* not when these were found */
    unsigned unlesses;
    struct bj_slice cluster[BJ_RULE_WHERE], partition[BJ_RULE_WHERE];
    unsigned clusters, partitions; /* 0: all */
    bool enabled;
};

struct bj_rules {
    struct bj_arena arena;
    struct bj_rule rule[BJ_RULES_MAX];
    struct bj_rule_text *text[BJ_RULES_MAX]; /* in the arena */
    bool first[BJ_RULES_MAX];                /* of its name */
    size_t n;
    char sign[17];
};

/* Add a rule; t is copied, what its slices point to must stay.  -EINVAL with a
 * message about a row. */
int bj_rules_add(struct bj_rules *r, const struct bj_rule_text *t,
                 struct bj_err *err);

/* The last rule of that name that holds everywhere; NULL: none. */
const struct bj_rule_text *bj_rules_base(const struct bj_rules *r,
                                         struct bj_slice name);

/* Read a number with a unit behind it: s, m, h, d; K, M, G, T (powers of 1024);
 * %.  -EINVAL. */
int bj_rule_number(struct bj_slice s, double *ret);

/* Read a row. */
int bj_rule_row(struct bj_slice s, const struct bj_threshold *set,
                unsigned sets, struct bj_rule_row *ret, struct bj_err *err);

/* Does a row hold?  Both sides are returned. */
bool bj_rule_row_holds(const struct bj_rule_row *row,
                       const double fact[BJ_FACT_COUNT], double *ret_left,
                       double *ret_right);

/* The built-in rules, each a text of YAML; NULL at the end. */
extern const char *const bj_rules_builtin[];

/* Read YAML into rules. */
int bj_rules_read(struct bj_rules *r, const char *name, struct bj_slice yaml,
                  struct bj_err *err);

#endif
