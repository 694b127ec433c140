/* Draws charts of values over time as SVG without scripts: axes with units, a
 * grid, a legend, limits as dashed lines, and the values at each point on
 * hover. */
#ifndef BJ_APISERVER_JOB_CHART_H
#define BJ_APISERVER_JOB_CHART_H

#include "report/chart/chart.h"

/* Append an <svg> element; alone: as a separate document, with its style. */
void bj_chart_svg(struct bj_buf *b, const struct bj_chart *k, bool alone);

/* Append a <figure>: title, summary, the chart, and a table of its values. */
void bj_chart_figure(struct bj_buf *b, const struct bj_chart *k);

/* The CSS rules of charts, for the style sheet of pages. */
extern const char bj_chart_style[];

#endif
