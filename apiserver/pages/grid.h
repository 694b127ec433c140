/* Queries values of many series over time, for pages about nodes and GPUs: one
 * query, with a row for each series.  Queries consist of fixed text. */
#ifndef BJ_APISERVER_PAGES_GRID_H
#define BJ_APISERVER_PAGES_GRID_H

#include "apiserver/conf/prompool.h"
#include "apiserver/frame/call.h"
#include "base/arena.h"
#include "base/tz.h"
#include "report/chart/chart.h"

enum { BJ_GRID_LABELS = 3, BJ_GRID_ROWS = 30000, BJ_GRID_POINTS = 200 };

struct bj_grid_row {
    const char *part; /* part passed to bj_grid_add */
    struct bj_slice label[BJ_GRID_LABELS];
    double *value; /* one value for each point; NaN: unknown */
};

struct bj_grid {
    struct bj_server *server;
    struct bj_prompool *prom;
    struct bj_prompool_range range; /* from is the first point */
    unsigned points;
    const char *labels[BJ_GRID_LABELS]; /* names; NULL: no more */
    const char *part[20];
    unsigned parts;
    struct bj_buf selector, query;
    struct bj_buf node; /* of bj_grid_node, terminated; empty: all */
    uint64_t since_usec;
    struct bj_grid_row *row;
    size_t rows, room;
    struct bj_arena arena;
    void *work; /* of the page, from its first part to its second */
    void (*free_work)(void *work);
    const char *why; /* the reason if there are no values, a sentence; NULL:
                        there are values */
};

/* Make a grid of points that end now, step seconds apart; cluster (may be
 * empty) limits it to series with that label.  0, a refusal or -ENOMEM; pass
 * *ret to bj_grid_run. */
int bj_grid_new(struct bj_call *c, struct bj_slice cluster, unsigned points,
                int64_t step, struct bj_grid **ret);

/* Limit "$N" and "$I" to one node; before bj_grid_add.  -ENOMEM. */
int bj_grid_node(struct bj_grid *g, struct bj_slice node);

/* Add a query; "$S" in it is replaced by the selector, "$N" and "$I" also
 * select the node, if there is one, by the label node, and by the host of the
 * label instance. part is the name of its rows. */
void bj_grid_add(struct bj_grid *g, const char *part, const char *promql);

void bj_grid_drop(struct bj_grid *g); /* instead of bj_grid_run; NULL is fine */

/* bj_grid_run ends the first part of an endpoint; bj_grid_after is its second
 * part, which queries, waits, and calls put to write the rest of the page, with
 * row or why set.  They take ownership of g and return the same as the parts of
 * endpoints. */
typedef void bj_grid_page(struct bj_call *c, const struct bj_grid *g);
int bj_grid_run(struct bj_call *c, struct bj_grid *g, bj_grid_page *put);
int bj_grid_after(struct bj_call *c, bj_grid_page *put);

/* Find the row of a part with these labels; NULL: none. */
const struct bj_grid_row *bj_grid_find(const struct bj_grid *g,
                                       const char *part,
                                       const struct bj_slice *label);

/* The newest value of a row among the last few points; NaN: unknown.  row may
 * be NULL. */
double bj_grid_now(const struct bj_grid *g, const struct bj_grid_row *row);

/* A chart of the times of the grid, without lines; words is memory for the text
 * about its start. */
enum { BJ_GRID_SINCE = 24 + BJ_TZ_NAME };
struct bj_chart bj_grid_chart(const struct bj_grid *g, const char *title,
                              enum bj_chart_unit unit,
                              char words[static BJ_GRID_SINCE]);

/* If there are no values, append the reason as a paragraph.  False: there are
 * values. */
bool bj_grid_put_why(struct bj_buf *b, const struct bj_grid *g);

#endif
