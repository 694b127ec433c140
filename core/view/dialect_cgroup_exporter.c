/* The names of treydock's cgroup_exporter 1.2.1. */
#include "core/view/dialect_tables.h"

#define ROW(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED("cgroup_" text_name, BJ_GAUGE, text), __VA_ARGS__             \
    }
#define COUNTER(text_name, text, ...)                                          \
    {                                                                          \
        BJ_NAMED("cgroup_" text_name, BJ_COUNTER, text), __VA_ARGS__           \
    }

enum { PLAIN, PERSON, BARE };

/* The next number, 2^64 - 1, means absent in our records; as a double, which
 * Prometheus uses, both are equal. */
#define UNLIMITED (UINT64_MAX - 1)

static const struct bj_dialect_row rows[] = {
    COUNTER("cpu_user_seconds", "CPU time in user mode.",
            BJ_IN_JOB(use.cpu_user_usec), BJ_UNIT(MICRO)),
    COUNTER("cpu_system_seconds", "CPU time in kernel mode.",
            BJ_IN_JOB(use.cpu_system_usec), BJ_UNIT(MICRO)),
    COUNTER("cpu_total_seconds", "CPU time.", BJ_IN_JOB(use.cpu_usec),
            BJ_UNIT(MICRO)),
    ROW("cpus", "CPUs available (effective cpuset).", BJ_IN_JOB(use.cpus),
        BJ_LEVEL, BJ_WHEN(RIGHT_V2)),
    ROW("cpus", "CPUs in the cgroup's own cpuset; 0: it has none.",
        BJ_IN_EXTRA(cpus[BJ_CPUS_CONFIGURED]), BJ_LEVEL, BJ_WHEN(STRICT_V2)),
    ROW("cpu_info",
        "Available CPUs (effective cpuset) as a label; the value is always 1.",
        BJ_IN_EXTRA(listed[BJ_CPUS_EFFECTIVE]), BJ_LEVEL, .key = {"cpus"},
        BJ_WHEN(RIGHT_V2)),
    ROW("cpu_info",
        "CPUs in the cgroup's own cpuset as a label; the value is always 1.",
        BJ_IN_EXTRA(listed[BJ_CPUS_CONFIGURED]), BJ_LEVEL,
        .key = {NULL, "cpus"}, BJ_WHEN(STRICT_V2)),
    ROW("memory_rss_bytes", "Anonymous memory.", BJ_IN_JOB(use.mem_rss_bytes),
        BJ_LEVEL, BJ_WHEN(RIGHT_V2)),
    ROW("memory_rss_bytes", "Anonymous memory and page cache.",
        BJ_IN_JOB(use.mem_rss_bytes), BJ_AND_JOB(use.mem_cache_bytes), BJ_LEVEL,
        BJ_WHEN(STRICT_V2)),
    ROW("memory_cache_bytes", "Page cache, including shared memory.",
        BJ_IN_JOB(use.mem_cache_bytes), BJ_LEVEL),
    ROW("memory_used_bytes", "Memory charged, including page cache.",
        BJ_IN_JOB(use.mem_used_bytes), BJ_LEVEL),
    ROW("memory_total_bytes",
        "Memory limit; without its own, that of the nearest limited parent "
        "cgroup.",
        BJ_IN_JOB(use.mem_limit_bytes), BJ_WHEN(RIGHT)),
    ROW("memory_total_bytes", "Memory limit; 2^63: unlimited.",
        BJ_IN_JOB(use.mem_limit_bytes), .lack = BJ_V1_UNLIMITED,
        BJ_WHEN(STRICT_V1)),
    ROW("memory_total_bytes", "Memory limit; 2^64: unlimited.",
        BJ_IN_JOB(use.mem_limit_bytes), .lack = UNLIMITED, BJ_WHEN(STRICT_V2)),
    BJ_FAIL_COUNT(ROW, BJ_IN_USE),
    BJ_MEMSW(ROW, BJ_IN_USE),
    BJ_ONLY_SWAP(ROW, .lack = UNLIMITED),
    ROW("info", "Owner of the job as labels; the value is always 1.",
        .of = BJ_ROW_ONE, BJ_LEVEL, .labels = PERSON),
    ROW("process_exec_count", "Processes running the executable.",
        BJ_IN_JOBS(exe_counts, bj_exe_count, processes), BJ_LEVEL,
        .key = {"exec"}),
    ROW("exporter_collect_error", "1 while some of its files cannot be read.",
        BJ_IN_JOB(use.unread_files), BJ_LEVEL, BJ_UNIT(FLAG)),
    BJ_BUILD_INFO(ROW, BARE),
};

static const struct bj_dialect_label plain[] = {
    {.name = "cgroup", .of = BJ_LABEL_CGROUP},
    {.name = NULL},
};
static const struct bj_dialect_label person[] = {
    {.name = "cgroup", .of = BJ_LABEL_CGROUP},
    BJ_FROM("username", BJ_ID_USER),
    BJ_FROM("uid", BJ_ID_UID),
    BJ_FROM("jobid", BJ_ID_JOBID),
    {.name = NULL},
};
static const struct bj_dialect_label bare[] = {{.name = NULL}};

const struct bj_dialect bj_dialect_cgroup_exporter = {
    .name = "cgroup_exporter",
    .port = "9306",
    .system = "slurm",
    .collect = BJ_COLLECT(CPU) | BJ_COLLECT(MEMORY),
    .extras = BJ_EXTRA_CPUS,
    .strict_extras = BJ_EXTRA_CPUSET | BJ_EXTRA_SLEEP,
    BJ_TABLE(rows),
    .labels = {plain, person, bare},
};
