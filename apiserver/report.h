/* The report of a job, for the API and the pages. */
#ifndef BJ_APISERVER_REPORT_H
#define BJ_APISERVER_REPORT_H

#include "apiserver/call.h"
#include "apiserver/params.h"
#include "report/report.h"

/* Make the report of a job that the user may see, by its number in the store
 * (bj_visible_job_find).  0, a refusal, or an error of the store.  Free it in
 * any case. */
int bj_job_report(struct bj_call *c, int64_t job, struct bj_report *ret);

/* /api/v1/jobs/JOB/report: the endpoint. */
int bj_report_answer(struct bj_call *c);

#endif
