/* Builds the conditions that select jobs, j, for all programs: by user,
 * account, partition, cluster, state, node, name and time.  What a user may see
 * is added by the API server alone. */
#ifndef BJ_STATSDB_JOB_JOB_FILTER_H
#define BJ_STATSDB_JOB_JOB_FILTER_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/tables/job_month.h"
#include "statsdb/tables/word.h"
#include "store/sql_build.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_st;

/* Values of a filter; NULL with n 0: no filter. */
struct bj_filter_texts {
    const struct bj_slice *v;
    unsigned n;
};

/* Looks up the number of a name; -1: no such name.  0 or an error of the
 * store. */
struct bj_filter_names {
    int (*find)(void *ctx, enum bj_word which, struct bj_slice name,
                int64_t *ret, struct bj_err *err);
    void *ctx;
};

/* Append " AND COLUMN IN (...)" for the numbers of these names.  A '+' before
 * the column keeps SQLite from using its index where another one leads. */
int bj_filter_names(struct bj_sql_build *b, const char *column,
                    enum bj_word which, struct bj_filter_texts names,
                    const struct bj_filter_names *find, struct bj_err *err);

/* --- states ----------------------------------------------------------------
 */

/* Are all these states of runs that have not ended, and is there one? */
bool bj_filter_only_open(struct bj_filter_texts states);

/* Append " AND ..." for states: names of ours or of Slurm, "ended" and "all".
 * -EINVAL: unknown state; the message lists all. */
int bj_filter_states(struct bj_sql_build *b, struct bj_filter_texts states,
                     struct bj_err *err);

/* --- nodes -----------------------------------------------------------------
 */

enum { BJ_FILTER_NODES = 10000 }; /* maximum */

/* Zero-initialise. */
struct bj_filter_nodes {
    int64_t *v; /* the caller frees it, also after an error */
    size_t n, room, named;
};

/* A statement for bj_filter_nodes_find. */
#define BJ_FILTER_NODE_SQL "SELECT id FROM host WHERE name = ?1"

/* Find the numbers of nodes, which may be lists of Slurm; nodes on which no job
 * ran have none.
 *   -E2BIG   more than BJ_FILTER_NODES
 *   -EINVAL  not a list of nodes; the message contains it */
int bj_filter_nodes_find(struct bj_st *st, struct bj_filter_texts nodes,
                         struct bj_filter_nodes *ret, struct bj_err *err);

/* Append " AND ..." for jobs that ran on one of them. */
void bj_filter_nodes(struct bj_sql_build *b,
                     const struct bj_filter_nodes *nodes);

/* --- names and times -------------------------------------------------------
 */

/* Append " AND ..." for names of jobs (job_name.h), arrays with their tasks;
 * none is a UUID. */
void bj_filter_jobs(struct bj_sql_build *b, struct bj_filter_texts names);

/* A period of jobs. */
struct bj_filter_time {
    /* Their column at: the start, of pending jobs the submission; INT64_MIN and
     * INT64_MAX: no limit. */
    int64_t at_from, at_to;
    int64_t end_from; /* those that ended before are omitted; 0: none are */
};

/* Find the months with such jobs. */
int bj_filter_months(struct bj_db *db, const struct bj_filter_time *t,
                     struct bj_job_ranges *ret, struct bj_err *err);

/* Append " AND ..." for column at of jobs ("j.at" or "+j.at"), and limit their
 * numbers to these months. */
void bj_filter_began(struct bj_sql_build *b, const char *at,
                     const struct bj_filter_time *t,
                     const struct bj_job_ranges *months);

/* Append " AND ..." for the end. */
void bj_filter_ended(struct bj_sql_build *b, const struct bj_filter_time *t);

/* Append the order of lists and the limit; named: the jobs are found by their
 * names, so that no index gives the order. */
void bj_filter_order(struct bj_sql_build *b, bool ascending, bool named,
                     int64_t limit);

#endif
