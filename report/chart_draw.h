/* Draws charts on a sheet: the same in PDF and PNG. */
#ifndef BJ_REPORT_CHART_DRAW_H
#define BJ_REPORT_CHART_DRAW_H

#include "report/chart.h"
#include "report/sheet.h"

/* Where, and how large its text is. */
struct bj_chart_place {
    double x, y, width;
    double size; /* of labels at axes; titles are larger */
};

/* The height that a chart takes at a width. */
double bj_chart_height(const struct bj_chart *k, double width, double size);

/* Of kinds other than BJ_CHART_PIE: draw it into the last row of the sheet. */
void bj_chart_draw(struct bj_sheet *s, const struct bj_chart_place *p,
                   const struct bj_chart *k);

#endif
