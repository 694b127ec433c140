/* Reads the report of a job from the store. */
#ifndef BJ_REPORT_JOB_READ_H
#define BJ_REPORT_JOB_READ_H

#include "report/model/report.h"

/* Make the report of job number job; for a task of an array, it includes the
 * whole array of its owner.  1, or 0 if the job does not exist.  Free it in any
 * case. */
int bj_report_read(struct bj_db *db, int64_t job, struct bj_report *ret,
                   struct bj_err *err);

#endif
