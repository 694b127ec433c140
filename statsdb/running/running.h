/* Findings on running jobs: evaluates rules with "running" (docs/derived.md)
 * with the data of the last minutes from a Prometheus server, and performs the
 * actions of "escalate".
 *
 * A finding needs current data of all nodes of the job: samples that are
 * missing, too old, or that contradict accounting make a fact unknown, and a
 * rule with an unknown fact never holds. */
#ifndef BJ_STATSDB_RUNNING_RUNNING_H
#define BJ_STATSDB_RUNNING_RUNNING_H

#include "statsdb/conf/conf.h"
#include "statsdb/metrics/metrics_page.h"
#include "statsdb/tables/store.h"

#include <stdatomic.h>

struct bj_running;

/* Are running jobs evaluated with these options? */
bool bj_running_is_on(const struct bj_statsdb_conf *conf);

/* Check that options and rules are consistent: -EINVAL. */
int bj_running_check(const struct bj_statsdb_conf *conf, struct bj_err *err);

/* Start a thread, with its own connection to the store, that evaluates the
 * running jobs of all clusters repeatedly until *ret is freed; *ret is NULL if
 * the options turn this off.  thread false: only bj_running_round evaluates
 * them.  conf, store and stop must outlive *ret. */
int bj_running_new(const struct bj_statsdb_conf *conf, struct bj_store *store,
                   const atomic_bool *stop, bool thread,
                   struct bj_running **ret, struct bj_err *err);
void bj_running_free(struct bj_running *r); /* NULL is fine */

/* Evaluate once; only without thread.  Returns the error of the last cluster
 * that failed, or 0. */
int bj_running_round(struct bj_running *r, struct bj_err *err);

/* Append metrics: counters of each cluster, and the findings. */
void bj_running_page(struct bj_running *r, struct bj_buf *out);

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

/* The names of states in the store; an unknown name is BJ_ACTION_FAILED. */
extern const char *const bj_action_states[BJ_ACTION_STATES];
enum bj_action_state bj_action_state(struct bj_slice name);

#endif
