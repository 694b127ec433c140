/* The rows of daily and monthly sums (rollup_usage and others) of a period. */
#ifndef BJ_APISERVER_V1_SUM_ROWS_H
#define BJ_APISERVER_V1_SUM_ROWS_H

#include "apiserver/frame/call.h"
#include "apiserver/frame/params.h"
#include "apiserver/frame/query.h"

/* Days are those of the site's time zone, months year * 12 + month - 1. */
struct bj_sum_rows {
    int64_t first, last; /* months */
    int64_t from, to;    /* their first and last day, from 1 */
    int64_t whole, upto; /* the months of which the row of the month is read;
                            none: upto < whole */
};

/* Find the rows of the days from parameter from to parameter to.  by_day: only
 * rows of days.  0, a refusal, or an error of the store. */
int bj_sum_rows_read(struct bj_call *c, const struct bj_params *p, bool by_day,
                     struct bj_sum_rows *ret);

/* Append a WITH clause with mo(m, since, upto): a row for each month.  Further
 * tables may follow it. */
void bj_sum_rows_with(struct bj_query *q, const struct bj_sum_rows *s);

/* Append the condition that finds the rows r of the combinations a. The sums of
 * one month and one combination are adjacent. */
void bj_sum_rows_where(struct bj_query *q, const struct bj_sum_rows *s);

#endif
