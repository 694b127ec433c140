/* The charts of a report as PDF. */
#include "base/local.h"
#include "report/pdf/chart_draw.h"
#include "report/pdf/pdf_parts.h"

#define GAP 16.0
#define HALF_SIZE 7.0 /* size of text in two charts side by side */
#define FULL_SIZE 7.4

static bool is_wide(const struct bj_chart *k)
{
    return k->kind != BJ_CHART_CURVES;
}

static void put_chart(struct bj_pdf_page *p, const struct bj_chart *k,
                      unsigned column)
{
    const double half = (p->width - GAP) / 2;
    if (column == 0)
        bj_sheet_row(p->sheet, 10, 0);
    bj_chart_draw(
        p->sheet,
        &(struct bj_chart_place){.x = column * (half + GAP),
                                 .width = is_wide(k) ? p->width : half,
                                 .size = is_wide(k) ? FULL_SIZE : HALF_SIZE},
        k);
}

/* Two charts side by side; charts of rows and days have the whole width. */
void bj_pdf_charts(struct bj_pdf_page *p, const struct bj_charts *c,
                   struct bj_slice task)
{
    struct bj_buf title = {0};
    unsigned column = 0;
    if (!c || (c->charts == 0 && !c->why))
        return;
    if (task.n > 0)
        bj_local_put(&title, "{Task %s over time}", task.p);
    else
        bj_local_str(&title, "{Over time}");
    bj_buf_put(&title, "", 1);
    bj_pdf_title(p, title.failed ? "" : title.p);
    for (unsigned i = 0; i < c->charts; i++) {
        const bool wide = is_wide(&c->chart[i]);
        put_chart(p, &c->chart[i], wide ? 0 : column);
        column = wide ? 0 : 1 - column;
    }
    if (c->charts == 0) {
        bj_buf_str(&p->cell, bj_local(c->why));
        bj_pdf_paragraph(p, 3, BJ_PDF_MUTED);
    }
    p->cell.failed |= title.failed;
    bj_buf_free(&title);
}
