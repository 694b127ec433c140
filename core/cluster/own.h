/* Commands of the site that run instead of Slurm's (cluster.command). Their
 * output has the formats that prometheus-slurm-exporter requests. Private to
 * core/cluster/. */
#ifndef BJ_CORE_CLUSTER_OWN_H
#define BJ_CORE_CLUSTER_OWN_H

#include "core/cluster/part.h"

/* Split "SOURCE=COMMAND". -EINVAL with a message: no such source can have a
 * command, or the command is empty. */
int bj_cluster_own_parse(const char *text, enum bj_cluster_source *ret_id,
                         const char **ret_command, struct bj_err *err);

/* The same as a check of the option. */
int bj_cluster_own_check(const char *text, struct bj_err *err);

/* Parsers of one line: a job or node as a JSON object with the keys of
 * prometheus-slurm-exporter; User|Account|GrpCPU|GrpMem|GrpJobs|GrpSubmit of an
 * association. 0, -EINVAL when it cannot be parsed. */
int bj_cluster_own_job_line(struct bj_cluster_work *w, struct bj_slice line);
int bj_cluster_own_node_line(struct bj_cluster_work *w, struct bj_slice line);
int bj_cluster_own_limit_line(struct bj_cluster_work *w, struct bj_slice line);

#endif
