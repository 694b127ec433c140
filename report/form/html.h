/* A document as HTML, without scripts and external resources: part of a mail.
 */
#ifndef BJ_REPORT_FORM_HTML_H
#define BJ_REPORT_FORM_HTML_H

#include "base/buf.h"
#include "report/model/document.h"

/* Append the sections of a document that a mail has room for, without its
 * title. */
void bj_doc_html(const struct bj_doc *d, struct bj_buf *out);

#endif
