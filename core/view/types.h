/* collectd's types of all metrics, for types.db and for the data sets that the
 * plugin registers. */
#ifndef BJ_CORE_VIEW_TYPES_H
#define BJ_CORE_VIEW_TYPES_H

#include "base/buf.h"
#include "core/model/metric.h"

#include <stdbool.h>

/* Call fn for each type, in the order of bj_metric_tables; a name that two
 * tables share comes twice, with the same kind. name is valid during the call.
 * A negative result of fn ends the walk and is returned; -ENOMEM. */
int bj_types_walk(int (*fn)(void *ctx, const char *name, enum bj_kind kind),
                  void *ctx);

/* Labels of every sample of a job in the exporter that are separate types in
 * collectd: user, account, cluster. NULL-terminated. */
extern const char *const bj_job_attr_keys[];

/* Whether the label of an info metric is a type in collectd: all except free
 * text. */
bool bj_attr_has_type(const char *key);

/* The type of an attribute, "job_partition". */
void bj_attr_type(const struct bj_metric_table *t, const char *key,
                  struct bj_buf *out);

#endif
