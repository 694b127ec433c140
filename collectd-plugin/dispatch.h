/* Snapshots to value lists.
 *
 * plugin "batchjob"; plugin instance the job, "JOBID", or its step,
 * "JOBID.STEP", empty for the node and ourselves; type the metric
 * (bj_metric_collectd_type); type instance at most one more identifier: CPU,
 * device, executable, task, ...  Labels of info metrics are gauges of value 1
 * whose type instance is the label.  Names: collectd-plugin/name.h. */
#ifndef BJ_COLLECTD_DISPATCH_H
#define BJ_COLLECTD_DISPATCH_H

#include "core/core.h"

#include <collectd/core/daemon/plugin.h>

/* What is kept between passes: names and meta data of the jobs. */
struct bj_dispatch;

/* conf must outlive it: it says whether user and account may be shown.  NULL
 * when memory is out. */
struct bj_dispatch *bj_dispatch_new(const struct bj_conf *conf);
void bj_dispatch_free(struct bj_dispatch *d); /* NULL is fine */

/* Hand every value of snap to collectd, all with the time now.  One thread at
 * a time.  -ENOMEM when not everything could be handed over. */
int bj_dispatch_snap(struct bj_dispatch *d, const struct bj_snap *snap,
                     cdtime_t now, struct bj_err *err);

#endif
