/* Reports as parts of an HTML mail, without scripts and external resources. */
#ifndef BJ_MAIL_HTML_H
#define BJ_MAIL_HTML_H

#include "base/buf.h"
#include "report/model/report.h"

/* Append the report of a job; values are the same as in its other forms. */
void bj_mail_html_report(const struct bj_report *r, struct bj_buf *out);

#endif
