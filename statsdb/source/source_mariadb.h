/* Slurm's own database as a source, through three views with sacct's column
 * names, which a script makes (examples/slurm-database-view). Rows are
 * converted to sacct's text, so that one reader handles both. Sends only
 * SELECT, in a read-only session; libmariadb is loaded when the first such
 * source is made. */
#ifndef BJ_STATSDB_SOURCE_SOURCE_MARIADB_H
#define BJ_STATSDB_SOURCE_SOURCE_MARIADB_H

#include "statsdb/source/source_sacct.h"

struct bj_source_mariadb;

/* conf must outlive *ret.  -ENOSYS: the library is missing. */
int bj_source_mariadb_new(const struct bj_cluster_conf *conf,
                          struct bj_source_mariadb **ret, struct bj_err *err);
void bj_source_mariadb_free(struct bj_source_mariadb *s); /* NULL is fine */

/* Like bj_source_sacct_run. Errors: -ECONNREFUSED (no connection), -EACCES (the
 * server refuses the user), -ETIMEDOUT, -EREMOTEIO (another error of the
 * server), -ECANCELED (stopped), and those of sched/sacct.h and upsert.h. */
int bj_source_mariadb_run(struct bj_source_mariadb *s,
                          const struct bj_window *window,
                          const struct bj_source_run *run,
                          struct bj_sacct_counts *ret, struct bj_err *err);

#endif
