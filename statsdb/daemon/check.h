/* batchjob_stats_db check-config: do the commands, files and directories of a
 * configuration exist, and may this user use them?  With --online: do the
 * store, the schedulers, Prometheus and the mail server answer, and with the
 * data that the configuration expects? */
#ifndef BJ_STATSDB_DAEMON_CHECK_H
#define BJ_STATSDB_DAEMON_CHECK_H

#include "statsdb/conf/conf.h"

#include <stdatomic.h>

/* Prints all problems but the last to standard error, and returns the last one
 * in err.  0: no problem. */
int bj_check_config(const struct bj_statsdb_conf *conf, struct bj_err *err);

struct bj_db;

/* Print how many jobs and users the import in the open transaction found for a
 * cluster, and warn if there are none.  -EINVAL: the scheduler has another name
 * for the cluster. */
int bj_check_seen(struct bj_db *db, const char *cluster, struct bj_err *err);

/* Open the store for reading, and query each Prometheus server with its
 * matchers.  A store that is missing or has an older version is fine: the
 * daemon makes it.  Prints what was found. */
int bj_check_online(const struct bj_statsdb_conf *conf, const atomic_bool *stop,
                    struct bj_err *err);

/* Query one server for the series of a cluster. */
int bj_check_prometheus(const struct bj_prom_conf *conf, const char *cluster,
                        const atomic_bool *stop, struct bj_err *err);

#endif
