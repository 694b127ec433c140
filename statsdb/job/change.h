/* What users should change: the findings of jobs with the same name together,
 * with what those jobs wasted.  Start pages, the page of the support and
 * digests show the first of them. */
#ifndef BJ_STATSDB_JOB_CHANGE_H
#define BJ_STATSDB_JOB_CHANGE_H

#include "base/arena.h"
#include "statsdb/derive/price.h"
#include "statsdb/job/job_read.h"
#include "statsdb/job/wasted.h"

/* Numbers are BJ_SQL_NULL if they are not known. */
struct bj_change {
    int64_t user, name; /* numbers of the owner and of the name of the jobs */
    struct bj_slice user_name, job_name, finding, severity;
    int64_t runs;          /* jobs with the finding */
    struct bj_paid wasted; /* sums of the known amounts */
    int64_t cost;          /* of these, in millionths of the currency */
    int64_t newest, at;    /* the newest of the jobs, and when it began */
};

enum {
    BJ_CHANGES_MOST = 50000
}; /* findings that are read, at most: the
    newest */

/* Zero-initialise; free with bj_changes_free. */
struct bj_changes {
    struct bj_change *v;
    size_t n, room;
    struct bj_prices prices;
    bool cut; /* there are more findings than were read */
    struct bj_picked picked;
    unsigned place[BJ_WASTED_COLUMNS]; /* in picked */
    struct bj_arena arena;
};
void bj_changes_free(struct bj_changes *c);

/* Read the prices, and append "SELECT ... FROM job AS j ... WHERE ...", to
 * which the caller adds " AND ..." for jobs j, then BJ_CHANGES_NEWEST.  0 or an
 * error of the store. */
int bj_changes_select(struct bj_changes *c, struct bj_db *db,
                      struct bj_buf *sql, struct bj_err *err);
#define BJ_CHANGES_NEWEST " ORDER BY j.at DESC LIMIT 50001"

/* Read the rows of that statement, and sort: what cost most first, of each name
 * of a user's jobs only the most expensive finding.  0, -ENOMEM or an error of
 * the store. */
int bj_changes_read(struct bj_changes *c, struct bj_st *st, struct bj_err *err);

#endif
