/* Work of batchjob_stats_db between requests to schedulers: derives values of
 * jobs, queries Prometheus servers for ended jobs, and stores emission factors,
 * in small steps, so that imports do not wait long. */
#ifndef BJ_STATSDB_DAEMON_WORK_H
#define BJ_STATSDB_DAEMON_WORK_H

#include "statsdb/conf/conf.h"
#include "statsdb/metrics/metrics_page.h"
#include "statsdb/tables/store.h"

#include <stdatomic.h>

struct bj_applications;
struct bj_work;

/* All arguments must outlive *ret. -EINVAL: invalid rules, factors or servers.
 */
int bj_work_new(const struct bj_statsdb_conf *conf, struct bj_store *store,
                const atomic_bool *stop, struct bj_work **ret,
                struct bj_err *err);
void bj_work_free(struct bj_work *w);

/* The table of applications. */
const struct bj_applications *bj_work_applications(const struct bj_work *w);

/* Check the configuration without a store. */
int bj_work_check(const struct bj_statsdb_conf *conf, struct bj_err *err);

/* Do one step of the work that is due. Errors of a server or provider are
 * logged and tried again later; with --once they are returned, too. Other
 * errors are those of the store. */
int bj_work_step(struct bj_work *w, struct bj_err *err);

/* When the next work is due, in microseconds of the boot clock. */
uint64_t bj_work_due(const struct bj_work *w);

/* Is all work done? For --once. */
bool bj_work_idle(const struct bj_work *w);

/* Append the metric of refused final records (statsdb/derive/derive.h). */
void bj_work_refused_page(const struct bj_work *w, struct bj_buf *out);

/* Fill in the counters; cluster has one element for each cluster of conf, in
 * the same order. */
void bj_work_report(const struct bj_work *w, struct bj_metrics_values *r,
                    struct bj_metrics_cluster *cluster);

#endif
