/* check-config --online: do the store, the schedulers, Prometheus and the mail
 * server answer, and with the data that the configuration expects? */
#ifndef BJ_STATSDB_DAEMON_CHECK_ONLINE_H
#define BJ_STATSDB_DAEMON_CHECK_ONLINE_H

#include "statsdb/conf/conf.h"

#include <stdatomic.h>

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
