/* Shared by upsert*.c only. */
#ifndef BJ_STATSDB_IMPORT_UPSERT_IMPL_H
#define BJ_STATSDB_IMPORT_UPSERT_IMPL_H

#include "statsdb/derive/rollup.h"
#include "statsdb/import/upsert.h"
#include "statsdb/tables/dict.h"
#include "statsdb/tables/job_month.h"
#include "statsdb/tables/job_number.h"
#include "statsdb/tables/row.h"

/* Statements, made from the columns of the tables. */
enum {
    BJ_ST_JOB_KNOWN,
    BJ_ST_JOB_RUNS,
    BJ_ST_JOB_FIND,
    BJ_ST_JOB_FIND_SLUID,
    BJ_ST_JOB_ADD,
    BJ_ST_JOB_SET,
    BJ_ST_JOB_SET_PLAIN,
    BJ_ST_MORE_FIND,
    BJ_ST_MORE_ADD,
    BJ_ST_MORE_SET_PLAIN,
    BJ_ST_MORE_SPLIT,
    BJ_ST_STEP_FIND,
    BJ_ST_STEP_ALL,
    BJ_ST_STEP_ADD,
    BJ_ST_STEP_SET_PLAIN,
    BJ_ST_SIZE_DROP,
    BJ_ST_SIZE_ADD,
    BJ_ST_SIZE_ALL,
    BJ_STATEMENTS
};

enum { BJ_CLUSTER_MAX = 256 };

/* Selects a row if the store has a job, as defined by bj_upsert_only_new. The
 * names of its parameters begin with p: cluster, jobid, array job and task,
 * submit, start and end. */
#define BJ_SQL_KNOWN_JOB(p)                                                    \
    "SELECT 1 FROM job WHERE jobid = " p "2" BJ_SQL_KNOWN_TIME(                \
        p) " UNION ALL SELECT 1 FROM job WHERE array_job_id = " p "3"          \
           " AND array_task = " p "4" BJ_SQL_KNOWN_TIME(p)
#define BJ_SQL_KNOWN_TIME(p)                                                   \
    " AND (submit = " p "5 OR start = " p "6 OR \"end\" = " p "7)"             \
    " AND cluster = " p "1"

struct bj_upsert {
    struct bj_store *store;
    struct bj_db *db;
    struct bj_dicts *dicts;
    struct bj_rollup *rollup;
    struct bj_st *st[BJ_STATEMENTS];
    struct bj_upsert_counts counts;
    int64_t removed_before;
    bool begin_later;             /* the transaction has not begun yet */
    char cluster[BJ_CLUSTER_MAX]; /* the last cluster; its number is cluster_id
                                   */
    size_t cluster_len;
    int64_t cluster_id;
    struct bj_row row, old;
    /* the job between bj_upsert_begin_job and bj_upsert_end_job */
    struct {
        struct bj_row row, old;
        struct bj_st *found; /* at its stored row; NULL: the job is new */
    } job;
    struct bj_job_months months;
    int64_t number; /* number for a new job; BJ_SQL_NULL: the database assigns
                       one */
    bool bulk, was_new; /* was_new: the last job was new */
    bool only_new;
    struct bj_gather *gather; /* NULL: each job is stored at once */
    bool pbs;                 /* the last cluster is of PBS */
};

int bj_upsert_prepare(struct bj_upsert *u, struct bj_err *err);

/* Insert u->row, a job, or find its stored row: returns its number, and whether
 * it is new.  Store its row of job_more and its steps next, then end it: then
 * the stored row of a job is changed, since its usage is that of all its
 * steps. */
int bj_upsert_begin_job(struct bj_upsert *u, int64_t *ret_id, bool *ret_new,
                        struct bj_err *err);
int bj_upsert_end_job(struct bj_upsert *u, int64_t id, struct bj_err *err);

/* Insert u->row or merge it into the stored row: a row of job_more, or a step.
 */
int bj_upsert_put_more(struct bj_upsert *u, int64_t id, bool fresh,
                       struct bj_err *err);
int bj_upsert_put_step(struct bj_upsert *u, bool fresh, struct bj_err *err);

/* Replace the sizes of a resized job. */
int bj_upsert_put_sizes(struct bj_upsert *u, int64_t id,
                        const struct bj_sched_job *job, struct bj_err *err);

/* Join the size of a record of PBS to those of its run, u->row, which is
 * stored.
 */
int bj_upsert_join_size(struct bj_upsert *u, int64_t id,
                        const struct bj_sched_job *job, struct bj_err *err);

/* Does the store have the job u->row, as defined by bj_upsert_only_new? */
int bj_upsert_is_known(struct bj_upsert *u, struct bj_err *err);

/* Find the run of u->row, a record of PBS. 1: the caller must store *left, too
 * (statsdb/import/pbs_run.h). */
int bj_upsert_find_run(struct bj_upsert *u, struct bj_row *left,
                       struct bj_err *err);

/* Note the month of a job; call it before the job is inserted or changed. */
int bj_upsert_month(struct bj_upsert *u, int64_t id, const struct bj_row *row,
                    struct bj_err *err);

/* Return the number of the job's combination for daily sums. While dictionaries
 * defer (bj_dicts_defer), it may be preliminary. */
int bj_upsert_assoc(struct bj_upsert *u, const struct bj_row *row, bool defer,
                    int64_t *ret, struct bj_err *err);

/* --- upsert_gather.c ------------------------------------------------------ */

struct bj_gather *bj_gather_new(void); /* NULL: no memory */
void bj_gather_free(struct bj_gather *g);
void bj_gather_drop(struct bj_gather *g);

/* Gather a job; when there are many, store them. */
int bj_gather_add(struct bj_upsert *u, const struct bj_sched_job *job,
                  struct bj_err *err);
bool bj_gather_is_full(const struct bj_gather *g);
int bj_gather_store(struct bj_upsert *u, struct bj_err *err);

#endif
