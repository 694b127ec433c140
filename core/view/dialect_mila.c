/* The names of Mila's slurm_monitoring_and_reporting. */
#include "core/view/dialect_cluster.h"

#include "sched/sinfo.h"

#define ROW(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED("slurm_" text_name, BJ_GAUGE, text), __VA_ARGS__              \
    }
#define CPUS(text_name, text, field, ...)                                      \
    ROW("cpus_" text_name, text,                                               \
        BJ_IN_SUMS(BJ_CL_RESERVATION_NODES, bj_nodes_stat, field),             \
        .key = {"reservation"}, .words = none, __VA_ARGS__)
#define GPUS(text_name, text, field, ...)                                      \
    ROW("gpus_" text_name, text,                                               \
        BJ_IN_SUMS(BJ_CL_RESERVATION_GPUS, bj_gpus_stat, field),               \
        .key = {"reservation", NULL, "type"}, .words = none, BJ_WHEN(RIGHT),   \
        __VA_ARGS__),                                                          \
        ROW("gpus_" text_name, text,                                           \
            BJ_IN_SUMS(BJ_CL_RESERVATION_GPUS, bj_gpus_stat, field),           \
            .key = {"reservation", NULL, "type"}, .words = none,               \
            .map = map_typed, BJ_WHEN(STRICT), __VA_ARGS__)

/* A node without reservation. */
static const struct bj_dialect_word none[] = {{"", "None"}, {NULL, NULL}};

/* DOWN precedes DRAIN, DRAIN precedes the base state. */
static struct bj_slice reduced(const struct bj_slice *state_flags)
{
    struct bj_slurm_node_state s = bj_node_state_parse(state_flags[0], 0, 0);
    s.flags |= bj_node_state_parse(state_flags[1], 0, 0).flags;
    if (s.base != BJ_NODE_DOWN && s.flags & 1u << BJ_NODE_DRAIN)
        return BJ_SLICE("drained");
    return bj_slice_str(bj_node_base_name(s.base));
}

static bool map_reduced(struct bj_arena *arena,
                        struct bj_slice key[BJ_SUB_KEYS])
{
    (void)arena;
    key[1] = reduced(&key[1]);
    return true;
}

static bool map_typed(struct bj_arena *arena, struct bj_slice key[BJ_SUB_KEYS])
{
    (void)arena;
    return key[2].n > 0;
}

/* As in the original's sums: all CPUs of a node count as idle, or all as
 * drained. */
static bool mila_usable(const struct bj_nodes_stat *n)
{
    const struct bj_slice s = reduced(&n->sub.key[1]);
    return bj_slice_eq(s, BJ_SLICE("idle")) ||
           bj_slice_eq(s, BJ_SLICE("mixed")) ||
           bj_slice_eq(s, BJ_SLICE("allocated"));
}

static uint64_t all_idle(const void *record)
{
    const struct bj_nodes_stat *n = record;
    return mila_usable(n) ? n->cpus : 0;
}

static uint64_t all_drained(const void *record)
{
    const struct bj_nodes_stat *n = record;
    return mila_usable(n) ? 0 : n->cpus;
}

static const char *const states[] = {
    "allocated",  "completing", "idle",           "maint",   "mixed",
    "perfctrs",   "power_up",   "reserved",       "reboot",  "down",
    "drained",    "draining",   "fail",           "failing", "future",
    "power_down", "unknown",    "not_responding", NULL};

static const struct bj_dialect_word job_states[] = {
    {"PENDING", "pending"},           {"RUNNING", "running"},
    {"SUSPENDED", "suspended"},       {"COMPLETED", "completed"},
    {"CANCELLED", "cancelled"},       {"FAILED", "failed"},
    {"TIMEOUT", "timeout"},           {"NODE_FAIL", "node_fail"},
    {"PREEMPTED", "preempted"},       {"BOOT_FAIL", "boot_fail"},
    {"DEADLINE", "deadline"},         {"OUT_OF_MEMORY", "out_of_memory"},
    {"COMPLETING", "completing"},     {"STAGE_OUT", "stage_out"},
    {"CONFIGURING", "configuring"},   {"EXPEDITING", "expediting"},
    {"RESIZING", "resizing"},         {"REQUEUED", "requeued"},
    {"REQUEUE_FED", "requeue_fed"},   {"REQUEUE_HOLD", "requeue_hold"},
    {"SPECIAL_EXIT", "special_exit"}, {"STOPPED", "stopped"},
    {"REVOKED", "revoked"},           {"RESV_DEL_HOLD", "resv_del_hold"},
    {"SIGNALING", "signaling"},       {NULL, NULL},
};

static const struct bj_dialect_row rows[] = {
    CPUS("total", "CPUs.", cpus, BJ_NO_MORE),
    CPUS("alloc", "Allocated CPUs.", cpus_allocated, BJ_NO_MORE),
    CPUS("idle", "Idle CPUs.", cpus_idle, BJ_WHEN(RIGHT)),
    CPUS("idle", "CPUs of nodes that accept jobs.", cpus, .value = all_idle,
         BJ_WHEN(STRICT)),
    CPUS("drain", "CPUs neither allocated nor idle.", cpus_other,
         BJ_WHEN(RIGHT)),
    CPUS("drain", "CPUs of nodes that accept no jobs.", cpus,
         .value = all_drained, BJ_WHEN(STRICT)),
    GPUS("total", "GPUs.", gpus, BJ_NO_MORE),
    GPUS("alloc", "Allocated GPUs.", allocated, BJ_NO_MORE),
    GPUS("idle", "Idle GPUs.", idle, BJ_NO_MORE),
    GPUS("drain", "GPUs neither allocated nor idle.", blocked,
         BJ_SUM_WITH(ADD, bj_gpus_stat, other)),
    ROW("node_states", "1 for the current state of the node, else 0.",
        BJ_IN_SUMS(BJ_CL_EACH_NODE, bj_nodes_stat, nodes), .map = map_reduced,
        .key = {"name", "slurm_node_states"}, .states = states),
    ROW("job_states", "Jobs in the state.",
        BJ_IN_SUMS(BJ_CL_JOBS, bj_jobs_stat, jobs), .key = {"name"},
        .words = job_states),
    ROW("login_nodes", "Jobs submitted from the host.",
        BJ_IN_SUMS(BJ_CL_HOST_JOBS, bj_jobs_stat, jobs), .key = {"name"}),
    ROW("partitions", "Jobs of the partition.",
        BJ_IN_SUMS(BJ_CL_PARTITION_JOBS, bj_jobs_stat, jobs), .split = true,
        .key = {"name"}),
};

static const struct bj_dialect_label bare[] = {{.name = NULL}};

const struct bj_dialect bj_dialect_mila = {
    .name = "mila",
    .port = "19998",
    .collect = BJ_COLLECT(CLUSTER),
    .by = "partition,host,reservation,node",
    .sources = "reservations",
    BJ_TABLE(rows),
    .labels = {bare},
};
