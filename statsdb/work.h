/* Work of batchjob_stats_db between requests to schedulers: it derives values
 * of jobs, queries Prometheus servers for ended jobs, and stores emission
 * factors, in small steps, so that nothing else waits long. */
#ifndef BJ_STATSDB_WORK_H
#define BJ_STATSDB_WORK_H

#include "statsdb/conf.h"
#include "statsdb/report.h"
#include "statsdb/store.h"

#include <stdatomic.h>

struct bj_work;

/* All must outlive it.  -EINVAL: rules, factors or servers are configured
 * wrongly. */
int bj_work_new(const struct bj_statsdb_conf *conf, struct bj_store *store,
                const atomic_bool *stop, struct bj_work **ret,
                struct bj_err *err);
void bj_work_free(struct bj_work *w);

/* The same without a store: is the configuration right? */
int bj_work_check(const struct bj_statsdb_conf *conf, struct bj_err *err);

/* Do a bit of what is due.  What a server or a provider does wrong goes to the
 * log and is tried again later; with --once it is returned, too.  Other errors
 * are those of the store. */
int bj_work_step(struct bj_work *w, struct bj_err *err);

/* When there will be something to do, on the clock of boot. */
uint64_t bj_work_due(const struct bj_work *w);

/* Is there nothing left that could be done now?  For --once. */
bool bj_work_idle(const struct bj_work *w);

/* Fill in what is counted; cluster holds those of conf, in their order. */
void bj_work_report(const struct bj_work *w, struct bj_report *r,
                    struct bj_report_cluster *cluster);

#endif
