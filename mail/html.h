/* Reports as parts of an HTML mail: no scripts, nothing from elsewhere. */
#ifndef BJ_MAIL_HTML_H
#define BJ_MAIL_HTML_H

#include "base/buf.h"
#include "report/period.h"
#include "report/report.h"

/* The report of a job, with the values of the other forms. */
void bj_mail_html_report(const struct bj_report *r, struct bj_buf *out);

/* The report of a user's jobs. */
void bj_mail_html_period(const struct bj_period *p, struct bj_buf *out);

#endif
