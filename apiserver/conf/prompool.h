/* A pool of clients of the Prometheus server with the time series of jobs, for
 * several threads. */
#ifndef BJ_APISERVER_CONF_PROMPOOL_H
#define BJ_APISERVER_CONF_PROMPOOL_H

#include "statsdb/prom/prom.h"

enum { BJ_PROM_QUERIES = 16 }; /* maximum number of concurrent queries */

/* Options prometheus.*; server has those of the client. */
struct bj_prompool_conf {
    struct bj_prom_conf server; /* url empty: no server is configured */
    char *cluster_label;        /* label with the cluster's name; empty: none */
    uint64_t queries;           /* maximum number of concurrent queries */
};
extern const struct bj_opt bj_prompool_opts[];

/* Check that the options are consistent.  -EINVAL with the option in the
 * message. */
int bj_prompool_check(const struct bj_prompool_conf *conf, struct bj_err *err);

/* Make a pool of clients, each for one query at a time.  conf is copied. *ret
 * is NULL if no server is configured. */
struct bj_prompool;
int bj_prompool_new(const struct bj_prompool_conf *conf,
                    struct bj_prompool **ret, struct bj_err *err);

/* Add and release a reference; NULL is fine. */
struct bj_prompool *bj_prompool_ref(struct bj_prompool *p);
void bj_prompool_unref(struct bj_prompool *p);

/* A range of time in whole seconds. */
struct bj_prompool_range {
    int64_t from, to, step;
    uint64_t limit_usec; /* limit for the query, if prometheus.timeout is
                            longer; 0: none */
};

/* Has a request that arrived at since_usec (CLOCK_BOOTTIME) waited as long as
 * one query may take? Then Prometheus did not respond to the queries before it.
 */
bool bj_prompool_late(const struct bj_prompool *p, uint64_t since_usec);

/* Query a range and wait.  -EBUSY: the maximum number of queries is running;
 * other errors are those of bj_prom_range. */
int bj_prompool_query(struct bj_prompool *p, const char *query,
                      const struct bj_prompool_range *range,
                      const struct bj_prom_sink *sink, struct bj_err *err);

#endif
