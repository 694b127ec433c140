/* Distinguishes the runs of PBS' jobs.
 *
 * A job that PBS runs again keeps its id and submit time, which is one row for
 * all its runs. So each run gets the submit time plus a second for each earlier
 * run: the n-th run of a job has the key (cluster, jobid, submit + n - 1). The
 * run of a record follows from its start if a run with that start is known;
 * else from run_count, if the record has it; else it is the run that has not
 * ended, or the next one if the last was requeued. So records may be read again
 * in any order, from accounting files and from qstat.
 *
 * Source: OpenPBS, src/server/accounting.c: run_count is in records E and R,
 * not in S, Q, D and A; the last two have no times either. */
#ifndef BJ_STATSDB_PBS_RUN_H
#define BJ_STATSDB_PBS_RUN_H

#include "statsdb/row.h"

/* The times and the state of a run; BJ_SQL_NULL: unknown. */
struct bj_pbs_run {
    int64_t submit, start, end, state;
};

/* The known runs of a record's job. Zero-initialise. */
struct bj_pbs_known {
    struct bj_pbs_run newest;
    struct bj_pbs_run same; /* with the record's start */
    struct bj_pbs_run open; /* the first one that has not ended */
    bool any, has_same, has_open;
};

/* The keys that the runs of a record's job may have: from the first time up to
 * before the second one. A record without submit time: all of its id. */
void bj_pbs_keys(const struct bj_row *record, int64_t *ret_from,
                 int64_t *ret_to);

/* Note a run that the store has; others than those of the record's job are
 * left out. */
void bj_pbs_note(struct bj_pbs_known *k, const struct bj_pbs_run *run,
                 const struct bj_row *record);

/* When all are noted, set the submit time of the record to that of its run's
 * key. A record without submit time gets that of the last run of its id, if
 * that run has not ended or ended at the same time. True if an earlier run has
 * no reported end: *left then says that it was requeued, and is stored before
 * the record. */
bool bj_pbs_place(const struct bj_pbs_known *k, struct bj_row *record,
                  struct bj_row *left);

/* A row of the record's job with values of a run; all else is unknown. */
void bj_pbs_row(const struct bj_row *record, const struct bj_pbs_run *run,
                struct bj_row *ret);

#endif
