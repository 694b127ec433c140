/* "batchjob_stats_db balances UNIT FILE": what accounts have left of their
 * budgets, in the format of Open OnDemand. */
#ifndef BJ_STATSDB_DAEMON_BALANCES_COMMAND_H
#define BJ_STATSDB_DAEMON_BALANCES_COMMAND_H

#include "base/buf.h"
#include "statsdb/tables/store.h"

/* Append the JSON.  unit: "core-hours" or "gpu-hours"; path: a file with lines
 * "ACCOUNT HOURS FIRST-DAY [LAST-DAY]".  Budgets of other days are left out,
 * and with a warning those whose usage is not imported from their first day on.
 * -EINVAL: a line is wrong; the others are in the result. */
int bj_balances(struct bj_store *s, const char *unit, const char *path,
                int64_t now_sec, struct bj_buf *out, struct bj_err *err);

#endif
