/* The names of jobstats' GPU exporter, nvidia_gpu_prometheus_exporter. */
#include "core/view/dialect_tables.h"

/* Values of each GPU and instance. */
#define GPU(text_name, text, field, ...)                                       \
    {                                                                          \
        BJ_NAMED("nvidia_gpu_" text_name, BJ_GAUGE, text),                     \
            .of = BJ_ROW_GPU_EACH, .off = offsetof(struct bj_gpu_use, field),  \
            .info = keys, __VA_ARGS__                                          \
    }
/* Values of the whole GPU, also for instances. */
#define WHOLE(text_name, text, field, ...)                                     \
    {                                                                          \
        BJ_NAMED("nvidia_gpu_" text_name, BJ_GAUGE, text),                     \
            .of = BJ_ROW_GPU_EACH_CARD,                                        \
            .off = offsetof(struct bj_gpu_use, field), __VA_ARGS__             \
    }
#define CLOCK(type, field, again)                                              \
    WHOLE("clock", "Clock of the GPU, in MHz.", field, BJ_UNIT(MICRO),         \
          .info = typed, .fixed = {type}, .more = (again))
/* Values of GPUs, independent of jobs. */
#define CARD(text_name, text, field, ...)                                      \
    {                                                                          \
        BJ_NAMED("nvidia_gpu_" text_name, BJ_GAUGE, text),                     \
            .of = BJ_ROW_GPU_CARDS, .off = offsetof(struct bj_gpu_use, field), \
            BJ_UNIT(NONE), __VA_ARGS__                                         \
    }
#define ECC(error, counter, field, again)                                      \
    CARD("ecc_errors", "Memory errors of the GPU.", field, .info = counted,    \
         .fixed = {error, counter}, .more = (again))
#define PART(text_name, text, field)                                           \
    GPU(text_name, text " (0 to 1).", field, BJ_UNIT(MICRO))
#define PLAIN(text_name, text, field) GPU(text_name, text, field, BJ_UNIT(NONE))
#define JOB(text_name, text, what)                                             \
    {                                                                          \
        BJ_NAMED("nvidia_gpu_" text_name, BJ_GAUGE, text), .of = (what),       \
                                                           .info = keys        \
    }

static const char *const keys[] = {
    "ordinal", "minor_number", "uuid",     "name",
    "jobid",   "userid",       "GPU_I_ID", NULL};
static const char *const typed[] = {"ordinal",  "minor_number", "uuid",
                                    "name",     "jobid",        "userid",
                                    "GPU_I_ID", "type",         NULL};
static const char *const reasoned[] = {"ordinal",  "minor_number", "uuid",
                                       "name",     "jobid",        "userid",
                                       "GPU_I_ID", "reason",       NULL};
static const char *const card[] = {"ordinal", "minor_number", "uuid", "name",
                                   NULL};
static const char *const counted[] = {"ordinal", "minor_number", "uuid", "name",
                                      "error",   "counter",      NULL};
static const struct bj_dialect_word reasons[] = {
    {"idle", "idle"},
    {"clock_setting", "application"},
    {"power_cap", "swpowercap"},
    {"hw_slowdown", "hwslowdown"},
    {"sync_boost", "syncboost"},
    {"sw_thermal", "swthermalslowdown"},
    {"hw_thermal", "hwthermalslowdown"},
    {"hw_power_brake", "hwpowerbrakeslowdown"},
    {"display_clock", "limited"},
    {NULL, NULL},
};

static const struct bj_dialect_row rows[] = {
    {BJ_NAMED("nvidia_gpu_num_devices", BJ_GAUGE, "GPUs."),
     .of = BJ_ROW_GPU_COUNT},
    PLAIN("memory_used_bytes", "Memory of the GPU in use.", memory_used_bytes),
    PLAIN("memory_total_bytes", "Memory of the GPU.", memory_total_bytes),
    GPU("duty_cycle", "Share of time in which any kernel ran, in percent.",
        busy_ppm, BJ_UNIT(PERCENT)),
    GPU("power_usage_milliwatts", "Power of the GPU.", power_uw, BJ_UNIT(MILLI),
        BJ_WHEN(RIGHT)),
    WHOLE("power_usage_milliwatts", "Power of the device.", power_uw,
          BJ_UNIT(MILLI), .info = keys, BJ_WHEN(STRICT)),
    WHOLE("temperature_celsius", "Temperature of the GPU.", temperature_uc,
          BJ_UNIT(MICRO), .info = keys),
    WHOLE("fanspeed_percent",
          "Target fan speed, in percent of the highest speed.", fan_ppm,
          BJ_UNIT(PERCENT), .info = keys),
    CLOCK("graphics", graphics_clock_hz, false),
    CLOCK("sm", sm_clock_hz, true),
    CLOCK("mem", memory_clock_hz, true),
    CLOCK("video", video_clock_hz, true),
    {BJ_NAMED("nvidia_gpu_clock_event_reason", BJ_GAUGE,
              "Bit mask of the reasons for which the GPU's clocks are "
              "throttled."),
     .of = BJ_ROW_GPU_EACH_REASON, .info = reasoned, .words = reasons},
    ECC("corrected", "volatile", ecc_corrected, false),
    ECC("uncorrected", "volatile", ecc_uncorrected, true),
    ECC("corrected", "aggregate", ecc_corrected_ever, true),
    ECC("uncorrected", "aggregate", ecc_uncorrected_ever, true),
    CARD("last_error",
         "Code of the NVML call that failed; absent while all succeed.",
         last_error, .info = card),
    JOB("jobId", "Id of the job that holds the GPU.", BJ_ROW_GPU_EACH_JOB),
    JOB("jobUid", "User id of that job's owner.", BJ_ROW_GPU_EACH_UID),
    PART("graphics_util_percent", "Time in which an engine was active",
         graphics_ppm),
    PART("sm_util_percent", "Multiprocessors in use", sm_ppm),
    PART("sm_occupancy_percent", "Resident warps of the possible ones",
         occupancy_ppm),
    PART("integer_util", "Time in which integer pipes were active",
         integer_ppm),
    PART("any_tensor_util_percent", "Time in which tensor pipes were active",
         tensor_ppm),
    PART("dram_bw_util_percent", "Bandwidth of memory in use", dram_ppm),
    PART("fp64_util_percent", "Time in which FP64 pipes were active", fp64_ppm),
    PART("fp32_util_percent", "Time in which FP32 pipes were active", fp32_ppm),
    PART("fp16_util_percent", "Time in which FP16 pipes were active", fp16_ppm),
    PLAIN("pcie_tx_per_sec", "Bytes a second sent over PCI Express.",
          pcie_tx_rate),
    PLAIN("pcie_rx_per_sec", "Bytes a second received over PCI Express.",
          pcie_rx_rate),
    PLAIN("nvlink_total_rx_per_sec", "Bytes a second received over NVLink.",
          nvlink_rx_rate),
    PLAIN("nvlink_total_tx_per_sec", "Bytes a second sent over NVLink.",
          nvlink_tx_rate),
};

static const struct bj_dialect_label bare[] = {{.name = NULL}};

const struct bj_dialect bj_dialect_nvidia_gpu = {
    .name = "nvidia_gpu_prometheus_exporter",
    .port = "9445",
    .system = "slurm",
    .collect = BJ_COLLECT(GPU),
    BJ_TABLE(rows),
    .labels = {bare},
};
