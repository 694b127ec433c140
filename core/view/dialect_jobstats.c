/* The names of the cgroup_exporter of jobstats. */
#include "core/view/dialect_tables.h"

#define ROW(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED("cgroup_" text_name, BJ_GAUGE, text), __VA_ARGS__             \
    }

enum { PLAIN, ID, PERSON, BARE };

static const char *const build_keys[] = {"version", "revision", "compiler",
                                         NULL};

static const struct bj_dialect_row rows[] = {
    ROW("cpu_user_seconds", "CPU time in user mode.",
        BJ_IN_USAGE(cpu_user_usec), BJ_UNIT(MICRO)),
    ROW("cpu_system_seconds", "CPU time of the kernel.",
        BJ_IN_USAGE(cpu_system_usec), BJ_UNIT(MICRO)),
    ROW("cpu_total_seconds", "CPU time.", BJ_IN_USAGE(cpu_usec),
        BJ_UNIT(MICRO)),
    ROW("cpus", "CPUs that may be used.", BJ_IN_USAGE(cpus), BJ_LEVEL),
    ROW("memory_rss_bytes", "Anonymous memory.", BJ_IN_USAGE(mem_rss_bytes),
        BJ_LEVEL),
    ROW("memory_cache_bytes", "Page cache, shared memory included.",
        BJ_IN_USAGE(mem_cache_bytes), BJ_LEVEL),
    ROW("memory_used_bytes", "Memory charged, page cache included.",
        BJ_IN_USAGE(mem_used_bytes), BJ_LEVEL),
    ROW("memory_total_bytes", "Memory limit: its own, else the nearest above.",
        BJ_IN_USAGE(mem_limit_bytes), BJ_WHEN(RIGHT)),
    ROW("memory_total_bytes", "Memory limit; 2^63 without.",
        BJ_IN_USAGE(mem_limit_bytes), .lack = BJ_V1_UNLIMITED,
        BJ_WHEN(STRICT_V1)),
    ROW("memory_total_bytes", "Memory limit: its own, else the nearest above.",
        BJ_IN_USAGE(mem_limit_bytes), BJ_WHEN(STRICT_V2)),
    BJ_FAIL_COUNT(ROW, BJ_IN_USAGE),
    ROW("memory_shmem_bytes", "Shared memory and files in memory.",
        BJ_IN_USAGE(mem_shmem_bytes), BJ_LEVEL),
    BJ_MEMSW(ROW, BJ_IN_USAGE),
    BJ_NO_MEMSW(ROW, "used_bytes"),
    BJ_NO_MEMSW(ROW, "total_bytes"),
    BJ_NO_MEMSW(ROW, "fail_count"),
    ROW("exporter_collect_error", "1 while something of it cannot be read.",
        BJ_IN_USAGE(unread_files), BJ_LEVEL, BJ_UNIT(FLAG)),
    ROW("uid", "Number of the user whose job it is.", .of = BJ_ROW_UID,
        BJ_LEVEL, .labels = ID, BJ_WHEN(RIGHT_NAMED)),
    ROW("uid", "-1.", .of = BJ_ROW_ONE, .minus = true, BJ_LEVEL, .labels = ID,
        BJ_WHEN(STRICT_NAMELESS)),
    ROW("info", "1; whose job it is.", .of = BJ_ROW_ONE, BJ_LEVEL,
        .labels = PERSON),
    ROW("exporter_build_info", "1; what was built.", .of = BJ_ROW_INFO,
        .off = offsetof(struct bj_snap, self.build_info), .info = build_keys,
        .labels = BARE),
};

static const struct bj_dialect_label plain[] = {
    BJ_FROM("jobid", BJ_ID_JOBID),
    {.name = NULL},
};
static const struct bj_dialect_label person[] = {
    BJ_FROM("jobid", BJ_ID_JOBID),
    BJ_FROM("uid", BJ_ID_UID),
    BJ_FROM("username", BJ_ID_USER),
    {.name = NULL},
};
static const struct bj_dialect_label bare[] = {{.name = NULL}};

const struct bj_dialect bj_dialect_jobstats = {
    .name = "jobstats",
    .port = "9306",
    .system = "slurm",
    .collect = BJ_COLLECT(CPU) | BJ_COLLECT(MEMORY),
    BJ_TABLE(rows),
    .labels = {[PLAIN] = plain, [ID] = plain, [PERSON] = person, [BARE] = bare},
    .step = {"step", "task"},
};
