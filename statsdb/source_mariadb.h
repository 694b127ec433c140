/* Slurm's own database as a source: three views of it, which a script makes
 * (examples/slurm-database-view), with the columns named as sacct names them.
 * Their rows become sacct's text, so that there is one reader for both.  Only
 * SELECT is ever sent, in a session that is read-only; libmariadb is loaded
 * when the first such source is made. */
#ifndef BJ_STATSDB_SOURCE_MARIADB_H
#define BJ_STATSDB_SOURCE_MARIADB_H

#include "statsdb/source_sacct.h"

struct bj_source_mariadb;

/* conf must outlive it.  -ENOSYS without the library. */
int bj_source_mariadb_new(const struct bj_cluster_conf *conf,
                          struct bj_source_mariadb **ret, struct bj_err *err);
void bj_source_mariadb_free(struct bj_source_mariadb *s); /* NULL is fine */

/* As bj_source_sacct_run.  Errors: -ECONNREFUSED (no connection), -EACCES (the
 * server refuses us), -ETIMEDOUT, -EREMOTEIO (what else the server said),
 * -ECANCELED (stopped), and those of sched/sacct.h and upsert.h. */
int bj_source_mariadb_run(struct bj_source_mariadb *s,
                          const struct bj_window *window,
                          const struct bj_source_run *run,
                          struct bj_sacct_counts *ret, struct bj_err *err);

#endif
