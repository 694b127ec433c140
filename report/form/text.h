/* A document as text for a terminal of 80 columns. */
#ifndef BJ_REPORT_FORM_TEXT_H
#define BJ_REPORT_FORM_TEXT_H

#include "base/buf.h"
#include "report/model/document.h"

struct bj_report_style {
    bool colour;
    bool ascii; /* meters of ASCII characters */
};

/* Append a document; its title is the first line. */
void bj_doc_print(const struct bj_doc *d, const struct bj_report_style *style,
                  struct bj_buf *out);

#endif
