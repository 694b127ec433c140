/* Records of the cluster: what the scheduler knows about queue, nodes and
 * limits.  Like those of record.h; text and lists lie in parts that the
 * snapshot holds a reference to (core/cluster/part.h). */
#ifndef BJ_CORE_MODEL_CLUSTER_H
#define BJ_CORE_MODEL_CLUSTER_H

#include "core/model/record.h"
#include "sched/sdiag.h"

/* Jobs that have something in common, besides their state. */
struct bj_jobs_stat {
    struct bj_sub sub;
    uint64_t jobs;
    /* what they have, or ask for while they wait */
    uint64_t cpus, nodes, mem_bytes, gpus;
    uint64_t wait_sec, wait_max_sec; /* since they were submitted, of those
                                        that wait */
};

/* Nodes that have something in common.  CPUs: the three make up the first. */
struct bj_nodes_stat {
    struct bj_sub sub;
    uint64_t nodes;
    uint64_t cpus, cpus_allocated, cpus_idle, cpus_other;
    uint64_t mem_bytes, mem_allocated_bytes, mem_free_bytes;
    uint64_t load_centi, weight; /* of those that tell them */
};

/* GPUs of nodes.  The four make up the first. */
struct bj_gpus_stat {
    struct bj_sub sub;
    uint64_t gpus, allocated, idle, blocked, other;
};

/* GPUs of a type, wherever they are. */
struct bj_gpu_type_stat {
    struct bj_sub sub; /* type */
    uint64_t gpus, nodes;
};

/* The state of a node as the scheduler words it. */
struct bj_node_state_stat {
    struct bj_sub sub; /* node, text */
    uint64_t one;
};

/* A count of something that has a name. */
struct bj_count_stat {
    struct bj_sub sub;
    uint64_t count;
};

/* The controller. */
struct bj_controller_stat {
    struct bj_sub sub; /* no key */
    struct bj_sdiag diag;
};
struct bj_rpc_stat {
    struct bj_sub sub; /* kind, or user */
    uint64_t count, total_usec;
};

struct bj_license_stat {
    struct bj_sub sub; /* licence */
    uint64_t total, used, free, reserved;
    uint64_t last_consumed, last_deficit; /* sched/slurmlist.h; 0: not told */
};
struct bj_reservation_stat {
    struct bj_sub sub; /* reservation */
    uint64_t active, start_sec, end_sec, nodes, cores;
};
struct bj_share_stat {
    struct bj_sub sub; /* account, user; empty: the account itself */
    uint64_t shares, usage, norm_ppm, used_ppm, fairshare_ppm;
};
struct bj_limit_stat {
    struct bj_sub sub; /* account, user, partition */
    uint64_t jobs, submit, cpus, nodes, mem_bytes, gpus;   /* together */
    uint64_t max_jobs, max_submit;                         /* for each user */
    uint64_t max_cpus, max_nodes, max_mem_bytes, max_gpus; /* for each job */
};

/* How a source (a command) does, whatever became of its values. */
struct bj_source_stat {
    struct bj_sub sub; /* source */
    uint64_t success, age_usec, duration_usec, runs;
    uint64_t bad_lines; /* not understood, and left out */
    uint64_t refused;   /* keys that were summed up as (other), or left out
                           where they can't be, last time */
};

struct bj_constant_stat {
    struct bj_sub sub;   /* name */
    uint64_t micro;      /* its millionths */
    uint64_t period_sec; /* that it is for; BJ_ABSENT: none */
};

enum bj_cluster_list {
    /* of the queue: bj_jobs_stat ... */
    BJ_CL_JOBS,
    BJ_CL_PARTITION_JOBS,
    BJ_CL_USER_JOBS,
    BJ_CL_ACCOUNT_JOBS,
    BJ_CL_QOS_JOBS,
    BJ_CL_HOST_JOBS,
    BJ_CL_RESERVATION_JOBS,
    BJ_CL_PENDING,
    BJ_CL_PARTITION_PENDING,
    BJ_CL_EACH_JOB, /* that does not wait, by its number; only where asked for
                       (bj_scheduler_conf.each_job), and in no table */
    /* ... bj_count_stat */
    BJ_CL_JOBS_GPUS,
    BJ_CL_PARTITION_JOBS_GPUS,
    /* of the nodes: bj_nodes_stat ... */
    BJ_CL_NODES,
    BJ_CL_FLAGS,
    BJ_CL_PARTITION_NODES,
    BJ_CL_PARTITION_FLAGS,
    BJ_CL_RESERVATION_NODES,
    BJ_CL_REASONS,
    BJ_CL_EACH_NODE,
    /* ... bj_gpus_stat */
    BJ_CL_GPUS,
    BJ_CL_FLAG_GPUS,
    BJ_CL_PARTITION_GPUS,
    BJ_CL_PARTITION_FLAG_GPUS,
    BJ_CL_RESERVATION_GPUS,
    BJ_CL_EACH_NODE_GPUS,
    /* ... and their own */
    BJ_CL_GPU_TYPES,
    BJ_CL_NODE_STATES,
    /* the others, each of its own kind */
    BJ_CL_CONTROLLER,
    BJ_CL_RPC_TYPES,
    BJ_CL_RPC_USERS,
    BJ_CL_LICENSES,
    BJ_CL_RESERVATIONS,
    BJ_CL_SHARES,
    BJ_CL_LIMITS,
    BJ_CL_CONSTANTS,
    BJ_CL_SOURCES,
    BJ_CL_SOURCE_ERRORS, /* bj_count_stat */
    BJ_CL_LISTS
};

/* The commands. */
enum bj_cluster_source {
    BJ_CLUSTER_CONFIG,
    BJ_CLUSTER_RESERVATIONS, /* before the nodes, which are in them */
    BJ_CLUSTER_QUEUE,
    BJ_CLUSTER_NODES,
    BJ_CLUSTER_DIAG,
    BJ_CLUSTER_LICENSES,
    BJ_CLUSTER_SHARES,
    BJ_CLUSTER_LIMITS,
    BJ_CLUSTER_CONSTANTS, /* a file, not a command */
    BJ_CLUSTER_SOURCES
};

struct bj_cluster_part;

/* What a snapshot holds of it. */
struct bj_cluster_lists {
    struct bj_list list[BJ_CL_LISTS];
    struct bj_cluster_part *part[BJ_CLUSTER_SOURCES]; /* referenced, or NULL */
};

#endif
