/* batchjob_exporter check-config: do the files, directories and commands of a
 * configuration exist, and may this user use them? */
#ifndef BJ_STANDALONE_CHECK_CONFIG_H
#define BJ_STANDALONE_CHECK_CONFIG_H

#include "standalone/conf.h"

/* Print all problems, one per line, to standard error. 0, or an error if there
 * is one.  online: also try to listen, and send batchjob_stats_db a request
 * without records. */
int bj_exporter_check(struct bj_exporter_conf *conf, bool online);

/* Load the files that record.* names: certificates, key, token. */
int bj_exporter_check_records(const struct bj_exporter_conf *conf,
                              struct bj_err *err);

#endif
