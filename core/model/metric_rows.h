/* How rows of metrics are written down.  For the files of the tables. */
#ifndef BJ_CORE_MODEL_METRIC_ROWS_H
#define BJ_CORE_MODEL_METRIC_ROWS_H

#include "core/model/metric.h"

#include <stddef.h>

#define COUNTER(record, field, name, unit, help)                               \
    {                                                                          \
        name, BJ_COUNTER, unit, offsetof(struct record, field), false, help    \
    }
#define GAUGE(record, field, name, unit, help)                                 \
    {                                                                          \
        name, BJ_GAUGE, unit, offsetof(struct record, field), false, help      \
    }
/* A level that says nothing any more once the job has ended. */
#define LEVEL(record, field, name, unit, help)                                 \
    {                                                                          \
        name, BJ_GAUGE, unit, offsetof(struct record, field), true, help       \
    }

#endif
