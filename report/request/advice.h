/* Advice: what to change in the next request.  It follows from findings, so
 * rules decide when there is advice; there is none if too little data support
 * it. */
#ifndef BJ_REPORT_REQUEST_ADVICE_H
#define BJ_REPORT_REQUEST_ADVICE_H

#include "report/model/report.h"
#include "report/model/spread.h"

/* Fill r->advice from the columns, nodes and findings. */
void bj_report_advise(struct bj_report *r, const struct bj_report_known *known);

#endif
