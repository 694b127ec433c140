/* Shared by upsert*.c only. */
#ifndef BJ_STATSDB_UPSERT_IMPL_H
#define BJ_STATSDB_UPSERT_IMPL_H

#include "statsdb/dict.h"
#include "statsdb/job_month.h"
#include "statsdb/job_number.h"
#include "statsdb/rollup.h"
#include "statsdb/row.h"
#include "statsdb/upsert.h"

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
    BJ_ST_STEP_ADD,
    BJ_ST_STEP_SET_PLAIN,
    BJ_STATEMENTS
};

enum { BJ_CLUSTER_MAX = 256 };

/* Selects a row if the store has a job, in the sense of bj_upsert_only_new. Its
 * parameters begin with p: cluster, jobid, array job and task, submit, start
 * and end. */
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
    bool later;                   /* the transaction has yet to begin */
    char cluster[BJ_CLUSTER_MAX]; /* the last one, and its number */
    size_t cluster_len;
    int64_t cluster_id;
    struct bj_row row, old;
    struct bj_job_months months;
    int64_t number;     /* for a new job; NULL: the database gives one */
    bool bulk, was_new; /* was_new: the last job */
    bool only_new;
    struct bj_gather *gather; /* NULL: each job is stored at once */
    enum bj_hosts_grammar grammar;
};

int bj_upsert_prepare(struct bj_upsert *u, struct bj_err *err);

/* Insert u->row or merge it into its row: a job (its number, and whether it is
 * new), its rare values, a step. */
int bj_upsert_put_job(struct bj_upsert *u, int64_t *ret_id, bool *ret_new,
                      struct bj_err *err);
int bj_upsert_put_more(struct bj_upsert *u, int64_t id, bool fresh,
                       struct bj_err *err);
int bj_upsert_put_step(struct bj_upsert *u, bool fresh, struct bj_err *err);

/* Does the store have u->row, in the sense of bj_upsert_only_new? */
int bj_upsert_is_known(struct bj_upsert *u, struct bj_err *err);

/* Find the run of u->row, a record of PBS: 1 if *left is to be stored, too
 * (statsdb/pbs_run.h). */
int bj_upsert_find_run(struct bj_upsert *u, struct bj_row *left,
                       struct bj_err *err);

/* Before a job is inserted or changed: its month. */
int bj_upsert_month(struct bj_upsert *u, int64_t id, const struct bj_row *row,
                    struct bj_err *err);

/* The combination of a job that has the daily sums. While dictionaries defer
 * (bj_dicts_defer), its number may be preliminary. */
int bj_upsert_assoc(struct bj_upsert *u, const struct bj_row *row, bool defer,
                    int64_t *ret, struct bj_err *err);

/* --- upsert_gather.c ------------------------------------------------------ */

struct bj_gather *bj_gather_new(void); /* NULL: no memory */
void bj_gather_free(struct bj_gather *g);
void bj_gather_drop(struct bj_gather *g);

/* Keep a job; when there are many, store them. */
int bj_gather_add(struct bj_upsert *u, const struct bj_sched_job *job,
                  struct bj_err *err);
bool bj_gather_is_full(const struct bj_gather *g);
int bj_gather_store(struct bj_upsert *u, struct bj_err *err);

#endif
