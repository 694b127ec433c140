/* Shared by measure*.c only. */
#ifndef BJ_STATSDB_MEASURE_MEASURE_IMPL_H
#define BJ_STATSDB_MEASURE_MEASURE_IMPL_H

#include "statsdb/derive/grams.h"
#include "statsdb/derive/parts.h"
#include "statsdb/derive/use.h"
#include "statsdb/measure/measure.h"
#include "statsdb/tables/dict.h"
#include "store/db.h"

enum { BJ_MEASURE_JOBS = 1000, BJ_MEASURE_ID = 64 };

enum { BJ_MEASURE_FOUND, BJ_MEASURE_NO_DATA, BJ_MEASURE_AMBIGUOUS };

/* Results that are not columns of job_use. */
enum {
    BJ_ME_NODES = BJ_USE_VALUE_COUNT,
    BJ_ME_FINAL,
    BJ_ME_SAMPLES,
    BJ_ME_ENERGY_NODES,
    BJ_ME_COLUMNS
};

enum {
    BJ_MEASURE_MEMORY, /* bytes held */
    BJ_MEASURE_CPUS,   /* busy */
    BJ_MEASURE_IO,     /* bytes per second */
    BJ_MEASURE_GPUS,   /* the largest ratio of its GPUs */
    BJ_MEASURE_CURVES
};

struct bj_measure_job {
    char id[BJ_MEASURE_ID]; /* jobid, as in the label */
    int64_t job, start_sec, end_sec, nodes, gpus;
    int64_t prev_start_sec, prev_end_sec; /* times of the runs before and after
                                             it with that jobid */
    int64_t next_start_sec;
    bool other_runs;
    /* Queried alone, and only for series that began in [since_sec, until_sec);
     * 0: no other run on that side. */
    bool single;
    int64_t since_sec, until_sec;
    int outcome;
    int64_t v[BJ_ME_COLUMNS];
    int64_t component[BJ_COMPONENTS];
    struct bj_energy_bin *bin;
    size_t bins;
    struct bj_parts parts; /* of jobs with several nodes, or GPUs */
    /* Curves: points of step_sec from the start on, NAN where unknown. */
    bool chosen; /* for the queries that are sent */
    int64_t curve_step_sec;
    size_t points;
    double *curve[BJ_MEASURE_CURVES];
};

struct bj_measure_batch {
    struct bj_measure_job job[BJ_MEASURE_JOBS]; /* in the order of ids */
    unsigned n;
    int64_t at_sec;    /* time of the query */
    int64_t range_sec; /* range of the query */
    int64_t step_sec;  /* 0: every sample; else seconds between samples */
    const struct bj_measure_job *single; /* the only job, or NULL */
    bool gpus;
    bool only_chosen;  /* queries are about the chosen jobs */
    int64_t curve_sec; /* window of rates of curves; 0: other queries */
    char policy[64];   /* "": none */
    unsigned policies; /* number of policies among the nodes */
};

struct bj_measure {
    struct bj_store *store;
    struct bj_db *db;
    const struct bj_prom_conf *conf;
    const char *cluster;
    struct bj_prom *prom;
    struct bj_dicts *dicts;
    struct bj_buf match; /* labels of the cluster, each with a comma */
    struct bj_st *list, *done, *keep, *put, *put_energy, *put_bin, *drop_energy,
        *drop_bin, *retry, *put_part, *drop_part;
    uint64_t samples; /* limit for one query */
    struct bj_measure_counts counts;
    struct bj_measure_batch batch;
};

/* measure_query.c: send all queries for the batch. */
int bj_measure_query(struct bj_measure *m, struct bj_err *err);

#endif
