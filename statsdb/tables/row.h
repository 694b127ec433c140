/* Rows of the tables job, job_more and step: converts records of the scheduler
 * to rows, binds rows to statements and reads them. Values are bytes, seconds,
 * microseconds and numbers of dictionaries; unknown is BJ_SQL_NULL. */
#ifndef BJ_STATSDB_TABLES_ROW_H
#define BJ_STATSDB_TABLES_ROW_H

#include "base/buf.h"
#include "base/err.h"
#include "sched/job.h"
#include "statsdb/tables/dict.h"
#include "store/db.h"

#include <stdbool.h>

/* Common columns of job and step come first, in the same order. */
enum {
    BJ_COL_NAME,
    BJ_COL_STATE,
    BJ_COL_STATE_RAW,
    BJ_COL_EXIT_CODE,
    BJ_COL_EXIT_SIGNAL,
    BJ_COL_START,
    BJ_COL_END,
    BJ_COL_ELAPSED,
    BJ_COL_SUSPENDED,
    BJ_COL_CPUS,
    BJ_COL_NODES,
    BJ_COL_HOSTS,
    BJ_COL_TRES_ALLOCATED,
    BJ_COL_CPU,
    BJ_COL_CPU_SYSTEM,
    BJ_COL_CPU_USER,
    BJ_COL_TASK_PEAK,
    BJ_COL_PEAK,
    BJ_COL_ENERGY,
    BJ_COL_READ,
    BJ_COL_WRITE,
    BJ_COL_BOTH
};

enum {
    BJ_JOB_CLUSTER = BJ_COL_BOTH,
    BJ_JOB_RAW_ID,
    BJ_JOB_SUBMIT,
    BJ_JOB_USER,
    BJ_JOB_ACCOUNT,
    BJ_JOB_PARTITION,
    BJ_JOB_QOS,
    BJ_JOB_OWNER,
    BJ_JOB_ELIGIBLE,
    BJ_JOB_TIME_LIMIT,
    BJ_JOB_GPUS,
    BJ_JOB_REQUESTED_MEM,
    BJ_JOB_ALLOCATED_MEM,
    BJ_JOB_TRES_REQUESTED,
    BJ_JOB_WORK_DIR,
    BJ_JOB_ARRAY_JOB,
    BJ_JOB_ARRAY_TASK,
    BJ_JOB_DERIVED_EXIT_CODE,
    BJ_JOB_DERIVED_EXIT_SIGNAL,
    BJ_JOB_RESTARTS,
    BJ_JOB_PRIORITY,
    BJ_JOB_TASKS,
    BJ_JOB_TASK_TIME,
    BJ_JOB_VPEAK,
    BJ_JOB_REASON,
    BJ_JOB_FLAGS,
    BJ_JOB_SLUID,
    BJ_JOB_CPU_SEC,
    BJ_JOB_NODE_SEC,
    BJ_JOB_GPU_SEC,
    BJ_JOB_MIB_SEC,
    BJ_JOB_SHOWN_ID,
    BJ_JOB_EXIT_RAW,
    BJ_JOB_CPUS_REQUESTED,
    BJ_JOB_GPU_MODEL,
    BJ_JOB_COLS
};

enum {
    BJ_MORE_JOB,
    BJ_MORE_STEPS_LEFT_OUT,
    BJ_MORE_ARRAY_TASKS,
    BJ_MORE_REST, /* the rest, in the order of the table */
    BJ_MORE_COLS = BJ_MORE_REST + 18
};

enum {
    BJ_STEP_JOB = BJ_COL_BOTH,
    BJ_STEP_SLOT,
    BJ_STEP_OTHER,
    BJ_STEP_TASKS,
    BJ_STEP_PEAK_NODE,
    BJ_STEP_TASK_TIME,
    BJ_STEP_VPEAK,
    BJ_STEP_SUBMIT_LINE,
    BJ_STEP_COLS
};

enum { BJ_ROW_COLS = 56, BJ_ROW_TEXTS = 9 };

/* Slots of steps. */
enum {
    BJ_SLOT_BATCH = 1,
    BJ_SLOT_EXTERN = 2,
    BJ_SLOT_INTERACTIVE = 3,
    BJ_SLOT_ZERO = 16,
    BJ_SLOT_OTHER = 1 << 19
};

/* Texts belong to the record or statement of the row. */
struct bj_row {
    int64_t v[BJ_ROW_COLS];
    struct bj_slice s[BJ_ROW_TEXTS]; /* v is the index here, or NULL */
    bool weak; /* of a snapshot: it only adds to a job that has ended */
    bool energy_of_steps; /* of a record: see struct bj_sched_job */
};

struct bj_row_table; /* layout of a table */
extern const struct bj_row_table bj_table_job, bj_table_more, bj_table_step;

/* Convert records to rows. cluster and id are numbers of the store. */
int bj_row_job(struct bj_dicts *d, int64_t cluster,
               const struct bj_sched_job *job, struct bj_row *ret,
               struct bj_err *err);
int bj_row_more(struct bj_dicts *d, int64_t id, const struct bj_sched_job *job,
                struct bj_row *ret, struct bj_err *err);
int bj_row_step(struct bj_dicts *d, int64_t id, const struct bj_job_step *step,
                struct bj_row *ret, struct bj_err *err);

/* True if a row of job_more has no value. */
bool bj_row_more_empty(const struct bj_row *row);

/* Bind all columns, from parameter 1 on; returns the next parameter. */
int bj_row_bind(const struct bj_row_table *t, const struct bj_row *row,
                struct bj_st *st);

/* Bind the columns without an index; returns the next parameter. */
int bj_row_bind_plain(const struct bj_row_table *t, const struct bj_row *row,
                      struct bj_st *st);

/* Bind one column to a parameter; a NULL column is not bound. */
void bj_row_bind_one(const struct bj_row_table *t, const struct bj_row *row,
                     unsigned col, struct bj_st *st, int at);

/* Return all columns as values for bj_db_load. */
void bj_row_values(const struct bj_row_table *t, const struct bj_row *row,
                   struct bj_value *ret);

/* Return the names of all columns; returns their number. */
int bj_row_names(const struct bj_row_table *t, const char **ret);

/* Read all columns; col is the first one in the statement. */
void bj_row_read(const struct bj_row_table *t, struct bj_st *st, int col,
                 struct bj_row *ret);

/* Result of a merge. */
enum bj_row_change {
    BJ_ROW_SAME,
    BJ_ROW_PLAIN,  /* only columns without an index */
    BJ_ROW_INDEXED /* also columns with an index */
};

/* Merge a new row into an old one, in *row. Values missing in the new row stay.
 * A record of a run that had not ended adds values to an ended run, but changes
 * none; of two records of an ended run, the larger usage counts. */
enum bj_row_change bj_row_merge(const struct bj_row_table *t,
                                const struct bj_row *old, struct bj_row *row);

/* Add the usage of a stored step to the sum of those of its job. */
void bj_row_add_step(const struct bj_row *step, struct bj_step_sum *sum);

/* Complete the usage of a job's merged row by all its stored steps, since a
 * record may have some of them only; returns the change from the old row. */
enum bj_row_change bj_row_complete(const struct bj_step_sum *sum,
                                   const struct bj_row *old,
                                   struct bj_row *row);

/* Append SQL with all columns, and parameters in the same order: an INSERT; the
 * list of columns; an UPDATE. */
void bj_row_sql_insert(const struct bj_row_table *t, struct bj_buf *ret);
void bj_row_sql_columns(const struct bj_row_table *t, struct bj_buf *ret);
void bj_row_sql_update(const struct bj_row_table *t, bool plain,
                       struct bj_buf *ret);

/* For PostgreSQL: append an UPDATE of many rows from arrays (store/arrays.h),
 * with all columns; unless more is NULL, that is an additional column and the
 * key. */
void bj_row_sql_change(const struct bj_row_table *t, const char *more,
                       struct bj_buf *ret);

#endif
