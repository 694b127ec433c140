/* The cluster collector: asks the scheduler's commands in a thread of its own,
 * each at its pace, and hands the newest answers to snapshots.  A constant
 * number of commands a period, whoever scrapes; nothing here blocks a pass. */
#ifndef BJ_CORE_CLUSTER_CLUSTER_H
#define BJ_CORE_CLUSTER_CLUSTER_H

#include "core/core.h"

struct bj_cluster;

/* conf must outlive it.  -EINVAL when options do not fit each other, -ENOMEM,
 * or no thread. */
int bj_cluster_new(const struct bj_scheduler_conf *conf,
                   const struct bj_host *host, struct bj_cluster **ret,
                   struct bj_err *err);

/* Kills the command that runs, if any.  NULL is fine. */
void bj_cluster_free(struct bj_cluster *c);

/* Put what is known into a snapshot.  What was learnt too long ago (three
 * periods) is left out; how each source does is always told. */
void bj_cluster_publish(struct bj_cluster *c, uint64_t now_usec,
                        struct bj_snap *snap);

/* Let go of what a snapshot holds. */
void bj_cluster_release(struct bj_snap *snap);

/* The cluster's name as its scheduler has it, clean, in the arena; empty when
 * it is not known yet. */
struct bj_slice bj_cluster_name(struct bj_cluster *c, struct bj_arena *arena);

#endif
