/* Sources that report all jobs of a scheduler at once, including those that
 * ended recently: qstat of PBS, bjobs of LSF.  There are no time windows; jobs
 * that the scheduler forgot before a request are missed. */
#ifndef BJ_STATSDB_SOURCE_SOURCE_SNAPSHOT_H
#define BJ_STATSDB_SOURCE_SOURCE_SNAPSHOT_H

#include "statsdb/source/source_sacct.h"

/* Request all jobs and store the reply. On success a transaction with the last
 * data is still open, on failure the last one was rolled back. Counts: bytes,
 * jobs (lines are jobs, too), bad_lines (jobs skipped), bad_fields. Errors are
 * those of bj_source_sacct_run. */
int bj_source_snapshot_run(enum bj_snapshot_kind kind,
                           const struct bj_cluster_conf *conf,
                           const struct bj_source_run *run,
                           struct bj_sacct_counts *ret, struct bj_err *err);

#endif
