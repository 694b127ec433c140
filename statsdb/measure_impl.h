/* What measure*.c share; nobody else needs it. */
#ifndef BJ_STATSDB_MEASURE_IMPL_H
#define BJ_STATSDB_MEASURE_IMPL_H

#include "statsdb/derive_impl.h"
#include "statsdb/dict.h"
#include "statsdb/measure.h"
#include "statsdb/sql.h"

enum { BJ_MEASURE_JOBS = 1000, BJ_MEASURE_ID = 64 };

enum { BJ_TOLD, BJ_TOLD_NOTHING, BJ_TOLD_DOUBTFUL };

/* Answers that are no values of job_use. */
enum {
    BJ_ME_NODES = BJ_USE_VALUE_COUNT,
    BJ_ME_FINAL,
    BJ_ME_SAMPLES,
    BJ_ME_ENERGY_NODES,
    BJ_ME_COLUMNS
};

struct bj_measure_job {
    char id[BJ_MEASURE_ID]; /* as in the label */
    int64_t job, start_sec, end_sec, nodes, gpus;
    int64_t prev_start_sec, prev_end_sec; /* of other runs with that id */
    int64_t next_start_sec;
    bool other_runs;
    /* Asked about alone, and by series that began in its own time: from the
     * first to before the second; 0: there is no other run. */
    bool own;
    int64_t since_sec, until_sec;
    int outcome;
    int64_t v[BJ_ME_COLUMNS];
    int64_t component[BJ_COMPONENTS];
    struct bj_energy_bin *bin;
    size_t bins;
};

struct bj_measure_batch {
    struct bj_measure_job job[BJ_MEASURE_JOBS]; /* in the order of ids */
    unsigned n;
    int64_t at_sec;    /* the moment that is asked about */
    int64_t range_sec; /* and how far it looks back */
    int64_t step_sec;  /* 0: every sample; else one of so many seconds */
    const struct bj_measure_job *own; /* its only job; or NULL */
    bool gpus;
    char policy[64];   /* "": none */
    unsigned policies; /* how many there are among the nodes */
};

struct bj_measure {
    struct bj_store *store;
    struct sqlite3 *db;
    const struct bj_prom_conf *conf;
    const char *cluster;
    struct bj_prom *prom;
    struct bj_dicts *dicts;
    struct bj_buf match; /* labels of the cluster, each with a comma */
    struct sqlite3_stmt *list, *done, *keep, *put, *put_energy, *put_bin,
        *drop_energy, *drop_bin, *again;
    uint64_t samples; /* that a question may cost now */
    struct bj_measure_counts counts;
    struct bj_measure_batch batch;
};

/* measure_batch.c: choose the jobs of the next batch: how many, or an error. */
int bj_measure_choose(struct bj_measure *m, int64_t now_sec,
                      struct bj_err *err);

/* measure_ask.c: ask all questions about the batch. */
int bj_measure_ask(struct bj_measure *m, struct bj_err *err);

/* The job with that id; NULL: none of the batch. */
struct bj_measure_job *bj_measure_find(struct bj_measure_batch *b,
                                       struct bj_slice id);

#endif
