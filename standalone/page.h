/* The page: a snapshot as text for Prometheus. */
#ifndef BJ_STANDALONE_PAGE_H
#define BJ_STANDALONE_PAGE_H

#include "base/buf.h"
#include "core/core.h"
#include "core/view/view.h"

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

/* The writer behind it, for other walks than the native view. */

enum { BJ_PAGE_INFO_MAX = 16 }; /* labels of an info metric, at most */

struct bj_page {
    struct bj_buf *out;
    enum bj_page_format format;
    struct bj_slice cluster;
    /* What the lines of the present family have in common. */
    bool micro;                             /* values are millionths */
    struct bj_buf name;                     /* of its samples */
    struct bj_buf start;                    /* name{ or name{cluster="...", */
    struct bj_buf keys[BJ_SUB_KEYS];        /* of the table: device=" */
    struct bj_slice info[BJ_PAGE_INFO_MAX]; /* names of its info labels */
    size_t ninfo;
};

/* Begin a page that is appended to out, which like p must stay where it is.
 * cluster is the value of a label of every sample; empty: none.  Returns the
 * sink that writes; what it is given may fail with -ENOMEM. */
struct bj_sink bj_page_begin(struct bj_page *p, enum bj_page_format format,
                             struct bj_slice cluster, struct bj_buf *out);

/* Write what belongs to the end, free what the writer holds.  0 or -ENOMEM. */
int bj_page_end(struct bj_page *p);

#endif
