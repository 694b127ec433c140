/* "batchjob_stats_db rules JOB": shows which rules apply to a job, and why. */
#ifndef BJ_STATSDB_DAEMON_RULES_COMMAND_H
#define BJ_STATSDB_DAEMON_RULES_COMMAND_H

#include "base/buf.h"
#include "statsdb/derive/rule.h"
#include "statsdb/tables/store.h"

/* Append the facts of the newest run of a job, and each rule with the values of
 * its conditions.  -EINVAL: no such job, or it has not ended. */
int bj_rules_explain(struct bj_store *s, const struct bj_rules *rules,
                     const char *name, struct bj_buf *out, struct bj_err *err);

#endif
