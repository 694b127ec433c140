/* Shared by derive*.c only. */
#ifndef BJ_STATSDB_DERIVE_IMPL_H
#define BJ_STATSDB_DERIVE_IMPL_H

#include "statsdb/best.h"
#include "statsdb/derive.h"
#include "statsdb/dict.h"
#include "statsdb/finding_rule.h"
#include "statsdb/fragment.h"
#include "statsdb/grams.h"
#include "store/db.h"

/* The values of job_use and job_prom in the order of their columns, with the
 * SQL that computes them from the final records r of a job ("": none). ALL: a
 * sum that is unknown if one part is unknown; GPUS: the same over the nodes
 * that saw GPUs. Memory of 0 is unknown: no process runs without it. */
#define BJ_ALL(x) "CASE WHEN count(" x ") = count(*) THEN sum(" x ") END"
#define BJ_GPUS(x)                                                             \
    "CASE WHEN count(" x ") = count(r.gpu_rows) THEN sum(" x ") END"
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
      BJ_ALL("nullif(r.memory_held_peak_bytes, 0)"))

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
    X(GPU_MODEL, gpu_model)

enum {
    BJ_USE_BEFORE_REST = BJ_USE_VALUE_COUNT - 1,
#define BJ_USE_ENUM(upper, lower) BJ_USE_##upper,
    BJ_USE_REST(BJ_USE_ENUM)
#undef BJ_USE_ENUM
        BJ_USE_COLUMNS
};

/* Columns read of a job. */
#define BJ_DJ_COLUMNS(X)                                                       \
    X(CLUSTER, "j.cluster")                                                    \
    X(STATE, "j.state")                                                        \
    X(START, "j.start")                                                        \
    X(END, "j.\"end\"")                                                        \
    X(ELAPSED, "j.elapsed")                                                    \
    X(SUSPENDED, "j.suspended")                                                \
    X(CPUS, "j.cpus")                                                          \
    X(NODES, "j.nodes")                                                        \
    X(GPUS, "j.gpus")                                                          \
    X(LIMIT, "j.time_limit")                                                   \
    X(ELIGIBLE, "coalesce(j.eligible, nullif(j.submit, 0))")                   \
    X(RESTARTS, "j.restarts")                                                  \
    X(EXIT_CODE, "j.exit_code")                                                \
    X(EXIT_SIGNAL, "j.exit_signal")                                            \
    X(CPU, "j.cpu_usec")                                                       \
    X(PEAK, "j.memory_scheduler_peak_bytes")                                   \
    X(TASK_PEAK, "j.memory_task_peak_bytes")                                   \
    X(MEM, "coalesce(j.memory_allocated_bytes, j.memory_requested_bytes)")     \
    X(ENERGY, "j.energy_scheduler_joules")                                     \
    X(READ, "j.read_bytes")                                                    \
    X(WRITE, "j.write_bytes")                                                  \
    X(OOM_STEPS, "(SELECT count(*) FROM step WHERE job = j.id AND state = 8)") \
    X(INTERACTIVE, BJ_SQL_INTERACTIVE("j.id"))                                 \
    X(ACCOUNT, "j.account")                                                    \
    X(USER, "j.user")                                                          \
    X(PARTITION, "j.partition")                                                \
    X(RECORDS_FIRST, BJ_SQL_RECORDS_FIRST("j"))                                \
    X(RECORDS_END, BJ_SQL_RECORDS_END("j"))

enum {
#define BJ_DJ_ENUM(upper, sql) BJ_DJ_##upper,
    BJ_DJ_COLUMNS(BJ_DJ_ENUM)
#undef BJ_DJ_ENUM
        BJ_DJ_COUNT
};

/* Values of a job from one source. */
struct bj_derive_values {
    int64_t nodes; /* 0: nothing */
    int64_t v[BJ_USE_VALUE_COUNT];
};

enum { BJ_COMPONENTS = 4 }; /* cpu, dram, gpu, other */

struct bj_derive_energy {
    int64_t nodes;  /* with energy */
    int64_t policy; /* BJ_SQL_NULL: different policies */
    int64_t component[BJ_COMPONENTS];
    int64_t used, reserved;
};

enum { BJ_DERIVE_FOUND = 64 };

/* A job being derived. */
struct bj_derive_job {
    int64_t id;
    int64_t v[BJ_DJ_COUNT];
    char cluster[256], partition[256], qos[256];
    struct bj_derive_values nodes, prom;
    struct bj_derive_energy node_energy, prom_energy;
    int64_t prom_final, prom_coverage; /* nodes whose end was seen; ppm */
    int64_t gpu_model;                 /* of final records: a word */
    struct bj_energy_bin *bin;         /* limited by BJ_FINDINGS_MAX */
    size_t bins, bins_cap;

    /* The new values, and the stored ones. */
    int64_t use[BJ_USE_COLUMNS], old_use[BJ_USE_COLUMNS];
    bool has_use, had_use;
    struct bj_grams_row grams[BJ_GRAMS_MAX], old_grams[BJ_GRAMS_MAX];
    size_t n_grams, n_old_grams;
    struct bj_rule_match found[BJ_DERIVE_FOUND];
    size_t n_found;
};

enum {
    BJ_DE_JOB,
    BJ_DE_NODES,
    BJ_DE_NODE_ENERGY,
    BJ_DE_PROM,
    BJ_DE_PROM_ENERGY,
    BJ_DE_BINS,
    BJ_DE_OLD_USE,
    BJ_DE_OLD_GRAMS,
    BJ_DE_OLD_FOUND,
    BJ_DE_USE_PUT,
    BJ_DE_USE_DELETE,
    BJ_DE_GRAMS_PUT,
    BJ_DE_GRAMS_DELETE,
    BJ_DE_FOUND_PUT,
    BJ_DE_FOUND_DELETE,
    BJ_DE_DAY_ENERGY,
    BJ_DE_DAY_ENERGY_SWEEP,
    BJ_DE_DAY_GRAMS,
    BJ_DE_DAY_GRAMS_SWEEP,
    BJ_DE_PROM_TODO,
    /* statements for lists */
    BJ_DE_RECORDS,
    BJ_DE_RECORD_DONE,
    BJ_DE_TODO,
    BJ_DE_TODO_DONE,
    BJ_DE_TODO_ADD,
    BJ_DE_NEW,
    BJ_DE_SET_UPTO,
    BJ_DERIVE_STATEMENTS
};

struct bj_derive {
    struct bj_store *store;
    struct bj_db *db;
    struct bj_derive_options opt;
    struct bj_dicts *dicts;
    struct bj_grams *grams;
    struct bj_st *st[BJ_DERIVE_STATEMENTS];
    struct bj_finding_rules *finding_rules; /* NULL: no findings */
    struct bj_derive_counts counts;
    struct bj_derive_job job;
};

/* Prepare the first n statements (derive_sql.c); n BJ_DE_USE_PUT: only those
 * that read a job. */
int bj_derive_prepare(struct bj_derive *d, int n, struct bj_err *err);

/* Read the inputs of a job: 1, or 0 when the job does not exist. */
int bj_derive_read(struct bj_derive *d, int64_t id, struct bj_err *err);

/* Compute all values except grams and findings; no SQL. */
void bj_derive_resolve(struct bj_derive_job *j);
void bj_derive_facts(const struct bj_derive_job *j, double *fact);

/* Write values that differ from the stored ones: 1 if any did. */
int bj_derive_write(struct bj_derive *d, struct bj_err *err);

/* Add a job's energy and grams to the daily sums (sign 1), or subtract the
 * stored ones (-1). */
int bj_derive_count(struct bj_derive *d, const int64_t *use,
                    const struct bj_grams_row *grams, size_t n, int sign,
                    struct bj_err *err);

#endif
