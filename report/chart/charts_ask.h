/* The charts of a job from a Prometheus server, for programs that have the
 * store. */
#ifndef BJ_REPORT_CHART_CHARTS_ASK_H
#define BJ_REPORT_CHART_CHARTS_ASK_H

#include "report/chart/charts.h"
#include "report/model/report.h"
#include "statsdb/prom/prom.h"

/* Query the charts of the job of a report, for its whole time.  Series are
 * selected as for its measured values: by jobid and the labels of the cluster
 * (prometheus.match).  Each query is limited to limit_usec.  Without samples,
 * or if the server does not respond, ret->why is set, and err has the reason. 0
 * or -ENOMEM. */
int bj_charts_query(const struct bj_prom_conf *conf, const atomic_bool *stop,
                    uint64_t limit_usec, const struct bj_report *r,
                    int64_t now_sec, struct bj_charts *ret, struct bj_err *err);

#endif
