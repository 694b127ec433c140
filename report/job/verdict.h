/* The verdict: the first lines of a report. */
#ifndef BJ_REPORT_JOB_VERDICT_H
#define BJ_REPORT_JOB_VERDICT_H

#include "report/model/report.h"

/* Fill r->verdict from the figures, findings and advice. */
void bj_report_judge(struct bj_report *r);

#endif
