/* Reports in the forms of other programs. */
#ifndef BJ_REPORT_FORM_PROGRAMS_H
#define BJ_REPORT_FORM_PROGRAMS_H

#include "base/buf.h"
#include "base/err.h"
#include "report/model/report.h"

/* Append the lines of Slurm's seff. */
void bj_report_seff(const struct bj_report *r, struct bj_buf *out);

/* Append the sections of the report in the form of jobstats (Princeton), in 80
 * columns, with times in the reader's zone. */
void bj_report_jobstats(const struct bj_report *r, bool colour,
                        struct bj_buf *out);

/* Append the summary of a job that jobstats stores in AdminComment: "JS1:" and
 * gzipped JSON in base64; "JS1:Short" for a job of less than
 * a minute without final records, "JS1:None" if the use of its nodes is not
 * known.  0 or -ENOMEM. */
int bj_report_js1(const struct bj_report *r, struct bj_buf *out,
                  struct bj_err *err);

#endif
