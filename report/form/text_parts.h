/* Shared by the text forms of reports. */
#ifndef BJ_REPORT_FORM_TEXT_PARTS_H
#define BJ_REPORT_FORM_TEXT_PARTS_H

#include "base/buf.h"

#include <stdint.h>

/* Append text, wrapped to 78 columns, and a newline.  The first line continues
 * at column at; other lines begin with indent blanks. */
void bj_text_wrap(struct bj_buf *out, struct bj_slice text, unsigned indent,
                  unsigned at);

/* Number of columns of clean UTF-8 text. */
unsigned bj_text_columns(struct bj_slice s);

/* Append Slurm's name of a state: "OUT_OF_MEMORY". */
void bj_text_state(struct bj_buf *out, struct bj_slice state);

#endif
