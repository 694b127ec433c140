/* The GPUs that the scheduler has allocated to a job.  One query for each job,
 * and only if the option is set: a controller may have thousands of nodes.
 *
 * Slurm's detail of a job has a line for each group of nodes,
 *   Nodes=n[1-2] CPU_IDs=0-3 Mem=900 GRES=gpu:tesla:2(IDX:0-1)
 * whose numbers are the order of gres.conf.  The user controls other lines
 * (name, command, comment): if one of them imitates such a line for this node,
 * the job's lines are ignored.
 *
 * Source: Slurm, scontrol(1), "--details"; src/api/job_info.c. */
#ifndef BJ_CORE_GPU_ALLOT_H
#define BJ_CORE_GPU_ALLOT_H

#include "core/gpu/claim.h"

#include <stdatomic.h>

/* Parse the output of "scontrol -d show job".  node: name of this node in
 * Slurm; if the job has only one node, any name matches.  False, with *ret
 * unchanged, if no GPUs of the job are found. */
bool bj_gpu_allot_slurm(struct bj_slice text, struct bj_slice jobid,
                        struct bj_slice node, struct bj_gpu_claim *ret);

/* How to query Slurm. */
struct bj_gpu_allot_conf {
    const char *path;       /* directories to search for scontrol; NULL or
                               empty: the usual ones */
    const char *slurm_conf; /* NULL or empty: Slurm's default */
};

/* Whether that batch system can be queried about such a job id. */
bool bj_gpu_allot_can(struct bj_slice system, struct bj_slice jobid);

/* Query Slurm; blocks for at most ten seconds, or until abort is set.  Returns
 * 0, with ret->environ true if the reply has GPUs, else false; or -errno. */
int bj_gpu_allot_read(const struct bj_gpu_allot_conf *conf,
                      struct bj_slice jobid, struct bj_slice node,
                      const atomic_bool *abort, struct bj_gpu_claim *ret,
                      struct bj_err *err);

#endif
