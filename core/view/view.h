/* Views: the fields of a snapshot as samples with name, unit and labels. */
#ifndef BJ_CORE_VIEW_VIEW_H
#define BJ_CORE_VIEW_VIEW_H

#include "core/core.h"
#include "core/model/metric.h"

/* One sample. */
struct bj_sample {
    const struct bj_job
        *job; /* NULL for values of the node or of this program */
    const struct bj_sub *sub; /* NULL when the table has no labels of its own */
    const struct bj_slice *info; /* info metrics: values of table->info */
    uint64_t value;              /* in the unit of the metric's field */
};

/* Receives the samples. family announces the metric of the following samples,
 * only if there is one. A negative result ends the walk and is returned. */
struct bj_sink {
    void *ctx;
    int (*family)(void *ctx, const struct bj_metric_table *t,
                  const struct bj_metric *m);
    int (*sample)(void *ctx, const struct bj_sample *s);
};

/* Walk a snapshot in the native view: family by family, jobs by id. */
int bj_view_native(const struct bj_snap *snap, const struct bj_sink *sink);

#endif
