/* Draws charts on a sheet, in the same way for PDF and PNG. */
#ifndef BJ_REPORT_PDF_CHART_DRAW_H
#define BJ_REPORT_PDF_CHART_DRAW_H

#include "report/chart/chart.h"
#include "report/pdf/sheet.h"

/* Position and size of a chart, and the size of its text. */
struct bj_chart_place {
    double x, y, width;
    double size; /* size of axis labels; titles are larger */
};

/* The height of a chart of a certain width. */
double bj_chart_height(const struct bj_chart *k, double width, double size);

/* Draw a chart of a kind other than BJ_CHART_PIE into the last row of the
 * sheet. */
void bj_chart_draw(struct bj_sheet *s, const struct bj_chart_place *p,
                   const struct bj_chart *k);

/* Draws parts of a whole on a sheet. */

/* Draw a chart of kind BJ_CHART_PIE. */
void bj_pie_draw(struct bj_sheet *s, const struct bj_chart_place *p,
                 const struct bj_chart *k);
double bj_pie_height(double size);

#endif
