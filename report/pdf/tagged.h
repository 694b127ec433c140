/* What a tagged PDF needs and cairo does not write: its language, that its
 * windows show its title, and the texts of its figures. */
#ifndef BJ_REPORT_PDF_TAGGED_H
#define BJ_REPORT_PDF_TAGGED_H

#include "base/buf.h"

/* Append them to a PDF of cairo as an update of its objects (ISO 32000-1,
 * 7.5.6).  figures: the text of each figure, in their order, clean UTF-8, each
 * terminated.  A PDF of another form stays as it is. */
void bj_tagged_amend(struct bj_buf *pdf, const char *language,
                     struct bj_slice figures);

#endif
