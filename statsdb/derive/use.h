/* The columns of job_use, and of job_prom: what a job used, from accounting,
 * final records and Prometheus.  Units are in the names. */
#ifndef BJ_STATSDB_DERIVE_USE_H
#define BJ_STATSDB_DERIVE_USE_H

/* The values of job_use and job_prom in the order of their columns, with the
 * SQL that computes them from the final records r of a job ("": none). ALL: a
 * sum that is unknown if one part is unknown; GPUS: the same over the nodes
 * that saw GPUs; MOST: that of the node with the most, known of all. Memory of
 * 0 is unknown: no process runs without it. HELD_CHARGED: whether MEM_HELD has
 * a charged peak of a node. */
#define BJ_ALL(x) "CASE WHEN count(" x ")=count(*) THEN sum(" x ")END"
#define BJ_MOST(x) "CASE WHEN count(" x ")=count(*) THEN max(" x ")END"
#define BJ_GPUS(x) "CASE WHEN count(" x ")=count(r.gpu_rows) THEN sum(" x ")END"
#define BJ_USE_VALUES(X)                                                       \
    X(CPU, cpu_usec, BJ_ALL("r.cpu_known"))                                    \
    X(CPU_PEAK, cpu_peak_milli, "NULL")                                        \
    X(MEM_CHARGED, memory_charged_peak_bytes,                                  \
      BJ_ALL("nullif(r.memory_charged_peak_bytes, 0)"))                        \
    X(MEM_MEAN, memory_mean_bytes, "NULL")                                     \
    X(IO_READ, io_read_bytes, BJ_ALL("r.io_read_bytes"))                       \
    X(IO_WRITE, io_write_bytes, BJ_ALL("r.io_write_bytes"))                    \
    X(STORAGE_READ, io_storage_read_bytes, BJ_ALL("r.io_storage_read_bytes"))  \
    X(STORAGE_WRITE, io_storage_write_bytes,                                   \
      BJ_ALL("r.io_storage_write_bytes"))                                      \
    X(DEVICE_READ, device_read_bytes, BJ_ALL("r.device_read"))                 \
    X(DEVICE_WRITE, device_write_bytes, BJ_ALL("r.device_write"))              \
    X(OOM_KILLS, oom_kills, BJ_ALL("r.oom_kills"))                             \
    X(GPUS_SEEN, gpus_seen, "nullif(sum(r.gpus), 0)")                          \
    X(GPUS_UNUSED, gpus_unused,                                                \
      "CASE WHEN sum(r.gpus) > 0 THEN sum(r.gpus_unused) END")                 \
    X(GPU_BUSY, gpu_busy_ppm, "sum(r.gpu_busy) / nullif(sum(r.gpu_known), 0)") \
    X(GPU_HELD, gpu_held_usec, BJ_GPUS("r.gpu_held"))                          \
    X(GPU_IDLE, gpu_idle_usec, BJ_GPUS("r.gpu_idle"))                          \
    X(GPU_MEM_PEAK, gpu_memory_peak_bytes, BJ_GPUS("r.gpu_mem"))               \
    X(THREADS, threads_peak, "NULL")                                           \
    X(OPEN_FDS, open_fds_peak, "NULL")                                         \
    X(SCRATCH, scratch_files_peak, "NULL")                                     \
    X(CORE_MIN, core_min_ppm, "NULL")                                          \
    X(CORES_USED, cores_used, "NULL")                                          \
    X(NODES_UNUSED, nodes_unused, BJ_ALL("r.cpu_known < 1000000"))             \
    X(MEM_HELD, memory_held_peak_bytes,                                        \
      BJ_ALL("nullif(r.memory_held_peak_bytes, 0)"))                           \
    X(IDLE_START, idle_start_sec, "NULL")                                      \
    X(IDLE_END, idle_end_sec, "NULL")                                          \
    X(MEM_RISE, memory_rise_bytes, "NULL")                                     \
    X(MEM_STEADY, memory_steady_ppm, "NULL")                                   \
    X(HELD_CHARGED, memory_held_peak_charged,                                  \
      BJ_MOST("r.memory_held_peak_charged"))                                   \
    X(SUSPENDED, suspended_usec, "max(r.suspended_usec)")                      \
    X(MEM_REMOTE, memory_remote_ppm, "max(r.memory_remote_ppm)")

enum {
#define BJ_USE_ENUM(upper, lower, nodes) BJ_USE_##upper,
    BJ_USE_VALUES(BJ_USE_ENUM)
#undef BJ_USE_ENUM
        BJ_USE_VALUE_COUNT
};

/* The other columns of job_use. */
#define BJ_USE_REST(X)                                                         \
    X(CPU_EFF, cpu_efficiency_ppm)                                             \
    X(MEM_EFF, memory_efficiency_ppm)                                          \
    X(GPU_EFF, gpu_efficiency_ppm)                                             \
    X(CPU_EFF_SOURCE, cpu_efficiency_source)                                   \
    X(MEM_EFF_SOURCE, memory_efficiency_source)                                \
    X(ENERGY_SOURCE, energy_source)                                            \
    X(ENERGY_POLICY, energy_policy)                                            \
    X(ENERGY, energy_uj)                                                       \
    X(ENERGY_CPU, energy_cpu_uj)                                               \
    X(ENERGY_DRAM, energy_dram_uj)                                             \
    X(ENERGY_GPU, energy_gpu_uj)                                               \
    X(ENERGY_OTHER, energy_other_uj)                                           \
    X(ENERGY_USED, energy_used_uj)                                             \
    X(ENERGY_RESERVED, energy_reserved_uj)                                     \
    X(ASSOC, counted_assoc)                                                    \
    X(COUNTED_CPU, counted_cpu_sec)                                            \
    X(COUNTED_MORE, counted_cpu_more_msec)                                     \
    X(COUNTED_KNOWN, counted_cpu_known_sec)                                    \
    X(COUNTED_GPU, counted_gpu_sec)                                            \
    X(COUNTED_GPU_USED, counted_gpu_used_msec)                                 \
    X(COUNTED_START, counted_start)                                            \
    X(COUNTED_END, counted_end)                                                \
    X(SOURCES, sources)                                                        \
    X(MEASURED_NODES, measured_nodes)                                          \
    X(COVERAGE, coverage_ppm)                                                  \
    X(GPU_MODEL, gpu_model)                                                    \
    X(APPLICATION, application)                                                \
    X(APPLICATION_BY, application_by)                                          \
    X(GPU_FAULT, gpu_fault)                                                    \
    X(GPU_CONFLICTS, gpu_conflicts)                                            \
    X(FAILED_CPU, counted_failed_cpu_sec)                                      \
    X(FAILED_GPU, counted_failed_gpu_sec)                                      \
    X(FAILED_MIB, counted_failed_mem_mib_sec)                                  \
    X(HELD_CPU, counted_held_cpu_sec)                                          \
    X(HELD_KNOWN, counted_held_known_sec)                                      \
    X(HELD_USED, counted_held_used_msec)                                       \
    X(HELD_GPU, counted_held_gpu_sec)

enum {
    BJ_USE_BEFORE_REST = BJ_USE_VALUE_COUNT - 1,
#define BJ_USE_ENUM(upper, lower) BJ_USE_##upper,
    BJ_USE_REST(BJ_USE_ENUM)
#undef BJ_USE_ENUM
        BJ_USE_COLUMNS
};

enum { BJ_COMPONENTS = 4 }; /* of energy: cpu, dram, gpu, other */

#endif
