/* Draws charts of values over time as SVG that stretches to any width: axes
 * with units, a grid, the names of lines, limits as dashed lines.  The script
 * of the pages shows the values at each time. */
#ifndef BJ_APISERVER_JOB_CHART_H
#define BJ_APISERVER_JOB_CHART_H

#include "report/chart/chart.h"

/* Append an <svg> element; alone: as a separate document, with its style. */
void bj_chart_svg(struct bj_buf *b, const struct bj_chart *k, bool alone);

/* Append a <figure>: title, summary, the chart, and a table of its values. */
void bj_chart_figure(struct bj_buf *b, const struct bj_chart *k);

#endif
