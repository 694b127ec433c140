/* Values of many series over time, for pages about nodes and GPUs: one query,
 * each series a row.  The queries are made of fixed text. */
#ifndef BJ_APISERVER_GRID_H
#define BJ_APISERVER_GRID_H

#include "apiserver/call.h"
#include "apiserver/prompool.h"
#include "base/arena.h"

enum { BJ_GRID_LABELS = 3, BJ_GRID_ROWS = 10000, BJ_GRID_POINTS = 200 };

struct bj_grid_row {
    const char *part; /* of bj_grid_add */
    struct bj_slice label[BJ_GRID_LABELS];
    double *value; /* one for each point; NaN: unknown */
};

struct bj_grid {
    struct bj_server *server;
    struct bj_prompool *prom;
    struct bj_prompool_range range; /* from is the first point */
    unsigned points;
    const char *labels[BJ_GRID_LABELS]; /* names; NULL: no more */
    const char *part[16];
    unsigned parts;
    struct bj_buf selector, query;
    uint64_t since_usec;
    struct bj_grid_row *row;
    size_t rows, room;
    struct bj_arena arena;
    const char *why; /* why there are no values, in a sentence; NULL: there
                        are */
};

/* A grid of points that end now, step seconds apart; cluster (may be empty)
 * limits it to series with that label.  0, a refusal or -ENOMEM; pass it to
 * bj_grid_run. */
int bj_grid_new(struct bj_call *c, struct bj_slice cluster, unsigned points,
                int64_t step, struct bj_grid **ret);

/* Add a query; "$S" in it becomes the selector.  part names its rows. */
void bj_grid_add(struct bj_grid *g, const char *part, const char *promql);

/* The end of an endpoint's first part, and its second part: query, wait, and
 * write the rest of the page (row or why is then set).  They take g, and return
 * as the parts of endpoints do. */
typedef void bj_grid_page(struct bj_call *c, const struct bj_grid *g);
int bj_grid_run(struct bj_call *c, struct bj_grid *g, bj_grid_page *put);
int bj_grid_after(struct bj_call *c, bj_grid_page *put);

/* The row of a part with these labels; NULL: none. */
const struct bj_grid_row *bj_grid_find(const struct bj_grid *g,
                                       const char *part,
                                       const struct bj_slice *label);

/* Its newest value among the last few points; NaN: unknown.  NULL is fine. */
double bj_grid_now(const struct bj_grid *g, const struct bj_grid_row *row);

/* Append why there are no values, as a paragraph.  False: there are. */
bool bj_grid_put_why(struct bj_buf *b, const struct bj_grid *g);

#endif
