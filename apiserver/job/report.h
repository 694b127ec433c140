/* The report of a job, for the API and the pages. */
#ifndef BJ_APISERVER_JOB_REPORT_H
#define BJ_APISERVER_JOB_REPORT_H

#include "apiserver/frame/call.h"
#include "apiserver/frame/params.h"
#include "report/model/report.h"

/* Make the report of a job, by its number in the store; the user must be
 * allowed to see the job (bj_visible_job_find).  0, a refusal, or an error of
 * the store.  Free the report in any case. */
int bj_job_report(struct bj_call *c, int64_t job, struct bj_report *ret);

/* The endpoint /api/v1/jobs/JOB/report. */
int bj_report_reply(struct bj_call *c);

#endif
