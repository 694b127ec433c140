/* A document as HTML, without scripts and external resources: for mails, and
 * the sections of pages. */
#ifndef BJ_REPORT_FORM_HTML_H
#define BJ_REPORT_FORM_HTML_H

#include "base/buf.h"
#include "report/model/document.h"

/* Append the sections of a document that a mail has room for, without its
 * title. */
void bj_doc_html(const struct bj_doc *d, struct bj_buf *out);

/* How a page shows a section. */
struct bj_html_page {
    const char *job_path;  /* of a link to a job, without its id */
    const char *node_path; /* of a link to a node, without its name */
    /* Append the meter of an efficiency, and the number. */
    void (*meter)(struct bj_buf *b, enum bj_doc_judge judge, int64_t ppm);
    /* Append the mark of a severity, or of the level of a verdict. */
    void (*mark)(struct bj_buf *b, struct bj_slice severity);
};

/* Append one section for a page; nothing if the document lacks it. */
void bj_doc_html_section(const struct bj_doc *d, enum bj_doc_name name,
                         const struct bj_html_page *page, struct bj_buf *out);

#endif
