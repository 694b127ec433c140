/* Statistics of Slurm's controller: the text of sdiag. */
#ifndef BJ_SCHED_SDIAG_H
#define BJ_SCHED_SDIAG_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

extern const char *const bj_sdiag_argv[];

/* BJ_ABSENT: not reported.  Counters restart at since_sec, normally at midnight
 * UTC. */
struct bj_sdiag {
    uint64_t since_sec;
    uint64_t server_threads, agent_queue, agents, agent_threads, dbd_queue;
    uint64_t jobs_submitted, jobs_started, jobs_completed, jobs_cancelled;
    uint64_t jobs_failed;
    /* the main scheduler */
    uint64_t cycles, cycle_last_usec, cycle_max_usec, cycle_mean_usec;
    uint64_t depth_mean, queue_length, cycles_per_min;
    /* backfill */
    uint64_t bf_jobs; /* since the controller started */
    uint64_t bf_jobs_cycle, bf_het_jobs;
    uint64_t bf_cycles, bf_last_sec, bf_last_usec, bf_max_usec, bf_mean_usec;
    uint64_t bf_depth, bf_depth_try, bf_depth_mean, bf_depth_try_mean;
    uint64_t bf_queue, bf_queue_mean, bf_table, bf_table_mean;
    uint64_t bf_sum_usec; /* duration of all cycles; JSON only */
};

/* Calls of one kind ("REQUEST_NODE_INFO"), or of one user. */
struct bj_sdiag_rpc {
    bool user;
    struct bj_slice name;
    uint64_t count, total_usec;
};

/* Read it all.  rpc (may be NULL) is called for each kind and user.  -EINVAL
 * when the text is not from sdiag. */
int bj_sdiag_parse(struct bj_slice text, struct bj_sdiag *ret,
                   void (*rpc)(void *ctx, const struct bj_sdiag_rpc *r),
                   void *ctx);

#endif
