/* Converts snapshots to collectd's value lists.
 *
 * plugin: "batchjob"; plugin instance: the job, "JOBID", or its step,
 * "JOBID.STEP", empty for the node and this plugin; type: the metric
 * (bj_metric_collectd_type); type instance: at most one more key, such as CPU,
 * device, executable or task. Labels of info metrics are gauges of value 1 with
 * the label as type instance. Names: collectd-plugin/name.h. */
#ifndef BJ_COLLECTD_DISPATCH_H
#define BJ_COLLECTD_DISPATCH_H

#include "core/core.h"

#include <collectd/core/daemon/plugin.h>

/* State kept between passes: names and meta data of the jobs. */
struct bj_dispatch;

/* conf must outlive it; it defines whether user and account are included. NULL:
 * out of memory. */
struct bj_dispatch *bj_dispatch_new(const struct bj_conf *conf);
void bj_dispatch_free(struct bj_dispatch *d); /* NULL is fine */

/* Dispatch all values of snap, with the current time. Not thread-safe. -ENOMEM
 * when some values are missing. */
int bj_dispatch_snap(struct bj_dispatch *d, const struct bj_snap *snap,
                     cdtime_t now, struct bj_err *err);

#endif
