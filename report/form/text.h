/* A document as text for a terminal of 80 columns. */
#ifndef BJ_REPORT_FORM_TEXT_H
#define BJ_REPORT_FORM_TEXT_H

#include "base/buf.h"
#include "report/model/document.h"

#include <stdint.h>

struct bj_report_style {
    bool colour;
    bool ascii; /* meters of ASCII characters */
};

/* Append a document; its title is the first line. */
void bj_doc_print(const struct bj_doc *d, const struct bj_report_style *style,
                  struct bj_buf *out);

/* --- text parts ---*/

/* Shared by the text forms of reports. */

/* Append text, wrapped to 78 columns, and a newline.  The first line continues
 * at column at; other lines begin with indent blanks. */
void bj_text_wrap(struct bj_buf *out, struct bj_slice text, unsigned indent,
                  unsigned at);

/* Append Slurm's name of a state: "OUT_OF_MEMORY". */
void bj_text_state(struct bj_buf *out, struct bj_slice state);

#endif
