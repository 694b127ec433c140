/* Decides when a rule warns about a running job or cancels it ("escalate" in
 * rules: docs/derived.md).  Uses neither clock nor store. */
#ifndef BJ_STATSDB_RUNNING_ESCALATION_H
#define BJ_STATSDB_RUNNING_ESCALATION_H

#include "statsdb/derive/rule.h"

/* The state of an action, in the order of "escalate". */
enum bj_action_state {
    BJ_ACTION_DRY,     /* only recorded */
    BJ_ACTION_WAITING, /* a warning that has not been sent yet */
    BJ_ACTION_DOING,   /* a command is running, or was running when the program
                          ended */
    BJ_ACTION_DONE,    /* the warning was sent, the job was cancelled */
    BJ_ACTION_FAILED,
    BJ_ACTION_STATES
};

/* A finding that the job has had in every evaluation since since_sec. */
struct bj_escalation {
    const struct bj_rule *rule;
    int64_t since_sec, now_sec;
    bool dry_run;
    unsigned actions;                /* recorded since then */
    enum bj_action_state last_state; /* of the last of these */
    int64_t last_sec;                /* when that action got its state */
};

/* Return the number of the action that is due, or -1.  A job is cancelled only
 * if its warning was sent and the time in the rule has passed since then. A
 * warning that failed, or that a dry run did not send, does not count. */
int bj_escalation_next(const struct bj_escalation *e);

/* The names of states in the store; an unknown name is BJ_ACTION_FAILED. */
extern const char *const bj_action_states[BJ_ACTION_STATES];
enum bj_action_state bj_action_state(struct bj_slice name);

#endif
