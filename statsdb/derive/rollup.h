/* Daily and monthly sums (days of the site's time zone) for each combination
 * of cluster, account, user and partition. A row of the tables has the sums of
 * a day, or, as day 0, of a month: always those of its days.
 *
 * The sums are kept by difference: when a job changes, its old values are
 * subtracted and its new values added, in the same transaction. So they always
 * equal the sums over the jobs.
 *
 * Values that grow with time (seconds, CPU time, energy) are spread evenly over
 * the days between start and end, as Slurm's sreport does with its hours. A day
 * counts the whole units until its end minus those until its start, so that no
 * unit is lost or counted twice. Starts and ends count on their day. A run
 * longer than BJ_BILL_DAYS, or one that ends before it starts, counts on its
 * last day. */
#ifndef BJ_STATSDB_DERIVE_ROLLUP_H
#define BJ_STATSDB_DERIVE_ROLLUP_H

#include "base/err.h"
#include "statsdb/tables/row.h"

struct bj_db;
struct bj_tz;

/* In the order of the columns. */
enum bj_rollup_sum {
    BJ_SUM_STARTED,
    BJ_SUM_ENDED,
    BJ_SUM_COMPLETED,
    BJ_SUM_FAILED, /* also by failure of a node or at boot */
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
    BJ_SUM_CPU_UNKNOWN_SEC, /* part of cpu_sec: jobs with unknown use */
    BJ_SUM_ENERGY_JOULES,
    BJ_SUM_ENERGY_CPU_SEC, /* part of cpu_sec: jobs with known energy */
    BJ_SUMS
};

struct bj_rollup;

int bj_rollup_new(struct bj_db *db, struct bj_rollup **ret, struct bj_err *err);
void bj_rollup_free(struct bj_rollup *u);

/* Use the days of another zone than that of the store, which must stay. */
void bj_rollup_use_zone(struct bj_rollup *u, const struct bj_tz *tz);

/* Add a job's values to the sums of assoc, or subtract them (sign -1).
 * bj_rollup_flush writes the changes, or this function when there are many. */
int bj_rollup_add(struct bj_rollup *u, int64_t assoc, const struct bj_row *job,
                  int sign, struct bj_err *err);

/* Write the changes; call it before the transaction ends. */
int bj_rollup_flush(struct bj_rollup *u, struct bj_err *err);

/* Drop the changes after a rollback. */
void bj_rollup_drop(struct bj_rollup *u);

#endif
