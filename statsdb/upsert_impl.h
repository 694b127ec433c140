/* What upsert.c and upsert_row.c share; nobody else needs it. */
#ifndef BJ_STATSDB_UPSERT_IMPL_H
#define BJ_STATSDB_UPSERT_IMPL_H

#include "base/arena.h"
#include "statsdb/dict.h"
#include "statsdb/feed.h"
#include "statsdb/rollup.h"
#include "statsdb/row.h"
#include "statsdb/upsert.h"

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
    struct bj_waiting *wait;
    struct bj_row *wait_step;
    uint32_t waiting, waiting_steps;
    uint32_t guess;       /* so many will be new; 0: none */
    int64_t first_id;     /* number of the first that waits */
    struct bj_arena text; /* of those that wait */
    struct bj_feed job_feed, step_feed;
    uint64_t unasked[2]; /* columns that the feeds' statements do not ask for,
                            of step and of job: NULL in all rows so far */
};

int bj_upsert_prepare(struct bj_upsert *u, struct bj_err *err);

/* Run one of the two statements over a feed; more are columns that it has to
 * ask for from now on. */
int bj_upsert_feed(struct bj_upsert *u, unsigned which, uint64_t more,
                   struct bj_err *err);

/* Add what a job gives to the daily sums, or take it away. */
int bj_upsert_share(struct bj_upsert *u, const struct bj_row *row, int sign,
                    struct bj_err *err);

/* Put u->row, whichever way it is there: a job (its number, and whether it is
 * new), what few jobs have, a step. */
int bj_upsert_put_job(struct bj_upsert *u, int64_t *ret_id, bool *ret_new,
                      struct bj_err *err);
int bj_upsert_put_more(struct bj_upsert *u, int64_t id, bool fresh,
                       struct bj_err *err);
int bj_upsert_put_step(struct bj_upsert *u, bool fresh, struct bj_err *err);

#endif
