/* Jobs as text for other programs. */
#ifndef BJ_STATSDB_EXPORT_H
#define BJ_STATSDB_EXPORT_H

#include "base/err.h"
#include "statsdb/store.h"

#include <stdint.h>
#include <stdio.h>

enum bj_export_format {
    BJ_EXPORT_CSV,  /* RFC 4180, with a header line */
    BJ_EXPORT_JSONL /* a JSON object a line, every key in every line */
};

struct bj_export {
    enum bj_export_format format;
    int64_t since_sec, until_sec; /* jobs that ended in between */
};

/* Write the jobs in the order of their start, all columns of
 * the view job_v.  In CSV what a spreadsheet would take for a formula gets a
 * quote in front; text is cleaned to UTF-8 in both.  -EIO and others from
 * writing. */
int bj_export_jobs(struct bj_store *s, const struct bj_export *what, FILE *to,
                   struct bj_err *err);

#endif
