/* The names of slurm-job-exporter 0.4. */
#include "core/view/dialect_tables.h"

#define ROW(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED("slurm_job_" text_name, BJ_GAUGE, text), __VA_ARGS__          \
    }
#define COUNTER(text_name, text, ...)                                          \
    {                                                                          \
        BJ_NAMED("slurm_job_" text_name "_total", BJ_COUNTER, text),           \
            __VA_ARGS__                                                        \
    }

#define GPU(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED("slurm_job_" text_name, BJ_GAUGE, text), BJ_LEVEL,            \
            .key = {"gpu", "gpu_type"}, __VA_ARGS__                            \
    }
#define WAY(text_name, text, way, field, again)                                \
    {                                                                          \
        BJ_NAMED("slurm_job_" text_name, BJ_GAUGE, text), BJ_LEVEL,            \
            .key = {"gpu", "gpu_type", "direction"}, .fixed = {(way)},         \
            .more = (again), BJ_IN_GPUS(field)                                 \
    }
#define LINK(text_name, text, tx, rx)                                          \
    WAY(text_name, text, "TX", tx, false), WAY(text_name, text, "RX", rx, true)

/* Processes that start the job are not counted. */
static const char *const helpers[] = {"ssh",  "sshd",    "bash",
                                      "srun", "(other)", NULL};

/* Thread states as psutil names them. */
static const struct bj_dialect_word states[] = {
    {"disk_sleep", "disk-sleep"},
    {"tracing_stop", "tracing-stop"},
    {"wake_kill", "wake-kill"},
    {NULL, NULL},
};

static const struct bj_dialect_row rows[] = {
    ROW("memory_usage", "Memory charged to the job, including page cache.",
        BJ_IN_JOB(use.mem_used_bytes), BJ_LEVEL),
    ROW("memory_max", "Peak of the memory charged to the job.",
        BJ_IN_JOB(use.mem_peak_bytes)),
    ROW("memory_limit", "Memory limit of the job.",
        BJ_IN_JOB(use.mem_limit_bytes)),
    ROW("memory_cache", "Page cache of the job.",
        BJ_IN_JOB(use.mem_cache_bytes), BJ_LEVEL),
    ROW("memory_rss", "Anonymous memory of the job.",
        BJ_IN_JOB(use.mem_rss_bytes), BJ_LEVEL),
    ROW("memory_rss_huge",
        "Anonymous memory of the job in transparent huge pages.",
        BJ_IN_JOB(use.mem_huge_bytes), BJ_LEVEL),
    ROW("memory_mapped_file", "Page cache mapped by processes of the job.",
        BJ_IN_JOB(use.mem_mapped_bytes), BJ_LEVEL, BJ_WHEN(RIGHT_V2)),
    ROW("memory_mapped_file",
        "Page cache mapped by processes of the job, and shared memory.",
        BJ_IN_JOB(use.mem_mapped_bytes), BJ_AND_JOB(use.mem_shmem_bytes),
        BJ_LEVEL, BJ_WHEN(STRICT_V2)),
    ROW("memory_active_file", "Page cache the job used recently.",
        BJ_IN_JOB(use.mem_active_file_bytes), BJ_LEVEL),
    ROW("memory_inactive_file",
        "Page cache of the job that the kernel reclaims first.",
        BJ_IN_JOB(use.mem_inactive_file_bytes), BJ_LEVEL),
    ROW("memory_unevictable",
        "Memory of the job that the kernel cannot reclaim.",
        BJ_IN_JOB(use.mem_unevictable_bytes), BJ_LEVEL),
    COUNTER("core_usage", "CPU time the job used on one CPU, in nanoseconds.",
            BJ_IN_JOBS(cores, bj_core_use, cpu_usec), BJ_UNIT(NSEC),
            .use = BJ_SECOND_ELSE,
            .second = offsetof(struct bj_core_use, cpu_estimated_usec),
            .key = {"core"}, BJ_WHEN(RIGHT_V2)),
    COUNTER(
        "core_usage",
        "CPU time of the job divided by its number of CPUs, in nanoseconds.",
        BJ_IN_JOBS(even_cores, bj_core_use, cpu_usec), BJ_UNIT(NSEC),
        .key = {"core"}, BJ_WHEN(STRICT_V2)),
    ROW("process_count", "Processes of the job.", BJ_IN_JOB(proc.processes),
        BJ_LEVEL, BJ_WHEN(RIGHT)),
    ROW("process_count",
        "Processes of the job without root's and the batch script's shell.",
        BJ_IN_EXTRA(user_processes), BJ_LEVEL, BJ_WHEN(STRICT)),
    ROW("threads_count", "Threads of the job by state.",
        BJ_IN_JOBS(states, bj_state_use, threads), BJ_LEVEL, .key = {"state"},
        .words = states, BJ_WHEN(RIGHT)),
    ROW("threads_count", "Threads of these processes by state.",
        BJ_IN_JOBS(user_states, bj_state_use, threads), BJ_LEVEL,
        .key = {"state"}, .words = states, BJ_WHEN(STRICT)),
    COUNTER("process_usage", "CPU time of the job by executable, in seconds.",
            BJ_IN_JOBS(exes, bj_exe_use, cpu_usec), BJ_UNIT(MICRO),
            .key = {"exe"}, .skip = helpers, .least = 60 * 1000000,
            BJ_WHEN(RIGHT)),
    COUNTER("process_usage",
            "CPU time of the job's processes by executable, in seconds.",
            BJ_IN_JOBS(exe_counts, bj_exe_count, cpu_usec), BJ_LEVEL,
            BJ_UNIT(MICRO), .key = {"exe"}, .skip = helpers,
            .least = 60 * 1000000, BJ_WHEN(STRICT)),
    GPU("memory_total_gpu", "Memory of the GPU.",
        BJ_IN_GPUS(memory_total_bytes)),
    GPU("memory_usage_gpu", "Memory of the GPU in use by the job.",
        BJ_IN_PARTS(memory_used_bytes), BJ_WHEN(RIGHT)),
    GPU("memory_usage_gpu", "Memory of the GPU in use by any process.",
        BJ_IN_GPUS(memory_used_bytes), BJ_WHEN(STRICT)),
    GPU("power_gpu", "Power of the GPU attributed to the job, in milliwatts.",
        BJ_IN_PARTS(power_uw), BJ_UNIT(MILLI), BJ_WHEN(RIGHT)),
    GPU("power_gpu", "Power of the GPU, in milliwatts.", BJ_IN_GPUS(power_uw),
        BJ_UNIT(MILLI), BJ_WHEN(STRICT)),
    GPU("utilization_gpu", "Share of its multiprocessors in use, in percent.",
        BJ_IN_GPUS(sm_ppm), BJ_UNIT(PERCENT), .use = BJ_SECOND_ELSE,
        .second = offsetof(struct bj_gpu_use, busy_ppm)),
    GPU("utilization_gpu_memory",
        "Share of the bandwidth of its memory in use, in percent.",
        BJ_IN_GPUS(dram_ppm), BJ_UNIT(PERCENT), .use = BJ_SECOND_ELSE,
        .second = offsetof(struct bj_gpu_use, memory_busy_ppm)),
    GPU("sm_occupancy_gpu", "Share of its warps that are resident, in percent.",
        BJ_IN_GPUS(occupancy_ppm), BJ_UNIT(PERCENT)),
    GPU("tensor_gpu", "Share of time its tensor pipe is in use, in percent.",
        BJ_IN_GPUS(tensor_ppm), BJ_UNIT(PERCENT)),
    GPU("fp64_gpu", "Share of time its FP64 pipe is in use, in percent.",
        BJ_IN_GPUS(fp64_ppm), BJ_UNIT(PERCENT)),
    GPU("fp32_gpu", "Share of time its FP32 pipe is in use, in percent.",
        BJ_IN_GPUS(fp32_ppm), BJ_UNIT(PERCENT)),
    GPU("fp16_gpu", "Share of time its FP16 pipe is in use, in percent.",
        BJ_IN_GPUS(fp16_ppm), BJ_UNIT(PERCENT)),
    LINK("pcie_gpu", "Bytes a second over PCIe.", pcie_tx_rate, pcie_rx_rate),
    LINK("nvlink_gpu", "Bytes a second over NVLink.", nvlink_tx_rate,
         nvlink_rx_rate),
};

static const struct bj_dialect_label labels[] = {
    BJ_FROM("user", BJ_ID_USER),
    {.name = "account",
     .of = BJ_LABEL_IDENT,
     .field = BJ_ID_ACCOUNT,
     .text = "error"},
    BJ_FROM("slurmjobid", BJ_ID_JOBID),
    {.name = NULL},
};

const struct bj_dialect bj_dialect_slurm_job_exporter = {
    .name = "slurm-job-exporter",
    .port = "9798",
    .system = "slurm",
    .empty = true,
    .openmetrics = true,
    .collect = BJ_COLLECT(CPU) | BJ_COLLECT(MEMORY) | BJ_COLLECT(PERCORE) |
               BJ_COLLECT(PROCESS) | BJ_COLLECT(GPU),
    .strict_extras = BJ_EXTRA_ALIVE | BJ_EXTRA_CPUS | BJ_EXTRA_EVEN |
                     BJ_EXTRA_USERS | BJ_EXTRA_SLEEP,
    BJ_TABLE(rows),
    .labels = {labels},
};
