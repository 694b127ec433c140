/* Findings on running jobs: rules with "running" (docs/derived.md), evaluated
 * with what a Prometheus server says about the last minutes, and what
 * "escalate" does about them.
 *
 * A finding needs current data of all nodes of the job: samples that are
 * missing, too old, or that contradict accounting make a fact unknown, and a
 * rule with an unknown fact never holds. */
#ifndef BJ_STATSDB_RUNNING_H
#define BJ_STATSDB_RUNNING_H

#include "statsdb/conf.h"
#include "statsdb/metrics_page.h"
#include "statsdb/store.h"

#include <stdatomic.h>

struct bj_running;

/* Are running jobs evaluated with these options? */
bool bj_running_is_on(const struct bj_statsdb_conf *conf);

/* Check options and rules that belong together: -EINVAL. */
int bj_running_check(const struct bj_statsdb_conf *conf, struct bj_err *err);

/* Evaluate the running jobs of all clusters again and again, in a thread with a
 * connection to the store of its own, until it is freed; *ret is NULL when they
 * are not evaluated.  thread false: only bj_running_round does.  conf, store
 * and stop must outlive it. */
int bj_running_new(const struct bj_statsdb_conf *conf, struct bj_store *store,
                   const atomic_bool *stop, bool thread,
                   struct bj_running **ret, struct bj_err *err);
void bj_running_free(struct bj_running *r); /* NULL is fine */

/* Evaluate once; without thread only.  The last error of a cluster. */
int bj_running_round(struct bj_running *r, struct bj_err *err);

/* Append metrics: counters of each cluster, and the findings. */
void bj_running_page(struct bj_running *r, struct bj_buf *out);

#endif
