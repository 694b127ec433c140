/* Records of the cluster: the scheduler's data on queue, nodes and limits. As
 * in record.h; text and lists are in parts that the snapshot references
 * (core/cluster/part.h). */
#ifndef BJ_CORE_MODEL_CLUSTER_H
#define BJ_CORE_MODEL_CLUSTER_H

#include "core/model/record.h"
#include "sched/sdiag.h"

/* Jobs with the same state and labels. */
struct bj_jobs_stat {
    struct bj_sub sub;
    uint64_t jobs;
    /* allocated, or requested while pending */
    uint64_t cpus, nodes, mem_bytes, gpus;
    uint64_t wait_sec, wait_max_sec; /* since submission, of pending jobs */
};

/* Nodes with the same labels. cpus is the sum of the other three. */
struct bj_nodes_stat {
    struct bj_sub sub;
    uint64_t nodes;
    uint64_t cpus, cpus_allocated, cpus_idle, cpus_other;
    uint64_t mem_bytes, mem_allocated_bytes, mem_free_bytes;
    uint64_t load_centi, weight; /* of nodes that report them */
};

/* GPUs of nodes. gpus is the sum of the other four. */
struct bj_gpus_stat {
    struct bj_sub sub;
    uint64_t gpus, allocated, idle, blocked, other;
};

/* GPUs of a type, on nodes in any state. */
struct bj_gpu_type_stat {
    struct bj_sub sub; /* type */
    uint64_t gpus, nodes;
};

/* The state of a node, or its reason, as the scheduler writes it. */
struct bj_node_text_stat {
    struct bj_sub sub; /* node, who set the reason, text */
    uint64_t one;
};

/* A count with a name. */
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
    struct bj_sub sub; /* license */
    uint64_t total, used, free, reserved;
    /* sched/slurmlist.h; 0: not reported */
    uint64_t last_consumed, last_deficit;
};
struct bj_reservation_stat {
    struct bj_sub sub; /* reservation */
    uint64_t active, start_sec, end_sec, nodes, cores;
};
struct bj_share_stat {
    struct bj_sub sub; /* account, user; empty: the account itself */
    uint64_t shares, usage, norm_ppm, used_ppm, fairshare_ppm, level_ppm;
};
struct bj_limit_stat {
    struct bj_sub sub; /* account, user, partition */
    /* for all jobs together */
    uint64_t jobs, submit, cpus, nodes, mem_bytes, gpus;
    uint64_t max_jobs, max_submit;                         /* for each user */
    uint64_t max_cpus, max_nodes, max_mem_bytes, max_gpus; /* for each job */
};

struct bj_partition_stat {
    struct bj_sub sub;         /* partition */
    uint64_t enabled, started; /* whether it accepts jobs; starts them */
};

/* State of a source (a command), whether or not it delivered values. */
struct bj_source_stat {
    struct bj_sub sub; /* source */
    uint64_t success, age_usec, duration_usec, runs;
    uint64_t bad_lines; /* could not be parsed, left out */
    uint64_t refused;   /* keys of the last reply beyond the limit: summed up as
                           (other), or left out where they cannot be summed */
};

struct bj_constant_stat {
    struct bj_sub sub;   /* name */
    uint64_t micro;      /* in millionths */
    uint64_t period_sec; /* period it applies to; BJ_ABSENT: none */
};

enum bj_cluster_list {
    /* of the queue: bj_jobs_stat, */
    BJ_CL_JOBS,
    BJ_CL_PARTITION_JOBS,
    BJ_CL_USER_JOBS,
    BJ_CL_ACCOUNT_JOBS,
    BJ_CL_QOS_JOBS,
    BJ_CL_HOST_JOBS,
    BJ_CL_RESERVATION_JOBS,
    BJ_CL_FEATURE_JOBS,
    BJ_CL_PENDING,
    BJ_CL_PARTITION_PENDING,
    BJ_CL_EACH_JOB, /* each job that is not pending, by id; only with
                       bj_scheduler_conf.each_job, and in no metric table */
    /* bj_count_stat */
    BJ_CL_JOBS_GPUS,
    BJ_CL_PARTITION_JOBS_GPUS,
    /* of the nodes: bj_nodes_stat, */
    BJ_CL_NODES,
    BJ_CL_FLAGS,
    BJ_CL_PARTITION_NODES,
    BJ_CL_PARTITION_FLAGS,
    BJ_CL_RESERVATION_NODES,
    BJ_CL_REASONS,
    BJ_CL_EACH_NODE,
    /* bj_gpus_stat, */
    BJ_CL_GPUS,
    BJ_CL_FLAG_GPUS,
    BJ_CL_PARTITION_GPUS,
    BJ_CL_PARTITION_FLAG_GPUS,
    BJ_CL_RESERVATION_GPUS,
    BJ_CL_EACH_NODE_GPUS,
    /* their own types */
    BJ_CL_GPU_TYPES,
    BJ_CL_NODE_STATES,  /* bj_node_text_stat */
    BJ_CL_NODE_REASONS, /* bj_node_text_stat */
    /* the others, each of its own type */
    BJ_CL_CONTROLLER,
    BJ_CL_RPC_TYPES,
    BJ_CL_RPC_USERS,
    BJ_CL_LICENSES,
    BJ_CL_RESERVATIONS,
    BJ_CL_SHARES,
    BJ_CL_LIMITS,
    BJ_CL_PARTITIONS,
    BJ_CL_CONSTANTS,
    BJ_CL_SOURCES,
    BJ_CL_SOURCE_ERRORS, /* bj_count_stat */
    BJ_CL_LISTS
};

/* The commands. */
enum bj_cluster_source {
    BJ_CLUSTER_CONFIG,
    BJ_CLUSTER_RESERVATIONS, /* before the nodes, which refer to them */
    BJ_CLUSTER_QUEUE,
    BJ_CLUSTER_NODES,
    BJ_CLUSTER_DIAG,
    BJ_CLUSTER_LICENSES,
    BJ_CLUSTER_SHARES,
    BJ_CLUSTER_LIMITS,
    BJ_CLUSTER_PARTITIONS, /* of PBS only */
    BJ_CLUSTER_CONSTANTS,  /* a file, not a command */
    BJ_CLUSTER_SOURCES
};

struct bj_cluster_part;

/* The cluster's part of a snapshot. */
struct bj_cluster_lists {
    struct bj_list list[BJ_CL_LISTS];
    struct bj_cluster_part *part[BJ_CLUSTER_SOURCES]; /* referenced, or NULL */
};

#endif
