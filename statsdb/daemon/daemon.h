/* The main loop of batchjob_stats_db: imports from each source when it is due.
 */
#ifndef BJ_STATSDB_DAEMON_DAEMON_H
#define BJ_STATSDB_DAEMON_DAEMON_H

#include "base/err.h"
#include "statsdb/conf/conf.h"
#include "statsdb/tables/store.h"

#include <stdatomic.h>

/* To stop the loop, set the flag and make wake_fd readable, from any thread or
 * signal handler. */
struct bj_daemon_stop {
    atomic_bool now;
    int wake_fd;
};

/* Import from all sources in turn until stopped or, with conf->once or dry_run,
 * until everything is imported. since_sec: how far back, 0 for each cluster's
 * history. The failure of a cluster is logged, and the cluster is tried again
 * later; the others continue.
 *
 * Returns 0; with once or dry_run the error of the last cluster that failed; or
 * an error of the store (-ENOSPC, -EIO, -EBADMSG, -EROFS, -ENOMEM). Errors of
 * the store end the daemon, except a full disk: it then waits for space. */
int bj_daemon_run(const struct bj_statsdb_conf *conf, struct bj_store *store,
                  int64_t since_sec, struct bj_daemon_stop *stop,
                  struct bj_err *err);

#endif
