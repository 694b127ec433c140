/* A report in the form of Slurm's seff. */
#ifndef BJ_REPORT_FORM_SEFF_H
#define BJ_REPORT_FORM_SEFF_H

#include "base/buf.h"
#include "report/model/report.h"

/* Append the lines of seff. */
void bj_report_seff(const struct bj_report *r, struct bj_buf *out);

#endif
