/* The report of a job as text. */
#ifndef BJ_TESTS_UNIT_STATSDB_PRINT_REPORT_H
#define BJ_TESTS_UNIT_STATSDB_PRINT_REPORT_H

#include "report/form/text.h"
#include "report/job/job.h"

static inline void print(const struct bj_report *r, struct bj_buf *out)
{
    struct bj_doc d = {.created_sec = 0};
    bj_report_document(r, &d);
    bj_doc_print(&d, &(struct bj_report_style){.ascii = true}, out);
    bj_doc_free(&d);
}

#endif
