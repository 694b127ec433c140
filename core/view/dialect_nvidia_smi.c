/* The names of the nvidia-smi exporter used with petricore's jobs_exporter. */
#include "core/view/dialect_tables.h"

#define ROW(name, text, field, unit)                                           \
    {                                                                          \
        BJ_NAMED(name, BJ_GAUGE, text),                                        \
            .of = BJ_ROW_GPU_CARDS, .off = offsetof(struct bj_gpu_use, field), \
            BJ_UNIT(unit), .info = gpu                                         \
    }

static const char *const gpu[] = {"gpu", NULL};

static const struct bj_dialect_row rows[] = {
    ROW("utilization_gpu", "Share of time in which any kernel ran, in percent.",
        busy_ppm, PERCENT),
    ROW("utilization_memory",
        "Share of time in which memory was accessed, in percent.",
        memory_busy_ppm, PERCENT),
    ROW("temperature_gpu", "Temperature of the GPU, in degrees Celsius.",
        temperature_uc, MICRO),
    ROW("memory_total", "Memory of the GPU, in MiB.", memory_total_bytes, MIB),
    ROW("memory_free", "Free memory of the GPU, in MiB.", memory_free_bytes,
        MIB),
    ROW("memory_used", "Memory of the GPU in use, in MiB.", memory_used_bytes,
        MIB),
};

static const struct bj_dialect_label host[] = {
    {.name = "instance", .of = BJ_LABEL_SHORT_HOST},
    {.name = NULL},
};

const struct bj_dialect bj_dialect_nvidia_smi = {
    .name = "nvidia_smi_exporter",
    .collect = BJ_COLLECT(GPU),
    BJ_TABLE(rows),
    .labels = {host},
};
