/* batchjob_acct report --user, --account, --month: sums over jobs. */
#ifndef BJ_ACCT_PERIOD_H
#define BJ_ACCT_PERIOD_H

#include "acct/report.h"

/* Parse a month ("2026-11"): returns its first second and the first second of
 * the next month, in the reader's time zone.  -EINVAL: not a month. */
int bj_acct_month(const char *text, int64_t *ret_since, int64_t *ret_until);

/* Print the report of the selected jobs, as text or JSON. */
int bj_acct_period(const struct bj_acct_source *from,
                   const struct bj_acct_filter *filter, const char *by,
                   const struct bj_acct_report_look *look, struct bj_err *err);

#endif
