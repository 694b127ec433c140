/* The names of CEEMS, Slurm collector. */
#include "core/view/dialect_energy.h"

#include "carbon/table.h"
#include "core/view/dialect_walk.h"

#include <ctype.h>

#define ROW(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED("ceems_" text_name, BJ_GAUGE, text), __VA_ARGS__              \
    }
#define COUNTER(text_name, text, ...)                                          \
    {                                                                          \
        BJ_NAMED("ceems_" text_name, BJ_COUNTER, text), __VA_ARGS__            \
    }
#define UNIT(text_name, text, ...)                                             \
    ROW("compute_unit_" text_name, text, __VA_ARGS__)

enum { OF_UNIT, OF_NODE, OF_MANAGER, BARE };

static const char *const gpu_keys[] = {"index", "hindex", "gpuuuid", "gpuiid",
                                       NULL};

/* Words and names of the providers of emission factors. */
static const struct bj_dialect_word providers[] = {
    {"table", "owid"},
    {"electricitymaps", "emaps"},
    {"watttime", "wt"},
    {NULL, NULL},
};
static const struct bj_dialect_word provider_names[] = {
    {"table", "OWID"},
    {"electricitymaps", "Electricity Maps"},
    {"rte", "RTE eCO2 Mix"},
    {"watttime", "Watt Time"},
    {NULL, NULL},
};
static const char *const factor_names[] = {"provider_name", "country", NULL};

/* The provider's name, and that of the country or zone. */
static void name_factor(struct bj_arena *arena,
                        const struct bj_slice key[BJ_SUB_KEYS],
                        struct bj_slice *ret)
{
    const struct bj_dialect_row names = {.words = provider_names};
    const struct bj_country *c = bj_carbon_country(key[2]);
    (void)arena;
    ret[0] = bj_dialect_map_word(&names, key);
    ret[1] = c ? bj_slice_str(c->name) : key[2];
}

static const char *const chassis_name[] = {"chassis", NULL};

/* The id of a chassis: each part without letters, digits and '_' is one '_',
 * with those around it. */
static void name_chassis(struct bj_arena *arena,
                         const struct bj_slice key[BJ_SUB_KEYS],
                         struct bj_slice *ret)
{
    const struct bj_slice id = key[2].n > 0 ? key[2] : key[1];
    char *to = bj_arena_alloc(arena, id.n + 1);
    size_t n = 0;
    ret[0] = BJ_SLICE("");
    if (!to)
        return;
    for (size_t i = 0; i < id.n;) {
        size_t run = i, other = 0;
        for (; run < id.n && !isalnum((unsigned char)id.p[run]); run++)
            other += id.p[run] != '_';
        if (other > 0)
            to[n++] = '_';
        for (; other == 0 && i < run; i++)
            to[n++] = '_';
        i = run;
        if (i < id.n)
            to[n++] = id.p[i++];
    }
    ret[0] = (struct bj_slice){to, n};
}

static const struct bj_dialect_row rows[] = {
    ROW("compute_units", "Jobs on the node.", .of = BJ_ROW_COUNT,
        .labels = OF_MANAGER),
    COUNTER("compute_unit_cpu_user_seconds_total", "CPU time in user mode.",
            BJ_IN_JOB(use.cpu_user_usec), BJ_UNIT(MICRO)),
    COUNTER("compute_unit_cpu_system_seconds_total", "CPU time in kernel mode.",
            BJ_IN_JOB(use.cpu_system_usec), BJ_UNIT(MICRO)),
    UNIT("cpus", "CPUs available (effective cpuset).", BJ_IN_JOB(use.cpus),
         BJ_LEVEL),
    UNIT("memory_rss_bytes", "Anonymous memory.", BJ_IN_JOB(use.mem_rss_bytes),
         BJ_LEVEL),
    UNIT("memory_cache_bytes", "Page cache, including shared memory.",
         BJ_IN_JOB(use.mem_cache_bytes), BJ_LEVEL),
    UNIT("memory_used_bytes", "Memory charged, including page cache.",
         BJ_IN_JOB(use.mem_used_bytes), BJ_LEVEL),
    UNIT("memory_total_bytes",
         "Memory limit; without its own, that of the nearest limited parent "
         "cgroup.",
         BJ_IN_JOB(use.mem_limit_bytes), BJ_WHEN(RIGHT)),
    UNIT("memory_total_bytes", "Memory limit; 2^63: unlimited.",
         BJ_IN_JOB(use.mem_limit_bytes), .lack = BJ_V1_UNLIMITED,
         BJ_WHEN(STRICT_V1)),
    UNIT("memory_total_bytes",
         "Memory limit; if unlimited, memory of the node.",
         BJ_IN_JOB(use.mem_limit_bytes), BJ_LEVEL,
         .lack_at = offsetof(struct bj_snap, node.mem_total_bytes),
         BJ_WHEN(STRICT_V2)),
    BJ_FAIL_COUNT(UNIT, BJ_IN_USE),
    BJ_MEMSW(UNIT, BJ_IN_USE),
    BJ_ONLY_SWAP(UNIT, BJ_LEVEL, BJ_IF_SWAP,
                 .lack_at = offsetof(struct bj_snap, node.mem_total_bytes)),
    UNIT("cpu_psi_seconds", "Time in which all threads waited for a CPU.",
         BJ_IN_JOB(use.psi_cpu_full_usec), BJ_UNIT(MICRO)),
    UNIT("memory_psi_seconds", "Time in which all threads waited for memory.",
         BJ_IN_JOB(use.psi_mem_full_usec), BJ_UNIT(MICRO)),
    UNIT("gpu_index_flag", "Share of the GPU that the job holds, 0 to 1.",
         BJ_IN_PARTS(share_ppm), BJ_LEVEL, BJ_UNIT(MICRO), .info = gpu_keys),
    UNIT("gpu_sm_count", "Multiprocessors of the GPU or instance.",
         BJ_IN_GPUS(multiprocessors), BJ_LEVEL, .info = gpu_keys),
    COUNTER("cpu_seconds_total", "CPU time of the node by mode.",
            BJ_IN_SNAPS(node.modes, bj_mode_use, cpu_usec), BJ_UNIT(MICRO),
            .key = {"mode"}, .labels = OF_NODE),
    ROW("cpu_count", "CPUs that are online.", BJ_IN_SNAP(node.cpus),
        .labels = OF_NODE),
    ROW("cpu_per_core_count", "Online CPUs that share a core.",
        BJ_IN_SNAP(node.cpus), .use = BJ_SECOND_PER,
        .second = offsetof(struct bj_snap, node.cores), .labels = OF_NODE),
    ROW("meminfo_MemTotal_bytes", "Memory of the node.",
        BJ_IN_SNAP(node.mem_total_bytes), .labels = OF_NODE),
    ROW("meminfo_MemFree_bytes", "Unused memory, excluding page cache.",
        BJ_IN_SNAP(node.mem_free_bytes), .labels = OF_NODE),
    ROW("meminfo_MemAvailable_bytes", "Memory available without swapping.",
        BJ_IN_SNAP(node.mem_available_bytes), .labels = OF_NODE),
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
    ROW("rapl_package_power_limit_watts_total", "Power limit of CPU packages.",
        BJ_RAPL_OF(limit_uw, bj_rapl_packages), .labels = OF_NODE),
    ROW("rapl_dram_power_limit_watts_total", "Power limit of memory.",
        BJ_RAPL_OF(limit_uw, bj_rapl_drams), .labels = OF_NODE),
    ROW("rapl_core_power_limit_watts_total", "Power limit of CPU cores.",
        BJ_RAPL_OF(limit_uw, bj_rapl_cores), .labels = OF_NODE),
    ROW("rapl_uncore_power_limit_watts_total",
        "Power limit of CPU packages without their cores.",
        BJ_RAPL_OF(limit_uw, bj_rapl_uncores), .labels = OF_NODE),
    ROW("rapl_psys_power_limit_watts_total", "Power limit of the platform.",
        BJ_RAPL_OF(limit_uw, bj_rapl_psys), .labels = OF_NODE),
    ROW("ipmi_dcmi_current_watts",
        "Power of the node in watts, as its BMC reports it.", BJ_DCMI,
        .labels = OF_NODE),
    ROW("redfish_current_watts", "Power of a chassis, as its BMC reports it.",
        BJ_ZONE(power_uw, "redfish", NULL), BJ_UNIT(MICRO),
        .info = chassis_name, .more_keys = name_chassis, .labels = OF_NODE),
    ROW("cray_pm_counters_energy_joules", "Energy, as the blade reports it.",
        BJ_ZONE(energy_uj, "cray", NULL), BJ_UNIT(MICRO),
        .key = {NULL, "domain"}, .labels = OF_NODE),
    ROW("cray_pm_counters_power_watts", "Power, as the blade reports it.",
        BJ_ZONE(power_uw, "cray", NULL), BJ_UNIT(MICRO),
        .key = {NULL, "domain"}, .labels = OF_NODE),
    ROW("cray_pm_counters_power_limit_watts",
        "Power limit, as the blade reports it.",
        BJ_ZONE(limit_uw, "cray", NULL), BJ_UNIT(MICRO),
        .key = {NULL, "domain"}, .labels = OF_NODE),
    ROW("emissions_gCo2_kWh",
        "Emission factor of electricity in grams of CO2 equivalent per kWh.",
        BJ_IN_SNAPS(factors, bj_factor_stat, ug_per_kwh), BJ_UNIT(MICRO),
        .only = {NULL, "average_*"}, .unlike_last = true,
        .key = {"provider", NULL, "country_code"}, .words = providers,
        .info = factor_names, .more_keys = name_factor, .labels = BARE),
    BJ_COLLECTORS(ROW, BARE),
    BJ_BUILD_INFO(ROW, BARE),
};

static const struct bj_dialect_label unit[] = {
    BJ_FIXED("manager", "slurm"),
    {.name = "hostname", .of = BJ_LABEL_HOST},
    BJ_FROM("cgrouphostname", BJ_ID_NODE),
    BJ_FROM("uuid", BJ_ID_JOBID),
    {.name = NULL},
};
static const struct bj_dialect_label manager[] = {
    BJ_FIXED("manager", "slurm"),
    {.name = "hostname", .of = BJ_LABEL_HOST},
    {.name = NULL},
};
static const struct bj_dialect_label node[] = {
    {.name = "hostname", .of = BJ_LABEL_HOST},
    {.name = NULL},
};
static const struct bj_dialect_label bare[] = {{.name = NULL}};

const struct bj_dialect bj_dialect_ceems = {
    .name = "ceems",
    .port = "9010",
    .system = "slurm",
    .collect = BJ_COLLECT(CPU) | BJ_COLLECT(MEMORY) | BJ_COLLECT(PRESSURE) |
               BJ_COLLECT(NODE) | BJ_COLLECT(ENERGY) | BJ_COLLECT(GPU),
    BJ_TABLE(rows),
    .labels = {unit, node, manager, bare},
};
