/* The report of a job: read from the store, judged, and as a document. */
#ifndef BJ_REPORT_JOB_JOB_H
#define BJ_REPORT_JOB_JOB_H

#include "report/model/document.h"
#include "report/model/report.h"

/* Make the report of job number job; for a task of an array, it includes the
 * whole array of its owner.  1, or 0 if the job does not exist.  Free it in any
 * case. */
int bj_report_read(struct bj_db *db, int64_t job, struct bj_report *ret,
                   struct bj_err *err);

/* Make the document of a report.  It refers to r, which must stay. */
void bj_report_document(const struct bj_report *r, struct bj_doc *ret);

/* For bj_report_read(): fill r->verdict from the figures, findings and advice.
 */
void bj_report_judge(struct bj_report *r);

#endif
