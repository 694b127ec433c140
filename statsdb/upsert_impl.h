/* What upsert.c, upsert_batch.c and upsert_row.c share; nobody else needs it.
 */
#ifndef BJ_STATSDB_UPSERT_IMPL_H
#define BJ_STATSDB_UPSERT_IMPL_H

#include "base/arena.h"
#include "statsdb/background.h"
#include "statsdb/dict.h"
#include "statsdb/feed.h"
#include "statsdb/rollup.h"
#include "statsdb/row.h"
#include "statsdb/upsert.h"

#include <pthread.h>

/* Statements, made from the columns of the tables. */
enum {
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
    BJ_ST_JOB_FEED,
    BJ_ST_STEP_FEED,
    BJ_ST_JOB_IS_THERE,
    BJ_STATEMENTS
};

enum {
    BJ_CLUSTER_MAX = 256,
    BJ_WAIT_JOBS = 256,  /* jobs that wait to be put together */
    BJ_WAIT_STEPS = 1024 /* and steps of them */
};

/* A job that waits, with its steps from step on. */
struct bj_waiting {
    struct bj_row row;
    struct bj_row *more; /* in the arena; NULL: nothing of it */
    uint32_t step, steps;
    int64_t of[4]; /* whose sums it counts in: bj_upsert_parts */
};

/* Jobs that wait to be put together. */
struct bj_batch {
    struct bj_waiting *wait;
    struct bj_row *step;
    uint32_t jobs, steps;
    int64_t first_id; /* number of the first; the others follow it */
    struct bj_arena text;
};

struct bj_upsert {
    struct bj_store *store;
    struct sqlite3 *db;
    struct bj_dicts *dicts;
    struct bj_rollup *rollup;
    struct sqlite3_stmt *st[BJ_STATEMENTS];
    struct bj_upsert_counts counts;
    int64_t removed_before;
    char cluster[BJ_CLUSTER_MAX]; /* the last one, and its number */
    size_t cluster_len;
    int64_t cluster_id;
    struct bj_row row, old;

    /* Jobs that are thought to be new: all of them go into the tables with one
     * statement, and those that were not new after all the other way.  The
     * guess is made anew from how the last ones were. */
    struct bj_batch batch[2];
    struct bj_batch *fill; /* which is filled; and which is being put, */
    struct bj_batch *put;  /* or NULL */
    uint32_t guess;        /* so many will be new; 0: none */
    int64_t next_id;       /* number of the next job; 0: to be looked up */
    struct bj_background *worker; /* NULL: not needed yet, or not to be had */
    bool parallel, no_worker, bulk;
    struct bj_err worker_err;
    pthread_mutex_t sql; /* whose turn it is to use the connection */
    struct bj_feed job_feed, step_feed;
    uint64_t unasked[2]; /* columns that the feeds' statements do not ask for,
                            of step and of job: NULL in all rows so far */
};

int bj_upsert_prepare(struct bj_upsert *u, struct bj_err *err);

/* Run one of the two statements over a feed; more are columns that it has to
 * ask for from now on. */
int bj_upsert_feed(struct bj_upsert *u, unsigned which, uint64_t more,
                   struct bj_err *err);

/* Whose sums a job counts in: cluster, account, user and partition. */
int bj_upsert_parts(struct bj_upsert *u, const struct bj_row *row,
                    int64_t ret[4], struct bj_err *err);

/* Add what a job gives to the daily sums, or take it away. */
int bj_upsert_share_of(struct bj_upsert *u, const int64_t of[4],
                       const struct bj_row *row, int sign, struct bj_err *err);

/* Put u->row, whichever way it is there: a job (its number, and whether it is
 * new), what few jobs have, a step. */
int bj_upsert_put_job(struct bj_upsert *u, int64_t *ret_id, bool *ret_new,
                      struct bj_err *err);
int bj_upsert_put_more(struct bj_upsert *u, int64_t id, bool fresh,
                       struct bj_err *err);
int bj_upsert_put_step(struct bj_upsert *u, bool fresh, struct bj_err *err);

/* --- upsert_batch.c -------------------------------------------------------*/

int bj_batches_new(struct bj_upsert *u, struct bj_err *err);
void bj_batches_free(struct bj_upsert *u);

/* Shall a job wait?  Makes room for it if so, and else puts all that waits. */
int bj_batch_room(struct bj_upsert *u, const struct bj_sched_job *job,
                  bool *ret_wait, struct bj_err *err);

/* Let it wait. */
int bj_batch_add(struct bj_upsert *u, const struct bj_sched_job *job,
                 struct bj_err *err);

/* Put all that waits; or forget it, after which nobody uses the connection. */
int bj_batches_flush(struct bj_upsert *u, struct bj_err *err);
void bj_batches_drop(struct bj_upsert *u);

#endif
