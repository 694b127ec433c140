/* The page: a snapshot as text for Prometheus. */
#ifndef BJ_STANDALONE_PAGE_H
#define BJ_STANDALONE_PAGE_H

#include "base/buf.h"
#include "core/core.h"

enum bj_page_format {
    BJ_PAGE_TEXT,        /* Prometheus text format 0.0.4 */
    BJ_PAGE_OPENMETRICS, /* OpenMetrics 1.0.0 */
    BJ_PAGE_FORMATS
};

/* The content type of each format. */
extern const char *const bj_page_types[BJ_PAGE_FORMATS];

/* Append the page to out.  0 or -ENOMEM; out->failed is set then too.
 * Sources: prometheus.io "Exposition formats"; OpenMetrics 1.0.0. */
int bj_page_write(const struct bj_snap *snap, enum bj_page_format format,
                  struct bj_buf *out);

#endif
