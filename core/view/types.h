/* collectd's view of the metric tables: which types there are.  From one walk
 * come types.db and the data sets that the plugin registers itself. */
#ifndef BJ_CORE_VIEW_TYPES_H
#define BJ_CORE_VIEW_TYPES_H

#include "base/buf.h"
#include "core/model/metric.h"

#include <stdbool.h>

/* Call fn for each type, in the order of bj_metric_tables; a name may come
 * twice (always with the same kind) when two tables share it.  name is valid
 * during the call.  A result of fn below 0 ends the walk and is returned;
 * -ENOMEM when memory is out. */
int bj_types_walk(int (*fn)(void *ctx, const char *name, enum bj_kind kind),
                  void *ctx);

/* Labels that every sample of a job has in the exporter, and that are types of
 * their own in collectd: user, account, cluster.  NULL-terminated. */
extern const char *const bj_job_attr_keys[];

/* Whether the key of an info metric is a type of its own in collectd: all but
 * those that hold free text. */
bool bj_attr_has_type(const char *key);

/* The type of an attribute, "job_partition". */
void bj_attr_type(const struct bj_metric_table *t, const char *key,
                  struct bj_buf *out);

#endif
