/* Shared by work*.c only. */
#ifndef BJ_STATSDB_DAEMON_WORK_IMPL_H
#define BJ_STATSDB_DAEMON_WORK_IMPL_H

#include "base/fetch.h"
#include "carbon/feed.h"
#include "statsdb/daemon/work.h"
#include "statsdb/derive/derive.h"
#include "statsdb/derive/factors.h"
#include "statsdb/measure/measure.h"
#include "statsdb/tables/application.h"

/* A Prometheus server. */
struct bj_work_prom {
    const struct bj_cluster_conf *conf;
    struct bj_measure *measure;
    struct bj_prom *factors; /* NULL: not used */
    uint64_t due_usec, factors_due_usec;
    unsigned failures, factors_failures;
    uint64_t errors;
    bool done, factors_done; /* with --once: factors were read */
};

struct bj_work {
    const struct bj_statsdb_conf *conf;
    struct bj_store *store;
    const atomic_bool *stop;
    struct bj_rules *rules;
    struct bj_applications *applications;
    struct bj_derive *derive;
    struct bj_factors *factors;
    struct bj_carbon_feed *feed; /* NULL: no providers */
    struct bj_fetch *fetch;
    uint64_t feed_due_usec;
    bool fed; /* with --once: the feed was read */
    struct bj_work_prom *prom;
    size_t proms;
    const char **prom_cluster; /* for derive, in the order of prom */
    int64_t *prom_history;
    uint64_t derive_due_usec, pue_due_usec;
    bool *pue_done; /* of each cluster */
    bool prices_done;
};

/* work_factors.c: factors from providers, and from exporters through a
 * Prometheus server. */
int bj_work_feed_new(struct bj_work *w, struct bj_err *err);
int bj_work_feed(struct bj_work *w, struct bj_err *err);
int bj_work_prom_factors(struct bj_work *w, struct bj_work_prom *p,
                         int64_t now_sec, struct bj_err *err);

/* work_cluster.c: number of a cluster in the store; 0: the cluster has no job
 * yet. */
int64_t bj_work_cluster(struct bj_work *w, const char *name);

#endif
