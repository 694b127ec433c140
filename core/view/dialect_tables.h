/* What the tables of the dialects are written with.  Internal. */
#ifndef BJ_CORE_VIEW_DIALECT_TABLES_H
#define BJ_CORE_VIEW_DIALECT_TABLES_H

#include "core/find/ident.h"
#include "core/view/dialect.h"

#include <stddef.h>

extern const struct bj_dialect bj_dialect_batchjob_monitoring;
extern const struct bj_dialect bj_dialect_ceems;
extern const struct bj_dialect bj_dialect_cgroup_exporter;
extern const struct bj_dialect bj_dialect_jobs_exporter;
extern const struct bj_dialect bj_dialect_jobstats;
extern const struct bj_dialect bj_dialect_mila;
extern const struct bj_dialect bj_dialect_nvidia_gpu;
extern const struct bj_dialect bj_dialect_nvidia_smi;
extern const struct bj_dialect bj_dialect_prometheus_slurm_exporter;
extern const struct bj_dialect bj_dialect_slurm_job_exporter;
extern const struct bj_dialect bj_dialect_vpenso;

#define BJ_COLLECT(x) (1u << BJ_COLLECT_##x)

#define BJ_NAMED(text_name, type, text)                                        \
    .name = text_name, .kind = (type), .help = text

/* A field of a job, one of its usage (told of steps, too), and whether it is a
 * level. */
#define BJ_IN_JOB(member)                                                      \
    .of = BJ_ROW_JOB, .off = offsetof(struct bj_job, member)
#define BJ_IN_USAGE(member)                                                    \
    .of = BJ_ROW_USAGE, .off = offsetof(struct bj_job, use.member)
#define BJ_AND_JOB(member)                                                     \
    .use = BJ_SECOND_ADD, .second = offsetof(struct bj_job, member)
#define BJ_LEVEL .live = true

/* A field of a record in a list of a job, or of the snapshot. */
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

/* Told in some ways of speaking only (bj_when). */
#define BJ_WHEN(way) .when = BJ_WHEN_##way

/* Rows that several peers have.  ROW: that of the table; IN: BJ_IN_USAGE, or
 * BJ_IN_USE where the peer knows no steps. */
#define BJ_IN_USE(member) BJ_IN_JOB(use.member)

/* What v1's files have without a limit: the longest long, in whole pages. */
#define BJ_V1_UNLIMITED 9223372036854771712u

/* Of v2 they tell the event oom. */
#define BJ_FAIL_COUNT(ROW, IN)                                                 \
    ROW("memory_fail_count", "Times the memory limit was hit.",                \
        IN(mem_limit_hits), BJ_WHEN(RIGHT_V2)),                                \
        ROW("memory_fail_count", "Times no memory could be had.",              \
            IN(mem_ooms), BJ_WHEN(STRICT_V2))

/* The limit and how often it was hit: of v1 one for both, of v2 the sum of
 * two. */
#define BJ_MEMSW(ROW, IN)                                                      \
    ROW("memsw_used_bytes", "Memory and swap space in use.",                   \
        IN(mem_used_bytes), BJ_AND_JOB(use.mem_swap_bytes), BJ_LEVEL,          \
        BJ_WHEN(RIGHT_V2)),                                                    \
        ROW("memsw_total_bytes", "Limit of memory and swap space.",            \
            IN(memsw_limit_bytes), BJ_WHEN(RIGHT_V2)),                         \
        ROW("memsw_total_bytes", "Limit of memory and swap space.",            \
            IN(mem_limit_bytes), BJ_AND_JOB(use.mem_swap_limit_bytes),         \
            .more = true, BJ_WHEN(RIGHT_V2)),                                  \
        ROW("memsw_fail_count",                                                \
            "Times the limit of memory and swap space was hit.",               \
            IN(memsw_limit_hits), BJ_WHEN(RIGHT_V2))
/* In error, of v2: nothing but 0; swap space alone. */
#define BJ_NO_MEMSW(ROW, name)                                                 \
    ROW("memsw_" name, "0.", BJ_IN_USAGE(mem_used_bytes), BJ_LEVEL,            \
        BJ_UNIT(ZERO), BJ_WHEN(STRICT_V2))
#define BJ_ONLY_SWAP(ROW, ...)                                                 \
    ROW("memsw_used_bytes", "Swap space in use.", BJ_IN_USE(mem_swap_bytes),   \
        BJ_LEVEL, BJ_WHEN(STRICT_V2)),                                         \
        ROW("memsw_total_bytes", "Limit of swap space.",                       \
            BJ_IN_USE(mem_swap_limit_bytes), __VA_ARGS__, BJ_WHEN(STRICT_V2))

/* What jobstats and those that came after it tell of steps, too. */
#define BJ_STEPS_USE(ROW)                                                      \
    ROW("cpu_user_seconds", "CPU time in user mode.",                          \
        BJ_IN_USAGE(cpu_user_usec), BJ_UNIT(MICRO)),                           \
        ROW("cpu_system_seconds", "CPU time of the kernel.",                   \
            BJ_IN_USAGE(cpu_system_usec), BJ_UNIT(MICRO)),                     \
        ROW("cpu_total_seconds", "CPU time.", BJ_IN_USAGE(cpu_usec),           \
            BJ_UNIT(MICRO)),                                                   \
        ROW("cpus", "CPUs that may be used.", BJ_IN_USAGE(cpus), BJ_LEVEL),    \
        ROW("memory_rss_bytes", "Anonymous memory.",                           \
            BJ_IN_USAGE(mem_rss_bytes), BJ_LEVEL),                             \
        ROW("memory_cache_bytes", "Page cache, shared memory included.",       \
            BJ_IN_USAGE(mem_cache_bytes), BJ_LEVEL),                           \
        ROW("memory_used_bytes", "Memory charged, page cache included.",       \
            BJ_IN_USAGE(mem_used_bytes), BJ_LEVEL),                            \
        ROW("memory_total_bytes",                                              \
            "Memory limit: its own, else the nearest above.",                  \
            BJ_IN_USAGE(mem_limit_bytes), BJ_WHEN(RIGHT)),                     \
        ROW("memory_total_bytes", "Memory limit; 2^63 without.",               \
            BJ_IN_USAGE(mem_limit_bytes), .lack = BJ_V1_UNLIMITED,             \
            BJ_WHEN(STRICT_V1))
#define BJ_STEPS_SWAP(ROW)                                                     \
    BJ_MEMSW(ROW, BJ_IN_USAGE), BJ_NO_MEMSW(ROW, "used_bytes"),                \
        BJ_NO_MEMSW(ROW, "total_bytes"), BJ_NO_MEMSW(ROW, "fail_count"),       \
        ROW("exporter_collect_error",                                          \
            "1 while something of it cannot be read.",                         \
            BJ_IN_USAGE(unread_files), BJ_LEVEL, BJ_UNIT(FLAG))

/* How collectors do, and what was built; for_labels: which labels they have. */
#define BJ_COLLECTORS(ROW, for_labels)                                         \
    ROW("scrape_collector_duration_seconds",                                   \
        "Time the collector's last run took.",                                 \
        BJ_IN_SNAPS(self.collectors, bj_collector_stat, duration_usec),        \
        BJ_UNIT(MICRO), .key = {"collector"}, .labels = (for_labels)),         \
        ROW("scrape_collector_success",                                        \
            "1 when the collector's last run had no fault.",                   \
            BJ_IN_SNAPS(self.collectors, bj_collector_stat, success),          \
            .key = {"collector"}, .labels = (for_labels))
#define BJ_BUILD_INFO(ROW, for_labels)                                         \
    ROW("exporter_build_info", "1; what was built.", .of = BJ_ROW_INFO,        \
        .off = offsetof(struct bj_snap, self.build_info),                      \
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
