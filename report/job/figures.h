/* Figures: resources requested and used. */
#ifndef BJ_REPORT_JOB_FIGURES_H
#define BJ_REPORT_JOB_FIGURES_H

#include "report/model/report.h"

/* Fill r->figure from the columns of the job. */
void bj_report_figures(struct bj_report *r);

/* Sort findings of the same severity by the cost of what they say was wasted
 * (statsdb/job/wasted.h).  Findings without cost are last; those of arrays keep
 * their order. */
struct bj_prices;
void bj_report_order(struct bj_report *r, const struct bj_prices *prices);

#endif
