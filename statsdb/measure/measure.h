/* Measured values of ended jobs, from a Prometheus-compatible server that
 * scrapes the exporters.
 *
 * Many jobs are queried at once: a query contains the ids of a batch. A job
 * that shares its id with another run is queried alone, for its own time. The
 * values of a job, and the mark that it has been queried, are written in one
 * transaction. */
#ifndef BJ_STATSDB_MEASURE_MEASURE_H
#define BJ_STATSDB_MEASURE_MEASURE_H

#include "statsdb/prom/prom.h"
#include "statsdb/tables/store.h"

struct bj_measure;

struct bj_measure_counts {
    uint64_t queries;   /* queries sent */
    uint64_t jobs;      /* with values */
    uint64_t no_data;   /* without data on the server */
    uint64_t ambiguous; /* not separable from another run */
};

/* For the store's writer and one cluster; all arguments must outlive *ret. */
int bj_measure_new(struct bj_store *s, const struct bj_prom_conf *conf,
                   const char *cluster, const atomic_bool *stop,
                   struct bj_measure **ret, struct bj_err *err);
void bj_measure_free(struct bj_measure *m);

/* Add jobs since since_sec that have not been queried to the list, when a
 * server is new in the configuration. */
int bj_measure_backlog(struct bj_measure *m, int64_t since_sec,
                       struct bj_err *err);

/* Query one batch. Returns its number of jobs, 0 if no job is due, or an error,
 * after which nothing has changed; the next batch is smaller if this one was
 * too large. */
int bj_measure_step(struct bj_measure *m, int64_t now_sec, struct bj_err *err);

const struct bj_measure_counts *bj_measure_counts(const struct bj_measure *m);

#endif
