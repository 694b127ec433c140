/* The cluster collector: queries the scheduler in its own thread, each source
 * at its interval, and puts the newest replies into snapshots. The number of
 * queries does not depend on scrapes; nothing here blocks a pass. */
#ifndef BJ_CORE_CLUSTER_CLUSTER_H
#define BJ_CORE_CLUSTER_CLUSTER_H

#include "core/core.h"

struct bj_cluster;

/* conf must outlive it. -EINVAL when options contradict each other, -ENOMEM, or
 * no thread. */
int bj_cluster_new(const struct bj_scheduler_conf *conf,
                   const struct bj_host *host, struct bj_cluster **ret,
                   struct bj_err *err);

/* Kills a running command. NULL is fine. */
void bj_cluster_free(struct bj_cluster *c);

/* A page was requested: queries are sent before the next one (core/poller.h).
 */
void bj_cluster_page(struct bj_cluster *c, uint64_t now_usec,
                     uint64_t gap_usec);

/* Put the newest values into a snapshot. Values older than three periods are
 * left out; the state of each source is always included. */
void bj_cluster_publish(struct bj_cluster *c, uint64_t now_usec,
                        struct bj_snap *snap);

/* Release what a snapshot references. */
void bj_cluster_release(struct bj_snap *snap);

/* The cluster's name as its scheduler reports it, clean, in the arena; empty
 * while unknown. */
struct bj_slice bj_cluster_name(struct bj_cluster *c, struct bj_arena *arena);

#endif
