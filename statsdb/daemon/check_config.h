/* batchjob_stats_db check-config: do the commands, files and directories of a
 * configuration exist, and may this user use them? */
#ifndef BJ_STATSDB_DAEMON_CHECK_CONFIG_H
#define BJ_STATSDB_DAEMON_CHECK_CONFIG_H

#include "statsdb/conf/conf.h"

/* Prints all problems but the last to standard error, and returns the last one
 * in err.  0: no problem. */
int bj_check_config(const struct bj_statsdb_conf *conf, struct bj_err *err);

#endif
