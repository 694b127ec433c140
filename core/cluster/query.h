/* Queries to the scheduler: its commands with text or JSON output, or
 * slurmrestd. The results are the same. */
#ifndef BJ_CORE_CLUSTER_QUERY_H
#define BJ_CORE_CLUSTER_QUERY_H

#include "core/cluster/part.h"

struct bj_cluster_client;

/* conf must outlive it. Not thread-safe. -EINVAL when options contradict each
 * other, -ENOMEM; errors of bj_slurmrestd_new. */
int bj_cluster_client_new(const struct bj_scheduler_conf *conf,
                          struct bj_cluster_client **ret, struct bj_err *err);
void bj_cluster_client_free(struct bj_cluster_client *a); /* NULL is fine */

/* Query a source and sum up the reply. On success the new work (conf, by,
 * wall_sec, name, reservations set) has its part; the caller frees it in any
 * case. abort ends the query at once.
 *
 * -ENOENT, -EACCES, -ENOEXEC: command or file missing; -ECONNREFUSED,
 * -EHOSTUNREACH: no server; -ETIMEDOUT, -ECANCELED; -EREMOTEIO: error reported
 * by the command or slurmrestd; -EBADMSG: the reply cannot be parsed; -EAGAIN:
 * needs the cluster's name first; others: memory, processes. */
int bj_cluster_query(struct bj_cluster_client *a, enum bj_cluster_source id,
                     struct bj_cluster_work *w, const atomic_bool *abort,
                     struct bj_err *err);

#endif
