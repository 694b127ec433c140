/* Macros to write metric rows, for the files with tables. */
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
/* A level: left out after the end of the job. */
#define LEVEL(record, field, name, unit, help)                                 \
    {                                                                          \
        name, BJ_GAUGE, unit, offsetof(struct record, field), true, help       \
    }

#endif
