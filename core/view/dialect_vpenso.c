/* The names of vpenso's prometheus-slurm-exporter. */
#include "core/view/dialect_cluster.h"

#define ROW(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED("slurm_" text_name, BJ_GAUGE, text), __VA_ARGS__              \
    }

/* Jobs by label: list, field, state. */
#define JOBS(text_name, text, index, field, state, label)                      \
    ROW(text_name, text, BJ_IN_SUMS(index, bj_jobs_stat, field),               \
        .only = {NULL, state}, .key = {label}, BJ_NOT_ZERO)
#define OWNERS_JOBS(noun, index)                                               \
    JOBS(noun "_jobs_pending", "Pending jobs of the " noun ".", index, jobs,   \
         "PENDING", noun),                                                     \
        JOBS(noun "_jobs_running", "Running jobs of the " noun ".", index,     \
             jobs, "RUNNING", noun),                                           \
        JOBS(noun "_cpus_running", "CPUs of the " noun "'s running jobs.",     \
             index, cpus, "RUNNING", noun),                                    \
        JOBS(noun "_jobs_suspended", "Suspended jobs of the " noun ".", index, \
             jobs, "SUSPENDED", noun)

#define QUEUE(text_name, state)                                                \
    ROW("queue_" text_name, "Jobs in the state " state ".",                    \
        BJ_IN_SUMS(BJ_CL_JOBS, bj_jobs_stat, jobs), .only = {state},           \
        BJ_OR_ZERO(QUEUE))

#define CPUS(text_name, text, field)                                           \
    ROW("cpus_" text_name, text,                                               \
        BJ_IN_SUMS(BJ_CL_NODES, bj_nodes_stat, field), BJ_OR_ZERO(NODES))
#define PARTITION(text_name, text, field)                                      \
    ROW("partition_cpus_" text_name, text,                                     \
        BJ_IN_SUMS(BJ_CL_PARTITION_NODES, bj_nodes_stat, field),               \
        .key = {"partition"}, BJ_NOT_ZERO)
#define NODE(text_name, text, field, ...)                                      \
    ROW("node_" text_name, text,                                               \
        BJ_IN_SUMS(BJ_CL_EACH_NODE, bj_nodes_stat, field),                     \
        .map = bj_dialect_state_second, .key = {"node", "status"},             \
        __VA_ARGS__)
#define NODES(text_name, class_map, ...)                                       \
    ROW("nodes_" text_name,                                                    \
        "Nodes whose state in sinfo begins with " text_name ".",               \
        BJ_IN_SUMS(BJ_CL_NODES, bj_nodes_stat, nodes), .map = (class_map),     \
        .only = {text_name "*"}, BJ_OR_ZERO(NODES), __VA_ARGS__)
#define GPUS(text_name, text, field, ...)                                      \
    ROW("gpus_" text_name, text, BJ_IN_SUMS(BJ_CL_GPUS, bj_gpus_stat, field),  \
        BJ_OR_ZERO(NODES), __VA_ARGS__)
#define SCHEDULER(text_name, text, field)                                      \
    ROW("scheduler_" text_name, text, BJ_IN_DIAG(field))
#define RPC(text_name, text, index, label, field, ...)                         \
    ROW(text_name, text, BJ_IN_SUMS(index, bj_rpc_stat, field),                \
        .key = {label}, __VA_ARGS__)
#define RPCS(prefix, noun, index, label)                                       \
    RPC(prefix "rpc_stats", "RPCs of the " noun ".", index, label, count,      \
        BJ_NO_MORE),                                                           \
        RPC(prefix "rpc_stats_avg_time",                                       \
            "Time spent on RPCs of the " noun " on average, in microseconds.", \
            index, label, total_usec, BJ_SUM_WITH(PER, bj_rpc_stat, count)),   \
        RPC(prefix "rpc_stats_total_time",                                     \
            "Time spent on RPCs of the " noun ", in microseconds.", index,     \
            label, total_usec, BJ_NO_MORE)

/* State words begin as in sinfo; "resv" is "reserved" here, and nodes planned
 * for backfill count as idle until they are used. */
static bool map_class(struct bj_arena *arena, struct bj_slice key[BJ_SUB_KEYS])
{
    bj_dialect_state_first(arena, key);
    if (bj_slice_starts(key[0], BJ_SLICE("res")))
        key[0] = BJ_SLICE("resv");
    return true;
}

static bool map_class_right(struct bj_arena *arena,
                            struct bj_slice key[BJ_SUB_KEYS])
{
    map_class(arena, key);
    if (bj_slice_starts(key[0], BJ_SLICE("planned")))
        key[0] = BJ_SLICE("idle");
    return true;
}

/* The original does not count a job pending in several partitions in any of
 * them. */
static bool map_one_partition(struct bj_arena *arena,
                              struct bj_slice key[BJ_SUB_KEYS])
{
    (void)arena;
    return key[0].n > 0 && !memchr(key[0].p, ',', key[0].n);
}

/* A node's state without the signs that sinfo appends to it. */
static bool map_bare_state(struct bj_arena *arena,
                           struct bj_slice key[BJ_SUB_KEYS])
{
    bj_dialect_state_second(arena, key);
    while (key[1].n > 0 && strchr("*~#!%$@^-+", key[1].p[key[1].n - 1]))
        key[1].n--;
    return true;
}

/* Other pending jobs. Not a row with words_only: reasons may be unknown. */
static uint64_t of_dependency(const void *record)
{
    const struct bj_jobs_stat *s = record;
    return bj_slice_eq(s->sub.key[0], BJ_SLICE("Dependency")) ? s->jobs : 0;
}

static uint64_t fairshare_or_zero(const void *record)
{
    const struct bj_share_stat *s = record;
    return s->fairshare_ppm == BJ_ABSENT ? 0 : s->fairshare_ppm;
}

static const struct bj_dialect_row rows[] = {
    OWNERS_JOBS("account", BJ_CL_ACCOUNT_JOBS),
    OWNERS_JOBS("user", BJ_CL_USER_JOBS),
    CPUS("alloc", "Allocated CPUs.", cpus_allocated),
    CPUS("idle", "Idle CPUs.", cpus_idle),
    CPUS("other", "CPUs neither allocated nor idle.", cpus_other),
    CPUS("total", "CPUs.", cpus),
    GPUS("alloc", "Allocated GPUs.", allocated, BJ_NO_MORE),
    GPUS("idle", "GPUs that are not allocated.", gpus,
         BJ_SUM_WITH(SUB, bj_gpus_stat, allocated)),
    GPUS("total", "GPUs.", gpus, BJ_NO_MORE),
    GPUS("utilization", "Share of GPUs that are allocated, 0 to 1.", allocated,
         BJ_SUM_WITH(SHARE, bj_gpus_stat, gpus)),
    NODES("alloc", map_class, BJ_NO_MORE),
    NODES("comp", map_class, BJ_NO_MORE),
    NODES("down", map_class, BJ_NO_MORE),
    NODES("drain", map_class, BJ_NO_MORE),
    NODES("err", map_class, BJ_NO_MORE),
    NODES("fail", map_class, BJ_NO_MORE),
    NODES("idle", map_class_right, BJ_WHEN(RIGHT)),
    NODES("idle", map_class, BJ_WHEN(STRICT)),
    NODES("maint", map_class, BJ_NO_MORE),
    NODES("mix", map_class, BJ_NO_MORE),
    NODES("resv", map_class, BJ_NO_MORE),
    NODE("cpu_alloc", "Allocated CPUs of the node.", cpus_allocated,
         BJ_NO_MORE),
    NODE("cpu_idle", "Idle CPUs of the node.", cpus_idle, BJ_NO_MORE),
    NODE("cpu_other", "CPUs of the node neither allocated nor idle.",
         cpus_other, BJ_NO_MORE),
    NODE("cpu_total", "CPUs of the node.", cpus, BJ_NO_MORE),
    NODE("mem_alloc", "Allocated memory of the node, in MiB.",
         mem_allocated_bytes, BJ_UNIT(MIB)),
    NODE("mem_total", "Memory of the node, in MiB.", mem_bytes, BJ_UNIT(MIB)),
    PARTITION("allocated", "Allocated CPUs of the partition.", cpus_allocated),
    PARTITION("idle", "Idle CPUs of the partition.", cpus_idle),
    PARTITION("other", "CPUs of the partition neither allocated nor idle.",
              cpus_other),
    PARTITION("total", "CPUs of the partition.", cpus),
    ROW("partition_jobs_pending", "Pending jobs of the partition.",
        BJ_IN_SUMS(BJ_CL_PARTITION_JOBS, bj_jobs_stat, jobs), .split = true,
        .only = {NULL, "PENDING"}, .key = {"partition"}, BJ_NOT_ZERO,
        BJ_WHEN(RIGHT)),
    ROW("partition_jobs_pending", "Pending jobs of the partition.",
        BJ_IN_SUMS(BJ_CL_PARTITION_JOBS, bj_jobs_stat, jobs),
        .map = map_one_partition, .only = {NULL, "PENDING"},
        .key = {"partition"}, BJ_NOT_ZERO, BJ_WHEN(STRICT)),
    QUEUE("pending", "PENDING"),
    ROW("queue_pending_dependency", "Pending jobs that depend on other jobs.",
        BJ_IN_SUMS(BJ_CL_PENDING, bj_jobs_stat, jobs), .value = of_dependency),
    QUEUE("running", "RUNNING"),
    QUEUE("suspended", "SUSPENDED"),
    QUEUE("cancelled", "CANCELLED"),
    QUEUE("completing", "COMPLETING"),
    QUEUE("completed", "COMPLETED"),
    QUEUE("configuring", "CONFIGURING"),
    QUEUE("failed", "FAILED"),
    QUEUE("timeout", "TIMEOUT"),
    QUEUE("preempted", "PREEMPTED"),
    QUEUE("node_fail", "NODE_FAIL"),
    SCHEDULER("threads", "Threads of the controller that serve RPCs.",
              server_threads),
    SCHEDULER("queue_size", "Messages the controller has yet to send.",
              agent_queue),
    SCHEDULER(
        "dbd_queue_size",
        "Messages the controller has yet to send to the accounting daemon.",
        dbd_queue),
    SCHEDULER("last_cycle",
              "Duration of the main scheduler's last cycle, in microseconds.",
              cycle_last_usec),
    SCHEDULER(
        "mean_cycle",
        "Average duration of the main scheduler's cycles, in microseconds.",
        cycle_mean_usec),
    SCHEDULER("cycle_per_minute", "Cycles of the main scheduler per minute.",
              cycles_per_min),
    SCHEDULER("backfill_last_cycle",
              "Duration of backfill's last cycle, in microseconds.",
              bf_last_usec),
    SCHEDULER("backfill_mean_cycle",
              "Average duration of backfill's cycles, in microseconds.",
              bf_mean_usec),
    SCHEDULER("backfill_depth_mean",
              "Average number of jobs that backfill considered in a cycle.",
              bf_depth_mean),
    SCHEDULER("backfilled_jobs_since_start_total",
              "Jobs started by backfill since the controller started.",
              bf_jobs),
    SCHEDULER("backfilled_jobs_since_cycle_total",
              "Jobs started by backfill since the counters began.",
              bf_jobs_cycle),
    SCHEDULER("backfilled_heterogeneous_total",
              "Components of heterogeneous jobs started by backfill.",
              bf_het_jobs),
    RPCS("", "kind", BJ_CL_RPC_TYPES, "operation"),
    RPCS("user_", "user", BJ_CL_RPC_USERS, "user"),
    ROW("account_fairshare", "Fair-share factor of the account.",
        BJ_IN_SUMS(BJ_CL_SHARES, bj_share_stat, fairshare_ppm), BJ_UNIT(MICRO),
        .only = {NULL, ""}, .key = {"account"}, BJ_WHEN(RIGHT)),
    ROW("account_fairshare", "Fair-share factor of the account.",
        BJ_IN_SUMS(BJ_CL_SHARES, bj_share_stat, fairshare_ppm), BJ_UNIT(MICRO),
        .value = fairshare_or_zero, .only = {NULL, ""}, .key = {"account"},
        BJ_WHEN(STRICT)),
    /* From a fork of the original (docs/dialects.md). */
    ROW("account_levelfs",
        "Shares of the account divided by its usage, both relative to its "
        "siblings.",
        BJ_IN_SUMS(BJ_CL_SHARES, bj_share_stat, level_ppm), BJ_UNIT(MICRO),
        .key = {"account", "user"}, BJ_WHEN(RIGHT)),
    ROW("node_state_info", "The node's state; the value is always 1.",
        BJ_IN_SUMS(BJ_CL_EACH_NODE, bj_nodes_stat, nodes),
        .map = map_bare_state, .key = {"node", "state"}, BJ_WHEN(RIGHT)),
};

static const struct bj_dialect_label bare[] = {{.name = NULL}};

const struct bj_dialect bj_dialect_vpenso = {
    .name = "vpenso",
    .port = "8080",
    .collect = BJ_COLLECT(CLUSTER),
    .by = "partition,user,account,reason,node",
    .sources = "diag,shares",
    BJ_TABLE(rows),
    .labels = {bare},
};
