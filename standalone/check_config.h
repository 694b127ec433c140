/* batchjob_exporter check-config: do the files, directories and commands of a
 * configuration exist, and may this user use them? */
#ifndef BJ_STANDALONE_CHECK_CONFIG_H
#define BJ_STANDALONE_CHECK_CONFIG_H

#include "standalone/conf.h"

/* Print all problems, one per line, to standard error. 0, or -EINVAL if there
 * is one. */
int bj_exporter_check(struct bj_exporter_conf *conf);

#endif
