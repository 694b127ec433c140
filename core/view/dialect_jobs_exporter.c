/* The names of petricore's jobs_exporter. */
#include "core/view/dialect_tables.h"

#define ROW(text_name, text, ...)                                              \
    {                                                                          \
        BJ_NAMED("jobs_" text_name, BJ_GAUGE, text), __VA_ARGS__               \
    }

/* Sums over all processes; strict: over live processes, as the original does.
 */
#define IO(text_name, text, field, alive, ...)                                 \
    ROW(text_name, text, BJ_IN_JOB(proc.field), __VA_ARGS__, BJ_WHEN(RIGHT)),  \
        ROW(text_name, text, BJ_IN_EXTRA(alive), BJ_LEVEL, __VA_ARGS__,        \
            BJ_WHEN(STRICT))

static const struct bj_dialect_row rows[] = {
    ROW("spawned_processes", "Processes of the job.", BJ_IN_JOB(proc.processes),
        BJ_LEVEL, BJ_WHEN(RIGHT)),
    ROW("spawned_processes", "Threads of the job.", BJ_IN_JOB(proc.threads),
        BJ_LEVEL, BJ_WHEN(STRICT)),
    ROW("opened_files",
        "Distinct files the job has open below the path configured as files.",
        BJ_IN_JOBS(places, bj_place_use, files), BJ_LEVEL, .only = {"files"}),
    ROW("thread_count", "Threads of the job by name of their process.",
        BJ_IN_JOBS(names, bj_name_use, threads), BJ_LEVEL,
        .key = {"proc_name"}),
    ROW("user_time", "CPU time of the job in user mode, in ticks.",
        BJ_IN_JOB(use.cpu_user_usec), BJ_UNIT(TICKS)),
    ROW("system_time", "CPU time of the job in kernel mode, in ticks.",
        BJ_IN_JOB(use.cpu_system_usec), BJ_UNIT(TICKS)),
    ROW("cpu_time_core", "CPU time the job used on one CPU, in seconds.",
        BJ_IN_JOBS(cores, bj_core_use, cpu_usec), BJ_UNIT(MICRO),
        .use = BJ_SECOND_ELSE,
        .second = offsetof(struct bj_core_use, cpu_estimated_usec),
        .key = {"core"}),
    ROW("cpu_time_total", "CPU time of the job, in seconds.",
        BJ_IN_JOB(use.cpu_usec), BJ_UNIT(MICRO)),
    ROW("uses_scratch",
        "1 while the job has a file open below the path configured as scratch.",
        BJ_IN_JOBS(places, bj_place_use, files), BJ_LEVEL, BJ_UNIT(FLAG),
        .only = {"scratch"}),
    IO("read_mb", "Data the job read from storage, in MiB.",
       io_storage_read_bytes, alive_storage_read_bytes, BJ_UNIT(MIB)),
    IO("write_mb", "Data the job sent towards storage, in MiB.",
       io_storage_write_bytes, alive_storage_write_bytes, BJ_UNIT(MIB)),
    IO("read_count", "Read system calls of the job.", io_read_ops,
       alive_read_ops, BJ_UNIT(NONE)),
    IO("write_count", "Write system calls of the job.", io_write_ops,
       alive_write_ops, BJ_UNIT(NONE)),
    ROW("rss", "Resident memory of the job, anonymous and file-mapped, in MiB.",
        BJ_IN_JOB(use.mem_rss_bytes), BJ_AND_JOB(use.mem_mapped_bytes),
        BJ_LEVEL, BJ_UNIT(MIB), BJ_WHEN(RIGHT)),
    ROW("rss", "Resident memory of the job's processes, added up, in MiB.",
        BJ_IN_EXTRA(alive_rss_bytes), BJ_LEVEL, BJ_UNIT(MIB), BJ_WHEN(STRICT)),
    ROW("cpu_percent",
        "CPU use of the job over the last 10 s or longer, in percent of one "
        "CPU.",
        BJ_IN_EXTRA(cpu_ppm), BJ_LEVEL, BJ_UNIT(PERCENT)),
    ROW("cpu_percent_per_core",
        "CPU use of the job over the last 10 s or longer, in percent of its "
        "available CPUs.",
        BJ_IN_EXTRA(cpu_each_ppm), BJ_LEVEL, BJ_UNIT(PERCENT)),
    ROW("gpus_used", "1 for each GPU that the job holds.",
        BJ_IN_PARTS(share_ppm), BJ_LEVEL, BJ_UNIT(FLAG), .key = {"gpuid"}),
};

static const struct bj_dialect_label labels[] = {
    {.name = "instance", .of = BJ_LABEL_SHORT_HOST},
    BJ_FROM("slurm_job", BJ_ID_JOBID),
    {.name = NULL},
};

const struct bj_dialect bj_dialect_jobs_exporter = {
    .name = "jobs_exporter",
    .system = "slurm",
    .collect = BJ_COLLECT(CPU) | BJ_COLLECT(MEMORY) | BJ_COLLECT(PERCORE) |
               BJ_COLLECT(PROCESS) | BJ_COLLECT(GPU),
    .extras = BJ_EXTRA_NAMES | BJ_EXTRA_RATE,
    .strict_extras = BJ_EXTRA_ALIVE | BJ_EXTRA_STATM | BJ_EXTRA_SLEEP,
    BJ_TABLE(rows),
    .labels = {labels},
};
