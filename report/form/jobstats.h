/* A report in the form of jobstats (Princeton). */
#ifndef BJ_REPORT_FORM_JOBSTATS_H
#define BJ_REPORT_FORM_JOBSTATS_H

#include "base/buf.h"
#include "report/model/report.h"

/* Append the sections of the report in 80 columns, with times in the reader's
 * zone.
 */
void bj_report_jobstats(const struct bj_report *r, bool colour,
                        struct bj_buf *out);

#endif
