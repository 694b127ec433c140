/* Reports as PDF. */
#ifndef BJ_REPORT_PDF_PDF_H
#define BJ_REPORT_PDF_PDF_H

#include "report/chart/charts.h"
#include "report/model/document.h"
#include "report/pdf/sheet.h"

/* Add the pages of a document.  charts: its charts, or the reason why there are
 * none; NULL: neither is shown. */
int bj_pdf_document(struct bj_sheet *s, const struct bj_doc *d,
                    const struct bj_charts *charts, struct bj_err *err);

/* Document property of reports of jobs. */
#define BJ_PDF_JOB_SUBJECT                                                     \
    "What batch jobs requested and used, what was wrong, and what to change"

#endif
