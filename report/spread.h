/* The tasks of an array: how they ended, and what they used. */
#ifndef BJ_REPORT_SPREAD_H
#define BJ_REPORT_SPREAD_H

#include "report/report.h"

/* The condition for jobs j of the array of job ?1, of the same owner. */
#define BJ_REPORT_SIBLINGS                                                     \
    "j.array_job_id = (SELECT array_job_id FROM job WHERE id = ?1) AND"        \
    " +j.cluster = (SELECT cluster FROM job WHERE id = ?1) AND"                \
    " coalesce(j.user, -1) = (SELECT coalesce(user, -1) FROM job WHERE id ="   \
    " ?1) AND coalesce(j.account, -1) = (SELECT coalesce(account, -1) FROM"    \
    " job WHERE id = ?1)"

/* What advice is based on: of one job, or of the tasks of an array that were
 * completed and whose use is known.  Memory in bytes of a node. */
struct bj_report_known {
    int64_t tasks;         /* 0: no array */
    int64_t memory;        /* the most, or what 95 % of the tasks need ... */
    int64_t memory_beyond; /* ... and the number of tasks that need more */
    int64_t elapsed, elapsed_beyond;
    int64_t busy_micro; /* most busy CPUs of a task, millionths */
};

/* Fill r->array and *ret. */
int bj_report_spread(struct bj_db *db, int64_t job, struct bj_report *r,
                     struct bj_report_known *ret, struct bj_err *err);

#endif
