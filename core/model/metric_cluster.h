/* Metric rows of the cluster collector.  Included by core/model/tables.c only.
 */
#ifndef BJ_CORE_MODEL_METRIC_CLUSTER_H
#define BJ_CORE_MODEL_METRIC_CLUSTER_H

#include "core/core.h"
#include "core/model/metric_rows.h"

/* Counts of jobs with the same labels. */
#define JOBS_STAT_ROWS(noun)                                                   \
    GAUGE(bj_jobs_stat, jobs, "", BJ_NUMBER,                                   \
          "Number of " noun ". Counts each array task, and ended jobs until "  \
          "the scheduler forgets them."),                                      \
        GAUGE(bj_jobs_stat, cpus, "cpus", BJ_NUMBER,                           \
              "CPUs of " noun ": allocated, or requested while pending."),     \
        GAUGE(bj_jobs_stat, nodes, "nodes", BJ_NUMBER,                         \
              "Nodes of " noun ": allocated, or requested while pending. A "   \
              "shared node counts once for each job."),                        \
        GAUGE(bj_jobs_stat, mem_bytes, "memory", BJ_BYTES,                     \
              "Memory of " noun                                                \
              ", in bytes: allocated, or requested while pending.")
#define GPUS_STAT_ROW(noun)                                                    \
    GAUGE(bj_jobs_stat, gpus, "gpus", BJ_NUMBER,                               \
          "GPUs of " noun ": allocated, or requested while pending. Only "     \
          "where gres/gpu is a tracked resource.")
#define WAIT_STAT_ROWS(noun)                                                   \
    GAUGE(bj_jobs_stat, wait_sec, "wait", BJ_SEC,                              \
          "Time since submission of " noun ", summed, in seconds."),           \
        GAUGE(bj_jobs_stat, wait_max_sec, "wait_max", BJ_SEC,                  \
              "Longest time since submission of " noun ", in seconds.")

static const struct bj_metric cluster_jobs_rows[] = {
    JOBS_STAT_ROWS("jobs"), WAIT_STAT_ROWS("pending jobs")};
static const struct bj_metric partition_jobs_rows[] = {
    JOBS_STAT_ROWS("jobs of the partition"),
    WAIT_STAT_ROWS("pending jobs of the partition")};
static const struct bj_metric user_jobs_rows[] = {
    JOBS_STAT_ROWS("jobs of the user"), GPUS_STAT_ROW("jobs of the user"),
    WAIT_STAT_ROWS("pending jobs of the user")};
static const struct bj_metric account_jobs_rows[] = {
    JOBS_STAT_ROWS("jobs of the account"), GPUS_STAT_ROW("jobs of the account"),
    WAIT_STAT_ROWS("pending jobs of the account")};
static const struct bj_metric qos_jobs_rows[] = {
    JOBS_STAT_ROWS("jobs of the QOS"), GPUS_STAT_ROW("jobs of the QOS"),
    WAIT_STAT_ROWS("pending jobs of the QOS")};
static const struct bj_metric host_jobs_rows[] = {
    JOBS_STAT_ROWS("jobs submitted from the host"),
    GPUS_STAT_ROW("jobs submitted from the host"),
    WAIT_STAT_ROWS("pending jobs submitted from the host")};
static const struct bj_metric reservation_jobs_rows[] = {
    JOBS_STAT_ROWS("jobs in the reservation (empty: in none)"),
    GPUS_STAT_ROW("jobs in the reservation (empty: in none)"),
    WAIT_STAT_ROWS("pending jobs in the reservation (empty: in none)")};
static const struct bj_metric feature_jobs_rows[] = {
    JOBS_STAT_ROWS("jobs that request the feature (empty: none)"),
    GPUS_STAT_ROW("jobs that request the feature (empty: none)"),
    WAIT_STAT_ROWS("pending jobs that request the feature (empty: none)")};
static const struct bj_metric pending_rows[] = {
    JOBS_STAT_ROWS("pending jobs by reason"),
    GPUS_STAT_ROW("pending jobs by reason"),
    WAIT_STAT_ROWS("pending jobs by reason")};
static const struct bj_metric partition_pending_rows[] = {
    JOBS_STAT_ROWS("pending jobs of the partition by reason"),
    GPUS_STAT_ROW("pending jobs of the partition by reason"),
    WAIT_STAT_ROWS("pending jobs of the partition by reason")};
static const struct bj_metric jobs_gpus_rows[] = {
    GAUGE(bj_count_stat, count, "", BJ_NUMBER,
          "GPUs of jobs by requested type (empty: no type requested): "
          "allocated, or requested while pending."),
};
static const struct bj_metric partition_jobs_gpus_rows[] = {
    GAUGE(bj_count_stat, count, "", BJ_NUMBER,
          "GPUs of the partition's jobs by requested type (empty: no type "
          "requested): allocated, or requested while pending."),
};

/* Counts of nodes with the same labels.  where: which nodes, such as "of the
 * cluster by base state and flags". */
#define NODES_STAT_ROWS(where)                                                 \
    {                                                                          \
        GAUGE(bj_nodes_stat, nodes, "nodes", BJ_NUMBER,                        \
              "Number of nodes " where "."),                                   \
            GAUGE(bj_nodes_stat, cpus, "cpus", BJ_NUMBER,                      \
                  "CPUs of nodes " where                                       \
                  ": the sum of allocated, idle and other."),                  \
            GAUGE(bj_nodes_stat, cpus_allocated, "cpus_allocated", BJ_NUMBER,  \
                  "CPUs allocated to jobs, of nodes " where "."),              \
            GAUGE(bj_nodes_stat, cpus_idle, "cpus_idle", BJ_NUMBER,            \
                  "CPUs available to jobs, of nodes " where "."),              \
            GAUGE(bj_nodes_stat, cpus_other, "cpus_other", BJ_NUMBER,          \
                  "CPUs neither allocated nor available, of nodes " where      \
                  "."),                                                        \
            GAUGE(bj_nodes_stat, mem_bytes, "memory", BJ_BYTES,                \
                  "Configured memory of nodes " where ", in bytes."),          \
            GAUGE(bj_nodes_stat, mem_allocated_bytes, "memory_allocated",      \
                  BJ_BYTES,                                                    \
                  "Memory allocated to jobs on nodes " where ", in bytes."),   \
            GAUGE(bj_nodes_stat, mem_free_bytes, "memory_free", BJ_BYTES,      \
                  "Unused memory that the operating system reports on "        \
                  "nodes " where ", in bytes."),                               \
    }
static const struct bj_metric cluster_nodes_rows[] =
    NODES_STAT_ROWS("of the cluster by base state and flags");
static const struct bj_metric cluster_flag_rows[] =
    NODES_STAT_ROWS("of the cluster that have the flag");
static const struct bj_metric partition_nodes_rows[] =
    NODES_STAT_ROWS("of the partition by base state and flags");
static const struct bj_metric partition_flag_rows[] =
    NODES_STAT_ROWS("of the partition that have the flag");
static const struct bj_metric reservation_nodes_rows[] =
    NODES_STAT_ROWS("in active reservations (empty: in none) by base state "
                    "and flags");
static const struct bj_metric reason_nodes_rows[] =
    NODES_STAT_ROWS("by the reason noted for their state");
static const struct bj_metric each_node_rows[] =
    NODES_STAT_ROWS("by name, base state and flags");

#define NODE_GPUS_ROWS(where)                                                  \
    {                                                                          \
        GAUGE(bj_gpus_stat, gpus, "", BJ_NUMBER,                               \
              "GPUs by type (empty: untyped) of nodes " where                  \
              ": the sum of allocated, idle, blocked and other."),             \
            GAUGE(bj_gpus_stat, allocated, "allocated", BJ_NUMBER,             \
                  "GPUs allocated to jobs, of nodes " where "."),              \
            GAUGE(bj_gpus_stat, idle, "idle", BJ_NUMBER,                       \
                  "GPUs available to jobs, of nodes " where "."),              \
            GAUGE(bj_gpus_stat, blocked, "blocked", BJ_NUMBER,                 \
                  "Idle GPUs that no job can use, of nodes " where             \
                  ": their node has fewer than cluster.gpu-idle-cpus idle "    \
                  "CPUs."),                                                    \
            GAUGE(bj_gpus_stat, other, "other", BJ_NUMBER,                     \
                  "GPUs neither allocated nor available because their node "   \
                  "accepts no jobs, of nodes " where "."),                     \
    }
static const struct bj_metric cluster_gpus_rows[] =
    NODE_GPUS_ROWS("of the cluster by base state and flags");
static const struct bj_metric cluster_flag_gpus_rows[] =
    NODE_GPUS_ROWS("of the cluster that have the flag");
static const struct bj_metric partition_gpus_rows[] =
    NODE_GPUS_ROWS("of the partition by state (flags follow a plus sign)");
static const struct bj_metric partition_flag_gpus_rows[] =
    NODE_GPUS_ROWS("of the partition that have the flag");
static const struct bj_metric reservation_gpus_rows[] =
    NODE_GPUS_ROWS("in active reservations (empty: in none) by state "
                   "(flags follow a plus sign)");
static const struct bj_metric each_node_gpus_rows[] =
    NODE_GPUS_ROWS("by name and state (flags follow a plus sign)");

#define DIAG(kind, field, name, unit, help)                                    \
    {                                                                          \
        name, kind, unit, offsetof(struct bj_controller_stat, diag.field),     \
            false, help                                                        \
    }
static const struct bj_metric controller_rows[] = {
    DIAG(BJ_GAUGE, since_sec, "counters_start_time", BJ_SEC,
         "Start of the controller's counters in seconds since 1970, usually "
         "midnight UTC."),
    DIAG(BJ_GAUGE, server_threads, "server_threads", BJ_NUMBER,
         "Threads of the controller that serve RPCs."),
    DIAG(BJ_GAUGE, agent_queue, "agent_queue", BJ_NUMBER,
         "Messages the controller has yet to send to nodes."),
    DIAG(BJ_GAUGE, agents, "agents", BJ_NUMBER,
         "Agents of the controller that send messages to nodes."),
    DIAG(BJ_GAUGE, agent_threads, "agent_threads", BJ_NUMBER,
         "Threads of the controller's agents."),
    DIAG(BJ_GAUGE, dbd_queue, "dbd_queue", BJ_NUMBER,
         "Messages the controller has yet to send to the accounting daemon."),
    DIAG(BJ_COUNTER, jobs_submitted, "jobs_submitted", BJ_NUMBER,
         "Jobs submitted since the controller's counters began."),
    DIAG(BJ_COUNTER, jobs_started, "jobs_started", BJ_NUMBER,
         "Jobs started since the controller's counters began."),
    DIAG(BJ_COUNTER, jobs_completed, "jobs_completed", BJ_NUMBER,
         "Jobs completed since the controller's counters began."),
    DIAG(BJ_COUNTER, jobs_cancelled, "jobs_cancelled", BJ_NUMBER,
         "Jobs cancelled since the controller's counters began."),
    DIAG(BJ_COUNTER, jobs_failed, "jobs_failed", BJ_NUMBER,
         "Jobs failed since the controller's counters began."),
    DIAG(BJ_COUNTER, cycles, "schedule_cycles", BJ_NUMBER,
         "Cycles of the main scheduler."),
    DIAG(BJ_GAUGE, cycle_last_usec, "schedule_cycle_last", BJ_USEC,
         "Duration of the main scheduler's last cycle, in seconds."),
    DIAG(BJ_GAUGE, cycle_max_usec, "schedule_cycle_max", BJ_USEC,
         "Duration of the main scheduler's longest cycle, in seconds."),
    DIAG(BJ_GAUGE, cycle_mean_usec, "schedule_cycle_mean", BJ_USEC,
         "Average duration of the main scheduler's cycles, in seconds."),
    DIAG(BJ_GAUGE, depth_mean, "schedule_depth_mean", BJ_NUMBER,
         "Average number of jobs the main scheduler considered in a cycle."),
    DIAG(BJ_GAUGE, queue_length, "schedule_queue_length", BJ_NUMBER,
         "Jobs in the main scheduler's queue at its last cycle."),
    DIAG(BJ_GAUGE, cycles_per_min, "schedule_cycles_per_minute", BJ_NUMBER,
         "Cycles of the main scheduler per minute since the counters began."),
    DIAG(BJ_COUNTER, bf_jobs, "backfill_jobs", BJ_NUMBER,
         "Jobs started by backfill since the controller started."),
    DIAG(BJ_GAUGE, bf_jobs_cycle, "backfill_jobs_since_reset", BJ_NUMBER,
         "Jobs started by backfill since the controller's counters began."),
    DIAG(BJ_COUNTER, bf_het_jobs, "backfill_het_components", BJ_NUMBER,
         "Components of heterogeneous jobs started by backfill."),
    DIAG(BJ_COUNTER, bf_cycles, "backfill_cycles", BJ_NUMBER,
         "Cycles of the backfill scheduler."),
    DIAG(BJ_GAUGE, bf_last_sec, "backfill_last_time", BJ_SEC,
         "Time of backfill's last cycle in seconds since 1970."),
    DIAG(BJ_GAUGE, bf_last_usec, "backfill_cycle_last", BJ_USEC,
         "Duration of backfill's last cycle, in seconds."),
    DIAG(BJ_GAUGE, bf_max_usec, "backfill_cycle_max", BJ_USEC,
         "Duration of backfill's longest cycle, in seconds."),
    DIAG(BJ_GAUGE, bf_mean_usec, "backfill_cycle_mean", BJ_USEC,
         "Average duration of backfill's cycles, in seconds."),
    DIAG(BJ_GAUGE, bf_depth, "backfill_depth", BJ_NUMBER,
         "Jobs that backfill considered in its last cycle."),
    DIAG(BJ_GAUGE, bf_depth_try, "backfill_depth_tried", BJ_NUMBER,
         "Jobs that backfill tried to start in its last cycle."),
    DIAG(BJ_GAUGE, bf_depth_mean, "backfill_depth_mean", BJ_NUMBER,
         "Average number of jobs that backfill considered in a cycle."),
    DIAG(BJ_GAUGE, bf_depth_try_mean, "backfill_depth_tried_mean", BJ_NUMBER,
         "Average number of jobs that backfill tried to start in a cycle."),
    DIAG(BJ_GAUGE, bf_queue, "backfill_queue_length", BJ_NUMBER,
         "Jobs in backfill's queue at its last cycle."),
    DIAG(BJ_GAUGE, bf_queue_mean, "backfill_queue_length_mean", BJ_NUMBER,
         "Average number of jobs in backfill's queue."),
    DIAG(BJ_GAUGE, bf_table, "backfill_table", BJ_NUMBER,
         "Time slots that backfill considered in its last cycle."),
    DIAG(BJ_GAUGE, bf_table_mean, "backfill_table_mean", BJ_NUMBER,
         "Average number of time slots that backfill considered in a cycle."),
};
static const struct bj_metric rpc_type_rows[] = {
    COUNTER(bj_rpc_stat, count, "calls", BJ_NUMBER,
            "RPCs served by the controller, by type."),
    COUNTER(bj_rpc_stat, total_usec, "time", BJ_USEC,
            "Time the controller spent on RPCs, by type, in seconds."),
};
static const struct bj_metric rpc_user_rows[] = {
    COUNTER(bj_rpc_stat, count, "calls", BJ_NUMBER,
            "RPCs served by the controller, by user."),
    COUNTER(bj_rpc_stat, total_usec, "time", BJ_USEC,
            "Time the controller spent on RPCs, by user, in seconds."),
};
static const struct bj_metric license_rows[] = {
    GAUGE(bj_license_stat, total, "", BJ_NUMBER,
          "Licenses that the scheduler manages."),
    GAUGE(bj_license_stat, used, "used", BJ_NUMBER, "Licenses in use by jobs."),
    GAUGE(bj_license_stat, free, "free", BJ_NUMBER,
          "Licenses available to jobs."),
    GAUGE(bj_license_stat, reserved, "reserved", BJ_NUMBER,
          "Licenses in reservations."),
};
static const struct bj_metric reservation_rows[] = {
    GAUGE(bj_reservation_stat, active, "active", BJ_NUMBER,
          "Whether the reservation is active: 1 yes, 0 no."),
    GAUGE(bj_reservation_stat, start_sec, "start_time", BJ_SEC,
          "Start of the reservation in seconds since 1970."),
    GAUGE(bj_reservation_stat, end_sec, "end_time", BJ_SEC,
          "End of the reservation in seconds since 1970."),
    GAUGE(bj_reservation_stat, nodes, "reserved_nodes", BJ_NUMBER,
          "Nodes of the reservation, as the scheduler counts them."),
    GAUGE(bj_reservation_stat, cores, "reserved_cores", BJ_NUMBER,
          "CPU cores of the reservation."),
};
static const struct bj_metric share_rows[] = {
    GAUGE(bj_share_stat, shares, "", BJ_NUMBER,
          "Configured shares of an account, or of a user in an account."),
    GAUGE(
        bj_share_stat, usage, "usage", BJ_SEC,
        "Decayed usage of an account or user, in billing units times seconds."),
    GAUGE(bj_share_stat, norm_ppm, "norm", BJ_PPM,
          "Shares of an account or user as a fraction of the whole tree."),
    GAUGE(bj_share_stat, used_ppm, "usage_effective", BJ_PPM,
          "Usage of an account or user as a fraction of the whole tree."),
    GAUGE(bj_share_stat, fairshare_ppm, "fairshare", BJ_PPM,
          "Fair-share factor of a user in an account; 1 is best."),
    GAUGE(
        bj_share_stat, level_ppm, "fairshare_level", BJ_PPM,
        "Shares of an account or user divided by its usage, both relative to "
        "the others of the same parent; over 1: it used less than its share."),
};
static const struct bj_metric limit_rows[] = {
    GAUGE(bj_limit_stat, jobs, "jobs", BJ_NUMBER,
          "Limit of running jobs of an association."),
    GAUGE(bj_limit_stat, submit, "submitted_jobs", BJ_NUMBER,
          "Limit of pending and running jobs of an association."),
    GAUGE(bj_limit_stat, cpus, "cpus", BJ_NUMBER,
          "Limit of CPUs for all jobs of an association together."),
    GAUGE(bj_limit_stat, nodes, "nodes", BJ_NUMBER,
          "Limit of nodes for all jobs of an association together."),
    GAUGE(bj_limit_stat, mem_bytes, "memory", BJ_BYTES,
          "Limit of memory for all jobs of an association together, in bytes."),
    GAUGE(bj_limit_stat, gpus, "gpus", BJ_NUMBER,
          "Limit of GPUs for all jobs of an association together."),
    GAUGE(bj_limit_stat, max_jobs, "user_jobs", BJ_NUMBER,
          "Limit of running jobs for each user of an association."),
    GAUGE(bj_limit_stat, max_submit, "user_submitted_jobs", BJ_NUMBER,
          "Limit of pending and running jobs for each user of an association."),
    GAUGE(bj_limit_stat, max_cpus, "job_cpus", BJ_NUMBER,
          "Limit of CPUs for each job of an association."),
    GAUGE(bj_limit_stat, max_nodes, "job_nodes", BJ_NUMBER,
          "Limit of nodes for each job of an association."),
    GAUGE(bj_limit_stat, max_mem_bytes, "job_memory", BJ_BYTES,
          "Limit of memory for each job of an association, in bytes."),
    GAUGE(bj_limit_stat, max_gpus, "job_gpus", BJ_NUMBER,
          "Limit of GPUs for each job of an association."),
};
static const struct bj_metric partition_rows[] = {
    GAUGE(bj_partition_stat, enabled, "enabled", BJ_NUMBER,
          "Whether the partition accepts jobs: 1 yes, 0 no. Only of PBS."),
    GAUGE(bj_partition_stat, started, "started", BJ_NUMBER,
          "Whether waiting jobs of the partition may start: 1 yes, 0 no. Only "
          "of PBS."),
};
static const struct bj_metric gpu_type_rows[] = {
    GAUGE(
        bj_gpu_type_stat, gpus, "gpus", BJ_NUMBER,
        "GPUs of the cluster by type (empty: untyped), on nodes in any state."),
    GAUGE(bj_gpu_type_stat, nodes, "nodes", BJ_NUMBER,
          "Nodes that have GPUs of the type."),
};
static const struct bj_metric node_reason_rows[] = {
    GAUGE(bj_node_text_stat, one, "info", BJ_NUMBER,
          "Reason of the state of the node, and who set it, as labels; the "
          "value is always 1."),
};
static const struct bj_metric node_state_rows[] = {
    GAUGE(bj_node_text_stat, one, "info", BJ_NUMBER,
          "State of the node as the scheduler writes it, as a label; the value "
          "is always 1."),
};
static const struct bj_metric constant_rows[] = {
    GAUGE(bj_constant_stat, micro, "", BJ_MICRO,
          "Number defined by the site in the file cluster.constants."),
    GAUGE(bj_constant_stat, period_sec, "period", BJ_SEC,
          "Period that a number of the site applies to, in seconds, such as "
          "the year of a yearly allocation; absent without one."),
};
static const struct bj_metric source_rows[] = {
    GAUGE(bj_source_stat, success, "success", BJ_NUMBER,
          "Whether the last request to the scheduler succeeded: 1 yes, 0 no."),
    GAUGE(bj_source_stat, age_usec, "age", BJ_USEC,
          "Age of the scheduler's newest reply, in seconds."),
    GAUGE(bj_source_stat, duration_usec, "duration", BJ_USEC,
          "Duration of the last request to the scheduler, in seconds."),
    COUNTER(bj_source_stat, runs, "runs", BJ_NUMBER,
            "Requests to the scheduler."),
    COUNTER(bj_source_stat, bad_lines, "bad_lines", BJ_NUMBER,
            "Lines of the scheduler's replies that could not be parsed and "
            "were left out."),
    GAUGE(bj_source_stat, refused, "refused", BJ_NUMBER,
          "Series of the last reply beyond cluster.max-series: summed up as "
          "(other), or left out."),
};
static const struct bj_metric source_error_rows[] = {
    COUNTER(bj_count_stat, count, "", BJ_NUMBER,
            "Failed requests to the scheduler by kind of error."),
};

#define CLUSTER3(name, index, record, label, label2, label3, r)                \
    {                                                                          \
        name, BJ_OF_SNAP, true,                                                \
            offsetof(struct bj_snap, cluster_lists.list[index]),               \
            sizeof(struct record), {label, label2, label3}, NULL, ROWS(r),     \
            false                                                              \
    }
#define CLUSTER_JOBS(name, index, label, label2, r)                            \
    CLUSTER3(name, index, bj_jobs_stat, label, label2, NULL, r)
#define CLUSTER_NODES(name, index, label, label2, label3, r)                   \
    CLUSTER3(name, index, bj_nodes_stat, label, label2, label3, r)
#define CLUSTER_GPUS(name, index, label, label2, label3, r)                    \
    CLUSTER3(name, index, bj_gpus_stat, label, label2, label3, r)

#define CLUSTER_TABLES                                                         \
    CLUSTER_JOBS("cluster_jobs", BJ_CL_JOBS, "state", NULL,                    \
                 cluster_jobs_rows),                                           \
        CLUSTER3("cluster_jobs_gpus", BJ_CL_JOBS_GPUS, bj_count_stat, "state", \
                 "type", NULL, jobs_gpus_rows),                                \
        CLUSTER_JOBS("partition_jobs", BJ_CL_PARTITION_JOBS, "partition",      \
                     "state", partition_jobs_rows),                            \
        CLUSTER3("partition_jobs_gpus", BJ_CL_PARTITION_JOBS_GPUS,             \
                 bj_count_stat, "partition", "state", "type",                  \
                 partition_jobs_gpus_rows),                                    \
        CLUSTER_JOBS("cluster_user_jobs", BJ_CL_USER_JOBS, "user", "state",    \
                     user_jobs_rows),                                          \
        CLUSTER_JOBS("cluster_account_jobs", BJ_CL_ACCOUNT_JOBS, "account",    \
                     "state", account_jobs_rows),                              \
        CLUSTER_JOBS("cluster_qos_jobs", BJ_CL_QOS_JOBS, "qos", "state",       \
                     qos_jobs_rows),                                           \
        CLUSTER_JOBS("cluster_host_jobs", BJ_CL_HOST_JOBS, "submit_host",      \
                     "state", host_jobs_rows),                                 \
        CLUSTER_JOBS("reservation_jobs", BJ_CL_RESERVATION_JOBS,               \
                     "reservation", "state", reservation_jobs_rows),           \
        CLUSTER_JOBS("cluster_feature_jobs", BJ_CL_FEATURE_JOBS, "feature",    \
                     "state", feature_jobs_rows),                              \
        CLUSTER_JOBS("cluster_pending", BJ_CL_PENDING, "reason", NULL,         \
                     pending_rows),                                            \
        CLUSTER_JOBS("partition_pending", BJ_CL_PARTITION_PENDING,             \
                     "partition", "reason", partition_pending_rows),           \
        CLUSTER_NODES("cluster", BJ_CL_NODES, "state", "flags", NULL,          \
                      cluster_nodes_rows),                                     \
        CLUSTER_GPUS("cluster_gpus", BJ_CL_GPUS, "state", "flags", "type",     \
                     cluster_gpus_rows),                                       \
        CLUSTER_NODES("cluster_flag", BJ_CL_FLAGS, "flag", NULL, NULL,         \
                      cluster_flag_rows),                                      \
        CLUSTER_GPUS("cluster_flag_gpus", BJ_CL_FLAG_GPUS, "flag", "type",     \
                     NULL, cluster_flag_gpus_rows),                            \
        CLUSTER_NODES("partition", BJ_CL_PARTITION_NODES, "partition",         \
                      "state", "flags", partition_nodes_rows),                 \
        CLUSTER_GPUS("partition_gpus", BJ_CL_PARTITION_GPUS, "partition",      \
                     "state", "type", partition_gpus_rows),                    \
        CLUSTER_NODES("partition_flag", BJ_CL_PARTITION_FLAGS, "partition",    \
                      "flag", NULL, partition_flag_rows),                      \
        CLUSTER_GPUS("partition_flag_gpus", BJ_CL_PARTITION_FLAG_GPUS,         \
                     "partition", "flag", "type", partition_flag_gpus_rows),   \
        CLUSTER_NODES("reservation", BJ_CL_RESERVATION_NODES, "reservation",   \
                      "state", "flags", reservation_nodes_rows),               \
        CLUSTER_GPUS("reservation_gpus", BJ_CL_RESERVATION_GPUS,               \
                     "reservation", "state", "type", reservation_gpus_rows),   \
        CLUSTER3("reservation", BJ_CL_RESERVATIONS, bj_reservation_stat,       \
                 "reservation", NULL, NULL, reservation_rows),                 \
        CLUSTER_NODES("cluster_reason", BJ_CL_REASONS, "reason", "state",      \
                      "flags", reason_nodes_rows),                             \
        CLUSTER_NODES("cluster_node", BJ_CL_EACH_NODE, "node", "state",        \
                      "flags", each_node_rows),                                \
        CLUSTER_GPUS("cluster_node_gpus", BJ_CL_EACH_NODE_GPUS, "node",        \
                     "state", "type", each_node_gpus_rows),                    \
        CLUSTER3("cluster_gpu_type", BJ_CL_GPU_TYPES, bj_gpu_type_stat,        \
                 "type", NULL, NULL, gpu_type_rows),                           \
        CLUSTER3("cluster_node_state", BJ_CL_NODE_STATES, bj_node_text_stat,   \
                 "node", "state_raw", NULL, node_state_rows),                  \
        CLUSTER3("cluster_reason_node", BJ_CL_NODE_REASONS, bj_node_text_stat, \
                 "node", "set_by", "reason", node_reason_rows),                \
        CLUSTER3("cluster_controller", BJ_CL_CONTROLLER, bj_controller_stat,   \
                 NULL, NULL, NULL, controller_rows),                           \
        CLUSTER3("cluster_rpc", BJ_CL_RPC_TYPES, bj_rpc_stat, "rpc", NULL,     \
                 NULL, rpc_type_rows),                                         \
        CLUSTER3("cluster_user_rpc", BJ_CL_RPC_USERS, bj_rpc_stat, "user",     \
                 NULL, NULL, rpc_user_rows),                                   \
        CLUSTER3("cluster_licenses", BJ_CL_LICENSES, bj_license_stat,          \
                 "license", NULL, NULL, license_rows),                         \
        CLUSTER3("cluster_shares", BJ_CL_SHARES, bj_share_stat, "account",     \
                 "user", NULL, share_rows),                                    \
        CLUSTER3("cluster_limit", BJ_CL_LIMITS, bj_limit_stat, "account",      \
                 "user", "partition", limit_rows),                             \
        CLUSTER3("partition", BJ_CL_PARTITIONS, bj_partition_stat,             \
                 "partition", NULL, NULL, partition_rows),                     \
        CLUSTER3("cluster_constant", BJ_CL_CONSTANTS, bj_constant_stat,        \
                 "name", NULL, NULL, constant_rows),                           \
        CLUSTER3("cluster_source", BJ_CL_SOURCES, bj_source_stat, "source",    \
                 NULL, NULL, source_rows),                                     \
        CLUSTER3("cluster_source_errors", BJ_CL_SOURCE_ERRORS, bj_count_stat,  \
                 "source", "kind", NULL, source_error_rows)

#endif
