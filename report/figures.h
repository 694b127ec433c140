/* Figures: resources requested and used. */
#ifndef BJ_REPORT_FIGURES_H
#define BJ_REPORT_FIGURES_H

#include "report/report.h"

/* Fill r->figure from the columns of the job. */
void bj_report_figures(struct bj_report *r);

#endif
