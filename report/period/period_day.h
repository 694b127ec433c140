/* The sums of a period by day. */
#ifndef BJ_REPORT_PERIOD_PERIOD_DAY_H
#define BJ_REPORT_PERIOD_PERIOD_DAY_H

#include "report/period/period.h"

void bj_period_add_day(struct bj_period *p, const struct bj_period_job *j);

#endif
