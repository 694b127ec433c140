/* Rows of accelerators: a part of metric.c, for whose tables they are. */
#ifndef BJ_CORE_MODEL_METRIC_GPU_H
#define BJ_CORE_MODEL_METRIC_GPU_H

#include "core/model/metric_rows.h"

static const struct bj_metric gpu_rows[] = {
    GAUGE(bj_gpu_use, success, "success", BJ_NUMBER,
          "1 when the last reading of the GPU had no fault."),
    COUNTER(bj_gpu_use, errors, "errors", BJ_NUMBER,
            "Readings of the GPU that had a fault, of those that were looked "
            "at: the newest in each pass."),
    GAUGE(bj_gpu_use, minor, "minor_number", BJ_NUMBER,
          "N of /dev/nvidiaN, which is often not the index."),
    GAUGE(bj_gpu_use, slices, "slices", BJ_NUMBER,
          "Slices of the GPU that the MIG instance has."),
    GAUGE(bj_gpu_use, multiprocessors, "multiprocessors", BJ_NUMBER,
          "Multiprocessors of the GPU or MIG instance."),
    GAUGE(bj_gpu_use, memory_total_bytes, "memory_total", BJ_BYTES,
          "Memory of the GPU."),
    GAUGE(bj_gpu_use, memory_used_bytes, "memory_used", BJ_BYTES,
          "Memory of the GPU in use."),
    GAUGE(bj_gpu_use, memory_reserved_bytes, "memory_reserved", BJ_BYTES,
          "Memory of the GPU that its driver keeps for itself."),
    GAUGE(bj_gpu_use, memory_free_bytes, "memory_free", BJ_BYTES,
          "Memory of the GPU that is free."),
    GAUGE(bj_gpu_use, busy_ppm, "busy", BJ_PPM,
          "Share of the last moments in which anything ran on the GPU; says "
          "nothing of how much of it was used."),
    GAUGE(bj_gpu_use, memory_busy_ppm, "memory_busy", BJ_PPM,
          "Share of the last moments in which memory of the GPU was accessed."),
    GAUGE(bj_gpu_use, processes, "processes", BJ_NUMBER,
          "Processes on the GPU."),
    GAUGE(bj_gpu_use, power_uw, "power", BJ_UW, "Power of the GPU."),
    GAUGE(bj_gpu_use, power_limit_uw, "power_limit", BJ_UW,
          "Power limit in force."),
    COUNTER(bj_gpu_use, energy_uj, "energy", BJ_UJ,
            "Energy of the GPU since we look: of its counter, or where it has "
            "none of its power."),
    COUNTER(bj_gpu_use, energy_resets, "energy_resets", BJ_NUMBER,
            "Times the energy counter of the GPU began anew; the energy of "
            "those intervals is unknown and not counted."),
    GAUGE(bj_gpu_use, temperature_uc, "temperature", BJ_UCELSIUS,
          "Temperature of the GPU."),
    GAUGE(bj_gpu_use, memory_temperature_uc, "memory_temperature", BJ_UCELSIUS,
          "Temperature of the GPU's memory."),
    GAUGE(bj_gpu_use, sm_clock_hz, "sm_clock", BJ_HERTZ,
          "Clock of the multiprocessors."),
    GAUGE(bj_gpu_use, graphics_clock_hz, "graphics_clock", BJ_HERTZ,
          "Clock of the graphics engine."),
    GAUGE(bj_gpu_use, memory_clock_hz, "memory_clock", BJ_HERTZ,
          "Clock of the GPU's memory."),
    GAUGE(bj_gpu_use, video_clock_hz, "video_clock", BJ_HERTZ,
          "Clock of the video engine."),
    GAUGE(
        bj_gpu_use, fan_ppm, "fan_speed", BJ_PPM,
        "Speed that the driver means the fan of the GPU to have, as a part of "
        "the highest; may be more than 1."),
    COUNTER(bj_gpu_use, xids, "xid_errors", BJ_NUMBER,
            "Xid errors that NVIDIA's driver has told of the GPU since we "
            "look."),
    GAUGE(bj_gpu_use, last_xid, "last_xid", BJ_NUMBER,
          "Number of the last of them; 0: there was none."),
    COUNTER(bj_gpu_use, ecc_corrected, "ecc_corrected", BJ_NUMBER,
            "Memory errors corrected since the driver was loaded."),
    COUNTER(bj_gpu_use, ecc_uncorrected, "ecc_uncorrected", BJ_NUMBER,
            "Memory errors not corrected since the driver was loaded."),
    COUNTER(bj_gpu_use, ecc_corrected_ever, "ecc_corrected_ever", BJ_NUMBER,
            "Memory errors corrected in the life of the GPU."),
    COUNTER(bj_gpu_use, ecc_uncorrected_ever, "ecc_uncorrected_ever", BJ_NUMBER,
            "Memory errors not corrected in the life of the GPU."),
    GAUGE(bj_gpu_use, rows_corrected, "remapped_rows_corrected", BJ_NUMBER,
          "Rows of memory remapped after corrected errors."),
    GAUGE(bj_gpu_use, rows_uncorrected, "remapped_rows_uncorrected", BJ_NUMBER,
          "Rows of memory remapped after errors that were not corrected."),
    GAUGE(bj_gpu_use, rows_pending, "remapping_pending", BJ_NUMBER,
          "1 while remapping waits for a reset of the GPU."),
    GAUGE(bj_gpu_use, rows_failed, "remapping_failed", BJ_NUMBER,
          "1 when remapping has failed: the GPU should be replaced."),
    COUNTER(bj_gpu_use, pcie_tx_bytes, "pcie_transmitted", BJ_BYTES,
            "Bytes the GPU sent over PCI Express; wraps."),
    COUNTER(bj_gpu_use, pcie_rx_bytes, "pcie_received", BJ_BYTES,
            "Bytes the GPU received over PCI Express; wraps."),
    COUNTER(bj_gpu_use, pcie_replays, "pcie_replays", BJ_NUMBER,
            "Packets sent again over PCI Express."),
    COUNTER(bj_gpu_use, nvlink_tx_bytes, "nvlink_transmitted", BJ_BYTES,
            "Bytes the GPU sent over all NVLinks."),
    COUNTER(bj_gpu_use, nvlink_rx_bytes, "nvlink_received", BJ_BYTES,
            "Bytes the GPU received over all NVLinks."),
    COUNTER(bj_gpu_use, xgmi_corrected, "xgmi_corrected", BJ_NUMBER,
            "Errors on xGMI links corrected since the driver was loaded."),
    COUNTER(bj_gpu_use, xgmi_uncorrected, "xgmi_uncorrected", BJ_NUMBER,
            "Errors on xGMI links not corrected since the driver was loaded."),
#define PROFILE(field, name, help) GAUGE(bj_gpu_use, field, name, BJ_PPM, help)
    PROFILE(graphics_ppm, "engine_active",
            "Share of time in which the graphics or compute engine was active "
            "(GPM or DCGM, since the last reading)."),
    PROFILE(sm_ppm, "sm_active",
            "Share of multiprocessor time in which a warp was there (GPM or "
            "DCGM)."),
    PROFILE(occupancy_ppm, "sm_occupancy",
            "Share of the warps there could be that were there (GPM or DCGM)."),
    PROFILE(tensor_ppm, "tensor_active",
            "Share of time in which tensor pipes were active (GPM or DCGM)."),
    PROFILE(dfma_ppm, "tensor_dfma_active", "The same for DFMA (GPM or DCGM)."),
    PROFILE(hmma_ppm, "tensor_hmma_active", "The same for HMMA (GPM or DCGM)."),
    PROFILE(dmma_ppm, "tensor_dmma_active", "The same for DMMA (GPM or DCGM)."),
    PROFILE(imma_ppm, "tensor_imma_active", "The same for IMMA (GPM or DCGM)."),
    PROFILE(dram_ppm, "dram_active",
            "Share of the memory bandwidth in use (GPM or DCGM)."),
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
          "Rate at which the GPU sent over PCI Express (GPM or DCGM)."),
    GAUGE(bj_gpu_use, pcie_rx_rate, "pcie_receive_rate", BJ_BYTES_PER_SEC,
          "Rate at which the GPU received over PCI Express (GPM or DCGM)."),
    GAUGE(bj_gpu_use, nvlink_tx_rate, "nvlink_transmit_rate", BJ_BYTES_PER_SEC,
          "Rate at which the GPU sent over all NVLinks (GPM or DCGM)."),
    GAUGE(bj_gpu_use, nvlink_rx_rate, "nvlink_receive_rate", BJ_BYTES_PER_SEC,
          "Rate at which the GPU received over all NVLinks (GPM or DCGM)."),
};

static const struct bj_metric job_gpu_rows[] = {
    LEVEL(bj_gpu_part, share_ppm, "share", BJ_PPM,
          "Part of the GPU that the job holds; the parts of a GPU's jobs add "
          "up to 1."),
    LEVEL(bj_gpu_part, estimated, "estimated", BJ_NUMBER,
          "1 when the part, and the energy that goes with it, is estimated: "
          "the GPU is shared or partitioned."),
    LEVEL(bj_gpu_part, busy_ppm, "busy", BJ_PPM,
          "Share of the last moments in which anything of the job ran on the "
          "GPU; of a shared one what its processes used."),
    LEVEL(bj_gpu_part, memory_used_bytes, "memory_used", BJ_BYTES,
          "Memory of the GPU in use; of a shared one by the job's processes."),
    LEVEL(bj_gpu_part, power_uw, "power", BJ_UW,
          "The job's part of the power of the GPU."),
    LEVEL(bj_gpu_part, processes, "processes", BJ_NUMBER,
          "Processes of the job on the GPU."),
    COUNTER(bj_gpu_part, held_usec, "held", BJ_USEC,
            "Time the job has held the GPU."),
    COUNTER(bj_gpu_part, idle_usec, "idle", BJ_USEC,
            "Time the job has held the GPU without anything of it running."),
    COUNTER(bj_gpu_part, energy_uj, "energy", BJ_UJ,
            "Energy of the GPU that the job was given."),
};

static const struct bj_metric job_gpu_engine_rows[] = {
    COUNTER(bj_gpu_engine_use, busy_usec, "busy", BJ_USEC,
            "Time that processes of the job have used the engines of that "
            "class, as the kernel tells of AMD's and Intel's GPUs; engines at "
            "the same time add up.  What ROCm computes is not in it."),
};

static const struct bj_metric job_gpu_claim_rows[] = {
    LEVEL(bj_gpu_label, value, "info", BJ_NUMBER,
          "1; where it is known from that the job holds the GPU: devices, "
          "prolog, scheduler, process, environ."),
};

static const struct bj_metric gpu_conflict_rows[] = {
    COUNTER(bj_gpu_label, value, "", BJ_NUMBER,
            "Times it was in doubt whose GPU it is: denied (a job says that it "
            "has one that another proves), stray (it runs on one it was not "
            "given), double (two jobs that asked for no sharing)."),
};

static const struct bj_metric gpu_model_rows[] = {
    GAUGE(bj_gpu_label, value, "info", BJ_NUMBER,
          "1; the labels say what the GPU is."),
};

static const struct bj_metric gpu_address_rows[] = {
    GAUGE(bj_gpu_label, value, "info", BJ_NUMBER,
          "1; the labels say where on the bus the GPU is."),
};

static const struct bj_metric gpu_parent_rows[] = {
    GAUGE(bj_gpu_label, value, "info", BJ_NUMBER,
          "1; the labels say of which GPU a MIG instance is."),
};

static const struct bj_metric gpu_reason_rows[] = {
    GAUGE(bj_gpu_label, value, "active", BJ_NUMBER,
          "1 while the clocks of the GPU are held back for that reason."),
};

static const struct bj_metric gpu_source_rows[] = {
    GAUGE(bj_gpu_source, success, "success", BJ_NUMBER,
          "1 when the driver's last reading had no fault."),
    COUNTER(bj_gpu_source, errors, "errors", BJ_NUMBER,
            "Faults of the driver, hangs included."),
    GAUGE(bj_gpu_source, age_usec, "age", BJ_USEC,
          "Age of the driver's last good reading."),
    GAUGE(bj_gpu_source, duration_usec, "duration", BJ_USEC,
          "Time the last reading took."),
    GAUGE(bj_gpu_source, devices, "devices", BJ_NUMBER,
          "GPUs that the driver tells."),
};

#endif
