/* Metric rows of GPUs.  Included by core/model/tables.c only. */
#ifndef BJ_CORE_MODEL_METRIC_GPU_H
#define BJ_CORE_MODEL_METRIC_GPU_H

#include "core/model/metric_rows.h"

static const struct bj_metric gpu_rows[] = {
    GAUGE(bj_gpu_use, success, "success", BJ_NUMBER,
          "Whether the last read of the GPU succeeded: 1 yes, 0 no."),
    COUNTER(bj_gpu_use, errors, "errors", BJ_NUMBER,
            "Failed reads of the GPU; only the newest read before each pass is "
            "counted."),
    GAUGE(bj_gpu_use, minor, "minor_number", BJ_NUMBER,
          "Minor number N of /dev/nvidiaN, which may differ from the index."),
    GAUGE(bj_gpu_use, slices, "slices", BJ_NUMBER,
          "GPU slices of the MIG instance."),
    GAUGE(bj_gpu_use, multiprocessors, "multiprocessors", BJ_NUMBER,
          "Multiprocessors of the GPU or MIG instance."),
    GAUGE(bj_gpu_use, memory_total_bytes, "memory_total", BJ_BYTES,
          "Total memory of the GPU, in bytes."),
    GAUGE(bj_gpu_use, memory_used_bytes, "memory_used", BJ_BYTES,
          "Memory of the GPU in use, in bytes."),
    GAUGE(bj_gpu_use, memory_reserved_bytes, "memory_reserved", BJ_BYTES,
          "Memory of the GPU reserved by its driver, in bytes."),
    GAUGE(bj_gpu_use, memory_free_bytes, "memory_free", BJ_BYTES,
          "Free memory of the GPU, in bytes."),
    GAUGE(bj_gpu_use, busy_ppm, "busy", BJ_PPM,
          "Share of time in which any kernel ran on the GPU, as sampled by the "
          "driver; not how much of the GPU was used."),
    GAUGE(bj_gpu_use, memory_busy_ppm, "memory_busy", BJ_PPM,
          "Share of time in which memory of the GPU was accessed, as sampled "
          "by the driver."),
    GAUGE(bj_gpu_use, processes, "processes", BJ_NUMBER,
          "Processes on the GPU."),
    GAUGE(bj_gpu_use, power_uw, "power", BJ_UW, "Power of the GPU, in watts."),
    GAUGE(bj_gpu_use, power_limit_uw, "power_limit", BJ_UW,
          "Power limit in force on the GPU, in watts."),
    COUNTER(bj_gpu_use, energy_uj, "energy", BJ_UJ,
            "Energy of the GPU since this program started, in joules: from its "
            "energy counter, else integrated from its power."),
    COUNTER(bj_gpu_use, energy_resets, "energy_resets", BJ_NUMBER,
            "Resets of the GPU's energy counter; the energy of those intervals "
            "is unknown and not counted."),
    GAUGE(bj_gpu_use, temperature_uc, "temperature", BJ_UCELSIUS,
          "Temperature of the GPU, in degrees Celsius."),
    GAUGE(bj_gpu_use, memory_temperature_uc, "memory_temperature", BJ_UCELSIUS,
          "Temperature of the GPU's memory, in degrees Celsius."),
    GAUGE(bj_gpu_use, sm_clock_hz, "sm_clock", BJ_HERTZ,
          "Clock of the GPU's multiprocessors, in hertz."),
    GAUGE(bj_gpu_use, graphics_clock_hz, "graphics_clock", BJ_HERTZ,
          "Clock of the GPU's graphics engine, in hertz."),
    GAUGE(bj_gpu_use, memory_clock_hz, "memory_clock", BJ_HERTZ,
          "Clock of the GPU's memory, in hertz."),
    GAUGE(bj_gpu_use, video_clock_hz, "video_clock", BJ_HERTZ,
          "Clock of the GPU's video engine, in hertz."),
    GAUGE(bj_gpu_use, fan_ppm, "fan_speed", BJ_PPM,
          "Target speed of the GPU's fan as a share of its highest speed; may "
          "exceed 1."),
    COUNTER(bj_gpu_use, xids, "xid_errors", BJ_NUMBER,
            "Xid errors that NVIDIA's driver reported for the GPU since this "
            "program started."),
    GAUGE(bj_gpu_use, last_xid, "last_xid", BJ_NUMBER,
          "Number of the last Xid error of the GPU; 0 when there was none."),
    GAUGE(bj_gpu_use, last_error, "last_error", BJ_NUMBER,
          "Code of the last call of NVIDIA's library that failed in the newest "
          "reading of the GPU."),
    GAUGE(bj_gpu_use, health, "health", BJ_NUMBER,
          "What the GPU is fit for: 0 or 1 any job, 2 jobs with care, 3 no "
          "further job, 4 not even the present job. None: 5 until the GPU is "
          "reset, 6 until the node is rebooted."),
    COUNTER(bj_gpu_use, incidents, "incidents", BJ_NUMBER,
            "Faults of the GPU that Xid errors reported since this program "
            "started: errors of a minute are one, those of programs none."),
    GAUGE(
        bj_gpu_use, recovery, "recovery_action", BJ_NUMBER,
        "What the driver says the GPU needs: 0 nothing, 1 a reset, 2 a reboot "
        "of the node, 3 no more peer access, 4 a reset when it is free, 5 "
        "recovery of its IMEX domain. Others: see the driver."),
    COUNTER(bj_gpu_use, throttled_sw_usec, "throttled_software_thermal",
            BJ_USEC,
            "Time in which the driver lowered the clocks of the GPU because "
            "of heat, in seconds since the driver was loaded."),
    COUNTER(bj_gpu_use, throttled_hw_usec, "throttled_hardware_thermal",
            BJ_USEC,
            "Time in which the hardware lowered the clocks of the GPU because "
            "of heat, in seconds since the driver was loaded."),
    COUNTER(bj_gpu_use, throttled_brake_usec, "throttled_power_brake", BJ_USEC,
            "Time in which the power supply of the node lowered the clocks of "
            "the GPU, in seconds since the driver was loaded."),
    COUNTER(bj_gpu_use, ecc_corrected, "ecc_corrected", BJ_NUMBER,
            "Corrected memory errors of the GPU since its driver was loaded."),
    COUNTER(
        bj_gpu_use, ecc_uncorrected, "ecc_uncorrected", BJ_NUMBER,
        "Uncorrected memory errors of the GPU since its driver was loaded."),
    COUNTER(bj_gpu_use, ecc_corrected_ever, "ecc_corrected_lifetime", BJ_NUMBER,
            "Corrected memory errors over the lifetime of the GPU."),
    COUNTER(bj_gpu_use, ecc_uncorrected_ever, "ecc_uncorrected_lifetime",
            BJ_NUMBER,
            "Uncorrected memory errors over the lifetime of the GPU."),
    GAUGE(bj_gpu_use, rows_corrected, "remapped_rows_corrected", BJ_NUMBER,
          "Rows of GPU memory remapped after corrected errors."),
    GAUGE(bj_gpu_use, rows_uncorrected, "remapped_rows_uncorrected", BJ_NUMBER,
          "Rows of GPU memory remapped after uncorrected errors."),
    GAUGE(bj_gpu_use, rows_pending, "remapping_pending", BJ_NUMBER,
          "Whether row remapping waits for a reset of the GPU: 1 yes, 0 no."),
    GAUGE(bj_gpu_use, rows_failed, "remapping_failed", BJ_NUMBER,
          "Whether row remapping has failed: 1 yes (replace the GPU), 0 no."),
    COUNTER(bj_gpu_use, pcie_replays, "pcie_replays", BJ_NUMBER,
            "Packets the GPU sent again over PCI Express."),
    COUNTER(bj_gpu_use, nvlink_tx_bytes, "nvlink_transmitted", BJ_BYTES,
            "Bytes the GPU sent over all NVLinks."),
    COUNTER(bj_gpu_use, nvlink_rx_bytes, "nvlink_received", BJ_BYTES,
            "Bytes the GPU received over all NVLinks."),
    COUNTER(bj_gpu_use, xgmi_corrected, "xgmi_corrected", BJ_NUMBER,
            "Corrected errors on the GPU's xGMI links since its driver was "
            "loaded."),
    COUNTER(bj_gpu_use, xgmi_uncorrected, "xgmi_uncorrected", BJ_NUMBER,
            "Uncorrected errors on the GPU's xGMI links since its driver was "
            "loaded."),
#define PROFILE(field, name, help) GAUGE(bj_gpu_use, field, name, BJ_PPM, help)
    PROFILE(graphics_ppm, "engine_active",
            "Share of time since the last read in which the graphics or "
            "compute engine was active (GPM or DCGM)."),
    PROFILE(sm_ppm, "sm_active",
            "Share of multiprocessor time in which at least one warp was "
            "assigned (GPM or DCGM)."),
    PROFILE(occupancy_ppm, "sm_occupancy",
            "Share of the possible warps that were resident on multiprocessors "
            "(GPM or DCGM)."),
    PROFILE(tensor_ppm, "tensor_active",
            "Share of time in which tensor pipes were active (GPM or DCGM)."),
    PROFILE(dfma_ppm, "tensor_dfma_active",
            "Share of time in which tensor pipes executed DFMA instructions "
            "(GPM or DCGM)."),
    PROFILE(hmma_ppm, "tensor_hmma_active",
            "Share of time in which tensor pipes executed HMMA instructions "
            "(GPM or DCGM)."),
    PROFILE(dmma_ppm, "tensor_dmma_active",
            "Share of time in which tensor pipes executed DMMA instructions "
            "(GPM or DCGM)."),
    PROFILE(imma_ppm, "tensor_imma_active",
            "Share of time in which tensor pipes executed IMMA instructions "
            "(GPM or DCGM)."),
    PROFILE(dram_ppm, "dram_active",
            "Share of the GPU's memory bandwidth in use (GPM or DCGM)."),
    PROFILE(fp64_ppm, "fp64_active",
            "Share of time in which FP64 pipes were active (GPM or DCGM)."),
    PROFILE(fp32_ppm, "fp32_active",
            "Share of time in which FP32 pipes were active (GPM or DCGM)."),
    PROFILE(fp16_ppm, "fp16_active",
            "Share of time in which FP16 pipes were active (GPM or DCGM)."),
    PROFILE(integer_ppm, "integer_active",
            "Share of time in which integer pipes were active (GPM)."),
#undef PROFILE
    GAUGE(bj_gpu_use, pcie_tx_rate, "pcie_transmit_rate", BJ_BYTES_PER_SEC,
          "Rate at which the GPU sent over PCI Express, in bytes per second "
          "(GPM or DCGM)."),
    GAUGE(bj_gpu_use, pcie_rx_rate, "pcie_receive_rate", BJ_BYTES_PER_SEC,
          "Rate at which the GPU received over PCI Express, in bytes per "
          "second (GPM or DCGM)."),
    GAUGE(bj_gpu_use, nvlink_tx_rate, "nvlink_transmit_rate", BJ_BYTES_PER_SEC,
          "Rate at which the GPU sent over all NVLinks, in bytes per second "
          "(GPM or DCGM)."),
    GAUGE(bj_gpu_use, nvlink_rx_rate, "nvlink_receive_rate", BJ_BYTES_PER_SEC,
          "Rate at which the GPU received over all NVLinks, in bytes per "
          "second (GPM or DCGM)."),
};

static const struct bj_metric job_gpu_rows[] = {
    LEVEL(bj_gpu_part, share_ppm, "share", BJ_PPM,
          "Share of the GPU that the job holds; the shares of all jobs on a "
          "GPU add up to 1."),
    LEVEL(bj_gpu_part, estimated, "estimated", BJ_NUMBER,
          "Whether the job's share and energy of the GPU are estimated: 1 for "
          "a shared or partitioned GPU, else 0."),
    LEVEL(bj_gpu_part, busy_ppm, "busy", BJ_PPM,
          "Share of time in which kernels of the job ran on the GPU; on a "
          "shared GPU, what the job's processes used."),
    LEVEL(bj_gpu_part, memory_used_bytes, "memory_used", BJ_BYTES,
          "Memory of the GPU in use, in bytes; on a shared GPU, the memory of "
          "the job's processes."),
    LEVEL(bj_gpu_part, power_uw, "power", BJ_UW,
          "The job's share of the power of the GPU, in watts."),
    LEVEL(bj_gpu_part, processes, "processes", BJ_NUMBER,
          "Processes of the job on the GPU."),
    COUNTER(bj_gpu_part, held_usec, "held", BJ_USEC,
            "Time the job has held the GPU, in seconds."),
    COUNTER(bj_gpu_part, idle_usec, "idle", BJ_USEC,
            "Time the job has held the GPU without running anything on it, in "
            "seconds."),
    COUNTER(bj_gpu_part, energy_uj, "energy", BJ_UJ,
            "Energy of the GPU attributed to the job, in joules."),
};

static const struct bj_metric job_gpu_engine_rows[] = {
    COUNTER(
        bj_gpu_engine_use, busy_usec, "busy", BJ_USEC,
        "Time processes of the job used engines of a class, in seconds (AMD "
        "and Intel). Concurrent engines add up. Excludes ROCm compute."),
};

static const struct bj_metric job_gpu_claim_rows[] = {
    LEVEL(bj_gpu_label, value, "info", BJ_NUMBER,
          "Sources that assign the GPU to the job: devices, prolog, scheduler, "
          "process, environ; the value is always 1."),
};

static const struct bj_metric job_gpu_conflict_rows[] = {
    GAUGE(bj_gpu_label, value, "", BJ_NUMBER,
          "What is in doubt about GPUs of the job: denied, stray, double or "
          "unresolved, as in batchjob_gpu_conflicts_total; the value is always "
          "1."),
};

static const struct bj_metric gpu_conflict_rows[] = {
    COUNTER(bj_gpu_label, value, "", BJ_NUMBER,
            "Conflicting GPU assignments: denied (claimed by a job but held by "
            "another), stray (used without assignment), double (claimed by two "
            "jobs without sharing). Also unresolved: a GPU of a job is not "
            "listed by its driver."),
};

static const struct bj_metric gpu_model_rows[] = {
    GAUGE(bj_gpu_label, value, "info", BJ_NUMBER,
          "Model of the GPU as a label; the value is always 1."),
};

static const struct bj_metric gpu_address_rows[] = {
    GAUGE(bj_gpu_label, value, "info", BJ_NUMBER,
          "PCI address of the GPU as a label; the value is always 1."),
};

static const struct bj_metric gpu_parent_rows[] = {
    GAUGE(bj_gpu_label, value, "info", BJ_NUMBER,
          "GPU that contains the MIG instance, as a label; the value is always "
          "1."),
};

static const struct bj_metric gpu_reason_rows[] = {
    GAUGE(
        bj_gpu_label, value, "active", BJ_NUMBER,
        "Whether the GPU's clocks are throttled for this reason: 1 yes, 0 no."),
};

static const struct bj_metric gpu_source_rows[] = {
    GAUGE(bj_gpu_source, success, "success", BJ_NUMBER,
          "Whether the last read through the driver succeeded: 1 yes, 0 no."),
    COUNTER(bj_gpu_source, errors, "errors", BJ_NUMBER,
            "Failed reads through the driver, including timeouts."),
    GAUGE(bj_gpu_source, age_usec, "age", BJ_USEC,
          "Age of the driver's last successful read, in seconds."),
    GAUGE(bj_gpu_source, duration_usec, "duration", BJ_USEC,
          "Duration of the last read through the driver, in seconds."),
    GAUGE(bj_gpu_source, devices, "devices", BJ_NUMBER,
          "GPUs that the driver reports."),
};

#endif
