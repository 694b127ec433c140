/* Writes a report as JSON, as in /api/v1/jobs/JOB/report, and reads it. */
#ifndef BJ_REPORT_FORM_JSON_H
#define BJ_REPORT_FORM_JSON_H

#include "base/buf.h"
#include "report/model/report.h"

struct bj_json;

/* Append the report as a JSON object. */
void bj_report_write(const struct bj_report *r, struct bj_buf *out);

/* Read such an object.  -EBADMSG: not a report.  Free the report in any case.
 */
int bj_report_parse(const struct bj_json *object, struct bj_report *ret,
                    struct bj_err *err);

#endif
