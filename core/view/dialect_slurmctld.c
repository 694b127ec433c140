/* The names of two exporters of a whole Slurm: slurmctld's own endpoint, which
 * Slurm has since 25.11, and SlinkyProject's slurm-exporter, from which its
 * names come. */
#include "core/view/dialect_cluster.h"
#include "sched/sinfo.h"

#define ROW(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED("slurm_" text_name, BJ_GAUGE, text), __VA_ARGS__              \
    }

/* --- states of jobs ------------------------------------------------------- */

/* squeue shows one word for the state and the flags of a job: a flag's word
 * stands for the states that can have it. */
#define WORD(word)                                                             \
    {                                                                          \
        word, word                                                             \
    }
#define WORDS_PENDING                                                          \
    WORD("PENDING"), WORD("REQUEUED"), WORD("REQUEUE_HOLD"),                   \
        WORD("REQUEUE_FED"), WORD("SPECIAL_EXIT")
#define WORDS_RUNNING                                                          \
    WORD("RUNNING"), WORD("CONFIGURING"), WORD("EXPEDITING"),                  \
        WORD("POWER_UP_NODE"), WORD("RESIZING"), WORD("SIGNALING")
#define WORDS_FINISHED                                                         \
    WORD("BOOT_FAIL"), WORD("CANCELLED"), WORD("COMPLETED"),                   \
        WORD("COMPLETING"), WORD("DEADLINE"), WORD("FAILED"),                  \
        WORD("NODE_FAIL"), WORD("OUT_OF_MEMORY"), WORD("PREEMPTED"),           \
        WORD("STAGE_OUT"), WORD("TIMEOUT")
#define WORDS_END                                                              \
    {                                                                          \
        NULL, NULL                                                             \
    }
static const struct bj_dialect_word pending[] = {WORDS_PENDING, WORDS_END},
                                    running[] = {WORDS_RUNNING, WORDS_END},
                                    finished[] = {WORDS_FINISHED, WORDS_END};
static const struct bj_dialect_word started[] = {
    WORDS_RUNNING, WORD("SUSPENDED"), WORD("STOPPED"), WORDS_FINISHED,
    WORDS_END};
/* These hold their nodes. */
static const struct bj_dialect_word allocated[] = {
    WORDS_RUNNING, WORD("SUSPENDED"), WORD("STOPPED"), WORD("COMPLETING"),
    WORDS_END};
static const struct bj_dialect_word held[] = {
    WORD("JobHeldUser"), WORD("JobHeldAdmin"), WORD("JobHoldMaxRequeue"),
    WORDS_END};

/* What the rows of all jobs, of users, accounts and partitions differ in: the
 * list, which of its keys is the state, and how a row is exported. */
#define OF_ALL BJ_CL_JOBS, 0, BJ_OR_ZERO(QUEUE)
#define OF_USERS BJ_CL_USER_JOBS, 1, .key = {"username"}, BJ_NOT_ZERO
#define OF_ACCOUNTS BJ_CL_ACCOUNT_JOBS, 1, .key = {"account"}, BJ_NOT_ZERO
#define OF_PARTITIONS                                                          \
    BJ_CL_PARTITION_JOBS, 1, .key = {"partition"}, .split = true, BJ_NOT_ZERO

#define JOBS(text_name, text, field, index, at, ...)                           \
    ROW(text_name, text, BJ_IN_SUMS(index, bj_jobs_stat, field), __VA_ARGS__)
#define STATES(text_name, text, set, field, index, at, ...)                    \
    ROW(text_name, text, BJ_IN_SUMS(index, bj_jobs_stat, field),               \
        .words = (set), .word = (at), .words_only = true, __VA_ARGS__)
#define STATE(text_name, text_state, index, at, ...)                           \
    ROW(text_name, "Jobs in the state " text_state ".",                        \
        BJ_IN_SUMS(index, bj_jobs_stat, jobs), .only[at] = text_state,         \
        __VA_ARGS__)
#define HELD "Jobs that hold their nodes: "
/* In bytes; the original says bytes and means MiB. */
#define MEMORY(text_name, ...)                                                 \
    STATES(text_name, HELD "memory, in bytes.", allocated, mem_bytes,          \
           __VA_ARGS__, BJ_WHEN(RIGHT)),                                       \
        STATES(text_name, HELD "memory, in MiB.", allocated, mem_bytes,        \
               __VA_ARGS__, BJ_UNIT(MIB), BJ_WHEN(STRICT))

#define JOBS_OF_CONTROLLER(prefix, ...)                                        \
    JOBS(prefix "jobs", "Jobs.", jobs, __VA_ARGS__),                           \
        STATE(prefix "jobs_bootfail", "BOOT_FAIL", __VA_ARGS__),               \
        STATE(prefix "jobs_cancelled", "CANCELLED", __VA_ARGS__),              \
        STATE(prefix "jobs_completed", "COMPLETED", __VA_ARGS__),              \
        STATE(prefix "jobs_completing", "COMPLETING", __VA_ARGS__),            \
        STATE(prefix "jobs_configuring", "CONFIGURING", __VA_ARGS__),          \
        STATE(prefix "jobs_deadline", "DEADLINE", __VA_ARGS__),                \
        STATE(prefix "jobs_expediting", "EXPEDITING", __VA_ARGS__),            \
        STATE(prefix "jobs_failed", "FAILED", __VA_ARGS__),                    \
        STATE(prefix "jobs_fed_requeued", "REQUEUE_FED", __VA_ARGS__),         \
        STATE(prefix "jobs_node_failed", "NODE_FAIL", __VA_ARGS__),            \
        STATE(prefix "jobs_outofmemory", "OUT_OF_MEMORY", __VA_ARGS__),        \
        STATE(prefix "jobs_powerup_node", "POWER_UP_NODE", __VA_ARGS__),       \
        STATE(prefix "jobs_preempted", "PREEMPTED", __VA_ARGS__),              \
        STATE(prefix "jobs_requeued", "REQUEUED", __VA_ARGS__),                \
        STATE(prefix "jobs_resizing", "RESIZING", __VA_ARGS__),                \
        STATE(prefix "jobs_revoked", "REVOKED", __VA_ARGS__),                  \
        STATE(prefix "jobs_signaling", "SIGNALING", __VA_ARGS__),              \
        STATE(prefix "jobs_stageout", "STAGE_OUT", __VA_ARGS__),               \
        STATE(prefix "jobs_suspended", "SUSPENDED", __VA_ARGS__),              \
        STATE(prefix "jobs_timeout", "TIMEOUT", __VA_ARGS__),                  \
        STATES(prefix "jobs_finished", "Jobs that have ended.", finished,      \
               jobs, __VA_ARGS__),                                             \
        STATES(prefix "jobs_pending", "Pending jobs.", pending, jobs,          \
               __VA_ARGS__),                                                   \
        STATES(prefix "jobs_running", "Running jobs.", running, jobs,          \
               __VA_ARGS__),                                                   \
        STATES(prefix "jobs_started", "Jobs that have started.", started,      \
               jobs, __VA_ARGS__),                                             \
        STATES(prefix "jobs_cpus_alloc", HELD "CPUs.", allocated, cpus,        \
               __VA_ARGS__),                                                   \
        STATES(prefix "jobs_gpus_alloc", HELD "GPUs.", allocated, gpus,        \
               __VA_ARGS__),                                                   \
        MEMORY(prefix "jobs_memory_alloc", __VA_ARGS__)

#define JOBS_OF_SLINKY(prefix, ...)                                            \
    JOBS(prefix "jobs_total", "Jobs.", jobs, __VA_ARGS__),                     \
        STATE(prefix "jobs_bootfail_total", "BOOT_FAIL", __VA_ARGS__),         \
        STATE(prefix "jobs_cancelled_total", "CANCELLED", __VA_ARGS__),        \
        STATE(prefix "jobs_completed_total", "COMPLETED", __VA_ARGS__),        \
        STATE(prefix "jobs_completing_total", "COMPLETING", __VA_ARGS__),      \
        STATE(prefix "jobs_configuring_total", "CONFIGURING", __VA_ARGS__),    \
        STATE(prefix "jobs_deadline_total", "DEADLINE", __VA_ARGS__),          \
        STATE(prefix "jobs_failed_total", "FAILED", __VA_ARGS__),              \
        STATE(prefix "jobs_nodefail_total", "NODE_FAIL", __VA_ARGS__),         \
        STATE(prefix "jobs_outofmemory_total", "OUT_OF_MEMORY", __VA_ARGS__),  \
        STATE(prefix "jobs_powerupnode_total", "POWER_UP_NODE", __VA_ARGS__),  \
        STATE(prefix "jobs_preempted_total", "PREEMPTED", __VA_ARGS__),        \
        STATE(prefix "jobs_stageout_total", "STAGE_OUT", __VA_ARGS__),         \
        STATE(prefix "jobs_suspended_total", "SUSPENDED", __VA_ARGS__),        \
        STATE(prefix "jobs_timeout_total", "TIMEOUT", __VA_ARGS__),            \
        STATES(prefix "jobs_pending_total", "Pending jobs.", pending, jobs,    \
               __VA_ARGS__),                                                   \
        STATES(prefix "jobs_running_total", "Running jobs.", running, jobs,    \
               __VA_ARGS__),                                                   \
        STATES(prefix "jobs_cpus_alloc_total", HELD "CPUs.", allocated, cpus,  \
               __VA_ARGS__),                                                   \
        MEMORY(prefix "jobs_memory_alloc_bytes", __VA_ARGS__)

/* Not for partitions. */
#define NODES_OF_JOBS(text_name, ...)                                          \
    STATES(text_name, HELD "nodes.", allocated, nodes, __VA_ARGS__)

/* Pending jobs by reason; "hold" is a reason in squeue. */
#define HOLD(text_name, index, at, ...)                                        \
    ROW(text_name, "Jobs that are held.",                                      \
        BJ_IN_SUMS(index, bj_jobs_stat, jobs), .words = held, .word = (at),    \
        .words_only = true, __VA_ARGS__)

/* --- states of nodes ------------------------------------------------------ */

/* Replace base state and flags, keys at and at + 1, by "draining" or "drained";
 * false: the node is neither. */
static bool map_drain(struct bj_slice *key)
{
    struct bj_slurm_node_state s = bj_node_state_parse(key[0], 0, 0);
    const unsigned flags = s.flags | bj_node_state_parse(key[1], 0, 0).flags;
    if (!(flags & 1u << BJ_NODE_DRAIN))
        return false;
    const bool busy = s.base == BJ_NODE_ALLOCATED || s.base == BJ_NODE_MIXED ||
                      s.base == BJ_NODE_ERROR ||
                      flags & 1u << BJ_NODE_COMPLETING;
    key[0] = busy ? BJ_SLICE("draining") : BJ_SLICE("drained");
    key[1] = (struct bj_slice){0};
    return true;
}

static bool map_drain_first(struct bj_arena *arena,
                            struct bj_slice key[BJ_SUB_KEYS])
{
    (void)arena;
    return map_drain(key);
}

static bool map_drain_second(struct bj_arena *arena,
                             struct bj_slice key[BJ_SUB_KEYS])
{
    (void)arena;
    return map_drain(key + 1);
}

/* The lists of states and of flags of all nodes, and of the nodes of
 * partitions; which key is the state. */
#define NODES_OF_ALL                                                           \
    BJ_CL_NODES, BJ_CL_FLAGS, 0, map_drain_first, BJ_OR_ZERO(NODES)
#define NODES_OF_PARTITIONS                                                    \
    BJ_CL_PARTITION_NODES, BJ_CL_PARTITION_FLAGS, 1, map_drain_second,         \
        .key = {"partition"}, BJ_NOT_ZERO
/* The second macro gets the parts of the last argument. */
#define NODES(...) NODES_OF(__VA_ARGS__)
#define NODES_OF(text_name, text, field, index, flags, at, drain, ...)         \
    ROW(text_name, text, BJ_IN_SUMS(index, bj_nodes_stat, field), __VA_ARGS__)
#define BASE(text_name, text_state, index, flags, at, drain, ...)              \
    ROW(text_name, "Nodes in the state " text_state ".",                       \
        BJ_IN_SUMS(index, bj_nodes_stat, nodes), .only[at] = text_state,       \
        __VA_ARGS__)
#define FLAG(...) FLAG_OF(__VA_ARGS__)
#define FLAG_OF(text_name, text_flag, index, flags, at, drain, ...)            \
    ROW(text_name, "Nodes with the flag " text_flag ".",                       \
        BJ_IN_SUMS(flags, bj_nodes_stat, nodes), .only[at] = text_flag,        \
        __VA_ARGS__)
#define DRAIN(text_name, text, word, index, flags, at, drain, ...)             \
    ROW(text_name, text, BJ_IN_SUMS(index, bj_nodes_stat, nodes),              \
        .map = (drain), .only[at] = word, __VA_ARGS__)
#define NODE(text_name, text, field, ...)                                      \
    ROW("node_" text_name, text,                                               \
        BJ_IN_SUMS(BJ_CL_EACH_NODE, bj_nodes_stat, field), .key = {"node"},    \
        __VA_ARGS__)
#define NODE_GPUS(text_name, text, field)                                      \
    ROW("node_gpus" text_name, text,                                           \
        BJ_IN_SUMS(BJ_CL_EACH_NODE_GPUS, bj_gpus_stat, field),                 \
        .key = {"node"}, BJ_NOT_ZERO)
/* In bytes; the originals say bytes and mean MiB. */
#define NODES_MEMORY(text_name, text, field, ...)                              \
    NODES(text_name, text ", in bytes.", field, __VA_ARGS__, BJ_WHEN(RIGHT)),  \
        NODES(text_name, text ", in MiB.", field, __VA_ARGS__, BJ_UNIT(MIB),   \
              BJ_WHEN(STRICT))
#define NODE_MEMORY(text_name, text, field)                                    \
    NODE(text_name, text ", in bytes.", field, BJ_WHEN(RIGHT)),                \
        NODE(text_name, text ", in MiB.", field, BJ_UNIT(MIB),                 \
             BJ_WHEN(STRICT))

#define NODES_OF_CONTROLLER(prefix, ...)                                       \
    BASE(prefix "nodes_alloc", "allocated", __VA_ARGS__),                      \
        BASE(prefix "nodes_down", "down", __VA_ARGS__),                        \
        BASE(prefix "nodes_future", "future", __VA_ARGS__),                    \
        BASE(prefix "nodes_idle", "idle", __VA_ARGS__),                        \
        BASE(prefix "nodes_mixed", "mixed", __VA_ARGS__),                      \
        BASE(prefix "nodes_unknown", "unknown", __VA_ARGS__),                  \
        FLAG(prefix "nodes_blocked", "blocked", __VA_ARGS__),                  \
        FLAG(prefix "nodes_cloud", "cloud", __VA_ARGS__),                      \
        FLAG(prefix "nodes_drain", "drain", __VA_ARGS__),                      \
        FLAG(prefix "nodes_dyn_future", "dynamic_future", __VA_ARGS__),        \
        FLAG(prefix "nodes_dyn_normal", "dynamic_norm", __VA_ARGS__),          \
        FLAG(prefix "nodes_external", "external", __VA_ARGS__),                \
        FLAG(prefix "nodes_fail", "fail", __VA_ARGS__),                        \
        FLAG(prefix "nodes_invalid_reg", "invalid_reg", __VA_ARGS__),          \
        FLAG(prefix "nodes_maint", "maintenance", __VA_ARGS__),                \
        FLAG(prefix "nodes_planned", "planned", __VA_ARGS__),                  \
        FLAG(prefix "nodes_power_down", "power_down", __VA_ARGS__),            \
        FLAG(prefix "nodes_power_up", "power_up", __VA_ARGS__),                \
        FLAG(prefix "nodes_powered_down", "powered_down", __VA_ARGS__),        \
        FLAG(prefix "nodes_powering_up", "powering_up", __VA_ARGS__),          \
        FLAG(prefix "nodes_reboot_issued", "reboot_issued", __VA_ARGS__),      \
        FLAG(prefix "nodes_resv", "reserved", __VA_ARGS__),                    \
        DRAIN(prefix "nodes_drained", "Drained nodes.", "drained",             \
              __VA_ARGS__),                                                    \
        DRAIN(prefix "nodes_draining",                                         \
              "Draining nodes, which still have jobs.", "draining",            \
              __VA_ARGS__)

#define NODES_OF_SLINKY(prefix, ...)                                           \
    NODES(prefix "nodes_total", "Nodes.", nodes, __VA_ARGS__),                 \
        BASE(prefix "nodes_allocated_total", "allocated", __VA_ARGS__),        \
        BASE(prefix "nodes_down_total", "down", __VA_ARGS__),                  \
        BASE(prefix "nodes_error_total", "error", __VA_ARGS__),                \
        BASE(prefix "nodes_future_total", "future", __VA_ARGS__),              \
        BASE(prefix "nodes_idle_total", "idle", __VA_ARGS__),                  \
        BASE(prefix "nodes_mixed_total", "mixed", __VA_ARGS__),                \
        BASE(prefix "nodes_unknown_total", "unknown", __VA_ARGS__),            \
        FLAG(prefix "nodes_completing_total", "completing", __VA_ARGS__),      \
        FLAG(prefix "nodes_drain_total", "drain", __VA_ARGS__),                \
        FLAG(prefix "nodes_fail_total", "fail", __VA_ARGS__),                  \
        FLAG(prefix "nodes_maintenance_total", "maintenance", __VA_ARGS__),    \
        FLAG(prefix "nodes_notresponding_total", "not_responding",             \
             __VA_ARGS__),                                                     \
        FLAG(prefix "nodes_planned_total", "planned", __VA_ARGS__),            \
        FLAG(prefix "nodes_rebootrequested_total", "reboot_requested",         \
             __VA_ARGS__),                                                     \
        FLAG(prefix "nodes_reserved_total", "reserved", __VA_ARGS__)

/* --- the scheduler -------------------------------------------------------- */

#define DIAG(text_name, field, text) ROW(text_name, text, BJ_IN_DIAG(field))
/* In seconds; the original says seconds and means microseconds. */
#define SECONDS(text_name, field, text)                                        \
    ROW(text_name, text ", in seconds.", BJ_IN_DIAG(field), BJ_UNIT(MICRO),    \
        BJ_WHEN(RIGHT)),                                                       \
        ROW(text_name, text ", in microseconds.", BJ_IN_DIAG(field),           \
            BJ_WHEN(STRICT))

static const struct bj_dialect_row rows_controller[] = {
    JOBS_OF_CONTROLLER("", OF_ALL),
    NODES_OF_JOBS("jobs_nodes_alloc", OF_ALL),
    HOLD("jobs_hold", BJ_CL_PENDING, 0, BJ_OR_ZERO(QUEUE)),
    JOBS_OF_CONTROLLER("user_", OF_USERS),
    NODES_OF_JOBS("user_jobs_nodes_alloc", OF_USERS),
    JOBS_OF_CONTROLLER("account_", OF_ACCOUNTS),
    NODES_OF_JOBS("account_jobs_nodes_alloc", OF_ACCOUNTS),
    JOBS_OF_CONTROLLER("partition_", OF_PARTITIONS),
    HOLD("partition_jobs_hold", BJ_CL_PARTITION_PENDING, 1, .split = true,
         .key = {"partition"}, BJ_NOT_ZERO),
    ROW("partition_jobs_wait_part_node_limit",
        "Jobs that wait because of the partition's limit of nodes.",
        BJ_IN_SUMS(BJ_CL_PARTITION_PENDING, bj_jobs_stat, jobs), .split = true,
        .only = {NULL, "PartitionNodeLimit"}, .key = {"partition"},
        BJ_NOT_ZERO),
    NODES("nodes", "Nodes.", nodes, NODES_OF_ALL),
    NODES_OF_CONTROLLER("", NODES_OF_ALL),
    FLAG("nodes_completing", "completing", NODES_OF_ALL),
    FLAG("nodes_noresp", "not_responding", NODES_OF_ALL),
    FLAG("nodes_reboot_req", "reboot_requested", NODES_OF_ALL),
    NODE("cpus", "CPUs of the node.", cpus, BJ_NO_MORE),
    NODE("cpus_alloc", "Allocated CPUs of the node.", cpus_allocated,
         BJ_NO_MORE),
    NODE("cpus_idle", "Idle CPUs of the node.", cpus_idle, BJ_NO_MORE),
    NODE_MEMORY("memory_bytes", "Memory of the node", mem_bytes),
    NODE_MEMORY("memory_alloc_bytes", "Allocated memory of the node",
                mem_allocated_bytes),
    NODE_MEMORY("memory_free_bytes", "Free memory of the node", mem_free_bytes),
    NODE_GPUS("", "GPUs of the node.", gpus),
    NODE_GPUS("_alloc", "Allocated GPUs of the node.", allocated),
    NODES("partition_nodes", "Nodes of the partition.", nodes,
          NODES_OF_PARTITIONS),
    NODES_OF_CONTROLLER("partition_", NODES_OF_PARTITIONS),
    FLAG("partition_nodes_cg", "completing", NODES_OF_PARTITIONS),
    FLAG("partition_nodes_no_resp", "not_responding", NODES_OF_PARTITIONS),
    FLAG("partition_nodes_powering_down", "powering_down", NODES_OF_PARTITIONS),
    FLAG("partition_nodes_reboot_requested", "reboot_requested",
         NODES_OF_PARTITIONS),
    NODES("partition_cpus", "CPUs of the partition.", cpus,
          NODES_OF_PARTITIONS),
    NODES("partition_nodes_cpus_alloc", "Allocated CPUs of the partition.",
          cpus_allocated, NODES_OF_PARTITIONS),
    NODES("partition_nodes_cpus_idle", "Idle CPUs of the partition.", cpus_idle,
          NODES_OF_PARTITIONS),
    NODES_MEMORY("partition_nodes_mem_tot", "Memory of the partition",
                 mem_bytes, NODES_OF_PARTITIONS),
    NODES_MEMORY("partition_nodes_mem_alloc",
                 "Allocated memory of the partition", mem_allocated_bytes,
                 NODES_OF_PARTITIONS),
    NODES_MEMORY("partition_nodes_mem_free", "Free memory of the partition",
                 mem_free_bytes, NODES_OF_PARTITIONS),
    ROW("partition_gpus", "GPUs of the partition.",
        BJ_IN_SUMS(BJ_CL_PARTITION_GPUS, bj_gpus_stat, gpus),
        .key = {"partition"}, BJ_NOT_ZERO),
    DIAG("agent_cnt", agents, "Agents."),
    DIAG("agent_queue_size", agent_queue,
         "Messages the controller has yet to send."),
    DIAG("agent_thread_cnt", agent_threads, "Threads of agents."),
    DIAG("backfilled_het_jobs", bf_het_jobs,
         "Components of heterogeneous jobs started by backfill."),
    DIAG("backfilled_jobs", bf_jobs,
         "Jobs started by backfill since the controller started."),
    DIAG("last_backfilled_jobs", bf_jobs_cycle,
         "Jobs started by backfill since the counters began."),
    DIAG("bf_cycle_cnt", bf_cycles, "Cycles of backfill."),
    DIAG("bf_cycle_last", bf_last_usec,
         "Duration of backfill's last cycle, in microseconds."),
    DIAG("bf_cycle_max", bf_max_usec,
         "Longest cycle of backfill, in microseconds."),
    DIAG("bf_cycle_tot", bf_sum_usec,
         "Duration of all cycles of backfill, in microseconds."),
    DIAG("bf_mean_cycle", bf_mean_usec,
         "Average duration of backfill's cycles, in microseconds."),
    DIAG("bf_depth_mean", bf_depth_mean,
         "Average number of jobs that backfill considered in a cycle."),
    DIAG("bf_try_depth_mean", bf_depth_try_mean,
         "Average number of jobs that backfill tried to start in a cycle."),
    DIAG("bf_last_depth", bf_depth,
         "Jobs that backfill considered in its last cycle."),
    DIAG("bf_last_depth_try", bf_depth_try,
         "Jobs that backfill tried to start in its last cycle."),
    DIAG("bf_queue_len", bf_queue, "Jobs in the queue of backfill."),
    DIAG("bf_queue_len_mean", bf_queue_mean,
         "Average number of jobs in the queue of backfill."),
    DIAG("bf_table_size", bf_table,
         "Time slots that backfill tested in its last cycle."),
    DIAG("bf_mean_table_sz", bf_table_mean,
         "Average number of time slots that backfill tested."),
    DIAG("bf_when_last_cycle", bf_last_sec,
         "Time of backfill's last cycle, in seconds since the epoch."),
    DIAG("last_proc_req_start", since_sec,
         "Time since which the controller counts, in seconds since the epoch."),
    DIAG("sched_mean_cycle", cycle_mean_usec,
         "Average duration of the main scheduler's cycles, in microseconds."),
    DIAG("sched_mean_depth_cycle", depth_mean,
         "Average number of jobs in a cycle of the main scheduler."),
    DIAG("schedule_cycle_cnt", cycles, "Cycles of the main scheduler."),
    DIAG("schedule_cycle_last", cycle_last_usec,
         "Duration of the main scheduler's last cycle, in microseconds."),
    DIAG("schedule_cycle_max", cycle_max_usec,
         "Longest cycle of the main scheduler, in microseconds."),
    DIAG("schedule_queue_len", queue_length,
         "Jobs in the queue of the main scheduler."),
    DIAG("sdiag_jobs_canceled", jobs_cancelled,
         "Jobs cancelled since the counters began."),
    DIAG("sdiag_jobs_completed", jobs_completed,
         "Jobs completed since the counters began."),
    DIAG("sdiag_jobs_failed", jobs_failed,
         "Jobs that failed since the counters began, for reasons of the "
         "system."),
    DIAG("sdiag_jobs_started", jobs_started,
         "Jobs started since the counters began."),
    DIAG("sdiag_jobs_submitted", jobs_submitted,
         "Jobs submitted since the counters began."),
    DIAG("server_thread_cnt", server_threads,
         "Threads of the controller that serve RPCs."),
    DIAG("slurmdbd_queue_size", dbd_queue,
         "Messages the controller has yet to send to the accounting daemon."),
};

static const struct bj_dialect_row rows_slinky[] = {
    JOBS_OF_SLINKY("", OF_ALL),
    HOLD("jobs_hold_total", BJ_CL_PENDING, 0, BJ_OR_ZERO(QUEUE)),
    JOBS_OF_SLINKY("user_", OF_USERS),
    JOBS_OF_SLINKY("account_", OF_ACCOUNTS),
    JOBS_OF_SLINKY("partition_", OF_PARTITIONS),
    HOLD("partition_jobs_hold_total", BJ_CL_PARTITION_PENDING, 1, .split = true,
         .key = {"partition"}, BJ_NOT_ZERO),
    NODES_OF_SLINKY("", NODES_OF_ALL),
    NODE("cpus_total", "CPUs of the node.", cpus, BJ_NO_MORE),
    NODE("cpus_alloc_total", "Allocated CPUs of the node.", cpus_allocated,
         BJ_NO_MORE),
    NODE("cpus_idle_total", "Idle CPUs of the node.", cpus_idle, BJ_NO_MORE),
    NODE_MEMORY("memory_bytes", "Memory of the node", mem_bytes),
    NODE_MEMORY("memory_alloc_bytes", "Allocated memory of the node",
                mem_allocated_bytes),
    NODE_MEMORY("memory_free_bytes", "Free memory of the node", mem_free_bytes),
    NODES_OF_SLINKY("partition_", NODES_OF_PARTITIONS),
    NODES("partition_nodes_cpus_total", "CPUs of the partition.", cpus,
          NODES_OF_PARTITIONS),
    NODES("partition_nodes_cpus_alloc_total",
          "Allocated CPUs of the partition.", cpus_allocated,
          NODES_OF_PARTITIONS),
    NODES("partition_nodes_cpus_idle_total", "Idle CPUs of the partition.",
          cpus_idle, NODES_OF_PARTITIONS),
    NODES_MEMORY("partition_nodes_memory_bytes", "Memory of the partition",
                 mem_bytes, NODES_OF_PARTITIONS),
    NODES_MEMORY("partition_nodes_memory_alloc_bytes",
                 "Allocated memory of the partition", mem_allocated_bytes,
                 NODES_OF_PARTITIONS),
    NODES_MEMORY("partition_nodes_memory_free_bytes",
                 "Free memory of the partition", mem_free_bytes,
                 NODES_OF_PARTITIONS),
    DIAG("scheduler_cycle_depth_mean_total", depth_mean,
         "Average number of jobs in a cycle of the main scheduler."),
    DIAG("scheduler_cycle_total", cycles, "Cycles of the main scheduler."),
    DIAG("scheduler_queue_total", queue_length,
         "Jobs in the queue of the main scheduler."),
    DIAG("bfscheduler_backfilledhetjobs_total", bf_het_jobs,
         "Components of heterogeneous jobs started by backfill."),
    DIAG("bfscheduler_backfilledjobs_total", bf_jobs,
         "Jobs started by backfill since the controller started."),
    DIAG("bfscheduler_lastbackfilledjobs_total", bf_jobs_cycle,
         "Jobs started by backfill since the counters began."),
    DIAG("bfscheduler_cycle_total", bf_cycles, "Cycles of backfill."),
    DIAG("bfscheduler_depth_mean_total", bf_depth_mean,
         "Average number of jobs that backfill considered in a cycle."),
    DIAG("bfscheduler_depth_try_total", bf_depth_try_mean,
         "Average number of jobs that backfill tried to start in a cycle."),
    DIAG("bfscheduler_lastdepth_total", bf_depth,
         "Jobs that backfill considered in its last cycle."),
    DIAG("bfscheduler_lastdepthtry_total", bf_depth_try,
         "Jobs that backfill tried to start in its last cycle."),
    DIAG("bfscheduler_queue_total", bf_queue, "Jobs in the queue of backfill."),
    DIAG("bfscheduler_queue_mean_total", bf_queue_mean,
         "Average number of jobs in the queue of backfill."),
    DIAG("bfscheduler_table_total", bf_table,
         "Time slots that backfill tested in its last cycle."),
    DIAG("bfscheduler_tablemean_total", bf_table_mean,
         "Average number of time slots that backfill tested."),
    DIAG("bfscheduler_lastcycle_timestamp", bf_last_sec,
         "Time of backfill's last cycle, in seconds since the epoch."),
    DIAG("scheduler_jobs_canceled_total", jobs_cancelled,
         "Jobs cancelled since the counters began."),
    DIAG("scheduler_jobs_completed_total", jobs_completed,
         "Jobs completed since the counters began."),
    DIAG("scheduler_jobs_failed_total", jobs_failed,
         "Jobs that failed since the counters began, for reasons of the "
         "system."),
    DIAG("scheduler_jobs_started_total", jobs_started,
         "Jobs started since the counters began."),
    DIAG("scheduler_jobs_submitted_total", jobs_submitted,
         "Jobs submitted since the counters began."),
    DIAG("scheduler_agent_total", agents, "Agents."),
    DIAG("scheduler_agent_queue_total", agent_queue,
         "Messages the controller has yet to send."),
    DIAG("scheduler_agent_thread_total", agent_threads, "Threads of agents."),
    DIAG("scheduler_thread_total", server_threads,
         "Threads of the controller that serve RPCs."),
    DIAG("scheduler_dbdagentqueue_total", dbd_queue,
         "Messages the controller has yet to send to the accounting daemon."),
    DIAG("scheduler_cycle_perminute_total", cycles_per_min,
         "Cycles of the main scheduler per minute."),
    SECONDS("scheduler_cycle_last_seconds", cycle_last_usec,
            "Duration of the main scheduler's last cycle"),
    SECONDS("scheduler_cycle_max_seconds", cycle_max_usec,
            "Longest cycle of the main scheduler"),
    SECONDS("scheduler_cycle_mean_seconds", cycle_mean_usec,
            "Average duration of the main scheduler's cycles"),
    SECONDS("bfscheduler_cycle_seconds", bf_last_usec,
            "Duration of backfill's last cycle"),
    SECONDS("bfscheduler_cycle_max_seconds", bf_max_usec,
            "Longest cycle of backfill"),
    SECONDS("bfscheduler_cycle_mean_seconds", bf_mean_usec,
            "Average duration of backfill's cycles"),
    SECONDS("bfscheduler_cycle_sum_seconds", bf_sum_usec,
            "Duration of all cycles of backfill"),
};

static const struct bj_dialect_label bare[] = {{.name = NULL}};

const struct bj_dialect bj_dialect_slurmctld = {
    .name = "slurmctld",
    .collect = BJ_COLLECT(CLUSTER),
    .by = "partition,user,account,reason,node",
    .sources = "diag",
    BJ_TABLE(rows_controller),
    .labels = {bare},
};

const struct bj_dialect bj_dialect_slinky = {
    .name = "slinky",
    .port = "8080",
    .collect = BJ_COLLECT(CLUSTER),
    .by = "partition,user,account,reason,node",
    .sources = "diag",
    BJ_TABLE(rows_slinky),
    .labels = {bare},
};
