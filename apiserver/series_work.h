/* The state of a query of series between its two parts. */
#ifndef BJ_APISERVER_SERIES_WORK_H
#define BJ_APISERVER_SERIES_WORK_H

#include "apiserver/call.h"
#include "apiserver/series.h"
#include "base/arena.h"

enum { BJ_SERIES_GROUPS = 2000 };

/* The rows of one node, or of one of its GPUs. */
struct bj_series_group {
    struct bj_slice node, gpu;
    uint32_t *cell; /* [point * metrics + metric]: where in values, or 0 */
};

struct bj_series_work {
    struct bj_server *server;
    struct bj_prompool *prom;
    struct bj_prompool_range range;
    uint64_t since_usec; /* time of the request's arrival */
    enum bj_series_by by;
    unsigned char metric[BJ_SERIES_METRICS];
    unsigned metrics;
    struct bj_buf query;
    struct bj_slice key;
    unsigned points;
    struct bj_series_group group[BJ_SERIES_GROUPS];
    unsigned groups;
    bool too_much;
    struct bj_arena arena;
    struct bj_buf values; /* numbers as texts, each with a NUL behind it */
};

/* A value as text, or NULL. */
static inline const char *bj_series_value(const struct bj_series_work *w,
                                          const struct bj_series_group *g,
                                          unsigned point, unsigned metric)
{
    uint32_t at = g->cell[(size_t)point * w->metrics + metric];
    return at > 0 ? w->values.p + at : NULL;
}

/* Draw the first group's curves into a buffer, as SVG. */
void bj_series_draw(struct bj_buf *b, const struct bj_series_work *w);

#endif
