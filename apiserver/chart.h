/* Charts of values over time, as SVG without scripts: axes with units, a grid,
 * a legend, limits as dashed lines, and the values of each place on hover. */
#ifndef BJ_APISERVER_CHART_H
#define BJ_APISERVER_CHART_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { BJ_CHART_LINES = 5 }; /* at most */

enum bj_chart_unit {
    BJ_CHART_PLAIN, /* a count, such as CPUs */
    BJ_CHART_BYTES,
    BJ_CHART_BYTES_PER_SEC,
    BJ_CHART_PERCENT, /* values from 0 to 100; the axis always has both ends */
    BJ_CHART_WATTS,
    BJ_CHART_PER_SEC
};

struct bj_chart_line {
    const char *name;
    const double *value; /* one for each point; NaN: unknown */
    bool limit;          /* what the job may use: a dashed line */
};

struct bj_chart {
    const char *title;
    struct bj_slice of; /* the node or GPU; empty: the whole job */
    enum bj_chart_unit unit;
    int64_t start;      /* of the job, in seconds since 1970 */
    int64_t from, step; /* of the points, in seconds */
    unsigned points;
    struct bj_chart_line line[BJ_CHART_LINES];
    unsigned lines;
    bool small; /* lower, for one of many */
};

/* Does a line that is not a limit have a value? */
bool bj_chart_has_values(const struct bj_chart *k);

/* Append an <svg> element; alone: a document of its own, with its style. */
void bj_chart_svg(struct bj_buf *b, const struct bj_chart *k, bool alone);

/* Append a <figure>: title, summary, the chart, and a table of its values. */
void bj_chart_figure(struct bj_buf *b, const struct bj_chart *k);

/* Append a value with its unit, rounded: "1.5 GiB", "34.4 %". */
void bj_chart_amount(struct bj_buf *b, enum bj_chart_unit unit, double v);

/* Mean and highest value of a line; false: it has none. */
bool bj_chart_mean(const struct bj_chart *k, unsigned line, double *mean,
                   double *highest);

/* The rules of charts, for the style sheet of pages. */
extern const char bj_chart_style[];

#endif
