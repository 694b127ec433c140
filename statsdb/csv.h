/* CSV that spreadsheets read as it was meant. */
#ifndef BJ_STATSDB_CSV_H
#define BJ_STATSDB_CSV_H

#include "base/buf.h"
#include "base/slice.h"

/* Append a field: cleaned to UTF-8, quoted where RFC 4180 asks for it; what a
 * spreadsheet would take for a formula gets a quote in front. */
void bj_csv_text(struct bj_buf *out, struct bj_slice s);

#endif
