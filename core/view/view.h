/* Views: under which name, unit and labels the fields of a snapshot leave. */
#ifndef BJ_CORE_VIEW_VIEW_H
#define BJ_CORE_VIEW_VIEW_H

#include "core/core.h"
#include "core/model/metric.h"

/* One value on its way out. */
struct bj_sample {
    const struct bj_job *job; /* NULL for values of the node or of ourselves */
    const struct bj_sub *sub; /* NULL when the table has no labels of its own */
    const struct bj_slice *info; /* info metrics: values of table->info */
    uint64_t value;              /* in the unit of the metric's field */
};

/* Where values go.  family announces the metric of the samples that follow;
 * it is called only when there is at least one.  A result below 0 ends the
 * walk and is returned. */
struct bj_sink {
    void *ctx;
    int (*family)(void *ctx, const struct bj_metric_table *t,
                  const struct bj_metric *m);
    int (*sample)(void *ctx, const struct bj_sample *s);
};

/* Walk a snapshot in the native view: family by family, jobs by id. */
int bj_view_native(const struct bj_snap *snap, const struct bj_sink *sink);

#endif
