#include "core/model/metric.h"

#include "carbon/factor.h"
#include "core/core.h"
#include "core/model/metric_cluster.h"
#include "core/model/metric_gpu.h"
#include "core/model/metric_rows.h"

#include <stddef.h>

const struct bj_unit_name bj_units[] = {
    [BJ_NUMBER] = {"", "", 0},
    [BJ_MICRO] = {"", "_micro", 6},
    [BJ_USEC] = {"_seconds", "_usec", 6},
    [BJ_SEC] = {"_seconds", "_seconds", 0},
    [BJ_BYTES] = {"_bytes", "_bytes", 0},
    [BJ_UJ] = {"_joules", "_uj", 6},
    [BJ_UW] = {"_watts", "_uw", 6},
    [BJ_UG_PER_KWH] = {"_grams_per_kwh", "_ug_per_kwh", 6},
    [BJ_PPM] = {"_ratio", "_ppm", 6},
    [BJ_UCELSIUS] = {"_celsius", "_ucelsius", 6},
    [BJ_HERTZ] = {"_hertz", "_hertz", 0},
    [BJ_BYTES_PER_SEC] = {"_bytes_per_second", "_bytes_per_second", 0},
};

/* The same figures for a job, a step and a task. */
#define USAGE_ROWS(noun)                                                       \
    {                                                                          \
        COUNTER(bj_usage, cpu_usec, "cpu", BJ_USEC,                            \
                "CPU time used by the " noun "."),                             \
            COUNTER(bj_usage, cpu_user_usec, "cpu_user", BJ_USEC,              \
                    "CPU time the " noun " used in user mode."),               \
            COUNTER(bj_usage, cpu_system_usec, "cpu_system", BJ_USEC,          \
                    "CPU time the kernel used on behalf of the " noun "."),    \
            COUNTER(bj_usage, cpu_throttled_usec, "cpu_throttled", BJ_USEC,    \
                    "Time the " noun " was held back by its CPU quota."),      \
            COUNTER(bj_usage, cpu_periods, "cpu_periods", BJ_NUMBER,           \
                    "Enforcement periods of the CPU quota of the " noun "."),  \
            COUNTER(bj_usage, cpu_throttled_periods, "cpu_throttled_periods",  \
                    BJ_NUMBER,                                                 \
                    "Periods in which the CPU quota held the " noun " back."), \
            LEVEL(bj_usage, cpus, "cpus", BJ_NUMBER,                           \
                  "CPUs the " noun " may run on (effective cpuset)."),         \
            LEVEL(bj_usage, mem_used_bytes, "memory_used", BJ_BYTES,           \
                  "Memory charged to the " noun ", page cache included."),     \
            LEVEL(bj_usage, mem_rss_bytes, "memory_rss", BJ_BYTES,             \
                  "Anonymous memory of the " noun "."),                        \
            LEVEL(bj_usage, mem_cache_bytes, "memory_cache", BJ_BYTES,         \
                  "Page cache of the " noun ", shared memory included."),      \
            LEVEL(bj_usage, mem_mapped_bytes, "memory_mapped_file", BJ_BYTES,  \
                  "Page cache that processes of the " noun " have mapped."),   \
            LEVEL(bj_usage, mem_shmem_bytes, "memory_shmem", BJ_BYTES,         \
                  "Shared memory and tmpfs files of the " noun "."),           \
            LEVEL(bj_usage, mem_active_file_bytes, "memory_active_file",       \
                  BJ_BYTES, "Page cache the " noun " has used lately."),       \
            LEVEL(bj_usage, mem_inactive_file_bytes, "memory_inactive_file",   \
                  BJ_BYTES,                                                    \
                  "Page cache of the " noun                                    \
                  " that the kernel would drop first."),                       \
            LEVEL(bj_usage, mem_unevictable_bytes, "memory_unevictable",       \
                  BJ_BYTES,                                                    \
                  "Memory of the " noun                                        \
                  " that cannot be reclaimed, such as locked pages."),         \
            LEVEL(bj_usage, mem_huge_bytes, "memory_huge", BJ_BYTES,           \
                  "Anonymous memory of the " noun                              \
                  " in transparent huge pages."),                              \
            LEVEL(bj_usage, mem_kernel_bytes, "memory_kernel", BJ_BYTES,       \
                  "Kernel memory charged to the " noun "."),                   \
            GAUGE(bj_usage, mem_peak_bytes, "memory_peak", BJ_BYTES,           \
                  "Highest memory ever charged to the " noun "."),             \
            GAUGE(bj_usage, mem_limit_bytes, "memory_limit", BJ_BYTES,         \
                  "Memory limit of the " noun                                  \
                  ": its own, else that of the nearest limited parent."),      \
            LEVEL(bj_usage, mem_swap_bytes, "memory_swap", BJ_BYTES,           \
                  "Swap space used by the " noun "."),                         \
            COUNTER(bj_usage, mem_limit_hits, "memory_limit_hits", BJ_NUMBER,  \
                    "Times the " noun " hit its memory limit."),               \
            COUNTER(bj_usage, mem_oom_kills, "oom_kills", BJ_NUMBER,           \
                    "Processes of the " noun " killed for want of memory."),   \
            COUNTER(bj_usage, mem_ooms, "ooms", BJ_NUMBER,                     \
                    "Times the " noun                                          \
                    " could not get memory below its limit (cgroup v2)."),     \
            GAUGE(bj_usage, mem_swap_limit_bytes, "memory_swap_limit",         \
                  BJ_BYTES,                                                    \
                  "Limit of swap space of the " noun                           \
                  ": its own, else that of the nearest limited parent "        \
                  "(cgroup v2)."),                                             \
            GAUGE(bj_usage, memsw_limit_bytes, "memory_and_swap_limit",        \
                  BJ_BYTES,                                                    \
                  "Limit of memory and swap space together of the " noun       \
                  " (cgroup v1)."),                                            \
            COUNTER(bj_usage, memsw_limit_hits, "memory_and_swap_limit_hits",  \
                    BJ_NUMBER,                                                 \
                    "Times the " noun                                          \
                    " hit its limit of memory and swap space together "        \
                    "(cgroup v1)."),                                           \
            LEVEL(bj_usage, unread_files, "unread_files", BJ_NUMBER,           \
                  "Files of the " noun                                         \
                  " that the last attempt to read failed on; absent when all " \
                  "could be read."),                                           \
            LEVEL(bj_usage, pids, "tasks_charged", BJ_NUMBER,                  \
                  "Threads charged to the " noun " by the pids controller."),  \
            COUNTER(bj_usage, psi_cpu_some_usec, "pressure_cpu_some", BJ_USEC, \
                    "Time in which some of the threads of the " noun           \
                    " waited for a CPU."),                                     \
            COUNTER(bj_usage, psi_cpu_full_usec, "pressure_cpu_full", BJ_USEC, \
                    "Time in which all of the threads of the " noun            \
                    " waited for a CPU."),                                     \
            COUNTER(bj_usage, psi_mem_some_usec, "pressure_memory_some",       \
                    BJ_USEC,                                                   \
                    "Time in which some of the threads of the " noun           \
                    " waited for memory."),                                    \
            COUNTER(bj_usage, psi_mem_full_usec, "pressure_memory_full",       \
                    BJ_USEC,                                                   \
                    "Time in which all of the threads of the " noun            \
                    " waited for memory."),                                    \
            COUNTER(bj_usage, psi_io_some_usec, "pressure_io_some", BJ_USEC,   \
                    "Time in which some of the threads of the " noun           \
                    " waited for block I/O."),                                 \
            COUNTER(bj_usage, psi_io_full_usec, "pressure_io_full", BJ_USEC,   \
                    "Time in which all of the threads of the " noun            \
                    " waited for block I/O."),                                 \
    }
static const struct bj_metric job_usage_rows[] = USAGE_ROWS("job");
static const struct bj_metric step_usage_rows[] = USAGE_ROWS("step");
static const struct bj_metric task_usage_rows[] = USAGE_ROWS("task");

static const struct bj_metric proc_rows[] = {
    LEVEL(bj_procsum, processes, "processes", BJ_NUMBER,
          "Processes of the job, those of the batch system left out."),
    LEVEL(bj_procsum, threads, "threads", BJ_NUMBER, "Threads of the job."),
    COUNTER(bj_procsum, processes_seen, "processes_seen", BJ_NUMBER,
            "Processes of the job seen so far; those that lived between two "
            "looks are missed."),
    LEVEL(bj_procsum, open_fds, "open_fds", BJ_NUMBER,
          "Open file descriptors of the job."),
    COUNTER(bj_procsum, io_read_bytes, "io_read", BJ_BYTES,
            "Bytes the job read by system calls, of any file system or pipe "
            "(rchar), exited processes included as far as seen."),
    COUNTER(bj_procsum, io_write_bytes, "io_write", BJ_BYTES,
            "Bytes the job wrote by system calls, of any file system or pipe "
            "(wchar), exited processes included as far as seen."),
    COUNTER(bj_procsum, io_read_ops, "io_read_operations", BJ_NUMBER,
            "Read system calls of the job, exited processes included as far as "
            "seen."),
    COUNTER(bj_procsum, io_write_ops, "io_write_operations", BJ_NUMBER,
            "Write system calls of the job, exited processes included as far "
            "as seen."),
    COUNTER(bj_procsum, io_storage_read_bytes, "io_storage_read", BJ_BYTES,
            "Bytes the job fetched from storage (read_bytes), exited processes "
            "included as far as seen."),
    COUNTER(bj_procsum, io_storage_write_bytes, "io_storage_write", BJ_BYTES,
            "Bytes the job gave to be sent to storage (write_bytes), exited "
            "processes "
            "included as far as seen."),
    COUNTER(bj_procsum, io_cancelled_write_bytes, "io_cancelled_write",
            BJ_BYTES,
            "Bytes of the storage writes that were never sent because the "
            "file was cut or removed, exited processes included as far as "
            "seen."),
};

static const struct bj_metric job_rows[] = {
    GAUGE(bj_job, start_sec, "start_time", BJ_SEC,
          "Start of the job: of its oldest process seen, or as the prolog "
          "wrote it."),
    GAUGE(bj_job, end_sec, "end_time", BJ_SEC,
          "When the end of the job was noticed; absent while it runs."),
};

static const struct bj_metric info_rows[] = {
    GAUGE(bj_job, ident_info, "info", BJ_NUMBER,
          "1; the labels say who the job is and where that is known from."),
};

static const struct bj_metric exact_core_rows[] = {
    COUNTER(bj_core_use, cpu_usec, "cpu", BJ_USEC,
            "CPU time the job used on one CPU (cgroup v1)."),
    COUNTER(bj_core_use, cpu_estimated_usec, "cpu_estimated", BJ_USEC,
            "CPU time the job used on one CPU, estimated: each thread's time "
            "goes to "
            "the CPU it was last seen on (cgroup v2)."),
};

static const struct bj_metric device_rows[] = {
    COUNTER(bj_device_use, read_bytes, "read", BJ_BYTES,
            "Bytes the job read from a block device."),
    COUNTER(bj_device_use, write_bytes, "write", BJ_BYTES,
            "Bytes the job wrote to a block device."),
    COUNTER(bj_device_use, read_ops, "read_operations", BJ_NUMBER,
            "Read operations of the job on a block device."),
    COUNTER(bj_device_use, write_ops, "write_operations", BJ_NUMBER,
            "Write operations of the job on a block device."),
};

static const struct bj_metric state_rows[] = {
    LEVEL(bj_state_use, threads, "threads", BJ_NUMBER,
          "Threads of the job by state."),
};

static const struct bj_metric exe_rows[] = {
    COUNTER(bj_exe_use, cpu_usec, "cpu", BJ_USEC,
            "CPU time of the job by executable; (other) is what no named one "
            "accounts "
            "for."),
};

static const struct bj_metric place_rows[] = {
    LEVEL(bj_place_use, files, "open_files", BJ_NUMBER,
          "Different files the job has open below a named place."),
};

static const struct bj_metric job_energy_rows[] = {
    COUNTER(bj_energy_use, energy_uj, "", BJ_UJ,
            "Energy of the node that the job was given, by component; the "
            "method is in batchjob_node_energy_info."),
};

static const struct bj_metric node_rows[] = {
    GAUGE(bj_node, mem_total_bytes, "memory_total", BJ_BYTES,
          "Memory of the node."),
    GAUGE(bj_node, mem_available_bytes, "memory_available", BJ_BYTES,
          "Memory that could be had without swapping."),
    GAUGE(bj_node, mem_free_bytes, "memory_free", BJ_BYTES,
          "Memory that nothing uses, page cache neither."),
    GAUGE(bj_node, cpus, "cpus", BJ_NUMBER, "CPUs on line."),
    GAUGE(bj_node, cores, "cores", BJ_NUMBER, "CPU cores on line."),
    GAUGE(bj_node, sockets, "sockets", BJ_NUMBER, "CPU sockets on line."),
    GAUGE(bj_node, boot_sec, "boot_time", BJ_SEC, "When the node booted."),
    GAUGE(bj_node, power_uw, "power", BJ_UW,
          "Power of the node, of the meter in batchjob_node_energy_info."),
    GAUGE(bj_node, idle_uw, "idle_power", BJ_UW,
          "Power of the node without jobs, accelerators left out: configured "
          "or learnt."),
};

static const struct bj_metric node_energy_rows[] = {
    COUNTER(bj_energy_split, energy_uj, "", BJ_UJ,
            "Energy of the node by component, as metered; other is what the "
            "node used beyond the metered components."),
    COUNTER(bj_energy_split, system_uj, "system", BJ_UJ,
            "Energy of the node given to what runs outside of jobs."),
    COUNTER(bj_energy_split, unallocated_uj, "unallocated", BJ_UJ,
            "Energy of the node given to what no job has reserved."),
    COUNTER(bj_energy_split, missed_uj, "missed", BJ_UJ,
            "Energy that a meter counted while it was taken for dead; given "
            "to nobody."),
    COUNTER(bj_energy_split, deficit_uj, "deficit", BJ_UJ,
            "Energy by which the components together exceeded the node's "
            "meter."),
};

static const struct bj_metric energy_info_rows[] = {
    GAUGE(bj_info, one, "info", BJ_NUMBER,
          "1; the labels say which meter is believed and how its energy is "
          "split."),
};

static const struct bj_metric meter_rows[] = {
    GAUGE(bj_meter_stat, success, "success", BJ_NUMBER,
          "1 when the last reading of the power meter had no fault."),
    GAUGE(bj_meter_stat, age_usec, "age", BJ_USEC,
          "Age of the power meter's last good reading."),
    GAUGE(bj_meter_stat, duration_usec, "duration", BJ_USEC,
          "Time the last reading of the power meter took."),
};

static const struct bj_metric zone_rows[] = {
    COUNTER(bj_zone_stat, energy_uj, "energy", BJ_UJ,
            "Energy of a zone of a power meter since we look; zones may "
            "contain one another."),
    GAUGE(bj_zone_stat, power_uw, "power", BJ_UW,
          "Power of a zone: as told, or energy over the time between the last "
          "two readings."),
    GAUGE(bj_zone_stat, limit_uw, "power_limit", BJ_UW,
          "Power limit in force in a zone."),
    COUNTER(bj_zone_stat, resets, "resets", BJ_NUMBER,
            "Times the zone's counter began anew; the energy of those "
            "intervals is unknown and not counted."),
    COUNTER(bj_zone_stat, gaps, "gaps", BJ_NUMBER,
            "Times the readings of power lay too far apart to be integrated."),
    COUNTER(bj_zone_stat, doubts, "doubts", BJ_NUMBER,
            "Times the readings of the counter lay so far apart that it may "
            "have wrapped once more."),
};

static const struct bj_metric meter_error_rows[] = {
    COUNTER(bj_meter_errors, errors, "", BJ_NUMBER,
            "Faults of the power meter by kind."),
};

static const struct bj_metric mode_rows[] = {
    COUNTER(bj_mode_use, cpu_usec, "cpu", BJ_USEC,
            "CPU time of the node by mode."),
};

static const struct bj_metric factor_rows[] = {
    GAUGE(bj_factor_stat, ug_per_kwh, "", BJ_UG_PER_KWH,
          "CO2 equivalent that a kilowatt-hour of electricity stands for; "
          "marginal and average ones are not to be mixed. " BJ_FACTOR_CREDITS),
    GAUGE(bj_factor_stat, estimated, "estimated", BJ_NUMBER,
          "1 when the factor is a forecast, an estimate or a profile of other "
          "days."),
    GAUGE(bj_factor_stat, start_sec, "start_time", BJ_SEC,
          "Begin of the period that the factor was stated for."),
};

static const struct bj_metric provider_rows[] = {
    GAUGE(bj_provider_stat, success, "success", BJ_NUMBER,
          "1 when the provider's last answer was good."),
    GAUGE(bj_provider_stat, age_usec, "age", BJ_USEC,
          "Age of the provider's newest value."),
};

static const struct bj_metric provider_error_rows[] = {
    COUNTER(bj_provider_errors, errors, "", BJ_NUMBER,
            "Questions to the provider that failed, by kind; empty: its answer "
            "had no value of now."),
};

static const struct bj_metric collector_rows[] = {
    GAUGE(bj_collector_stat, success, "success", BJ_NUMBER,
          "1 when the collector's last run had no fault."),
    GAUGE(bj_collector_stat, duration_usec, "duration", BJ_USEC,
          "Time the collector's last run took."),
    COUNTER(bj_collector_stat, errors, "errors", BJ_NUMBER,
            "Faults of the collector."),
    GAUGE(bj_collector_stat, age_usec, "age", BJ_USEC,
          "Age of the collector's newest values."),
};

static const struct bj_metric self_rows[] = {
    GAUGE(bj_self, jobs, "jobs", BJ_NUMBER,
          "Jobs on the node, ended ones in "
          "their grace time not counted."),
    COUNTER(bj_self, jobs_refused, "jobs_refused", BJ_NUMBER,
            "Jobs left out because limit.jobs was reached."),
    COUNTER(bj_self, steps_refused, "steps_refused", BJ_NUMBER,
            "Steps and tasks left out because limit.steps was reached."),
    COUNTER(bj_self, processes_refused, "processes_refused", BJ_NUMBER,
            "Looks at processes left out because limit.processes was reached."),
    COUNTER(bj_self, passes, "passes", BJ_NUMBER, "Looks at the node so far."),
    GAUGE(bj_self, pass_usec, "pass_duration", BJ_USEC,
          "Time the last look took."),
    GAUGE(bj_self, fds_kept, "fds_kept", BJ_NUMBER,
          "Descriptors kept open between looks."),
    COUNTER(bj_self, fds_refused, "fds_refused", BJ_NUMBER,
            "Descriptors not kept because limit.files was reached."),
    COUNTER(bj_self, records, "records", BJ_NUMBER,
            "Final records of jobs written to the spool."),
    COUNTER(bj_self, records_lost, "records_lost", BJ_NUMBER,
            "Final records of jobs given up because the spool was full or "
            "could not be written."),
};

static const struct bj_metric build_rows[] = {
    GAUGE(bj_info, one, "info", BJ_NUMBER, "1; the labels say what was built."),
};

static const struct bj_metric process_rows[] = {
    COUNTER(bj_self, cpu_usec, "cpu", BJ_USEC,
            "CPU time of the monitoring process."),
    GAUGE(bj_self, rss_bytes, "resident_memory", BJ_BYTES,
          "Resident memory of the monitoring process."),
    GAUGE(bj_self, open_fds, "open_fds", BJ_NUMBER,
          "Open file descriptors of the monitoring process."),
    GAUGE(bj_self, max_fds, "max_fds", BJ_NUMBER,
          "Limit of its open file descriptors."),
    GAUGE(bj_self, start_sec, "start_time", BJ_SEC,
          "Start of the monitoring process."),
};

const char *const bj_job_info_keys[] = {
    "uid",          "partition",    "qos",        "name",
    "array_job_id", "array_task",   "het_job_id", "het_offset",
    "sluid",        "batch_system", "source",     NULL};

const char *const bj_build_info_keys[] = {"version", "revision", "compiler",
                                          NULL};

static const char *const energy_info_keys[] = {"source", "quality", "policy",
                                               "static", NULL};

#define ROWS_AT(r, at) (r), sizeof(r) / sizeof((r)[0]), (at)
#define ROWS(r) ROWS_AT(r, 0)
#define JOB(name, member, r)                                                   \
    {                                                                          \
        name, BJ_OF_JOB, false, offsetof(struct bj_job, member),               \
            sizeof(((struct bj_job *)0)->member), {NULL}, NULL, ROWS(r), false \
    }
#define WHOLE_JOB(name, info, r)                                               \
    {                                                                          \
        name, BJ_OF_JOB, false, 0, sizeof(struct bj_job), {NULL}, info,        \
            ROWS(r), false                                                     \
    }
#define JOBS_AT(name, member, record, at, label, label2, r)                    \
    {                                                                          \
        name, BJ_OF_JOB, true, offsetof(struct bj_job, member),                \
            sizeof(struct record), {label, label2}, NULL, ROWS_AT(r, at),      \
            false                                                              \
    }
#define JOBS(name, member, record, label, label2, r)                           \
    JOBS_AT(name, member, record, 0, label, label2, r)
#define STEPS(name, member, label, label2, r)                                  \
    JOBS_AT(name, member, bj_step_use, offsetof(struct bj_step_use, use),      \
            label, label2, r)
#define SNAP(name, member, info, r)                                            \
    {                                                                          \
        name, BJ_OF_SNAP, false, offsetof(struct bj_snap, member),             \
            sizeof(((struct bj_snap *)0)->member), {NULL}, info, ROWS(r),      \
            false                                                              \
    }
#define SNAPS2(name, member, record, label, label2, r)                         \
    {                                                                          \
        name, BJ_OF_SNAP, true, offsetof(struct bj_snap, member),              \
            sizeof(struct record), {label, label2}, NULL, ROWS(r), false       \
    }
#define SNAPS3(name, member, record, label, label2, label3, r)                 \
    {                                                                          \
        name, BJ_OF_SNAP, true, offsetof(struct bj_snap, member),              \
            sizeof(struct record), {label, label2, label3}, NULL, ROWS(r),     \
            false                                                              \
    }
#define SNAPS(name, member, record, label, r)                                  \
    SNAPS2(name, member, record, label, NULL, r)

const struct bj_table bj_tables[] = {
    WHOLE_JOB("job", bj_job_info_keys, info_rows),
    WHOLE_JOB("job", NULL, job_rows),
    JOB("job", use, job_usage_rows),
    JOB("job", proc, proc_rows),
    JOBS("job_core", cores, bj_core_use, "cpu", NULL, exact_core_rows),
    JOBS("job_device", devices, bj_device_use, "device", NULL, device_rows),
    JOBS("job_state", states, bj_state_use, "state", NULL, state_rows),
    JOBS("job_exe", exes, bj_exe_use, "exe", NULL, exe_rows),
    JOBS("job_place", places, bj_place_use, "place", NULL, place_rows),
    JOBS("job_energy", energy, bj_energy_use, "component", NULL,
         job_energy_rows),
    JOBS("job_gpu", gpu_claims, bj_gpu_label, "gpu", "source",
         job_gpu_claim_rows),
    JOBS("job_gpu", gpus, bj_gpu_part, "gpu", "index", job_gpu_rows),
    JOBS("job_gpu_engine", gpu_engines, bj_gpu_engine_use, "gpu", "engine",
         job_gpu_engine_rows),
    STEPS("step", steps, "step", NULL, step_usage_rows),
    STEPS("task", tasks, "step", "task", task_usage_rows),
    SNAP("node", node, NULL, node_rows),
    SNAPS("node", node.modes, bj_mode_use, "mode", mode_rows),
    SNAPS("node_energy", node.energy, bj_energy_split, "component",
          node_energy_rows),
    SNAP("node_energy", node.energy_info, energy_info_keys, energy_info_rows),
    SNAPS("meter", meters, bj_meter_stat, "meter", meter_rows),
    SNAPS2("meter_zone", zones, bj_zone_stat, "meter", "zone", zone_rows),
    SNAPS2("meter_errors", meter_errors, bj_meter_errors, "meter", "kind",
           meter_error_rows),
    SNAPS3("gpu", gpu_models, bj_gpu_label, "gpu", "index", "model",
           gpu_model_rows),
    SNAPS3("gpu_address", gpu_addresses, bj_gpu_label, "gpu", "index", "pci",
           gpu_address_rows),
    SNAPS3("gpu_instance", gpu_parents, bj_gpu_label, "gpu", "index", "device",
           gpu_parent_rows),
    SNAPS2("gpu", gpus, bj_gpu_use, "gpu", "index", gpu_rows),
    SNAPS3("gpu_throttle", gpu_reasons, bj_gpu_label, "gpu", "index", "reason",
           gpu_reason_rows),
    SNAPS("gpu_conflicts", gpu_conflicts, bj_gpu_label, "kind",
          gpu_conflict_rows),
    SNAPS("gpu_source", gpu_sources, bj_gpu_source, "source", gpu_source_rows),
    {"emission_factor",
     BJ_OF_SNAP,
     true,
     offsetof(struct bj_snap, factors),
     sizeof(struct bj_factor_stat),
     {"provider", "kind", "country"},
     NULL,
     ROWS(factor_rows),
     false},
    SNAPS("emission_provider", providers, bj_provider_stat, "provider",
          provider_rows),
    SNAPS2("emission_provider_errors", provider_errors, bj_provider_errors,
           "provider", "kind", provider_error_rows),
    CLUSTER_TABLES,
    SNAPS("collector", self.collectors, bj_collector_stat, "collector",
          collector_rows),
    SNAP("sampler", self, NULL, self_rows),
    {"process",
     BJ_OF_SNAP,
     false,
     offsetof(struct bj_snap, self),
     sizeof(struct bj_self),
     {NULL},
     NULL,
     ROWS(process_rows),
     true},
    SNAP("build", self.build_info, bj_build_info_keys, build_rows),
};
const size_t bj_ntables = sizeof(bj_tables) / sizeof(bj_tables[0]);

static void put_name(const struct bj_table *t, const struct bj_metric *m,
                     struct bj_buf *out)
{
    bj_buf_str(out, t->name);
    bj_buf_str(out, *m->name ? "_" : "");
    bj_buf_str(out, m->name);
}

void bj_metric_prom_name(const struct bj_table *t, const struct bj_metric *m,
                         struct bj_buf *out)
{
    bj_buf_str(out, t->bare ? "" : "batchjob_");
    put_name(t, m, out);
    bj_buf_str(out, bj_units[m->unit].prom);
    bj_buf_str(out, m->kind == BJ_COUNTER ? "_total" : "");
}

void bj_metric_collectd_type(const struct bj_table *t,
                             const struct bj_metric *m, struct bj_buf *out)
{
    put_name(t, m, out);
    bj_buf_str(out, bj_units[m->unit].collectd);
}
