/* Asking the scheduler: by its commands and their text, by their JSON, or by
 * slurmrestd; whichever it is, the sums are the same. */
#ifndef BJ_CORE_CLUSTER_ASK_H
#define BJ_CORE_CLUSTER_ASK_H

#include "core/cluster/part.h"

struct bj_cluster_asker;

/* conf must outlive it.  One thread at a time may use it.  -EINVAL when options
 * do not fit each other, -ENOMEM; errors of bj_slurmrestd_new. */
int bj_cluster_asker_new(const struct bj_scheduler_conf *conf,
                         struct bj_cluster_asker **ret, struct bj_err *err);
void bj_cluster_asker_free(struct bj_cluster_asker *a); /* NULL is fine */

/* Ask for a source and sum it up; a new work (conf, by, wall_sec, name,
 * reservations set) has its part when it went well, and is freed by the caller
 * in any case.  abort ends it at once.
 *   -ENOENT, -EACCES, -ENOEXEC  no such command, or file
 *   -ECONNREFUSED, -EHOSTUNREACH  nobody there
 *   -ETIMEDOUT, -ECANCELED
 *   -EREMOTEIO  a fault that the command, or slurmrestd, tells
 *   -EBADMSG    what it says is not understood
 *   -EAGAIN     the cluster's name has to be known first
 *   all else    memory, processes */
int bj_cluster_ask(struct bj_cluster_asker *a, enum bj_cluster_source id,
                   struct bj_cluster_work *w, const atomic_bool *abort,
                   struct bj_err *err);

#endif
