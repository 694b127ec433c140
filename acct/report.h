/* batchjob_acct report: reports of jobs, in several forms. */
#ifndef BJ_ACCT_REPORT_H
#define BJ_ACCT_REPORT_H

#include "acct/source.h"

#include <stdio.h>

enum bj_acct_report_form {
    BJ_ACCT_REPORT,
    BJ_ACCT_SEFF,     /* as Slurm's seff */
    BJ_ACCT_JOBSTATS, /* as jobstats (Princeton) */
    BJ_ACCT_JS1,      /* a line for AdminComment */
    BJ_ACCT_PDF,
    BJ_ACCT_REPORT_JSON,
    BJ_ACCT_REPORT_CSV /* of a period only */
};

struct bj_acct_report_look {
    enum bj_acct_report_form form;
    bool colour, ascii;
    bool letter; /* paper; else A4 */
    FILE *to;
};

/* Print the report of each selected job: one for each array, and for a requeued
 * job only that of its newest run.  *ret_reports: number of reports.  A PDF
 * contains all of them.
 *   an error of the source, -ENOMEM, or an error of writing */
int bj_acct_report(const struct bj_acct_source *from,
                   const struct bj_acct_filter *filter,
                   const struct bj_acct_report_look *look,
                   uint64_t *ret_reports, struct bj_err *err);

#endif
