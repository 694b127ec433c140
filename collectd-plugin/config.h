/* The <Plugin batchjob> block: the options of the core, as collectd spells
 * them ("PathProcfs", "CollectorProcess"; see bj_opt_find). */
#ifndef BJ_COLLECTD_CONFIG_H
#define BJ_COLLECTD_CONFIG_H

#include "core/conf.h"

#include <collectd/core/daemon/configfile.h>

/* Set the options that a block names.  Values may be strings, numbers or
 * booleans; an option that is a list takes several values, and may be given
 * several times.  The message names the option.  -ENOENT unknown option,
 * -EINVAL or -ERANGE for its value. */
int bj_config_block(struct bj_conf *conf, const oconfig_item_t *block,
                    struct bj_err *err);

/* Fit the use of descriptors to a process that is not ours: at most half of
 * the limit less 256 are kept, and kept ones get numbers from 1024 on where
 * they fit above, since other plugins may use select(2).  soft_limit is the
 * soft RLIMIT_NOFILE, which is left as it is. */
void bj_config_bound_files(struct bj_conf *conf, uint64_t soft_limit);

#endif
