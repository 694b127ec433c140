/* The metrics page: a snapshot as text for Prometheus. */
#ifndef BJ_STANDALONE_PAGE_H
#define BJ_STANDALONE_PAGE_H

#include "base/buf.h"
#include "base/slice.h"
#include "core/core.h"
#include "core/view/view.h"

enum bj_page_format {
    BJ_PAGE_TEXT,        /* Prometheus text format 0.0.4 */
    BJ_PAGE_OPENMETRICS, /* OpenMetrics 1.0.0 */
    BJ_PAGE_FORMATS
};

/* The content type of each format. */
extern const char *const bj_page_types[BJ_PAGE_FORMATS];

/* Cache of the heads of families, which do not change between pages.
 * Zero-initialise; one for each format (a change of the cluster name resets
 * it). */
struct bj_page_heads {
    struct bj_page_head *v;
    size_t n, cap, next; /* next: after the one found last */
    struct bj_buf text;
    struct bj_buf cluster; /* cluster name in the heads */
};
void bj_page_heads_free(struct bj_page_heads *heads);

/* Append the page to out. heads may be NULL. 0 or -ENOMEM, with out->failed
 * set. Sources: prometheus.io "Exposition formats"; OpenMetrics 1.0.0. */
int bj_page_write(const struct bj_snap *snap, enum bj_page_format format,
                  struct bj_page_heads *heads, struct bj_buf *out);

/* Remove the end mark of a page, so that families can be appended; true: there
 * was one, to be restored by bj_page_close. */
bool bj_page_reopen(enum bj_page_format format, struct bj_buf *page);
void bj_page_close(bool marked, struct bj_buf *page);

/* The writer as a sink, for walks other than the native view. */

struct bj_page {
    struct bj_buf *out;
    enum bj_page_format format;
    struct bj_slice cluster;
    struct bj_page_heads *heads, own; /* own: used when heads is NULL */
    /* The parts common to the lines of the current family. */
    const struct bj_metric_table *table;
    bool plain;            /* samples have only the labels of a job */
    bool micro;            /* values are in millionths */
    struct bj_slice start; /* name{ or name{cluster="...", */
    struct bj_slice key[BJ_SUB_KEYS]; /* of the table: device=" */
};

/* Begin a page that is appended to out; out, p and heads must stay at their
 * addresses. cluster: value of a label of every sample; empty: none. heads may
 * be NULL. Returns the sink that writes; it may fail with -ENOMEM. */
struct bj_sink bj_page_begin(struct bj_page *p, enum bj_page_format format,
                             struct bj_slice cluster,
                             struct bj_page_heads *heads, struct bj_buf *out);

/* Write the end of the page, free the writer's memory. 0 or -ENOMEM. */
int bj_page_end(struct bj_page *p);

/* The format for an Accept header (p NULL: none). OpenMetrics only when it is
 * named, in a version we write, with at least the weight of plain text; a
 * wildcard means plain text, which suits browsers and curl. */
enum bj_page_format bj_accept_format(struct bj_slice accept);

#endif
