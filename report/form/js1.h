/* The summary of a job as jobstats (Princeton) stores it in AdminComment. */
#ifndef BJ_REPORT_FORM_JS1_H
#define BJ_REPORT_FORM_JS1_H

#include "base/buf.h"
#include "base/err.h"
#include "report/model/report.h"

/* Append "JS1:" and gzipped JSON in base64; "JS1:Short" for a job of less than
 * a minute without final records, "JS1:None" if the use of its nodes is not
 * known.  0 or -ENOMEM. */
int bj_report_js1(const struct bj_report *r, struct bj_buf *out,
                  struct bj_err *err);

#endif
