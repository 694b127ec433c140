/* The names of jobstats' cgroup_exporter. */
#include "core/view/dialect_tables.h"

#define ROW(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED("cgroup_" text_name, BJ_GAUGE, text), __VA_ARGS__             \
    }

enum { PLAIN, ID, PERSON, BARE };

static const struct bj_dialect_row rows[] = {
    BJ_STEPS_USE(ROW),
    ROW("memory_total_bytes",
        "Memory limit; without its own, that of the nearest limited parent "
        "cgroup.",
        BJ_IN_USAGE(mem_limit_bytes), BJ_WHEN(STRICT_V2)),
    BJ_FAIL_COUNT(ROW, BJ_IN_USAGE),
    ROW("memory_shmem_bytes", "Shared memory and tmpfs files.",
        BJ_IN_USAGE(mem_shmem_bytes), BJ_LEVEL),
    BJ_STEPS_SWAP(ROW),
    ROW("uid", "User id of the job's owner.", .of = BJ_ROW_UID, BJ_LEVEL,
        .labels = ID, BJ_WHEN(RIGHT_NAMED)),
    ROW("uid", "-1.", .of = BJ_ROW_ONE, .minus = true, BJ_LEVEL, .labels = ID,
        BJ_WHEN(STRICT_NAMELESS)),
    ROW("info", "Owner of the job as labels; the value is always 1.",
        .of = BJ_ROW_ONE, BJ_LEVEL, .labels = PERSON),
    BJ_BUILD_INFO(ROW, BARE),
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
