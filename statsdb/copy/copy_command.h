/* "batchjob_stats_db copy" and "backup". */
#ifndef BJ_STATSDB_COPY_COPY_COMMAND_H
#define BJ_STATSDB_COPY_COPY_COMMAND_H

#include "base/err.h"
#include "statsdb/conf/conf.h"

#include <stdatomic.h>

int bj_copy_command(const struct bj_statsdb_conf *conf, const atomic_bool *stop,
                    struct bj_err *err);

/* Copy the configured store, of any engine, into a new file. */
int bj_backup_command(const struct bj_statsdb_conf *conf, const char *file,
                      const atomic_bool *stop, struct bj_err *err);

#endif
