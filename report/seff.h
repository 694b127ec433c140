/* A report in the forms of other programs. */
#ifndef BJ_REPORT_SEFF_H
#define BJ_REPORT_SEFF_H

#include "base/buf.h"
#include "report/report.h"

/* The lines of Slurm's seff. */
void bj_report_seff(const struct bj_report *r, struct bj_buf *out);

#endif
