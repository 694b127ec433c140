/* The jobs, nodes and queues of PBS now, from the JSON of `qstat -f`,
 * `pbsnodes -a` and `qstat -Q -f`, as records of the cluster collector.
 *
 * Source: OpenPBS, qstat(1B), pbsnodes(8B), pbs_node_attributes(7B),
 * pbs_job_attributes(7B), pbs_queue_attributes(7B); tried with OpenPBS 23.06.
 */
#ifndef BJ_SCHED_PBS_LIVE_H
#define BJ_SCHED_PBS_LIVE_H

#include "base/err.h"
#include "base/slice.h"
#include "sched/sinfo.h"
#include "sched/slurmlist.h"
#include "sched/squeue.h"

#include <stdint.h>

/* The arguments; NULL at the end.  Without -t, an array is one object with the
 * numbers of its tasks. */
extern const char *const bj_qstat_argv[], *const bj_pbsnodes_argv[],
                                              *const bj_qstat_queues_argv[];

enum bj_pbs_list { BJ_PBS_JOBS, BJ_PBS_NODES, BJ_PBS_QUEUES };

struct bj_pbs_queue {
    struct bj_slice name;
    uint64_t enabled; /* 1: it accepts jobs, 0: not; BJ_ABSENT: unknown */
    uint64_t started; /* the same: its jobs may start, or be routed */
};

/* Callbacks as in sched/slurmjson.h; only a negative result ends the reading.
 */
struct bj_pbs_live_conf {
    void *ctx;
    /* A job, or equal tasks of an array.  States are Slurm's: R RUNNING, E
     * COMPLETING, S and U SUSPENDED, Q H W T PENDING. */
    int (*job)(void *ctx, const struct bj_squeue_job *v);
    /* A vnode.  Its states become Slurm's: see docs/cluster.md. */
    int (*node)(void *ctx, const struct bj_sinfo_node *v);
    int (*queue)(void *ctx, const struct bj_pbs_queue *v);
    /* Limits of a queue (partition), then those of users in it that have their
     * own.  Limits of groups and projects are left out. */
    int (*limits)(void *ctx, const struct bj_limits *v);
    void (*bad)(void *ctx); /* an object that is left out */
};

struct bj_pbs_live;

/* -ENOMEM. */
int bj_pbs_live_new(const struct bj_pbs_live_conf *conf, enum bj_pbs_list list,
                    struct bj_pbs_live **ret, struct bj_err *err);

/* The next piece of the text, cut anywhere.  -ENOMEM, -EBADMSG, or the result
 * of a callback. */
int bj_pbs_live_feed(struct bj_pbs_live *p, struct bj_slice piece,
                     struct bj_err *err);
int bj_pbs_live_end(struct bj_pbs_live *p, struct bj_err *err);
void bj_pbs_live_free(struct bj_pbs_live *p); /* NULL is fine */

#endif
