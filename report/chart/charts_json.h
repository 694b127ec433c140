/* Writes charts as JSON, as in /api/v1/jobs/JOB/charts, and reads them. */
#ifndef BJ_REPORT_CHART_CHARTS_JSON_H
#define BJ_REPORT_CHART_CHARTS_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "report/chart/charts.h"

struct bj_json;

/* Append the object: {"charts":[...],"reason":null}. */
void bj_charts_write(const struct bj_charts *c, struct bj_buf *out);

/* Read such an object.  -EBADMSG: not charts, or too many; -ENOMEM.  Free them
 * in any case. */
int bj_charts_parse(const struct bj_json *object, struct bj_charts *ret,
                    struct bj_err *err);

#endif
