/* Summarises the tasks of an array: how they ended, and what they used. */
#ifndef BJ_REPORT_MODEL_SPREAD_H
#define BJ_REPORT_MODEL_SPREAD_H

#include "report/model/report.h"

/* Condition for jobs j of the same array and owner as job ?1. */
#define BJ_REPORT_SIBLINGS                                                     \
    "j.array_job_id = (SELECT array_job_id FROM job WHERE id = ?1) AND"        \
    " +j.cluster = (SELECT cluster FROM job WHERE id = ?1) AND"                \
    " coalesce(j.user, -1) = (SELECT coalesce(user, -1) FROM job WHERE id ="   \
    " ?1) AND coalesce(j.account, -1) = (SELECT coalesce(account, -1) FROM"    \
    " job WHERE id = ?1)"

/* The values on which advice is based: those of one job, or of the completed
 * tasks of an array with known use.  Memory in bytes per node. */
struct bj_report_known {
    int64_t tasks; /* 0: no array */
    /* The most of any task: bytes, seconds, busy CPUs in millionths. */
    int64_t memory, elapsed, busy_micro;
};

/* Fill r->array and *ret. */
int bj_report_spread(struct bj_db *db, int64_t job, struct bj_report *r,
                     struct bj_report_known *ret, struct bj_err *err);

#endif
