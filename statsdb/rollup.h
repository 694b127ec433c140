/* Rollups: what was used per day (of UTC) by each combination of cluster,
 * account, user and partition.  The view rollup_month adds up days that lie
 * beside each other.
 *
 * They are sums over jobs, kept by difference: when a job changes, what it gave
 * before is taken away and what it gives now is added, exactly.  So they equal
 * the sums of the jobs at the end of every transaction.
 *
 * What grows with time (seconds, CPU time, energy) is spread evenly over the
 * days between start and end, as Slurm's sreport does with its hours.  A day
 * gets the whole units that had passed at its end less those that had passed
 * at its begin, so that no unit is lost or counted twice.  A start counts where
 * it falls, and so does an end.  A run longer than BJ_ROLLUP_DAYS counts on its
 * last day, as does one that ends before it starts. */
#ifndef BJ_STATSDB_ROLLUP_H
#define BJ_STATSDB_ROLLUP_H

#include "base/err.h"
#include "statsdb/row.h"

struct sqlite3;

enum { BJ_ROLLUP_DAYS = 1000 };

/* In the order of the columns. */
enum bj_rollup_sum {
    BJ_SUM_STARTED,
    BJ_SUM_ENDED,
    BJ_SUM_COMPLETED,
    BJ_SUM_FAILED, /* also by a node or at boot */
    BJ_SUM_CANCELLED,
    BJ_SUM_TIMEOUT, /* or deadline */
    BJ_SUM_OOM,
    BJ_SUM_WAIT_SEC, /* from eligible (or submit) to start */
    BJ_SUM_ELAPSED_SEC,
    BJ_SUM_NODE_SEC,
    BJ_SUM_CPU_SEC, /* allocated */
    BJ_SUM_GPU_SEC,
    BJ_SUM_MEM_MIB_SEC,
    BJ_SUM_CPU_USED_MSEC,
    BJ_SUM_CPU_UNKNOWN_SEC, /* of cpu_sec: of jobs whose use is not known */
    BJ_SUM_ENERGY_JOULES,
    BJ_SUM_ENERGY_CPU_SEC, /* of cpu_sec: of jobs whose energy is known */
    BJ_SUMS
};

struct bj_rollup;

int bj_rollup_new(struct sqlite3 *db, struct bj_rollup **ret,
                  struct bj_err *err);
void bj_rollup_free(struct bj_rollup *u);

/* Add what a row of job gives to assoc, or with sign -1 take it away.  It is
 * written by bj_rollup_flush, or here when much has come together. */
int bj_rollup_add(struct bj_rollup *u, int64_t assoc, const struct bj_row *job,
                  int sign, struct bj_err *err);

/* Write what has come together; to be called before the transaction ends. */
int bj_rollup_flush(struct bj_rollup *u, struct bj_err *err);

/* Forget it: the transaction was rolled back. */
void bj_rollup_drop(struct bj_rollup *u);

#endif
