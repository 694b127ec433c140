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

/* The heads of families as they were written first, from one page to the next:
 * names and comments never change.  Zero-initialise; for pages of one format
 * (another cluster begins anew). */
struct bj_page_heads {
    struct bj_page_head *v;
    size_t n, next; /* next: behind the one that was found last */
    struct bj_buf text;
    struct bj_buf cluster; /* its name in them */
};
void bj_page_heads_free(struct bj_page_heads *heads);

/* Append the page to out.  heads may be NULL.  0 or -ENOMEM; out->failed is
 * set then too.
 * Sources: prometheus.io "Exposition formats"; OpenMetrics 1.0.0. */
int bj_page_write(const struct bj_snap *snap, enum bj_page_format format,
                  struct bj_page_heads *heads, struct bj_buf *out);

/* Take the mark of the end off a page, so that families can be appended; true
 * when there was one, which bj_page_close then puts back. */
bool bj_page_reopen(enum bj_page_format format, struct bj_buf *page);
void bj_page_close(bool marked, struct bj_buf *page);

/* The writer behind it, for other walks than the native view. */

struct bj_page {
    struct bj_buf *out;
    enum bj_page_format format;
    struct bj_slice cluster;
    struct bj_page_heads *heads, own; /* own: when none were given */
    /* What the lines of the present family have in common. */
    const struct bj_metric_table *table;
    bool plain;            /* samples have the labels of a job and no more */
    bool micro;            /* values are millionths */
    struct bj_slice start; /* name{ or name{cluster="...", */
    struct bj_slice key[BJ_SUB_KEYS]; /* of the table: device=" */
};

/* Begin a page that is appended to out, which like p and heads must stay where
 * it is.  cluster is the value of a label of every sample; empty: none.  heads
 * may be NULL.  Returns the sink that writes; what it is given may fail with
 * -ENOMEM. */
struct bj_sink bj_page_begin(struct bj_page *p, enum bj_page_format format,
                             struct bj_slice cluster,
                             struct bj_page_heads *heads, struct bj_buf *out);

/* Write what belongs to the end, free what the writer holds.  0 or -ENOMEM. */
int bj_page_end(struct bj_page *p);

#endif
