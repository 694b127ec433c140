/* The numbers of columns in the MIB.  Append only: managers and their
 * configuration know a column by its number, so no number is changed, removed
 * or used again.
 *
 * A new metric gets a line at the end of its table, with the next number.  If
 * the MIB was released since its newest revision, that line has a new revision
 * (docs/gen_mib.c), since groups of objects do not change either.  The line of
 * a metric that has gone becomes GONE, with the syntax and the units that the
 * MIB has for it. */
#include "core/find/ident.h"
#include "snmp-agent/table.h"

#define REVISION 1
#define METRIC(number, name)                                                   \
    {                                                                          \
        HERE, number, REVISION, BJ_SNMP_METRIC, 0, name, NULL, NULL            \
    }
#define TRUTH(number, name)                                                    \
    {                                                                          \
        HERE, number, REVISION, BJ_SNMP_TRUTH, 0, name, NULL, NULL             \
    }
#define INDEX(number, key, name)                                               \
    {                                                                          \
        HERE, number, REVISION, BJ_SNMP_INDEX, key, name, NULL, NULL           \
    }
#define TEXT(number, source, at, name, help)                                   \
    {                                                                          \
        HERE, number, REVISION, source, at, name, help, NULL                   \
    }

const struct bj_snmp_number bj_snmp_numbers[] = {
#define HERE BJ_SNMP_SCALARS
    TEXT(1, BJ_SNMP_VERSION, 0, "Version", "Version of batchjob_snmp."),
    TEXT(2, BJ_SNMP_AGE, 0, "PassAge",
         "Age of the values of this MIB: time since the end of the last pass "
         "that succeeded. Where it is too old, only the objects of the program "
         "itself are left."),
    TEXT(3, BJ_SNMP_PASSED, 0, "PassSuccess",
         "Whether the last pass (run of all collectors) succeeded."),
    TEXT(4, BJ_SNMP_REFUSED, 0, "RowsRefused",
         "Rows of this MIB that the last pass left out: more than "
         "snmp.max-rows in a table, or a second job with the same id."),
    TEXT(5, BJ_SNMP_UNSENT, 0, "NotificationsRefused",
         "Notifications since the start that were not sent: more than "
         "snmp.notify-rate in a minute, or no connection to the master agent."),
    TEXT(6, BJ_SNMP_CLUSTER, 0, "Cluster",
         "Name of the cluster, where one is configured."),
    TEXT(7, BJ_SNMP_FAULT, 0, "Fault",
         "What a notification reports, in English."),
    METRIC(8, "batchjob_node_memory_total_bytes"),
    METRIC(9, "batchjob_node_memory_available_bytes"),
    METRIC(10, "batchjob_node_memory_free_bytes"),
    METRIC(11, "batchjob_node_cpus"),
    METRIC(12, "batchjob_node_cores"),
    METRIC(13, "batchjob_node_sockets"),
    METRIC(14, "batchjob_node_boot_time_seconds"),
    METRIC(15, "batchjob_node_power_watts"),
    METRIC(16, "batchjob_node_idle_power_watts"),
    METRIC(17, "batchjob_sampler_jobs"),
    METRIC(18, "batchjob_sampler_jobs_refused_total"),
    METRIC(19, "batchjob_sampler_steps_refused_total"),
    METRIC(20, "batchjob_sampler_processes_refused_total"),
    METRIC(21, "batchjob_sampler_passes_total"),
    METRIC(22, "batchjob_sampler_pass_duration_seconds"),
    METRIC(23, "batchjob_sampler_fds_kept"),
    METRIC(24, "batchjob_sampler_fds_refused_total"),
    METRIC(25, "batchjob_sampler_records_total"),
    METRIC(26, "batchjob_sampler_records_lost_total"),
    METRIC(27, "batchjob_sampler_records_sent_total"),
    METRIC(28, "batchjob_sampler_records_refused_total"),
    METRIC(29, "batchjob_sampler_records_send_errors_total"),
    METRIC(30, "batchjob_sampler_records_waiting"),
    METRIC(31, "batchjob_sampler_records_age_seconds"),
    TRUTH(32, "batchjob_sampler_records_write_success"),
    TRUTH(33, "batchjob_sampler_records_send_success"),
    METRIC(34, "process_cpu_seconds_total"),
    METRIC(35, "process_resident_memory_bytes"),
    METRIC(36, "process_virtual_memory_bytes"),
    METRIC(37, "process_virtual_memory_max_bytes"),
    METRIC(38, "process_open_fds"),
    METRIC(39, "process_max_fds"),
    METRIC(40, "process_start_time_seconds"),
    TEXT(41, BJ_SNMP_ENERGY, 0, "NodeEnergyTotal",
         "Measured energy of the node: the sum of bjNodeEnergy over all "
         "components. Only where a meter measures the whole node, since the "
         "sum is less than the node's energy elsewhere."),
#undef HERE
#define HERE BJ_SNMP_NODE_ENERGY
    INDEX(1, 0, "Component"),
    TEXT(2, BJ_SNMP_KEY, 0, "Component", "Component: cpu, dram, gpu, other."),
    METRIC(3, "batchjob_node_energy_joules_total"),
    METRIC(4, "batchjob_node_energy_system_joules_total"),
    METRIC(5, "batchjob_node_energy_unallocated_joules_total"),
    METRIC(6, "batchjob_node_energy_missed_joules_total"),
    METRIC(7, "batchjob_node_energy_deficit_joules_total"),
#undef HERE
#define HERE BJ_SNMP_NODE_CPU
    INDEX(1, 0, "Mode"),
    TEXT(2, BJ_SNMP_KEY, 0, "Mode", "Mode of the CPU: user, system, idle, ..."),
    METRIC(3, "batchjob_node_cpu_seconds_total"),
#undef HERE
#define HERE BJ_SNMP_METER
    INDEX(1, 0, "Name"),
    TEXT(2, BJ_SNMP_KEY, 0, "Name", "Name of the power meter."),
    TRUTH(3, "batchjob_meter_success"),
    METRIC(4, "batchjob_meter_age_seconds"),
    METRIC(5, "batchjob_meter_duration_seconds"),
#undef HERE
#define HERE BJ_SNMP_ZONE
    INDEX(1, 0, "Meter"),
    INDEX(2, 1, "Name"),
    TEXT(3, BJ_SNMP_KEY, 0, "Meter", "Name of the power meter."),
    TEXT(4, BJ_SNMP_KEY, 1, "Name", "Name of the zone."),
    METRIC(5, "batchjob_meter_zone_energy_joules_total"),
    METRIC(6, "batchjob_meter_zone_power_watts"),
    METRIC(7, "batchjob_meter_zone_power_limit_watts"),
    METRIC(8, "batchjob_meter_zone_resets_total"),
    METRIC(9, "batchjob_meter_zone_gaps_total"),
    METRIC(10, "batchjob_meter_zone_possible_wraps_total"),
#undef HERE
#define HERE BJ_SNMP_METER_ERRORS
    INDEX(1, 0, "Meter"),
    INDEX(2, 1, "Kind"),
    TEXT(3, BJ_SNMP_KEY, 0, "Meter", "Name of the power meter."),
    TEXT(4, BJ_SNMP_KEY, 1, "Kind", "Kind of error."),
    METRIC(5, "batchjob_meter_errors_total"),
#undef HERE
#define HERE BJ_SNMP_GPU
    INDEX(1, 0, "Id"),
    TEXT(2, BJ_SNMP_KEY, 0, "Id", "UUID of the GPU, or of an instance of it."),
    TEXT(3, BJ_SNMP_KEY, 1, "Number",
         "Number of the GPU, as its driver counts: 0, or 0:1 of an instance."),
    TEXT(4, BJ_SNMP_MODEL, 0, "Model", "Model of the GPU."),
    TEXT(5, BJ_SNMP_ADDRESS, 0, "Address", "PCI address of the GPU."),
    TRUTH(6, "batchjob_gpu_success"),
    METRIC(7, "batchjob_gpu_errors_total"),
    METRIC(8, "batchjob_gpu_minor_number"),
    METRIC(9, "batchjob_gpu_slices"),
    METRIC(10, "batchjob_gpu_multiprocessors"),
    METRIC(11, "batchjob_gpu_memory_total_bytes"),
    METRIC(12, "batchjob_gpu_memory_used_bytes"),
    METRIC(13, "batchjob_gpu_memory_reserved_bytes"),
    METRIC(14, "batchjob_gpu_memory_free_bytes"),
    METRIC(15, "batchjob_gpu_busy_ratio"),
    METRIC(16, "batchjob_gpu_memory_busy_ratio"),
    METRIC(17, "batchjob_gpu_processes"),
    METRIC(18, "batchjob_gpu_power_watts"),
    METRIC(19, "batchjob_gpu_power_limit_watts"),
    METRIC(20, "batchjob_gpu_energy_joules_total"),
    METRIC(21, "batchjob_gpu_energy_resets_total"),
    METRIC(22, "batchjob_gpu_temperature_celsius"),
    METRIC(23, "batchjob_gpu_memory_temperature_celsius"),
    METRIC(24, "batchjob_gpu_sm_clock_hertz"),
    METRIC(25, "batchjob_gpu_graphics_clock_hertz"),
    METRIC(26, "batchjob_gpu_memory_clock_hertz"),
    METRIC(27, "batchjob_gpu_video_clock_hertz"),
    METRIC(28, "batchjob_gpu_fan_speed_ratio"),
    METRIC(29, "batchjob_gpu_xid_errors_total"),
    METRIC(30, "batchjob_gpu_last_xid"),
    METRIC(31, "batchjob_gpu_last_error"),
    METRIC(32, "batchjob_gpu_ecc_corrected_total"),
    METRIC(33, "batchjob_gpu_ecc_uncorrected_total"),
    METRIC(34, "batchjob_gpu_ecc_corrected_lifetime_total"),
    METRIC(35, "batchjob_gpu_ecc_uncorrected_lifetime_total"),
    METRIC(36, "batchjob_gpu_remapped_rows_corrected"),
    METRIC(37, "batchjob_gpu_remapped_rows_uncorrected"),
    TRUTH(38, "batchjob_gpu_remapping_pending"),
    TRUTH(39, "batchjob_gpu_remapping_failed"),
    METRIC(40, "batchjob_gpu_pcie_replays_total"),
    METRIC(41, "batchjob_gpu_nvlink_transmitted_bytes_total"),
    METRIC(42, "batchjob_gpu_nvlink_received_bytes_total"),
    METRIC(43, "batchjob_gpu_xgmi_corrected_total"),
    METRIC(44, "batchjob_gpu_xgmi_uncorrected_total"),
    METRIC(45, "batchjob_gpu_engine_active_ratio"),
    METRIC(46, "batchjob_gpu_sm_active_ratio"),
    METRIC(47, "batchjob_gpu_sm_occupancy_ratio"),
    METRIC(48, "batchjob_gpu_tensor_active_ratio"),
    METRIC(49, "batchjob_gpu_tensor_dfma_active_ratio"),
    METRIC(50, "batchjob_gpu_tensor_hmma_active_ratio"),
    METRIC(51, "batchjob_gpu_tensor_dmma_active_ratio"),
    METRIC(52, "batchjob_gpu_tensor_imma_active_ratio"),
    METRIC(53, "batchjob_gpu_dram_active_ratio"),
    METRIC(54, "batchjob_gpu_fp64_active_ratio"),
    METRIC(55, "batchjob_gpu_fp32_active_ratio"),
    METRIC(56, "batchjob_gpu_fp16_active_ratio"),
    METRIC(57, "batchjob_gpu_integer_active_ratio"),
    METRIC(58, "batchjob_gpu_pcie_transmit_rate_bytes_per_second"),
    METRIC(59, "batchjob_gpu_pcie_receive_rate_bytes_per_second"),
    METRIC(60, "batchjob_gpu_nvlink_transmit_rate_bytes_per_second"),
    METRIC(61, "batchjob_gpu_nvlink_receive_rate_bytes_per_second"),
    METRIC(62, "batchjob_gpu_health"),
    METRIC(63, "batchjob_gpu_incidents_total"),
    METRIC(64, "batchjob_gpu_recovery_action"),
    METRIC(65, "batchjob_gpu_throttled_software_thermal_seconds_total"),
    METRIC(66, "batchjob_gpu_throttled_hardware_thermal_seconds_total"),
    METRIC(67, "batchjob_gpu_throttled_power_brake_seconds_total"),
#undef HERE
#define HERE BJ_SNMP_GPU_SOURCE
    INDEX(1, 0, "Name"),
    TEXT(2, BJ_SNMP_KEY, 0, "Name",
         "Source of GPUs: nvml, amd, intel, fdinfo, ..."),
    TRUTH(3, "batchjob_gpu_source_success"),
    METRIC(4, "batchjob_gpu_source_errors_total"),
    METRIC(5, "batchjob_gpu_source_age_seconds"),
    METRIC(6, "batchjob_gpu_source_duration_seconds"),
    METRIC(7, "batchjob_gpu_source_devices"),
#undef HERE
#define HERE BJ_SNMP_COLLECTOR
    INDEX(1, 0, "Name"),
    TEXT(2, BJ_SNMP_KEY, 0, "Name", "Name of the collector."),
    TRUTH(3, "batchjob_collector_success"),
    METRIC(4, "batchjob_collector_duration_seconds"),
    METRIC(5, "batchjob_collector_errors_total"),
    METRIC(6, "batchjob_collector_age_seconds"),
#undef HERE
#define HERE BJ_SNMP_GPU_THROTTLE
    INDEX(1, 0, "Id"),
    INDEX(2, 1, "Number"),
    INDEX(3, 2, "Reason"),
    TEXT(4, BJ_SNMP_KEY, 0, "Id", "UUID of the GPU."),
    TEXT(5, BJ_SNMP_KEY, 1, "Number", "Number of the GPU, as in bjGpuNumber."),
    TEXT(6, BJ_SNMP_KEY, 2, "Reason",
         "Reason: idle, power_cap, sw_thermal, ..."),
    TRUTH(7, "batchjob_gpu_throttle_active"),
#undef HERE
#define HERE BJ_SNMP_GPU_CONFLICTS
    INDEX(1, 0, "Kind"),
    TEXT(2, BJ_SNMP_KEY, 0, "Kind", "Kind: denied, stray, double, unresolved."),
    METRIC(3, "batchjob_gpu_conflicts_total"),
#undef HERE
#define HERE BJ_SNMP_JOB
    INDEX(1, 0, "Id"),
    TEXT(2, BJ_SNMP_JOB_ID, 0, "Id",
         "Id of the job, as the scheduler writes it. Where slurmd has a node "
         "name of its own: JOBID@NODE."),
    TEXT(3, BJ_SNMP_IDENTITY, BJ_ID_NODE, "Node",
         "Node name of slurmd, where a host runs several."),
    METRIC(4, "batchjob_job_start_time_seconds"),
    METRIC(5, "batchjob_job_end_time_seconds"),
    METRIC(6, "batchjob_job_latest_end_time_seconds"),
    METRIC(7, "batchjob_job_restarts"),
    METRIC(8, "batchjob_job_cpu_seconds_total"),
    METRIC(9, "batchjob_job_cpu_user_seconds_total"),
    METRIC(10, "batchjob_job_cpu_system_seconds_total"),
    METRIC(11, "batchjob_job_cpu_throttled_seconds_total"),
    METRIC(12, "batchjob_job_cpu_periods_total"),
    METRIC(13, "batchjob_job_cpu_throttled_periods_total"),
    METRIC(14, "batchjob_job_cpus"),
    METRIC(15, "batchjob_job_memory_used_bytes"),
    METRIC(16, "batchjob_job_memory_rss_bytes"),
    METRIC(17, "batchjob_job_memory_cache_bytes"),
    METRIC(18, "batchjob_job_memory_mapped_file_bytes"),
    METRIC(19, "batchjob_job_memory_shmem_bytes"),
    METRIC(20, "batchjob_job_memory_active_file_bytes"),
    METRIC(21, "batchjob_job_memory_inactive_file_bytes"),
    METRIC(22, "batchjob_job_memory_unevictable_bytes"),
    METRIC(23, "batchjob_job_memory_huge_bytes"),
    METRIC(24, "batchjob_job_memory_kernel_bytes"),
    METRIC(25, "batchjob_job_memory_held_peak_bytes"),
    TRUTH(26, "batchjob_job_memory_held_peak_sampled"),
    TRUTH(27, "batchjob_job_memory_held_peak_charged"),
    METRIC(28, "batchjob_job_memory_charged_peak_bytes"),
    METRIC(29, "batchjob_job_memory_limit_bytes"),
    METRIC(30, "batchjob_job_memory_swap_bytes"),
    METRIC(31, "batchjob_job_memory_swap_peak_bytes"),
    METRIC(32, "batchjob_job_memory_limit_hits_total"),
    METRIC(33, "batchjob_job_oom_kills_total"),
    METRIC(34, "batchjob_job_oom_events_total"),
    METRIC(35, "batchjob_job_memory_swap_limit_bytes"),
    METRIC(36, "batchjob_job_memory_and_swap_limit_bytes"),
    METRIC(37, "batchjob_job_memory_and_swap_limit_hits_total"),
    METRIC(38, "batchjob_job_unread_files"),
    METRIC(39, "batchjob_job_pids"),
    METRIC(40, "batchjob_job_pids_peak"),
    METRIC(41, "batchjob_job_pressure_cpu_some_seconds_total"),
    METRIC(42, "batchjob_job_pressure_cpu_full_seconds_total"),
    METRIC(43, "batchjob_job_pressure_memory_some_seconds_total"),
    METRIC(44, "batchjob_job_pressure_memory_full_seconds_total"),
    METRIC(45, "batchjob_job_pressure_io_some_seconds_total"),
    METRIC(46, "batchjob_job_pressure_io_full_seconds_total"),
    METRIC(47, "batchjob_job_processes"),
    METRIC(48, "batchjob_job_threads"),
    METRIC(49, "batchjob_job_processes_seen_total"),
    METRIC(50, "batchjob_job_open_fds"),
    METRIC(51, "batchjob_job_io_read_bytes_total"),
    METRIC(52, "batchjob_job_io_write_bytes_total"),
    METRIC(53, "batchjob_job_io_read_operations_total"),
    METRIC(54, "batchjob_job_io_write_operations_total"),
    METRIC(55, "batchjob_job_io_storage_read_bytes_total"),
    METRIC(56, "batchjob_job_io_storage_write_bytes_total"),
    METRIC(57, "batchjob_job_io_cancelled_write_bytes_total"),
    METRIC(58, "batchjob_job_cpu_held_back_seconds_total"),
    METRIC(59, "batchjob_job_suspended_seconds_total"),
    METRIC(60, "batchjob_job_memory_charged_recent_peak_bytes"),
    METRIC(61, "batchjob_job_memory_remote_bytes"),
    METRIC(62, "batchjob_job_memory_remote_mean_ratio"),
#undef HERE
#define HERE BJ_SNMP_JOB_GPU
    INDEX(1, 0, "Id"),
    TEXT(2, BJ_SNMP_KEY, 0, "Id", "UUID of the GPU."),
    TEXT(3, BJ_SNMP_JOB_ID, 0, "JobId", "Id of the job, as in bjJobId."),
    TEXT(4, BJ_SNMP_KEY, 1, "Number", "Number of the GPU, as in bjGpuNumber."),
    METRIC(5, "batchjob_job_gpu_share_ratio"),
    TRUTH(6, "batchjob_job_gpu_estimated"),
    METRIC(7, "batchjob_job_gpu_busy_ratio"),
    METRIC(8, "batchjob_job_gpu_memory_used_bytes"),
    METRIC(9, "batchjob_job_gpu_power_watts"),
    METRIC(10, "batchjob_job_gpu_processes"),
    METRIC(11, "batchjob_job_gpu_held_seconds_total"),
    METRIC(12, "batchjob_job_gpu_idle_seconds_total"),
    METRIC(13, "batchjob_job_gpu_energy_joules_total"),
#undef HERE
#define HERE BJ_SNMP_JOB_ENERGY
    INDEX(1, 0, "Component"),
    TEXT(2, BJ_SNMP_KEY, 0, "Component", "Component: cpu, dram, gpu, other."),
    TEXT(3, BJ_SNMP_JOB_ID, 0, "JobId", "Id of the job, as in bjJobId."),
    METRIC(4, "batchjob_job_energy_joules_total"),
#undef HERE
#define HERE BJ_SNMP_OWNER
    TEXT(1, BJ_SNMP_JOB_ID, 0, "JobId", "Id of the job, as in bjJobId."),
    TEXT(2, BJ_SNMP_IDENTITY, BJ_ID_USER, "User", "Name of the user."),
    TEXT(3, BJ_SNMP_IDENTITY, BJ_ID_ACCOUNT, "Account", "Account of the job."),
    TEXT(4, BJ_SNMP_IDENTITY, BJ_ID_UID, "Uid", "Number of the user."),
    TEXT(5, BJ_SNMP_IDENTITY, BJ_ID_PARTITION, "Partition",
         "Partition or queue."),
    TEXT(6, BJ_SNMP_IDENTITY, BJ_ID_QOS, "Qos", "Quality of service."),
    TEXT(7, BJ_SNMP_IDENTITY, BJ_ID_NAME, "Name",
         "Name of the job, which its user chose."),
    TEXT(8, BJ_SNMP_IDENTITY, BJ_ID_ARRAY_JOB, "ArrayJobId",
         "Id of the array."),
    TEXT(9, BJ_SNMP_IDENTITY, BJ_ID_ARRAY_TASK, "ArrayTask",
         "Task of the array."),
    TEXT(10, BJ_SNMP_IDENTITY, BJ_ID_HET_JOB, "HetJobId",
         "Id of the heterogeneous job."),
    TEXT(11, BJ_SNMP_IDENTITY, BJ_ID_HET_OFFSET, "HetOffset",
         "Number of the part of the heterogeneous job."),
    TEXT(12, BJ_SNMP_IDENTITY, BJ_ID_SLUID, "Sluid",
         "Slurm's unique id of this run."),
    TEXT(13, BJ_SNMP_IDENTITY, BJ_ID_SYSTEM, "BatchSystem",
         "slurm, pbs, lsf, ..."),
    TEXT(14, BJ_SNMP_IDENTITY, BJ_ID_SOURCE, "Source",
         "Source of account and similar columns: prolog, environ, both; or, "
         "where these are unknown, of the user: cgroup, process."),
#undef HERE
};
const size_t bj_snmp_nnumbers =
    sizeof(bj_snmp_numbers) / sizeof(bj_snmp_numbers[0]);
