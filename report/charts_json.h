/* Charts in JSON, as /api/v1/jobs/JOB/charts has them, and back. */
#ifndef BJ_REPORT_CHARTS_JSON_H
#define BJ_REPORT_CHARTS_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "report/charts.h"

struct bj_json;

/* Append the object: {"charts":[...],"reason":null}. */
void bj_charts_write(const struct bj_charts *c, struct bj_buf *out);

/* Read it.  -EBADMSG: these are no charts, or too many; -ENOMEM.  Free them in
 * any case. */
int bj_charts_parse(const struct bj_json *object, struct bj_charts *ret,
                    struct bj_err *err);

#endif
