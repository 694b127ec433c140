/* What the forms of text have in common. */
#ifndef BJ_REPORT_TEXT_PARTS_H
#define BJ_REPORT_TEXT_PARTS_H

#include "base/buf.h"

#include <stdint.h>

/* Append text in lines of 78 columns and a newline; lines after the first begin
 * with indent blanks, the first continues at column at. */
void bj_text_wrap(struct bj_buf *out, struct bj_slice text, unsigned indent,
                  unsigned at);

/* Characters of clean UTF-8. */
unsigned bj_text_columns(struct bj_slice s);

/* Minutes by which local time is ahead of UTC at that time; 0 for utc. */
int bj_text_offset(int64_t sec, bool utc);

/* Slurm's word for a state: "OUT_OF_MEMORY". */
void bj_text_state(struct bj_buf *out, struct bj_slice state);

/* Text in words of the site (base/local.h), at the left or right of a column.
 */
void bj_text_left(struct bj_buf *out, const char *text, unsigned width);
void bj_text_right(struct bj_buf *out, const char *text, unsigned width);

#endif
