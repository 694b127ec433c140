/* Rules: findings about jobs, as rows of "FACT OP THRESHOLD".
 *
 * A rule holds if all its rows hold. Rules have no code and no nesting; a row
 * with an unknown fact does not hold. docs/derived.md describes rules for their
 * authors. */
#ifndef BJ_STATSDB_DERIVE_RULE_H
#define BJ_STATSDB_DERIVE_RULE_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/derive/fact.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BJ_RULES_MAX = 256,      /* all rules, overrides included */
    BJ_RULE_ROWS = 8,        /* of a rule */
    BJ_RULE_THRESHOLDS = 16, /* of a rule */
    BJ_RULE_WHERE = 64,      /* clusters, partitions, QOS of a rule */
    BJ_RULE_WINDOWS = 8,     /* different values of "running" */
    BJ_RULE_ACTIONS = 8,     /* of a rule */
    BJ_RULE_TEXT_MAX = 1000, /* bytes */
    BJ_RULE_FILE_MAX = 256 << 10
};

/* left [/ left_by] op factor * (right or value) [/ right_by]; -1: none. */
struct bj_rule_row {
    int8_t left, left_by, right, right_by;
    uint8_t op;
    double factor, value;
};

/* The action when a job has had a finding for some time. */
struct bj_rule_action {
    uint32_t after_sec; /* since the finding began; increasing */
    bool cancel;        /* else warn */
};

/* A rule to be evaluated; texts live as long as the rules. */
struct bj_rule {
    const char *name, *severity, *text;
    const char *advice, *url; /* "": none */
    const char *condition;    /* the rows of the rule as text, with numbers */
    struct bj_rule_row row[BJ_RULE_ROWS];
    unsigned rows;
    bool enabled;
    uint32_t running_sec; /* facts are about the last running_sec seconds of a
                             running job; 0: about an ended job */
    struct bj_rule_action action[BJ_RULE_ACTIONS];
    unsigned actions;
};

/* The job that rules are evaluated for. */
struct bj_rule_job {
    struct bj_slice cluster, partition, qos;
};

/* Facts for the rules with this running_sec. */
struct bj_rule_facts {
    uint32_t running_sec;
    const double *fact; /* BJ_FACT_COUNT */
    /* The nodes or GPUs that each fact is about (statsdb/derive/parts.h); NULL:
       none. */
    const char *const *names;
};

struct bj_rule_match {
    const struct bj_rule *rule;
    double value, threshold; /* of the rule's last row */
    const char *names;       /* of the first row that has some; NULL: none */
};

/* Explains why a rule applies to an ended job or does not. */
struct bj_rule_trace {
    const struct bj_rule *rule;
    bool applies;
    const char *unless; /* the finding that excludes the rule; NULL: none */
    struct {
        struct bj_slice text; /* with numbers */
        double left, right;   /* NAN: unknown */
        bool holds;
    } row[BJ_RULE_ROWS];
};

struct bj_rules;

/* Load the built-in rules and those of a file (path NULL or empty: none).
 * Messages contain file, line and column. -EINVAL: the file is missing or
 * invalid. -EPERM: other users can write the file. -ENOMEM. */
int bj_rules_load(const char *path, struct bj_rules **ret, struct bj_err *err);

/* Load the built-in rules and those of a text; name is the file in messages. */
int bj_rules_text(const char *name, struct bj_slice yaml, struct bj_rules **ret,
                  struct bj_err *err);
void bj_rules_free(struct bj_rules *r); /* NULL is fine */

/* Identifies the set of rules: 16 hexadecimal digits. */
const char *bj_rules_sign(const struct bj_rules *r);

/* Return rule i, from 0, overrides included; NULL after the last one. */
const struct bj_rule *bj_rules_at(const struct bj_rules *r, size_t i);

/* Return the text and advice of rule i as written, with {value} and {time};
 * false: there is no such rule. */
bool bj_rules_written(const struct bj_rules *r, size_t i, struct bj_slice *text,
                      struct bj_slice *advice);

/* Find the number with which the last condition of a rule compares a fact
 * alone.  The rule is the one for all clusters, partitions and QOS.  False: it
 * has no such condition. */
bool bj_rules_limit(const struct bj_rules *r, const char *rule,
                    const char *fact, double *ret);

/* Return the different values of running_sec in enabled rules, except 0;
 * returns their number. */
unsigned bj_rules_windows(const struct bj_rules *r,
                          uint32_t ret[BJ_RULE_WINDOWS]);

/* Evaluate the rules for which facts are passed.  Returns the number of
 * findings, at most max, in the order of the rules. */
size_t bj_rules_judge(const struct bj_rules *r, const struct bj_rule_job *job,
                      const struct bj_rule_facts *facts, size_t n,
                      struct bj_rule_match *ret, size_t max);

/* Return the next rule about ended jobs that is valid for this job, beginning
 * at rule *at, with its conditions; found are the findings of bj_rules_judge.
 * False: there are no more. */
bool bj_rules_trace(const struct bj_rules *r, size_t *at,
                    const struct bj_rule_job *job,
                    const double fact[BJ_FACT_COUNT],
                    const struct bj_rule_match *found, size_t n,
                    struct bj_rule_trace *ret);

/* Find a fact by its name; -1: none. */
int bj_fact_find(struct bj_slice name);

/* The name of a fact; NULL: there is no fact with that number. */
const char *bj_fact_name(int fact);

#endif
