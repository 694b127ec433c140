#include "statsdb/running/escalation.h"

const char *const bj_action_states[BJ_ACTION_STATES] = {
    [BJ_ACTION_DRY] = "dry run",   [BJ_ACTION_WAITING] = "waiting",
    [BJ_ACTION_DOING] = "doing",   [BJ_ACTION_DONE] = "done",
    [BJ_ACTION_FAILED] = "failed",
};

enum bj_action_state bj_action_state(struct bj_slice name)
{
    for (int i = 0; i < BJ_ACTION_STATES; i++)
        if (bj_slice_eq(name, bj_slice_str(bj_action_states[i])))
            return (enum bj_action_state)i;
    return BJ_ACTION_FAILED;
}

/* Was the owner warned before this action, long enough ago? */
static bool was_warned(const struct bj_escalation *e, unsigned next)
{
    const struct bj_rule_action *a = e->rule->action;
    bool sent = e->last_state == BJ_ACTION_DONE ||
                (e->dry_run && e->last_state == BJ_ACTION_DRY);
    return next > 0 && sent && e->last_sec <= e->now_sec &&
           e->now_sec - e->last_sec >=
               (int64_t)a[next].after_sec - (int64_t)a[next - 1].after_sec;
}

int bj_escalation_next(const struct bj_escalation *e)
{
    unsigned next = e->actions;
    if (next >= e->rule->actions || e->since_sec > e->now_sec)
        return -1;
    const struct bj_rule_action *a = &e->rule->action[next];
    if (e->now_sec - e->since_sec < (int64_t)a->after_sec)
        return -1;
    if (next > 0 && (e->last_state == BJ_ACTION_WAITING ||
                     e->last_state == BJ_ACTION_DOING))
        return -1;
    return a->cancel && !was_warned(e, next) ? -1 : (int)next;
}
