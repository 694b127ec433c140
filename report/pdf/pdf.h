/* Reports as PDF. */
#ifndef BJ_REPORT_PDF_PDF_H
#define BJ_REPORT_PDF_PDF_H

#include "report/chart/charts.h"
#include "report/model/document.h"
#include "report/model/report.h"
#include "report/pdf/sheet.h"

/* Add the pages of a job.  charts: its charts, or the reason why there are
 * none; NULL: neither is shown. */
int bj_pdf_job(struct bj_sheet *s, const struct bj_report *r,
               const struct bj_charts *charts, struct bj_err *err);

/* Document property of reports of jobs. */
#define BJ_PDF_JOB_SUBJECT                                                     \
    "What batch jobs requested and used, what was wrong, and what to change"

/* Append the title: "Report of job 4711 (solve)", as clean UTF-8. */
void bj_pdf_job_title(const struct bj_report *r, struct bj_buf *out);

/* The time for the document: the job's end, begin or submission, or 0. */
int64_t bj_pdf_job_time(const struct bj_report *r);

/* Add the pages of a document; charts as for a job. */
int bj_pdf_document(struct bj_sheet *s, const struct bj_doc *d,
                    const struct bj_charts *charts, struct bj_err *err);

#endif
