/* The names of rivosinc's prometheus-slurm-exporter 1.7 and 1.8. Both have the
 * names of jobs that 1.8 added. */
#include "core/view/dialect_cluster.h"

#define ROW(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED(text_name, BJ_GAUGE, text), __VA_ARGS__                       \
    }
#define COUNTER(text_name, text, ...)                                          \
    {                                                                          \
        BJ_NAMED(text_name, BJ_COUNTER, text), __VA_ARGS__                     \
    }
/* Bytes: Slurm's M is 2^20; the original takes it for 10^6. */
#define BYTES(text_name, text, ...)                                            \
    ROW(text_name, text, __VA_ARGS__, BJ_WHEN(RIGHT)),                         \
        ROW(text_name, text, __VA_ARGS__, BJ_UNIT(MB), BJ_WHEN(STRICT))

#define JOBS(index, field) BJ_IN_SUMS(index, bj_jobs_stat, field), BJ_NOT_ZERO
#define BY_STATE(label) .key = {label, "state"}
#define FEATURE(field) JOBS(BJ_CL_FEATURE_JOBS, field), .key = {"feature"}

#define NODES(field) BJ_IN_SUMS(BJ_CL_NODES, bj_nodes_stat, field)
/* Nodes by state: 1.7 has the long words, 1.8 the compact ones. */
enum { V1_7 = 1, V1_8 = 2 };
#define BY_NODE_STATE(text_name, text, ...)                                    \
    ROW(text_name, text, __VA_ARGS__, .map = bj_dialect_state_first,           \
        .key = {"state"}, .versions = V1_7),                                   \
        ROW(text_name, text, __VA_ARGS__, .map = bj_dialect_compact_first,     \
            .key = {"state"}, .versions = V1_8)
#define BY_PARTITION_STATE(text_name, text, ...)                               \
    ROW(text_name, text, __VA_ARGS__, .map = bj_dialect_state_second,          \
        .key = {"partition", "state"}, .versions = V1_7),                      \
        ROW(text_name, text, __VA_ARGS__, .map = bj_dialect_compact_second,    \
            .key = {"partition", "state"}, .versions = V1_8)
#define PARTITION(field)                                                       \
    BJ_IN_SUMS(BJ_CL_PARTITION_NODES, bj_nodes_stat, field), BJ_NOT_ZERO
#define LESS(field) BJ_SUM_WITH(SUB, bj_nodes_stat, field)

/* State of a command. */
#define TOOK(text_name, source)                                                \
    ROW(text_name, "Time that the last " source " took, in milliseconds.",     \
        BJ_IN_SUMS(BJ_CL_SOURCES, bj_source_stat, duration_usec),              \
        .only = {source}, BJ_UNIT(MILLI))
#define FAILED(text_name, source)                                              \
    COUNTER(text_name, "Times that " source " failed.",                        \
            BJ_IN_SUMS(BJ_CL_SOURCE_ERRORS, bj_count_stat, count),             \
            .only = {source})

#define BAD_LINES(text_name)                                                   \
    COUNTER(text_name, "Lines of squeue that could not be parsed.",            \
            BJ_IN_SUMS(BJ_CL_SOURCES, bj_source_stat, bad_lines),              \
            .only = {"queue"})

#define LICENSE(text_name, text, field)                                        \
    ROW("slurm_lic_" text_name, text,                                          \
        BJ_IN_SUMS(BJ_CL_LICENSES, bj_license_stat, field), .key = {"name"},   \
        BJ_NOT_ZERO)
#define RPC_USER(field)                                                        \
    BJ_IN_SUMS(BJ_CL_RPC_USERS, bj_rpc_stat, field), .key = {"user"},          \
                                                     BJ_NOT_ZERO
#define RPC_TYPE(field)                                                        \
    BJ_IN_SUMS(BJ_CL_RPC_TYPES, bj_rpc_stat, field), .key = {"type"}
#define LIMIT(field)                                                           \
    BJ_IN_SUMS(BJ_CL_LIMITS, bj_limit_stat, field),                            \
        .map = of_account, .key = {"account"}, BJ_NOT_ZERO

/* Values of the account itself, without users and partitions. */
static bool of_account(struct bj_arena *arena, struct bj_slice key[BJ_SUB_KEYS])
{
    (void)arena;
    return key[1].n == 0 && key[2].n == 0;
}

static uint64_t backfill_usec(const void *record)
{
    const struct bj_sdiag *d =
        &((const struct bj_controller_stat *)record)->diag;
    uint64_t sum;
    if (d->bf_sum_usec != BJ_ABSENT)
        return d->bf_sum_usec;
    return d->bf_cycles == BJ_ABSENT || d->bf_mean_usec == BJ_ABSENT ||
                   __builtin_mul_overflow(d->bf_cycles, d->bf_mean_usec, &sum)
               ? BJ_ABSENT
               : sum;
}

static uint64_t load_micro(const void *record)
{
    const struct bj_nodes_stat *n = record;
    uint64_t v;
    return __builtin_mul_overflow(n->load_centi, 10000, &v) ? BJ_ABSENT : v;
}

static uint64_t weight(const void *record)
{
    return ((const struct bj_nodes_stat *)record)->weight;
}

/* States in which jobs hold their allocation; in other states values are
 * requests or of the past. */
static uint64_t if_held(const struct bj_jobs_stat *s, uint64_t v)
{
    static const char *const states[] = {"RUNNING",    "SUSPENDED", "STOPPED",
                                         "COMPLETING", "RESIZING",  "SIGNALING",
                                         "CONFIGURING"};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (bj_slice_eq(s->sub.key[0], bj_slice_str(states[i])))
            return v;
    return 0;
}

static uint64_t held_cpus(const void *record)
{
    const struct bj_jobs_stat *s = record;
    return if_held(s, s->cpus);
}

static uint64_t held_bytes(const void *record)
{
    const struct bj_jobs_stat *s = record;
    return if_held(s, s->mem_bytes);
}

static const struct bj_dialect_row rows[] = {
    ROW("slurm_user_state_total", "Jobs of the user.",
        JOBS(BJ_CL_USER_JOBS, jobs), BY_STATE("username")),
    ROW("slurm_user_cpu_alloc", "CPUs of the user's jobs.",
        JOBS(BJ_CL_USER_JOBS, cpus), BY_STATE("username")),
    BYTES("slurm_user_mem_alloc", "Memory of the user's jobs, in bytes.",
          JOBS(BJ_CL_USER_JOBS, mem_bytes), BY_STATE("username")),
    ROW("slurm_account_job_state_total", "Jobs of the account.",
        JOBS(BJ_CL_ACCOUNT_JOBS, jobs), BY_STATE("account")),
    ROW("slurm_account_job_state_cpu_alloc", "CPUs of the account's jobs.",
        JOBS(BJ_CL_ACCOUNT_JOBS, cpus), BY_STATE("account")),
    BYTES("slurm_account_job_state_mem_alloc",
          "Memory of the account's jobs, in bytes.",
          JOBS(BJ_CL_ACCOUNT_JOBS, mem_bytes), BY_STATE("account")),
    /* Names in the README of the original. */
    ROW("slurm_account_cpu_alloc", "CPUs of the account's jobs of all states.",
        JOBS(BJ_CL_ACCOUNT_JOBS, cpus), .key = {"account"}),
    BYTES("slurm_account_mem_alloc",
          "Memory of the account's jobs of all states, in bytes.",
          JOBS(BJ_CL_ACCOUNT_JOBS, mem_bytes), .key = {"account"}),
    ROW("slurm_job_count_per_state", "Jobs in the state.",
        BJ_IN_SUMS(BJ_CL_JOBS, bj_jobs_stat, jobs), .key = {"state"}),
    ROW("slurm_partition_job_state_total", "Jobs of the partition.",
        JOBS(BJ_CL_PARTITION_JOBS, jobs), BY_STATE("partition")),
    ROW("slurm_feature_total", "Jobs that request the feature.", FEATURE(jobs)),
    ROW("slurm_feature_cpu_alloc", "CPUs of jobs that request the feature.",
        FEATURE(cpus)),
    BYTES("slurm_feature_mem_alloc",
          "Memory of jobs that request the feature, in bytes.",
          FEATURE(mem_bytes)),
    ROW("slurm_pending_reason_total", "Pending jobs by reason.",
        JOBS(BJ_CL_PENDING, jobs), .key = {"reason"}),
    ROW("slurm_jobs_state_count", "Jobs in the state.",
        BJ_IN_SUMS(BJ_CL_JOBS, bj_jobs_stat, jobs), .key = {"state"}),
    ROW("slurm_jobs_total_alloc_cpus", "CPUs allocated to jobs.",
        BJ_IN_SUMS(BJ_CL_JOBS, bj_jobs_stat, cpus), .map = bj_dialect_no_key,
        .value = held_cpus, BJ_OR_ZERO(QUEUE)),
    BYTES("slurm_jobs_total_alloc_mem", "Memory allocated to jobs, in bytes.",
          BJ_IN_SUMS(BJ_CL_JOBS, bj_jobs_stat, mem_bytes),
          .map = bj_dialect_no_key, .value = held_bytes, BJ_OR_ZERO(QUEUE)),
    TOOK("slurm_job_scrape_duration", "queue"),
    BAD_LINES("job_scrape_errors"),
    /* Other names of the same families in its README. */
    BAD_LINES("slurm_job_scrape_error"),
    ROW("slurm_partition_total_cpus", "CPUs of the partition.", PARTITION(cpus),
        .key = {"partition"}),
    ROW("slurm_partition_idle_cpus", "Idle CPUs of the partition.",
        PARTITION(cpus_idle), .key = {"partition"}),
    ROW("slurm_partition_cpu_load", "Load of the partition's nodes.",
        PARTITION(nodes), .value = load_micro, BJ_UNIT(MICRO),
        .key = {"partition"}),
    ROW("slurm_partition_weight", "Weights of the partition's nodes.",
        PARTITION(nodes), .value = weight, .key = {"partition"}),
    BYTES("slurm_partition_real_mem", "Memory of the partition, in bytes.",
          PARTITION(mem_bytes), .key = {"partition"}),
    BYTES("slurm_partition_free_mem",
          "Memory of the partition that is unused by its operating systems, in "
          "bytes.",
          PARTITION(mem_free_bytes), .key = {"partition"}),
    BY_PARTITION_STATE("slurm_partition_alloc_cpus",
                       "Allocated CPUs of the partition.",
                       PARTITION(cpus_allocated)),
    BY_PARTITION_STATE("slurm_partition_alloc_mem",
                       "Allocated memory of the partition, in bytes.",
                       PARTITION(mem_allocated_bytes), BJ_WHEN(RIGHT)),
    /* 1.7 subtracts free memory, 1.8 reads what Slurm has allocated. */
    ROW("slurm_partition_alloc_mem",
        "Memory of the partition that is not free, in bytes.",
        PARTITION(mem_bytes), LESS(mem_free_bytes),
        .map = bj_dialect_state_second, .key = {"partition", "state"},
        BJ_UNIT(MB), BJ_WHEN(STRICT), .versions = V1_7),
    ROW("slurm_partition_alloc_mem",
        "Allocated memory of the partition, in bytes.",
        PARTITION(mem_allocated_bytes), .map = bj_dialect_compact_second,
        .key = {"partition", "state"}, BJ_UNIT(MB), BJ_WHEN(STRICT),
        .versions = V1_8),
    BY_PARTITION_STATE("slurm_partition_node_count", "Nodes of the partition.",
                       PARTITION(nodes)),
    ROW("slurm_cpus_total", "CPUs.", NODES(cpus), BJ_OR_ZERO(NODES)),
    ROW("slurm_cpus_idle", "Idle CPUs.", NODES(cpus_idle), BJ_OR_ZERO(NODES)),
    ROW("slurm_cpu_load", "Load of all nodes.", NODES(nodes),
        .value = load_micro, BJ_UNIT(MICRO), BJ_OR_ZERO(NODES)),
    BY_NODE_STATE("slurm_cpus_per_state", "CPUs of nodes in the state.",
                  NODES(cpus)),
    BY_NODE_STATE("slurm_node_count_per_state", "Nodes in the state.",
                  NODES(nodes)),
    BYTES("slurm_mem_real", "Memory, in bytes.", NODES(mem_bytes),
          BJ_OR_ZERO(NODES)),
    BYTES("slurm_mem_free", "Memory unused by operating systems, in bytes.",
          NODES(mem_free_bytes), BJ_OR_ZERO(NODES)),
    ROW("slurm_mem_alloc", "Allocated memory, in bytes.",
        NODES(mem_allocated_bytes), BJ_OR_ZERO(NODES), BJ_WHEN(RIGHT)),
    ROW("slurm_mem_alloc", "Memory that is not free, in bytes.",
        NODES(mem_bytes), LESS(mem_free_bytes), BJ_OR_ZERO(NODES), BJ_UNIT(MB),
        BJ_WHEN(STRICT), .versions = V1_7),
    ROW("slurm_mem_alloc", "Allocated memory, in bytes.",
        NODES(mem_allocated_bytes), BJ_OR_ZERO(NODES), BJ_UNIT(MB),
        BJ_WHEN(STRICT), .versions = V1_8),
    TOOK("slurm_node_scrape_duration", "nodes"),
    FAILED("slurm_node_scrape_error", "nodes"),
    LICENSE("total", "Licences.", total),
    LICENSE("used", "Licenses in use.", used),
    LICENSE("free", "Free licenses.", free),
    LICENSE("reserved", "Reserved licenses.", reserved),
    LICENSE("last_consumed",
            "Licenses in use as the license server last reported.",
            last_consumed),
    LICENSE("last_deficit",
            "Licenses missing from the configured number, as the license "
            "server last reported.",
            last_deficit),
    FAILED("slurm_lic_scrape_error", "licenses"),
    ROW("slurm_rpc_user_count", "RPCs of the user.", RPC_USER(count)),
    ROW("slurm_rpc_user_total_time",
        "Time spent on RPCs of the user, in microseconds.",
        RPC_USER(total_usec)),
    ROW("slurm_rpc_msg_type_count", "RPCs of the type.", RPC_TYPE(count)),
    ROW("slurm_rpc_msg_type_avg_time",
        "Average time spent on an RPC of the type, in microseconds.",
        RPC_TYPE(total_usec), BJ_SUM_WITH(PER, bj_rpc_stat, count)),
    ROW("slurm_rpc_msg_type_total_time",
        "Time spent on RPCs of the type, in microseconds.",
        RPC_TYPE(total_usec)),
    ROW("slurm_daemon_thread_count",
        "Threads of the controller that serve RPCs.",
        BJ_IN_DIAG(server_threads)),
    ROW("slurm_dbd_agent_queue_size",
        "Messages the controller has yet to send to the accounting daemon.",
        BJ_IN_DIAG(dbd_queue)),
    ROW("slurm_backfill_job_count",
        "Jobs started by backfill since the controller started.",
        BJ_IN_DIAG(bf_jobs)),
    ROW("slurm_backfill_last_depth",
        "Jobs that backfill considered in its last cycle.",
        BJ_IN_DIAG(bf_depth)),
    ROW("slurm_backfill_last_depth_try_sched",
        "Jobs that backfill tried to start in its last cycle.",
        BJ_IN_DIAG(bf_depth_try)),
    ROW("slurm_backfill_cycle_counter", "Cycles of the backfill scheduler.",
        BJ_IN_DIAG(bf_cycles)),
    ROW("slurm_backfill_cycle_count",
        "Duration of all backfill cycles in microseconds; from text output "
        "their "
        "average times their number.",
        BJ_IN_DIAG(bf_mean_usec), .value = backfill_usec),
    TOOK("slurm_diag_scrape_duration", "diag"),
    FAILED("slurm_diag_scrape_error", "diag"),
    ROW("slurm_account_cpu_limit", "Limit of CPUs of the account.",
        LIMIT(cpus)),
    BYTES("slurm_account_mem_limit",
          "Limit of memory of the account, in bytes.", LIMIT(mem_bytes)),
    ROW("slurm_account_job_alloc_limit",
        "Limit of running jobs of the account.", LIMIT(jobs)),
    ROW("slurm_account_job_limit",
        "Limit of pending and running jobs of the account.", LIMIT(submit)),
    TOOK("slurm_limit_scrape_duration", "limits"),
    FAILED("slurm_account_collect_error", "limits"),
    /* Later than 1.8, from its public branches. The association of the account
     * itself; it has no user. */
    ROW("slurm_account_fairshare", "Fair-share factor of the account.",
        BJ_IN_SUMS(BJ_CL_SHARES, bj_share_stat, fairshare_ppm), BJ_UNIT(MICRO),
        .only = {NULL, ""}, .key = {"account"}, .versions = V1_8),
    ROW("slurm_fairshare_scrape_duration",
        "Time that the last shares took, in milliseconds.",
        BJ_IN_SUMS(BJ_CL_SOURCES, bj_source_stat, duration_usec),
        .only = {"shares"}, BJ_UNIT(MILLI), .versions = V1_8),
    COUNTER("slurm_fairshare_scrape_error", "Times that shares failed.",
            BJ_IN_SUMS(BJ_CL_SOURCE_ERRORS, bj_count_stat, count),
            .only = {"shares"}, .versions = V1_8),
    COUNTER("process_cpu_seconds_total", "CPU time used by this process.",
            BJ_IN_SNAP(self.cpu_usec), BJ_UNIT(MICRO)),
    ROW("process_max_fds", "Limit of open file descriptors of this process.",
        BJ_IN_SNAP(self.max_fds)),
    ROW("process_open_fds", "Open file descriptors of this process.",
        BJ_IN_SNAP(self.open_fds)),
    ROW("process_resident_memory_bytes", "Resident memory of this process.",
        BJ_IN_SNAP(self.rss_bytes)),
    ROW("process_start_time_seconds",
        "Start time of this process in seconds since 1970.",
        BJ_IN_SNAP(self.start_sec)),
    ROW("process_virtual_memory_bytes", "Address space of this process.",
        BJ_IN_SNAP(self.vm_bytes)),
    ROW("process_virtual_memory_max_bytes",
        "Limit of the address space of this process; 2^64: unlimited.",
        BJ_IN_SNAP(self.vm_max_bytes), .lack = UINT64_MAX - 1),
};

static const struct bj_dialect_label bare[] = {{.name = NULL}};

#define RIVOS(text_name, bit, text_sources)                                    \
    {                                                                          \
        .name = text_name, .version = (bit), .port = "9092",                   \
        .collect = BJ_COLLECT(CLUSTER),                                        \
        .by = "partition,user,account,reason,feature",                         \
        .sources = text_sources, BJ_TABLE(rows), .labels = {bare},             \
    }

const struct bj_dialect bj_dialect_prometheus_slurm_exporter =
    RIVOS("prometheus-slurm-exporter", V1_7, "diag,licenses,limits");
const struct bj_dialect bj_dialect_prometheus_slurm_exporter_1_8 =
    RIVOS("prometheus-slurm-exporter-1.8", V1_8, "diag,licenses,limits,shares");
