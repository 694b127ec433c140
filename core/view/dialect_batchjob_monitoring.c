/* The names of batchjob_monitoring, December 2023. */
#include "core/view/dialect_energy.h"

#define ROW(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED("batchjob_" text_name, BJ_GAUGE, text), __VA_ARGS__           \
    }
#define COUNTER(text_name, text, ...)                                          \
    {                                                                          \
        BJ_NAMED("batchjob_" text_name, BJ_COUNTER, text), __VA_ARGS__         \
    }

enum { OF_JOB, OF_NODE };

static const struct bj_dialect_row rows[] = {
    BJ_STEPS_USE(ROW),
    ROW("memory_total_bytes", "Memory limit in bytes; -1: unlimited.",
        BJ_IN_USAGE(mem_limit_bytes), BJ_WHEN(STRICT_V2)),
    ROW("memory_total_bytes", "Memory limit in bytes; -1: unlimited.",
        BJ_IN_USAGE(mem_limit_bytes), .lack = 1, .lacking = true, .minus = true,
        .more = true, BJ_WHEN(STRICT_V2)),
    BJ_FAIL_COUNT(ROW, BJ_IN_USAGE),
    BJ_STEPS_SWAP(ROW),
    ROW("ipmi_dcmi_watts_total",
        "Power of the node in watts, as its BMC reports it.", BJ_DCMI,
        .labels = OF_NODE, BJ_WHEN(RIGHT)),
    COUNTER("ipmi_dcmi_watts_total",
            "Power of the node in watts, as its BMC reports it.", BJ_DCMI,
            .labels = OF_NODE, BJ_WHEN(STRICT)),
    COUNTER("rapl_package_joules_total", "Energy of CPU packages in joules.",
            BJ_RAPL(bj_rapl_packages), .labels = OF_NODE),
    COUNTER("rapl_dram_joules_total", "Energy of memory in joules.",
            BJ_RAPL(bj_rapl_drams), .labels = OF_NODE),
    COUNTER("rapl_core_joules_total", "Energy of CPU cores in joules.",
            BJ_RAPL(bj_rapl_cores), .labels = OF_NODE),
    COUNTER("rapl_uncore_joules_total",
            "Energy of CPU packages without their cores in joules.",
            BJ_RAPL(bj_rapl_uncores), .labels = OF_NODE),
    COUNTER("rapl_psys_joules_total", "Energy of the platform in joules.",
            BJ_RAPL(bj_rapl_psys), .labels = OF_NODE),
    ROW("emissions_gCo2_kWh",
        "Emission factor of electricity in grams of CO2 equivalent per kWh.",
        BJ_IN_SNAPS(factors, bj_factor_stat, ug_per_kwh), BJ_UNIT(MICRO),
        .only = {NULL, "average_*"}, .first = true, .labels = OF_NODE),
    ROW("nvidia_gpu_jobid", "Id of the job that holds the GPU; 0: none.",
        .of = BJ_ROW_GPU_JOB, .key = {"uuid"}, .labels = OF_NODE),
    BJ_COLLECTORS(ROW, OF_NODE),
    BJ_BUILD_INFO(ROW, OF_NODE),
};

static const struct bj_dialect_label labels[] = {
    BJ_FIXED("batch", "slurm"),
    BJ_FROM("jobid", BJ_ID_JOBID),
    BJ_FROM("jobaccount", BJ_ID_ACCOUNT),
    {.name = "jobuuid", .of = BJ_LABEL_UUID},
    {.name = NULL},
};
static const struct bj_dialect_label none[] = {{.name = NULL}};

const struct bj_dialect bj_dialect_batchjob_monitoring = {
    .name = "batchjob_monitoring",
    .port = "9010",
    .system = "slurm",
    .collect = BJ_COLLECT(CPU) | BJ_COLLECT(MEMORY) | BJ_COLLECT(ENERGY) |
               BJ_COLLECT(GPU),
    BJ_TABLE(rows),
    .labels = {[OF_JOB] = labels, [OF_NODE] = none},
    .step = {"step", "task"},
};
