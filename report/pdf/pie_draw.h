/* Draws parts of a whole on a sheet. */
#ifndef BJ_REPORT_PDF_PIE_DRAW_H
#define BJ_REPORT_PDF_PIE_DRAW_H

#include "report/pdf/chart_draw.h"

/* Draw a chart of kind BJ_CHART_PIE. */
void bj_pie_draw(struct bj_sheet *s, const struct bj_chart_place *p,
                 const struct bj_chart *k);
double bj_pie_height(double size);

#endif
