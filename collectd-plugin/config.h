/* The <Plugin batchjob> block: the options of the core, with names as collectd
 * writes them ("PathProcfs", "CollectorProcess"; see bj_opt_find). */
#ifndef BJ_COLLECTD_CONFIG_H
#define BJ_COLLECTD_CONFIG_H

#include "core/conf.h"

#include <collectd/core/daemon/configfile.h>

/* Set the options in a block. Values may be strings, numbers or booleans; a
 * list takes several values, and may be repeated. The message names the option.
 * -ENOENT: unknown option; -EINVAL, -ERANGE: its value. */
int bj_config_block(struct bj_conf *conf, const oconfig_item_t *block,
                    struct bj_err *err);

/* Bound the number of open files, in a process shared with others: at most half
 * of soft_limit (the soft RLIMIT_NOFILE) less 256 are kept. Where the limit
 * permits, their numbers start at 1024, since other plugins may use select(2).
 */
void bj_config_bound_files(struct bj_conf *conf, uint64_t soft_limit);

#endif
