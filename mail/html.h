/* Reports as parts of an HTML mail, without scripts and external resources. */
#ifndef BJ_MAIL_HTML_H
#define BJ_MAIL_HTML_H

#include "base/buf.h"
#include "report/model/report.h"
#include "report/period/period.h"

/* Append the report of a job; values are the same as in its other forms. */
void bj_mail_html_report(const struct bj_report *r, struct bj_buf *out);

/* Append the report of a user's jobs. */
void bj_mail_html_period(const struct bj_period *p, struct bj_buf *out);

#endif
