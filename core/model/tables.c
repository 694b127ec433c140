/* The tables of all native metrics. */
#include "carbon/factor.h"
#include "core/core.h"
#include "core/model/metric_cluster.h"
#include "core/model/metric_gpu.h"
#include "core/model/metric_rows.h"

#include <stddef.h>

/* Rows for a job, a step and a task. */
#define USAGE_ROWS(noun)                                                       \
    {                                                                          \
        COUNTER(bj_usage, cpu_usec, "cpu", BJ_USEC,                            \
                "CPU time used by the " noun                                   \
                " (user and system), in seconds."),                            \
            COUNTER(bj_usage, cpu_user_usec, "cpu_user", BJ_USEC,              \
                    "CPU time used by the " noun                               \
                    " in user mode, in seconds."),                             \
            COUNTER(bj_usage, cpu_system_usec, "cpu_system", BJ_USEC,          \
                    "CPU time used by the " noun                               \
                    " in kernel mode, in seconds."),                           \
            COUNTER(bj_usage, cpu_throttled_usec, "cpu_throttled", BJ_USEC,    \
                    "Time the " noun                                           \
                    " was throttled by its CPU quota, in seconds."),           \
            COUNTER(bj_usage, cpu_periods, "cpu_periods", BJ_NUMBER,           \
                    "Enforcement periods of the CPU quota of the " noun "."),  \
            COUNTER(bj_usage, cpu_throttled_periods, "cpu_throttled_periods",  \
                    BJ_NUMBER,                                                 \
                    "Enforcement periods in which the CPU quota throttled "    \
                    "the " noun "."),                                          \
            COUNTER(bj_usage, cpu_held_back_usec, "cpu_held_back", BJ_USEC,    \
                    "Time in which the " noun                                  \
                    " could run and a CPU quota of it or above it held it "    \
                    "back, summed over CPUs, in seconds (cgroup v2, Linux "    \
                    "6.8)."),                                                  \
            COUNTER(bj_usage, frozen_usec, "suspended", BJ_USEC,               \
                    "Time for which the " noun                                 \
                    " was suspended by the freezer, in seconds (cgroup v2, "   \
                    "about Linux 6.17 or later)."),                            \
            LEVEL(bj_usage, cpus, "cpus", BJ_NUMBER,                           \
                  "CPUs the " noun " may run on (effective cpuset)."),         \
            LEVEL(bj_usage, mem_used_bytes, "memory_used", BJ_BYTES,           \
                  "Memory charged to the " noun                                \
                  ", including page cache, in bytes."),                        \
            LEVEL(bj_usage, mem_rss_bytes, "memory_rss", BJ_BYTES,             \
                  "Anonymous memory of the " noun                              \
                  ", excluding page cache and shared memory, in bytes."),      \
            LEVEL(bj_usage, mem_cache_bytes, "memory_cache", BJ_BYTES,         \
                  "Page cache charged to the " noun                            \
                  ", including shared memory and tmpfs, in bytes."),           \
            LEVEL(bj_usage, mem_mapped_bytes, "memory_mapped_file", BJ_BYTES,  \
                  "Page cache mapped by processes of the " noun                \
                  ", in bytes."),                                              \
            LEVEL(bj_usage, mem_shmem_bytes, "memory_shmem", BJ_BYTES,         \
                  "Shared memory and tmpfs files of the " noun ", in bytes."), \
            LEVEL(bj_usage, mem_active_file_bytes, "memory_active_file",       \
                  BJ_BYTES,                                                    \
                  "Page cache the " noun " used recently, in bytes."),         \
            LEVEL(bj_usage, mem_inactive_file_bytes, "memory_inactive_file",   \
                  BJ_BYTES,                                                    \
                  "Page cache of the " noun                                    \
                  " that the kernel reclaims first, in bytes."),               \
            LEVEL(bj_usage, mem_unevictable_bytes, "memory_unevictable",       \
                  BJ_BYTES,                                                    \
                  "Memory of the " noun " that the kernel cannot reclaim, "    \
                  "such as locked pages, in bytes."),                          \
            LEVEL(bj_usage, mem_huge_bytes, "memory_huge", BJ_BYTES,           \
                  "Anonymous memory of the " noun                              \
                  " in transparent huge pages, in bytes."),                    \
            LEVEL(bj_usage, mem_kernel_bytes, "memory_kernel", BJ_BYTES,       \
                  "Kernel memory charged to the " noun ", in bytes."),         \
            GAUGE(bj_usage, mem_held_peak_bytes, "memory_held_peak", BJ_BYTES, \
                  "Peak of the memory the " noun                               \
                  " held: anonymous and shared memory, without page cache, "   \
                  "in bytes."),                                                \
            GAUGE(bj_usage, mem_held_sampled, "memory_held_peak_sampled",      \
                  BJ_NUMBER,                                                   \
                  "1 where memory_held_peak of the " noun                      \
                  " is the largest sample, since the kernel keeps no peak "    \
                  "(cgroup v2 before Linux 5.19); else absent."),              \
            GAUGE(bj_usage, mem_held_charged, "memory_held_peak_charged",      \
                  BJ_NUMBER,                                                   \
                  "1 where memory_held_peak of the " noun                      \
                  " is the charged peak of the time before its first sample, " \
                  "which may contain page cache; else absent."),               \
            GAUGE(bj_usage, mem_peak_bytes, "memory_charged_peak", BJ_BYTES,   \
                  "Peak of the memory charged to the " noun                    \
                  ", including page cache, in bytes."),                        \
            LEVEL(bj_usage, mem_recent_peak_bytes,                             \
                  "memory_charged_recent_peak", BJ_BYTES,                      \
                  "Peak of the memory charged to the " noun                    \
                  " in the last whole minute, including page cache, "          \
                  "in bytes (cgroup v2, Linux 6.12 or later)."),               \
            LEVEL(bj_usage, mem_remote_bytes, "memory_remote", BJ_BYTES,       \
                  "Anonymous memory of the " noun                              \
                  " on NUMA nodes without a CPU on which it may run, in "      \
                  "bytes."),                                                   \
            GAUGE(bj_usage, mem_remote_ppm, "memory_remote_mean", BJ_PPM,      \
                  "Part of the anonymous memory of the " noun                  \
                  " on NUMA nodes without a CPU on which it may run: mean of " \
                  "the samples."),                                             \
            GAUGE(bj_usage, mem_limit_bytes, "memory_limit", BJ_BYTES,         \
                  "Memory limit of the " noun                                  \
                  ", in bytes; without its own limit, that of the nearest "    \
                  "limited parent cgroup."),                                   \
            LEVEL(bj_usage, mem_swap_bytes, "memory_swap", BJ_BYTES,           \
                  "Swap space used by the " noun ", in bytes."),               \
            GAUGE(bj_usage, mem_swap_peak_bytes, "memory_swap_peak", BJ_BYTES, \
                  "Peak of the swap space used by the " noun                   \
                  ", in bytes (cgroup v2, Linux 6.5 or later)."),              \
            COUNTER(bj_usage, mem_limit_hits, "memory_limit_hits", BJ_NUMBER,  \
                    "Times the " noun " reached its memory limit."),           \
            COUNTER(bj_usage, mem_oom_kills, "oom_kills", BJ_NUMBER,           \
                    "Processes of the " noun                                   \
                    " killed by the kernel's out-of-memory killer; absent "    \
                    "where one may have been missed."),                        \
            COUNTER(                                                           \
                bj_usage, mem_ooms, "oom_events", BJ_NUMBER,                   \
                "Times an allocation of the " noun                             \
                " failed because its memory limit was reached (cgroup v2)."),  \
            GAUGE(bj_usage, mem_swap_limit_bytes, "memory_swap_limit",         \
                  BJ_BYTES,                                                    \
                  "Swap limit of the " noun                                    \
                  ", in bytes; without its own limit, that of the nearest "    \
                  "limited parent cgroup (cgroup v2)."),                       \
            GAUGE(bj_usage, memsw_limit_bytes, "memory_and_swap_limit",        \
                  BJ_BYTES,                                                    \
                  "Limit of memory plus swap of the " noun                     \
                  ", in bytes (cgroup v1)."),                                  \
            COUNTER(bj_usage, memsw_limit_hits, "memory_and_swap_limit_hits",  \
                    BJ_NUMBER,                                                 \
                    "Times the " noun                                          \
                    " reached its limit of memory plus swap (cgroup v1)."),    \
            LEVEL(bj_usage, unread_files, "unread_files", BJ_NUMBER,           \
                  "Cgroup files of the " noun                                  \
                  " that the last pass could not read; absent when all were "  \
                  "read."),                                                    \
            LEVEL(bj_usage, pids, "pids", BJ_NUMBER,                           \
                  "Processes and threads of the " noun                         \
                  " counted by the pids controller."),                         \
            GAUGE(bj_usage, pids_peak, "pids_peak", BJ_NUMBER,                 \
                  "Peak of the processes and threads of the " noun             \
                  " counted by the pids controller (Linux 6.1 or later)."),    \
            COUNTER(bj_usage, psi_cpu_some_usec, "pressure_cpu_some", BJ_USEC, \
                    "Time in which at least one thread of the " noun           \
                    " waited for a CPU, in seconds."),                         \
            COUNTER(bj_usage, psi_cpu_full_usec, "pressure_cpu_full", BJ_USEC, \
                    "Time in which all threads of the " noun                   \
                    " waited for a CPU, in seconds."),                         \
            COUNTER(bj_usage, psi_mem_some_usec, "pressure_memory_some",       \
                    BJ_USEC,                                                   \
                    "Time in which at least one thread of the " noun           \
                    " waited for memory, in seconds."),                        \
            COUNTER(bj_usage, psi_mem_full_usec, "pressure_memory_full",       \
                    BJ_USEC,                                                   \
                    "Time in which all threads of the " noun                   \
                    " waited for memory, in seconds."),                        \
            COUNTER(bj_usage, psi_io_some_usec, "pressure_io_some", BJ_USEC,   \
                    "Time in which at least one thread of the " noun           \
                    " waited for block I/O, in seconds."),                     \
            COUNTER(bj_usage, psi_io_full_usec, "pressure_io_full", BJ_USEC,   \
                    "Time in which all threads of the " noun                   \
                    " waited for block I/O, in seconds."),                     \
    }
static const struct bj_metric job_usage_rows[] = USAGE_ROWS("job");
static const struct bj_metric step_usage_rows[] = USAGE_ROWS("step");
static const struct bj_metric task_usage_rows[] = USAGE_ROWS("task");

static const struct bj_metric proc_rows[] = {
    LEVEL(bj_procsum, processes, "processes", BJ_NUMBER,
          "Processes of the job, excluding those of the batch system."),
    LEVEL(bj_procsum, threads, "threads", BJ_NUMBER,
          "Threads of the job, excluding those of the batch system."),
    COUNTER(bj_procsum, processes_seen, "processes_seen", BJ_NUMBER,
            "Processes of the job seen so far; processes that start and exit "
            "between two passes are missed."),
    LEVEL(bj_procsum, open_fds, "open_fds", BJ_NUMBER,
          "Open file descriptors of the job's processes."),
    COUNTER(bj_procsum, io_read_bytes, "io_read", BJ_BYTES,
            "Bytes read by the job with system calls from any file, pipe or "
            "socket (rchar). Includes exited processes as last seen."),
    COUNTER(bj_procsum, io_write_bytes, "io_write", BJ_BYTES,
            "Bytes written by the job with system calls to any file, pipe or "
            "socket (wchar). Includes exited processes as last seen."),
    COUNTER(bj_procsum, io_read_ops, "io_read_operations", BJ_NUMBER,
            "Read system calls of the job (syscr). Includes exited processes "
            "as last seen."),
    COUNTER(bj_procsum, io_write_ops, "io_write_operations", BJ_NUMBER,
            "Write system calls of the job (syscw). Includes exited processes "
            "as last seen."),
    COUNTER(bj_procsum, io_storage_read_bytes, "io_storage_read", BJ_BYTES,
            "Bytes the job read from storage (read_bytes). Includes exited "
            "processes as last seen."),
    COUNTER(bj_procsum, io_storage_write_bytes, "io_storage_write", BJ_BYTES,
            "Bytes the job sent towards storage (write_bytes). Includes exited "
            "processes as last seen."),
    COUNTER(
        bj_procsum, io_cancelled_write_bytes, "io_cancelled_write", BJ_BYTES,
        "Bytes counted as storage writes but never written, because the file "
        "was truncated or removed. Includes exited processes as last seen."),
};

static const struct bj_metric job_rows[] = {
    GAUGE(bj_job, start_sec, "start_time", BJ_SEC,
          "Start time of the job in seconds since 1970: from the prolog's "
          "file, else from its oldest process."),
    GAUGE(bj_job, end_sec, "end_time", BJ_SEC,
          "Time at which the end of the job was noticed, in seconds since "
          "1970; absent while the job runs."),
    GAUGE(bj_job, latest_sec, "latest_end_time", BJ_SEC,
          "Time at which the job reaches its time limit, in seconds since "
          "1970, from the prolog's file (Slurm 26.05 and later). Changes of "
          "the limit after the start are not seen."),
    GAUGE(bj_job, restarts, "restarts", BJ_NUMBER,
          "Times the job was requeued and started again before this run, from "
          "the prolog's file."),
};

static const struct bj_metric info_rows[] = {
    GAUGE(bj_job, ident_info, "info", BJ_NUMBER,
          "Identity of the job as labels, with the source of the identity; the "
          "value is always 1."),
};

static const struct bj_metric exact_core_rows[] = {
    COUNTER(bj_core_use, cpu_usec, "cpu", BJ_USEC,
            "CPU time used by the job on one CPU, in seconds (cgroup v1)."),
    COUNTER(bj_core_use, cpu_estimated_usec, "cpu_estimated", BJ_USEC,
            "CPU time used by the job on one CPU, in seconds (cgroup v2). "
            "Estimated: a thread's time is counted on the CPU it last ran on."),
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

static const struct bj_metric dmem_rows[] = {
    LEVEL(bj_dmem_use, used_bytes, "used", BJ_BYTES,
          "Memory that the job holds on a device, such as the VRAM of a GPU, "
          "in bytes."),
    GAUGE(bj_dmem_use, limit_bytes, "limit", BJ_BYTES,
          "The job's own limit of memory on a device, in bytes."),
};

static const struct bj_metric hugetlb_rows[] = {
    LEVEL(bj_hugetlb_use, used_bytes, "used", BJ_BYTES,
          "Memory of the job in huge pages (hugetlbfs) of a size, in bytes."),
    GAUGE(bj_hugetlb_use, peak_bytes, "peak", BJ_BYTES,
          "Peak of the job's memory in huge pages (hugetlbfs) of a size, in "
          "bytes (cgroup v1)."),
    GAUGE(bj_hugetlb_use, limit_bytes, "limit", BJ_BYTES,
          "The job's own limit of memory in huge pages (hugetlbfs) of a size, "
          "in bytes; absent without a limit."),
    COUNTER(bj_hugetlb_use, limit_hits, "limit_hits", BJ_NUMBER,
            "Times the job reached its limit of huge pages (hugetlbfs) of a "
            "size (cgroup v2)."),
};

static const struct bj_metric state_rows[] = {
    LEVEL(bj_state_use, threads, "threads", BJ_NUMBER,
          "Threads of the job by state."),
};

static const struct bj_metric exe_rows[] = {
    COUNTER(bj_exe_use, cpu_usec, "cpu", BJ_USEC,
            "CPU time of the job by executable, in seconds; (other) is the "
            "time of all executables without a series of their own."),
};

static const struct bj_metric place_rows[] = {
    LEVEL(bj_place_use, files, "open_files", BJ_NUMBER,
          "Distinct files the job has open below a configured path "
          "(collector.process.place)."),
};

static const struct bj_metric job_energy_rows[] = {
    COUNTER(bj_energy_use, energy_uj, "", BJ_UJ,
            "Energy attributed to the job by component, in joules; "
            "batchjob_node_energy_info names the method."),
};

static const struct bj_metric node_rows[] = {
    GAUGE(bj_node, mem_total_bytes, "memory_total", BJ_BYTES,
          "Total memory of the node, in bytes."),
    GAUGE(bj_node, mem_available_bytes, "memory_available", BJ_BYTES,
          "Memory of the node available without swapping, in bytes."),
    GAUGE(bj_node, mem_free_bytes, "memory_free", BJ_BYTES,
          "Unused memory of the node, excluding page cache, in bytes."),
    GAUGE(bj_node, cpus, "cpus", BJ_NUMBER,
          "Logical CPUs of the node that are online."),
    GAUGE(bj_node, cores, "cores", BJ_NUMBER,
          "CPU cores of the node that are online."),
    GAUGE(bj_node, sockets, "sockets", BJ_NUMBER,
          "CPU sockets of the node that are online."),
    GAUGE(bj_node, boot_sec, "boot_time", BJ_SEC,
          "Boot time of the node in seconds since 1970."),
    GAUGE(bj_node, power_uw, "power", BJ_UW,
          "Power of the node in watts, from the meter named in "
          "batchjob_node_energy_info."),
    GAUGE(bj_node, idle_uw, "idle_power", BJ_UW,
          "Power of the node without jobs, excluding accelerators, in watts; "
          "configured, else estimated."),
};

static const struct bj_metric node_energy_rows[] = {
    COUNTER(bj_energy_split, energy_uj, "", BJ_UJ,
            "Measured energy of the node by component, in joules; other is "
            "node energy beyond the components with a meter."),
    COUNTER(
        bj_energy_split, system_uj, "system", BJ_UJ,
        "Energy of the node attributed to processes outside jobs, in joules."),
    COUNTER(bj_energy_split, unallocated_uj, "unallocated", BJ_UJ,
            "Energy of the node attributed to resources that no job has "
            "reserved, in joules."),
    COUNTER(bj_energy_split, missed_uj, "missed", BJ_UJ,
            "Energy counted by a meter while it did not answer, in joules; "
            "attributed to no job. Of component other: by the meter of the "
            "whole node."),
    COUNTER(bj_energy_split, deficit_uj, "deficit", BJ_UJ,
            "Energy by which the sum of the components exceeded the node's "
            "meter, in joules."),
};

static const struct bj_metric energy_info_rows[] = {
    GAUGE(bj_info, one, "info", BJ_NUMBER,
          "Meter and method in use for the node's energy, as labels; the value "
          "is always 1."),
};

static const struct bj_metric meter_rows[] = {
    GAUGE(bj_meter_stat, success, "success", BJ_NUMBER,
          "Whether the last read of the power meter succeeded: 1 yes, 0 no."),
    GAUGE(bj_meter_stat, age_usec, "age", BJ_USEC,
          "Age of the power meter's last successful read, in seconds."),
    GAUGE(bj_meter_stat, duration_usec, "duration", BJ_USEC,
          "Duration of the last read of the power meter, in seconds."),
};

static const struct bj_metric zone_rows[] = {
    COUNTER(bj_zone_stat, energy_uj, "energy", BJ_UJ,
            "Energy measured in a zone of a power meter since this program "
            "started, in joules. A zone may include other zones."),
    GAUGE(bj_zone_stat, power_uw, "power", BJ_UW,
          "Power of a zone in watts: as the meter reports it, else the average "
          "between the last two reads."),
    GAUGE(bj_zone_stat, limit_uw, "power_limit", BJ_UW,
          "Power limit in force in a zone, in watts."),
    COUNTER(bj_zone_stat, resets, "resets", BJ_NUMBER,
            "Resets of the zone's energy counter; the energy of those "
            "intervals is unknown and not counted."),
    COUNTER(bj_zone_stat, gaps, "gaps", BJ_NUMBER,
            "Intervals between power reads that were too long to integrate; "
            "their energy is not counted."),
    COUNTER(bj_zone_stat, doubts, "possible_wraps", BJ_NUMBER,
            "Reads so late that the energy counter may have wrapped unnoticed; "
            "the energy of that wrap is then missing."),
};

static const struct bj_metric meter_error_rows[] = {
    COUNTER(bj_meter_errors, errors, "", BJ_NUMBER,
            "Failed reads of the power meter by kind of error."),
};

static const struct bj_metric mode_rows[] = {
    COUNTER(bj_mode_use, cpu_usec, "cpu", BJ_USEC,
            "CPU time of the node by mode, in seconds."),
};

static const struct bj_metric factor_rows[] = {
    GAUGE(bj_factor_stat, ug_per_kwh, "", BJ_UG_PER_KWH,
          "Emission factor of electricity, in grams of CO2 equivalent per kWh. "
          "Do not mix marginal and average factors. " BJ_FACTOR_CREDITS),
    GAUGE(bj_factor_stat, estimated, "estimated", BJ_NUMBER,
          "Whether the factor is estimated: 1 for a forecast, an estimate or a "
          "profile of other days, else 0."),
    GAUGE(
        bj_factor_stat, start_sec, "start_time", BJ_SEC,
        "Start of the period the factor is valid for, in seconds since 1970."),
};

static const struct bj_metric provider_rows[] = {
    GAUGE(bj_provider_stat, success, "success", BJ_NUMBER,
          "Whether the provider's last reply was valid: 1 yes, 0 no."),
    GAUGE(bj_provider_stat, age_usec, "age", BJ_USEC,
          "Age of the provider's newest value, in seconds."),
};

static const struct bj_metric provider_error_rows[] = {
    COUNTER(bj_provider_errors, errors, "", BJ_NUMBER,
            "Failed requests to the provider by kind; empty: the reply had no "
            "current value."),
};

static const struct bj_metric collector_rows[] = {
    GAUGE(bj_collector_stat, success, "success", BJ_NUMBER,
          "Whether the collector's last run succeeded: 1 yes, 0 no."),
    GAUGE(bj_collector_stat, duration_usec, "duration", BJ_USEC,
          "Duration of the collector's last run, in seconds."),
    COUNTER(bj_collector_stat, errors, "errors", BJ_NUMBER,
            "Errors of the collector."),
    GAUGE(bj_collector_stat, age_usec, "age", BJ_USEC,
          "Age of the collector's newest values, in seconds."),
};

static const struct bj_metric self_rows[] = {
    GAUGE(bj_self, jobs, "jobs", BJ_NUMBER,
          "Jobs on the node, excluding ended jobs in their grace period."),
    COUNTER(bj_self, jobs_refused, "jobs_refused", BJ_NUMBER,
            "Jobs left out because limit.jobs was reached."),
    COUNTER(bj_self, steps_refused, "steps_refused", BJ_NUMBER,
            "Steps and tasks left out because there are more than eight times "
            "limit.jobs."),
    COUNTER(bj_self, processes_refused, "processes_refused", BJ_NUMBER,
            "Process reads left out because limit.processes was reached."),
    COUNTER(bj_self, passes, "passes", BJ_NUMBER,
            "Passes (runs of all collectors) since the start."),
    GAUGE(bj_self, pass_usec, "pass_duration", BJ_USEC,
          "Duration of the last pass, in seconds."),
    GAUGE(bj_self, fds_kept, "fds_kept", BJ_NUMBER,
          "File descriptors kept open between passes."),
    COUNTER(bj_self, fds_refused, "fds_refused", BJ_NUMBER,
            "File descriptors not kept open because limit.files was reached."),
    COUNTER(bj_self, records, "records", BJ_NUMBER,
            "Final records of jobs written to the spool."),
    COUNTER(bj_self, records_lost, "records_lost", BJ_NUMBER,
            "Final records of jobs lost because the spool was full or could "
            "not be written."),
    COUNTER(bj_self, records_sent, "records_sent", BJ_NUMBER,
            "Final records that were sent to record.url and are committed "
            "there."),
    COUNTER(bj_self, records_refused, "records_refused", BJ_NUMBER,
            "Final records that record.url refused as malformed; they stay in "
            "the spool as *.bad."),
    COUNTER(bj_self, records_send_errors, "records_send_errors", BJ_NUMBER,
            "Attempts to send final records that failed."),
    GAUGE(bj_self, records_waiting, "records_waiting", BJ_NUMBER,
          "Final records that wait: in memory until they can be written, and "
          "in the spool until they are sent to record.url."),
    GAUGE(bj_self, records_age_usec, "records_age", BJ_USEC,
          "Age of the oldest final record that waits, in seconds."),
    GAUGE(bj_self, records_write_success, "records_write_success", BJ_NUMBER,
          "1 if the last attempt to write into record.dir succeeded, else 0; "
          "the first one is made at the start."),
    GAUGE(bj_self, records_send_success, "records_send_success", BJ_NUMBER,
          "1 if record.url answered the last request and accepted its records, "
          "else 0; the first request is made at the start."),
};

static const struct bj_metric build_rows[] = {
    GAUGE(bj_info, one, "info", BJ_NUMBER,
          "Version and compiler of this program as labels; the value is always "
          "1."),
};

static const struct bj_metric process_rows[] = {
    COUNTER(bj_self, cpu_usec, "cpu", BJ_USEC,
            "CPU time used by the monitoring process, in seconds."),
    GAUGE(bj_self, rss_bytes, "resident_memory", BJ_BYTES,
          "Resident memory of the monitoring process, in bytes."),
    GAUGE(bj_self, vm_bytes, "virtual_memory", BJ_BYTES,
          "Address space of the monitoring process, in bytes."),
    GAUGE(bj_self, vm_max_bytes, "virtual_memory_max", BJ_BYTES,
          "Limit of the address space of the monitoring process, in bytes."),
    GAUGE(bj_self, open_fds, "open_fds", BJ_NUMBER,
          "Open file descriptors of the monitoring process."),
    GAUGE(bj_self, max_fds, "max_fds", BJ_NUMBER,
          "Limit of open file descriptors of the monitoring process."),
    GAUGE(bj_self, start_sec, "start_time", BJ_SEC,
          "Start time of the monitoring process in seconds since 1970."),
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

const struct bj_metric_table bj_metric_tables[] = {
    WHOLE_JOB("job", bj_job_info_keys, info_rows),
    WHOLE_JOB("job", NULL, job_rows),
    JOB("job", use, job_usage_rows),
    JOB("job", proc, proc_rows),
    JOBS("job_core", cores, bj_core_use, "cpu", NULL, exact_core_rows),
    JOBS("job_device", devices, bj_device_use, "device", NULL, device_rows),
    JOBS("job_device_memory", dmem, bj_dmem_use, "region", NULL, dmem_rows),
    JOBS("job_hugetlb", hugetlb, bj_hugetlb_use, "size", NULL, hugetlb_rows),
    JOBS("job_state", states, bj_state_use, "state", NULL, state_rows),
    JOBS("job_exe", exes, bj_exe_use, "exe", NULL, exe_rows),
    JOBS("job_place", places, bj_place_use, "place", NULL, place_rows),
    JOBS("job_energy", energy, bj_energy_use, "component", NULL,
         job_energy_rows),
    JOBS("job_gpu_conflict", gpu_conflicts, bj_gpu_label, "kind", NULL,
         job_gpu_conflict_rows),
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
const size_t bj_metric_ntables =
    sizeof(bj_metric_tables) / sizeof(bj_metric_tables[0]);
