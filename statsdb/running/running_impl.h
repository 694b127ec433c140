/* Shared by running*.c only. */
#ifndef BJ_STATSDB_RUNNING_RUNNING_IMPL_H
#define BJ_STATSDB_RUNNING_RUNNING_IMPL_H

#include "base/arena.h"
#include "statsdb/derive/finding_rule.h"
#include "statsdb/derive/parts.h"
#include "statsdb/derive/rule.h"
#include "statsdb/prom/prom.h"
#include "statsdb/running/running.h"

enum { BJ_RUNNING_FOUND = 32 }; /* findings of a job, at most */

/* Values queried from Prometheus for one time window; BJ_SQL_NULL: unknown. The
 * first are counts of nodes and GPUs. */
enum bj_running_value {
    BJ_RV_NODES,       /* with any sample */
    BJ_RV_COVERED,     /* with nearly all samples */
    BJ_RV_FRESH,       /* with a current sample */
    BJ_RV_IO_NODES,    /* with nearly all samples of I/O */
    BJ_RV_GPUS,        /* with any sample */
    BJ_RV_GPU_COVERED, /* with nearly all samples */
    BJ_RV_CPU,         /* seconds x 1e6 */
    BJ_RV_NODES_UNUSED,
    BJ_RV_IO,
    BJ_RV_MEM_SHARE, /* of the limit x 1e6 */
    BJ_RV_MEM_PEAK,
    BJ_RV_MEM_RECENT_NODES, /* with nearly all samples of it */
    BJ_RV_MEM_RECENT,       /* charged at most in the window */
    BJ_RV_MEM_REMOTE,       /* ratio x 1e6, of the worst node */
    BJ_RV_THREADS,
    BJ_RV_OPEN_FILES,
    BJ_RV_OOM_KILLS,
    BJ_RV_GPUS_UNUSED,
    BJ_RV_GPU_BUSY, /* ratio x 1e6 */
    BJ_RV_GPU_IDLE, /* seconds x 1e6 */
    BJ_RV_GPU_MEM,
    BJ_RV_MEM_NOW,    /* held */
    BJ_RV_MEM_RISE,   /* bytes per hour, of a line through the window */
    BJ_RV_MEM_STEADY, /* how well that line fits x 1e6 */
    BJ_RUNNING_VALUES
};

/* A running job of the store. */
struct bj_running_job {
    struct bj_slice jobid, user, account, partition, qos; /* in the arena */
    int64_t id, start_sec, suspended_sec;
    int64_t nodes, cpus, gpus, memory, limit_sec, wait_sec, restarts;
    bool interactive;
    bool ambiguous;                /* another running job has the same jobid */
    double *fact[BJ_RULE_WINDOWS]; /* of each window, in the arena */
    const char **names[BJ_RULE_WINDOWS]; /* of facts; NULL: none */
    struct bj_parts parts; /* what its nodes and GPUs used in the window that is
                              being read, at last in the last minutes */
    int64_t v[BJ_RUNNING_VALUES]; /* of the window that is being read */
    struct bj_rule_match found[BJ_RUNNING_FOUND];
    size_t n_found;
    bool known; /* the facts of some window are known */
};

/* All running jobs of a cluster. */
struct bj_running_jobs {
    struct bj_arena arena;
    struct bj_running_job *job; /* in the order of jobid */
    size_t n;
    int64_t since_sec; /* the values of parts are about the time since then */
};

/* One cluster. */
struct bj_running_cluster {
    const struct bj_cluster_conf *conf;
    struct bj_prom *prom;
    struct bj_buf match; /* labels of the cluster, each with a comma */
    int64_t success_sec; /* of the last evaluation */
    bool cleared; /* its findings were removed, because they were too old */
    bool warned;  /* a warning about missing values was logged */
    uint64_t rounds, failures, actions[2]; /* warn, cancel */
    uint64_t jobs, known;                  /* in the last evaluation */
};

struct bj_running {
    const struct bj_statsdb_conf *conf;
    struct bj_store *store;
    const atomic_bool *stop;
    struct bj_rules *rules;
    struct bj_finding_rules *finding_rules;
    uint32_t window[BJ_RULE_WINDOWS]; /* seconds */
    unsigned windows;
    struct bj_running_cluster *cluster;
    size_t clusters;
    struct bj_running_thread *thread; /* running.c */
};

/* --- running_query.c ------------------------------------------------------ */

/* Fill in the facts of all jobs for all windows, at now_sec. */
int bj_running_query(struct bj_running *r, struct bj_running_cluster *c,
                     struct bj_running_jobs *jobs, int64_t now_sec,
                     struct bj_err *err);

/* Compute the facts of a job from its values; also for tests.  The queries have
 * checked the maximum age of samples. */
void bj_running_facts(const struct bj_running_job *j, uint32_t window_sec,
                      int64_t grace_sec, int64_t now_sec,
                      double fact[BJ_FACT_COUNT]);

/* --- running_write.c -------------------------------------------------------
 */

/* Read the running jobs of a cluster, sorted.  *ret_imported_sec: time of the
 * last import of accounting, 0: never. */
int bj_running_jobs(struct bj_store *s, const char *cluster,
                    struct bj_running_jobs *ret, int64_t *ret_imported_sec,
                    struct bj_err *err);
void bj_running_jobs_free(struct bj_running_jobs *jobs);
struct bj_running_job *bj_running_find(const struct bj_running_jobs *jobs,
                                       struct bj_slice jobid);

/* Store the findings of a cluster's running jobs in one transaction.  Stored
 * findings of all other jobs of the cluster are removed.  evaluated: these are
 * all findings now; else they are no longer known. */
int bj_running_write(struct bj_running *r, const struct bj_running_cluster *c,
                     const struct bj_running_jobs *jobs, bool evaluated,
                     int64_t now_sec, struct bj_err *err);

/* --- running.c ------------------------------------------------------------ */

/* Perform the actions of the findings' rules: warn and cancel. */
int bj_running_act(struct bj_running *r, struct bj_running_cluster *c,
                   const struct bj_running_jobs *jobs, int64_t now_sec,
                   struct bj_err *err);

/* A finding that the job has had in every evaluation since since_sec. */
struct bj_escalation {
    const struct bj_rule *rule;
    int64_t since_sec, now_sec;
    bool dry_run;
    unsigned actions;                /* recorded since then */
    enum bj_action_state last_state; /* of the last of these */
    int64_t last_sec;                /* when that action got its state */
};

/* When a rule warns about a running job or cancels it ("escalate" in rules:
 * docs/derived.md), without clock and store: the number of the action that is
 * due, or -1.  A job is cancelled only
 * if its warning was sent and the time in the rule has passed since then. A
 * warning that failed, or that a dry run did not send, does not count. */
int bj_escalation_next(const struct bj_escalation *e);

#endif
