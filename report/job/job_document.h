/* The report of a job as a document. */
#ifndef BJ_REPORT_JOB_JOB_DOCUMENT_H
#define BJ_REPORT_JOB_JOB_DOCUMENT_H

#include "report/model/document.h"
#include "report/model/report.h"

/* Make the document of a report.  It refers to r, which must stay. */
void bj_report_document(const struct bj_report *r, struct bj_doc *ret);

#endif
