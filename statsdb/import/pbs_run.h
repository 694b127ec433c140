/* Distinguishes the runs of a job of PBS.
 *
 * A job that PBS runs again keeps its id and submit time, so all its runs would
 * be one row. Therefore a second is added to the submit time for each earlier
 * run: the n-th run of a job has the key (cluster, jobid, submit + n - 1). A
 * record belongs to the run with the same start if that is known; else to the
 * run that run_count in the record determines, if the runs are then in the
 * order of their starts; else to the run that has not ended, or to the next one
 * if the last was requeued. So records may be read again in any order, from
 * accounting files and from qstat.
 *
 * run_count also counts starts that failed, so it numbers only runs whose
 * starts were not read: restarts becomes n - 1, from which follows the submit
 * time (BJ_SQL_SUBMIT). A run waits since the run before was requeued.
 *
 * Source: OpenPBS, src/server/accounting.c: run_count is in records E and R,
 * not in S, Q, D and A; D and A have no times either. */
#ifndef BJ_STATSDB_IMPORT_PBS_RUN_H
#define BJ_STATSDB_IMPORT_PBS_RUN_H

#include "sched/job.h"
#include "statsdb/tables/row.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- runs -------------------------------------------------------------------
 */

/* What all runs of a job share: columns of a job, whose names are those in
 * BJ_PBS_RUN_SQL behind the first five. */
enum { BJ_PBS_SHARED = 9 };
extern const unsigned char bj_pbs_shared[BJ_PBS_SHARED];

/* The columns of a job that bj_pbs_run_read reads. */
#define BJ_PBS_RUN_SQL                                                         \
    "submit, start, \"end\", state, restarts, \"user\", account, partition,"   \
    " owner, name, cpus, time_limit, memory_requested_bytes, tres_requested"

/* The times and the state of a run, and what its job has; BJ_SQL_NULL: unknown.
 */
struct bj_pbs_run {
    int64_t submit, start, end, state, restarts;
    int64_t shared[BJ_PBS_SHARED];
};

/* Read a run: from column on, those of BJ_PBS_RUN_SQL. */
struct bj_st;
struct bj_pbs_run bj_pbs_run_read(struct bj_st *st, int column);

/* The run of a row. */
struct bj_pbs_run bj_pbs_run_of(const struct bj_row *row);

/* The known runs of a record's job. Zero-initialise. */
struct bj_pbs_known {
    struct bj_pbs_run newest;
    struct bj_pbs_run same; /* the run with the record's start */
    /* the runs with the last start before the record's, and with the first one
     * after it; without a start, before is the last run */
    struct bj_pbs_run before, after;
    int64_t earlier;        /* number of runs with an earlier start */
    struct bj_pbs_run open; /* the first one that has not ended */
    bool any, has_same, has_open, has_before, has_after;
};

/* Return the range of submit times that keys of the record's job may have,
 * without *ret_to. For a record without submit time the range includes all runs
 * of its id. */
void bj_pbs_keys(const struct bj_row *record, int64_t *ret_from,
                 int64_t *ret_to);

/* Note a run from the store; runs of other jobs than the record's are ignored.
 */
void bj_pbs_note(struct bj_pbs_known *k, const struct bj_pbs_run *run,
                 const struct bj_row *record);

/* After all runs were noted: set the submit time of the record to that of its
 * run's key, and its restarts, eligible time and, where they are
 * unknown, what all runs share. A record without submit time
 * gets that of the last run of its id, if that run has not ended or ended at
 * the same time. True: the end of an earlier run was not reported; the caller
 * must store *left, which marks that run as requeued, before the record. */
bool bj_pbs_place(const struct bj_pbs_known *k, struct bj_row *record,
                  struct bj_row *left);

/* Make a row of the record's job with the values of a run; all other values are
 * unknown. */
void bj_pbs_row(const struct bj_row *record, const struct bj_pbs_run *run,
                struct bj_row *ret);

/* --- sizes ------------------------------------------------------------------
 */

/* What a run of PBS had over its time, from accounting records about nodes that
 * it released: u and e end a size, c begins the next one, e is the last.  Each
 * record has one size, so they are joined with those of the store: records may
 * be read in several calls, and again. */

/* Columns of job_size, in the order of the table; seconds, bytes, numbers of
 * dictionaries; BJ_SQL_NULL: unknown. */
enum {
    BJ_SIZE_START,
    BJ_SIZE_END,
    BJ_SIZE_ELAPSED,
    BJ_SIZE_CPUS,
    BJ_SIZE_NODES,
    BJ_SIZE_GPUS,
    BJ_SIZE_MEMORY,
    BJ_SIZE_HOSTS,
    BJ_SIZE_TRES,
    BJ_SIZE_COLS
};

struct bj_size_row {
    int64_t v[BJ_SIZE_COLS];
};

/* The sizes of a run, in the order of time.  Zero-initialise. */
struct bj_pbs_sizes {
    struct bj_size_row *size;
    size_t n, cap;
};

void bj_pbs_sizes_free(struct bj_pbs_sizes *s);

/* What a record says about the run; BJ_SQL_NULL: unknown. */
struct bj_pbs_size_record {
    enum bj_sizes_kind kind; /* not BJ_SIZES_ALL */
    struct bj_size_row size; /* start, or end, and amounts */
    int64_t run_start;
    int64_t suspended; /* since run_start */
    int64_t elapsed;   /* run time, of the last record */
};

/* Join the size of a record to the others: 1 if they change, 0 if not;
 * -ENOMEM. */
int bj_pbs_sizes_join(struct bj_pbs_sizes *s,
                      const struct bj_pbs_size_record *record);

/* Amounts times run time; BJ_SQL_NULL: unknown. */
struct bj_size_sums {
    int64_t cpu_sec, node_sec, gpu_sec, memory_mib_sec;
};

/* The sums over all sizes.  They are unknown if the sizes do not cover the time
 * from run_start to the end of the last one. */
struct bj_size_sums bj_pbs_sizes_sums(const struct bj_pbs_sizes *s,
                                      int64_t run_start);

#endif
