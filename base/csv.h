/* Fields of CSV. */
#ifndef BJ_BASE_CSV_H
#define BJ_BASE_CSV_H

#include "base/buf.h"

/* Append a field, cleaned (bj_buf_clean), in quotes where RFC 4180 requires or
 * a spreadsheet needs them; a row stays one line.  A field that a spreadsheet
 * would treat as a formula gets an apostrophe in front, also after a semicolon,
 * which separates fields where the comma is the decimal point. */
void bj_csv_text(struct bj_buf *out, struct bj_slice s);

#endif
