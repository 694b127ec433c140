/* Shared by derive*.c only. */
#ifndef BJ_STATSDB_DERIVE_DERIVE_IMPL_H
#define BJ_STATSDB_DERIVE_DERIVE_IMPL_H

#include "base/arena.h"
#include "statsdb/derive/derive.h"
#include "statsdb/derive/finding_rule.h"
#include "statsdb/derive/grams.h"
#include "statsdb/derive/parts.h"
#include "statsdb/derive/use.h"
#include "statsdb/tables/application.h"
#include "statsdb/tables/best.h"
#include "statsdb/tables/dict.h"
#include "statsdb/tables/fragment.h"
#include "statsdb/tables/site_zone.h"
#include "store/db.h"

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
    X(CPU_SEC, "j.cpu_sec")                                                    \
    X(GPU_SEC, "j.gpu_sec")                                                    \
    X(LIMIT, "j.time_limit")                                                   \
    X(ELIGIBLE, "coalesce(j.eligible, nullif(j.submit, 0))")                   \
    X(RESTARTS, "j.restarts")                                                  \
    X(EXIT_CODE, "j.exit_code")                                                \
    X(EXIT_SIGNAL, "j.exit_signal")                                            \
    X(CPU, "j.cpu_usec")                                                       \
    X(PEAK, "j.memory_scheduler_peak_bytes")                                   \
    X(TASK_PEAK, "j.memory_task_peak_bytes")                                   \
    X(MEM, "coalesce(j.memory_allocated_bytes, j.memory_requested_bytes)")     \
    X(MEM_ALLOCATED, "j.memory_allocated_bytes")                               \
    X(MIB_SEC, "j.memory_mib_sec")                                             \
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
    int64_t gpu_fault;                 /* of final records: the worst */
    int64_t gpu_conflicts;             /* of final records: BJ_GPU_DOUBTS */
    const char *application;           /* NULL: not known */
    enum bj_application_by application_by;
    struct bj_parts parts; /* of jobs with several nodes, or GPUs */
    struct bj_fact_names names;
    int64_t refused; /* final records of other hosts that are not counted yet */
    struct bj_energy_bin *bin; /* limited by BJ_FINDINGS_MAX */
    size_t bins, bins_cap;

    /* The new values, and the stored ones. */
    int64_t use[BJ_USE_COLUMNS], old_use[BJ_USE_COLUMNS];
    bool has_use, had_use;
    struct bj_grams_row grams[BJ_GRAMS_MAX], old_grams[BJ_GRAMS_MAX];
    size_t n_grams, n_old_grams;
    struct bj_rule_match found[BJ_DERIVE_FOUND];
    size_t n_found;
};

/* The sums of a row of rollup_energy, after "jobs": their columns. */
#define BJ_DAY_SUMS(X)                                                         \
    X(CPU, cpu_sec)                                                            \
    X(ENERGY, energy_mj)                                                       \
    X(ENERGY_USED, energy_used_mj)                                             \
    X(ENERGY_RESERVED, energy_reserved_mj)                                     \
    X(CPU_MORE, cpu_more_msec)                                                 \
    X(CPU_KNOWN, cpu_known_sec)                                                \
    X(GPU, gpu_sec)                                                            \
    X(GPU_USED, gpu_used_msec)                                                 \
    X(FAILED_CPU, failed_cpu_sec)                                              \
    X(FAILED_GPU, failed_gpu_sec)                                              \
    X(FAILED_MEMORY, failed_mem_mib_sec)                                       \
    X(FAILED_ENERGY_CPU, failed_energy_cpu_sec)                                \
    X(FAILED_ENERGY, failed_energy_mj)

enum {
    BJ_DAY_JOBS,
#define BJ_DAY_ENUM(upper, lower) BJ_DAY_##upper,
    BJ_DAY_SUMS(BJ_DAY_ENUM)
#undef BJ_DAY_ENUM
        BJ_DAY_SUM_COUNT
};

/* The sums of a row of rollup_application: their columns. */
#define BJ_NAMED_SUMS(X)                                                       \
    X(CPU, cpu_sec)                                                            \
    X(KNOWN, cpu_known_sec)                                                    \
    X(USED, cpu_used_msec)                                                     \
    X(GPU, gpu_sec)                                                            \
    X(GPU_KNOWN, gpu_known_sec)                                                \
    X(GPU_USED, gpu_used_msec)                                                 \
    X(ENERGY_CPU, energy_cpu_sec)                                              \
    X(ENERGY, energy_mj)

enum {
    BJ_NAMED_JOBS,
#define BJ_NAMED_ENUM(upper, lower) BJ_NAMED_##upper,
    BJ_NAMED_SUMS(BJ_NAMED_ENUM)
#undef BJ_NAMED_ENUM
        BJ_NAMED_SUM_COUNT
};

enum {
    BJ_DE_JOB,
    BJ_DE_NODES,
    BJ_DE_GPU_FAULT,
    BJ_DE_NODE_ENERGY,
    BJ_DE_PROM,
    BJ_DE_PROM_ENERGY,
    BJ_DE_BINS,
    BJ_DE_RECORD_PARTS,
    BJ_DE_PROM_PARTS,
    BJ_DE_OLD_USE,
    BJ_DE_OLD_GRAMS,
    BJ_DE_OLD_FOUND,
    BJ_DE_EXECUTABLES,
    BJ_DE_STEPS,
    BJ_DE_TEXTS,
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
    BJ_DE_DAY_NAMED,
    BJ_DE_DAY_NAMED_SWEEP,
    BJ_DE_PROM_TODO,
    /* statements for lists */
    BJ_DE_RECORDS,
    BJ_DE_RECORD_DONE,
    BJ_DE_REFUSED,
    BJ_DE_REFUSED_HOST,
    BJ_DE_REFUSED_PUT,
    BJ_DE_TODO,
    BJ_DE_TODO_DONE,
    BJ_DE_TODO_ADD,
    BJ_DE_NEW,
    BJ_DE_OTHER_RUNS,
    BJ_DE_SET_UPTO,
    BJ_DE_RECOUNT,
    BJ_DERIVE_STATEMENTS
};

enum { BJ_REFUSED_HOSTS = 256, BJ_REFUSED_NAME = 65 };

/* A host that sent records of jobs that did not run there. */
struct bj_refused_host {
    char name[BJ_REFUSED_NAME];
    uint64_t n, fresh; /* fresh: in the open transaction */
};

struct bj_derive {
    struct bj_store *store;
    struct bj_db *db;
    struct bj_derive_options opt;
    struct bj_dicts *dicts;
    struct bj_grams *grams;
    struct bj_tz *own_tz;
    const struct bj_tz *tz; /* its days are those of sums */
    struct bj_st *st[BJ_DERIVE_STATEMENTS];
    struct bj_finding_rules *finding_rules; /* NULL: no findings */
    bool recounts;     /* jobs of an older version lack sums by application */
    int64_t recounted; /* the last of them that was counted */
    struct bj_derive_counts counts;
    struct bj_arena arena; /* of one job */
    struct bj_derive_job job;
    struct bj_refused_host refused[BJ_REFUSED_HOSTS];
    size_t n_refused;
};

/* A statement over the final records of the job that was read, bound to it and
 * to the numbers that its records may have. */
struct bj_st *bj_derive_bind_records(struct bj_derive *d, int which);

/* Prepare the first n statements (derive_rows.c); n BJ_DE_USE_PUT: only those
 * that read a job. */
int bj_derive_prepare(struct bj_derive *d, int n, struct bj_err *err);

/* Read the inputs of a job: 1, or 0 when the job does not exist. */
int bj_derive_read(struct bj_derive *d, int64_t id, struct bj_err *err);

/* Read what the job ran, and name the application. */
int bj_derive_application(struct bj_derive *d, struct bj_err *err);

/* Read the stored values of job.id, which are in the sums. */
int bj_derive_read_old(struct bj_derive *d, struct bj_err *err);

/* Compute all values except grams and findings; no SQL. */
void bj_derive_resolve(struct bj_derive_job *j);
/* Sets j->names, too. */
void bj_derive_facts(struct bj_derive_job *j, double *fact);

/* Write values that differ from the stored ones: 1 if any did. */
int bj_derive_write(struct bj_derive *d, struct bj_err *err);

/* Add a job's energy and grams to the daily sums (sign 1), or subtract the
 * stored ones (-1). */
int bj_derive_count(struct bj_derive *d, const int64_t *use,
                    const struct bj_grams_row *grams, size_t n, int sign,
                    struct bj_err *err);

#endif
