/* What the tables of the dialects are written with.  Internal. */
#ifndef BJ_CORE_VIEW_DIALECT_TABLES_H
#define BJ_CORE_VIEW_DIALECT_TABLES_H

#include "core/find/ident.h"
#include "core/view/dialect.h"

#include <stddef.h>

extern const struct bj_dialect bj_dialect_batchjob_monitoring;
extern const struct bj_dialect bj_dialect_ceems;
extern const struct bj_dialect bj_dialect_cgroup_exporter;
extern const struct bj_dialect bj_dialect_jobs_exporter;
extern const struct bj_dialect bj_dialect_jobstats;
extern const struct bj_dialect bj_dialect_mila;
extern const struct bj_dialect bj_dialect_nvidia_gpu;
extern const struct bj_dialect bj_dialect_nvidia_smi;
extern const struct bj_dialect bj_dialect_prometheus_slurm_exporter;
extern const struct bj_dialect bj_dialect_slurm_job_exporter;
extern const struct bj_dialect bj_dialect_vpenso;

#define BJ_COLLECT(x) (1u << BJ_COLLECT_##x)

#define BJ_NAMED(text_name, type, text)                                        \
    .name = text_name, .kind = (type), .help = text

/* A field of a job, one of its usage (told of steps, too), and whether it is a
 * level. */
#define BJ_IN_JOB(member)                                                      \
    .of = BJ_ROW_JOB, .off = offsetof(struct bj_job, member)
#define BJ_IN_USAGE(member)                                                    \
    .of = BJ_ROW_USAGE, .off = offsetof(struct bj_job, use.member)
#define BJ_AND_JOB(member)                                                     \
    .use = BJ_SECOND_ADD, .second = offsetof(struct bj_job, member)
#define BJ_LEVEL .live = true

/* A field of a record in a list of a job, or of the snapshot. */
#define BJ_IN_LIST(owner, where, member, record, field)                        \
    .of = (where), .list = offsetof(struct owner, member),                     \
    .size = sizeof(struct record), .off = offsetof(struct record, field)
#define BJ_IN_JOBS(member, record, field)                                      \
    BJ_IN_LIST(bj_job, BJ_ROW_JOBS, member, record, field)
#define BJ_IN_SNAPS(member, record, field)                                     \
    BJ_IN_LIST(bj_snap, BJ_ROW_SNAPS, member, record, field)
#define BJ_IN_SNAP(member)                                                     \
    .of = BJ_ROW_SNAP, .off = offsetof(struct bj_snap, member)

#define BJ_IN_GPUS(field)                                                      \
    .of = BJ_ROW_GPUS, .off = offsetof(struct bj_gpu_use, field)
#define BJ_IN_PARTS(field)                                                     \
    .of = BJ_ROW_GPU_PARTS, .off = offsetof(struct bj_gpu_part, field)

/* Told of one way of speaking only (bj_when). */
#define BJ_WHEN(way) .when = BJ_WHEN_##way

#define BJ_UNIT(scale_name) .scale = BJ_SCALE_##scale_name
#define BJ_TABLE(r) .rows = (r), .nrows = sizeof(r) / sizeof((r)[0])

#define BJ_FROM(label, id_field)                                               \
    {                                                                          \
        .name = label, .of = BJ_LABEL_IDENT, .field = (id_field)               \
    }
#define BJ_FIXED(label, value)                                                 \
    {                                                                          \
        .name = label, .of = BJ_LABEL_TEXT, .text = value                      \
    }

#endif
