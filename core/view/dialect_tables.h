/* Macros for the tables of the dialects. Private to the dialects. */
#ifndef BJ_CORE_VIEW_DIALECT_TABLES_H
#define BJ_CORE_VIEW_DIALECT_TABLES_H

#include "core/find/ident.h"
#include "core/view/dialect.h"

#include <stddef.h>

/* The dialects: X(NAME) of each, for bj_dialect_NAME in dialect_NAME.c. */
#define BJ_DIALECTS(X)                                                         \
    X(batchjob_monitoring)                                                     \
    X(ceems)                                                                   \
    X(cgroup_exporter)                                                         \
    X(jobs_exporter)                                                           \
    X(jobstats)                                                                \
    X(mila)                                                                    \
    X(nvidia_gpu)                                                              \
    X(nvidia_smi)                                                              \
    X(prometheus_slurm_exporter)                                               \
    X(prometheus_slurm_exporter_1_8)                                           \
    X(slinky)                                                                  \
    X(slurm_job_exporter)                                                      \
    X(slurmctld)                                                               \
    X(vpenso)

#define BJ_DIALECT_DECLARED(name)                                              \
    extern const struct bj_dialect bj_dialect_##name;
BJ_DIALECTS(BJ_DIALECT_DECLARED)
#undef BJ_DIALECT_DECLARED

#define BJ_COLLECT(x) (1u << BJ_COLLECT_##x)

#define BJ_NAMED(text_name, type, text)                                        \
    .name = text_name, .kind = (type), .help = text

/* A field of a job, or of its usage (also for steps); whether it is a level. */
#define BJ_IN_JOB(member)                                                      \
    .of = BJ_ROW_JOB, .off = offsetof(struct bj_job, member)
#define BJ_IN_USAGE(member)                                                    \
    .of = BJ_ROW_USAGE, .off = offsetof(struct bj_job, use.member)
#define BJ_AND_JOB(member)                                                     \
    .use = BJ_SECOND_ADD, .second = offsetof(struct bj_job, member)
#define BJ_LEVEL .live = true

/* A field of a record in a list of a job or of the snapshot. */
#define BJ_IN_LIST(owner, where, member, record, field)                        \
    .of = (where), .list = offsetof(struct owner, member),                     \
    .size = sizeof(struct record), .off = offsetof(struct record, field)
#define BJ_IN_JOBS(member, record, field)                                      \
    BJ_IN_LIST(bj_job, BJ_ROW_JOBS, member, record, field)
#define BJ_IN_EXTRA(field) BJ_IN_JOBS(extras, bj_extra_use, field)
#define BJ_IN_SNAPS(member, record, field)                                     \
    BJ_IN_LIST(bj_snap, BJ_ROW_SNAPS, member, record, field)
#define BJ_IN_SNAP(member)                                                     \
    .of = BJ_ROW_SNAP, .off = offsetof(struct bj_snap, member)

#define BJ_IN_GPUS(field)                                                      \
    .of = BJ_ROW_GPUS, .off = offsetof(struct bj_gpu_use, field)
#define BJ_IN_PARTS(field)                                                     \
    .of = BJ_ROW_GPU_PARTS, .off = offsetof(struct bj_gpu_part, field)

/* When the row applies (bj_when). */
#define BJ_WHEN(way) .when = BJ_WHEN_##way

/* Rows of several originals. ROW: the table's macro; IN: BJ_IN_USAGE, or
 * BJ_IN_USE where the original has no steps. */
#define BJ_IN_USE(member) BJ_IN_JOB(use.member)

/* The value of v1 files without a limit: the largest long, in whole pages. */
#define BJ_V1_UNLIMITED 9223372036854771712u

/* The value for a missing limit is exported only where the kernel accounts for
 * swap space. */
#define BJ_IF_SWAP                                                             \
    .use = BJ_SECOND_LACK, .second = offsetof(struct bj_job, use.mem_swap_bytes)

/* On v2 the originals export the event oom. */
#define BJ_FAIL_COUNT(ROW, IN)                                                 \
    ROW("memory_fail_count", "Times the memory limit was reached.",            \
        IN(mem_limit_hits), BJ_WHEN(RIGHT_V2)),                                \
        ROW("memory_fail_count",                                               \
            "Times an allocation failed because the memory limit was "         \
            "reached.",                                                        \
            IN(mem_ooms), BJ_WHEN(STRICT_V2))

/* Limit and limit hits of memory plus swap: on v1 one file, on v2 the sum of
 * two. */
#define BJ_MEMSW(ROW, IN)                                                      \
    ROW("memsw_used_bytes", "Memory plus swap in use.", IN(mem_used_bytes),    \
        BJ_AND_JOB(use.mem_swap_bytes), BJ_LEVEL, BJ_WHEN(RIGHT_V2)),          \
        ROW("memsw_total_bytes", "Limit of memory plus swap.",                 \
            IN(memsw_limit_bytes), BJ_WHEN(RIGHT)),                            \
        ROW("memsw_total_bytes", "Limit of memory plus swap.",                 \
            IN(mem_limit_bytes), BJ_AND_JOB(use.mem_swap_limit_bytes),         \
            .more = true, BJ_WHEN(RIGHT)),                                     \
        ROW("memsw_total_bytes",                                               \
            "Limit of memory plus swap; 2^63: unlimited.",                     \
            IN(memsw_limit_bytes), .lack = BJ_V1_UNLIMITED, BJ_IF_SWAP,        \
            BJ_WHEN(STRICT_V1)),                                               \
        ROW("memsw_fail_count",                                                \
            "Times the limit of memory plus swap was reached.",                \
            IN(memsw_limit_hits), BJ_WHEN(RIGHT_V2))
/* Strict, v2: always 0; swap only. */
#define BJ_NO_MEMSW(ROW, name)                                                 \
    ROW("memsw_" name, "0.", BJ_IN_USAGE(mem_used_bytes), BJ_LEVEL,            \
        BJ_UNIT(ZERO), BJ_WHEN(STRICT_V2))
#define BJ_ONLY_SWAP(ROW, ...)                                                 \
    ROW("memsw_used_bytes", "Swap space in use.", BJ_IN_USE(mem_swap_bytes),   \
        BJ_LEVEL, BJ_WHEN(STRICT_V2)),                                         \
        ROW("memsw_total_bytes", "Swap limit.",                                \
            BJ_IN_USE(mem_swap_limit_bytes), __VA_ARGS__, BJ_WHEN(STRICT_V2))

/* Rows that jobstats and its successors also have for steps. */
#define BJ_STEPS_USE(ROW)                                                      \
    ROW("cpu_user_seconds", "CPU time in user mode.",                          \
        BJ_IN_USAGE(cpu_user_usec), BJ_UNIT(MICRO)),                           \
        ROW("cpu_system_seconds", "CPU time in kernel mode.",                  \
            BJ_IN_USAGE(cpu_system_usec), BJ_UNIT(MICRO)),                     \
        ROW("cpu_total_seconds", "CPU time.", BJ_IN_USAGE(cpu_usec),           \
            BJ_UNIT(MICRO)),                                                   \
        ROW("cpus", "CPUs available (effective cpuset).", BJ_IN_USAGE(cpus),   \
            BJ_LEVEL),                                                         \
        ROW("memory_rss_bytes", "Anonymous memory.",                           \
            BJ_IN_USAGE(mem_rss_bytes), BJ_LEVEL),                             \
        ROW("memory_cache_bytes", "Page cache, including shared memory.",      \
            BJ_IN_USAGE(mem_cache_bytes), BJ_LEVEL),                           \
        ROW("memory_used_bytes", "Memory charged, including page cache.",      \
            BJ_IN_USAGE(mem_used_bytes), BJ_LEVEL),                            \
        ROW("memory_total_bytes",                                              \
            "Memory limit; without its own, that of the nearest limited "      \
            "parent cgroup.",                                                  \
            BJ_IN_USAGE(mem_limit_bytes), BJ_WHEN(RIGHT)),                     \
        ROW("memory_total_bytes", "Memory limit; 2^63: unlimited.",            \
            BJ_IN_USAGE(mem_limit_bytes), .lack = BJ_V1_UNLIMITED,             \
            BJ_WHEN(STRICT_V1))
#define BJ_STEPS_SWAP(ROW)                                                     \
    BJ_MEMSW(ROW, BJ_IN_USAGE), BJ_NO_MEMSW(ROW, "used_bytes"),                \
        BJ_NO_MEMSW(ROW, "total_bytes"), BJ_NO_MEMSW(ROW, "fail_count"),       \
        ROW("exporter_collect_error",                                          \
            "1 while some of its files cannot be read.",                       \
            BJ_IN_USAGE(unread_files), BJ_LEVEL, BJ_UNIT(FLAG))

/* State of collectors and build; for_labels: their labels. */
#define BJ_COLLECTORS(ROW, for_labels)                                         \
    ROW("scrape_collector_duration_seconds",                                   \
        "Duration of the collector's last run.",                               \
        BJ_IN_SNAPS(self.collectors, bj_collector_stat, duration_usec),        \
        BJ_UNIT(MICRO), .key = {"collector"}, .labels = (for_labels)),         \
        ROW("scrape_collector_success",                                        \
            "Whether the collector's last run succeeded: 1 yes, 0 no.",        \
            BJ_IN_SNAPS(self.collectors, bj_collector_stat, success),          \
            .key = {"collector"}, .labels = (for_labels))
#define BJ_BUILD_INFO(ROW, for_labels)                                         \
    ROW("exporter_build_info",                                                 \
        "Version of this program as labels; the value is always 1.",           \
        .of = BJ_ROW_INFO, .off = offsetof(struct bj_snap, self.build_info),   \
        .info = bj_build_info_keys, .labels = (for_labels))

#define BJ_UNIT(scale_name) .scale = BJ_SCALE_##scale_name
#define BJ_TABLE(r) .rows = (r), .nrows = sizeof(r) / sizeof((r)[0])

#define BJ_FROM(label, id_field)                                               \
    {                                                                          \
        .name = label, .of = BJ_LABEL_IDENT, .field = (id_field)               \
    }
#define BJ_FIXED(label, value)                                                 \
    {                                                                          \
        .name = label, .of = BJ_LABEL_TEXT, .text = value                      \
    }

#endif
