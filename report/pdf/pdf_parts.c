#include "report/pdf/pdf_parts.h"

#include "base/local.h"

#include "store/db.h"

enum { SIZE = 9, SMALL = 8, TITLE = 12, ROW = 15, METER = 8 };

uint32_t bj_pdf_colour(struct bj_slice level)
{
    static const struct {
        const char *level;
        uint32_t colour;
    } colours[] = {{"critical", 0x9A3324},
                   {"warning", 0x7A4B00},
                   {"info", 0x005A9C},
                   {"good", 0x006E51}};
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
        if (bj_slice_eq(level, bj_slice_str(colours[i].level)))
            return colours[i].colour;
    return BJ_PDF_MUTED;
}

void bj_pdf_title(struct bj_pdf_page *p, const char *english)
{
    const char *text = bj_local(english);
    bj_sheet_row(p->sheet, 14, BJ_ROW_KEEP);
    bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = bj_slice_str(text),
                                                    .width = p->width,
                                                    .size = TITLE,
                                                    .font = BJ_FONT_BOLD,
                                                    .colour = BJ_PDF_TEXT});
    bj_sheet_row(p->sheet, 2, BJ_ROW_KEEP);
    bj_sheet_box(p->sheet, 0, 0, p->width, 0.75, BJ_PDF_LINE);
    bj_sheet_grow(p->sheet, 4);
}

void bj_pdf_head(struct bj_pdf_page *p, const struct bj_pdf_column *c,
                 size_t columns)
{
    bj_sheet_row(p->sheet, 3, BJ_ROW_HEAD);
    for (size_t i = 0; i < columns; i++)
        if (c[i].title)
            bj_sheet_text(p->sheet,
                          &(struct bj_sheet_text){
                              .text = bj_slice_str(bj_local(c[i].title)),
                              .x = c[i].x,
                              .width = c[i].width,
                              .size = SMALL,
                              .colour = BJ_PDF_MUTED,
                              .right = c[i].right});
    bj_sheet_grow(p->sheet, ROW - 2);
}

void bj_pdf_row(struct bj_pdf_page *p, size_t i, size_t rows)
{
    const bool kept = i + 1 < rows && (i == 0 || i + 2 == rows);
    bj_sheet_row(p->sheet, 0, BJ_ROW_BODY | (kept ? BJ_ROW_KEEP : 0));
    bj_sheet_grow(p->sheet, ROW);
}

void bj_pdf_text(struct bj_pdf_page *p, const struct bj_pdf_column *c,
                 struct bj_slice text)
{
    bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = text,
                                                    .x = c->x,
                                                    .y = 1,
                                                    .width = c->width,
                                                    .size = SIZE,
                                                    .colour = BJ_PDF_TEXT,
                                                    .right = c->right});
}

static struct bj_slice take(struct bj_pdf_page *p)
{
    struct bj_slice s = {p->cell.p, p->cell.len};
    p->cell.len = 0;
    return s;
}

void bj_pdf_cell(struct bj_pdf_page *p, const struct bj_pdf_column *c)
{
    bj_pdf_text(p, c, take(p));
}

void bj_pdf_meter(struct bj_pdf_page *p, const struct bj_pdf_column *c,
                  int64_t ppm)
{
    if (ppm == BJ_SQL_NULL)
        return;
    double used = (double)ppm / 1e6;
    bj_sheet_box(p->sheet, c->x, 3, c->width, METER, BJ_PDF_TRACK);
    if (used > 0)
        bj_sheet_box(p->sheet, c->x, 3, c->width * (used > 1 ? 1 : used), METER,
                     BJ_PDF_METER);
}

void bj_pdf_fact(struct bj_pdf_page *p, const char *label)
{
    const double at = 76;
    if (p->cell.len == 0)
        return;
    bj_sheet_row(p->sheet, 2, BJ_ROW_KEEP);
    bj_sheet_text(p->sheet,
                  &(struct bj_sheet_text){.text = bj_slice_str(bj_local(label)),
                                          .width = at,
                                          .size = SIZE,
                                          .colour = BJ_PDF_MUTED});
    bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = take(p),
                                                    .x = at,
                                                    .width = p->width - at,
                                                    .size = SIZE,
                                                    .lines = 4,
                                                    .colour = BJ_PDF_TEXT});
}

void bj_pdf_paragraph(struct bj_pdf_page *p, double before, uint32_t colour)
{
    bj_sheet_row(p->sheet, before, 0);
    bj_sheet_text(p->sheet, &(struct bj_sheet_text){.text = take(p),
                                                    .width = p->width,
                                                    .size = SIZE,
                                                    .lines = 8,
                                                    .colour = colour});
}
