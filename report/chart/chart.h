/* A chart of values over time, for pages, PDF, mails and PNG. */
#ifndef BJ_REPORT_CHART_CHART_H
#define BJ_REPORT_CHART_CHART_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* At most. */
enum { BJ_CHART_LINES = 12, BJ_CHART_MARKS = 24, BJ_CHART_TICKS = 20 };

enum bj_chart_unit {
    BJ_CHART_PLAIN, /* a count, such as CPUs */
    BJ_CHART_BYTES,
    BJ_CHART_BYTES_PER_SEC,
    BJ_CHART_PERCENT, /* values from 0 to 100; the axis always extends from 0 to
                         100 */
    BJ_CHART_WATTS,
    BJ_CHART_PER_SEC,
    BJ_CHART_HOURS,
    BJ_CHART_UNITS
};

enum bj_chart_kind {
    BJ_CHART_CURVES, /* all lines in one diagram */
    BJ_CHART_ROWS, /* each line in its own row, all on one scale: nodes, GPUs */
    BJ_CHART_DAYS, /* bars: each point is a day of the site, and a line may be a
                      part of the limit */
    BJ_CHART_PIE,  /* each line has one value: parts of a whole */
    BJ_CHART_KINDS
};

struct bj_chart_line {
    const char *name;    /* clean UTF-8 */
    const double *value; /* one for each point; NaN: unknown */
    bool limit;          /* a limit of the job: a dashed line */
};

/* Something that happened at a time: a line across all values. */
struct bj_chart_mark {
    int64_t at;       /* seconds since 1970 */
    const char *text; /* in the words of the site; clean UTF-8 */
    bool bad;         /* a failure, such as running out of memory */
};

struct bj_chart {
    enum bj_chart_kind kind;
    const char *title;  /* clean UTF-8 */
    struct bj_slice of; /* the node or GPU; empty: the whole job */
    enum bj_chart_unit unit;
    /* the meaning of start, in words; NULL: the start of the job */
    const char *since;
    int64_t start;      /* start of the job, in seconds since 1970 */
    int64_t from, step; /* first point and distance of points, in seconds */
    unsigned points;
    struct bj_chart_line line[BJ_CHART_LINES];
    unsigned lines;
    struct bj_chart_mark mark[BJ_CHART_MARKS];
    unsigned marks;
    bool small;   /* less high, for one of many charts */
    unsigned all; /* nodes or GPUs from which the rows were chosen; 0: all are
                     shown */
};

/* Does a line that is not a limit have a value? */
bool bj_chart_has_values(const struct bj_chart *k);

/* Append a value, also the label of a tick, with its unit: "1.5 GiB", "34.4 %".
 */
void bj_chart_amount(struct bj_buf *b, enum bj_chart_unit unit, double v);

/* Mean and highest value of a line; false: it has none. */
bool bj_chart_mean(const struct bj_chart *k, unsigned line, double *mean,
                   double *highest);

/* Parse a number from JSON; false: not a number, or beyond 9e18. */
bool bj_chart_number(struct bj_slice text, double *ret);

/* Is a value known (not NaN)? */
static inline bool bj_chart_known(double v)
{
    return v - v == 0;
}

/* --- axes ------------------------------------------------------------------
 */

/* The axis of values: from 0 to top, with a tick mark every tick; about parts
 * marks in all. */
struct bj_chart_axis {
    double top, tick;
};
struct bj_chart_axis bj_chart_axis(const struct bj_chart *k, unsigned parts);

/* Seconds from the first to the last point; at least 1. */
int64_t bj_chart_span(const struct bj_chart *k);

/* The distance of ticks: a round number of seconds, so that the span has at
 * most most + 1 ticks. */
int64_t bj_chart_time_tick(int64_t span, unsigned most);

/* --- what is drawn ---------------------------------------------------------
 */

/* SVG (apiserver/job/chart.h) and sheets (report/pdf/chart_draw.h) draw the
 * same: these axes, and lines and marks at these places.  A place is a part of
 * the area of values: 0 is left or at the bottom, 1 right or at the top. */

enum { BJ_CHART_LABEL = 48 };

struct bj_chart_tick {
    double at;
    char label[BJ_CHART_LABEL];
};

struct bj_chart_axes {
    struct bj_chart_axis axis;
    int64_t span;
    struct bj_chart_tick value[BJ_CHART_TICKS]; /* from 0 to the top */
    struct bj_chart_tick time[BJ_CHART_TICKS];  /* since the start of the job */
    unsigned values, times;
};

/* Make the marks of an axis of time, about most: times since the start of the
 * job, of which since seconds are before the axis.  Returns their number. */
unsigned bj_chart_times(int64_t since, int64_t span, unsigned most,
                        struct bj_chart_tick ret[static BJ_CHART_TICKS]);

/* Make the axes of a chart, with about times marks of time. */
struct bj_chart_axes bj_chart_axes(const struct bj_chart *k, unsigned times);

/* The place of a point in time, and of a value of a line there; NaN: the value
 * is not known. */
double bj_chart_x(const struct bj_chart *k, const struct bj_chart_axes *a,
                  unsigned point);
double bj_chart_y(const struct bj_chart *k, const struct bj_chart_axes *a,
                  unsigned line, unsigned point);

/* The place of a mark in time; NaN: it is outside the chart. */
double bj_chart_mark_x(const struct bj_chart *k, const struct bj_chart_axes *a,
                       unsigned mark);

/* Find the next points whose values are known, from *end on: [*first, *end).
 * Between these there are gaps.  Begin with *end = 0. */
bool bj_chart_run(const struct bj_chart *k, unsigned line, unsigned *first,
                  unsigned *end);

/* The number of a line among those that are no limits, for its colour. */
unsigned bj_chart_colour(const struct bj_chart *k, unsigned line);

/* Append "CPUs used: 3.2 on average, at most 7.9. CPUs allocated: 8.", and the
 * marks with their times; clean UTF-8, not HTML. */
void bj_chart_summary(struct bj_buf *b, const struct bj_chart *k);

#endif
