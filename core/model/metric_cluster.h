/* The tables of the cluster: a piece of core/model/metric.c, and included by
 * nothing else. */
#ifndef BJ_CORE_MODEL_METRIC_CLUSTER_H
#define BJ_CORE_MODEL_METRIC_CLUSTER_H

#include "core/core.h"
#include "core/model/metric_rows.h"

/* Jobs that have something in common. */
#define JOBS_STAT_ROWS(noun)                                                   \
    GAUGE(bj_jobs_stat, jobs, "", BJ_NUMBER,                                   \
          noun " that the scheduler knows of, each task of an array counted; " \
               "ended ones for as long as it remembers them."),                \
        GAUGE(bj_jobs_stat, cpus, "cpus", BJ_NUMBER,                           \
              "CPUs of these " noun                                            \
              ": allocated, or asked for while pending."),                     \
        GAUGE(bj_jobs_stat, nodes, "nodes", BJ_NUMBER,                         \
              "Nodes of these " noun                                           \
              ", shared ones counted for each job: allocated, or asked for "   \
              "while pending."),                                               \
        GAUGE(bj_jobs_stat, mem_bytes, "memory", BJ_BYTES,                     \
              "Memory of these " noun                                          \
              ": allocated, or asked for while pending.")
#define GPUS_STAT_ROW(noun)                                                    \
    GAUGE(bj_jobs_stat, gpus, "gpus", BJ_NUMBER,                               \
          "GPUs of these " noun                                                \
          ": allocated, or asked for while pending; only where gres/gpu is a " \
          "tracked resource.")
#define WAIT_STAT_ROWS(noun)                                                   \
    GAUGE(bj_jobs_stat, wait_sec, "wait", BJ_SEC,                              \
          "Time since these " noun " were submitted, summed up."),             \
        GAUGE(bj_jobs_stat, wait_max_sec, "wait_max", BJ_SEC,                  \
              "Time since the oldest of these " noun " was submitted.")

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
    JOBS_STAT_ROWS("jobs in the reservation; empty: in none,"),
    GPUS_STAT_ROW("jobs in the reservation; empty: in none,"),
    WAIT_STAT_ROWS("pending jobs in the reservation; empty: in none,")};
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
          "GPUs of jobs by type (empty: the jobs named none): allocated, or "
          "asked for while pending."),
};
static const struct bj_metric partition_jobs_gpus_rows[] = {
    GAUGE(bj_count_stat, count, "", BJ_NUMBER,
          "GPUs of the partition's jobs by type (empty: the jobs named none): "
          "allocated, or asked for while pending."),
};

/* Nodes that have something in common; where: "of the cluster by base state
 * and flags". */
#define NODES_STAT_ROWS(where)                                                 \
    {                                                                          \
        GAUGE(bj_nodes_stat, nodes, "nodes", BJ_NUMBER, "Nodes " where "."),   \
            GAUGE(bj_nodes_stat, cpus, "cpus", BJ_NUMBER,                      \
                  "CPUs of the nodes " where                                   \
                  "; allocated, idle and other ones together."),               \
            GAUGE(bj_nodes_stat, cpus_allocated, "cpus_allocated", BJ_NUMBER,  \
                  "CPUs of the nodes " where ", allocated to jobs."),          \
            GAUGE(bj_nodes_stat, cpus_idle, "cpus_idle", BJ_NUMBER,            \
                  "CPUs of the nodes " where ", free for jobs."),              \
            GAUGE(bj_nodes_stat, cpus_other, "cpus_other", BJ_NUMBER,          \
                  "CPUs of the nodes " where                                   \
                  ", not allocated and not to be had."),                       \
            GAUGE(bj_nodes_stat, mem_bytes, "memory", BJ_BYTES,                \
                  "Memory of the nodes " where ", as configured."),            \
            GAUGE(bj_nodes_stat, mem_allocated_bytes, "memory_allocated",      \
                  BJ_BYTES,                                                    \
                  "Memory of the nodes " where ", allocated to jobs."),        \
            GAUGE(bj_nodes_stat, mem_free_bytes, "memory_free", BJ_BYTES,      \
                  "Memory of the nodes " where                                 \
                  ", unused as their systems say."),                           \
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
    NODES_STAT_ROWS("by the reason that was noted for their state");
static const struct bj_metric each_node_rows[] =
    NODES_STAT_ROWS("one by one, with base state and flags");

#define NODE_GPUS_ROWS(where)                                                  \
    {                                                                          \
        GAUGE(bj_gpus_stat, gpus, "", BJ_NUMBER,                               \
              "GPUs by type (empty: untyped) of the nodes " where              \
              "; allocated, idle, blocked and other ones together."),          \
            GAUGE(bj_gpus_stat, allocated, "allocated", BJ_NUMBER,             \
                  "GPUs of the nodes " where ", allocated to jobs."),          \
            GAUGE(bj_gpus_stat, idle, "idle", BJ_NUMBER,                       \
                  "GPUs of the nodes " where ", free for jobs."),              \
            GAUGE(                                                             \
                bj_gpus_stat, blocked, "blocked", BJ_NUMBER,                   \
                "GPUs of the nodes " where                                     \
                ", free, but fewer than cluster.gpu-idle-cpus CPUs of their "  \
                "node are."),                                                  \
            GAUGE(bj_gpus_stat, other, "other", BJ_NUMBER,                     \
                  "GPUs of the nodes " where                                   \
                  ", not allocated, on nodes that take no jobs now."),         \
    }
static const struct bj_metric cluster_gpus_rows[] =
    NODE_GPUS_ROWS("of the cluster by base state and flags");
static const struct bj_metric cluster_flag_gpus_rows[] =
    NODE_GPUS_ROWS("of the cluster that have the flag");
static const struct bj_metric partition_gpus_rows[] =
    NODE_GPUS_ROWS("of the partition by state, flags behind a plus");
static const struct bj_metric partition_flag_gpus_rows[] =
    NODE_GPUS_ROWS("of the partition that have the flag");
static const struct bj_metric reservation_gpus_rows[] =
    NODE_GPUS_ROWS("in active reservations (empty: in none) by state, flags "
                   "behind a plus");
static const struct bj_metric each_node_gpus_rows[] =
    NODE_GPUS_ROWS("one by one, by state, flags behind a plus");

#define DIAG(kind, field, name, unit, help)                                    \
    {                                                                          \
        name, kind, unit, offsetof(struct bj_controller_stat, diag.field),     \
            false, help                                                        \
    }
static const struct bj_metric controller_rows[] = {
    DIAG(BJ_GAUGE, since_sec, "counters_start_time", BJ_SEC,
         "When the controller's counters began, as a rule at midnight UTC."),
    DIAG(BJ_GAUGE, server_threads, "server_threads", BJ_NUMBER,
         "Threads of the controller that serve calls."),
    DIAG(BJ_GAUGE, agent_queue, "agent_queue", BJ_NUMBER,
         "Messages that the controller has yet to send to nodes."),
    DIAG(BJ_GAUGE, agents, "agents", BJ_NUMBER,
         "Agents of the controller that send messages."),
    DIAG(BJ_GAUGE, agent_threads, "agent_threads", BJ_NUMBER,
         "Threads of these agents."),
    DIAG(BJ_GAUGE, dbd_queue, "dbd_queue", BJ_NUMBER,
         "Messages that the controller has yet to send to the accounting "
         "daemon."),
    DIAG(BJ_COUNTER, jobs_submitted, "jobs_submitted", BJ_NUMBER,
         "Jobs submitted."),
    DIAG(BJ_COUNTER, jobs_started, "jobs_started", BJ_NUMBER, "Jobs started."),
    DIAG(BJ_COUNTER, jobs_completed, "jobs_completed", BJ_NUMBER,
         "Jobs completed."),
    DIAG(BJ_COUNTER, jobs_cancelled, "jobs_cancelled", BJ_NUMBER,
         "Jobs cancelled."),
    DIAG(BJ_COUNTER, jobs_failed, "jobs_failed", BJ_NUMBER, "Jobs failed."),
    DIAG(BJ_COUNTER, cycles, "schedule_cycles", BJ_NUMBER,
         "Cycles of the main scheduler."),
    DIAG(BJ_GAUGE, cycle_last_usec, "schedule_cycle_last", BJ_USEC,
         "Time that the main scheduler's last cycle took."),
    DIAG(BJ_GAUGE, cycle_max_usec, "schedule_cycle_max", BJ_USEC,
         "Time that the main scheduler's longest cycle took."),
    DIAG(BJ_GAUGE, cycle_mean_usec, "schedule_cycle_mean", BJ_USEC,
         "Time that the main scheduler's cycles took on average."),
    DIAG(BJ_GAUGE, depth_mean, "schedule_depth_mean", BJ_NUMBER,
         "Jobs that the main scheduler looked at in a cycle, on average."),
    DIAG(BJ_GAUGE, queue_length, "schedule_queue_length", BJ_NUMBER,
         "Jobs in the main scheduler's queue at its last cycle."),
    DIAG(BJ_GAUGE, cycles_per_min, "schedule_cycles_per_minute", BJ_NUMBER,
         "Cycles of the main scheduler in a minute, since the counters began."),
    DIAG(BJ_COUNTER, bf_jobs, "backfill_jobs", BJ_NUMBER,
         "Jobs started by backfill since the controller started."),
    DIAG(BJ_GAUGE, bf_jobs_cycle, "backfill_jobs_since_reset", BJ_NUMBER,
         "Jobs started by backfill since the controller's counters began."),
    DIAG(BJ_COUNTER, bf_het_jobs, "backfill_het_components", BJ_NUMBER,
         "Components of heterogeneous jobs started by backfill."),
    DIAG(BJ_COUNTER, bf_cycles, "backfill_cycles", BJ_NUMBER,
         "Cycles of the backfill scheduler."),
    DIAG(BJ_GAUGE, bf_last_sec, "backfill_last_time", BJ_SEC,
         "When backfill's last cycle was."),
    DIAG(BJ_GAUGE, bf_last_usec, "backfill_cycle_last", BJ_USEC,
         "Time that backfill's last cycle took."),
    DIAG(BJ_GAUGE, bf_max_usec, "backfill_cycle_max", BJ_USEC,
         "Time that backfill's longest cycle took."),
    DIAG(BJ_GAUGE, bf_mean_usec, "backfill_cycle_mean", BJ_USEC,
         "Time that backfill's cycles took on average."),
    DIAG(BJ_GAUGE, bf_depth, "backfill_depth", BJ_NUMBER,
         "Jobs that backfill looked at in its last cycle."),
    DIAG(BJ_GAUGE, bf_depth_try, "backfill_depth_tried", BJ_NUMBER,
         "Jobs that backfill tried to start in its last cycle."),
    DIAG(BJ_GAUGE, bf_depth_mean, "backfill_depth_mean", BJ_NUMBER,
         "Jobs that backfill looked at in a cycle, on average."),
    DIAG(BJ_GAUGE, bf_depth_try_mean, "backfill_depth_tried_mean", BJ_NUMBER,
         "Jobs that backfill tried to start in a cycle, on average."),
    DIAG(BJ_GAUGE, bf_queue, "backfill_queue_length", BJ_NUMBER,
         "Jobs in backfill's queue at its last cycle."),
    DIAG(BJ_GAUGE, bf_queue_mean, "backfill_queue_length_mean", BJ_NUMBER,
         "Jobs in backfill's queue, on average."),
    DIAG(BJ_GAUGE, bf_table, "backfill_table", BJ_NUMBER,
         "Time slots that backfill looked at in its last cycle."),
    DIAG(BJ_GAUGE, bf_table_mean, "backfill_table_mean", BJ_NUMBER,
         "Time slots that backfill looked at in a cycle, on average."),
};
static const struct bj_metric rpc_type_rows[] = {
    COUNTER(bj_rpc_stat, count, "calls", BJ_NUMBER,
            "Calls of the controller by kind."),
    COUNTER(bj_rpc_stat, total_usec, "time", BJ_USEC,
            "Time that calls of the controller took by kind."),
};
static const struct bj_metric rpc_user_rows[] = {
    COUNTER(bj_rpc_stat, count, "calls", BJ_NUMBER,
            "Calls of the controller by user."),
    COUNTER(bj_rpc_stat, total_usec, "time", BJ_USEC,
            "Time that calls of the controller took by user."),
};
static const struct bj_metric license_rows[] = {
    GAUGE(bj_license_stat, total, "", BJ_NUMBER,
          "Licences that the scheduler hands out."),
    GAUGE(bj_license_stat, used, "used", BJ_NUMBER, "Licences that jobs have."),
    GAUGE(bj_license_stat, free, "free", BJ_NUMBER, "Licences that are free."),
    GAUGE(bj_license_stat, reserved, "reserved", BJ_NUMBER,
          "Licences that are in reservations."),
};
static const struct bj_metric reservation_rows[] = {
    GAUGE(bj_reservation_stat, active, "active", BJ_NUMBER,
          "1 while the reservation is in force."),
    GAUGE(bj_reservation_stat, start_sec, "start_time", BJ_SEC,
          "Begin of the reservation."),
    GAUGE(bj_reservation_stat, end_sec, "end_time", BJ_SEC,
          "End of the reservation."),
    GAUGE(bj_reservation_stat, nodes, "reserved_nodes", BJ_NUMBER,
          "Nodes that the reservation has, as the scheduler counts them."),
    GAUGE(bj_reservation_stat, cores, "reserved_cores", BJ_NUMBER,
          "CPU cores that the reservation has."),
};
static const struct bj_metric share_rows[] = {
    GAUGE(bj_share_stat, shares, "", BJ_NUMBER,
          "Shares of an account, or of a user in it, as configured."),
    GAUGE(bj_share_stat, usage, "usage", BJ_SEC,
          "Usage of an account or user, decayed: billing units times "
          "seconds."),
    GAUGE(bj_share_stat, norm_ppm, "norm", BJ_PPM,
          "Shares of an account or user, as a part of the whole tree."),
    GAUGE(bj_share_stat, used_ppm, "usage_effective", BJ_PPM,
          "Usage of an account or user, as a part of the whole tree."),
    GAUGE(bj_share_stat, fairshare_ppm, "fairshare", BJ_PPM,
          "Fair-share factor of a user in an account; 1 is best."),
};
static const struct bj_metric limit_rows[] = {
    GAUGE(bj_limit_stat, jobs, "jobs", BJ_NUMBER,
          "Jobs of an association that may run at a time."),
    GAUGE(bj_limit_stat, submit, "submitted_jobs", BJ_NUMBER,
          "Jobs of an association that may be in the queue or run."),
    GAUGE(bj_limit_stat, cpus, "cpus", BJ_NUMBER,
          "CPUs that an association's jobs together may have."),
    GAUGE(bj_limit_stat, nodes, "nodes", BJ_NUMBER,
          "Nodes that an association's jobs together may have."),
    GAUGE(bj_limit_stat, mem_bytes, "memory", BJ_BYTES,
          "Memory that an association's jobs together may have."),
    GAUGE(bj_limit_stat, gpus, "gpus", BJ_NUMBER,
          "GPUs that an association's jobs together may have."),
    GAUGE(bj_limit_stat, max_jobs, "user_jobs", BJ_NUMBER,
          "Jobs that each user of an association may run at a time."),
    GAUGE(bj_limit_stat, max_submit, "user_submitted_jobs", BJ_NUMBER,
          "Jobs that each user of an association may have in the queue or "
          "run."),
    GAUGE(bj_limit_stat, max_cpus, "job_cpus", BJ_NUMBER,
          "CPUs that a job of an association may have."),
    GAUGE(bj_limit_stat, max_nodes, "job_nodes", BJ_NUMBER,
          "Nodes that a job of an association may have."),
    GAUGE(bj_limit_stat, max_mem_bytes, "job_memory", BJ_BYTES,
          "Memory that a job of an association may have."),
    GAUGE(bj_limit_stat, max_gpus, "job_gpus", BJ_NUMBER,
          "GPUs that a job of an association may have."),
};
static const struct bj_metric gpu_type_rows[] = {
    GAUGE(bj_gpu_type_stat, gpus, "gpus", BJ_NUMBER,
          "GPUs of the type (empty: of none) that the cluster has, whatever "
          "state they are in."),
    GAUGE(bj_gpu_type_stat, nodes, "nodes", BJ_NUMBER,
          "Nodes that have GPUs of the type."),
};
static const struct bj_metric node_state_rows[] = {
    GAUGE(bj_node_state_stat, one, "info", BJ_NUMBER,
          "1; the state of the node in the words of the scheduler."),
};
static const struct bj_metric constant_rows[] = {
    GAUGE(bj_constant_stat, micro, "", BJ_MICRO,
          "A number of the site's own, from the file cluster.constants."),
    GAUGE(bj_constant_stat, period_sec, "period", BJ_SEC,
          "Time that a number of the site's own is for, such as the year of a "
          "yearly allocation; only of those that have one."),
};
static const struct bj_metric source_rows[] = {
    GAUGE(bj_source_stat, success, "success", BJ_NUMBER,
          "1 when the scheduler's command worked the last time."),
    GAUGE(bj_source_stat, age_usec, "age", BJ_USEC,
          "Age of its newest answer."),
    GAUGE(bj_source_stat, duration_usec, "duration", BJ_USEC,
          "Time that it took the last time."),
    COUNTER(bj_source_stat, runs, "runs", BJ_NUMBER, "Times that it was run."),
    COUNTER(bj_source_stat, bad_lines, "bad_lines", BJ_NUMBER,
            "Lines of its answers that were not understood, and left out."),
    GAUGE(bj_source_stat, refused, "refused", BJ_NUMBER,
          "Series of its last answer for which there was no room "
          "(cluster.max-series): summed up as (other), or left out."),
};
static const struct bj_metric source_error_rows[] = {
    COUNTER(bj_count_stat, count, "", BJ_NUMBER,
            "Failures of the scheduler's commands by kind."),
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
        CLUSTER3("cluster_node_state", BJ_CL_NODE_STATES, bj_node_state_stat,  \
                 "node", "state_raw", NULL, node_state_rows),                  \
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
        CLUSTER3("cluster_constant", BJ_CL_CONSTANTS, bj_constant_stat,        \
                 "name", NULL, NULL, constant_rows),                           \
        CLUSTER3("cluster_source", BJ_CL_SOURCES, bj_source_stat, "source",    \
                 NULL, NULL, source_rows),                                     \
        CLUSTER3("cluster_source_errors", BJ_CL_SOURCE_ERRORS, bj_count_stat,  \
                 "source", "kind", NULL, source_error_rows)

#endif
