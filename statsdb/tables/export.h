/* Jobs as text for other programs. */
#ifndef BJ_STATSDB_TABLES_EXPORT_H
#define BJ_STATSDB_TABLES_EXPORT_H

#include "base/err.h"
#include "statsdb/tables/store.h"

#include <stdint.h>
#include <stdio.h>

enum bj_export_format {
    BJ_EXPORT_CSV,  /* RFC 4180, with a header line */
    BJ_EXPORT_JSONL /* one JSON object per line, with all keys */
};

struct bj_export {
    enum bj_export_format format;
    int64_t since_sec, until_sec; /* jobs that ended in this period */
};

/* Write the jobs in the order of their start, with the columns of the view
 * job_v except the number, which is valid in this store only. In CSV, a value
 * that a spreadsheet would read as a formula gets a quote in front; in both
 * formats, text is cleaned to UTF-8. If the output is an empty file of this
 * user, other users lose the right to read it. Returns -EIO and other errors of
 * writing. */
int bj_export_jobs(struct bj_store *s, const struct bj_export *what, FILE *to,
                   struct bj_err *err);

#endif
